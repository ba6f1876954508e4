/* actors/mailbox/mailbox.c -- the messages that arrive for an actor, and how it receives them.
 *
 * Design notes.
 * (1) There are two lanes: signals (system notifications, never refused, as many as the actor has asked for) and mail
 *     (bounded by count and by the worker's share of the node's byte budget). They are received in the order of their
 *     arrival, also by a selective receive, and no matter what leaves the mailbox meanwhile: mail_order.h.
 * (2) At the bound a sender that can wait asks for space: a WF_MSG_SPACE request, kept here in arrival order. As many
 *     senders are notified as there are places; a sender that then does not use its place takes its request back, and
 *     the next one is notified. `full` informs senders on other threads in advance. It is a hint: a message of this
 *     node that was under way when the mailbox filled up is still taken (the lane between two workers is bounded
 *     itself). A message from another node is taken if it was sent on credit (actors/credit); from nodes without
 *     credit, up to twice the bound.
 * (3) Wakes are hints: a receiver checks again.
 * (4) An actor whose mailbox is full only because the worker's share of the byte budget is used up is on
 *     wf_actors.short_of_bytes: any actor that receives mail on this worker notifies its senders.
 * (5) A message of the same worker does not enter the mailbox of an actor that waits only for mail: the sender puts
 *     it on the actor's held list (wf_mailbox_hand_over). That saves half of the cost of a message. It is done only
 *     while both lanes are empty, and any message that comes ends it (wf_mail_came), so no message is overtaken. If
 *     the actor is asked to end before it runs, the message goes back to the head of the mailbox
 *     (wf_mailbox_takes_back). A request goes back there, too, if its caller no longer waits when the actor runs. The
 *     actor needs to look only if it is IN_DOUBT: a caller of this worker knows the actor that it has handed its
 *     request to, and tells it when it stops waiting (wf_mailbox_doubt); of a request that has a deadline, or that
 *     somebody else has passed on, this is never known.
 * (6) Publications may stand in the lane of mail as a struct wf_published_block instead of as messages.
 * (7) A subscription that drops its oldest message finds it without a walk through all other mail: evict_marks.h. */
#include "mailbox.h"

#include "deliver.h"
#include "evict_marks.h"
#include "held.h"
#include "mail_order.h"
#include "published_block.h"

/* ---- Arrival --------------------------------------------------------------------------------------------------- */

/* Whether a subscription, `ref`, counts it. */
static inline bool is_counted(const weft_msg *m)
{
    return m->post.flags == WF_MSG_RETAINED || m->post.flags == WF_MSG_COUNTED;
}

/* Tells its subscription that the message has left the mailbox. */
static void uncount(struct wf_actor *a, weft_msg *m, bool dropped)
{
    wf_message_row(a->task.worker, m)->leave(a, m, dropped);
}

/* Drops a message that has left the lane. */
static void drop_at(struct wf_actor *a, weft_msg *m, enum wf_drop why)
{
    wf_actor_dropped(a);
    if (is_counted(m)) uncount(a, m, true);
    if (m->post.kind == WF_POST_WORK) wf_work_let_go(a, m);
    m->to_actor = a->id;
    wf_drop(a->task.worker, m, why);
}

static void count_evicted(struct wf_actor *a)
{
    a->gone++;
    a->evicted += a->evicted != UINT32_MAX;
}

/* Mail has left the lane; `place` messages were before it. */
static inline void count_out(struct wf_actor *a, uint32_t place, size_t weight)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    wf_mail_uncounted(wa, a, weight);
    wf_mail_left(a, place);
    if (WF_UNLIKELY(wa->some_short != 0)) wf_on_space_of_bytes(wa);
}

/* Drops the first message of the block after `previous`; `place` messages are before it. */
static void drop_published(struct wf_actor *a, weft_msg *previous, uint32_t place, enum wf_drop why)
{
    WF_ASSERT(wf_mail_count(a) > 0);
    struct wf_worker *w = a->task.worker;
    const weft_msg *block = previous == NULL ? a->mail.first : (weft_msg *)previous->post.next;
    size_t freed;
    if (previous != NULL && wf_has_evict_marks(a))
        wf_evict_marks_left(a, wf_published_block_count(block) == 1 ? block : NULL, previous, place);
    wf_body_drop(w, wf_published_block_take(a, previous, &freed));
    wf_count_drop(w, why);
    count_out(a, place, freed);
}

/* An envelope for the first message of the block after `previous`; `place` messages are before it. NULL: there is no
 * memory, and that message is dropped. */
static weft_msg *envelope_for_one(struct wf_actor *a, weft_msg *previous, uint32_t place)
{
    weft_msg *m = wf_pool_take(&a->task.worker->pool, 0, sizeof *m);
    if (WF_LIKELY(m != NULL)) return m;
    wf_actor_dropped(a);
    drop_published(a, previous, place, WF_DROP_MEMORY);
    count_evicted(a);
    return NULL;
}

/* Takes the first message out of the block after `previous`, gives it an envelope, and puts it before the block.
 * `place` messages are before it. False: it is dropped. */
static bool unpack_one(struct wf_actor *a, weft_msg *previous, uint32_t place)
{
    WF_ASSERT(a->task.worker == wf_here);
    weft_msg *m = envelope_for_one(a, previous, place);
    size_t freed;
    if (m == NULL) return false;
    wf_evict_marks_unpacked(a, previous == NULL ? a->mail.first : (weft_msg *)previous->post.next, m);
    wf_published_block_envelope(m, wf_published_block_take(a, previous, &freed));
    a->spare_bytes += (int64_t)freed - (int64_t)sizeof *m;
    wf_actors_of(a->task.worker)->spare_bytes += (int64_t)freed - (int64_t)sizeof *m;
    weft_msg **at = previous == NULL ? &a->mail.first : (weft_msg **)(void *)&previous->post.next;
    m->post.next = *at == NULL ? NULL : &(*at)->post;
    *at = m;
    if (a->mail.last == previous) a->mail.last = m;
    return true;
}

void wf_mailbox_unpack(struct wf_actor *a)
{
    weft_msg *previous = NULL, *m;
    uint32_t place = 0;
    while ((m = previous == NULL ? a->mail.first : (weft_msg *)previous->post.next) != NULL) {
        if (!wf_is_published_block(m)) previous = m, place++;
        else (void)unpack_one(a, previous, place);
    }
}

/* The mail after `previous`, the last of `place` messages, is about to leave. Selective receives do this with each message. */
static inline void leaves_from_within(struct wf_actor *a, weft_msg *previous, uint32_t place)
{
    const weft_msg *m = (weft_msg *)previous->post.next;
    if (WF_UNLIKELY(wf_has_evict_marks(a))) wf_evict_marks_left(a, m, previous, place);
    if (WF_UNLIKELY(previous->post.room != 0) && m == a->mail.last) wf_published_block_close(previous);
}

/* Takes the mail after `previous`, the last of `place` messages, out of the lane; with NULL and 0, the oldest. */
static weft_msg *take_out(struct wf_actor *a, weft_msg *previous, uint32_t place)
{
    if (previous != NULL) leaves_from_within(a, previous, place);
    weft_msg *m = wf_lane_take_after(&a->mail, previous);
    count_out(a, place, wf_msg_weight(m));
    return m;
}

static void drop_oldest(struct wf_actor *a)
{
    WF_ASSERT(a->mail.first != NULL);
    if (wf_is_published_block(a->mail.first)) { /* no scan has come to it */
        wf_actor_dropped(a);
        drop_published(a, NULL, 0, WF_DROP_FULL);
        count_evicted(a);
        return;
    }
    weft_msg *oldest = take_out(a, NULL, 0);
    struct wf_backlog *b = a->more == NULL ? NULL : a->more->backlog;
    if (b != NULL && oldest == b->scanned) b->scanned = NULL;
    if (b != NULL && b->skipped > 0) b->skipped--; /* a scan begins with the oldest */
    count_evicted(a);
    drop_at(a, oldest, WF_DROP_FULL);
}

void wf_mailbox_make_space(struct wf_actor *a)
{
    WF_ASSERT(wf_mail_count(a) > 0);
    do drop_oldest(a); /* it is full, so there is a message */
    while (wf_mail_count(a) > 0 && wf_mailbox_own_full(a));
}

void wf_mailbox_evict(struct wf_actor *a, uint64_t subscription, struct wf_evict_mark *mark)
{
    const uint32_t passed = wf_evict_mark_ahead(a, mark);
    uint32_t place = passed;
    weft_msg *previous = NULL, *m = passed > 0 ? mark->at : a->mail.first;
    WF_ASSERT(a->more != NULL && m != NULL);
    while (wf_is_published_block(m) || m->ref != subscription || !is_counted(m)) {
        place += wf_mail_count_of(m);
        previous = m;
        m = (weft_msg *)m->post.next;
        WF_ASSERT(m != NULL); /* a message of that subscription waits */
    }
    struct wf_backlog *b = a->more->backlog; /* it has a subscription, so there is a->more */
    if (b != NULL && m == b->scanned) b->scanned = previous;
    if (b != NULL && place < b->skipped) b->skipped--;
    wf_worker_charge(a->task.worker, place - passed); /* the messages that it had to pass over */
    (void)take_out(a, previous, place);
    count_evicted(a);
    wf_evict_mark_set(a, mark, previous, place);
    drop_at(a, m, WF_DROP_SLOW_READER);
}

void wf_signal_put(struct wf_actor *a, weft_msg *m, uint32_t tag)
{
    m->post.flags = WF_MSG_SYSTEM;
    m->post.word = tag;
    wf_signals_push(a, m);
    WF_SOMETIMES("monitors: a DOWN waits behind messages of users", tag == WEFT_TAG_DOWN && a->mail.first != NULL);
    wf_mail_came(a);
}

/* Whether a full mailbox takes this message of another node nevertheless. */
static bool is_taken_past_bound(struct wf_actor *a, const weft_msg *m)
{
    WF_ASSERT(m->from.node != wf_node_of(a->task.worker)->incarnation);
    WF_FEATURES_EACH(f, wf_node_of(a->task.worker))
    {
        if ((*f)->takes_past_bound != NULL && (*f)->takes_past_bound(a, m)) return true;
    }
    return false;
}

static bool is_of_this_node(const struct wf_actor *a, const weft_msg *m)
{
    /* A message that another node, but none of its actors, has sent has that node in `ref`. */
    if (weft_pid_is_nobody(m->from)) return m->post.flags != WF_MSG_SEND || m->ref == 0;
    return m->from.node == wf_node_of(a->task.worker)->incarnation;
}

bool wf_body_is_scarce(const struct wf_actors *wa, const struct wf_body *b)
{
    return WF_UNLIKELY(b->block_class == WF_POOL_LARGE) &&
           WF_UNLIKELY(wf_large_bodies() > wf_node_of(wa->worker)->options.mailbox_bytes_max);
}

bool wf_mailbox_put(struct wf_actor *a, weft_msg *m)
{
    if (m->shared != NULL && wf_mail_count(a) > 0 && wf_body_is_scarce(wf_actors_of(a->task.worker), m->shared) &&
        !is_of_this_node(a, m)) {
        drop_at(a, m, WF_DROP_FULL);
        return false;
    }
    if (WF_LIKELY(!wf_mailbox_full(a))) {
        wf_mailbox_add(a, m);
        return true;
    }
    switch (wf_actor_policy(a)) {
    case WEFT_FULL_DROP_OLDEST:
        wf_mailbox_make_space(a);
        wf_mailbox_add(a, m);
        return true;
    case WEFT_FULL_FAIL:
        if (!is_of_this_node(a, m)) break;
        wf_mailbox_add(a, m); /* it was under way: note (2) */
        return true;
    case WEFT_FULL_SUSPEND:
        /* it was under way: note (2) */
        WF_SOMETIMES("mailbox: a message is under way when the mailbox fills up", true);
        WF_SOMETIMES("mailbox: a message that was sent on credit finds the mailbox full", !is_of_this_node(a, m));
        if (is_of_this_node(a, m) ||
            (wf_mail_count(a) < 2 * (uint64_t)a->mailbox_max && wf_mail_bytes(a) / 2 < a->mailbox_bytes_max) ||
            is_taken_past_bound(a, m)) {
            wf_mailbox_add(a, m);
            return true;
        }
        break;
    default: break;
    }
    drop_at(a, m, WF_DROP_FULL);
    return false;
}

/* Whether the caller of a WF_MSG_CALL no longer waits, so that the request can be dropped. */
static bool request_is_dead(struct wf_worker *w, const weft_msg *m)
{
    int64_t deadline = wf_terms(m)->deadline;
    if (deadline != WEFT_FOREVER && weft_now() >= deadline) return true;
    if (m->from.node != wf_node_of(w)->incarnation) return false;
    uint32_t index = wf_id_worker(m->from.actor);
    if (index >= w->set->count) return false; /* no such worker */
    struct wf_actor *caller = wf_slab_find(&wf_actors_of(w->set->at[index])->slab, m->from.actor);
    return caller == NULL || (index == w->index && wf_answer_place(caller, m->ref) == NULL);
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) void drop_dead(struct wf_actor *a, weft_msg *previous, uint32_t place)
{
    weft_msg *dead = take_out(a, previous, place);
    WF_SOMETIMES("mailbox: a request is dropped because its caller no longer waits", true);
    count_evicted(a);
    drop_at(a, dead, WF_DROP_EXPIRED);
    if (a->has_waiters) wf_on_space_made(a); /* weft_wait_any waits without receiving */
}

/* `m` comes after `previous`, which is the last of `place` messages; NULL and 0: it is the oldest. */
static inline __attribute__((always_inline)) bool drop_if_dead(struct wf_actor *a, weft_msg *previous, uint32_t place,
                                                               const weft_msg *m)
{
    if (WF_LIKELY(m->post.flags != WF_MSG_CALL) || !request_is_dead(a->task.worker, m)) return false;
    drop_dead(a, previous, place);
    return true;
}

bool wf_mailbox_ready(const struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of((struct wf_task *)(uintptr_t)t);
    while (a->mail.first != NULL && drop_if_dead(a, NULL, 0, a->mail.first)) {}
    return a->mail.first != NULL || a->signals.first != NULL;
}

static int take_signal(struct wf_actor *a, weft_msg *previous, weft_msg **out)
{
    *out = wf_signals_take(a, previous);
    if ((*out)->post.word == WEFT_TAG_SUBSCRIPTION)
        wf_node_of(a->task.worker)->features.messages[WF_MSG_SYSTEM].leave(a, *out, false);
    if (WF_UNLIKELY(a->traced)) wf_node_of(a->task.worker)->tracing->took(a, *out);
    wf_actor_record(a, WEFT_RECORD_RECEIVE, (*out)->from, (*out)->post.word);
    wf_hold(a, *out);
    return WEFT_OK;
}

static bool is_signal_of(const weft_msg *m, uint64_t ref, weft_pid from)
{
    return (ref == 0 || m->ref == ref) && (weft_pid_is_nobody(from) || weft_pid_equal(m->from, from));
}

weft_msg *wf_signal_take(struct wf_actor *a, uint32_t tag, uint64_t ref, weft_pid from)
{
    weft_msg *previous = NULL, *m = a->signals.first;
    uint32_t seen = 0;
    for (; m != NULL && !(m->post.word == tag && is_signal_of(m, ref, from)); m = (weft_msg *)m->post.next, seen++)
        previous = m;
    wf_task_charge_work(&a->task, seen);
    return m == NULL ? NULL : wf_signals_take(a, previous);
}

uint32_t wf_signals_drop(struct wf_actor *a, uint32_t first_tag, uint32_t last_tag, uint64_t ref, weft_pid from)
{
    uint32_t dropped = 0, seen = 0;
    weft_msg *previous = NULL, *next;
    for (weft_msg *m = a->signals.first; m != NULL; m = next, seen++) {
        next = (weft_msg *)m->post.next;
        if (m->post.word < first_tag || m->post.word > last_tag || !is_signal_of(m, ref, from)) {
            previous = m;
            continue;
        }
        wf_msg_free(a->task.worker, wf_signals_take(a, previous));
        dropped++;
    }
    wf_task_charge_work(&a->task, seen);
    return dropped;
}

/* For a message that is not a plain WF_MSG_SEND. */
static inline void received_other(struct wf_actor *a, weft_msg *m)
{
    if (WF_LIKELY(m->post.flags == WF_MSG_CALL && !wf_terms(m)->timed)) return;
    if (is_counted(m)) uncount(a, m, false);
    if (m->post.flags != WF_MSG_RETAINED) wf_mail_received(a, m);
}

/* The last part of receiving `m`, which was taken out and has freed `weight` bytes. */
static inline __attribute__((always_inline)) int receive(struct wf_actor *a, weft_msg *m, size_t weight,
                                                         weft_msg **out)
{
    a->gone++;
    if (WF_UNLIKELY(m->post.flags != WF_MSG_SEND)) received_other(a, m);
    if (WF_UNLIKELY(a->has_waiters)) wf_on_space_of_eighth(a, weight);
    if (WF_UNLIKELY(a->traced || wf_is_traced(m))) wf_node_of(a->task.worker)->tracing->took(a, m);
    wf_actor_record(a, WEFT_RECORD_RECEIVE, m->from, m->post.word);
    wf_hold(a, m);
    *out = m;
    return WEFT_OK;
}

/* Receives the first message of a block. False: it is dropped. */
static bool receive_published(struct wf_actor *a, weft_msg **out)
{
    weft_msg *m = envelope_for_one(a, NULL, 0);
    size_t freed;
    if (m == NULL) return false;
    wf_published_block_envelope(m, wf_published_block_take(a, NULL, &freed));
    count_out(a, 0, freed);
    (void)receive(a, m, freed, out);
    return true;
}

static int wait_for_mail(struct wf_actor *a, int64_t deadline)
{
    if (WF_UNLIKELY(a->has_waiters)) wf_on_space_made(a);
    a->task.wants_mail = WF_MAIL_WAKE;
    WF_PROBE2(wait, a->id, (const char *)wf_waits_for_mail);
    int rc = wf_task_wait_quietly(deadline, wf_waits_for_mail);
    WF_PROBE2(wake, a->id, rc);
    a->task.wants_mail = WF_MAIL_NONE;
    if (WF_UNLIKELY(rc < 0) && deadline > WEFT_NOW) wf_actor_record(a, WEFT_RECORD_WAKE, weft_nobody(), (uint32_t)rc);
    return rc;
}

bool wf_mailbox_takes_back(struct wf_actor *a)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    weft_msg *m = a->held;
    if (!a->task.cancelled && (m->post.flags != WF_MSG_CALL || !request_is_dead(a->task.worker, m))) return false;
    size_t weight = wf_msg_weight(m);
    wf_chain_remove(&a->held, m);
    if (a->mail.first == NULL) a->mail.last = m;
    else wf_published_block_close(a->mail.last);
    m->post.next = a->mail.first == NULL ? NULL : &a->mail.first->post;
    a->mail.first = m;
    wf_mail_counted(wa, a, weight);
    a->gone--;
    if (a->signals.first != NULL) wf_mail_put_back(a);
    if (wf_mailbox_full(a)) wf_mailbox_filled(a);
    return true;
}

static WF_STEP int recv_slowly(weft_msg **out, int64_t deadline, struct wf_actor *a)
{
    for (;;) {
        if (WF_UNLIKELY(a->task.cancelled)) return (int)wf_task_finish_wait(WEFT_ECANCELED);
        if (WF_UNLIKELY(a->signals.first != NULL) && wf_signal_is_next(a)) return take_signal(a, NULL, out);
        if (a->mail.first != NULL) {
            if (drop_if_dead(a, NULL, 0, a->mail.first)) continue;
            if (wf_is_published_block(a->mail.first)) {
                if (receive_published(a, out)) return WEFT_OK;
                continue;
            }
            weft_msg *m = wf_lane_shift(&a->mail);
            count_out(a, 0, wf_msg_weight(m));
            return receive(a, m, wf_msg_weight(m), out);
        }
        int rc = wait_for_mail(a, deadline);
        if (rc == WEFT_ETIMEDOUT && wf_mailbox_ready(&a->task)) continue; /* both came in one turn */
        if (WF_UNLIKELY(rc < 0)) return (int)wf_task_finish_wait(rc);
    }
}

weft_msg *wf_mailbox_next(struct wf_actor *a)
{
    weft_msg *m = NULL;
    while (m == NULL) {
        if (WF_UNLIKELY(a->signals.first != NULL) && wf_signal_is_next(a)) {
            (void)take_signal(a, NULL, &m);
        } else if (a->mail.first == NULL) {
            if (WF_UNLIKELY(a->has_waiters)) wf_on_space_made(a);
            return NULL;
        } else if (drop_if_dead(a, NULL, 0, a->mail.first)) {
            continue;
        } else if (wf_is_published_block(a->mail.first)) {
            (void)receive_published(a, &m);
        } else {
            m = take_out(a, NULL, 0);
            (void)receive(a, m, wf_msg_weight(m), &m);
        }
    }
    return m;
}

static WF_STEP int recv_after_yield(weft_msg **out, int64_t deadline, struct wf_actor *a)
{
    wf_task_yield();
    return recv_slowly(out, deadline, a);
}

/* Takes the oldest mail, a WF_MSG_SEND. The end of weft_recv if its body is shared, other messages are held, or
 * mailboxes of this worker wait for bytes. */
static WF_STEP int take_with_care(weft_msg **out, int64_t deadline, struct wf_actor *a)
{
    (void)deadline;
    weft_msg *m = wf_lane_shift(&a->mail);
    size_t weight = wf_msg_weight(m);
    count_out(a, 0, weight);
    return receive(a, m, weight, out);
}

/* Takes the oldest mail, `first`, which is not a WF_MSG_SEND, where no sender waits: mostly a published block, of which it
 * takes the first message. What it tests comes before what it changes. */
static WF_STEP int take_other(weft_msg **out, int64_t deadline, struct wf_actor *a, struct wf_worker *w,
                              weft_msg *first)
{
    struct wf_published_block *b = (struct wf_published_block *)first;
    const size_t unread = b->post.word;
    if (WF_UNLIKELY(!wf_is_published_block(first) || unread == (size_t)b->post.room + 1 || a->held != NULL ||
                    !wf_pool_has_kept(&w->pool)))
        return recv_slowly(out, deadline, a);
    weft_msg *m = wf_pool_take_kept(&w->pool);
    struct wf_body *body = b->at[unread - 1];
    b->post.word = (uint32_t)(unread - 1);
    wf_published_block_envelope(m, body);
    a->spare_places++;
    a->gone++;
    a->held = m; /* it holds no other one, and `m` has no next one */
    *out = m;
    /* A publication to many subscribers is not recorded: it alone would fill the recorder. */
    WF_PROBE3(receive, a->id, body->from.actor, body->tag);
    return WEFT_OK;
}

/* Whether only the slower ways of receiving do all that is to be done. */
static inline bool needs_care(const struct wf_task *t)
{
    return t->cancelled || t->bounded || t->handling || t->slow_path; /* one byte */
}

/* The end of receiving a message of another node. */
static WF_STEP int received_from_afar(weft_msg **out, int64_t deadline, struct wf_actor *a)
{
    (void)deadline;
    wf_actor_record_receive(a->task.worker, a, *out, false);
    if (a->has_waiters) wf_on_space_of_eighth(a, wf_msg_weight(*out));
    return WEFT_OK;
}

/* Takes the oldest mail, `m`, where the only reason for care may be that senders wait (`waiters`). The common case is a
 * plain message with an inline body, and no message that the actor still holds. It calls nothing before its end, and
 * what it tests comes before what it changes, so the compiler needs no stack frame. */
static inline __attribute__((always_inline)) int take_first(struct wf_actor *a, struct wf_worker *w, weft_msg *m,
                                                            weft_msg **out, int64_t deadline, bool waiters)
{
    if (WF_UNLIKELY(m->post.flags != WF_MSG_SEND))
        return waiters ? recv_slowly(out, deadline, a) : take_other(out, deadline, a, w, m);
    struct wf_actors *wa = wf_actors_of(w);
    if (WF_UNLIKELY(((uintptr_t)m->shared | (uintptr_t)a->held | wa->some_short) != 0))
        return take_with_care(out, deadline, a);
    (void)wf_lane_shift(&a->mail);
    size_t weight = sizeof *m + m->size;
    wf_mail_uncounted(wa, a, weight);
    a->gone++;
    m->post.next = NULL;
    a->held = m; /* it holds no other one */
    *out = m;
    if (WF_UNLIKELY(m->from.node != w->identity)) return received_from_afar(out, deadline, a);
    wf_actor_record_receive(w, a, m, true);
    if (waiters) wf_on_space_of_eighth(a, weight);
    return WEFT_OK;
}

/* The end of weft_recv if needs_care. */
static WF_STEP int recv_with_care(weft_msg **out, int64_t deadline, struct wf_actor *a)
{
    weft_msg *m = a->mail.first;
    if (WF_UNLIKELY(m == NULL || !a->has_waiters || a->signals.first != NULL || a->task.cancelled || a->traced))
        return recv_slowly(out, deadline, a);
    return take_first(a, a->task.worker, m, out, deadline, true);
}

/* The actor waited, without a deadline, and was not woken by a message that it surely may have. */
static __attribute__((noinline)) int recv_woken(weft_msg **out, struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    if (WF_LIKELY(wf_was_handed(a))) {
        *out = wf_mailbox_handed(w, a);
        return WF_LIKELY(*out != NULL) ? WEFT_OK : recv_slowly(out, WEFT_FOREVER, a);
    }
    a->task.wants_mail = WF_MAIL_NONE;
    weft_msg *m = a->mail.first;
    if (WF_UNLIKELY(m == NULL || needs_care(&a->task))) return recv_with_care(out, WEFT_FOREVER, a);
    return take_first(a, w, m, out, WEFT_FOREVER, false);
}

/* There is no mail, and the actor does not need care. */
static WF_STEP int recv_waiting(weft_msg **out, int64_t deadline, struct wf_actor *a)
{
    if (WF_UNLIKELY(deadline != WEFT_FOREVER || a->held != NULL)) return recv_slowly(out, deadline, a);
    a->task.wants_mail = WF_MAIL_HAND;
    WF_PROBE2(wait, a->id, (const char *)wf_waits_for_mail);
    wf_task_wait_plainly(a->task.worker, &a->task, wf_waits_for_mail);
    WF_PROBE2(wake, a->id, 0);
    weft_msg *m = a->held;
    if (WF_UNLIKELY(a->task.wants_mail != WF_MAIL_HANDED || a->task.cancelled)) return recv_woken(out, a);
    a->task.wants_mail = WF_MAIL_NONE;
    wf_actor_record_receive(a->task.worker, a, m, true);
    *out = m;
    return WEFT_OK;
}

int weft_recv(weft_msg **out, int64_t deadline)
{
    struct wf_worker *w = wf_here_or_nobody;
    struct wf_actor *a = wf_actor_self();
    if (WF_UNLIKELY(a == NULL)) return WEFT_ENOTACTOR;
    if (WF_UNLIKELY(--a->task.ops == 0)) return recv_after_yield(out, deadline, a);
    weft_msg *m = a->mail.first;
    if (WF_UNLIKELY(needs_care(&a->task))) return recv_with_care(out, deadline, a);
    if (m == NULL) return recv_waiting(out, deadline, a);
    return take_first(a, w, m, out, deadline, false);
}

/* The state of a selective receive: the condition, and the position in the system lane; the position in the mail is
 * in wf_backlog. It continues after the last messages it has seen, so that it looks at each once. Only this actor
 * takes signals; mail may be dropped meanwhile: drop_oldest, wf_mailbox_evict. */
struct scan {
    bool (*match)(const weft_msg *m, void *arg);
    void *arg;
    struct wf_backlog *mail; /* NULL: it looks only at signals */
    bool signals;
    weft_msg *seen; /* the last signal; NULL: none yet */
    uint32_t signals_seen;
};

static weft_msg *next_signal(const struct wf_actor *a, const struct scan *s)
{
    if (!s->signals) return NULL;
    return s->seen == NULL ? a->signals.first : (weft_msg *)s->seen->post.next;
}

/* NULL: it has looked at all mail, or at as much as it may skip. */
static inline __attribute__((always_inline)) weft_msg *next_mail(struct wf_actor *a, struct wf_backlog *b)
{
    while (b != NULL && b->skipped < b->skipped_max) {
        weft_msg *m = b->scanned == NULL ? a->mail.first : (weft_msg *)b->scanned->post.next;
        if (m == NULL) break;
        if (wf_is_published_block(m)) {
            (void)unpack_one(a, b->scanned, b->skipped);
            continue;
        }
        if (!drop_if_dead(a, b->scanned, b->skipped, m)) return m;
    }
    return NULL;
}

static bool take_mail(struct wf_actor *a, struct wf_backlog *b, weft_msg *mail, weft_msg **out)
{
    (void)take_out(a, b->scanned, b->skipped);
    return receive(a, mail, wf_msg_weight(mail), out) == WEFT_OK;
}

/* Takes the oldest message that matches. False: there is none. */
static bool take_match(struct wf_actor *a, struct scan *s, weft_msg **out)
{
    struct wf_backlog *b = s->mail;
    weft_msg *signal = next_signal(a, s), *mail;
    if (WF_LIKELY(signal == NULL)) {
        for (; b != NULL && (mail = next_mail(a, b)) != NULL; b->scanned = mail, b->skipped++)
            if (s->match(mail, s->arg)) return take_mail(a, b, mail, out);
        return false;
    }
    uint32_t ahead = b == NULL ? 0 : wf_signal_mail_ahead(a, s->seen);
    while (mail = next_mail(a, b), mail != NULL || signal != NULL) {
        WF_ASSERT(b != NULL || mail == NULL);
        if (signal != NULL && (mail == NULL || ahead + signal->mail_ahead <= b->skipped)) {
            if (s->match(signal, s->arg)) return take_signal(a, s->seen, out) == WEFT_OK;
            ahead += signal->mail_ahead;
            s->seen = signal;
            s->signals_seen++;
            signal = next_signal(a, s);
        } else {
            if (s->match(mail, s->arg)) return take_mail(a, b, mail, out);
            b->scanned = mail;
            b->skipped++;
        }
    }
    return false;
}

/* After a scan of everything: whether no further message could come, or be skipped. */
static bool has_skipped_too_much(const struct wf_actor *a, const struct wf_backlog *b)
{
    return b->skipped >= b->skipped_max || (wf_mailbox_own_full(a) && wf_actor_policy(a) != WEFT_FULL_DROP_OLDEST);
}

static int refuse_to_skip(struct wf_actor *a, const struct wf_backlog *b)
{
    WF_ASSERT(b->actor == a);
    if (!a->skip_told)
        weft_log(WEFT_WARN,
                 "actor %s: a selective receive passed over %u messages, %s: WEFT_EFULL (said once for this actor)",
                 a->kind, b->skipped,
                 b->skipped >= b->skipped_max ? "as many as it may" : "and the mailbox is full of them");
    a->skip_told = true;
    return (int)wf_task_finish_wait(WEFT_EFULL);
}

/* How many messages it has passed over since the receive began. */
static uint32_t passed_over(const struct scan *s)
{
    return s->signals_seen + (s->mail == NULL ? 0 : s->mail->skipped);
}

enum { SIGNALS = 1, MAIL = 2 };

static int recv_matching(weft_msg **out, bool (*match)(const weft_msg *m, void *arg), void *arg, int64_t deadline,
                         int lanes)
{
    struct wf_actor *a = wf_actor_self();
    if (a == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || match == NULL) return WEFT_EINVAL;
    wf_task_tick(&a->task);
    struct scan s = {.match = match, .arg = arg, .signals = (lanes & SIGNALS) != 0};
    if (lanes & MAIL) {
        s.mail = wf_backlog_from(a, a->task.worker);
        if (s.mail == NULL) return WEFT_ENOMEM;
        s.mail->scanned = NULL, s.mail->skipped = 0;
    }
    for (int rc = WEFT_OK;;) {
        if (WF_UNLIKELY(a->task.cancelled)) return (int)wf_task_finish_wait(WEFT_ECANCELED);
        const uint32_t before = passed_over(&s);
        const bool found = take_match(a, &s, out);
        const uint32_t passed = passed_over(&s) - before;
        if (passed > 0) wf_task_charge_work(&a->task, passed);
        if (found) return WEFT_OK;
        if (s.mail != NULL && WF_UNLIKELY(has_skipped_too_much(a, s.mail))) return refuse_to_skip(a, s.mail);
        if (rc < 0) return (int)wf_task_finish_wait(rc);
        rc = wait_for_mail(a, deadline);
        if (rc < 0 && rc != WEFT_ETIMEDOUT) return (int)wf_task_finish_wait(rc); /* at the deadline: a last look */
    }
}

int weft_recv_match(weft_msg **out, bool (*match)(const weft_msg *m, void *arg), void *arg, int64_t deadline)
{
    return recv_matching(out, match, arg, deadline, SIGNALS | MAIL);
}

static bool has_tag(const weft_msg *m, void *tag)
{
    return m->post.word == *(const uint32_t *)tag;
}

int weft_recv_tag(weft_msg **out, uint32_t tag, int64_t deadline)
{
    return recv_matching(out, has_tag, &tag, deadline, tag < WEFT_TAG_SYSTEM ? MAIL : SIGNALS);
}

static bool any(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return true;
}

int wf_recv_signal(weft_msg **out, int64_t deadline)
{
    return recv_matching(out, any, NULL, deadline, SIGNALS);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

bool wf_mailbox_drop_other(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    weft_msg *m = a->held;
    if (m != NULL) {
        wf_release(a, m);
        /* Its own request is here if it was killed while it waited for space: then no caller needs an answer. */
        if (m->post.flags == WF_MSG_CALL && !weft_pid_equal(m->from, wf_actor_pid(a))) wf_refuse(w, m, WEFT_ENOREPLY);
        else wf_msg_free(w, m);
        return true;
    }
    if (a->signals.first == NULL) return false;
    m = wf_signals_take(a, NULL);
    if (m->post.flags == WF_MSG_CALL) wf_refuse(w, m, WEFT_ENOACTOR);
    else wf_msg_free(w, m);
    return true;
}

bool wf_mailbox_drop_mail(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    if (a->mail.first == NULL) return false;
    wf_evict_marks_forget(a);
    weft_msg *m = wf_is_published_block(a->mail.first) ? NULL : take_out(a, NULL, 0);
    if (m == NULL) {
        drop_published(a, NULL, 0, WF_DROP_UNREAD);
    } else if (wf_remains_may_take(w, m)) {
        wf_note_drop(w, WF_DROP_UNREAD, a->id, m->from, m->post.word);
        wf_remains_take(w, m);
    } else {
        m->to_actor = a->id;
        wf_drop(w, m, WF_DROP_UNREAD);
    }
    return true;
}

void wf_mailbox_leave(struct wf_actor *a)
{
    while (wf_mailbox_drop_other(a)) {}
}

void wf_mailbox_close(struct wf_actor *a)
{
    wf_mailbox_leave(a);
    while (wf_mailbox_drop_mail(a)) {}
    if (a->more != NULL && a->more->backlog != NULL) wf_unlink(&a->more->backlog->on_short);
    WF_SOMETIMES("mailbox: its actor ends while senders wait for space",
                 a->more != NULL && a->more->backlog != NULL && a->more->backlog->space.first != NULL);
    wf_space_notify_all(a);
}
