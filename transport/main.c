/* transport/main.c -- weft_main: a process that is one node. See main.h.
 *
 * Design notes.
 * (1) Four things may end a node: no user actor is left, a signal, a stop from the command line, a fault that keeps
 *     it out of its cluster. The main thread waits for all of them on the node's own condition, `ended`.
 * (2) A report of one of the last three may come late, when the node is being freed: the reporting thread takes
 *     ending.lock first, and finds ending.node NULL then.
 * (3) Draining happens on a thread of its own, so that an actor that never waits again cannot keep the process. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "control.h"
#include "control_certs.h"
#include "log.h"
#include "main.h"
#include "metrics.h"
#include "signals.h"
#include "stuck.h"
#include "watchdog.h"

enum { DRAIN_DEFAULT = 10 }; /* seconds */

enum cause { CAUSE_NONE, CAUSE_SIGNAL, CAUSE_STOP, CAUSE_FATAL };

struct ending {
    pf_mutex *lock;
    pf_cond *drained_changed;
    weft_node *node;  /* under lock; NULL once it is being stopped */
    enum cause cause; /* under node->lock while there is a node; the first one counts */
    int signals;      /* under lock */
    int64_t drain;    /* under node->lock: a stop may bring its own */
    bool drained;     /* under lock */
    int result;       /* of weft_node_stop, good once drained */
    bool ran;         /* the first actor; it does not if there is no memory for its stack */
    int reason;       /* of the first actor's end; both are read when the workers have ended */
    weft_node *stopping;
    int64_t deadline;
};

static void end_for(struct ending *e, enum cause cause, int64_t drain)
{
    pf_mutex_lock(e->lock);
    weft_node *node = e->node;
    if (node != NULL) {
        pf_mutex_lock(node->lock);
        if (e->cause == CAUSE_NONE) {
            e->cause = cause;
            if (drain >= 0) e->drain = drain;
        }
        pf_cond_broadcast(node->ended);
        pf_mutex_unlock(node->lock);
    }
    pf_mutex_unlock(e->lock);
}

/* At SIGHUP: reopens or reloads files that may have been replaced. */
static void load_anew(struct ending *e)
{
    int rc = weft_log_reopen();
    if (rc < 0)
        weft_log(WEFT_ERROR, "cannot open the log file again, the old one stays in use: %s", weft_strerror(rc));
    pf_mutex_lock(e->lock); /* the node stays while it is held */
    if (e->node != NULL && wf_certs_are_there(e->node)) (void)weft_node_renew_certs(e->node);
    pf_mutex_unlock(e->lock);
}

static void on_signal(void *arg, int number)
{
    struct ending *e = arg;
    if (number == PF_SIGHUP) {
        load_anew(e);
        return;
    }
    pf_mutex_lock(e->lock);
    int signals = ++e->signals;
    pf_mutex_unlock(e->lock);
    if (signals > 1) _Exit(130);
    end_for(e, CAUSE_SIGNAL, -1);
}

/* On a worker of the node. */
static void on_notice(void *arg, int what, const char *why)
{
    if (what == WF_NOTIFY_STOP) {
        end_for(arg, CAUSE_STOP, WEFT_MS(strtoll(why, NULL, 10)));
    } else {
        end_for(arg, CAUSE_FATAL, -1);
    }
}

/* To the log, and to the service manager, if there is one. */
static void announce(weft_node *node, const char *metrics)
{
    char urls[1024] = "", ready[1200];
    for (size_t i = 0, used = 0; weft_node_url(node, i) != NULL && used < sizeof urls; i++) {
        int n = snprintf(urls + used, sizeof urls - used, "%s%s", i == 0 ? " listens on " : ", ",
                         weft_node_url(node, i));
        used += n > 0 ? (size_t)n : 0;
    }
    weft_log(WEFT_INFO, "weft: node %s (incarnation %016" PRIx64 ")%s", weft_node_name(node),
             weft_node_incarnation(node), urls[0] != '\0' ? urls : " is up");
    if (metrics[0] != '\0') weft_log(WEFT_INFO, "metrics on http://%s/metrics", metrics);
    snprintf(ready, sizeof ready, "READY=1\nSTATUS=node %s%s", weft_node_name(node),
             urls[0] != '\0' ? urls : " is up");
    pf_manager_notify(ready);
}

/* Tells the service manager how long draining may take, so that its own limit need not be set for it. */
static void announce_end(weft_node *node, int64_t drain)
{
    char text[160];
    snprintf(text, sizeof text,
             "STOPPING=1\nSTATUS=node %s ends, its actors have %.3g s\nEXTEND_TIMEOUT_USEC=%" PRId64,
             weft_node_name(node), (double)drain / 1e9, (drain + WEFT_SEC(10)) / 1000);
    pf_manager_notify(text);
}

/* Until there is a cause, or no user actor is left. */
static enum cause wait_for_end(struct ending *e, weft_node *node)
{
    pf_mutex_lock(node->lock);
    /* Acquire: pairs with the release of wf_node_busy, so that what the last actor did has been done. */
    while (e->cause == CAUSE_NONE && atomic_load_explicit(&node->busy[false], memory_order_acquire) != 0)
        (void)pf_cond_wait(node->ended, node->lock, WEFT_FOREVER);
    enum cause cause = e->cause;
    pf_mutex_unlock(node->lock);
    pf_mutex_lock(e->lock);
    e->node = NULL;
    pf_mutex_unlock(e->lock);
    return cause;
}

static void drain_main(void *arg)
{
    struct ending *e = arg;
    int rc = weft_node_stop(e->stopping, e->deadline);
    pf_mutex_lock(e->lock);
    e->result = rc;
    e->drained = true;
    pf_cond_broadcast(e->drained_changed);
    pf_mutex_unlock(e->lock);
}

/* The node kills actors since the deadline. An actor that is stuck in a loop or a system call cannot be killed. */
static void give_up(const struct ending *e, const char *name)
{
    if (wf_stuck_report(&e->stopping->workers, "the end of the node") == 0)
        weft_log(WEFT_ERROR, "node %s: an actor never waits, so it cannot be ended", name);
    weft_log(WEFT_ERROR, "node %s: ending the process", name);
    wf_log_write_repeats();
    /* The stuck actor may hold the lock of standard output. */
    pf_flush_stdout();
    _Exit(5);
}

static int drain(struct ending *e, weft_node *node)
{
    char name[sizeof node->name];
    memcpy(name, node->name, sizeof name);
    e->stopping = node;
    e->deadline = weft_after(e->drain);
    pf_thread *thread;
    (void)wf_stuck_report(&node->workers, "the end of the node");
    if (pf_thread_start(&thread, "weft drain", drain_main, e) < 0) return weft_node_stop(node, e->deadline);
    int64_t last = weft_after(e->drain + WEFT_SEC(5));
    pf_mutex_lock(e->lock);
    while (!e->drained) {
        if (pf_cond_wait(e->drained_changed, e->lock, last) == WEFT_ETIMEDOUT && !e->drained) give_up(e, name);
    }
    pf_mutex_unlock(e->lock);
    pf_thread_join(thread);
    return e->result;
}

/* A clean-up of the first actor, the last to run. */
static void note_reason(void *arg)
{
    struct ending *e = arg;
    e->reason = wf_actor_self()->reason;
}

struct first {
    const struct wf_main *m;
    struct ending *e;
};

static void first_main(const void *arg, size_t size)
{
    struct first f;
    memcpy(&f, arg, size);
    int rc = weft_defer(note_reason, f.e);
    if (rc < 0) weft_fail(rc, "the first actor cannot start: %s", weft_strerror(rc));
    f.e->ran = true;
    f.m->first(f.m->arg, f.m->size);
}

/* An actor that ends with an error of its own choice makes the process fail. */
static int result_of(const struct ending *e, int drained)
{
    if (drained == WEFT_ETIMEDOUT || e->reason == WEFT_EXIT_KILLED) return 5;
    if (drained < 0) return 1;
    if (!e->ran) {
        weft_log(WEFT_ERROR, "the first actor ended before it ran");
        return 1;
    }
    if (e->reason == WEFT_EXIT_NORMAL || e->reason == WEFT_EXIT_STOPPED) return 0;
    if (e->reason < 0)
        weft_log(WEFT_ERROR, "the first actor ended with %s: %s", weft_error_name(e->reason),
                 weft_strerror(e->reason));
    else weft_log(WEFT_ERROR, "the first actor ended with reason %d", e->reason);
    return 1;
}

static int run_node(const struct wf_main *m, struct ending *e)
{
    weft_node *node;
    if (weft_node_start(&node, m->options) < 0) return 1;
    pf_mutex_lock(e->lock);
    e->node = node;
    int signals = e->signals;
    pf_mutex_unlock(e->lock);
    if (signals > 0) end_for(e, CAUSE_SIGNAL, -1); /* it came while the node was starting */
    wf_transport_watch(node, on_notice, e);
    wf_transport_set_loader(node, m->load);
    struct wf_metrics *metrics = NULL;
    char bound[64] = "";
    if (m->metrics != NULL && wf_metrics_start(&metrics, node, m->metrics, bound) < 0) {
        (void)drain(e, node);
        return 1;
    }
    announce(node, bound);
    if (m->ready != NULL) m->ready(node, bound);
    wf_watchdog_start(node);
    struct first first = {m, e};
    int spawned = weft_node_spawn(node, NULL, first_main, &first, sizeof first, m->spawn);
    if (spawned < 0) weft_log(WEFT_ERROR, "cannot start the first actor: %s", weft_strerror(spawned));
    enum cause cause = wait_for_end(e, node);
    if (cause != CAUSE_NONE) weft_log(WEFT_INFO, "node %s: asked to stop, draining", weft_node_name(node));
    announce_end(node, e->drain);
    int rc = drain(e, node);
    wf_metrics_stop(metrics);
    if (spawned < 0 || cause == CAUSE_FATAL) return 1;
    return result_of(e, rc);
}

void wf_main_hold_standard(void)
{
    pf_standard_hold();
}

int wf_main_run(const struct wf_main *m)
{
    struct ending e = {.drain = m->drain};
    int result = 1;
    pf_raise_handle_limit();
    int rc = pf_mutex_create(&e.lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&e.drained_changed);
    if (rc == WEFT_OK) rc = wf_signals_watch(on_signal, &e);
    if (rc == WEFT_OK) (void)wf_signals_watch_hangup(); /* not there on Windows */
    if (rc < 0) {
        weft_log(WEFT_ERROR, "cannot start: %s",
                 rc == WEFT_EBUSY ? "weft_main runs already" : "out of memory or threads");
    } else {
        result = run_node(m, &e);
        wf_signals_unwatch();
    }
    pf_cond_destroy(e.drained_changed);
    pf_mutex_destroy(e.lock);
    wf_log_write_repeats();
    return result;
}

int weft_main(const weft_node_options *options, weft_actor *first, const void *arg, size_t size)
{
    if (options != NULL && options->embedded) {
        weft_log(WEFT_ERROR, "node option embedded: weft_main is a loop of its own; use weft_node_start");
        return 1;
    }
    wf_main_hold_standard();
    struct wf_main m = {options, first, arg, size, NULL, WEFT_SEC(DRAIN_DEFAULT), NULL, NULL, NULL};
    return wf_main_run(&m);
}
