/* transport/sim/sim_run.c -- see sim_run.h. */
#include "sim_run.h"
#include "sim_limits.h"
#include "sim_report.h"

#include "hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const char *what;
    bool (*holds)(void *arg);
    void *arg;
    bool eventually, held;
};

/* The one run of this process. */
static struct run {
    const struct wf_sim_job *job;
    struct wf_sim_result *out;
    struct wf_sim_world world;
    struct check check[WEFT_SIM_CHECKS];
    size_t check_count;
    struct wf_sim_names names;
    bool checking;                 /* the function of WEFT_SIM() is running */
    bool settling;                 /* the last fault has ended */
    bool stays_late;               /* some messages are late until the end */
    uint32_t stepped;              /* one bit for each node whose clock has been stepped */
    int64_t back_at[WF_SIM_NODES]; /* when a crashed node restarts; 0: it has not crashed */
} * run;

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

static int64_t since_start(const struct run *r)
{
    return wf_sim_now(&r->world) - PF_SIM_START;
}

static void fail(struct run *r, const char *what)
{
    if (r->out->failed) return; /* only the first failure is reported */
    r->out->failed = true;
    r->world.halted = true;
    snprintf(r->out->what, sizeof r->out->what, "%s", what);
}

static int add_check(const char *what, bool (*holds)(void *arg), void *arg, bool eventually)
{
    if (run == NULL || !run->checking || what == NULL || holds == NULL) return WEFT_EINVAL;
    if (run->check_count == WEFT_SIM_CHECKS) {
        weft_sim_fail("too many checks: '%s' is left out, a module may have %d", what, WEFT_SIM_CHECKS);
        return WEFT_EFULL;
    }
    run->check[run->check_count++] = (struct check){what, holds, arg, eventually, false};
    return WEFT_OK;
}

int weft_sim_always(const char *what, bool (*holds)(void *arg), void *arg)
{
    return add_check(what, holds, arg, false);
}

int weft_sim_eventually(const char *what, bool (*holds)(void *arg), void *arg)
{
    return add_check(what, holds, arg, true);
}

static uint32_t state_of(const struct wf_sim_result *out, const char *name)
{
    uint32_t i = 0;
    while (i < out->state_count && strcmp(out->state[i], name) != 0) i++;
    return i;
}

int weft_sim_expect(const char *name)
{
    if (run == NULL || !run->checking || name == NULL || name[0] == '\0') return WEFT_EINVAL;
    struct wf_sim_result *out = run->out;
    if (strlen(name) >= WF_SIM_STATE) {
        weft_sim_fail("the name of a state has %zu bytes, it may have %d: %s", strlen(name), WF_SIM_STATE - 1, name);
        return WEFT_EINVAL;
    }
    uint32_t i = state_of(out, name);
    if (i == WEFT_SIM_STATES) {
        weft_sim_fail("too many states: '%s' is left out, a module may have %d", name, WEFT_SIM_STATES);
        return WEFT_EFULL;
    }
    if (i == out->state_count) snprintf(out->state[out->state_count++], WF_SIM_STATE, "%s", name);
    return WEFT_OK;
}

void weft_sim_sometimes(const char *name, bool condition)
{
    if (run == NULL || name == NULL) return;
    uint32_t i = state_of(run->out, name);
    if (i == run->out->state_count) weft_sim_fail("state '%s' was not declared: call weft_sim_expect", name);
    else if (condition) run->out->reached[i]++;
}

void weft_sim_fail(const char *format, ...)
{
    if (run == NULL) return;
    char text[sizeof run->out->what];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail(run, text);
}

/* Whether each check with `eventually` has been true at some moment of this phase. */
static bool has_held(struct run *r)
{
    bool all = true;
    for (size_t i = 0; i < r->check_count; i++) {
        struct check *c = &r->check[i];
        if (c->eventually && !c->held) c->held = c->holds(c->arg);
        all &= !c->eventually || c->held;
    }
    return all;
}

static void after_turn(struct wf_sim_world *w)
{
    struct run *r = WF_CONTAINER(w, struct run, world);
    r->out->turns++;
    r->out->at = since_start(r);
    r->out->trace = w->trace;
    wf_sim_names_note(&r->names, w);
    if (r->settling) (void)has_held(r);
    const char *fault = r->job->memory == NULL ? NULL : r->job->memory(false);
    if (fault != NULL) fail(r, fault);
    for (size_t i = 0; i < r->check_count; i++) {
        struct check *c = &r->check[i];
        char text[sizeof r->out->what];
        if (c->eventually || c->holds(c->arg)) continue;
        snprintf(text, sizeof text, "not always: %s", c->what);
        fail(r, text);
    }
}

/* ---- Nodes and faults ------------------------------------------------------------------------------------------ */

static void start_node(struct run *r, unsigned host)
{
    char url[WF_URL_TEXT], seeds[2][WF_URL_TEXT], name[16];
    const char *listen[] = {url}, *join[] = {seeds[0], seeds[1]};
    wf_sim_url(host, url);
    wf_sim_url(0, seeds[0]);
    wf_sim_url(1, seeds[1]);
    snprintf(name, sizeof name, "n%u", host + 1);
    weft_node_options o = {.name = name,
                           .listen = listen,
                           .listen_count = 1,
                           .join = join + (host == 0),
                           .join_count = r->job->origin.nodes == 1 ? 0
                                         : host < 2                ? 1
                                                                   : 2,
                           .record_sends = true};
    int (*start)(struct wf_sim_world * w, unsigned host, const weft_node_options *o) = r->job->start;
    int rc = start != NULL ? start(&r->world, host, &o) : wf_sim_start(&r->world, host, &o);
    if (rc == WEFT_OK && start == NULL) {
        weft_spawn_options main = {.kind = "main"};
        rc = weft_node_spawn(r->world.host[host].node, NULL, r->job->body, r->job->arg, r->job->size, &main);
    }
    if (rc < 0) weft_sim_fail("node %s does not start: %s", name, weft_strerror(rc));
}

static void crash(struct run *r, const struct wf_sim_fault *f)
{
    if (r->job->end != NULL) r->job->end(&r->world, f);
    else wf_sim_crash(&r->world, f->a, f->kind == WF_SIM_POWER);
    r->back_at[f->a] = wf_sim_now(&r->world) + f->span;
}

static void cut(struct run *r, unsigned a, unsigned b, int64_t span)
{
    wf_sim_cut(&r->world, a, b, span);
    wf_sim_cut(&r->world, b, a, span);
}

static void split(struct run *r, const struct wf_sim_fault *f)
{
    unsigned last = wf_sim_split_last(f, r->job->origin.nodes);
    for (unsigned i = 0; i <= last; i++)
        for (unsigned k = last + 1; k < r->job->origin.nodes; k++) cut(r, i, k, f->span);
}

/* Most clocks must stay right, because clocks order the retained messages of nodes that were disconnected from each
 * other. */
static bool may_step(struct run *r, unsigned host)
{
    unsigned others = (unsigned)__builtin_popcount(r->stepped & ~(UINT32_C(1) << host));
    if (others > 0 && (others + 1) * 2 >= r->job->origin.nodes) return false;
    r->stepped |= UINT32_C(1) << host;
    return true;
}

/* Whether the fault can change anything now. */
static bool finds_somebody(struct run *r, const struct wf_sim_fault *f)
{
    if (f->kind == WF_SIM_CLOCK && !may_step(r, f->a)) return false;
    bool needs_node = f->kind == WF_SIM_FREEZE || f->kind == WF_SIM_CRASH || f->kind == WF_SIM_POWER ||
                      f->kind == WF_SIM_SLOW || f->kind == WF_SIM_MEMORY;
    return !needs_node || wf_sim_is_up(&r->world.host[f->a]);
}

/* The number of messages in a thousand that are late until the end. */
enum { LATE_PERMILLE_LASTING = 10 };

static void happens(struct run *r, uint32_t number)
{
    const struct wf_sim_fault *f = &r->out->plan.fault[number];
    if (!finds_somebody(r, f)) return;
    r->out->happened |= UINT32_C(1) << number;
    switch ((enum wf_sim_fault_kind)f->kind) {
    case WF_SIM_RESET: wf_sim_reset(&r->world, f->a, f->b); break;
    case WF_SIM_CUT: cut(r, f->a, f->b, f->span); break;
    case WF_SIM_ONEWAY: wf_sim_cut(&r->world, f->a, f->b, f->span); break;
    case WF_SIM_SPLIT: split(r, f); break;
    case WF_SIM_FREEZE: wf_sim_freeze(&r->world, f->a, f->span); break;
    case WF_SIM_CRASH:
    case WF_SIM_POWER: crash(r, f); break;
    case WF_SIM_LATE:
        r->world.late = WEFT_MS(200);
        r->world.late_permille = 100;
        r->stays_late = r->stays_late || f->lasts;
        break;
    case WF_SIM_CLOCK: wf_sim_step_clock(&r->world, f->a, wf_sim_clock_step(f)); break;
    case WF_SIM_SLOW:
        if (f->lasts) wf_sim_slow_always(&r->world, f->a, WEFT_MS(1));
        else wf_sim_slow(&r->world, f->a, WEFT_MS(10), f->span);
        break;
    case WF_SIM_MEMORY: wf_sim_starve(&r->world, f->a, f->span); break;
    case WF_SIM_KINDS:
    case WF_SIM_ALL: break;
    }
}

/* ---- The run --------------------------------------------------------------------------------------------------- */

/* Runs the simulation until that time, and restarts the nodes that come back before it. */
static void go_to(struct run *r, int64_t until)
{
    while (!r->world.halted && wf_sim_now(&r->world) < until) {
        int64_t next = until;
        unsigned who = WF_SIM_NODES;
        for (unsigned i = 0; i < r->job->origin.nodes; i++) {
            if (r->back_at[i] == 0 || r->back_at[i] >= next) continue;
            next = r->back_at[i];
            who = i;
        }
        if (next > wf_sim_now(&r->world)) wf_sim_run(&r->world, next - wf_sim_now(&r->world));
        if (who == WF_SIM_NODES || r->world.halted) continue;
        r->back_at[who] = 0;
        start_node(r, who);
    }
}

static int64_t end_of(const struct wf_sim_job *job, const struct wf_sim_result *out)
{
    int64_t end = job->origin.time;
    for (uint32_t i = 0; i < out->plan.fault_count; i++)
        if ((job->keep >> i & 1) != 0)
            end = WF_MAX(end, out->plan.fault[i].at + out->plan.fault[i].span + WEFT_MS(1));
    return PF_SIM_START + end;
}

static void settle(struct run *r)
{
    int64_t until = wf_sim_now(&r->world) + r->job->settle;
    r->world.late_permille = r->stays_late ? LATE_PERMILLE_LASTING : 0;
    r->settling = true;
    while (!r->world.halted && !has_held(r) && wf_sim_now(&r->world) < until)
        go_to(r, WF_MIN(until, wf_sim_now(&r->world) + WEFT_MS(50)));
    for (size_t i = 0; i < r->check_count && !r->world.halted; i++) {
        struct check *c = &r->check[i];
        if (c->eventually && !c->held)
            weft_sim_fail("not within %.0f s after the last fault: %s", (double)r->job->settle / 1e9, c->what);
    }
}

/* As in real life, some nodes are stopped gracefully and some are killed. Log lines of this phase do not belong to
 * the run. */
static void end_all(struct run *r)
{
    r->world.after_turn = NULL;
    run = NULL;
    for (unsigned i = 0; i < r->job->origin.nodes; i++) {
        const uint64_t bits = wf_mix(r->job->origin.seed ^ wf_mix(i));
        if (!wf_sim_is_up(&r->world.host[i])) continue;
        if ((bits & 1) == 0) wf_sim_crash(&r->world, i, (bits & 2) == 0);
        else (void)wf_sim_stop(&r->world, i, wf_sim_now(&r->world) + WEFT_SEC(5));
    }
    wf_sim_world_finish(&r->world);
    const char *fault = r->job->memory(true);
    if (fault != NULL) fail(r, fault);
}

/* Stores how often the run has reached each of weft's own states. */
static void note_marks(struct wf_sim_result *out)
{
#ifdef WF_STATES
    for (const struct wf_mark *m = wf_marks; m != NULL && out->mark_count < WF_SIM_MARKS; m = m->next)
        out->mark[out->mark_count++] = (struct wf_sim_mark){wf_hash(m->name, strlen(m->name), WF_SIM_MARKS),
                                                            m->count};
#else
    (void)out;
#endif
}

void wf_sim_run_job(const struct wf_sim_job *job, struct wf_sim_result *out)
{
    static struct run one;
    struct run *r = run = &one;
    r->job = job;
    r->out = out;
    wf_sim_draw_plan(&job->origin, &out->plan);
    wf_sim_limits_draw(job->limits, out->plan.limits);
    wf_sim_world_init(&r->world, out->plan.schedule);
    r->world.after_turn = after_turn;
    r->checking = true;
    if (job->checks != NULL) job->checks();
    r->checking = false;
    for (unsigned i = 0; i < job->origin.nodes; i++) start_node(r, i);
    for (uint32_t i = 0; i < out->plan.fault_count; i++) {
        if ((job->keep >> i & 1) == 0) continue;
        go_to(r, PF_SIM_START + out->plan.fault[i].at);
        if (!r->world.halted) happens(r, i);
    }
    go_to(r, end_of(job, out));
    settle(r);
    out->at = since_start(r);
    out->trace = r->world.trace;
    note_marks(out);
    if (out->failed) wf_sim_report(&r->names, &r->world, out->report, sizeof out->report);
    else if (job->memory != NULL) end_all(r);
    out->done = true;
}
