/* runtime/sched/post.c -- posts between workers: pushing, waking, batching, and waiting for a congested worker. The
 * rules are in post.h. */
#include "post.h"

#include "sanitizer.h"
#include "task.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

/* It goes to the congested worker and back, for a worker whose tasks wait for space there. */
struct wf_space_call {
    struct wf_call call;
    struct wf_worker *from;
    uint32_t target;
    bool under_way;
};

/* Pairs with sleep_until: the push before this and the store of ASLEEP there are sequentially consistent, so at least
 * one of the two threads sees the other's write. */
static void wake_if_asleep(struct wf_worker *w)
{
    if (atomic_load_explicit(&w->state, memory_order_seq_cst) != WF_ASLEEP) return;
    /* another thread has woken it */
    if (atomic_exchange_explicit(&w->state, WF_RUNNING, memory_order_seq_cst) != WF_ASLEEP) return;
    w->set->env->poller_wake(w->poller);
}

static void push_chain(_Atomic(struct wf_post *) *to, struct wf_post *newest, struct wf_post *oldest)
{
    struct wf_post *head = atomic_load_explicit(to, memory_order_relaxed);
    wf_tsan_release(to);
    do oldest->next = head; /* release below: pairs with the acquire in take_all */
    while (!atomic_compare_exchange_weak_explicit(to, &head, newest, memory_order_seq_cst, memory_order_relaxed));
}

/* All posts, oldest first. */
struct wf_post *wf_posts_take(_Atomic(struct wf_post *) *from)
{
    if (atomic_load_explicit(from, memory_order_relaxed) == NULL) return NULL;
    struct wf_post *newest = atomic_exchange_explicit(from, NULL, memory_order_acquire), *first = NULL;
    wf_tsan_acquire(from);
    while (newest != NULL) {
        struct wf_post *older = newest->next;
        newest->next = first;
        first = newest;
        newest = older;
    }
    return first;
}

void wf_worker_post_chain(struct wf_worker *w, struct wf_post *newest, struct wf_post *oldest, uint32_t count)
{
    WF_ASSERT(count > 0 && newest != NULL && oldest != NULL);
    atomic_fetch_add_explicit(&w->inbox_count, count, memory_order_relaxed); /* orders nothing else */
    push_chain(&w->inbox, newest, oldest);
    wake_if_asleep(w);
}

void wf_worker_post(struct wf_worker *w, struct wf_post *p)
{
    wf_worker_post_chain(w, p, p, 1);
}

static void hand_over_as_list(struct wf_worker *to, const struct wf_post_batch *o)
{
    for (uint32_t i = o->count - 1; i > 0; i--) o->at[i]->next = o->at[i - 1];
    wf_worker_post_chain(to, o->at[o->count - 1], o->at[0], o->count);
}

void wf_post_batch_flush(struct wf_worker *w, uint32_t target)
{
    struct wf_post_batch *o = &w->batches[target];
    struct wf_worker *to = w->set->at[target];
    WF_ASSERT(o->count > 0 && o->count <= WF_BUNDLE);
    wf_worker_before_batches(w);
    const uint16_t class_ = wf_pool_class(sizeof(struct wf_bundle));
    struct wf_bundle *b = o->count < 3 ? NULL : wf_pool_take(&w->pool, class_, sizeof *b);
    if (b == NULL) {
        hand_over_as_list(to, o);
    } else {
        b->post = (struct wf_post){.kind = WF_POST_BUNDLE, .block_class = (uint8_t)class_, .word = o->count};
        memcpy(b->at, o->at, o->count * sizeof *o->at);
        wf_worker_post_chain(to, &b->post, &b->post, o->count);
    }
    o->count = 0;
    w->batch_mask &= ~(UINT64_C(1) << target);
}

void wf_worker_weigh(struct wf_worker *target, uint32_t kib)
{
    atomic_fetch_add_explicit(&target->inbox_count, kib, memory_order_relaxed); /* as in wf_worker_post_chain */
}

void wf_worker_unweigh(struct wf_worker *target, uint32_t kib)
{
    uint32_t before = atomic_fetch_sub_explicit(&target->inbox_count, kib, memory_order_relaxed);
    WF_ASSERT(before >= kib);
}

bool wf_worker_is_congested_beside(const struct wf_worker *target, uint32_t kib)
{
    return atomic_load_explicit(&target->inbox_count, memory_order_relaxed) >= WF_INBOX_MAX + kib;
}

void wf_worker_when_space(struct wf_worker *target, struct wf_call *c)
{
    push_chain(&target->space_calls, &c->post, &c->post);
    wake_if_asleep(target);
}

static void space_at_target(struct wf_worker *target, struct wf_call *c);

static void request_space(struct wf_space_call *r)
{
    WF_ASSERT(!r->under_way);
    r->under_way = true;
    r->call.call = space_at_target;
    wf_worker_when_space(r->from->set->at[r->target], &r->call);
}

/* Wakes a part of the tasks, so that the turn stays short, and asks again for the others: those that were woken have
 * perhaps used up the space. */
static void space_came_back(struct wf_worker *w, struct wf_call *c)
{
    struct wf_space_call *r = WF_CONTAINER(c, struct wf_space_call, call);
    struct wf_list *waiting = &w->space[r->target];
    WF_ASSERT(r->from == w && r->under_way);
    r->under_way = false;
    for (int i = 0; i < WF_SPACE_PART && !wf_list_empty(waiting); i++)
        wf_task_wake(WF_CONTAINER(wf_list_pop(waiting), struct wf_waiter, on_source)->task);
    if (!wf_list_empty(waiting)) request_space(r);
}

static void space_at_target(struct wf_worker *target, struct wf_call *c)
{
    struct wf_space_call *r = WF_CONTAINER(c, struct wf_space_call, call);
    WF_ASSERT(r->target == target->index && r->under_way);
    c->call = space_came_back;
    c->post.kind = WF_POST_CALL;
    wf_worker_post(r->from, &c->post);
}

int wf_worker_wait_space(struct wf_worker *w, uint32_t target, int64_t deadline)
{
    WF_ASSERT(w == wf_here && w->current != NULL && target < w->set->count);
    struct wf_space_call *r = w->space_call[target];
    if (r == NULL) {
        r = w->space_call[target] = calloc(1, sizeof *r);
        if (r == NULL) return WEFT_ENOMEM;
        r->from = w;
        r->target = target;
    }
    struct wf_waiter me = {.task = w->current};
    wf_list_push(&w->space[target], &me.on_source);
    if (!r->under_way) request_space(r);
    int rc = wf_task_wait(deadline, "space at a worker");
    wf_unlink(&me.on_source);
    return rc;
}
