/* actors/run/end.c -- the end of an actor's life: its clean-ups, and what happens to what it had. The rules are in
 * actor.h. */
#include "end.h"
#include "log.h"

#include "actor_life.h"
#include "local.h"
#include "mailbox.h"

#include <weft/monitor.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_defer {
    struct wf_defer *next;
    void (*undo)(void *);
    void *arg;
};

int wf_actor_defer(struct wf_actor *a, void (*undo)(void *), void *arg)
{
    WF_ASSERT(undo != NULL && a->task.worker == wf_here);
    struct wf_pool *pool = &a->task.worker->pool;
    struct wf_defer *d = wf_actor_more(a) == NULL ? NULL : wf_pool_take(pool, wf_pool_class(sizeof *d), sizeof *d);
    if (d == NULL) {
        undo(arg);
        return WEFT_ENOMEM;
    }
    *d = (struct wf_defer){a->more->defers, undo, arg};
    a->more->defers = d;
    return WEFT_OK;
}

/* Runs the clean-up at once, as without memory; but one that defers itself again must come to an end. */
static __attribute__((noinline, cold)) int refuse(struct wf_actor *a, void (*undo)(void *), void *arg)
{
    struct wf_ending *e = a->more->ending;
    if (e->refuses) {
        weft_log(
            WEFT_WARN,
            "actor %s: its clean-ups defer others again and again after the grace period: this one does not run. A "
            "clean-up must not defer itself without end",
            a->kind);
        return WEFT_ETIMEDOUT;
    }
    e->refuses = true;
    undo(arg);
    e->refuses = false;
    return WEFT_ETIMEDOUT;
}

int weft_defer(void (*undo)(void *), void *arg)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (undo == NULL) return WEFT_EINVAL;
    return WF_UNLIKELY(wf_actor_is_overdue(self)) ? refuse(self, undo, arg) : wf_actor_defer(self, undo, arg);
}

void wf_run_defers(struct wf_actor *a)
{
    struct wf_defer *d;
    while (a->more != NULL && (d = a->more->defers) != NULL) {
        a->more->defers = d->next;
        void (*undo)(void *) = d->undo;
        void *arg = d->arg;
        wf_pool_give(&a->task.worker->pool, wf_pool_class(sizeof *d), d);
        undo(arg);
        wf_actor_end_part(a, 1);
    }
}

/* ---- In parts ---------------------------------------------------------------------------------------------------- */

enum {
    FEW_MAIL = 64,        /* so much is dropped at once */
    OTHERS_MOST = 1 << 20 /* held messages and signals that are dropped before the last step of the end */
};

/* Only as many messages as have come by now: senders that are faster must not keep the actor from its end. */
static void drop_mail(struct wf_actor *a, bool last)
{
    for (uint32_t i = 0; i < OTHERS_MOST && wf_mailbox_drop_other(a); i++) wf_actor_end_part(a, 1);
    for (uint32_t i = last ? wf_mail_count(a) : 0; i > 0 && wf_mailbox_drop_mail(a); i--) wf_actor_end_part(a, 1);
}

static void end_early(struct wf_actor *a)
{
    const bool last = wf_actor_keep(a) == NULL;
    if (wf_mail_count(a) > FEW_MAIL || a->signals.first != NULL || a->held != NULL) drop_mail(a, last);
    if (WF_LIKELY(a->more == NULL)) return;
    for (void (**early)(struct wf_actor *, bool) = wf_node_of(a->task.worker)->features.end_early; *early != NULL;
         early++)
        (*early)(a, last);
}

void wf_actor_leave(struct wf_actor *a)
{
    WF_ASSERT(a->more != NULL);
    for (void (**leave)(struct wf_actor *) = wf_node_of(a->task.worker)->features.leave; *leave != NULL; leave++)
        (*leave)(a);
}

void wf_actor_end_tail(struct wf_actor *a)
{
    bool last = wf_actor_keep(a) == NULL;
    if (WF_LIKELY(last)) wf_mailbox_close(a);
    else wf_mailbox_leave(a);
    if (WF_LIKELY(a->more == NULL)) return;
    for (void (**end)(struct wf_actor *, bool) = wf_node_of(a->task.worker)->features.end; *end != NULL; end++)
        (*end)(a, last);
}

/* Whether it has nothing to give back, nobody to notify and no clean-up to run, like most actors that live for a short
 * time. An armed timer is that of its grace period. */
static inline bool leaves_nothing(const struct wf_actor *a)
{
    return a->more == NULL && a->asking == NULL && a->held == NULL && a->mail.first == NULL &&
           a->signals.first == NULL && wf_list_empty(&a->task.owned) && !wf_timer_armed(&a->task.deadline);
}

static __attribute__((noinline)) void end_in_steps(struct wf_actor *a)
{
    struct wf_ending ending;
    if (!a->cleaning) {
        a->cleaning = true;
        int64_t latest = wf_task_end_grace(&a->task);
        if (wf_has_clean_ups(a)) {
            ending.latest = latest != WEFT_FOREVER ? latest : weft_after(wf_node_of(a->task.worker)->options.grace);
            ending.late = false;
            a->more->ending = &ending;
            a->task.bounded = true;
            PF_PLACE_MARK(ending.steps);
            ending.refuses = false;
        }
    }
    wf_asking_leave(a);                         /* if it was killed in a call, answers are no longer wanted */
    a->task.cancelled = a->task.killed = false; /* clean-ups may wait until the grace period is over */
    while (WF_UNLIKELY(wf_has_clean_ups(a))) {  /* a destructor may have added more of both */
        wf_run_defers(a);
        wf_locals_finish(a);
    }
    a->task.ops = WF_TASK_BUDGET; /* an actor that has few ends at once: wf_actor_end_part */
    while (wf_task_close_owned(&a->task)) wf_actor_end_part(a, 1);
    if (WF_UNLIKELY(a->more != NULL)) {
        wf_note_left(a);
        wf_actor_leave(a);
    }
    end_early(a);
    wf_actor_end_tail(a);
    if (a->more != NULL) a->more->ending = NULL;
}

/* A clean-up has ended its actor, or is abandoned. Its frames are dropped, as there may be very many such clean-ups. */
static __attribute__((noinline, noreturn)) void go_on(struct wf_actor *a)
{
    PF_PLACE_RETURN(a->more->ending->steps);
}

void wf_actor_end(struct wf_actor *a)
{
    if (WF_UNLIKELY(!leaves_nothing(a))) {
        if (WF_UNLIKELY(a->cleaning && a->more != NULL && a->more->ending != NULL)) go_on(a);
        end_in_steps(a);
    }
    wf_actor_record(a, WEFT_RECORD_EXIT, weft_nobody(), (uint32_t)a->reason);
    if (WF_UNLIKELY(a->handles)) {
        wf_actor_woken(&a->task); /* the sweep has to look at the next actor in this slot */
        wf_actor_free_arg(a, a->task.worker);
    }
}

/* ---- By itself, or killed ---------------------------------------------------------------------------------------- */

void wf_actor_killed(struct wf_task *t)
{
    struct wf_actor *a = wf_actor_of(t);
    if (!a->cleaning) {
        a->reason = WEFT_EXIT_KILLED;
    } else {
        WF_ASSERT(a->more->ending->late); /* an actor is killed once */
        weft_log(
            WEFT_WARN,
            "actor %s: a clean-up has waited again and again after the grace period: it is abandoned, and the others "
            "run. Let it return when a wait fails",
            a->kind);
    }
    wf_actor_end(a);
    wf_task_exit();
}

void weft_exit(int reason)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) {
        weft_log(WEFT_ERROR, "weft_exit(%d) was called outside of an actor", reason);
        abort();
    }
    self->reason = reason;
    wf_actor_end(self);
    wf_task_exit();
}

void wf_actor_fail(struct wf_actor *self, int reason, const char *text)
{
    WF_ASSERT(self == wf_actor_self());
    wf_actor_set_end(self, text[0] == 0 ? NULL : wf_end_body(self->task.worker, reason, text));
    weft_exit(reason);
}

void weft_fail_at(const char *file, int line, int reason, const char *format, ...)
{
    char text[sizeof((struct weft_down *)0)->text];
    const char *slash = strrchr(file, '/');
    int size = snprintf(text, sizeof text, "%.60s:%d: ", slash == NULL ? file : slash + 1, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + size, sizeof text - (size_t)size, format, arguments);
    va_end(arguments);
    struct wf_actor *self = wf_actor_self();
    if (self != NULL) {
        char words[32];
        wf_log_class(WEFT_LOG_MODULE, WEFT_ERROR, "more actors failed", "%s failed (%s): %s", self->kind,
                     weft_reason_text(reason, words), text);
        wf_actor_set_end(self, wf_end_body(self->task.worker, reason, text));
    } else {
        weft_log(WEFT_ERROR, "weft_fail was called outside of an actor: %s", text);
    }
    weft_exit(reason);
}

/* ---- Why ------------------------------------------------------------------------------------------------------- */

struct wf_body *wf_end_body(struct wf_worker *w, int reason, const char *text)
{
    WF_ASSERT(text != NULL);
    size_t size = strnlen(text, sizeof((struct weft_down *)0)->text - 1);
    struct wf_body *b = wf_body_new(w, NULL, 0, NULL, WF_REASON_BYTES + size);
    if (b == NULL) return NULL;
    uint8_t *out = wf_body_bytes(b);
    wf_put_u32(out, (uint32_t)reason);
    memcpy(out + WF_REASON_BYTES, text, size);
    return b;
}

void wf_actor_set_end(struct wf_actor *a, struct wf_body *end)
{
    WF_ASSERT(a->task.worker == wf_here);
    struct wf_worker *w = a->task.worker;
    if (a->more != NULL && a->more->end != NULL) {
        wf_body_drop(w, a->more->end);
        a->more->end = NULL;
    }
    if (end == NULL) return;
    if (wf_actor_more(a) == NULL) wf_body_drop(w, end);
    else a->more->end = end;
}

const char *weft_reason_text(int reason, char out[32])
{
    static const char *const words[] = {"normal",    "asked to stop", "killed",           "no such actor",
                                        "node lost", "failed",        "too many restarts"};
    if (reason < 0 && strcmp(weft_error_name(reason), "WEFT_UNKNOWN") != 0) return weft_strerror(reason);
    if (reason >= 0 && (size_t)reason < WF_COUNT(words)) return words[reason];
    snprintf(out, 32, "reason %d", reason);
    return out;
}
