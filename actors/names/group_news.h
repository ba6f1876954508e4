/* actors/names/group_news.h -- what the watchers of a group are told. Under the lock. */
#ifndef WF_GROUP_NEWS_H
#define WF_GROUP_NEWS_H

#include "group_table.h"

/* Where an event is made and posted: on worker `w`; or by the receiving side `in`, and then `w` may be NULL. */
struct wf_group_voice {
    weft_node *node;
    struct wf_worker *w;
    struct wf_inbound *in;
};
static inline struct wf_group_voice wf_group_voice_of(const struct wf_actor *a)
{
    return (struct wf_group_voice){wf_node_of(a->task.worker), a->task.worker, NULL};
}
/* Messages that are made but not sent: by post.next. */
void wf_group_news_free(struct wf_worker *w, weft_msg *first);
/* News of one member for each watcher, in the order of the watchers; `*made` says how many there was memory for. */
weft_msg *wf_group_news_of(const struct wf_group_voice *v, const struct wf_group *g, uint32_t tag, weft_pid who,
                           bool ended, int reason, uint32_t *made);
/* `first` was made of the group's watchers of this moment, in their order. Some may be missing. */
void wf_group_news_send(const struct wf_group_voice *v, const struct wf_group *g, weft_msg *first);
/* A member is gone, which cannot be undone: watchers are told now, or when there is memory. `block` is what `malloc`
 * gave for its tie or copy; consumed. */
void wf_group_end_tell(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group *g, weft_pid who,
                       bool ended, int reason, void *block);
/* Tries to tell what could not be told. True: nothing is left, so news of now are in order. */
bool wf_group_ends_told(struct wf_groups *all, const struct wf_group_voice *v);
/* Its last watcher is gone. */
void wf_group_ends_forget(struct wf_groups *all, const struct wf_group *g);
/* Who is there, for a new watch, in the order they joined. NULL with `*failed`: no memory. */
weft_msg *wf_group_news_of_members(struct wf_worker *w, const struct wf_group *g, const struct wf_group_tie *watch,
                                   bool *failed);

#endif
