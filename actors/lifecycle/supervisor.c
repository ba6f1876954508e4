/* actors/lifecycle/supervisor.c -- supervisors: see weft/supervisor.h.
 *
 * Design notes.
 * (1) A supervisor is an actor like any other. It traps exits and stop requests, and only receives: a message changes
 *     the state of one child (take), then `advance` does what has become possible: it stops one child that must stop,
 *     the last one first, or starts the children that are next, the first one first. Only the loop's weft_recv waits,
 *     until the earliest deadline of all children. So a back-off or a slow start delays nothing else.
 * (2) Children are linked to the supervisor, so an EXIT message notifies it of each end of a life. With
 *     `keep_mailbox`, kept_actor.c sends that message.
 * (3) A child is `wanted` or not, and up or not. A restart of a group marks the children that are up as `must_stop`;
 *     they stay wanted, and start again in their turn. A child that is not wanted leaves the list when it is down;
 *     but a transient child that has ended normally stays, as its group may start again.
 * (4) When it ends (it was asked to stop, gave up, or a linked actor failed), no child is wanted; when the last one
 *     is down, the supervisor ends with the noted reason. If it is killed, clean_up asks all children to stop at
 *     once, and waits for none.
 * (5) If there is no memory to start a child, that is not a failure of the child, and no reason to stop all others:
 *     the start is retried until it is overdue. Only weft_start_child fails at once. */
#include "child.h"
#include "children.h"
#include "end.h"
#include "kept_actor.h"
#include "log.h"

#include <weft/monitor.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY WEFT_MS(20) /* the pause before the next try to get memory */

/* Many supervisors, with children that fail as often as they may, would fill a disk. */
static const char more_lines[] = "more children ended, or did not start or stop";

struct supervisor {
    struct wf_actor *actor;
    weft_strategy strategy;
    struct wf_children all;
    uint32_t max_restarts;
    int64_t period, backoff_min, backoff_max;
    bool jitter;
    bool started; /* all children of the spec were up once */
    bool ending;
    bool leave; /* end at once, although children still run */
    int reason; /* why it ends itself, if `ending` */
    char text[128];
    int64_t wake; /* the next time at which something becomes possible or overdue */
    uint32_t restart_next, restart_count;
    int64_t restarted[]; /* a ring of max_restarts times */
};

/* ---- Requests that wait, and children that leave --------------------------------------------------------------- */

static void answer(struct wf_child *c, int rc)
{
    struct wf_child_answer a = {rc, c->pid};
    if (c->caller == NULL) return;
    (void)weft_reply(c->caller, weft_tag(c->caller), &a, sizeof a);
    weft_msg_free(c->caller);
    c->caller = NULL;
}

static void free_child(struct supervisor *s, struct wf_child *c)
{
    if (c->keep != NULL) wf_kept_actor_let_go(s->actor->task.worker, c->keep);
    free(c);
}

static void drop(struct supervisor *s, struct wf_child *c)
{
    wf_children_remove(&s->all, c);
    answer(c, WEFT_ECANCELED);
    free_child(s, c);
}

/* ---- Its own end ----------------------------------------------------------------------------------------------- */

WEFT_PRINTF(3, 4) static void begin_end(struct supervisor *s, int reason, const char *format, ...)
{
    if (s->ending) return;
    WF_SOMETIMES("supervisor: it ends while a child is starting", wf_children_first(&s->all, WF_CLOCK) != NULL);
    s->ending = true;
    s->reason = reason;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->text, sizeof s->text, format, args);
    va_end(args);
    WF_LIST_EACH(k, &s->all.all) {
        struct wf_child *c = wf_child_on_all(k);
        c->wanted = false;
        c->must_stop = c->state != WF_DOWN;
        wf_children_changed(&s->all, c);
        answer(c, WEFT_ECANCELED);
        wf_task_tick(&s->actor->task);
    }
}

/* Also runs when the supervisor is killed: then children still run. */
static void clean_up(void *arg)
{
    struct supervisor *s = arg;
    for (struct wf_list_node *k = s->all.all.head.prev, *before; k != &s->all.all.head; k = before) {
        struct wf_child *c = wf_child_on_all(k);
        before = k->prev;
        if (c->state != WF_DOWN && c->keep == NULL) (void)weft_stop(c->pid); /* in case it traps exits */
        free_child(s, c);
        if (s->actor->cleaning) wf_actor_end_part(s->actor, 1);
    }
    wf_children_finish(&s->all);
    free(s);
}

/* ---- Starting and stopping one --------------------------------------------------------------------------------- */

static const char *why(int reason, const char *text)
{
    static _Thread_local char words[32];
    return text[0] != 0 ? text : weft_reason_text(reason, words);
}

static void ended(struct supervisor *s, struct wf_child *c, int reason, const char *text);

static void start(struct supervisor *s, struct wf_child *c)
{
    struct wf_worker *w = s->actor->task.worker;
    size_t size = sizeof c->charge + c->spec.arg_size;
    c->state = WF_STARTING;
    c->late = false;
    c->up_since = 0;
    if (!c->starved) c->deadline = weft_after(c->spec.start_timeout);
    int rc;
    if (c->spec.keep_mailbox) {
        if (c->keep == NULL) c->keep = wf_kept_actor_new(weft_self(), c->spec.unregistered ? "" : c->charge.name);
        rc = c->keep == NULL
                 ? WEFT_ENOMEM
                 : wf_kept_actor_start(w, c->keep, &c->pid, wf_child_main, &c->charge, size, &c->spec.options);
    } else {
        rc = weft_spawn(&c->pid, wf_child_main, &c->charge, size, &c->spec.options);
    }
    if (rc == WEFT_ECANCELED) begin_end(s, WEFT_EXIT_STOPPED, "%s", ""); /* the node is stopping */
    if (rc < 0) {
        ended(s, c, rc, "");
        return;
    }
    wf_children_changed(&s->all, c);
    s->wake = WF_MIN(s->wake, c->deadline);
}

/* Without memory even for a kill it is retried. A supervisor that is ending leaves at once instead: the links end the
 * child without memory. */
static void kill_child(struct supervisor *s, struct wf_child *c)
{
    bool failed = weft_kill(c->pid) == WEFT_ENOMEM;
    c->deadline = failed ? weft_after(WEFT_MS(10)) : WEFT_FOREVER;
    wf_children_changed(&s->all, c);
    if (failed && s->ending) s->leave = true;
}

static void stop(struct supervisor *s, struct wf_child *c)
{
    int64_t timeout = c->spec.stop_timeout;
    if (timeout == 0) timeout = c->is_supervisor ? WEFT_FOREVER : wf_node_of(s->actor->task.worker)->options.grace;
    c->state = WF_STOPPING;
    c->deadline = weft_stop(c->pid) == WEFT_ENOMEM ? WEFT_NOW : weft_after(timeout);
    wf_children_changed(&s->all, c);
}

static void overdue(struct supervisor *s, struct wf_child *c)
{
    char timeout[32];
    snprintf(timeout, sizeof timeout, "%.3g s",
             (double)(c->state == WF_STARTING ? c->spec.start_timeout : c->spec.stop_timeout) / 1e9);
    if (c->state == WF_STARTING) {
        c->late = true;
        WF_SOMETIMES("supervisor: a child is not ready in time, and is killed", true);
        wf_log_class(WEFT_LOG_MODULE, WEFT_WARN, more_lines, "child %s is not ready within %s and is killed",
                     c->charge.name, timeout);
    } else if (c->spec.stop_timeout > 0) {
        WF_SOMETIMES("supervisor: a child does not stop in time, and is killed", true);
        wf_log_class(WEFT_LOG_MODULE, WEFT_WARN, more_lines, "child %s has not stopped within %s and is killed",
                     c->charge.name, timeout);
    }
    kill_child(s, c);
}

/* ---- Restarts -------------------------------------------------------------------------------------------------- */

static bool may_restart(struct supervisor *s, int64_t now)
{
    if (s->max_restarts == 0) return false;
    if (s->restart_count == s->max_restarts && now - s->restarted[s->restart_next] <= s->period) return false;
    s->restarted[s->restart_next] = now;
    s->restart_next = (s->restart_next + 1) % s->max_restarts;
    if (s->restart_count < s->max_restarts) s->restart_count++;
    return true;
}

static int64_t back_off(struct supervisor *s, uint32_t failures)
{
    int64_t wait = s->backoff_min;
    for (uint32_t i = 1; i < failures && wait < s->backoff_max; i++)
        wait = wait > s->backoff_max / 2 ? s->backoff_max : 2 * wait;
    if (!s->jitter || wait == 0) return wait;
    uint64_t random;
    struct pf_env *env = s->actor->task.worker->set->env;
    env->random(env, &random, sizeof random);
    return wait - (int64_t)(random % ((uint64_t)wait / 2 + 1));
}

static void restart(struct supervisor *s, struct wf_child *c, int reason, const char *text)
{
    int64_t now = weft_now();
    if (!may_restart(s, now)) {
        wf_log_class(WEFT_LOG_MODULE, WEFT_ERROR, more_lines,
                     "child %s has ended (%s), and its supervisor has reached its restart limit: stopping",
                     c->charge.name, why(reason, text));
        WF_SOMETIMES("supervisor: it gives up", true);
        begin_end(s, WEFT_EXIT_GAVE_UP, "more than %u restarts in %.3g s, the last of %s: %s", s->max_restarts,
                  (double)s->period / 1e9, c->charge.name, why(reason, text));
        return;
    }
    c->failures = c->up_since != 0 && now - c->up_since >= s->period ? 1 : c->failures + 1;
    c->restarts++;
    int64_t wait = back_off(s, c->failures);
    wf_log_class(WEFT_LOG_MODULE, WEFT_WARN, more_lines, "child %s has ended (%s), to be restarted in %.3g s",
                 c->charge.name, why(reason, text), (double)wait / 1e9);
    struct wf_list_node *first = s->strategy == WEFT_ONE_FOR_ALL ? s->all.all.head.next : &c->on_all;
    struct wf_list_node *end = s->strategy == WEFT_ONE_FOR_ONE ? first->next : &s->all.all.head;
    for (struct wf_list_node *k = first; k != end; k = k->next) {
        struct wf_child *d = wf_child_on_all(k);
        d->not_before = WF_MAX(d->not_before, now + wait);
        WF_SOMETIMES("supervisor: another child fails while its group is being stopped", d->must_stop);
        WF_SOMETIMES("supervisor: a child that starts has to stop with its group",
                     d != c && d->state == WF_STARTING && s->strategy != WEFT_ONE_FOR_ONE);
        WF_SOMETIMES("supervisor: a child that had ended normally starts again with its group",
                     d->state == WF_DOWN && !d->wanted);
        d->starved = false;
        if (d->state == WF_DOWN) d->wanted = true; /* perhaps it had ended normally */
        else d->must_stop = d->wanted;             /* if it is not wanted, it is being stopped for good */
        wf_children_changed(&s->all, d);
        wf_task_tick(&s->actor->task);
    }
}

/* Whether its start is retried later, when there may be memory. */
static bool waits_for_memory(struct supervisor *s, struct wf_child *c, int reason)
{
    int64_t next = weft_after(RETRY);
    if (reason != WEFT_ENOMEM || c->asked || next >= c->deadline) return false;
    if (!c->starved)
        wf_log_class(WEFT_LOG_MODULE, WEFT_WARN, more_lines, "no memory to start child %s, which is tried again",
                     c->charge.name);
    WF_SOMETIMES("supervisor: there is no memory to start a child", true);
    c->starved = true;
    c->not_before = next;
    wf_children_changed(&s->all, c);
    return true;
}

/* A child is down, for any reason, or could not be spawned. */
static void ended(struct supervisor *s, struct wf_child *c, int reason, const char *text)
{
    uint8_t was = c->state;
    bool stopped = c->must_stop;
    c->state = WF_DOWN;
    c->must_stop = c->is_supervisor = false;
    c->reason = reason;
    c->pid = weft_nobody();
    wf_children_changed(&s->all, c);
    if (s->ending) return;
    if (!c->wanted) { /* weft_stop_child */
        WF_SOMETIMES("supervisor: a child is stopped at run time", true);
        answer(c, WEFT_OK);
        drop(s, c);
        return;
    }
    if (stopped) { /* together with its group */
        WF_SOMETIMES("supervisor: a child fails while it is being stopped with its group",
                     reason != WEFT_EXIT_STOPPED && reason != WEFT_EXIT_NORMAL);
        WF_SOMETIMES("supervisor: a temporary child is removed with its group", c->spec.restart == WEFT_TEMPORARY);
        if (c->spec.restart == WEFT_TEMPORARY) drop(s, c);
        return;
    }
    if (was == WF_STARTING) {
        if (waits_for_memory(s, c, reason)) return;
        WF_SOMETIMES("supervisor: a child fails before it is ready", true);
        if (c->late) text = "it was not ready in time";
        wf_log_class(WEFT_LOG_MODULE, WEFT_ERROR, more_lines, "child %s did not start: %s", c->charge.name,
                     why(reason, text));
        if (c->asked) {
            answer(c, c->late ? WEFT_ETIMEDOUT : reason < 0 ? reason : WEFT_ECHILD);
            drop(s, c);
        } else if (!s->started) {
            begin_end(s, reason == WEFT_EXIT_NORMAL ? WEFT_EXIT_FAILED : reason, "child %s did not start: %s",
                      c->charge.name, why(reason, text));
        } else {
            restart(s, c, reason, text);
        }
        return;
    }
    bool well = reason == WEFT_EXIT_NORMAL || reason == WEFT_EXIT_STOPPED;
    if (c->spec.restart == WEFT_PERMANENT || (c->spec.restart == WEFT_TRANSIENT && !well))
        restart(s, c, reason, text);
    else if (c->spec.restart == WEFT_TEMPORARY || s->strategy == WEFT_ONE_FOR_ONE) drop(s, c);
    else {
        c->wanted = false;
        wf_children_changed(&s->all, c);
    }
}

/* ---- What to do next ------------------------------------------------------------------------------------------- */

/* Kills overdue children. */
static void look_at_clock(struct supervisor *s, int64_t now)
{
    struct wf_child *c;
    while ((c = wf_children_first(&s->all, WF_CLOCK)) != NULL && c->deadline <= now) {
        overdue(s, c);
        wf_task_tick(&s->actor->task);
    }
    s->wake = c == NULL ? WEFT_FOREVER : c->deadline;
}

/* Stops the last child that must stop. True: there is one, and no child may start before it is down. */
static bool stop_one(struct supervisor *s)
{
    struct wf_child *c = wf_children_first(&s->all, WF_STOPS);
    if (c == NULL) return false;
    if (c->state != WF_STOPPING) stop(s, c);
    s->wake = WF_MIN(s->wake, c->deadline);
    return true;
}

/* Whether a child before `c` is starting. */
static bool is_starting_before(const struct supervisor *s, const struct wf_child *c)
{
    const struct wf_child *first = wf_children_first(&s->all, WF_STARTS);
    return first != NULL && first->serial < c->serial;
}

static void has_started(struct supervisor *s)
{
    s->started = true;
    if (s->strategy == WEFT_ONE_FOR_ONE) wf_children_free_order(&s->all);
    (void)weft_ready();
}

/* Starts the first child that may start. True: it tried to, and any state may have changed. */
static bool start_one(struct supervisor *s, int64_t now)
{
    bool in_order = !s->started || s->strategy != WEFT_ONE_FOR_ONE;
    struct wf_child *c = wf_children_first(&s->all, WF_DOWNS);
    if (c == NULL) {
        if (!s->started && wf_children_first(&s->all, WF_STARTS) == NULL) has_started(s);
        return false;
    }
    if (in_order && is_starting_before(s, c)) return false;
    if (c->not_before > now) {
        s->wake = WF_MIN(s->wake, c->not_before);
        return false;
    }
    start(s, c);
    return true;
}

static void advance(struct supervisor *s)
{
    int64_t now = weft_now();
    look_at_clock(s, now);
    while (!stop_one(s) && !s->ending && start_one(s, now)) {}
}

/* ---- Messages -------------------------------------------------------------------------------------------------- */

static void take_exit(struct supervisor *s, const weft_msg *m)
{
    struct weft_down down;
    if (weft_down_read(m, &down) < 0) return;
    struct wf_child *c = wf_children_find(&s->all, down.who);
    if (c != NULL) ended(s, c, down.reason, down.text);
    else if (down.reason != WEFT_EXIT_NORMAL) begin_end(s, down.reason, "%s", down.text);
}

static void take_started(struct supervisor *s, struct wf_child *c)
{
    if (c == NULL || c->state != WF_STARTING || c->late) return;
    c->state = WF_UP;
    c->asked = c->starved = false;
    c->deadline = WEFT_FOREVER;
    c->up_since = weft_now();
    wf_children_changed(&s->all, c);
    answer(c, WEFT_OK);
}

static int take_start_request(struct supervisor *s, weft_msg *m)
{
    if (weft_size(m) < sizeof(struct wf_start_request)) return WEFT_EFORMAT;
    const struct wf_start_request *r = weft_data(m);
    if (wf_children_named(&s->all, r->name) != NULL) return WEFT_EEXIST;
    struct wf_child *c;
    int rc = wf_children_add(&s->all, &r->spec, r->name, r + 1, &c);
    if (rc < 0) return rc;
    c->asked = true;
    c->caller = m;
    return WEFT_OK;
}

static int take_stop_request(struct supervisor *s, weft_msg *m)
{
    const char *name = weft_data(m);
    if (weft_size(m) == 0 || name[weft_size(m) - 1] != '\0') return WEFT_EFORMAT;
    struct wf_child *c = wf_children_named(&s->all, name);
    if (c == NULL) return WEFT_ENOTFOUND;
    if (c->state != WF_DOWN && !c->wanted) return WEFT_EBUSY;
    WF_SOMETIMES("supervisor: a child is to stop for good while it starts", c->state == WF_STARTING);
    WF_SOMETIMES("supervisor: a child is to stop for good while it waits for its restart", c->state == WF_DOWN);
    WF_SOMETIMES("supervisor: a child is to stop for good while it stops with its group", c->state == WF_STOPPING);
    answer(c, WEFT_ECANCELED);
    c->caller = m;
    c->wanted = false;
    if (c->state == WF_DOWN) {
        answer(c, WEFT_OK);
        drop(s, c);
    } else if (c->state != WF_STOPPING) {
        c->must_stop = false;
        stop(s, c); /* at once: not in its turn */
    }
    return WEFT_OK;
}

static void describe(const struct wf_child *c, struct weft_child_info *out)
{
    static const weft_child_state states[] = {
        [WF_STARTING] = WEFT_CHILD_STARTING, [WF_UP] = WEFT_CHILD_RUNNING, [WF_STOPPING] = WEFT_CHILD_STOPPING};
    memset(out, 0, sizeof *out);
    memcpy(out->name, c->charge.name, sizeof out->name);
    out->state = c->state != WF_DOWN ? states[c->state] : c->wanted ? WEFT_CHILD_WAITING : WEFT_CHILD_ENDED;
    out->is_supervisor = c->is_supervisor;
    out->pid = c->pid;
    out->restarts = c->restarts;
    out->reason = c->reason;
}

static void take_list_request(struct supervisor *s, const weft_msg *m)
{
    /* a message, so that it is freed if this actor is killed */
    weft_msg *box = weft_msg_new(0, s->all.count * sizeof(struct weft_child_info));
    if (box == NULL) {
        weft_log(WEFT_ERROR, "no memory to list %zu children", s->all.count);
        return;
    }
    struct weft_child_info *infos = weft_msg_body(box);
    size_t i = 0;
    WF_LIST_EACH(k, &s->all.all) describe(wf_child_on_all(k), &infos[i++]);
    (void)weft_reply(m, WF_TAG_LIST_CHILDREN, infos, s->all.count * sizeof *infos);
    weft_msg_free(box);
}

/* A start or stop is answered when it is done, or now if it has failed. */
static void take_request(struct supervisor *s, weft_msg *m)
{
    uint32_t tag = weft_tag(m);
    bool known = tag == WF_TAG_START_CHILD || tag == WF_TAG_STOP_CHILD || tag == WF_TAG_LIST_CHILDREN;
    int rc = WEFT_OK;
    if (!known || !weft_wants_reply(m) || weft_from(m).node != weft_self().node) {
        weft_log(WEFT_WARN, "a supervisor has dropped a message with the unknown tag %u", tag);
        rc = WEFT_EINVAL;
    } else if (s->ending) {
        rc = WEFT_ECANCELED;
    } else if (tag == WF_TAG_LIST_CHILDREN) {
        take_list_request(s, m);
        weft_msg_free(m);
        return;
    } else {
        rc = tag == WF_TAG_START_CHILD ? take_start_request(s, m) : take_stop_request(s, m);
    }
    if (rc == WEFT_OK) return;
    if (known && weft_wants_reply(m)) {
        struct wf_child_answer no = {rc, weft_nobody()};
        (void)weft_reply(m, tag, &no, sizeof no);
    }
    weft_msg_free(m);
}

static void take(struct supervisor *s, weft_msg *m)
{
    struct wf_child *c;
    switch (weft_tag(m)) {
    case WEFT_TAG_EXIT: take_exit(s, m); break;
    case WEFT_TAG_STOP: begin_end(s, WEFT_EXIT_STOPPED, "%s", ""); break;
    case WF_TAG_CHILD_STARTED: take_started(s, wf_children_find(&s->all, weft_from(m))); break;
    case WF_TAG_CHILD_SUPERVISES:
        c = wf_children_find(&s->all, weft_from(m));
        if (c != NULL) c->is_supervisor = true;
        break;
    default: take_request(s, m); return;
    }
    weft_msg_free(m);
}

/* ---- The supervisor -------------------------------------------------------------------------------------------- */

static bool all_down(const struct supervisor *s)
{
    return wf_children_first(&s->all, WF_STOPS) == NULL && wf_children_first(&s->all, WF_CLOCK) == NULL;
}

__attribute__((noreturn)) static void run(struct supervisor *s)
{
    for (;;) {
        advance(s);
        if (s->ending && (s->leave || all_down(s))) wf_actor_fail(s->actor, s->reason, s->text);
        weft_msg *m;
        int rc = weft_recv(&m, s->wake);
        if (rc == WEFT_OK) take(s, m);
        /* no memory for a timer */
        else if (rc != WEFT_ETIMEDOUT) weft_exit(rc == WEFT_ECANCELED ? WEFT_EXIT_STOPPED : rc);
    }
}

static const char *wrong_field(const weft_supervisor_spec *spec)
{
    if ((unsigned)spec->strategy > WEFT_REST_FOR_ONE) return "strategy is no weft_strategy";
    if (spec->children == NULL && spec->child_count > 0) return "children is NULL but child_count is not 0";
    if (spec->child_count > WEFT_CHILDREN_MAX) return "child_count is over 65536";
    if (spec->max_restarts < WEFT_NO_RESTARTS) return "max_restarts is negative";
    if (spec->max_restarts > WEFT_RESTARTS_MAX) return "max_restarts is over 10000";
    if (spec->period < 0) return "period is negative";
    if (wf_is_point(spec->period)) return "period is a point in time, not a span";
    if (spec->backoff_min < 0) return "backoff_min is negative";
    if (wf_is_point(spec->backoff_min)) return "backoff_min is a point in time, not a span";
    if (spec->backoff_max < 0) return "backoff_max is negative";
    if (wf_is_point(spec->backoff_max)) return "backoff_max is a point in time, not a span";
    if (spec->backoff_max > 0 && spec->backoff_max < spec->backoff_min) return "backoff_max is less than backoff_min";
    return NULL;
}

static int check(const weft_supervisor_spec *spec)
{
    const char *wrong = spec == NULL ? "spec is NULL" : wrong_field(spec);
    /* The grace period ends all waits of clean-ups, and a supervisor waits without a limit. */
    if (wf_actor_self()->cleaning) wrong = "a clean-up of an actor that ends cannot supervise children";
    if (wrong != NULL) {
        weft_log(WEFT_ERROR, "weft_supervise: %s", wrong);
        return WEFT_EINVAL;
    }
    for (size_t i = 0; i < spec->child_count; i++) {
        if (wf_child_check(&spec->children[i], "weft_supervise") < 0) return WEFT_EINVAL;
    }
    return WEFT_OK;
}

static int add_all(struct supervisor *s, const weft_supervisor_spec *spec)
{
    for (size_t i = 0; i < spec->child_count; i++) {
        const weft_child_spec *of = &spec->children[i];
        if (wf_children_named(&s->all, of->name) != NULL) {
            weft_log(WEFT_ERROR, "weft_supervise: two children have the name %s", of->name);
            return WEFT_EINVAL;
        }
        struct wf_child *c;
        int rc = wf_children_add(&s->all, of, of->name, of->arg, &c);
        if (rc < 0) return rc;
    }
    return WEFT_OK;
}

static struct supervisor *make(const weft_supervisor_spec *spec)
{
    uint32_t max = spec->max_restarts == 0 ? 3 : spec->max_restarts < 0 ? 0 : (uint32_t)spec->max_restarts;
    struct supervisor *s = calloc(1, sizeof *s + max * sizeof s->restarted[0]);
    if (s == NULL) return NULL;
    s->actor = wf_actor_self();
    wf_children_init(&s->all);
    s->strategy = spec->strategy;
    s->max_restarts = max;
    s->period = spec->period == 0 ? WEFT_SEC(5) : spec->period;
    s->backoff_min = spec->backoff_min;
    s->backoff_max = spec->backoff_max == 0 ? WF_MAX(WEFT_SEC(60), spec->backoff_min) : spec->backoff_max;
    s->jitter = spec->jitter;
    return s;
}

int weft_supervise(const weft_supervisor_spec *spec)
{
    if (wf_actor_self() == NULL) return WEFT_ENOTACTOR;
    int rc = check(spec);
    if (rc < 0) return rc;
    struct supervisor *s = make(spec);
    if (s == NULL) return WEFT_ENOMEM;
    rc = add_all(s, spec);
    if (rc == WEFT_OK) rc = weft_trap_exits(true);
    if (rc == WEFT_OK) rc = weft_trap_stop(true);
    if (rc == WEFT_OK && s->actor->task.cancelled) rc = WEFT_ECANCELED;
    if (rc == WEFT_OK) rc = wf_child_tell(WF_TAG_CHILD_SUPERVISES);
    if (rc < 0) {
        clean_up(s);
        return rc;
    }
    rc = weft_defer(clean_up, s); /* if this fails, clean_up has run */
    if (rc < 0) return rc;
    run(s);
}
