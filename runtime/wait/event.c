/* runtime/wait/event.c -- see event.h. */
#include "event.h"

#include "sanitizer.h"
#include "wait.h"

#include <stdlib.h>

enum { SET = 1, WAITED = 2, POSTED = 4, SHOWN = 8, KIND = 4, COUNT = 8 }; /* wf_event.word: flags, then shifts */
#define COUNT_MASK ((uint64_t)WF_EVENT_COUNT_MAX << COUNT)

/* One task waiting for one event; it does not move while attached. */
struct event_wait {
    struct wf_task *task;
    weft_event event;
    struct wf_event *slot; /* of the event, which may have been closed; NULL: the id was never that of an event */
    uint32_t mark;         /* manual event: how often it had been set when the wait began */
    bool attached;
    struct wf_event_place place; /* used if this worker is the home of the event */
    struct wf_ticket *ticket;    /* used if another worker is the home */
};

static enum wf_event_kind kind_of(uint64_t word)
{
    return (enum wf_event_kind)(word >> KIND & 3);
}

static uint32_t count_of(uint64_t word)
{
    return (uint32_t)((word & COUNT_MASK) >> COUNT);
}

static uint64_t with_count(uint64_t word, uint32_t count)
{
    return (word & ~COUNT_MASK) | ((uint64_t)count << COUNT & COUNT_MASK);
}

static struct wf_workers *set_of(weft_event e)
{
    return (struct wf_workers *)(void *)e.node; /* a weft_node begins with its workers */
}

static inline __attribute__((always_inline)) struct wf_event *slot_of(struct wf_workers *set, uint64_t id)
{
    if (set == NULL || id == 0 || wf_id_worker(id) >= set->count) return NULL;
    return wf_slab_at(&set->at[wf_id_worker(id)]->events, wf_id_slot(id));
}

static bool lives(uint64_t word, uint64_t id)
{
    return word >> 32 != 0 && (uint32_t)(word >> 32) == wf_id_generation(id);
}

static bool was_set_since(uint64_t word, uint32_t mark)
{
    return kind_of(word) == WF_EVENT_MANUAL && count_of(word) != mark;
}

/* See note (7). */
static __attribute__((noinline)) void show(struct wf_event *ev, bool set)
{
    const struct pf_flag *f = atomic_load_explicit(&ev->flag, memory_order_acquire); /* acquire: pairs with flag_of */
    if (!set) {
        pf_flag_lower(f);
        uint64_t word = atomic_load_explicit(&ev->word, memory_order_seq_cst);
        set = (word & SET) != 0 || word >> 32 == 0; /* the watcher of a closed event must learn of its end */
    }
    if (set) pf_flag_raise(f);
}

/* ---- The queue, on the home's thread: see note (4) --------------------------------------------------------------- */
static struct wf_event_place *place_of(struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct wf_event_place, on_event);
}

/* How many waiting tasks may take something. */
static uint32_t available(uint64_t word)
{
    if ((word & SET) == 0) return 0;
    return kind_of(word) == WF_SEMAPHORE ? count_of(word) : kind_of(word) == WF_EVENT_AUTO ? 1 : UINT32_MAX;
}

static void hint_arrives(struct wf_worker *w, struct wf_call *c);

static void send_hint(struct wf_worker *home, struct wf_ticket *k)
{
    WF_ASSERT(!k->hint_out);
    k->hint_out = true;
    k->hint.call = hint_arrives;
    wf_worker_send(home, k->waits_on->index, &k->hint.post);
}

static void wake(struct wf_worker *home, struct wf_event_place *p)
{
    if (p->remote) send_hint(home, WF_CONTAINER(p, struct wf_ticket, place));
    else wf_task_wake(WF_CONTAINER(p, struct event_wait, place)->task);
}

static void call_up(struct wf_worker *home, struct wf_event *ev, struct wf_event_place *p)
{
    WF_ASSERT(!p->called);
    wf_unlink(&p->on_event);
    wf_list_push(&ev->called, &p->on_event);
    ev->called_count++;
    p->called = true;
    wake(home, p);
}

/* So many waits are called, or woken for the last time: on the home's thread, by the loop or by a task. */
static void charge(struct wf_worker *home, uint32_t waits)
{
    if (home->current != NULL) wf_task_charge_work(home->current, waits * WF_ENTRY_WORK);
    else wf_worker_charge(home, waits * WF_ENTRY_WORK);
}

static uint32_t mark_of(const struct wf_event_place *p)
{
    return p->remote ? WF_CONTAINER(p, struct wf_ticket, place)->mark
                     : WF_CONTAINER(p, struct event_wait, place)->mark;
}

/* The home looks again which waits are next, in its next turn. */
static void look_again(struct wf_worker *home, struct wf_event *ev)
{
    if ((atomic_fetch_or_explicit(&ev->word, POSTED, memory_order_acq_rel) & POSTED) != 0) return;
    wf_worker_post(home, &ev->notice.post);
}

/* Whether the first wait of the queue may take something. Those behind it have begun later, so a manual event that was
 * set since they began was also set since this one began. */
static inline bool may_call(const struct wf_event *ev, uint64_t word, uint32_t most)
{
    const struct wf_list_node *first = ev->queue.head.next;
    if (first == &ev->queue.head) return false;
    if (ev->called_count < most) return true;
    return kind_of(word) == WF_EVENT_MANUAL &&
           was_set_since(word, mark_of(WF_CONTAINER(first, struct wf_event_place, on_event)));
}

/* See note (8). */
static void call_next(struct wf_worker *home, struct wf_event *ev, uint64_t word)
{
    const uint32_t most = available(word);
    uint32_t waits = 0;
    for (; may_call(ev, word, most); waits++) {
        if (WF_UNLIKELY(waits == WF_EVENT_PART)) {
            look_again(home, ev);
            break;
        }
        call_up(home, ev, place_of(ev->queue.head.next));
    }
    charge(home, waits);
}

/* The same, where no notice is under way that does it. */
static void call_unless_posted(struct wf_worker *home, struct wf_event *ev, uint64_t word)
{
    if ((word & POSTED) == 0) call_next(home, ev, word);
}

static __attribute__((noinline)) void call_those(struct wf_worker *home, struct wf_event *ev,
                                                 struct wf_event_place *p, uint32_t mark, uint64_t word)
{
    call_unless_posted(home, ev, word);
    if (!p->called && was_set_since(word, mark)) call_up(home, ev, p);
}

/* `p` was put into the queue, or back into it after a call that brought it nothing: perhaps it is its turn. */
static inline void consider(struct wf_worker *home, struct wf_event *ev, struct wf_event_place *p, uint32_t mark)
{
    /* A set either sees WAITED and posts, or precedes it in the modification order of this word, and then its effect
     * is seen here. One that comes between the two lines does both. */
    atomic_fetch_or_explicit(&ev->word, WAITED, memory_order_acq_rel);
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_acquire);
    if (WF_UNLIKELY((word & SET) != 0 || kind_of(word) == WF_EVENT_MANUAL)) call_those(home, ev, p, mark, word);
}

static inline void enter(struct wf_worker *home, struct wf_event *ev, struct wf_event_place *p, uint32_t mark)
{
    p->number = ++ev->arrivals;
    wf_list_push(&ev->queue, &p->on_event);
    consider(home, ev, p, mark);
}

/* Puts it behind the waits that arrived earlier. Those in the queue were called in vain, too, so there are few of
 * them. */
static void queue_again(struct wf_event *ev, struct wf_event_place *p)
{
    WF_ASSERT(ev->called_count > 0);
    wf_unlink(&p->on_event);
    ev->called_count--;
    p->called = false;
    struct wf_list_node *before = ev->queue.head.next;
    while (before != &ev->queue.head && place_of(before)->number < p->number) before = before->next;
    wf_list_insert_before(before, &p->on_event);
}

/* Returns whether others are in the queue. */
static inline bool leave(struct wf_event *ev, struct wf_event_place *p)
{
    wf_unlink(&p->on_event);
    WF_ASSERT(!p->called || ev->called_count > 0);
    if (p->called) ev->called_count--;
    if (WF_UNLIKELY(!wf_list_empty(&ev->queue))) return true;
    if (wf_list_empty(&ev->called)) /* relaxed: only the home's thread turns it on */
        atomic_fetch_and_explicit(&ev->word, ~(uint64_t)WAITED, memory_order_relaxed);
    return false;
}

/* Makes the home look again which wait is next, after the running task has suspended. */
static __attribute__((noinline)) void pass_on(struct wf_worker *home, struct wf_event *ev)
{
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed);
    WF_ASSERT(!wf_list_empty(&ev->queue));
    if (ev->called_count < available(word)) look_again(home, ev);
}

/* ---- Tickets of waiters on other workers: see note (5) --------------------------------------------------------- */
static void give_ticket(struct wf_worker *w, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, cancel);
    WF_ASSERT(k->waits_on == w && k->task == NULL);
    wf_slab_give(&w->tickets, k);
}

/* On the home's thread: no post of the ticket is under way any more, so the slot goes back to the waiter's worker. */
static void return_ticket(struct wf_worker *home, struct wf_ticket *k)
{
    WF_ASSERT(k->cancelled && !k->hint_out && !wf_linked(&k->place.on_event));
    k->cancel.call = give_ticket;
    wf_worker_send(home, k->waits_on->index, &k->cancel.post);
}

static void hint_returns(struct wf_worker *home, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, hint);
    WF_ASSERT(k->home == home && k->hint_out);
    k->hint_out = false;
    if (k->cancelled) {
        return_ticket(home, k);
    } else if (!wf_linked(&k->place.on_event)) {
        send_hint(home, k); /* the event was closed, perhaps after the task had looked */
    } else {
        struct wf_event *ev = slot_of(home->set, k->event);
        queue_again(ev, &k->place);
        consider(home, ev, &k->place, k->mark);
    }
}

static void send_hint_back(struct wf_ticket *k)
{
    k->hint.call = hint_returns;
    wf_worker_send(k->waits_on, k->home->index, &k->hint.post);
}

static void hint_arrives(struct wf_worker *w, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, hint);
    WF_ASSERT(k->waits_on == w && !k->held);
    if (k->task == NULL) {
        send_hint_back(k);
    } else {
        k->held = true;
        wf_task_wake(k->task);
    }
}

static void join_arrives(struct wf_worker *home, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, join);
    struct wf_event *ev = slot_of(home->set, k->event);
    WF_ASSERT(k->home == home && ev != NULL);
    if (lives(atomic_load_explicit(&ev->word, memory_order_relaxed), k->event)) enter(home, ev, &k->place, k->mark);
    else send_hint(home, k);
}

static void cancel_arrives(struct wf_worker *home, struct wf_call *c)
{
    struct wf_ticket *k = WF_CONTAINER(c, struct wf_ticket, cancel);
    WF_ASSERT(k->home == home && !k->cancelled);
    if (wf_linked(&k->place.on_event)) {
        struct wf_event *ev = slot_of(home->set, k->event);
        (void)leave(ev, &k->place);
        call_unless_posted(home, ev, atomic_load_explicit(&ev->word, memory_order_relaxed));
    }
    k->cancelled = true;
    if (k->held) k->hint_out = false;
    if (!k->hint_out) return_ticket(home, k);
}

static struct wf_call make_call(void (*call)(struct wf_worker *, struct wf_call *))
{
    return (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = call};
}

static __attribute__((noinline)) int take_ticket(struct event_wait *wait, struct wf_worker *home)
{
    struct wf_worker *w = wait->task->worker;
    WF_ASSERT(wait->ticket == NULL && home != w);
    struct wf_ticket *k = wf_slab_take(&w->tickets);
    if (k == NULL) return WEFT_ENOMEM;
    k->event = wait->event.id;
    k->mark = wait->mark;
    k->home = home;
    k->waits_on = w;
    k->task = wait->task;
    k->join = make_call(join_arrives);
    k->hint = make_call(hint_arrives);
    k->cancel = make_call(cancel_arrives);
    k->place = (struct wf_event_place){.remote = true};
    k->held = k->hint_out = k->cancelled = false;
    wait->ticket = k;
    wf_worker_send(w, home->index, &k->join.post);
    return 0;
}

/* ---- The event ------------------------------------------------------------------------------------------------- */
/* Ends a part of the waits of a closed event, note (8), and gives the slot back after the last one. Called waits have
 * been woken already, so only the queued ones are woken. */
static void finish_event(struct wf_worker *home, struct wf_event *ev)
{
    struct wf_list_node *link;
    uint32_t waits = 0;
    wf_unlink(&ev->owned.on_task);
    for (; waits < WF_EVENT_PART && (link = wf_list_pop(&ev->called)) != NULL; waits++) {
        place_of(link)->called = false;
        ev->called_count--;
    }
    for (; waits < WF_EVENT_PART && (link = wf_list_pop(&ev->queue)) != NULL; waits++) wake(home, place_of(link));
    charge(home, waits);
    if (wf_list_empty(&ev->called) && wf_list_empty(&ev->queue)) wf_slab_give(&home->events, ev);
    else look_again(home, ev);
}

static void notice_arrives(struct wf_worker *home, struct wf_call *c)
{
    struct wf_event *ev = WF_CONTAINER(c, struct wf_event, notice);
    WF_ASSERT(wf_slab_at(&home->events, wf_slot_number(&ev->slot)) == ev);
    /* Acquire: pairs with the release of the set or close that posted. A set after this posts again. */
    uint64_t word = atomic_fetch_and_explicit(&ev->word, ~(uint64_t)POSTED, memory_order_acq_rel);
    if (word >> 32 == 0) finish_event(home, ev);
    else call_next(home, ev, word);
}

static int close_event(struct wf_workers *set, uint64_t id)
{
    struct wf_event *ev = slot_of(set, id);
    if (ev == NULL) return WEFT_ECLOSED;
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_relaxed);
    do {
        if (!lives(word, id)) return WEFT_ECLOSED;
        /* Acquire and release: as in `change`. */
    } while (
        !atomic_compare_exchange_weak_explicit(&ev->word, &word, POSTED, memory_order_acq_rel, memory_order_relaxed));
    if ((word & SHOWN) != 0) show(ev, true);
    if ((word & POSTED) != 0) return 0; /* the notice that is under way will end it */
    struct wf_worker *home = set->at[wf_id_worker(id)];
    if (wf_here == home) notice_arrives(home, &ev->notice);
    else wf_worker_post(home, &ev->notice.post);
    return 0;
}

static void close_owned(struct wf_owned *o)
{
    struct wf_event *ev = WF_CONTAINER(o, struct wf_event, owned);
    (void)close_event(wf_here->set, wf_slot_id(&ev->slot));
}

int wf_event_open(weft_event *out, enum wf_event_kind kind, uint32_t count)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || count > WF_EVENT_COUNT_MAX) return WEFT_EINVAL;
    struct wf_worker *w = t->worker;
    struct wf_event *ev = wf_slab_take(&w->events);
    if (ev == NULL) return WEFT_ENOMEM;
    ev->notice = make_call(notice_arrives);
    ev->owned = (struct wf_owned){.close = close_owned};
    wf_list_init(&ev->queue);
    wf_list_init(&ev->called);
    ev->called_count = 0;
    wf_list_push(&t->owned, &ev->owned.on_task);
    uint64_t id = wf_slot_id(&ev->slot), word = (uint64_t)wf_id_generation(id) << 32;
    bool is_set = (kind == WF_SEMAPHORE && count > 0) || (kind == WF_LATCH && count == 0);
    word = with_count(word | (uint64_t)kind << KIND | (is_set ? SET : 0), count);
    /* Release: pairs with the acquire of a thread that was given the id. */
    atomic_store_explicit(&ev->word, word, memory_order_release);
    *out = (weft_event){.node = (weft_node *)(void *)w->set, .id = id};
    return 0;
}

/* ---- Changing the word: from any thread ------------------------------------------------------------------------ */
/* Computes the word after a step. Returns 1; 0: there is nothing to do; or an error. */
typedef int step(uint64_t word, uint32_t n, uint64_t *next);

static inline __attribute__((always_inline)) int change_by(weft_event e, step *to, uint32_t n)
{
    struct wf_event *ev = slot_of(set_of(e), e.id);
    if (ev == NULL) return WEFT_ECLOSED;
    /* Acquire, here and where the exchange fails: a thread that sees SHOWN sees its flag. */
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_acquire), next;
    wf_tsan_release(ev);
    do {
        if (!lives(word, e.id)) return WEFT_ECLOSED;
        next = word;
        int rc = to(word, n, &next);
        if (rc <= 0) {
            if (rc == 0 && (word & SHOWN) != 0) show(ev, (word & SET) != 0);
            return rc;
        }
        if ((word & WAITED) != 0 && available(next) > available(word)) next |= POSTED;
        /* Release: the thread that takes the event sees all writes before the set, also if the event was set already.
         * Acquire: for that thread. */
    } while (
        !atomic_compare_exchange_weak_explicit(&ev->word, &word, next, memory_order_acq_rel, memory_order_acquire));
    wf_tsan_acquire(ev);
    if ((next & ~word & POSTED) != 0) wf_worker_post(set_of(e)->at[wf_id_worker(e.id)], &ev->notice.post);
    if ((word & SHOWN) != 0 && ((word ^ next) & SET) != 0) show(ev, (next & SET) != 0);
    return 1;
}

/* For changes that are rare. Those that are frequent have code of their own, without a call of the step. */
static __attribute__((noinline)) int change(weft_event e, step *to, uint32_t n)
{
    return change_by(e, to, n);
}

static bool is_event(uint64_t word)
{
    return kind_of(word) == WF_EVENT_AUTO || kind_of(word) == WF_EVENT_MANUAL;
}

static inline int set_step(uint64_t word, uint32_t n, uint64_t *next)
{
    (void)n;
    if (!is_event(word)) return WEFT_EINVAL;
    if (kind_of(word) == WF_EVENT_MANUAL && (word & SET) == 0) *next = with_count(word, count_of(word) + 1);
    *next |= SET;
    return 1;
}

static int reset_step(uint64_t word, uint32_t n, uint64_t *next)
{
    (void)n;
    if (!is_event(word)) return WEFT_EINVAL;
    *next = word & ~(uint64_t)SET;
    return (word & SET) != 0;
}

static int show_step(uint64_t word, uint32_t n, uint64_t *next)
{
    (void)n;
    *next = word | SHOWN;
    return 1;
}

static inline int take_step(uint64_t word, uint32_t kinds, uint64_t *next)
{
    if ((kinds >> kind_of(word) & 1) == 0) return WEFT_EINVAL;
    if ((word & SET) == 0) return 0;
    uint32_t left = kind_of(word) == WF_SEMAPHORE ? count_of(word) - 1 : 0;
    if (kind_of(word) == WF_SEMAPHORE) *next = with_count(word, left);
    if (left == 0 && (kind_of(word) == WF_SEMAPHORE || kind_of(word) == WF_EVENT_AUTO)) *next &= ~(uint64_t)SET;
    return 1;
}

static int up_step(uint64_t word, uint32_t n, uint64_t *next)
{
    if (kind_of(word) != WF_SEMAPHORE) return WEFT_EINVAL;
    if (n > WF_EVENT_COUNT_MAX - count_of(word)) return WEFT_EFULL;
    *next = with_count(word, count_of(word) + n) | SET;
    return n > 0;
}

static int down_step(uint64_t word, uint32_t n, uint64_t *next)
{
    uint32_t count = count_of(word);
    if (kind_of(word) != WF_LATCH) return WEFT_EINVAL;
    *next = with_count(word, count - WF_MIN(n, count)) | (n >= count ? SET : 0);
    return n > 0 && count > 0;
}

int wf_event_take(weft_event e, uint32_t kinds)
{
    return change_by(e, take_step, kinds);
}

int wf_event_count_up(weft_event e, uint32_t n)
{
    return WF_MIN(change(e, up_step, n), 0);
}

int wf_event_count_down(weft_event e, uint32_t n)
{
    return WF_MIN(change(e, down_step, n), 0);
}

/* ---- Looking --------------------------------------------------------------------------------------------------- */
static __attribute__((noinline, cold)) uint64_t word_for_tsan(struct wf_event *ev, uint64_t word)
{
    wf_tsan_acquire(ev);
    return word;
}

/* NULL: 0. The call for TSan keeps no more than the word, so that what is inlined here needs few registers over it. */
static inline uint64_t read_slot(struct wf_event *ev)
{
    if (ev == NULL) return 0;
    /* Acquire: pairs with the release of a set, for a thread that sees that a manual event was set, and takes
     * nothing. */
    uint64_t word = atomic_load_explicit(&ev->word, memory_order_acquire);
    return WF_UNLIKELY(WF_HAS_TSAN) ? word_for_tsan(ev, word) : word;
}

/* Returns 0 if the event has been closed. */
static uint64_t read_word(struct wf_event *ev, uint64_t id)
{
    uint64_t word = read_slot(ev);
    return lives(word, id) ? word : 0;
}

int64_t wf_event_count(weft_event e, enum wf_event_kind kind)
{
    uint64_t word = read_word(slot_of(set_of(e), e.id), e.id);
    if (word == 0) return WEFT_ECLOSED;
    return kind_of(word) == kind ? (int64_t)count_of(word) : WEFT_EINVAL;
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */
static inline uint64_t word_of(const struct event_wait *wait)
{
    uint64_t word = read_slot(wait->slot);
    return lives(word, wait->event.id) ? word : 0;
}

static inline __attribute__((always_inline)) void begin_wait(struct event_wait *wait, struct wf_task *t, weft_event e)
{
    *wait = (struct event_wait){.task = t, .event = e, .slot = slot_of(set_of(e), e.id)};
    wait->mark = count_of(word_of(wait));
}

/* It may also be called for a wait that was not called. Returns 0. */
static __attribute__((noinline)) int called_in_vain(struct event_wait *wait)
{
    struct wf_ticket *k = wait->ticket;
    if (k == NULL) {
        if (wait->place.called) queue_again(wait->slot, &wait->place);
    } else if (k->held) {
        k->held = false;
        send_hint_back(k);
    }
    return 0;
}

/* Returns 1: this wait may take something, because it is its turn or no other task waits; 0: it may not;
 * WEFT_ECLOSED. An attached wait that was called in vain goes back into the queue. */
static int look_wait(struct event_wait *wait)
{
    uint64_t word = word_of(wait);
    if (word == 0) return WEFT_ECLOSED;
    bool ready = (word & SET) != 0 || was_set_since(word, wait->mark);
    if (!ready) return wait->attached ? called_in_vain(wait) : 0;
    if (kind_of(word) == WF_EVENT_MANUAL || kind_of(word) == WF_LATCH) return 1;
    if (!wait->attached) return (word & WAITED) == 0;
    return wait->ticket == NULL ? wait->place.called : wait->ticket->held;
}

/* Until detach_wait the task is woken when it is its turn, or when the event is closed. Returns 1: look again, as it
 * may be its turn. 0: it need not look. WEFT_EINVAL: the event is of another node; WEFT_ECLOSED; WEFT_ENOMEM. */
static int attach_wait(struct event_wait *wait)
{
    struct wf_worker *w = wait->task->worker;
    const weft_event e = wait->event;
    WF_ASSERT(!wait->attached && wait->task == w->current);
    if (set_of(e) != w->set) return WEFT_EINVAL;
    struct wf_event *ev = wait->slot;
    if (ev == NULL || !lives(atomic_load_explicit(&ev->word, memory_order_relaxed), e.id)) return WEFT_ECLOSED;
    struct wf_worker *home = w->set->at[wf_id_worker(e.id)];
    if (home != w) {
        int rc = take_ticket(wait, home);
        wait->attached = rc == 0;
        return rc == 0 ? 1 : rc;
    }
    enter(w, ev, &wait->place, wait->mark);
    wait->attached = true;
    return wait->place.called;
}

static __attribute__((noinline)) void cancel_ticket(struct event_wait *wait)
{
    struct wf_ticket *k = wait->ticket;
    k->task = NULL;
    wait->ticket = NULL;
    wait->attached = false;
    wf_worker_send(k->waits_on, k->home->index, &k->cancel.post);
}

/* It may be called for a wait that is not attached. */
static void detach_wait(struct event_wait *wait)
{
    if (WF_UNLIKELY(wait->ticket != NULL)) {
        cancel_ticket(wait);
        return;
    }
    wait->attached = false;
    if (!wf_linked(&wait->place.on_event)) return;
    if (leave(wait->slot, &wait->place)) pass_on(wait->task->worker, wait->slot);
}

/* Returns 1: the unit was taken; 0: it is not its turn; or an error. */
static int take_in_turn(struct event_wait *wait, uint32_t kinds)
{
    int rc;
    do {
        if ((rc = look_wait(wait)) != 1) return rc;
        rc = wf_event_take(wait->event, kinds);
        if (rc == 0) rc = was_set_since(word_of(wait), wait->mark);
    } while (rc == 0); /* another task has taken it without waiting */
    return rc;
}

int wf_event_await(weft_event e, uint32_t kinds, int64_t deadline, const char *what)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct event_wait wait;
    begin_wait(&wait, t, e);
    uint64_t word = word_of(&wait);
    int rc = t->cancelled ? WEFT_ECANCELED : word != 0 && (kinds >> kind_of(word) & 1) == 0 ? WEFT_EINVAL : 0;
    while (rc == 0 && (rc = take_in_turn(&wait, kinds)) == 0) {
        if (wait.attached) rc = wf_task_wait(deadline, what);
        else rc = deadline == WEFT_NOW ? WEFT_ETIMEDOUT : WF_MIN(attach_wait(&wait), 0);
    }
    detach_wait(&wait);
    if (rc == 1) wf_task_tick(t);
    return (int)wf_task_finish_wait(rc == 1 ? 0 : rc);
}

/* ---- What actors call ------------------------------------------------------------------------------------------ */
enum { OF_EVENTS = 1 << WF_EVENT_AUTO | 1 << WF_EVENT_MANUAL };

int weft_event_open(weft_event *out)
{
    return wf_event_open(out, WF_EVENT_AUTO, 0);
}

int weft_event_open_manual(weft_event *out)
{
    return wf_event_open(out, WF_EVENT_MANUAL, 0);
}

int weft_event_set(weft_event e)
{
    int rc = change_by(e, set_step, 0);
    return WF_MIN(rc, 0);
}

int weft_event_reset(weft_event e)
{
    return WF_MIN(change(e, reset_step, 0), 0);
}

int weft_event_take(weft_event e)
{
    return wf_event_take(e, OF_EVENTS);
}

int weft_event_await(weft_event e, int64_t deadline)
{
    return wf_event_await(e, OF_EVENTS, deadline, "event");
}

int weft_event_close(weft_event e)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    return close_event(set_of(e), e.id);
}

/* ---- For other loops ------------------------------------------------------------------------------------------- */
/* Returns the slot's flag; makes it if necessary. */
static int flag_of(struct wf_event *ev, const struct pf_flag **out)
{
    struct pf_flag *f = atomic_load_explicit(&ev->flag, memory_order_acquire), *mine;
    if (f == NULL) {
        if ((mine = malloc(sizeof *mine)) == NULL) return WEFT_ENOMEM;
        int rc = pf_flag_open(mine);
        if (rc < 0) {
            free(mine);
            return rc;
        }
        /* Release: pairs with the acquire in show. */
        if (atomic_compare_exchange_strong_explicit(&ev->flag, &f, mine, memory_order_acq_rel,
                                                    memory_order_acquire)) {
            f = mine;
        } else {
            pf_flag_close(mine);
            free(mine);
        }
    }
    *out = f;
    return 0;
}

int weft_event_fd(weft_event e, int *fd)
{
    const struct pf_flag *f;
    if (fd == NULL) return WEFT_EINVAL;
    struct wf_event *ev = slot_of(set_of(e), e.id);
    uint64_t word = read_word(ev, e.id);
    if (word == 0) return WEFT_ECLOSED;
    int rc = flag_of(ev, &f);
    if (rc == 0) rc = change(e, show_step, 0);
    if (rc < 0) return rc;
    show(ev, false); /* it may be raised from an earlier event in this slot */
    *fd = (int)f->reading;
    return 0;
}

/* ---- The source ------------------------------------------------------------------------------------------------ */

weft_wait weft_on_event(weft_event e)
{
    return (weft_wait){.kind = WF_ON_EVENT, .fd = -1, .id = e.id, .node = (uintptr_t)e.node};
}

static int source_open(struct wf_wait *s, const weft_wait *from)
{
    if (from->node != 0 && from->node != (uintptr_t)s->task->worker->set) return WEFT_EINVAL;
    begin_wait(WF_WAIT_STATE_OF(struct event_wait, s), s->task,
               (weft_event){.node = (void *)(uintptr_t)from->node, .id = from->id});
    return 0;
}

static int source_look(struct wf_wait *s)
{
    return look_wait(WF_WAIT_STATE_OF(struct event_wait, s));
}

static int source_attach(struct wf_wait *s, struct wf_wait *first)
{
    (void)first;
    return attach_wait(WF_WAIT_STATE_OF(struct event_wait, s));
}

/* It is called, too, when it was ready and the wait continues for other sources: it has had its turn, and passes the
 * next one on. */
static void source_detach(struct wf_wait *s)
{
    detach_wait(WF_WAIT_STATE_OF(struct event_wait, s));
}

static const struct wf_wait_kind wait_kind = {.number = WF_ON_EVENT,
                                              .name = "event",
                                              .open = source_open,
                                              .look = source_look,
                                              .attach = source_attach,
                                              .was_ready = source_detach,
                                              .close = source_detach};

/* ---- The part of each worker ------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->events, sizeof(struct wf_event), WF_SLAB_MAX, w->index);
    wf_slab_init(&w->tickets, sizeof(struct wf_ticket), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    for (uint32_t i = 0; i < wf_slab_chunks(&w->events) * WF_SLAB_CHUNK; i++) {
        struct wf_event *ev = wf_slab_at(&w->events, i);
        struct pf_flag *f = atomic_load_explicit(&ev->flag, memory_order_relaxed);
        if (f == NULL) continue;
        pf_flag_close(f);
        free(f);
    }
    wf_slab_finish(&w->events);
    wf_slab_finish(&w->tickets);
}

static const struct wf_wait_kind *const wait_kinds[] = {&wait_kind, NULL};
const struct wf_part wf_event_part = {.worker_begin = part_begin, .worker_end = part_end, .wait_kinds = wait_kinds};
