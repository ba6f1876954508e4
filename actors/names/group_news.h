/* actors/names/group_news.h -- the notifications for the watchers of a group. Call these functions under the lock. */
#ifndef WF_GROUP_NEWS_H
#define WF_GROUP_NEWS_H

#include "group_table.h"

/* Where a notification is made and posted: on worker `w`, or through `in` for events of other nodes; then `w` may be
 * NULL. */
struct wf_group_voice {
    weft_node *node;
    struct wf_worker *w;
    struct wf_inbound *in;
};
static inline struct wf_group_voice wf_group_voice_of(const struct wf_actor *a)
{
    return (struct wf_group_voice){wf_node_of(a->task.worker), a->task.worker, NULL};
}
/* Frees a list (post.next) of messages that are not sent. */
void wf_group_news_free(struct wf_worker *w, weft_msg *first);
/* Makes a notification about one member for each watcher, in the order of the watchers. `*made` is how many were made
 * before memory ran out. */
weft_msg *wf_group_news_of(const struct wf_group_voice *v, const struct wf_group *g, uint32_t tag, weft_pid who,
                           bool ended, int reason, uint32_t *made);
/* Sends the messages of wf_group_news_of. The watchers must not have changed since. Some messages may be missing. */
void wf_group_news_send(const struct wf_group_voice *v, const struct wf_group *g, weft_msg *first);
/* A member is gone, which cannot be undone: notifies watchers now, or later when there is memory. Consumes `block`,
 * the malloc block of its tie or copy. */
void wf_group_end_tell(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group *g, weft_pid who,
                       bool ended, int reason, void *block);
/* Tries to send the notifications that failed before. True: none is left, so a new one will be in order. */
bool wf_group_ends_told(struct wf_groups *all, const struct wf_group_voice *v);
/* The last watcher of `g` is gone: drops its unsent notifications. */
void wf_group_ends_forget(struct wf_groups *all, const struct wf_group *g);
/* Notifications about all present members, for a new watch, in the order they joined. NULL with `*failed`: no
 * memory. */
weft_msg *wf_group_news_of_members(struct wf_worker *w, const struct wf_group *g, const struct wf_group_tie *watch,
                                   bool *failed);

#endif
