/* actors/group_news.c -- who is told of a group: see group.c. All of it under the groups' lock. */
#include "group_table.h"

#include <string.h>

void wf_group_news_free(struct wf_worker *w, weft_msg *first)
{
    while (first != NULL) {
        weft_msg *next = (weft_msg *)first->post.next;
        wf_msg_free(w, first);
        first = next;
    }
}

static struct wf_body *news_body(struct wf_worker *w, const struct wf_group *g, weft_pid who, bool ended, int reason)
{
    struct weft_group_news news = {.who = who, .ended = ended, .reason = reason};
    memcpy(news.group, g->name, g->size);
    return wf_body_new(w, NULL, 0, &news, sizeof news);
}

/* One more in front of `*first`, for that watch. False: no memory. */
static bool add_news(struct wf_worker *w, weft_msg **first, uint32_t tag, struct wf_body *body, weft_pid who,
                     const struct wf_group_tie *watch)
{
    weft_msg *m = wf_msg_share(w, tag, body);
    if (m == NULL) return false;
    m->post.flags = WF_MSG_SYSTEM;
    m->from = who;
    m->ref = watch->watch;
    m->post.next = *first == NULL ? NULL : &(*first)->post;
    *first = m;
    return true;
}

weft_msg *wf_group_news_of(const struct wf_group_voice *v, const struct wf_group *g, uint32_t tag, weft_pid who,
                           bool ended, int reason, uint32_t *made)
{
    weft_msg *first = NULL;
    *made = 0;
    if (g->watcher_count == 0) return NULL;
    struct wf_body *body = news_body(v->w, g, who, ended, reason);
    if (body == NULL) return NULL;
    for (struct wf_link *k = g->watchers.head.prev; k != &g->watchers.head; k = k->prev) {
        if (add_news(v->w, &first, tag, body, who, WF_CONTAINER(k, struct wf_group_tie, in_group))) ++*made;
    }
    wf_body_drop(v->w, body);
    return first;
}

static void post(const struct wf_group_voice *v, weft_pid watcher, weft_msg *m)
{
    if (v->in == NULL) {
        wf_send_signal(v->w, watcher, m);
        return;
    }
    m->to_actor = watcher.actor;
    wf_inbound_add(v->node, v->in, m);
}

void wf_group_news_send(const struct wf_group_voice *v, const struct wf_group *g, weft_msg *first)
{
    for (struct wf_link *k = g->watchers.head.next; k != &g->watchers.head && first != NULL; k = k->next) {
        struct wf_group_tie *watch = WF_CONTAINER(k, struct wf_group_tie, in_group);
        if (first->ref != watch->watch) continue;
        weft_msg *m = first;
        first = (weft_msg *)m->post.next;
        post(v, watch->who, m);
    }
    WF_ASSERT(first == NULL);
    if (v->in != NULL) wf_inbound_post(v->node, v->in);
}

void wf_group_news_tell(const struct wf_group_voice *v, const struct wf_group *g, uint32_t tag, weft_pid who,
                        bool ended, int reason)
{
    uint32_t made;
    weft_msg *news = wf_group_news_of(v, g, tag, who, ended, reason, &made);
    wf_group_news_send(v, g, news);
    if (made == g->watcher_count) return;
    weft_log(WEFT_ERROR, "no memory to tell watchers of group %s of a member", g->name);
    for (; v->w != NULL && made < g->watcher_count; made++) wf_count_drop(v->w, WF_DROP_MEMORY);
}

static bool add_member(struct wf_worker *w, const struct wf_group *g, weft_msg **first, weft_pid who,
                       const struct wf_group_tie *watch)
{
    struct wf_body *body = news_body(w, g, who, false, 0);
    bool added = body != NULL && add_news(w, first, WEFT_TAG_GROUP_JOIN, body, who, watch);
    if (body != NULL) wf_body_drop(w, body);
    return added;
}

weft_msg *wf_group_news_of_members(struct wf_worker *w, const struct wf_group *g, const struct wf_group_tie *watch,
                                   bool *failed)
{
    weft_msg *first = NULL;
    *failed = false;
    for (struct wf_link *k = g->copies.head.prev; k != &g->copies.head && !*failed; k = k->prev)
        *failed = !add_member(w, g, &first, WF_CONTAINER(k, struct wf_group_copy, in_group)->who, watch);
    for (struct wf_link *k = g->members.head.prev; k != &g->members.head && !*failed; k = k->prev)
        *failed = !add_member(w, g, &first, WF_CONTAINER(k, struct wf_group_tie, in_group)->who, watch);
    if (!*failed) return first;
    wf_group_news_free(w, first);
    return NULL;
}

int weft_group_news_read(const weft_msg *m, struct weft_group_news *out)
{
    uint32_t tag = weft_tag(m);
    if ((tag != WEFT_TAG_GROUP_JOIN && tag != WEFT_TAG_GROUP_LEAVE) || weft_size(m) != sizeof *out)
        return WEFT_EFORMAT;
    memcpy(out, weft_data(m), sizeof *out);
    return WEFT_OK;
}
