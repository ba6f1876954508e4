/* actors/mailbox/backpressure.c -- senders that wait for space in a mailbox, and publishers that wait for space in a
 * subscriber's. The rules are in mailbox.c, notes (2) and (4). */
#include "backpressure.h"

#include "deliver.h"
#include "mailbox.h"

static void count_full_awaited(struct wf_actor *a, uint32_t change)
{
    _Atomic uint32_t *n = &wf_actors_of(a->task.worker)->full_awaited; /* only this thread writes */
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + change, memory_order_relaxed);
}

static void set_full(struct wf_actor *a, bool full)
{
    if (WF_UNLIKELY(a->awaited) && full != atomic_load_explicit(&a->full, memory_order_relaxed))
        count_full_awaited(a, full ? 1 : UINT32_MAX);
    atomic_store_explicit(&a->full, full, memory_order_relaxed);
}

void wf_mailbox_awaited(struct wf_actor *a, bool awaited)
{
    WF_ASSERT(a->task.worker == wf_here);
    if (a->awaited == awaited) return;
    a->awaited = awaited;
    if (atomic_load_explicit(&a->full, memory_order_relaxed)) count_full_awaited(a, awaited ? 1 : UINT32_MAX);
}

static void set_waiters(struct wf_actor *a, bool waiters)
{
    a->has_waiters = waiters;
    wf_actor_set_slow_path(a);
}

static struct wf_backlog *backlog(struct wf_actor *a)
{
    return wf_backlog_from(a, a->task.worker);
}

static const struct wf_backlog *backlog_if_any(const struct wf_actor *a)
{
    return a->more == NULL ? NULL : a->more->backlog;
}

/* The first request of a sender that waits for space here; NULL: none. */
static weft_msg *first_for_space(const struct wf_actor *a)
{
    const struct wf_backlog *b = backlog_if_any(a);
    return b == NULL ? NULL : b->space.first;
}

static uint32_t promised_places(const struct wf_actor *a)
{
    const struct wf_backlog *b = backlog_if_any(a);
    return b == NULL ? 0 : b->promised;
}

/* The space that is neither taken nor promised. */
static struct wf_space space_of(const struct wf_actor *a)
{
    struct wf_free_space free = wf_free_space(a);
    return (struct wf_space){.places = (uint32_t)WF_MAX(free.places, 0), .bytes = (size_t)WF_MAX(free.bytes, 0)};
}

void wf_space_used(struct wf_actor *a, size_t weight)
{
    struct wf_backlog *b = a->more == NULL ? NULL : a->more->backlog;
    if (b == NULL || b->promised == 0) return; /* there was no memory to reserve it */
    b->promised--;
    b->promised_bytes -= WF_MIN(weight, b->promised_bytes);
}

/* Without memory nothing would notify its senders, so `full` must not make them wait then. */
static void note_short(struct wf_actor *a)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    struct wf_backlog *b = backlog(a);
    if (b == NULL) set_full(a, false);
    else if (!wf_linked(&b->on_short)) wf_list_push(&wa->short_of_bytes, &b->on_short);
    wa->some_short = 1;
}

void wf_mailbox_filled(struct wf_actor *a)
{
    set_full(a, true);
    set_waiters(a, true);
    WF_SOMETIMES("mailbox: it is full because the bytes of the node are used up", !wf_is_own_taken(a));
    if (!wf_is_own_taken(a)) note_short(a);
}

void wf_mailbox_added_specially(struct wf_actor *a, weft_msg *m)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    if (wa->timer.left == 0) wf_mail_time(wa, m);
    if (wf_mailbox_full(a)) wf_mailbox_filled(a);
}

/* ---- Space for senders ------------------------------------------------------------------------------------------ */

/* Gives a waiting sender its share of `space`; NULL: the actor ends. */
static void notify_one(struct wf_actor *a, weft_msg *m, struct wf_space *space)
{
    WF_ASSERT(wf_message_row(a->task.worker, m)->space != NULL);
    wf_message_row(a->task.worker, m)->space(a, m, space);
}

/* There is space: notifies as many senders as it is enough for. */
static void notify_of_space(struct wf_actor *a, struct wf_space *space)
{
    set_full(a, false); /* before any of them looks */
    struct wf_lane none = {NULL, NULL}, *waiting = first_for_space(a) == NULL ? &none : &a->more->backlog->space;
    while (space->places > 0 && space->bytes > 0 && space->budget > 0) {
        weft_msg *m = wf_lane_take_after(waiting, NULL);
        if (m == NULL) break;
        notify_one(a, m, space);
    }
    const bool taken = wf_is_taken(a);
    if (taken) set_full(a, true);
    set_waiters(a, taken || waiting->first != NULL || promised_places(a) > 0);
    WF_SOMETIMES("mailbox: the space is enough for some of the waiting senders", waiting->first != NULL);
    if (waiting->first != NULL && space->budget == 0) note_short(a);
}

void wf_space_notify_all(struct wf_actor *a)
{
    while (first_for_space(a) != NULL) notify_one(a, wf_lane_shift(&a->more->backlog->space), NULL);
}

static __attribute__((noinline)) void space_came_for(struct wf_actor *a, uint32_t places, size_t bytes)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    if (WF_UNLIKELY(wf_is_taken(a))) {
        if (!wf_is_own_taken(a)) note_short(a);
        return;
    }
    size_t budget = wf_over_bytes(wa) ? 1 : (size_t)wa->spare_bytes + 1; /* an empty mailbox always takes one */
    notify_of_space(a, &(struct wf_space){.places = places, .bytes = bytes, .budget = budget});
}

void wf_on_space_made(struct wf_actor *a)
{
    struct wf_space space = space_of(a);
    space_came_for(a, space.places, space.bytes);
}

/* Bytes of this worker's share were freed: mailboxes that wait for them get them in turn. */
void wf_on_space_of_bytes(struct wf_actors *wa)
{
    if (wf_over_bytes(wa)) return;
    size_t budget = (size_t)wa->spare_bytes + 1;
    struct wf_list_node *k;
    while (budget > 0 && (k = wf_list_pop(&wa->short_of_bytes)) != NULL) {
        struct wf_actor *a = WF_CONTAINER(k, struct wf_backlog, on_short)->actor;
        WF_ASSERT(a->task.worker == wa->worker);
        if (wf_is_own_taken(a)) continue; /* a receive of its own will make space */
        struct wf_space space = space_of(a);
        space.budget = budget;
        notify_of_space(a, &space);
        budget = space.budget;
    }
    if (wf_list_empty(&wa->short_of_bytes)) wa->some_short = 0;
}

/* Removes the request of `from`. False: there is none, as that sender was notified already. */
static bool forget(struct wf_worker *w, struct wf_actor *a, weft_pid from)
{
    weft_msg *previous = NULL;
    for (weft_msg *r = first_for_space(a); r != NULL; previous = r, r = (weft_msg *)r->post.next) {
        if (!weft_pid_equal(r->from, from)) continue;
        wf_msg_free(w, wf_lane_take_after(&a->more->backlog->space, previous));
        return true;
    }
    return false;
}

/* A sender asks for space here or takes its request back, perhaps after it was notified: then another one gets the
 * space. */
void wf_on_space_asked(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    WF_ASSERT(a->task.worker == w && w == wf_here);
    const bool space = m->post.flags == WF_MSG_SPACE;
    if (space && (m->post.word == WF_SPACE_FORGET || m->post.word == WF_SPACE_RELEASE)) {
        WF_SOMETIMES("mailbox: a sender that waits for space gives up", true);
        if (!forget(w, a, m->from) && m->post.word == WF_SPACE_RELEASE) wf_space_used(a, m->topic_size);
        wf_msg_free(w, m);
        wf_on_space_made(a);
        wf_on_space_of_bytes(wf_actors_of(w));
    } else if (wf_is_taken(a) && backlog(a) != NULL) { /* without memory it is notified at once and asks again */
        wf_lane_push(&a->more->backlog->space, m);
        wf_mailbox_filled(a);
    } else if (first_for_space(a) != NULL) { /* it must not overtake waiting senders */
        WF_SOMETIMES("mailbox: there is space, but other senders have waited for longer", true);
        wf_lane_push(&a->more->backlog->space, m);
    } else {
        set_full(a, false);
        struct wf_space left = space_of(a);
        left.budget = wf_actors_of(w)->mail_bytes_max;
        notify_one(a, m, &left);
    }
}

/* Notifying a sender costs a wake, often of another core. So it is done not for each free place, but for an eighth of
 * the mailbox, each time another eighth is free. Senders notified before are about to send and do not ask again: if
 * each notification were for all free space, all senders would come at once. */
void wf_on_space_of_eighth(struct wf_actor *a, size_t weight)
{
    const struct wf_free_space free = wf_free_space(a);
    const uint32_t places = WF_MAX(a->mailbox_max / 8, 1);
    if (free.places < (int64_t)places) return;
    const size_t bytes = WF_MAX(a->mailbox_bytes_max / 8, 1);
    if (free.bytes < (int64_t)bytes) return;
    bool of_places = (uint32_t)free.places % places == 0;
    bool of_bytes = weight >= bytes || (size_t)free.bytes % bytes < weight; /* one division: they are slow */
    if (of_places || of_bytes) space_came_for(a, places, bytes);
}

/* ---- WF_MSG_SPACE ---------------------------------------------------------------------------------------------- */

/* A sender of this node asks for space here; or the notification has come back to the sender. */
static void deliver_space(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    WF_ASSERT(m->ref <= 1);
    if (m->ref == 0) {
        m->ref = 1;
        wf_on_space_asked(w, a, m);
        return;
    }
    if ((uint16_t)m->size == a->space_asked) {
        a->space_news = true;
        if (a->wants_space) wf_task_wake(&a->task);
    }
    wf_msg_free(w, m);
}

static void drop_space(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    if (m->ref != 0 || (m->post.word != WF_SPACE_TELL && m->post.word != WF_SPACE_PROMISE)) {
        wf_msg_free(w, m);
        return;
    }
    m->ref = 1; /* the actor is gone, so the sender must not wait: it finds out by trying */
    wf_send_signal(w, m->from, m);
}

static void notify_sender(struct wf_actor *a, weft_msg *m, struct wf_space *space)
{
    struct wf_backlog *b = space != NULL && m->post.word == WF_SPACE_PROMISE ? backlog(a) : NULL;
    if (space != NULL) wf_space_use(space, 1, m->topic_size);
    if (b != NULL) {
        b->promised++;
        b->promised_bytes += m->topic_size;
        set_waiters(a, true); /* other senders then check what is promised */
    }
    wf_send_signal(a->task.worker, m->from, m);
}

static const struct wf_message_row messages[] = {
    {.kind = WF_MSG_SPACE, .deliver = deliver_space, .drop = drop_space, .space = notify_sender}};
const struct wf_feature wf_backpressure_feature = {
    .name = "backpressure", .messages = messages, .message_count = WF_COUNT(messages)};
