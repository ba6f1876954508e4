/* actors/mailbox.c -- what arrives for an actor, and how it takes it.
 *
 * Design notes.
 * (1) Two lanes: signals (system news, never refused, bounded by what the actor asked for) and mail (bounded by count
 *     and by the worker's share of the node's byte budget). They are received in the order of their arrival: a signal
 *     in its lane carries, as `to_actor`, how many mails came before it; if one of those goes out of turn it carries
 *     one less.
 * (2) At the bound a sender that can wait asks for room: a WF_MSG_ROOM request, kept here in arrival order. As many
 *     are told as there are places; who then does not use the place takes its request back, and the next is told.
 *     `full` tells senders on other threads in advance; it is a hint: a message of this node that was under way when
 *     the mailbox filled up is still taken (the lane between two workers is bounded itself). One from another node
 *     is taken up to twice the bound, then dropped and counted.
 * (3) Wakes are hints: who receives looks again.
 * (4) An actor whose mailbox is full only because the worker's share of the byte budget is used up is on
 *     wf_actors.short_of_bytes: whoever takes mail on this worker tells its senders. */
#include "mailbox.h"

/* ---- Lanes ----------------------------------------------------------------------------------------------------- */

static weft_msg *lane_take_after(struct wf_lane *l, weft_msg *previous)
{
    weft_msg *m = previous == NULL ? l->first : (weft_msg *)previous->post.next;
    if (m == NULL) return NULL;
    weft_msg *next = (weft_msg *)m->post.next;
    if (previous == NULL) l->first = next;
    else previous->post.next = m->post.next;
    if (next == NULL) l->last = previous;
    return m;
}

static void wake_for_mail(struct wf_actor *a)
{
    if (a->task.wants_mail) wf_task_wake(&a->task);
}

static void set_full(struct wf_actor *a, bool full)
{
    atomic_store_explicit(&a->full, full, memory_order_relaxed);
}

static struct wf_backlog *backlog(struct wf_actor *a)
{
    return wf_backlog_from(a, a->task.worker);
}

/* Those that wait for room here; NULL: nobody. */
static weft_msg *first_for_room(const struct wf_actor *a)
{
    return a->more == NULL || a->more->backlog == NULL ? NULL : a->more->backlog->room.first;
}

/* Without memory nobody would tell its senders: `full` must not keep them, then. */
static void note_short(struct wf_actor *a)
{
    struct wf_backlog *b = backlog(a);
    if (b == NULL) set_full(a, false);
    else if (!wf_linked(&b->on_short)) wf_list_push(&wf_actors_of(a->task.worker)->short_of_bytes, &b->on_short);
}

void wf_mailbox_filled(struct wf_actor *a)
{
    set_full(a, true);
    a->crowded = true;
    if (!wf_mailbox_own_full(a)) note_short(a);
}

/* ---- Room for senders ------------------------------------------------------------------------------------------ */

/* Room, in messages and in bytes. */
struct room {
    uint32_t places;
    size_t bytes;
};

static struct room room_of(const struct wf_actor *a)
{
    return (struct room){a->mailbox_max - WF_MIN(a->mail_count, a->mailbox_max),
                         a->mailbox_bytes_max - WF_MIN(a->mail_bytes, a->mailbox_bytes_max)};
}

/* There is room: tells as many as it is enough for, of its own and of `budget`. */
static void tell_room(struct wf_actor *a, struct room room, size_t *budget)
{
    set_full(a, false); /* before any of them looks */
    struct wf_lane none = {NULL, NULL}, *waiting = first_for_room(a) == NULL ? &none : &a->more->backlog->room;
    while (room.places > 0 && room.bytes > 0 && *budget > 0) {
        weft_msg *m = lane_take_after(waiting, NULL);
        if (m == NULL) break;
        room.places--;
        room.bytes -= WF_MIN(m->topic_size, room.bytes);
        *budget -= WF_MIN(m->topic_size, *budget);
        wf_send_signal(a->task.worker, m->from, m);
    }
    a->crowded = waiting->first != NULL;
    if (a->crowded && *budget == 0) note_short(a);
}

void wf_room_tell_all(struct wf_actor *a)
{
    while (first_for_room(a) != NULL) {
        weft_msg *m = wf_lane_shift(&a->more->backlog->room);
        wf_send_signal(a->task.worker, m->from, m);
    }
}

static void room_came_for(struct wf_actor *a, struct room room)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    if (WF_UNLIKELY(wf_mailbox_full(a))) {
        if (!wf_mailbox_own_full(a)) note_short(a);
        return;
    }
    size_t budget = wf_over_bytes(wa) ? 1 : wa->mail_bytes_max - wa->mail_bytes; /* an empty mailbox takes one */
    tell_room(a, room, &budget);
}

static void room_came(struct wf_actor *a)
{
    room_came_for(a, room_of(a));
}

/* Bytes of this worker's share came free: they are for whoever has none, in turn. */
static void bytes_came(struct wf_actors *wa)
{
    if (wf_over_bytes(wa)) return;
    size_t budget = wa->mail_bytes_max - wa->mail_bytes;
    struct wf_link *k;
    while (budget > 0 && (k = wf_list_pop(&wa->short_of_bytes)) != NULL) {
        struct wf_actor *a = WF_CONTAINER(k, struct wf_backlog, on_short)->actor;
        if (wf_mailbox_own_full(a)) continue; /* what it takes itself makes room */
        tell_room(a, room_of(a), &budget);
    }
}

/* A sender asks for room here, or takes its request back (word != 0), perhaps after it was told: then the room is
 * another's. */
static void room_asked(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    bool forget = m->post.word != 0;
    weft_msg *previous = NULL;
    for (weft_msg *r = first_for_room(a); r != NULL && forget; previous = r, r = (weft_msg *)r->post.next) {
        if (!weft_pid_equal(r->from, m->from)) continue;
        wf_msg_free(w, lane_take_after(&a->more->backlog->room, previous));
        break;
    }
    if (forget) {
        wf_msg_free(w, m);
        room_came(a);
        bytes_came(wf_actors_of(w));
    } else if (wf_mailbox_full(a) && backlog(a) != NULL) { /* without memory it asks again at once */
        wf_lane_push(&a->more->backlog->room, m);
        wf_mailbox_filled(a);
    } else if (first_for_room(a) != NULL) { /* nobody overtakes those that wait */
        wf_lane_push(&a->more->backlog->room, m);
    } else {
        set_full(a, false);
        wf_send_signal(w, m->from, m);
    }
}

/* ---- Arrival --------------------------------------------------------------------------------------------------- */

static void drop_at(struct wf_actor *a, weft_msg *m, enum wf_drop why)
{
    wf_actor_dropped(a);
    if (m->post.kind == WF_POST_WORK) wf_member_let_go(a, m);
    wf_drop(a->task.worker, m, why);
}

/* Mail has left the lane. */
static inline void taken_out(struct wf_actor *a, weft_msg *m)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    size_t weight = wf_msg_weight(m);
    wa->mail_bytes -= weight;
    a->mail_bytes -= weight;
    a->mail_count--;
    if (WF_UNLIKELY(m->post.flags >= WF_MSG_RETAINED)) wf_subscription_uncount(wa, m);
    if (WF_UNLIKELY(!wf_list_empty(&wa->short_of_bytes))) bytes_came(wa);
}

/* Takes mail out of the lane: after `previous`, or the oldest. */
static weft_msg *take_out(struct wf_actor *a, weft_msg *previous)
{
    weft_msg *m = lane_take_after(&a->mail, previous);
    taken_out(a, m);
    return m;
}

static void count_evicted(struct wf_actor *a)
{
    a->gone++;
    a->evicted += a->evicted != UINT32_MAX;
}

static void drop_oldest(struct wf_actor *a)
{
    weft_msg *oldest = take_out(a, NULL);
    struct wf_backlog *b = a->more == NULL ? NULL : a->more->backlog;
    if (b != NULL && oldest == b->scanned) b->scanned = NULL;
    if (b != NULL && b->aside > 0) b->aside--; /* a scan begins with the oldest */
    count_evicted(a);
    drop_at(a, oldest, WF_DROP_FULL);
}

void wf_mailbox_make_room(struct wf_actor *a)
{
    if (a->mail_count > 0) drop_oldest(a);
    while (a->mail_count > 0 && wf_mailbox_own_full(a)) drop_oldest(a);
}

/* A message goes that is preceded by `place` others in the lane of mail: signals that came after it no longer wait
 * for it. */
static void move_marks(struct wf_actor *a, uint64_t place)
{
    uint64_t before = a->gone + place;
    for (weft_msg *m = a->signals.first; m != NULL; m = (weft_msg *)m->post.next) m->to_actor -= m->to_actor > before;
}

void wf_mailbox_evict(struct wf_actor *a, uint64_t subscription)
{
    uint32_t place = 0;
    weft_msg *previous = NULL, *m = a->mail.first;
    for (; m != NULL && (m->ref != subscription || m->post.flags < WF_MSG_RETAINED); place++) {
        previous = m;
        m = (weft_msg *)m->post.next;
    }
    WF_ASSERT(m != NULL);
    struct wf_backlog *b = a->more->backlog; /* it has a subscription, so there is a->more */
    if (b != NULL && m == b->scanned) b->scanned = previous;
    if (b != NULL && place < b->aside) b->aside--;
    move_marks(a, place);
    drop_at(a, take_out(a, previous), WF_DROP_SLOW_READER);
}

void wf_signal_put(struct wf_actor *a, weft_msg *m, uint32_t tag)
{
    m->post.flags = WF_MSG_SYSTEM;
    m->post.word = tag;
    m->to_actor = a->gone + a->mail_count;
    wf_lane_push(&a->signals, m);
    wake_for_mail(a);
}

static bool is_of_this_node(const struct wf_actor *a, const weft_msg *m)
{
    return weft_pid_is_nobody(m->from) || m->from.node == wf_node_of(a->task.worker)->incarnation;
}

bool wf_mailbox_put(struct wf_actor *a, weft_msg *m)
{
    if (WF_LIKELY(!wf_mailbox_full(a))) {
        wf_mailbox_add(a, m);
        return true;
    }
    switch (wf_actor_policy(a)) {
    case WEFT_FULL_DROP_OLDEST:
        wf_mailbox_make_room(a);
        wf_mailbox_add(a, m);
        return true;
    case WEFT_FULL_FAIL:
        if (is_of_this_node(a, m)) { /* it was under way: note (2) */
            wf_mailbox_add(a, m);
            return true;
        }
        break;
    case WEFT_FULL_SUSPEND:
        /* it was under way: note (2) */
        if (is_of_this_node(a, m) ||
            (a->mail_count < 2 * (uint64_t)a->mailbox_max && a->mail_bytes / 2 < a->mailbox_bytes_max)) {
            wf_mailbox_add(a, m);
            return true;
        }
        break;
    default: break;
    }
    drop_at(a, m, WF_DROP_FULL);
    return false;
}

/* From another node, for one that publishers of this node would wait for. */
static void deliver_awaited(struct wf_actor *a, weft_msg *m)
{
    uint64_t subscription = m->ref;
    m->ref = 0;
    m->post.flags = WF_MSG_SEND;
    if (!wf_mailbox_put(a, m)) wf_subscription_lost(a, subscription);
}

void wf_deliver(struct wf_worker *w, weft_msg *m)
{
    if (m->post.flags == WF_MSG_PUBLISH) {
        uint32_t delivered = 0;
        wf_topics_publish_here(w, m->post.word, m->from, m->shared, &delivered);
        wf_msg_free(w, m);
        return;
    }
    struct wf_actor *a = wf_actor_find(w, m->to_actor);
    if (WF_UNLIKELY(a == NULL || (a->task.state == WF_TASK_DONE && wf_actor_keep(a) == NULL))) {
        wf_drop(w, m, WF_DROP_NO_ACTOR);
        return;
    }
    switch ((enum wf_msg_kind)m->post.flags) {
    case WF_MSG_SEND:
    case WF_MSG_CALL:
    case WF_MSG_RETAINED: (void)wf_mailbox_put(a, m); return;
    case WF_MSG_REPLY:
    case WF_MSG_FAILED: wf_answer_came(a, m); return;
    case WF_MSG_PROBE: wf_probe_came(a, m); return;
    case WF_MSG_SYSTEM:
        if ((m->post.word == WEFT_TAG_GROUP_JOIN || m->post.word == WEFT_TAG_GROUP_LEAVE) &&
            !wf_group_watches(a, m->ref))
            wf_msg_free(w, m);
        else wf_signal_put(a, m, m->post.word);
        return;
    case WF_MSG_CONTROL:
        if (!wf_is_pool(a)) {
            wf_refuse(w, m, WEFT_EINVAL);
            return;
        }
        wf_signal_put(a, m, WF_TAG_POOL_CONTROL);
        m->post.flags = WF_MSG_CALL; /* from here on: to be answered */
        return;
    case WF_MSG_STOP:
        wf_msg_free(w, m);
        wf_actor_cancel(a, WEFT_EXIT_STOPPED, NULL);
        return;
    case WF_MSG_KILL:
        wf_msg_free(w, m);
        wf_actor_kill(a);
        return;
    case WF_MSG_WATCH:
    case WF_MSG_UNWATCH:
    case WF_MSG_DOWN:
    case WF_MSG_LINK:
    case WF_MSG_UNLINK:
    case WF_MSG_EXIT: wf_watch_deliver(w, a, m); return;
    case WF_MSG_ROOM:
        if (m->ref != 0) { /* the news came back to the sender */
            if ((uint16_t)m->size == a->room_asked) {
                a->room_news = true;
                if (a->wants_room) wf_task_wake(&a->task);
            }
            wf_msg_free(w, m);
        } else {
            m->ref = 1;
            room_asked(w, a, m);
        }
        return;
    case WF_MSG_COUNTED: deliver_awaited(a, m); return;
    case WF_MSG_LOST:
        wf_subscription_lost(a, m->ref);
        wf_msg_free(w, m);
        return;
    case WF_MSG_PUBLISH: break; /* above */
    }
    wf_assert_failed("a known message kind", __FILE__, __LINE__);
}

bool wf_mailbox_put_shared(struct wf_actor *a, uint32_t tag, weft_pid from, struct wf_body *body)
{
    struct wf_worker *w = a->task.worker;
    enum wf_drop why = WF_DROP_SLOW_READER;
    if (WF_LIKELY(!wf_mailbox_full(a) || wf_actor_policy(a) == WEFT_FULL_DROP_OLDEST)) {
        if (wf_mailbox_full(a)) wf_mailbox_make_room(a);
        weft_msg *m = wf_msg_share(w, tag, body);
        if (m != NULL) {
            m->from = from;
            wf_mailbox_add(a, m);
            return true;
        }
        why = WF_DROP_MEMORY;
    }
    wf_actor_dropped(a);
    wf_count_drop(w, why);
    return false;
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

/* `m` comes after `previous`, NULL: it is the oldest. */
static inline bool drop_if_dead(struct wf_actor *a, weft_msg *previous, const weft_msg *m)
{
    if (WF_LIKELY(m->post.flags != WF_MSG_CALL) || !wf_request_is_dead(a->task.worker, m)) return false;
    weft_msg *dead = take_out(a, previous);
    count_evicted(a);
    drop_at(a, dead, WF_DROP_EXPIRED);
    if (a->crowded) room_came(a); /* weft_wait_any waits without receiving */
    return true;
}

bool wf_mailbox_ready(const struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of((struct wf_task *)(uintptr_t)t);
    while (a->mail.first != NULL && drop_if_dead(a, NULL, a->mail.first)) {}
    return a->mail.first != NULL || a->signals.first != NULL;
}

static int take_signal(struct wf_actor *a, weft_msg *previous, weft_msg **out)
{
    *out = lane_take_after(&a->signals, previous);
    WF_ASSERT(*out != NULL);
    if ((*out)->post.word == WEFT_TAG_SUBSCRIPTION) wf_subscription_told(wf_actors_of(a->task.worker), *out);
    wf_hold(a, *out);
    return WEFT_OK;
}

weft_msg *wf_signal_take(struct wf_actor *a, uint32_t tag, uint64_t ref, weft_pid from)
{
    weft_msg *previous = NULL;
    for (weft_msg *m = a->signals.first; m != NULL; previous = m, m = (weft_msg *)m->post.next) {
        if (m->post.word == tag && (ref == 0 || m->ref == ref) &&
            (weft_pid_is_nobody(from) || weft_pid_equal(m->from, from)))
            return lane_take_after(&a->signals, previous);
    }
    return NULL;
}

/* Whether the mail that came before the first signal is gone. */
static bool signal_is_next(const struct wf_actor *a)
{
    return a->mail.first == NULL || a->signals.first->to_actor <= a->gone;
}

/* Telling a sender costs a wake, often of another core: not for each place, but for an eighth of the mailbox, each
 * time another eighth has come free. Those told before are on their way and do not ask again: told each time of all
 * that is free, all senders would come at once. */
static void eighth_came(struct wf_actor *a, size_t weight)
{
    struct room free = room_of(a);
    struct room eighth = {WF_MAX(a->mailbox_max / 8, 1), WF_MAX(a->mailbox_bytes_max / 8, 1)};
    if (free.places < eighth.places || free.bytes < eighth.bytes) return;
    bool of_places = free.places % eighth.places == 0;
    bool of_bytes = free.bytes / eighth.bytes != (free.bytes - WF_MIN(weight, free.bytes)) / eighth.bytes;
    if (of_places || of_bytes) room_came_for(a, eighth);
}

/* The receiver has `m`, which was taken out. */
static inline int receive(struct wf_actor *a, weft_msg *m, weft_msg **out)
{
    a->gone++;
    if (WF_UNLIKELY(a->crowded)) eighth_came(a, wf_msg_weight(m));
    wf_hold(a, m);
    *out = m;
    return WEFT_OK;
}

static int wait_for_mail(struct wf_actor *a, int64_t deadline)
{
    if (WF_UNLIKELY(a->crowded)) room_came(a);
    a->task.wants_mail = true;
    int rc = wf_task_wait(deadline, wf_waits_for_mail);
    a->task.wants_mail = false;
    return rc;
}

int weft_recv(weft_msg **out, int64_t deadline)
{
    struct wf_actor *a = wf_actor_self();
    if (a == NULL) return WEFT_ENOTACTOR;
    wf_task_tick(&a->task);
    for (;;) {
        if (WF_UNLIKELY(a->task.cancelled)) return (int)wf_task_settle(WEFT_ECANCELED);
        if (WF_UNLIKELY(a->signals.first != NULL) && signal_is_next(a)) return take_signal(a, NULL, out);
        if (a->mail.first != NULL) {
            if (drop_if_dead(a, NULL, a->mail.first)) continue;
            weft_msg *m = wf_lane_shift(&a->mail);
            taken_out(a, m);
            return receive(a, m, out);
        }
        int rc = wait_for_mail(a, deadline);
        if (rc == WEFT_ETIMEDOUT && wf_mailbox_ready(&a->task)) continue; /* both came in one turn */
        if (WF_UNLIKELY(rc < 0)) return (int)wf_task_settle(rc);
    }
}

/* Both go on after the last message they have seen, so that each is seen once. Nobody but us takes signals; of mail
 * the oldest may be dropped meanwhile, see drop_oldest. */
static weft_msg *find_signal(struct wf_actor *a, bool (*match)(const weft_msg *, void *), void *arg,
                             weft_msg **scanned)
{
    weft_msg *m = *scanned == NULL ? a->signals.first : (weft_msg *)(*scanned)->post.next;
    for (; m != NULL; *scanned = m, m = (weft_msg *)m->post.next) {
        if (match(m, arg)) return m;
    }
    return NULL;
}

static weft_msg *find_mail(struct wf_actor *a, struct wf_backlog *b, bool (*match)(const weft_msg *, void *),
                           void *arg)
{
    while (b->aside < b->aside_max) {
        weft_msg *m = b->scanned == NULL ? a->mail.first : (weft_msg *)b->scanned->post.next;
        if (m == NULL) break;
        if (drop_if_dead(a, b->scanned, m)) continue;
        if (match(m, arg)) return m;
        b->scanned = m;
        b->aside++;
    }
    return NULL;
}

/* After a scan of all there is: whether waiting for more would be in vain, or against the bound. */
static bool has_too_much_aside(const struct wf_actor *a, const struct wf_backlog *b)
{
    return b->aside >= b->aside_max || (wf_mailbox_own_full(a) && wf_actor_policy(a) != WEFT_FULL_DROP_OLDEST);
}

static int refuse_aside(struct wf_actor *a, const struct wf_backlog *b)
{
    if (!a->aside_told)
        weft_log(WEFT_WARN,
                 "actor %s: a selective receive passed over %u messages, %s: WEFT_EFULL (said once for this actor)",
                 a->kind, b->aside,
                 b->aside >= b->aside_max ? "as many as it may" : "and the mailbox is full of them");
    a->aside_told = true;
    return (int)wf_task_settle(WEFT_EFULL);
}

static int recv_matching(weft_msg **out, bool (*match)(const weft_msg *m, void *arg), void *arg, int64_t deadline,
                         bool mail)
{
    struct wf_actor *a = wf_actor_self();
    if (a == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || match == NULL) return WEFT_EINVAL;
    wf_task_tick(&a->task);
    struct wf_backlog *b = mail ? backlog(a) : NULL;
    if (mail && b == NULL) return WEFT_ENOMEM;
    if (mail) b->scanned = NULL, b->aside = 0;
    weft_msg *scanned_signal = NULL;
    for (int rc = WEFT_OK;;) {
        if (WF_UNLIKELY(a->task.cancelled)) return (int)wf_task_settle(WEFT_ECANCELED);
        if (find_signal(a, match, arg, &scanned_signal) != NULL) return take_signal(a, scanned_signal, out);
        if (mail && find_mail(a, b, match, arg) != NULL) return receive(a, take_out(a, b->scanned), out);
        if (mail && WF_UNLIKELY(has_too_much_aside(a, b))) return refuse_aside(a, b);
        if (rc < 0) return (int)wf_task_settle(rc);
        rc = wait_for_mail(a, deadline);
        if (rc < 0 && rc != WEFT_ETIMEDOUT) return (int)wf_task_settle(rc); /* at the deadline: a last look */
    }
}

int weft_recv_match(weft_msg **out, bool (*match)(const weft_msg *m, void *arg), void *arg, int64_t deadline)
{
    return recv_matching(out, match, arg, deadline, true);
}

static bool has_tag(const weft_msg *m, void *tag)
{
    return m->post.word == *(const uint32_t *)tag;
}

int weft_recv_tag(weft_msg **out, uint32_t tag, int64_t deadline)
{
    return recv_matching(out, has_tag, &tag, deadline, tag < WEFT_TAG_SYSTEM);
}

static bool any(const weft_msg *m, void *arg)
{
    (void)m, (void)arg;
    return true;
}

int wf_recv_signal(weft_msg **out, int64_t deadline)
{
    return recv_matching(out, any, NULL, deadline, false);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

void wf_mailbox_leave(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    for (weft_msg *m; (m = a->held) != NULL;) {
        wf_release(a, m);
        /* Its own request is here if it was killed while that waited for room: nobody is to be told. */
        if (m->post.flags == WF_MSG_CALL && !weft_pid_equal(m->from, wf_actor_pid(a))) wf_refuse(w, m, WEFT_ENOREPLY);
        else wf_msg_free(w, m);
    }
    for (weft_msg *m; (m = lane_take_after(&a->signals, NULL)) != NULL;) {
        if (m->post.flags == WF_MSG_CALL) wf_refuse(w, m, WEFT_ENOACTOR);
        else wf_msg_free(w, m);
    }
}

void wf_mailbox_close(struct wf_actor *a)
{
    struct wf_worker *w = a->task.worker;
    wf_mailbox_leave(a);
    while (a->mail.first != NULL) wf_drop(w, take_out(a, NULL), WF_DROP_UNREAD);
    if (a->more != NULL && a->more->backlog != NULL) wf_unlink(&a->more->backlog->on_short);
    wf_room_tell_all(a);
}
