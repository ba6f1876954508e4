#include "harness.h"

#include "timer.h"

#include <weft/timer.h>
#include <weft/wait.h>

static int wait_for(weft_timer t, int64_t deadline)
{
    weft_wait w = weft_on_timer(t);
    return weft_wait_any(&w, 1, deadline);
}

static void fires_once(void *arg)
{
    (void)arg;
    weft_timer t;
    int64_t at = weft_after(WEFT_MS(2));
    want_int(weft_timer_open(&t, at, 0), 0);
    want_int(weft_timer_take(t), 0);
    want_int(wait_for(t, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(wait_for(t, WEFT_FOREVER), 0);
    want(weft_now() >= at);
    want_int(wait_for(t, WEFT_FOREVER), 0); /* waiting consumes nothing */
    want_int(weft_timer_take(t), 1);
    want_int(weft_timer_take(t), 0);
    want_int(wait_for(t, weft_after(WEFT_MS(3))), WEFT_ETIMEDOUT);
    want_int(weft_timer_set(t, WEFT_NOW, 0), 0); /* a time that is past fires at once */
    want_int(wait_for(t, WEFT_FOREVER), 0);
    want_int(weft_timer_take(t), 1);
    want_int(weft_timer_set(t, WEFT_FOREVER, 0), 0);
    want_int(wait_for(t, weft_after(WEFT_MS(3))), WEFT_ETIMEDOUT);
    want_int(weft_timer_close(t), 0);
}

START_TEST(a_timer_fires_once)
{
    run_alone(fires_once, NULL);
}
END_TEST

static void counts_missed(void *arg)
{
    (void)arg;
    const int64_t period = WEFT_MS(1);
    weft_timer t;
    int64_t first = weft_now() - 10 * period; /* ten deadlines have passed, and the one of just now */
    want_int(weft_timer_open(&t, first, period), 0);
    want_int(wait_for(t, WEFT_FOREVER), 0);
    int64_t n = weft_timer_take(t);
    want(n >= 11);
    /* The sum never drifts from what the clock says. */
    while (n < 50) {
        want_int(wait_for(t, WEFT_FOREVER), 0);
        int64_t taken = weft_timer_take(t);
        want(taken >= 1);
        n += taken;
        want(n <= (weft_now() - first) / period + 1);
    }
    struct wf_user_timer *u = wf_user_timer_find(wf_task_self(), t.id);
    want_int((u->due - first) % period, 0);
    want_int((u->due - first) / period, n);
}

START_TEST(periods_are_counted_from_the_first_deadline)
{
    run_alone(counts_missed, NULL);
}
END_TEST

static weft_timer other;

static void open_other(void *arg)
{
    (void)arg;
    want_int(weft_timer_open(&other, WEFT_NOW, WEFT_MS(1)), 0);
    want_int(wait_for(other, WEFT_FOREVER), 0);
}

static void is_owned(void *arg)
{
    (void)arg;
    struct test_task *t = spawn_here(open_other, NULL);
    until(is_waiting(t));
    want_int(weft_timer_take(other), WEFT_ECLOSED); /* only its own actor may */
    until(t->done);
    want_int(wf_here->user_timers.used, 0);
    want(wf_heap_first(&wf_here->timers) == NULL);
    weft_timer mine, reused;
    want_int(weft_timer_open(&mine, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_close(mine), 0);
    want_int(weft_timer_open(&reused, WEFT_FOREVER, 0), 0);
    want_int(weft_timer_close(mine), WEFT_ECLOSED);
    want_int(weft_timer_take(mine), WEFT_ECLOSED);
    want_int(weft_timer_set(mine, WEFT_NOW, 0), WEFT_ECLOSED);
    want_int(wait_for(mine, WEFT_FOREVER), WEFT_ECLOSED);
    want_int(weft_timer_open(&mine, WEFT_NOW, -1), WEFT_EINVAL);
    want_int(weft_timer_set(reused, WEFT_NOW, -1), WEFT_EINVAL);
}

START_TEST(a_timer_belongs_to_one_actor)
{
    run_alone(is_owned, NULL);
    want_int(weft_timer_open(&other, WEFT_NOW, 0), WEFT_ENOTACTOR);
    want_int(weft_timer_take(other), WEFT_ENOTACTOR);
}
END_TEST

TEST_MAIN("timer", a_timer_fires_once, periods_are_counted_from_the_first_deadline, a_timer_belongs_to_one_actor)
