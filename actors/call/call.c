/* actors/call/call.c -- requests and their answers, which do not pass the mailbox.
 *
 * Design notes.
 * (1) An actor is in one call at a time: `asking` describes it, to one actor or to many, and lies in the frame of
 *     that call. An answer to a request that is not open there is late and dropped. An actor that is killed in a call
 *     leaves `asking` set; calls_leave and wf_actor_end clear it first.
 * (2) A request is answered exactly once: by weft_reply, or by wf_refuse if it reaches no actor or is freed. If there
 *     is no memory to send an answer to another node, the request stays unanswered; if the request is gone already,
 *     the link ends (wf_answer_lost).
 * (3) Answers are held by the asking actor from their arrival, so that killing it leaks nothing.
 * (4) A request contains its caller's deadline (wf_terms). The receiving side drops a request whose caller no longer
 *     waits: on the caller's worker that is known exactly; on other workers of the node it is known whether the
 *     caller lives. */
#include "call.h"

#include "cycle.h"
#include "deliver.h"
#include "held.h"
#include "mailbox.h"
#include "send.h"
#include "small.h"
#include "trace.h"

#include <string.h>

/* ---- Answers --------------------------------------------------------------------------------------------------- */

static bool is_over(const struct wf_asking *s)
{
    return s->got >= s->need || s->got + s->open < s->need;
}

static void place_closed(struct wf_actor *a)
{
    struct wf_asking *s = a->asking;
    s->open--;
    if (!s->waiting) return;
    if (is_over(s)) wf_task_wake(&a->task);
    else if (s->probed != NULL) wf_probe_rest(a);
}

void wf_answer_fails(struct wf_actor *a, struct weft_answer *place, int error)
{
    place->error = error;
    place_closed(a);
}

static inline __attribute__((always_inline)) void take_answer(struct wf_actor *a, struct weft_answer *place,
                                                              weft_msg *m)
{
    wf_actor_record(a, WEFT_RECORD_RECEIVE, m->from, m->post.word);
    wf_hold(a, m);
    /* From now on it is a message like others, which weft_msg_free frees quickly. */
    if (WF_LIKELY(m->post.flags == WF_MSG_REPLY)) m->post.flags = WF_MSG_SEND;
    place->answer = m;
    place->error = WEFT_OK;
    a->asking->got++;
    place_closed(a);
}

void wf_on_answer(struct wf_actor *a, weft_msg *m)
{
    struct weft_answer *place = wf_answer_place(a, m->ref);
    if (place == NULL) {
        WF_SOMETIMES("calls: a reply comes when the caller no longer waits", true);
        wf_drop(a->task.worker, m, WF_DROP_LATE_REPLY);
    } else if (m->post.flags == WF_MSG_FAILED) {
        int64_t error = -(int64_t)m->post.word;
        wf_msg_free(a->task.worker, m);
        wf_answer_fails(a, place, error < 0 && error > INT16_MIN ? (int)error : WEFT_EFORMAT);
    } else {
        if (WF_UNLIKELY(wf_is_traced(m))) wf_trace_arrived(a, m);
        take_answer(a, place, m);
    }
}

static void calls_leave(struct wf_actor *a)
{
    wf_asking_leave(a);
    if (a->more == NULL || a->more->cycle == NULL) return;
    wf_block_free(a->more->cycle);
    a->more->cycle = NULL;
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

/* Field by field: for a compound literal the compiler would clear the whole struct first. */
static inline void begin(struct wf_actor *self, struct wf_actors *wa, struct wf_asking *s, struct weft_answer *slots,
                         uint32_t count, uint32_t need)
{
    WF_ASSERT(self->asking == NULL); /* note (1) */
    s->slots = slots;
    s->first = wa->last_ref + 1;
    s->count = count;
    s->need = need;
    s->got = 0;
    s->open = count;
    s->since = 0;
    s->name = NULL;
    s->on_calls = (struct wf_list_node){NULL, NULL};
    s->actor = self;
    s->look_at = s->rested = s->pause = 0;
    s->looked_at = 0;
    s->waiting = false;
    s->probed = NULL;
    wa->last_ref += count;
    for (size_t i = 0; i < count; i++) {
        slots[i].answer = NULL;
        slots[i].error = WF_ANSWER_OPEN;
    }
    self->asking = s;
}

void wf_asking_begin(struct wf_actor *self, struct wf_asking *s, struct weft_answer *slots, uint32_t count,
                     uint32_t need)
{
    begin(self, wf_actors_of(self->task.worker), s, slots, count, need);
}

static const char waits_for_answer[] = "an answer";

/* Waits until the call is over, unless a wait has ended with an error already: `rc`. Ends the call. */
static inline __attribute__((always_inline)) int wait_on(struct wf_actor *self, struct wf_asking *s, int rc,
                                                         int64_t deadline)
{
    while (!is_over(s) && rc == WEFT_OK) rc = wf_task_wait_quietly(deadline, waits_for_answer);
    WF_PROBE2(wake, self->id, rc);
    if (rc < 0) wf_actor_record(self, WEFT_RECORD_WAKE, weft_nobody(), (uint32_t)rc);
    wf_unlink(&s->on_calls);
    self->asking = NULL;
    return rc;
}

static inline __attribute__((always_inline)) int await(struct wf_actor *self, struct wf_asking *s, int64_t deadline)
{
    if (WF_UNLIKELY(is_over(s))) {
        self->asking = NULL;
        return WEFT_OK;
    }
    s->waiting = true;
    wf_patrol_add(self->task.worker, s);
    WF_PROBE2(wait, self->id, (const char *)waits_for_answer);
    return wait_on(self, s, WEFT_OK, deadline);
}

int wf_asking_await(struct wf_actor *self, int64_t deadline)
{
    return await(self, self->asking, deadline);
}

/* The actor that is called, if it is on this worker. */
static inline struct wf_actor *find_called(struct wf_worker *w, weft_pid to)
{
    if (to.node != wf_node_of(w)->incarnation || wf_id_worker(to.actor) != w->index) return NULL;
    return wf_actor_find(w, to.actor);
}

/* The running actor no longer waits in a call to one actor. `rc` ended the wait. */
static inline __attribute__((always_inline)) int conclude(const struct wf_actor *self, const struct weft_answer *one,
                                                          int rc, weft_msg **answer)
{
    if (WF_UNLIKELY(one->error != WEFT_OK)) {
        /* the actor that is called may not have looked at the request yet */
        struct wf_actor *called = find_called(self->task.worker, one->from);
        if (called != NULL) wf_mailbox_doubt(called);
        return (int)wf_task_finish_wait(one->error == WF_ANSWER_OPEN ? rc : one->error);
    }
    if (self->task.killed) wf_task_finish_wait(0);
    *answer = one->answer;
    return WEFT_OK;
}

/* The rest of a call to one actor. `sent` is the result of sending the request. */
static int end_one(struct wf_actor *self, struct wf_asking *s, int sent, weft_msg **answer, int64_t deadline)
{
    if (WF_UNLIKELY(sent < 0)) {
        self->asking = NULL;
        return (int)wf_task_finish_wait(sent);
    }
    int rc = await(self, s, deadline);
    return conclude(self, s->slots, rc, answer);
}

static int64_t send_deadline(int64_t deadline)
{
    return deadline == WEFT_FOREVER ? WF_SEND_TIMEOUT : WF_MAX(deadline, WEFT_NOW);
}

static inline bool closes_cycle(struct wf_actor *self, struct wf_actor *called)
{
    return WF_UNLIKELY(called == self || (called != NULL && called->asking != NULL)) &&
           wf_call_closes_cycle(self, called);
}

static inline __attribute__((always_inline)) weft_msg *request(struct wf_actor *self, uint32_t tag, const void *data,
                                                               size_t size, int64_t deadline)
{
    weft_msg *m = wf_request_new(self->task.worker, tag, size, deadline);
    if (WF_UNLIKELY(m == NULL)) return NULL;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = wf_actor_pid(self);
    m->ref = wf_actors_of(self->task.worker)->last_ref + 1; /* wf_asking_begin will use the same number */
    return m;
}

static int check(const struct wf_actor *self, uint32_t tag, const void *data, size_t size)
{
    if (self == NULL) return WEFT_ENOTACTOR;
    return WF_UNLIKELY(wf_is_wrong_message(tag, data, size)) ? wf_wrong_message("weft_call", tag, data, size)
                                                             : WEFT_OK;
}

static __attribute__((noinline)) int call_slowly(weft_pid to, uint32_t tag, const void *data, size_t size,
                                                 weft_msg **answer, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, tag, data, size);
    if (rc < 0) return rc;
    if (answer == NULL) return wf_wrong(WEFT_EINVAL, "weft_call: there is no place for the answer: it is NULL");
    wf_task_tick_for(&self->task, size);
    struct wf_worker *w = self->task.worker;
    struct wf_actor *called = find_called(w, to);
    if (closes_cycle(self, called)) return (int)wf_task_finish_wait(WEFT_EDEADLOCK);
    weft_msg *m = request(self, tag, data, size, deadline);
    if (WF_UNLIKELY(m == NULL)) return WEFT_ENOMEM;
    struct weft_answer one = {.from = to};
    struct wf_asking asking;
    begin(self, wf_actors_of(w), &asking, &one, 1, 1);
    struct wf_actor *near = wf_is_unrecorded(w, to) ? called : NULL;
    enum wf_mail_wish how = deadline == WEFT_FOREVER ? WF_MAIL_HANDED : WF_MAIL_IN_DOUBT;
    if (near == NULL || !wf_mailbox_hand(w, near, m, how))
        rc = wf_send_near(self, near, to, m, send_deadline(deadline));
    return end_one(self, &asking, rc, answer, deadline);
}

/* A call whose first wait, with the result `rc`, has not brought the answer alone. */
static __attribute__((noinline)) int call_on(struct wf_actor *self, struct wf_asking *s, int rc, weft_msg **answer,
                                             int64_t deadline)
{
    rc = wait_on(self, s, rc, deadline);
    return conclude(self, s->slots, rc, answer);
}

/* The largest body that makes a small message together with its terms. */
enum { SMALL_REQUEST = WF_SMALL - sizeof(struct wf_terms) };

static inline weft_msg *small_request(struct wf_worker *w, uint32_t tag, const void *data, size_t size, uint64_t ref,
                                      int64_t deadline)
{
    weft_msg *m = wf_small_msg(w, w->identity, 1, WF_MSG_CALL, tag, data, size, ref);
    struct wf_terms *terms = wf_terms(m);
    terms->deadline = deadline;
    terms->timed = terms->moved_on = 0;
    return m;
}

/* A small request to `a`, which waits for a message and nothing else. The common case: nothing is looked at twice, and
 * nothing is called but the switch. All checks come before the first change: if one fails, call_slowly begins again. */
static inline __attribute__((always_inline)) int call_near(struct wf_worker *w, struct wf_actor *a, uint32_t tag,
                                                           const void *data, size_t size, weft_msg **answer,
                                                           int64_t deadline)
{
    struct wf_task *t = w->current;
    struct wf_actors *wa = wf_actors_of(w);
    if (WF_UNLIKELY(!wf_task_is_plain(t) || deadline < WF_CLOCK_BEGIN || t->ops == 1 ||
                    !wf_pool_has_block(&w->pool, 1) || wa->timer.left == 1))
        return call_slowly(wf_actor_pid(a), tag, data, size, answer, deadline);
    struct wf_actor *self = wf_actor_of(t);
    t->ops--;
    wa->timer.left--;
    weft_msg *m = small_request(w, tag, data, size, wa->last_ref + 1, deadline);
    struct weft_answer one = {.from = {m->from.node, a->id}};
    struct wf_asking asking;
    begin(self, wa, &asking, &one, 1, 1);
    asking.waiting = true;
    wf_patrol_add(w, &asking);
    WF_PROBE3(send, m->from.actor, a->id, tag);
    wf_mailbox_hand_over(a, m, deadline == WEFT_FOREVER ? WF_MAIL_HANDED : WF_MAIL_IN_DOUBT);
    WF_PROBE2(wait, self->id, (const char *)waits_for_answer);
    int rc = WEFT_OK;
    if (deadline != WEFT_FOREVER) { /* a constant */
        wf_task_wake(&a->task);
        rc = wf_task_wait_quietly(deadline, waits_for_answer);
    } else if (WF_LIKELY(a->task.state == WF_TASK_WAITING)) {
        wf_task_wait_for(w, t, &a->task, waits_for_answer);
    } else { /* a handler */
        wf_task_wake_idle(&a->task);
        wf_task_wait_plainly(w, t, waits_for_answer);
    }
    if (WF_UNLIKELY(rc != WEFT_OK || one.error != WEFT_OK || t->cancelled))
        return call_on(self, &asking, rc == WEFT_OK && t->cancelled ? WEFT_ECANCELED : rc, answer, deadline);
    WF_PROBE2(wake, self->id, 0);
    wf_unlink(&asking.on_calls);
    self->asking = NULL;
    *answer = one.answer;
    return WEFT_OK;
}

static __attribute__((noinline)) int call_forever(struct wf_worker *w, struct wf_actor *a, uint32_t tag,
                                                  const void *data, size_t size, weft_msg **answer)
{
    return call_near(w, a, tag, data, size, answer, WEFT_FOREVER);
}

static __attribute__((noinline)) int call_until(struct wf_worker *w, struct wf_actor *a, uint32_t tag,
                                                const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    return call_near(w, a, tag, data, size, answer, deadline);
}

int weft_call(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    struct wf_worker *w = wf_here_or_nobody;
    if (WF_UNLIKELY(w->current == NULL || tag >= WEFT_TAG_SYSTEM || size > SMALL_REQUEST ||
                    (size > 0 && data == NULL) || answer == NULL))
        return call_slowly(to, tag, data, size, answer, deadline);
    struct wf_actor *a = wf_actor_near(w, to);
    if (WF_UNLIKELY(a == NULL || a->task.wants_mail != WF_MAIL_HAND))
        return call_slowly(to, tag, data, size, answer, deadline);
    return deadline == WEFT_FOREVER ? call_forever(w, a, tag, data, size, answer)
                                    : call_until(w, a, tag, data, size, answer, deadline);
}

/* Whether `a` is in a call to one actor, has sent that request, and waits. */
static inline bool waits_alone_for(const struct wf_actor *a, uint64_t ref)
{
    const struct wf_asking *s = a->asking;
    return s != NULL && s->first == ref && s->count == 1 && s->waiting && a->task.state == WF_TASK_WAITING;
}

/* The caller is not told if this is a request of a gather, as the slots of a gather are the user's. Nor is it told here
 * if it has looked for cycles already: then it has to hear from the actor that gets the request, and looks there. */
enum wf_mail_wish wf_call_moves_on(struct wf_worker *w, weft_msg *ask, weft_pid to)
{
    struct wf_actor *caller = wf_actor_near(w, ask->from);
    struct wf_terms *terms = wf_terms(ask);
    if (WF_UNLIKELY(caller == NULL || ask->shared != NULL || !waits_alone_for(caller, ask->ref) ||
                    caller->asking->probed != NULL)) {
        terms->moved_on = 1;
        return WF_MAIL_IN_DOUBT;
    }
    caller->asking->slots->from = to;
    return terms->deadline == WEFT_FOREVER ? WF_MAIL_HANDED : WF_MAIL_IN_DOUBT;
}

int weft_call_name(const char *name, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, tag, data, size);
    if (rc < 0) return rc;
    if (name == NULL) return wf_wrong_name(WEFT_EINVAL, NULL);
    if (answer == NULL) return wf_wrong(WEFT_EINVAL, "weft_call_name: there is no place for the answer: it is NULL");
    wf_task_tick_for(&self->task, size);
    struct weft_answer one = {.from = weft_nobody()};
    rc = wf_resolve(self->task.worker, name, &one.from);
    if (rc < 0) return rc;
    if (closes_cycle(self, find_called(self->task.worker, one.from))) return (int)wf_task_finish_wait(WEFT_EDEADLOCK);
    weft_msg *m = request(self, tag, data, size, deadline);
    if (m == NULL) return WEFT_ENOMEM;
    struct wf_asking asking;
    wf_asking_begin(self, &asking, &one, 1, 1);
    asking.name = name;
    if (weft_pid_is_nobody(one.from)) rc = wf_send_named(self, name, m, send_deadline(deadline), &one.from.node);
    else rc = wf_send_or_free(self, one.from, m, send_deadline(deadline));
    return end_one(self, &asking, rc, answer, deadline);
}

int wf_call_control(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    if (to.node != wf_node_of(w)->incarnation) return WEFT_EINVAL;
    weft_msg *m = request(self, tag, data, size, deadline);
    if (m == NULL) return WEFT_ENOMEM;
    struct weft_answer one = {.from = to};
    struct wf_asking asking;
    wf_asking_begin(self, &asking, &one, 1, 1);
    m->post.flags = WF_MSG_CONTROL;
    int rc = wf_send_signal(w, to, m);
    return end_one(self, &asking, rc, answer, deadline);
}

int wf_call_spawn(struct wf_actor *self, weft_pid to, weft_msg *m, weft_msg **answer, int64_t deadline)
{
    struct weft_answer one = {.from = to};
    struct wf_asking asking;
    m->ref = wf_actors_of(self->task.worker)->last_ref + 1; /* wf_asking_begin will use the same number */
    wf_asking_begin(self, &asking, &one, 1, 1);
    int rc = wf_send_or_free(self, to, m, send_deadline(deadline));
    return end_one(self, &asking, rc, answer, deadline);
}

/* ---- To many --------------------------------------------------------------------------------------------------- */

static int ask_one(struct wf_actor *self, weft_pid to, weft_msg *m, enum wf_msg_kind kind)
{
    if (kind != WF_MSG_CONTROL) return wf_send_or_free(self, to, m, WEFT_NOW); /* never waits */
    m->post.flags = WF_MSG_CONTROL;
    return wf_send_signal(self->task.worker, to, m);
}

static void ask_all(struct wf_actor *self, struct wf_asking *s, enum wf_msg_kind kind, uint32_t tag,
                    struct wf_body *body, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    for (size_t i = 0; i < s->count; i++) {
        struct weft_answer *at = &s->slots[i];
        int rc = WEFT_EDEADLOCK;
        if (!weft_pid_equal(at->from, wf_actor_pid(self))) {
            weft_msg *m = wf_request_share(w, tag, body, deadline);
            rc = WEFT_ENOMEM;
            if (m != NULL) {
                m->from = wf_actor_pid(self);
                m->ref = s->first + i;
                rc = ask_one(self, at->from, m, kind);
            }
        } else {
            (void)wf_call_closes_cycle(self, self);
        }
        if (rc < 0) wf_answer_fails(self, at, rc);
    }
}

static int gather(struct wf_actor *self, struct weft_answer *answers, uint32_t count, uint32_t need,
                  enum wf_msg_kind kind, uint32_t tag, struct wf_body *body, int64_t deadline)
{
    struct wf_asking asking;
    wf_asking_begin(self, &asking, answers, count, need);
    ask_all(self, &asking, kind, tag, body, deadline);
    wf_body_drop(self->task.worker, body);
    int rc = wf_asking_await(self, deadline);
    for (size_t i = 0; i < count; i++) {
        if (answers[i].error == WF_ANSWER_OPEN) answers[i].error = WEFT_ETIMEDOUT;
    }
    if (asking.got < need && rc < 0 && rc != WEFT_ETIMEDOUT) {
        weft_answers_free(answers, count);
        return (int)wf_task_finish_wait(rc);
    }
    return (int)wf_task_finish_wait((int64_t)asking.got);
}

int weft_gather(struct weft_answer *answers, size_t count, size_t need, uint32_t tag, const void *data, size_t size,
                int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    int rc = check(self, tag, data, size);
    if (rc < 0) return rc;
    if (answers == NULL || need == 0 || need > count || count > WEFT_GATHER_MAX) return WEFT_EINVAL;
    wf_task_tick_for(&self->task, size);
    struct wf_body *body = wf_body_new(self->task.worker, NULL, 0, data, size);
    if (body == NULL) return WEFT_ENOMEM;
    return gather(self, answers, (uint32_t)count, (uint32_t)need, WF_MSG_CALL, tag, body, deadline);
}

int wf_gather_control(struct weft_answer *answers, size_t count, uint32_t tag, const void *data, size_t size,
                      int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_body *body = wf_body_new(self->task.worker, NULL, 0, data, size);
    const uint32_t all = (uint32_t)count;
    return body == NULL ? WEFT_ENOMEM : gather(self, answers, all, all, WF_MSG_CONTROL, tag, body, deadline);
}

void weft_answers_free(struct weft_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        weft_msg_free(answers[i].answer);
        answers[i].answer = NULL;
    }
}

/* ---- Answering ------------------------------------------------------------------------------------------------- */

int64_t weft_deadline(const weft_msg *ask)
{
    return ask->post.flags == WF_MSG_CALL ? wf_terms(ask)->deadline : WEFT_FOREVER;
}

bool weft_expired(const weft_msg *ask)
{
    int64_t deadline = weft_deadline(ask);
    return deadline != WEFT_FOREVER && weft_now() >= deadline;
}

/* Whether it can be answered. WEFT_EINVAL: it cannot, and the log says why. */
static int check_request(const char *call, const weft_msg *ask)
{
    if (ask == NULL) return wf_wrong(WEFT_EINVAL, "%s: the request is NULL", call);
    if (ask->post.flags == WF_MSG_CALL) return WEFT_OK;
    return wf_wrong(WEFT_EINVAL,
                    "%s: the message with the tag %u is no request, or is answered already: see weft_wants_reply",
                    call, ask->post.word);
}

/* The answer was not sent: there is no such node, or no memory. `ask` is NULL if the request itself was the answer:
 * then it is gone. */
static __attribute__((noinline, cold)) int not_answered(struct wf_worker *w, weft_msg *ask, weft_pid caller,
                                                        int error)
{
    if (error != WEFT_ENOMEM) return error;
    if (ask != NULL) ask->post.flags = WF_MSG_CALL; /* a request again: freeing it answers WEFT_ENOREPLY */
    else wf_answer_lost(w, caller);
    return error;
}

/* Puts an answer into the call of an actor of this worker that waits for it. False: there is no such call here. */
static inline __attribute__((always_inline)) bool hand_answer(struct wf_worker *w, weft_pid caller, weft_msg *m)
{
    struct wf_actor *a = wf_is_unrecorded(w, caller) ? wf_actor_find(w, caller.actor) : NULL;
    struct weft_answer *place = a == NULL ? NULL : wf_answer_place(a, m->ref);
    if (place == NULL) return false;
    take_answer(a, place, m);
    return true;
}

/* `m` is on no list, or is `ask`. */
static inline __attribute__((always_inline)) int answer_with(struct wf_actor *self, weft_msg *ask, weft_msg *m)
{
    struct wf_worker *w = self->task.worker;
    weft_pid caller = ask->from;
    bool itself = m == ask;
    m->ref = ask->ref;
    m->from = wf_actor_pid(self);
    ask->post.flags = WF_MSG_SEND; /* freeing it no longer answers */
    m->post.flags = WF_MSG_REPLY;
    if (wf_is_work(ask)) wf_work_let_go(self, ask);
    if (WF_LIKELY(!wf_actors_of(w)->tracing) && hand_answer(w, caller, m)) {
        WF_PROBE3(send, self->id, caller.actor, m->post.word);
        return WEFT_OK;
    }
    if (!wf_is_unrecorded(w, caller)) wf_actor_record(self, WEFT_RECORD_SEND, caller, m->post.word);
    else WF_PROBE3(send, self->id, caller.actor, m->post.word);
    if (WF_UNLIKELY(wf_actors_of(w)->tracing)) m = wf_trace_out(w, self, caller, NULL, m);
    int rc = wf_send_signal(w, caller, m);
    return WF_LIKELY(rc == WEFT_OK) ? WEFT_OK : not_answered(w, itself ? NULL : ask, caller, rc);
}

static __attribute__((noinline)) int reply_slowly(const weft_msg *ask, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    int rc = check_request("weft_reply", ask);
    if (rc < 0) return rc;
    if (WF_UNLIKELY(wf_is_wrong_message(tag, data, size))) return wf_wrong_message("weft_reply", tag, data, size);
    wf_task_charge(&self->task, size);
    weft_msg *m = wf_msg_new(self->task.worker, tag, size);
    if (m == NULL) return WEFT_ENOMEM;
    if (size > 0) memcpy(m + 1, data, size);
    return answer_with(self, (weft_msg *)(uintptr_t)ask, m);
}

/* Puts a small answer into the call of `a`, an actor of this worker that waits for it alone. See
 * actors/mailbox/send.c: one function for each block class, which needs no stack frame. */
static inline __attribute__((always_inline)) int put_reply(struct wf_worker *w, struct wf_actor *a,
                                                           const weft_msg *ask, uint32_t class_, uint32_t tag,
                                                           const void *data, size_t size)
{
    if (WF_UNLIKELY(!wf_pool_has_block(&w->pool, class_))) return reply_slowly(ask, tag, data, size);
    weft_msg *m = wf_small_msg(w, w->identity, class_, WF_MSG_SEND, tag, data, size,
                               ask->ref);                   /* as in take_answer */
    ((weft_msg *)(uintptr_t)ask)->post.flags = WF_MSG_SEND; /* freeing it no longer answers */
    WF_PROBE3(send, m->from.actor, a->id, tag);
    wf_worker_record(w, WEFT_RECORD_RECEIVE, a->id, m->from.actor, tag);
    WF_PROBE3(receive, a->id, m->from.actor, tag);
    wf_hold_quickly(a, m);
    struct wf_asking *s = a->asking;
    s->slots->answer = m;
    s->slots->error = WEFT_OK;
    s->got = 1;
    s->open = 0;
    wf_task_wake_waiting(w, &a->task);
    return WEFT_OK;
}

static __attribute__((noinline)) int put_empty_reply(struct wf_worker *w, struct wf_actor *a, const weft_msg *ask,
                                                     uint32_t tag)
{
    return put_reply(w, a, ask, 0, tag, NULL, 0);
}

static __attribute__((noinline)) int put_small_reply(struct wf_worker *w, struct wf_actor *a, const weft_msg *ask,
                                                     uint32_t tag, const void *data, size_t size)
{
    return put_reply(w, a, ask, 1, tag, data, size);
}

/* The running actor is done with `ask`, work of a pool, and answers it. */
static __attribute__((noinline)) int put_reply_to_work(struct wf_worker *w, struct wf_actor *a, const weft_msg *ask,
                                                       uint32_t tag, const void *data, size_t size)
{
    if (WF_UNLIKELY(!wf_pool_has_block(&w->pool, size > 0))) return reply_slowly(ask, tag, data, size);
    wf_work_let_go(wf_actor_of(w->current), (weft_msg *)(uintptr_t)ask);
    return size == 0 ? put_empty_reply(w, a, ask, tag) : put_small_reply(w, a, ask, tag, data, size);
}

int weft_reply(const weft_msg *ask, uint32_t tag, const void *data, size_t size)
{
    struct wf_worker *w = wf_here_or_nobody;
    if (WF_UNLIKELY(w->current == NULL || ask == NULL || ask->post.flags != WF_MSG_CALL || tag >= WEFT_TAG_SYSTEM ||
                    size > WF_SMALL || (size > 0 && data == NULL)))
        return reply_slowly(ask, tag, data, size);
    struct wf_actor *a = wf_actor_near(w, ask->from);
    if (WF_UNLIKELY(a == NULL || !waits_alone_for(a, ask->ref) || !wf_holds_few(a)))
        return reply_slowly(ask, tag, data, size);
    if (WF_UNLIKELY(wf_is_work(ask))) return put_reply_to_work(w, a, ask, tag, data, size);
    return size == 0 ? put_reply(w, a, ask, 0, tag, NULL, 0) : put_small_reply(w, a, ask, tag, data, size);
}

/* Whether `m` can be the answer. */
static int check_answer(const weft_msg *ask, const weft_msg *m)
{
    if (WF_UNLIKELY(m->post.word >= WEFT_TAG_SYSTEM))
        return wf_wrong_message("weft_reply_msg", m->post.word, NULL, 0);
    if (m->post.flags != WF_MSG_CALL || m == ask) return WEFT_OK;
    return wf_wrong(WEFT_EINVAL, "weft_reply_msg: the message with the tag %u is a request itself: answer it first",
                    m->post.word);
}

int weft_reply_msg(const weft_msg *ask, weft_msg *m)
{
    struct wf_actor *self = wf_actor_self();
    if (m == NULL) return wf_wrong(WEFT_EINVAL, "weft_reply_msg: the message is NULL");
    if (self == NULL) {
        wf_msg_free(wf_here, m);
        return WEFT_ENOTACTOR;
    }
    int rc = check_request("weft_reply_msg", ask);
    if (rc == WEFT_OK) rc = check_answer(ask, m);
    if (rc < 0) {
        weft_msg_free(m);
        return rc;
    }
    wf_release(self, m);
    return answer_with(self, (weft_msg *)(uintptr_t)ask, m);
}

/* Calls of this worker's actors that wait for an answer from that node fail. */
static bool node_lost(struct wf_worker *w, uint64_t peer, uint64_t *at_unused)
{
    (void)at_unused;
    struct wf_list *lists[] = {&wf_actors_of(w)->calls, &wf_actors_of(w)->long_calls};
    for (size_t l = 0; l < WF_COUNT(lists); l++) {
        WF_LIST_EACH(k, lists[l]) {
            struct wf_actor *a = WF_CONTAINER(k, struct wf_asking, on_calls)->actor;
            for (size_t i = 0; i < a->asking->count; i++) {
                struct weft_answer *at = &a->asking->slots[i];
                if (at->error == WF_ANSWER_OPEN && at->from.node == peer) wf_answer_fails(a, at, WEFT_ENONODE);
            }
        }
    }
    return false;
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static void deliver_answer(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    (void)w;
    wf_on_answer(a, m);
}

static void deliver_probe(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    (void)w;
    wf_on_probe(a, m);
}

static int worker_init(struct wf_actors *wa)
{
    wf_patrol_init(wa);
    return wf_heap_set_aside(&wa->worker->timers, 1); /* the patrol of this call needs a timer */
}

static void worker_stop(struct wf_worker *w)
{
    wf_timer_disarm(w, &wf_actors_of(w)->patrol);
}

/* The caller no longer waits, or has ended. */
static void drop_reply(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    wf_note_drop(w, WF_DROP_LATE_REPLY, m->to_actor, m->from, m->post.word);
    wf_msg_free(w, m);
}

/* A late FAILED is no loss; a probe to an actor that is gone belongs to a cycle that is broken. */
static void drop_free(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    wf_msg_free(w, m);
}

static const struct wf_message_row messages[] = {
    {.kind = WF_MSG_REPLY, .deliver = deliver_answer, .drop = drop_reply},
    {.kind = WF_MSG_FAILED, .deliver = deliver_answer, .drop = drop_free},
    {.kind = WF_MSG_PROBE, .deliver = deliver_probe, .drop = drop_free}};
const struct wf_feature wf_calls_feature = {.name = "calls",
                                            .worker_init = worker_init,
                                            .worker_stop = worker_stop,
                                            .actor_leave = calls_leave,
                                            .node_lost = node_lost,
                                            .messages = messages,
                                            .message_count = WF_COUNT(messages)};
