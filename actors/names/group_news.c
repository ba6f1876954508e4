/* actors/names/group_news.c -- notifies the watchers of a group of members that join and leave: see group.c. All
 * functions run under the groups' lock.
 *
 * Design notes.
 * (1) Either all watchers of a group are notified of a change, or none. A join without memory for that fails. The end
 *     of a member cannot fail: it becomes a note, in the memory of its entry, and the next change of a group sends it
 *     first; one worker (wf_workers_own) also tries from time to time. No new notification is sent before all notes
 *     are: so the notifications of one member stay in order.
 * (2) To keep that order between workers, each worker posts its batches before it leaves the remaining notes to
 *     another. */
#include "group_news.h"

#include "deliver.h"
#include "group_table.h"
#include "inbound.h"

#include <stdlib.h>
#include <string.h>

#define RETRY WEFT_MS(20)

/* The watch of an entry of wf_group.watchers. */
static const struct wf_group_tie *tie_at(struct wf_list_node *k)
{
    return wf_group_tie_of(WF_CONTAINER(k, struct wf_group_member, in_group));
}

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

/* Adds a notification for that watch in front of `*first`. False: no memory. */
static bool add_news(struct wf_worker *w, weft_msg **first, uint32_t tag, struct wf_body *body, weft_pid who,
                     const struct wf_group_tie *watch)
{
    weft_msg *m = wf_msg_share(w, tag, body);
    if (m == NULL) return false;
    m->post.flags = WF_MSG_GROUP_NEWS;
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
    for (struct wf_list_node *k = g->watchers.head.prev; k != &g->watchers.head; k = k->prev) {
        if (add_news(v->w, &first, tag, body, who, tie_at(k))) ++*made;
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
    for (struct wf_list_node *k = g->watchers.head.next; k != &g->watchers.head && first != NULL; k = k->next) {
        const struct wf_group_tie *watch = tie_at(k);
        if (first->ref != watch->watch) continue;
        weft_msg *m = first;
        first = (weft_msg *)m->post.next;
        post(v, watch->member.who, m);
    }
    WF_ASSERT(first == NULL);
    if (v->in == NULL) return;
    v->in->copies += g->watcher_count;
    wf_inbound_post(v->node, v->in);
}

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

/* Notifies watchers of an end. False: no memory; no watcher was notified. */
static bool try_end(const struct wf_group_voice *v, const struct wf_group *g, weft_pid who, bool ended, int reason)
{
    uint32_t made;
    weft_msg *news = wf_group_news_of(v, g, WEFT_TAG_GROUP_LEAVE, who, ended, reason, &made);
    if (made == g->watcher_count) wf_group_news_send(v, g, news);
    else wf_group_news_free(v->w, news);
    return made == g->watcher_count;
}

/* Posts what this worker has sent about a member, before another worker continues. */
static void post_all(const struct wf_group_voice *v)
{
    struct wf_inbound in = {.here = v->w};
    if (v->w != NULL) wf_inbound_post(v->node, &in);
}

/* If no note is left, disarms the timer; only its own worker can do that. */
static void rest(struct wf_groups *all)
{
    struct wf_worker *w = wf_here;
    if (all->ends != NULL || !all->trying || w != wf_workers_own(&all->node->workers) || !wf_timer_armed(&all->timer))
        return;
    wf_timer_disarm(w, &all->timer);
    all->trying = false;
}

bool wf_group_ends_told(struct wf_groups *all, const struct wf_group_voice *v)
{
    if (WF_LIKELY(all->ends == NULL)) return true;
    for (struct wf_group_end *e; (e = all->ends) != NULL;) {
        if (!try_end(v, e->group, e->who, e->ended, e->reason)) break;
        all->ends = e->next;
        free(e);
    }
    post_all(v);
    rest(all);
    return all->ends == NULL;
}

static void try_again(struct wf_worker *w, struct wf_groups *all)
{
    struct wf_inbound in = {.here = w};
    struct wf_group_voice voice = {all->node, w, &in};
    pf_mutex_lock(all->lock);
    all->trying = false;
    /* Without memory even for a timer, the next change of a group tries again. */
    if (!wf_group_ends_told(all, &voice)) all->trying = wf_timer_arm(w, &all->timer, w->now + RETRY) == WEFT_OK;
    pf_mutex_unlock(all->lock);
}

static void on_timer(struct wf_worker *w, struct wf_timer *t)
{
    try_again(w, WF_CONTAINER(t, struct wf_groups, timer));
}

static void on_call(struct wf_worker *w, struct wf_call *c)
{
    try_again(w, WF_CONTAINER(c, struct wf_groups, again));
}

static void keep_end(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group_end *end)
{
    WF_SOMETIMES("groups: there is no memory for the notification of an end", true);
    WF_SOMETIMES("groups: the notifications of two ends wait for memory", all->ends != NULL);
    struct wf_group_end **at = &all->ends;
    while (*at != NULL) at = &(*at)->next;
    *at = end;
    post_all(v);
    if (all->trying) return;
    all->trying = true;
    all->node = v->node;
    all->timer.fire = on_timer;
    all->again = (struct wf_call){.post.kind = WF_POST_CALL, .call = on_call};
    wf_worker_post(wf_workers_own(&v->node->workers), &all->again.post);
}

void wf_group_end_tell(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group *g, weft_pid who,
                       bool ended, int reason, void *block)
{
    if (g->watcher_count == 0 || (wf_group_ends_told(all, v) && try_end(v, g, who, ended, reason))) {
        free(block);
        return;
    }
    struct wf_group_end *end = block;
    *end = (struct wf_group_end){.group = g, .who = who, .reason = reason, .ended = ended};
    keep_end(all, v, end);
}

void wf_group_ends_forget(struct wf_groups *all, const struct wf_group *g)
{
    for (struct wf_group_end **at = &all->ends, *e; (e = *at) != NULL;) {
        if (e->group != g) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        free(e);
    }
    rest(all);
}

/* ---- For a new watch ------------------------------------------------------------------------------------------- */

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
    for (struct wf_list_node *k = g->copies.head.prev; k != &g->copies.head && !*failed; k = k->prev)
        *failed = !add_member(w, g, &first, WF_CONTAINER(k, struct wf_group_member, in_group)->who, watch);
    for (struct wf_list_node *k = g->members.head.prev; k != &g->members.head && !*failed; k = k->prev)
        *failed = !add_member(w, g, &first, WF_CONTAINER(k, struct wf_group_member, in_group)->who, watch);
    if (!*failed) return first;
    wf_group_news_free(w, first);
    return NULL;
}

int weft_group_news_read(const weft_msg *m, struct weft_group_news *out)
{
    if (m == NULL || out == NULL) return WEFT_EFORMAT;
    uint32_t tag = weft_tag(m);
    if ((tag != WEFT_TAG_GROUP_JOIN && tag != WEFT_TAG_GROUP_LEAVE) || weft_size(m) != sizeof *out)
        return WEFT_EFORMAT;
    memcpy(out, weft_data(m), sizeof *out);
    return WEFT_OK;
}
