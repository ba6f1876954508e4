/* Timers that must work when there is no memory for another one. */
#include "../../alloc_faults.h"
#include "../node_harness.h"

#include <weft/test.h>

enum { DATA = 1, ASK = 2 };

static void never_answers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0 && weft_tag(m) != ASK) weft_msg_free(m);
    (void)weft_sleep(WEFT_FOREVER);
}

static void asks(const void *arg, size_t size)
{
    (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        weft_msg_free(m);
        if (weft_call(*(const weft_pid *)arg, ASK, "abc", 3, &m, WEFT_FOREVER) == 0) weft_msg_free(m);
    }
}

static void never_due(struct wf_worker *w, struct wf_timer *t)
{
    (void)w, (void)t;
}

/* The heap of timers is full and cannot grow: a call is looked after all the same. */
static void watched_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static struct wf_timer own[64];
    struct wf_worker *w = wf_here;
    weft_pid server, asker;
    w->pool.bypass = false; /* which it is in the test kit: see below */
    want_int(weft_spawn(&server, never_answers, NULL, 0, NULL), 0);
    want_int(weft_spawn(&asker, asks, &server, sizeof server, NULL), 0);
    for (int i = 0; i < 4; i++)
        want_int(weft_send(server, DATA, "abc", 3), 0); /* such messages are in the pool now */
    want_int(weft_settle(), 0);
    faults_arm(0, true);
    size_t used = 0;
    for (size_t i = 0; i < 64; i++) own[i].fire = never_due;
    while (used < 64 && wf_timer_arm(w, &own[used], weft_after(WEFT_SEC(1000))) == 0) used++;
    int sent = weft_send(asker, DATA, "abc", 3);
    for (int i = 0; i < 10; i++) weft_yield();
    bool watched = wf_timer_armed(&wf_actors_of(w)->patrol);
    faults_disarm();
    want(used < 64);
    want_int(sent, 0);
    want(watched);
    for (size_t i = 0; i < used; i++) wf_timer_disarm(w, &own[i]);
    want_int(weft_kill(asker), 0);
    want_int(weft_kill(server), 0);
    want_int(weft_settle(), 0);
}

START_TEST(calls_are_watched_without_memory_for_a_timer)
{
    ck_assert_msg(weft_test_run(watched_body, NULL, 0, NULL) == 0, "%s", weft_test_report());
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timers without memory");
    TCase *t = tcase_create("timers");
    /* Under the tools each message is an allocation. */
    if (!under_tools()) tcase_add_test(t, calls_are_watched_without_memory_for_a_timer);
    suite_add_tcase(s, t);
    return run_suite(s);
}
