/* actors/mailbox/send.c -- how an actor sends a message: to this worker, to another one, to another node; and what
 * happens to a message without a receiver.
 *
 * Design notes.
 * (1) Same worker: the receiver is found and checked, mostly in the slot to which this actor sent its last message, and
 *     the message is put into its mailbox at once, without an atomic operation. The flight recorder (runtime/log/record.h) does not record the send, as it records the
 *     receive; with weft_node_options.record_sends no message is sent this way.
 * (2) Another worker: the receiver is looked up there (a read of its first cache line), then the message is put into
 *     this worker's batch for that worker, which is handed over once a turn.
 * (3) Another node: the route encodes the message, which is then freed. The route keeps a large message and sends its
 *     bytes without a copy.
 * (4) Without space the sender waits: it asks for a notification (WF_MSG_SPACE to the mailbox, wf_worker_wait_space for
 *     a congested lane, the route for a full link or for credit), waits, and tries again, until its send timeout. */
#include "send.h"

#include "deliver.h"
#include "held.h"
#include "mailbox.h"
#include "small.h"

#include <string.h>

/* ---- Waiting for space ------------------------------------------------------------------------------------------ */

/* `weight`: the space its message takes, in bytes. */
static int ask_space(struct wf_actor *self, weft_pid to, uint32_t weight, enum wf_space_wish wish)
{
    struct wf_worker *w = self->task.worker;
    WF_ASSERT(w == wf_here && w->current == &self->task);
    weft_msg *ask = wf_msg_new(w, wish, 0);
    if (ask == NULL) return WEFT_ENOMEM;
    ask->post.flags = WF_MSG_SPACE;
    ask->from = wf_actor_pid(self);
    ask->size = wish == WF_SPACE_TELL || wish == WF_SPACE_PROMISE ? ++self->space_asked : 0;
    ask->topic_size = weight;
    return wf_send_signal(w, to, ask);
}

/* `promise`: the space is reserved for the sender, as it is on the receiver's worker. */
static int wait_for_mailbox(struct wf_actor *self, weft_pid to, uint32_t weight, bool promise, int64_t deadline)
{
    WF_ASSERT(!self->wants_space); /* an actor waits for one thing */
    self->wants_space = true;
    self->space_news = false;
    int rc = ask_space(self, to, weight, promise ? WF_SPACE_PROMISE : WF_SPACE_TELL);
    const bool asked = rc == WEFT_OK;
    /* If the receiver is on our own worker, the answer may have come before the wait. */
    while (rc == WEFT_OK && !self->space_news) rc = wf_task_wait(deadline, "space in a mailbox");
    self->wants_space = false;
    /* A sender that will not use the space passes it on. */
    if (asked && (rc < 0 || self->task.killed))
        (void)ask_space(self, to, weight, promise ? WF_SPACE_RELEASE : WF_SPACE_FORGET);
    return rc;
}

int wf_await_space(struct wf_actor *self, weft_pid to, uint32_t weight, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    uint32_t index = wf_id_worker(to.actor);
    WF_ASSERT(to.node == wf_node_of(w)->incarnation && index < w->set->count);
    if (deadline == WEFT_NOW) return WEFT_EFULL;
    int rc = wf_worker_is_congested(w->set->at[index]) ? wf_worker_wait_space(w, index, deadline)
                                                       : wait_for_mailbox(self, to, weight, false, deadline);
    wf_task_finish_wait(rc);
    return rc == WEFT_ETIMEDOUT ? WEFT_EFULL : rc;
}

void wf_return_space(struct wf_actor *self, weft_pid to)
{
    (void)ask_space(self, to, 0, WF_SPACE_FORGET);
}

/* PLACE: as LANE, for a sender that was notified of a place in the mailbox. */
enum where { MAILBOX, LANE, PLACE, LINK };

/* `name`: of the actor on another node; NULL: it is known by `to`.
 * The message is on the sender's held list meanwhile, so that it is not lost when the sender is killed. WEFT_EFULL at
 * the deadline. */
static int wait_for_space(struct wf_actor *self, weft_pid to, const char *name, weft_msg *m, enum where where,
                          int64_t *deadline)
{
    struct wf_worker *w = self->task.worker;
    WF_ASSERT(where != LINK || wf_node_of(w)->route != NULL);
    if (*deadline == WEFT_NOW) return WEFT_EFULL;
    if (*deadline == WF_SEND_TIMEOUT) *deadline = weft_after(wf_node_of(w)->options.send_timeout);
    wf_hold(self, m);
    const bool near = where == MAILBOX && wf_id_worker(to.actor) == w->index;
    int rc = where == MAILBOX ? wait_for_mailbox(self, to, (uint32_t)wf_msg_weight(m), near, *deadline)
             : where == LINK  ? wf_node_of(w)->route->wait_space(w, to, name, *deadline)
                              : wf_worker_wait_space(w, wf_id_worker(to.actor), *deadline);
    if (where == PLACE && (rc < 0 || self->task.killed))
        (void)ask_space(self, to, 0, WF_SPACE_FORGET); /* see wait_for_mailbox */
    wf_task_finish_wait(rc);
    wf_release(self, m);
    return rc == WEFT_ETIMEDOUT ? WEFT_EFULL : rc;
}

/* ---- The three ways -------------------------------------------------------------------------------------------- */

static int send_across(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    uint32_t index = wf_id_worker(to.actor);
    WF_ASSERT(index != w->index);
    if (WF_UNLIKELY(index >= w->set->count)) return WEFT_ENOACTOR;
    struct wf_worker *target = w->set->at[index];
    for (bool told = false;;) { /* `told` of a place in the mailbox, which is now reserved for this sender */
        struct wf_actor *there = wf_slab_find(&wf_actors_of(target)->slab, to.actor);
        if (WF_UNLIKELY(there == NULL)) return WEFT_ENOACTOR;
        enum where where;
        if (WF_UNLIKELY(wf_worker_is_congested(target))) where = told ? PLACE : LANE;
        else if (WF_UNLIKELY(wf_actor_is_full(there) && !told)) {
            if (wf_actor_policy(there) == WEFT_FULL_FAIL) return WEFT_EFULL;
            where = MAILBOX;
        } else break;
        int rc = wait_for_space(self, to, NULL, m, where, &deadline);
        if (rc < 0) return rc;
        told = told || where == MAILBOX;
    }
    m->to_actor = to.actor;
    wf_msg_send_to(w, index, m);
    return WEFT_OK;
}

static int send_here(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    for (bool promised = false;;) {
        struct wf_actor *a = wf_actor_find(w, to.actor);
        if (WF_UNLIKELY(a == NULL)) return WEFT_ENOACTOR;
        if (promised) wf_space_used(a, wf_msg_weight(m));
        bool full = !promised && (wf_mailbox_full(a) || (a->has_waiters && wf_mailbox_has_claims(a)));
        if (WF_UNLIKELY(full) && wf_actor_policy(a) == WEFT_FULL_FAIL) return WEFT_EFULL;
        if (WF_LIKELY(!full || wf_actor_policy(a) != WEFT_FULL_SUSPEND)) {
            m->to_actor = to.actor;
            wf_mailbox_put(a, m);
            return WEFT_OK;
        }
        int rc = wait_for_space(self, to, NULL, m, MAILBOX, &deadline);
        if (rc < 0) return rc;
        promised = true;
    }
}

static int send_remote(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    if (WF_UNLIKELY(weft_pid_is_nobody(to))) return WEFT_ENOBODY;
    if (route == NULL) return WEFT_ENONODE;
    if (m->from.node != wf_node_of(w)->incarnation)
        return WEFT_EINVAL; /* a request of another caller, passed on: see weft_send_msg */
    for (;;) {
        int rc = route->send(w, to, m);
        if (rc == WEFT_EFULL) rc = wait_for_space(self, to, NULL, m, LINK, &deadline);
        else {
            if (rc == WEFT_OK) wf_msg_free(w, m);
            return WF_MIN(rc, WEFT_OK);
        }
        if (rc < 0) return rc;
    }
}

static bool is_passed_on(const struct wf_actor *self, const weft_msg *m)
{
    return m->from.actor != self->id || wf_answer_place(self, m->ref) == NULL;
}

static __attribute__((noinline)) int send_or_free(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    uint32_t tag = m->post.word;
    if (WF_UNLIKELY(wf_actors_of(w)->tracing)) m = wf_node_of(w)->tracing->out(w, self, to, NULL, m);
    int rc = to.node != wf_node_of(w)->incarnation ? send_remote(self, to, m, deadline)
             : wf_id_worker(to.actor) == w->index  ? send_here(self, to, m, deadline)
                                                   : send_across(self, to, m, deadline);
    if (WF_UNLIKELY(rc < 0)) {
        if (wf_is_traced(m)) wf_node_of(w)->tracing->failed(w, self, to, NULL, m, rc);
        /* The caller need not know that this actor was asked to stop. */
        if (m->post.flags == WF_MSG_CALL && is_passed_on(self, m))
            wf_refuse(w, m, rc == WEFT_ECANCELED ? WEFT_ENOREPLY : rc);
        else wf_msg_free(w, m);
        return rc;
    }
    wf_actor_record(self, WEFT_RECORD_SEND, to, tag);
    return rc;
}

int wf_send_or_free(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    return wf_send_near(self, wf_actor_near(self->task.worker, to), to, m, deadline);
}

int wf_send_near(struct wf_actor *self, struct wf_actor *a, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    if (WF_UNLIKELY(a == NULL || wf_mailbox_full(a) || a->has_waiters)) /* others may have been promised space */
        return send_or_free(self, to, m, deadline);
    const enum wf_mail_wish how = m->post.flags == WF_MSG_CALL ? WF_MAIL_IN_DOUBT : WF_MAIL_HANDED;
    if (m->shared == NULL && m->from.node == to.node && wf_mailbox_hand(w, a, m, how)) return WEFT_OK;
    WF_PROBE3(send, m->from.actor, to.actor, m->post.word);
    wf_mailbox_add(a, m);
    return WEFT_OK;
}

int wf_send_or_drop(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    uint64_t weighed = 0;
    return wf_send_copy_or_drop(w, to, m, &weighed);
}

int wf_send_copy_or_drop(struct wf_worker *w, weft_pid to, weft_msg *m, uint64_t *weighed)
{
    WF_ASSERT(w == wf_here);
    weft_node *node = wf_node_of(w);
    uint32_t index = wf_id_worker(to.actor);
    m->to_actor = to.actor;
    if (to.node != node->incarnation) {
        int rc = node->route == NULL ? WEFT_ENONODE : node->route->send(w, to, m);
        if (rc == WF_ROUTE_KEPT) return WEFT_OK;
        if (rc == WEFT_OK) wf_msg_free(w, m);
        else wf_drop(w, m, rc == WEFT_EFULL ? WF_DROP_FULL : WF_DROP_NO_ACTOR);
        return rc;
    }
    struct wf_worker *target = index < node->workers.count ? node->workers.at[index] : NULL;
    struct wf_actor *a = target == NULL ? NULL : wf_slab_find(&wf_actors_of(target)->slab, to.actor);
    if (a == NULL) {
        wf_drop(w, m, WF_DROP_NO_ACTOR);
        return WEFT_ENOACTOR;
    }
    if (target != w) {
        uint32_t own = (*weighed >> index & 1) == 0 ? 0 : m->size >> WF_KIB_SHIFT; /* it counts there already */
        bool full = wf_worker_is_congested_beside(target, own) || wf_actor_is_full(a);
        if (full) wf_drop(w, m, WF_DROP_FULL);
        else wf_msg_send_copy_to(w, index, m, weighed);
        return full ? WEFT_EFULL : WEFT_OK;
    }
    weft_full_policy policy = wf_actor_policy(a);
    bool scarce = m->shared != NULL && wf_mail_count(a) > 0 && wf_body_is_scarce(wf_actors_of(w), m->shared);
    if (scarce || (wf_mailbox_full(a) && (policy == WEFT_FULL_SUSPEND || policy == WEFT_FULL_FAIL))) {
        wf_actor_dropped(a);
        wf_drop(w, m, WF_DROP_FULL);
        return WEFT_EFULL;
    }
    wf_mailbox_put(a, m);
    return WEFT_OK;
}

/* A message with a copy of `data`. NULL: `*why` has the error. */
static inline weft_msg *copy_of(struct wf_actor *self, uint32_t tag, const void *data, size_t size, int *why)
{
    if (WF_UNLIKELY(wf_is_wrong_message(tag, data, size))) {
        *why = wf_wrong_message("weft_send", tag, data, size);
        return NULL;
    }
    struct wf_worker *w = self->task.worker;
    wf_task_tick_for(&self->task, size);
    *why = WEFT_ENOMEM;
    weft_msg *m = wf_msg_new(w, tag, size);
    if (WF_UNLIKELY(m == NULL)) return NULL;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = (weft_pid){wf_node_of(w)->incarnation, self->id};
    return m;
}

static __attribute__((noinline)) int send_copy(weft_pid to, uint32_t tag, const void *data, size_t size,
                                               int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (WF_UNLIKELY(self == NULL)) return WEFT_ENOTACTOR;
    int why;
    weft_msg *m = copy_of(self, tag, data, size, &why);
    return WF_LIKELY(m != NULL) ? wf_send_or_free(self, to, m, deadline) : why;
}

/* weft_send to an actor that is on another worker or node, or is full. */
static __attribute__((noinline)) int send_away(weft_pid to, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    int why;
    weft_msg *m = copy_of(self, tag, data, size, &why);
    return WF_LIKELY(m != NULL) ? send_or_free(self, to, m, WF_SEND_TIMEOUT) : why;
}

/* The next functions send a small message to an actor of this worker, in steps that each end in a call, so that no
 * step needs a stack frame or saves registers that only another one uses. All checks of a step come before its first
 * change: if a check fails, send_again starts again from the beginning. Parameters stay in the registers in which they
 * come: so the functions for empty messages have them in another order, with the number of this node, `node`. */
static WF_STEP int send_again(struct wf_worker *w, struct wf_actor *a, uint32_t tag, const void *data, size_t size)
{
    weft_pid to = {w->identity, a->id};
    return a->has_waiters || wf_mailbox_full(a) ? send_away(to, tag, data, size)
                                                : send_copy(to, tag, data, size, WF_SEND_TIMEOUT);
}

static WF_STEP int send_empty_again(uint64_t node, struct wf_actor *a, uint32_t tag, struct wf_worker *w)
{
    (void)node;
    return send_again(w, a, tag, NULL, 0);
}

/* The next two functions count a message: the operation, and the messages until one is timed; and, if it goes into the
 * mailbox, its place and its bytes. Each counter is tested where it is changed, which takes half of the instructions.
 * False: the counter that was changed last has no more left, and the undo_... functions put them all back. */
static inline bool count_handed(struct wf_worker *w)
{
    return WF_LIKELY(--w->current->ops != 0) && WF_LIKELY(--wf_actors_of(w)->timer.left != 0);
}

static inline __attribute__((always_inline)) bool count_pushed(struct wf_worker *w, struct wf_actor *a, size_t weight)
{
    return WF_LIKELY((a->spare_bytes -= (int64_t)weight) >= 0) && WF_LIKELY(--a->spare_places >= 0) &&
           WF_LIKELY((wf_actors_of(w)->spare_bytes -= (int64_t)weight) >= 0) && count_handed(w);
}

static void undo_count_handed(struct wf_worker *w)
{
    if (w->current->ops != 0) wf_actors_of(w)->timer.left++;
    w->current->ops++;
}

static void undo_count_pushed(struct wf_worker *w, struct wf_actor *a, size_t weight)
{
    struct wf_actors *wa = wf_actors_of(w);
    const bool bytes = a->spare_bytes >= 0, places = bytes && a->spare_places >= 0,
               all = places && wa->spare_bytes >= 0;
    a->spare_bytes += (int64_t)weight;
    if (bytes) a->spare_places++;
    if (places) wa->spare_bytes += (int64_t)weight;
    if (all) undo_count_handed(w);
}

/* They are not inline, as the common case would then keep the counters in registers. */
static WF_STEP __attribute__((cold)) int undo_hand(struct wf_worker *w, struct wf_actor *a, uint32_t tag,
                                                   const void *data, size_t size)
{
    undo_count_handed(w);
    return send_again(w, a, tag, data, size);
}

static WF_STEP __attribute__((cold)) int undo_hand_empty(uint64_t node, struct wf_actor *a, uint32_t tag,
                                                         struct wf_worker *w)
{
    (void)node;
    return undo_hand(w, a, tag, NULL, 0);
}

static WF_STEP __attribute__((cold)) int undo_push(struct wf_worker *w, struct wf_actor *a, uint32_t tag,
                                                   const void *data, size_t size)
{
    undo_count_pushed(w, a, sizeof(weft_msg) + size);
    return send_again(w, a, tag, data, size);
}

static WF_STEP __attribute__((cold)) int undo_push_empty(uint64_t node, struct wf_actor *a, uint32_t tag,
                                                         struct wf_worker *w)
{
    (void)node;
    return undo_push(w, a, tag, NULL, 0);
}

/* `a` waits and gets the message at once. `stackless`: it is a handler, which waits without a stack. Of `node` see
 * above: it is used only if `class_` is 0. */
static inline __attribute__((always_inline)) int hand(uint64_t node, struct wf_actor *a, uint32_t class_,
                                                      uint32_t tag, const void *data, size_t size,
                                                      struct wf_worker *w, bool stackless)
{
    if (WF_UNLIKELY(!wf_pool_has_block(&w->pool, class_)))
        return class_ == 0 ? send_empty_again(node, a, tag, w) : send_again(w, a, tag, data, size);
    if (WF_UNLIKELY(!count_handed(w)))
        return class_ == 0 ? undo_hand_empty(node, a, tag, w) : undo_hand(w, a, tag, data, size);
    weft_msg *m = wf_small_envelope(w, class_ == 0 ? node : w->identity, class_, WF_MSG_SEND, tag, size, 0);
    WF_PROBE3(send, m->from.actor, a->id, tag); /* after the body it would read what it needs again */
    if (class_ > 0) wf_copy_small((unsigned char *)(m + 1), data, size);
    wf_mailbox_hand_over(a, m, WF_MAIL_HANDED);
    if (stackless) wf_task_wake_stackless(w, &a->task);
    else wf_task_wake_waiting(w, &a->task);
    return WEFT_OK;
}

/* One function for each block class, so that it is a constant and needs no register. */
static WF_STEP int hand_empty_to_handler(uint64_t node, struct wf_actor *a, uint32_t tag, struct wf_worker *w)
{
    return hand(node, a, 0, tag, NULL, 0, w, true);
}

static WF_STEP int hand_small_to_handler(struct wf_worker *w, struct wf_actor *a, uint32_t tag, const void *data,
                                         size_t size)
{
    return hand(0, a, 1, tag, data, size, w, true);
}

static WF_STEP int came(struct wf_actor *a)
{
    wf_mail_came(a);
    return WEFT_OK;
}

/* A small message for an actor of another worker that has space, or seems to. False: it is not that simple, and nothing
 * was changed. */
static inline bool send_small_across(struct wf_worker *w, weft_pid to, uint32_t tag, const void *data, size_t size)
{
    const uint32_t index = wf_id_worker(to.actor), class_ = size == 0 ? 0 : 1;
    WF_ASSERT(to.node == w->identity);
    if (WF_UNLIKELY(index == w->index || index >= w->set->count)) return false;
    struct wf_worker *target = w->set->at[index];
    struct wf_actor *there = wf_slab_find(&wf_actors_of(target)->slab, to.actor);
    if (WF_UNLIKELY(there == NULL || wf_worker_is_congested(target) || wf_actor_is_full(there))) return false;
    if (WF_UNLIKELY(!wf_pool_has_block(&w->pool, class_) || w->current->ops == 1)) return false;
    w->current->ops--; /* the receiver's worker chooses the messages that are timed */
    weft_msg *m = wf_small_msg(w, to.node, class_, WF_MSG_SEND, tag, data, size, 0);
    m->to_actor = to.actor;
    wf_worker_send(w, index, &m->post);
    wf_actor_record(wf_actor_of(w->current), WEFT_RECORD_SEND, to, tag);
    return true;
}

static WF_STEP int send_small_away(struct wf_worker *w, weft_pid to, uint32_t tag, const void *data, size_t size)
{
    return WF_LIKELY(send_small_across(w, to, tag, data, size)) ? WEFT_OK : send_away(to, tag, data, size);
}

/* If there is space for it and for another one. No sender waits. `quietly`: the actor does not wait for mail. */
static inline __attribute__((always_inline)) int push(uint64_t node, struct wf_actor *a, uint32_t class_,
                                                      uint32_t tag, const void *data, size_t size,
                                                      struct wf_worker *w, bool quietly)
{
    if (WF_UNLIKELY(!wf_pool_has_block(&w->pool, class_)))
        return class_ == 0 ? send_empty_again(node, a, tag, w) : send_again(w, a, tag, data, size);
    if (WF_UNLIKELY(!count_pushed(w, a, sizeof(weft_msg) + size)))
        return class_ == 0 ? undo_push_empty(node, a, tag, w) : undo_push(w, a, tag, data, size);
    weft_msg *m = wf_small_envelope(w, class_ == 0 ? node : w->identity, class_, WF_MSG_SEND, tag, size, 0);
    WF_PROBE3(send, m->from.actor, a->id, tag); /* after the body it would read what it needs again */
    if (class_ > 0) wf_copy_small((unsigned char *)(m + 1), data, size);
    wf_lane_push(&a->mail, m);
    if (quietly || a->task.wants_mail < WF_MAIL_WAKE) return WEFT_OK;
    if (a->task.state != WF_TASK_WAITING) return came(a);
    wf_task_wake_waiting(w, &a->task);
    return WEFT_OK;
}

/* The actor waits, or senders wait for space in its mailbox, or believe that there is none. */
static WF_STEP int push_empty(uint64_t node, struct wf_actor *a, uint32_t tag, struct wf_worker *w)
{
    if (a->has_waiters && wf_mailbox_has_claims(a)) return send_empty_again(node, a, tag, w);
    return push(node, a, 0, tag, NULL, 0, w, false);
}

static WF_STEP int push_small(struct wf_worker *w, struct wf_actor *a, uint32_t tag, const void *data, size_t size)
{
    if (a->has_waiters && wf_mailbox_has_claims(a)) return send_again(w, a, tag, data, size);
    return push(0, a, 1, tag, data, size, w, false);
}

/* The marks of a task in that state, with that wish, and nothing else; and those that need more than a push. */
#define MARKS(state_, wish_) (((struct wf_task){.state = (state_), .wants_mail = (wish_)}).marks)
#define MARKS_OF_CARE (((struct wf_task){.wants_mail = WF_MAIL_WAKES, .slow_path = true}).marks)

/* What most messages need is inline, as long as the compiler needs no stack frame for it. */
static inline __attribute__((always_inline)) int send_small_near(struct wf_worker *w, uint64_t node,
                                                                 struct wf_actor *a, uint32_t tag, const void *data,
                                                                 size_t size)
{
    const uint32_t marks = a->task.marks;
    if ((marks & MARKS(UINT8_MAX, UINT8_MAX)) == MARKS(WF_TASK_WAITING, WF_MAIL_HAND))
        return size == 0 ? hand(node, a, 0, tag, NULL, 0, w, false) : hand(0, a, 1, tag, data, size, w, false);
    if ((marks & MARKS_OF_CARE) == 0)
        return size == 0 ? push(node, a, 0, tag, NULL, 0, w, true) : push(0, a, 1, tag, data, size, w, true);
    if (a->task.state == WF_TASK_STACKLESS && a->task.wants_mail == WF_MAIL_HAND)
        return size == 0 ? hand_empty_to_handler(node, a, tag, w) : hand_small_to_handler(w, a, tag, data, size);
    return size == 0 ? push_empty(node, a, tag, w) : push_small(w, a, tag, data, size);
}

/* To an actor of this node that is not the one to which the running actor has sent its last message. */
static inline __attribute__((always_inline)) int send_to_another(struct wf_worker *w, weft_pid to, uint32_t tag,
                                                                 const void *data, size_t size)
{
    struct wf_actor *a = wf_actor_find(w, to.actor);
    if (WF_UNLIKELY(a == NULL)) return send_small_away(w, to, tag, data, size);
    wf_actor_of(w->current)->sent_to = a;
    return send_small_near(w, to.node, a, tag, data, size);
}

static WF_STEP int send_empty_to_another(weft_pid to, uint32_t tag, struct wf_worker *w)
{
    return send_to_another(w, to, tag, NULL, 0);
}

static WF_STEP int send_small_to_another(weft_pid to, uint32_t tag, const void *data, size_t size,
                                         struct wf_worker *w)
{
    return send_to_another(w, to, tag, data, size);
}

/* Inline in weft_send once for empty messages and once for others, so that each looks at its size once. */
static inline __attribute__((always_inline)) int send_small(struct wf_worker *w, weft_pid to, uint32_t tag,
                                                            const void *data, size_t size)
{
    if (WF_UNLIKELY(w->current == NULL || tag >= WEFT_TAG_SYSTEM))
        return send_copy(to, tag, data, size, WF_SEND_TIMEOUT);
    if (WF_UNLIKELY(to.node != w->unrecorded)) return send_away(to, tag, data, size);
    struct wf_actor *a = wf_actor_of(w->current)->sent_to;
    if (!wf_slot_is(&a->slot, to.actor))
        return size == 0 ? send_empty_to_another(to, tag, w) : send_small_to_another(to, tag, data, size, w);
    return send_small_near(w, to.node, a, tag, data, size);
}

int weft_send(weft_pid to, uint32_t tag, const void *data, size_t size)
{
    if (size == 0) return send_small(wf_here_or_nobody, to, tag, NULL, 0);
    if (WF_UNLIKELY(size > WF_SMALL || data == NULL)) return send_copy(to, tag, data, size, WF_SEND_TIMEOUT);
    return send_small(wf_here_or_nobody, to, tag, data, size);
}

int weft_try_send(weft_pid to, uint32_t tag, const void *data, size_t size)
{
    return send_copy(to, tag, data, size, WEFT_NOW);
}

/* A request keeps its caller and its number, so that the answer goes directly to the caller; other messages are sent
 * as new ones. */
int wf_send_given(weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (m == NULL) return wf_wrong(WEFT_EINVAL, "weft_send_msg: the message is NULL");
    if (self == NULL) {
        wf_msg_free(wf_here, m);
        return WEFT_ENOTACTOR;
    }
    if (m->post.word >= WEFT_TAG_SYSTEM) {
        int rc = wf_wrong_message("weft_send_msg", m->post.word, NULL, 0);
        weft_msg_free(m);
        return rc;
    }
    wf_task_tick(&self->task);
    wf_release(self, m);
    if (m->post.flags != WF_MSG_CALL) {
        m->post.flags = WF_MSG_SEND;
        m->ref = 0;
        m->from = wf_actor_pid(self);
    } else {
        wf_terms(m)->moved_on = 1;
    }
    return wf_send_or_free(self, to, m, deadline);
}

int weft_send_msg(weft_pid to, weft_msg *m)
{
    return wf_send_given(to, m, WF_SEND_TIMEOUT);
}

int weft_try_send_msg(weft_pid to, weft_msg *m)
{
    return wf_send_given(to, m, WEFT_NOW);
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

/* Splits "name@node". False: it names no node. */
static bool split_name(const char *whole, char name[65], const char **node)
{
    WF_ASSERT(whole != NULL);
    const char *at = strchr(whole, '@');
    size_t size = at == NULL ? strlen(whole) : (size_t)(at - whole);
    if (size > 64) size = 0; /* too long: no such name */
    memcpy(name, whole, size);
    name[size] = 0;
    *node = at == NULL ? NULL : at + 1;
    return at != NULL;
}

static int find_name(weft_node *n, weft_text name, bool any, weft_pid *to)
{
    return n->naming == NULL ? WEFT_ENOACTOR : n->naming->find(n, name, any, to);
}

int wf_resolve(struct wf_worker *w, const char *whole, weft_pid *to)
{
    const char *node_name;
    char name[65];
    *to = weft_nobody();
    if (!split_name(whole, name, &node_name)) return find_name(wf_node_of(w), weft_cstr(name), true, to);
    if (strcmp(node_name, wf_node_of(w)->name) != 0) return WEFT_OK;
    return find_name(wf_node_of(w), weft_cstr(name), false, to);
}

int wf_send_named(struct wf_actor *self, const char *whole, weft_msg *m, int64_t deadline, uint64_t *node)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    const char *node_name;
    char name[65];
    weft_pid to;
    int rc = wf_resolve(w, whole, &to);
    *node = to.node;
    if (rc == WEFT_OK && to.node != 0) return wf_send_or_free(self, to, m, deadline);
    if (rc == WEFT_OK && route == NULL) rc = WEFT_ENONODE;
    if (rc == WEFT_OK && split_name(whole, name, &node_name)) {
        if (WF_UNLIKELY(wf_actors_of(w)->tracing)) m = wf_node_of(w)->tracing->out(w, self, weft_nobody(), whole, m);
        while ((rc = route->send_name(w, node_name, strlen(node_name), name, m, node)) == WEFT_EFULL) {
            weft_pid peer = {*node, 0};
            rc = wait_for_space(self, peer, name, m, LINK, &deadline);
            if (rc < 0) break;
        }
    }
    if (rc == WF_ROUTE_KEPT) return WEFT_OK;
    if (WF_UNLIKELY(rc < 0 && wf_is_traced(m))) wf_node_of(w)->tracing->failed(w, self, weft_nobody(), whole, m, rc);
    wf_msg_free(w, m);
    return rc;
}

/* A new message for a name; checks the arguments. NULL: `*why` has the error. */
static weft_msg *message_to_name(struct wf_actor *self, const char *name, uint32_t tag, const void *data, size_t size,
                                 int *why)
{
    *why = self == NULL                           ? WEFT_ENOTACTOR
           : name == NULL                         ? wf_wrong_name(WEFT_EINVAL, NULL)
           : wf_is_wrong_message(tag, data, size) ? wf_wrong_message("weft_send_name", tag, data, size)
                                                  : WEFT_ENOMEM;
    if (*why != WEFT_ENOMEM) return NULL;
    wf_task_tick_for(&self->task, size);
    weft_msg *m = wf_msg_new(self->task.worker, tag, size);
    if (m == NULL) return NULL;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = wf_actor_pid(self);
    return m;
}

int weft_send_name(const char *name, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    int why;
    uint64_t node;
    weft_msg *m = message_to_name(self, name, tag, data, size, &why);
    return m == NULL ? why : wf_send_named(self, name, m, WF_SEND_TIMEOUT, &node);
}
