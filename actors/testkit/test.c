/* actors/testkit/test.c -- running a test: a node whose only worker turns in the calling thread, in virtual time.
 *
 * Design notes.
 * (1) The worker never sleeps: each turn's deadline is the present. When a turn leaves nothing to run, the test is at
 *     rest. Then, in this order: external events are polled, an actor in weft_settle continues, the clock jumps to
 *     the first timer. If there is none, nothing can happen again: the test is over, or it hangs.
 * (2) A turn runs one task. So the seed chooses the next one of all runnable tasks at each turn; timers and posts
 *     keep their order.
 * (3) At the end the body has ended, or the test has failed. All actors are asked to stop; actors that are left when
 *     nothing more can happen, or after CLEAN_UP, are killed. Services, including probes, end last. As an actor may
 *     ignore a stop request and run on, time passes then even while tasks can run, so that grace periods end. */
#include "test.h"

#include "actor_life.h"
#include "all_features.h"
#include "child.h"
#include "expect.h"
#include "offload.h"
#include "stopping.h"
#include "supervisor.h"

#include <weft/monitor.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_MAX = 10000000, POLL_EVERY = 64, PICK_AMONG = 64, CLEAN_UP_TURNS = 10000 };
#define CLEAN_UP WEFT_SEC(600)

static _Thread_local struct wf_test *running;
/* The report of the last test of this thread; NULL: it passed. It is a pointer, because a program that loads libweft late
 * has little space for thread-local variables. */
static _Thread_local char *report;

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

void wf_text_add(struct wf_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t space = sizeof t->at - t->size;
    int n = vsnprintf(t->at + t->size, space, format, args);
    va_end(args);
    if (n > 0) t->size += WF_MIN((size_t)n, space - 1);
}

void wf_text_add_span(struct wf_text *t, int64_t span)
{
    if (span >= WEFT_SEC(1)) wf_text_add(t, "%.9g s", (double)span / 1e9);
    else if (span >= WEFT_MS(1)) wf_text_add(t, "%.9g ms", (double)span / 1e6);
    else wf_text_add(t, "%.9g us", (double)span / 1e3);
}

const char *weft_test_report(void)
{
    return report == NULL ? "" : report;
}

struct wf_test *wf_test_here(const char *caller)
{
    if (running == NULL || wf_actor_self() == NULL) {
        weft_log(WEFT_ERROR, "%s was called outside of weft_test_run", caller);
        abort();
    }
    return running;
}

void wf_test_fail(struct wf_test *t, const char *text)
{
    if (t->failed) return;
    t->failed = true;
    t->report = (struct wf_text){.size = 0};
    wf_text_add(&t->report, "%s", text);
}

/* One line for each user actor: what it is and what it waits for. */
static void list_actors(struct wf_test *t, struct wf_text *out)
{
    WF_ACTORS_EACH(a, wf_actors_of(t->worker))
    {
        if (a->service) continue;
        const char *name = wf_actor_name(a);
        wf_text_add(out, "\n  %s%s%s %u.%u.%u", a->kind, name[0] != 0 ? " " : "", name, t->worker->index,
                    wf_id_slot(a->id), wf_id_generation(a->id));
        const char *what = wf_task_waits_for(&a->task);
        if (what[0] != 0) wf_text_add(out, " waits for: %s", what);
        wf_text_add(out, "; messages in its mailbox: %u", wf_mail_count(a));
    }
}

static void fail_with_actors(struct wf_test *t, const char *what)
{
    struct wf_text text = {.size = 0};
    wf_text_add(&text, "%s", what);
    list_actors(t, &text);
    wf_test_fail(t, text.at);
}

/* ---- The loop -------------------------------------------------------------------------------------------------- */

/* Returns whether something can run afterwards. */
static bool turn(struct wf_test *t)
{
    struct wf_worker *w = t->worker;
    t->turns++;
    if (t->turns % POLL_EVERY == 0) w->last_poll = w->now - WF_POLL_GAP; /* otherwise it would wait for the clock */
    if (t->shuffle && w->ready_count > 1)
        wf_task_prefer(w, (uint32_t)(pf_sim_random(&t->sim) % WF_MIN(w->ready_count, (uint32_t)PICK_AMONG)));
    wf_worker_turn(w, weft_now());
    return !wf_worker_is_at_rest(w);
}

static bool hear_outside(struct wf_test *t)
{
    t->sim.patience = t->outside > 0                                    ? t->outside
                      : wf_offload_is_awaited(t->node->workers.offload) ? WEFT_SEC(10)
                      : pf_sim_has_handles(&t->sim)                     ? WEFT_MS(1)
                                                                        : 0;
    if (t->sim.patience > 0 && turn(t)) return true;
    return !wf_worker_is_at_rest(t->worker); /* a blocking function may have returned just before we asked */
}

static bool wake_settler(struct wf_test *t)
{
    struct wf_list_node *k = wf_list_pop(&t->settlers);
    if (k == NULL) return false;
    wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
    return true;
}

static bool jump(struct wf_test *t)
{
    struct wf_timer *first = wf_heap_first(&t->worker->timers);
    if (first == NULL) return false;
    pf_sim_advance(&t->sim, first->deadline);
    return true;
}

enum done { OVER, STUCK, ENDLESS };

/* Runs turns until `over` returns true, nothing more can happen, or it takes too long. */
static enum done go_on(struct wf_test *t, bool (*over)(struct wf_test *t))
{
    t->turns = 0;
    while (!over(t)) {
        if (t->turns >= t->turns_max) return ENDLESS;
        if (t->ending && (t->turns + 1) % CLEAN_UP_TURNS == 0) (void)jump(t);
        if (turn(t) || over(t) || hear_outside(t) || wake_settler(t) || jump(t)) continue;
        return STUCK;
    }
    return OVER;
}

static bool body_over(struct wf_test *t)
{
    /* Without memory for its stack or its clean-up the body has not run at all. */
    return t->body_ended || t->failed || wf_actors_of(t->worker)->alive[false] == 0;
}

static bool users_over(struct wf_test *t)
{
    return wf_actors_of(t->worker)->alive[false] == 0 || weft_now() >= t->clean_up_by;
}

static bool all_over(struct wf_test *t)
{
    struct wf_actors *wa = wf_actors_of(t->worker);
    return wa->alive[false] + wa->alive[true] == 0 && wf_worker_is_at_rest(t->worker);
}

static void end_actors(struct wf_test *t, bool services, bool kill)
{
    WF_ACTORS_EACH(a, wf_actors_of(t->worker))
    {
        if (a->service != services) continue;
        if (kill) wf_actor_kill(a);
        else if (a->body != wf_child_main) wf_actor_cancel(a, WEFT_EXIT_STOPPED, NULL); /* see end_actors_here */
    }
}

static void run_body(struct wf_test *t)
{
    switch (go_on(t, body_over)) {
    case STUCK: fail_with_actors(t, "every actor waits forever:"); break;
    case ENDLESS: {
        char what[128];
        snprintf(what, sizeof what,
                 "the test does not come to an end in %" PRIu64 " runs of its actors:", t->turns_max);
        fail_with_actors(t, what);
        break;
    }
    case OVER: break;
    }
}

static void end_all(struct wf_test *t)
{
    atomic_store_explicit(&t->node->stopping, true, memory_order_relaxed);
    t->ending = true;
    t->clean_up_by = weft_after(CLEAN_UP);
    end_actors(t, false, false);
    if (go_on(t, users_over) != OVER || wf_actors_of(t->worker)->alive[false] > 0) {
        fail_with_actors(t, "actors had not ended long after they were asked to stop:");
        t->clean_up_by = WEFT_FOREVER;
        end_actors(t, false, true);
        (void)go_on(t, users_over);
    }
    end_actors(t, true, false);
    if (go_on(t, all_over) == OVER) return;
    /* It runs on the stack of this thread's caller, so there is no way on without it. */
    weft_log(WEFT_ERROR, "a test cannot be ended: clean-ups of its actors do not return");
    abort();
}

/* ---- The body -------------------------------------------------------------------------------------------------- */

static void body_ended(void *arg)
{
    struct wf_test *t = arg;
    const struct wf_actor *self = wf_actor_self();
    char words[32];
    t->reason = self->reason;
    t->body_ended = true;
    if (t->reason == WEFT_EXIT_NORMAL || t->reason == WEFT_EXIT_STOPPED || t->failed) return;
    wf_text_add(&t->report, "the test's first actor ended: %s", weft_reason_text(t->reason, words));
    /* of weft_fail: behind the reason, see actors/lifecycle/monitors.h */
    struct wf_body *end = self->more->end; /* there is `more`: this is a clean-up */
    if (end != NULL && end->size > 4)
        wf_text_add(&t->report, ": %.*s", (int)end->size - 4, (const char *)wf_body_bytes(end) + 4);
}

static void body_main(const void *arg, size_t size)
{
    struct wf_test *t = running;
    if (weft_defer(body_ended, t) == WEFT_OK) t->body(arg, size);
    else t->reason = WEFT_ENOMEM;
}

static int result_of(struct wf_test *t)
{
    if (t->failed) return WEFT_EXIT_FAILED;
    return t->reason == WEFT_EXIT_STOPPED ? WEFT_OK : t->reason;
}

static int run_in(struct wf_test *t, const void *arg, size_t size)
{
    struct wf_worker *w = t->worker;
    static const weft_spawn_options options = {.kind = "test"};
    struct pf_held_off held; /* the thread is the user's: an actor's write must not end the process */
    pf_signals_hold_off(&held);
    wf_here_set(w);
    running = t;
    wf_coro_adopt_thread(&w->loop);
    t->reason = WEFT_ENOMEM; /* until the body has ended */
    int rc = wf_actor_spawn(t->node, w, NULL, body_main, arg, size, &options, false);
    if (rc == WEFT_OK) {
        run_body(t);
        end_all(t);
        rc = result_of(t);
    }
    wf_coro_release_thread(&w->loop);
    running = NULL;
    wf_here_set(NULL);
    pf_signals_let_go(&held);
    return rc;
}

static void keep_report(const struct wf_text *text, bool quiet)
{
    report = malloc(text->size + 1);
    if (report != NULL) memcpy(report, text->at, text->size + 1);
    if (quiet) return;
    pf_stderr(text->at, text->size);
    pf_stderr("\n", 1);
}

int weft_test_run(weft_actor *body, const void *arg, size_t size, const weft_test_options *options)
{
    static const weft_test_options defaults;
    const weft_test_options *o = options == NULL ? &defaults : options;
    free(report);
    report = NULL;
    if (wf_here != NULL || body == NULL || o->node.workers > 1 || o->node.listen_count > 0 ||
        o->node.join_count > 0 || o->node.control != NULL || o->outside < 0)
        return WEFT_EINVAL;
    struct wf_test *t = calloc(1, sizeof *t);
    if (t == NULL) return WEFT_ENOMEM;
    pf_sim_init(&t->sim, o->seed);
    t->shuffle = o->seed != 0;
    t->turns_max = o->turns_max == 0 ? TURNS_MAX : o->turns_max;
    t->outside = o->outside;
    t->body = body;
    wf_list_init(&t->settlers);
    weft_node_options node = o->node;
    node.workers = 1;
    if (node.park_after == 0) node.park_after = WEFT_FOREVER;
    int rc = wf_node_create(&t->node, &node, pf_sim_env(&t->sim));
    if (rc == WEFT_OK) {
        t->node->workers.turn_budget = 1;
        t->worker = t->node->workers.at[0];
        t->worker->pool.bypass = true;
        rc = run_in(t, arg, size);
        wf_node_destroy(t->node);
        wf_probes_free(t);
    }
    if (t->report.size > 0) keep_report(&t->report, o->quiet);
    free(t);
    return rc;
}
