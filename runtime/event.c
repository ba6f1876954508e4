#include "event.h"

enum { SET = 1, WAITED = 2, POSTED = 4 }; /* flags in wf_event.word */

static struct wf_workers *set_of(weft_event e)
{
    return (struct wf_workers *)(void *)e.node; /* a weft_node begins with its workers */
}

static struct wf_event *slot_of(struct wf_workers *set, uint64_t id)
{
    if (set == NULL || id == 0 || wf_id_worker(id) >= set->count) return NULL;
    return wf_slab_at(&set->at[wf_id_worker(id)]->events, wf_id_slot(id));
}

static bool lives(uint64_t word, uint64_t id)
{
    return word >> 32 != 0 && (uint32_t)(word >> 32) == wf_id_generation(id);
}

static void clear_waited(struct wf_event *ev)
{
    if (!wf_list_empty(&ev->waiters) || !wf_list_empty(&ev->tickets)) return;
    atomic_fetch_and_explicit(&ev->word, ~(uint64_t)WAITED, memory_order_relaxed); /* only home turns it on */
}

/* ---- Tickets of waiters on other workers -------------------------------------------------------------------------
 */
static void give_ticket(struct wf_worker *w, struct wf_call *c)
{
    wf_slab_give(&w->tickets, WF_CONTAINER(c, struct wf_ticket, cancel));
}

/* At home: nothing is out any more, so the slot may go back where it came from. */
static void return_ticket(struct wf_worker *home, struct wf_ticket *k)
{
    WF_ASSERT(k->cancelled && !k->hint_out && !wf_linked(&k->on_event));
    k->cancel.call = give_ticket;
    wf_worker_send(home, k->waits_on->index, &k->cancel.post);
}

static void hint_arrives(struct wf_worker *w, struct wf_call *c);

static void send_hint(struct wf_worker *home, struct wf_ticket *k)
{
    if (k->hint_out) {
        k->hint_owed = true;
        return;
    }
    k->hint_out = true;
    k->hint_owed = false;
    k->hint.call = hint_arrives;
    wf_worker_send(home, k->waits_on->index, &k->hint.post);
}

static void hint_returns(struct wf_worker *home, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, hint);
    k->hint_out = false;
    if (k->cancelled) return_ticket(home, k);
    else if (k->hint_owed) send_hint(home, k);
}

static void hint_arrives(struct wf_worker *w, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, hint);
    if (k->task != NULL) wf_task_wake(k->task);
    k->hint.call = hint_returns;
    wf_worker_send(w, k->home->index, &k->hint.post);
}

static void join_arrives(struct wf_worker *home, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, join);
    struct wf_event *ev = slot_of(home->set, k->event);
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed);
    if (lives(word, k->event)) {
        wf_list_push(&ev->tickets, &k->on_event);
        /* As in wf_event_attach. */
        word = atomic_fetch_or_explicit(&ev->word, WAITED, memory_order_acq_rel);
    }
    if (!lives(word, k->event) || (word & SET) != 0) send_hint(home, k);
}

static void cancel_arrives(struct wf_worker *home, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, cancel);
    if (wf_linked(&k->on_event)) {
        wf_unlink(&k->on_event);
        clear_waited(slot_of(home->set, k->event));
    }
    k->cancelled = true;
    if (!k->hint_out) return_ticket(home, k);
}

static struct wf_call make_call(void (*call)(struct wf_worker *, struct wf_call *))
{
    return (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = call};
}

static int take_ticket(struct wf_event_wait *wait, struct wf_task *t, struct wf_worker *home, uint64_t id)
{
    struct wf_worker *w = t->worker;
    struct wf_ticket *k = wf_slab_take(&w->tickets);
    if (k == NULL) return WEFT_ENOMEM;
    k->event = id;
    k->home = home;
    k->waits_on = w;
    k->task = t;
    k->join = make_call(join_arrives);
    k->hint = make_call(hint_arrives);
    k->cancel = make_call(cancel_arrives);
    k->on_event = (struct wf_link){NULL, NULL};
    k->hint_out = k->hint_owed = k->cancelled = false;
    wait->ticket = k;
    wf_worker_send(w, home->index, &k->join.post);
    return 0;
}

/* ---- The event ---------------------------------------------------------------------------------------------------
 */
static void finish_event(struct wf_worker *home, struct wf_event *ev)
{
    wf_waiters_dismiss(&ev->waiters);
    struct wf_link *link;
    while ((link = wf_list_pop(&ev->tickets)) != NULL)
        send_hint(home, WF_CONTAINER(link, struct wf_ticket, on_event));
    wf_unlink(&ev->owned.on_task);
    wf_slab_give(&home->events, ev);
}

static void notice_arrives(struct wf_worker *home, struct wf_call *c)
{
    struct wf_event *ev = WF_CONTAINER(c, struct wf_event, notice);
    /* Acquire: pairs with the release of the set or close that posted. From here on a new set posts again. */
    uint64_t word = atomic_fetch_and_explicit(&ev->word, ~(uint64_t)POSTED, memory_order_acq_rel);
    if (word >> 32 == 0) {
        finish_event(home, ev);
        return;
    }
    wf_waiters_wake(&ev->waiters);
    WF_LIST_EACH(link, &ev->tickets) send_hint(home, WF_CONTAINER(link, struct wf_ticket, on_event));
}

static int close_event(struct wf_workers *set, uint64_t id)
{
    struct wf_event *ev = slot_of(set, id);
    if (ev == NULL) return WEFT_ECLOSED;
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed);
    do {
        if (!lives(word, id)) return WEFT_ECLOSED;
        /* Acquire and release: as in weft_event_set. */
    } while (
        !atomic_compare_exchange_weak_explicit(&ev->word, &word, POSTED, memory_order_acq_rel, memory_order_relaxed));
    if ((word & POSTED) != 0) return 0; /* the notice that is on its way ends it */
    struct wf_worker *home = set->at[wf_id_worker(id)];
    if (wf_here == home) notice_arrives(home, &ev->notice);
    else wf_worker_post(home, &ev->notice.post);
    return 0;
}

static void close_owned(struct wf_owned *o)
{
    struct wf_event *ev = WF_CONTAINER(o, struct wf_event, owned);
    (void)close_event(wf_here->set, wf_id_make(&ev->slot, wf_here->index));
}

int weft_event_open(weft_event *out)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    struct wf_worker *w = t->worker;
    struct wf_event *ev = wf_slab_take(&w->events);
    if (ev == NULL) return WEFT_ENOMEM;
    ev->notice = make_call(notice_arrives);
    ev->owned = (struct wf_owned){.close = close_owned};
    wf_list_init(&ev->waiters);
    wf_list_init(&ev->tickets);
    wf_list_push(&t->owned, &ev->owned.on_task);
    uint64_t id = wf_id_make(&ev->slot, w->index);
    /* Release: pairs with the acquire of whoever was handed the id. */
    atomic_store_explicit(&ev->word, (uint64_t)wf_id_generation(id) << 32, memory_order_release);
    *out = (weft_event){.node = (weft_node *)(void *)w->set, .id = id};
    return 0;
}

int weft_event_set(weft_event e)
{
    struct wf_event *ev = slot_of(set_of(e), e.id);
    if (ev == NULL) return WEFT_ECLOSED;
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed), next;
    do {
        if (!lives(word, e.id)) return WEFT_ECLOSED;
        next = word | SET;
        if ((word & (SET | WAITED)) == WAITED) next |= POSTED;
        /* Release: what was done before the set is seen by who takes it. Also when it was set already. */
    } while (
        !atomic_compare_exchange_weak_explicit(&ev->word, &word, next, memory_order_acq_rel, memory_order_relaxed));
    if ((next & ~word & POSTED) != 0) wf_worker_post(set_of(e)->at[wf_id_worker(e.id)], &ev->notice.post);
    return 0;
}

int weft_event_take(weft_event e)
{
    struct wf_event *ev = slot_of(set_of(e), e.id);
    if (ev == NULL) return WEFT_ECLOSED;
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed);
    do {
        if (!lives(word, e.id)) return WEFT_ECLOSED;
        if ((word & SET) == 0) return 0;
        /* Acquire: pairs with the release in weft_event_set. */
    } while (!atomic_compare_exchange_weak_explicit(&ev->word, &word, word & ~(uint64_t)SET, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return 1;
}

int weft_event_close(weft_event e)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    return close_event(set_of(e), e.id);
}

int wf_event_look(struct wf_workers *set, uint64_t id)
{
    struct wf_event *ev = slot_of(set, id);
    if (ev == NULL) return WEFT_ECLOSED;
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed); /* a hint: taking orders */
    return lives(word, id) ? (word & SET) != 0 : WEFT_ECLOSED;
}

int wf_event_attach(struct wf_event_wait *wait, struct wf_task *t, weft_event e)
{
    struct wf_worker *w = t->worker;
    *wait = (struct wf_event_wait){.waiter = {.task = t}};
    if (set_of(e) != w->set) return WEFT_EINVAL;
    struct wf_event *ev = slot_of(w->set, e.id);
    if (ev == NULL || !lives(atomic_load_explicit(&ev->word, memory_order_relaxed), e.id)) return WEFT_ECLOSED;
    struct wf_worker *home = w->set->at[wf_id_worker(e.id)];
    if (home != w) return take_ticket(wait, t, home, e.id);
    wf_list_push(&ev->waiters, &wait->waiter.on_source);
    /* A set either sees WAITED and posts, or comes before it in this word's order and is seen by the look that
     * follows. */
    atomic_fetch_or_explicit(&ev->word, WAITED, memory_order_acq_rel);
    return 0;
}

void wf_event_detach(struct wf_event_wait *wait, weft_event e)
{
    if (wait->ticket != NULL) {
        struct wf_ticket *k = wait->ticket;
        k->task = NULL;
        wait->ticket = NULL;
        wf_worker_send(k->waits_on, k->home->index, &k->cancel.post);
    } else if (wf_linked(&wait->waiter.on_source)) {
        wf_unlink(&wait->waiter.on_source);
        clear_waited(slot_of(set_of(e), e.id));
    }
}

int weft_event_await(weft_event e, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_event_wait wait = {0};
    bool attached = false;
    int rc = t->cancelled ? WEFT_ECANCELED : 0;
    while (rc == 0) {
        rc = weft_event_take(e);
        if (rc != 0) break;
        if (attached) {
            rc = wf_task_wait(deadline, "event");
        } else {
            rc = deadline == WEFT_NOW ? WEFT_ETIMEDOUT : wf_event_attach(&wait, t, e);
            attached = rc == 0;
        }
    }
    if (attached) wf_event_detach(&wait, e);
    if (rc == 1) wf_task_tick(t);
    return (int)wf_task_settle(rc == 1 ? 0 : rc);
}
