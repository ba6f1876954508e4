/* Subscriptions while there is no store, or the store does not answer: they wait for events, and send no useless
 * requests. The tests use virtual time. */
#include "../../../suite.h"

#include <weft/test.h>

#include "actor.h"
#include "puppet_store.h"

static int asked(void)
{
    weft_msg *m;
    int count = 0;
    for (; weft_recv_tag(&m, PUPPET_WAS_ASKED, WEFT_NOW) == 0; count++) weft_msg_free(m);
    return count;
}

static void subscribe(const char *topic)
{
    weft_require(weft_subscribe_from(topic, WEFT_FROM_START, NULL, weft_after(WEFT_SEC(1))) >= 0);
}

static void end_store(weft_pid pid)
{
    weft_wait on = weft_on_end(pid);
    weft_require(weft_kill(pid) >= 0);
    weft_require(weft_wait_any(&on, 1, weft_after(WEFT_SEC(1))) >= 0);
    weft_require(weft_settle() >= 0);
}

struct how {
    const char *topic;
    enum puppet_way way;
};

static void nothing_wakes_it(const void *arg, size_t size)
{
    const struct how *how = arg;
    (void)size;
    weft_pid store = puppet_up(PUPPET_HOLDS);
    subscribe(how->topic);
    weft_require(weft_settle() >= 0);
    if (asked() != 1) weft_fail(1, "it has not asked");
    for (int i = 0; i < 2; i++) {
        const struct wf_timer *timer = wf_heap_first(&wf_here->timers);
        if (timer != NULL && timer != &wf_actors_of(wf_here)->patrol) weft_fail(2, "round %d: a timer", i);
        if (i == 0) end_store(store);
    }
    weft_require(weft_advance(WEFT_SEC(3600)) >= 0);
    if (asked() != 0) weft_fail(3, "it has asked nobody");
    int64_t before = weft_now();
    puppet_up(PUPPET_HOLDS);
    if (asked() != 1 || weft_now() != before) weft_fail(4, "it did not ask the new store at once");
}

static void a_store_in_need_is_left_alone(const void *arg, size_t size)
{
    const struct how *how = arg;
    (void)size;
    weft_pid store = puppet_up(how->way);
    subscribe(how->topic);
    weft_require(weft_advance(WEFT_SEC(10)) >= 0);
    int count = asked();
    if (count < 5 || count > 12) weft_fail(5, "%d requests in ten seconds", count);
    end_store(store);
    (void)asked();
    weft_require(weft_advance(WEFT_SEC(2)) >= 0);
    if (asked() != 0) weft_fail(6, "it has asked nobody");
    puppet_up(PUPPET_HOLDS);
    if (asked() != 1) weft_fail(7, "it did not ask the new store at once");
}

START_TEST(an_idle_subscription_wakes_for_a_store_only)
{
    const struct how how = {_i == 0 ? "room.tea" : "room.*", PUPPET_HOLDS};
    int rc = weft_test_run(nothing_wakes_it, &how, sizeof how, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

START_TEST(a_store_that_cannot_answer_is_asked_once_in_a_second)
{
    const struct how how = {_i < 2 ? "room.tea" : "room.*", _i % 2 == 0 ? PUPPET_LETS_GO : PUPPET_IS_FULL};
    int rc = weft_test_run(a_store_in_need_is_left_alone, &how, sizeof how, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("subscriptions that wait for a store");
    TCase *c = tcase_create("events");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, an_idle_subscription_wakes_for_a_store_only, 0, 2);
    tcase_add_loop_test(c, a_store_that_cannot_answer_is_asked_once_in_a_second, 0, 4);
    return run_suite(suite);
}
