/* actors/topics/topic_await.c -- publishers wait for subscribers with WEFT_SLOW_SUSPEND.
 *
 * Design notes.
 * (1) Such a subscriber is in its worker's trie like any other, and while it has space it gets messages like any
 *     other.
 * (2) On the publisher's own worker, the ids of full subscribers are noted, and they get the message when they have
 *     space; all others have it by then. The note is a message on the publisher's held list, with a reference of the
 *     body, so that nothing leaks if the publisher is killed meanwhile.
 * (3) Each worker counts its full actors with such subscriptions (wf_actors.full_awaited). Only if another worker has
 *     some, a publisher searches for them, and waits before it publishes. A message that was under way when the
 *     mailbox filled up is still taken, as after weft_send. After a wait in vain the message is marked so, and
 *     subscribers that are still full lose it.
 * (4) A publisher waits for the last of the full subscribers: the others probably have space by then. */
#include "topic_await.h"

#include "held.h"
#include "mailbox.h"
#include "published_block.h"
#include "queue_groups.h"
#include "send.h"
#include "subscription.h"

#include <string.h>

/* ---- On other workers ------------------------------------------------------------------------------------------ */

static bool may_be_blocked(const struct wf_worker *w)
{
    const struct wf_actors *wa = wf_actors_of(w);
    return atomic_load_explicit(&wa->awaited, memory_order_relaxed) > 0 &&
           (atomic_load_explicit(&wa->full_awaited, memory_order_relaxed) > 0 || wf_worker_is_congested(w));
}

static bool somebody_may_be_blocked(const struct wf_worker *w)
{
    for (uint32_t i = 0; i < w->set->count; i++) {
        if (i != w->index && WF_UNLIKELY(may_be_blocked(w->set->at[i]))) return true;
    }
    return false;
}

static bool is_blocked(uint64_t actor, void *arg)
{
    const struct wf_worker *w = arg, *there = w->set->at[wf_id_worker(actor)];
    if (there == w) return false;
    if (wf_worker_is_congested(there)) return true;
    const struct wf_actor *a = wf_slab_find(&wf_actors_of(there)->slab, actor);
    return a != NULL && wf_actor_is_full(a) && wf_actor_policy(a) == WEFT_FULL_SUSPEND;
}

static __attribute__((noinline)) bool await_blocked(struct wf_actor *self, const char *topic)
{
    struct wf_worker *w = self->task.worker;
    int64_t start = weft_now(), longest = 0, wait;
    for (uint64_t actor; (actor = wf_queue_groups_blocked(wf_topics_of(wf_node_of(w)), weft_cstr(topic), is_blocked,
                                                          w, &wait)) != 0;) {
        longest = WF_MAX(longest, wait);
        weft_pid to = {wf_node_of(w)->incarnation, actor};
        int64_t deadline = longest > WEFT_FOREVER - start ? WEFT_FOREVER : start + longest;
        if (wf_await_space(self, to, sizeof(weft_msg), deadline) < 0) return false;
        wf_return_space(self, to); /* a publication may exceed the bound, so it needs no promise: note (3) */
    }
    return true;
}

bool wf_await_others(struct wf_actor *self, const char *topic)
{
    return WF_LIKELY(!somebody_may_be_blocked(self->task.worker)) || await_blocked(self, topic);
}

/* ---- On this worker -------------------------------------------------------------------------------------------- */

/* The ids are behind the envelope; its shared body is the published one. */
static char *ids_of(weft_msg *list)
{
    return (char *)(list + 1);
}

bool wf_awaiting_add(struct wf_awaiting *x, const struct wf_subscription *s, uint32_t most)
{
    struct wf_worker *w = s->actor->task.worker;
    uint64_t id = wf_slot_id(&s->slot);
    uint32_t capacity = x->list == NULL ? 0 : x->list->size / (uint32_t)sizeof id;
    if (x->count == capacity) {
        capacity = capacity == 0 ? WF_MAX(most, 1) : capacity * 2;
        weft_msg *bigger = wf_msg_new(w, 0, capacity * sizeof id);
        if (bigger == NULL) return false;
        if (x->list != NULL) {
            memcpy(ids_of(bigger), ids_of(x->list), x->count * sizeof id);
            wf_msg_free(w, x->list);
        }
        x->list = bigger;
    }
    memcpy(ids_of(x->list) + x->count++ * sizeof id, &id, sizeof id);
    x->wait = WF_MAX(x->wait, s->more->wait);
    return true;
}

static bool must_wait(const struct wf_actor *a)
{
    return wf_mailbox_full(a) && wf_actor_policy(a) == WEFT_FULL_SUSPEND;
}

/* The subscription may end meanwhile; that is no loss. */
static bool give_one(struct wf_actor *self, uint64_t id, struct wf_body *body, int64_t *deadline)
{
    struct wf_actors *wa = wf_actors_of(self->task.worker);
    struct wf_subscription *s;
    while ((s = wf_slab_find(&wa->subscription_slab, id)) != NULL && must_wait(s->actor)) {
        int rc = wf_await_space(self, wf_actor_pid(s->actor), sizeof(weft_msg), *deadline);
        if (rc == WEFT_ECANCELED) *deadline = WEFT_NOW;
        if (rc < 0) break;
    }
    if (s == NULL || (s = wf_slab_find(&wa->subscription_slab, id)) == NULL) return false;
    if (must_wait(s->actor)) return wf_subscription_refuse(s);
    wf_body_keep(body);
    if (wf_mailbox_put_shared(s->actor, body)) return true;
    wf_body_drop(NULL, body);
    wf_subscription_lost(s);
    return false;
}

uint32_t wf_awaiting_give(struct wf_actor *self, struct wf_awaiting *x, struct wf_body *body)
{
    struct wf_worker *w = self->task.worker;
    uint32_t given = 0;
    int64_t deadline = weft_after(x->wait);
    x->list->shared = body;
    wf_hold(self, x->list);
    while (x->count > 0) {
        uint64_t id;
        memcpy(&id, ids_of(x->list) + --x->count * sizeof id, sizeof id);
        given += give_one(self, id, body, &deadline);
    }
    wf_release(self, x->list);
    wf_msg_free(w, x->list);
    return given;
}
