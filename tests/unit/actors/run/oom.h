/* tests/unit/actors/run/oom.h -- runs scenarios with each of their allocations failing in turn. */
#ifndef WF_OOM_H
#define WF_OOM_H

#include "ties.h"
#include "send_after.h"
#include "../../alloc_faults.h"
#include "../node_harness.h"
#include "names.h"

#include <weft/test.h>

enum { DATA = 1, ASK = 2, MANY = 150 }; /* MANY: so that tables have to grow */

/* Whether it went well. If not it was for lack of memory. */
#define ok(call) ok_at((call), #call, __LINE__)

static bool ok_at(int64_t rc, const char *call, int line)
{
    if (rc >= 0) return true;
    if (rc != WEFT_ENOMEM || faults.failed == 0) want_failed(call, __FILE__, line, rc);
    return false;
}

static void serve(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_wants_reply(m)) (void)weft_reply(m, DATA, weft_data(m), weft_size(m));
        weft_msg_free(m);
    }
}

/* ---- How they are run ------------------------------------------------------------------------------------------ */

struct run {
    void (*scenario)(void);
    long n;
    bool lasting;
    long *failed;
};

/* Runs it in an actor of its own, so that everything that it leaves behind is freed. */
static void scenario_body(const void *arg, size_t size)
{
    (void)size;
    struct run r = *(const struct run *)arg;
    faults_arm(r.n, r.lasting);
    r.scenario();
    *r.failed = faults_disarm();
}

/* Only the caller is left, so nothing of any other actor may exist. */
static void nothing_is_left(void)
{
    struct wf_worker *w = wf_here;
    struct wf_actors *wa = wf_actors_of(w);
    WF_ACTORS_EACH(a, wa)
    {
        if (a != wf_actor_self()) want_int(weft_stop(wf_actor_pid(a)), 0);
    }
    want_int(weft_settle(), 0);
    want_int(wa->slab.used - wa->spare.count, 1);
    want_int(wa->subscription_slab.used, 0);
    want_int(wf_ties_of(w)->monitors.used, 0);
    want_int(wf_all_mail_bytes(wa), 0);
    want_int(wa->alive[0] + wa->alive[1], 1);
    want_int(wf_names_count(wf_names_of(wf_node_of(w))), 0);
    want_int(wf_names_waits(wf_names_of(wf_node_of(w))), 0);
    want_int(groups_count(wf_node_of(w)), 0);
    want_int(wf_laters_of(wa)->used, 0);
    want_int(w->events.used + w->user_timers.used + w->streams.used + w->listeners.used + w->fds.used, 0);
    want(wf_heap_first(&w->timers) == NULL || wf_heap_first(&w->timers) == &wf_actors_of(w)->patrol);
}

static void oom_body(const void *arg, size_t size)
{
    struct run r = *(const struct run *)arg;
    weft_monitor_ref ref;
    weft_pid runner, server;
    weft_msg *answer;
    /* Every block for itself, so that each is an allocation. */
    struct wf_depot *depot = wf_here->pool.depot;
    wf_pool_finish(&wf_here->pool);
    wf_pool_init(&wf_here->pool, depot);
    wf_here->pool.bypass = true;
    want_int(weft_spawn(&runner, scenario_body, arg, size,
                        &(weft_spawn_options){.monitor = &ref, .stack_bytes = 256 * 1024}),
             0);
    weft_expect(WEFT_TAG_DOWN, WEFT_SEC(1000), NULL);
    want_int(faults.until, -1);
    nothing_is_left();
    want_int(weft_spawn(&server, serve, NULL, 0, NULL), 0); /* all is as before */
    want_int(weft_call(server, ASK, &r.n, sizeof r.n, &answer, weft_after(WEFT_SEC(1))), 0);
    weft_msg_free(answer);
    want_int(weft_register("after"), 0);
    want_int(weft_subscribe("after", NULL), 0);
    want_int(weft_publish("after", DATA, NULL, 0), 1);
    weft_expect(DATA, 0, NULL);
}

static void nothing(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static long endure(void (*scenario)(void), bool lasting)
{
    const long step = RUNNING_ON_VALGRIND ? 7 : under_tools() ? 3 : 1; /* the others where that takes less time */
    long n = 0, failed = 1;
    want_int(weft_test_run(nothing, NULL, 0, NULL), 0); /* what is made once for the process */
    for (; failed > 0; n += step) {
        struct run r = {scenario, n, lasting, &failed};
        failed = -1;
        long live = faults.live;
        int rc = weft_test_run(oom_body, &r, sizeof r, NULL);
        long leaked = faults.live - live; /* Check allocates, too */
        ck_assert_msg(rc == 0, "allocation %ld: %s", n, weft_test_report());
        ck_assert_msg(leaked == 0, "allocation %ld: %ld blocks have leaked", n, leaked);
        ck_assert_int_ge(failed, 0);
    }
    return n;
}

/* Every scenario twice: with one allocation failing, and with all from there on. */
#define OOM_TEST(name, scenarios)                                    \
    START_TEST(name)                                                 \
    {                                                                \
        weft_log_set(WEFT_SILENT, false);                            \
        ck_assert_int_gt(endure(scenarios[_i / 2], _i % 2 == 1), 2); \
    }                                                                \
    END_TEST

#endif
