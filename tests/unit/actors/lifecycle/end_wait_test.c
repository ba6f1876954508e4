/* actors/lifecycle/end_wait.c: waiting for the ends of other actors together with other sources. */
#include "ties.h"
#include "../node_harness.h"

enum { GO = 2 };

static void ends_when_told(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static weft_pid start_one(int worker)
{
    weft_pid p;
    want_int(weft_spawn(&p, ends_when_told, NULL, 0, &(weft_spawn_options){.worker = worker}), 0);
    return p;
}

static void beside_other_things(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid p = start_one(worker), other = start_one(worker);
        weft_timer never;
        weft_msg *m;
        want_int(weft_timer_open(&never, WEFT_FOREVER, 0), 0);
        const weft_wait sources[] = {weft_on_mailbox(), weft_on_timer(never), weft_on_end(other), weft_on_end(p)};
        want_int(weft_wait_any(sources, 4, WEFT_NOW), WEFT_ETIMEDOUT);
        want_int(weft_send(p, GO, NULL, 0), 0);
        want_int(weft_wait_any(sources, 4, WEFT_FOREVER), 3);
        want_int(weft_wait_any(sources, 4, WEFT_FOREVER), 3); /* it stays so */
        want_int(weft_wait_any(&sources[3], 1, WEFT_FOREVER), 0);
        want_int(weft_wait_any(sources, 3, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
        want_int(weft_send(other, GO, NULL, 0), 0);
        want_int(weft_wait_all(&sources[2], 2, WEFT_FOREVER), 0);
        want_int(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT); /* the mailbox hears nothing of all this */
        want_int(wf_ties_of(wf_here)->monitors.used, 0);
        want_int(weft_timer_close(never), 0);
    }
}

START_TEST(an_end_is_waited_for_beside_other_things)
{
    run_on(2, beside_other_things);
}
END_TEST

static void waits_for(const void *arg, size_t size)
{
    const weft_wait w = weft_on_end(*(const weft_pid *)arg);
    (void)size;
    (void)weft_wait_any(&w, 1, WEFT_FOREVER);
}

/* Deadlines, cancelling and killing leave no monitor behind. */
static void ends_of_waits(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid p = start_one(2), waiter[2];
    const weft_wait w = weft_on_end(p), nobody = weft_on_end(weft_nobody());
    want_int(weft_wait_any(&w, 1, weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(&nobody, 1, WEFT_FOREVER), WEFT_EINVAL);
    weft_wait ends[2];
    for (int i = 0; i < 2; i++) {
        want_int(weft_spawn(&waiter[i], waits_for, &p, sizeof p, &(weft_spawn_options){.worker = 1}), 0);
        ends[i] = weft_on_end(waiter[i]);
    }
    until(wf_ties_of(wf_here)->monitors.used == 2);
    want_int(weft_stop(waiter[0]), 0);
    want_int(weft_kill(waiter[1]), 0);
    want_int(weft_wait_all(ends, 2, WEFT_FOREVER), 0);
    want_int(wf_ties_of(wf_here)->monitors.used, 0);
    want_int(weft_send(p, GO, NULL, 0), 0);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
}

START_TEST(waits_that_end_early_leave_nothing_behind)
{
    run_on(2, ends_of_waits);
}
END_TEST

TEST_MAIN("end_wait", an_end_is_waited_for_beside_other_things, waits_that_end_early_leave_nothing_behind)
