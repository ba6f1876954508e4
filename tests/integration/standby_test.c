/* Stores that stand by, on one node and on two: one of them serves, and another one takes its place. */
#include "records_kit.h"

static weft_pid of_a;

static weft_pid open_store(bool standby)
{
    weft_pid pid;
    const struct weft_stored_topics topics[] = {{.pattern = "room.*"}};
    const weft_store_options options = {.url = url[0], .topics = topics, .topic_count = 1, .standby = standby};
    ck_assert_int_eq(weft_store_open(&options, &pid, patience()), WEFT_OK);
    return pid;
}

static void serve_first(const void *arg, size_t size)
{
    (void)arg, (void)size;
    of_a = open_store(true);
    publish_numbers("room.a", 1, 5);
    say("serves");
}

static void read_of_both(const void *arg, size_t size)
{
    (void)arg, (void)size;
    subscribe("room.a", WEFT_FROM_START);
    expect_numbers("room.a", 1, 5);
    say("read of the first");
    expect_numbers("room.a", 6, 10);
    say("read of the second");
}

static void stand_by_second(const void *arg, size_t size)
{
    weft_pid pid;
    (void)arg, (void)size;
    await_store();
    open_store(true);
    ck_assert_int_eq(weft_whereis("weft.store.standby", &pid), WEFT_OK);
    say("stands by");
}

static void replace(const void *arg, size_t size)
{
    weft_pid before, after;
    (void)arg, (void)size;
    ck_assert_int_eq(weft_whereis(WEFT_STORE_NAME, &before), WEFT_OK);
    end_store(of_a);
    await_store();
    ck_assert_int_eq(weft_whereis(WEFT_STORE_NAME, &after), WEFT_OK);
    ck_assert(after.node != before.node);
    publish_numbers("room.a", 6, 10);
    say("done");
}

START_TEST(a_standby_replaces_a_store_that_ends)
{
    second_node();
    run_actor(a, serve_first, NULL, 0);
    HEAR("serves");
    run_actor(b, stand_by_second, NULL, 0);
    HEAR("stands by");
    run_actor(a, read_of_both, NULL, 0);
    HEAR("read of the first");
    RUN(a, replace);
    HEAR("read of the second");
}
END_TEST

static void take_the_place(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_wait on = weft_on_end(of_a); /* its name is free by then */
    ck_assert_int_eq(weft_wait_any(&on, 1, patience()), 0);
    await_store();
    publish_numbers("room.a", 6, 10);
    say("done");
}

START_TEST(a_standby_replaces_a_store_whose_node_is_lost)
{
    second_node();
    run_actor(a, serve_first, NULL, 0);
    HEAR("serves");
    run_actor(b, stand_by_second, NULL, 0);
    HEAR("stands by");
    node_down(a);
    a = NULL;
    RUN(b, take_the_place);
}
END_TEST

static void stop_while_it_waits(const void *arg, size_t size)
{
    weft_pid pid;
    (void)arg, (void)size;
    open_store(false);
    end_store(open_store(true));
    ck_assert_int_eq(weft_whereis("weft.store.standby", &pid), WEFT_ENOACTOR);
    ck_assert_int_eq(weft_whereis(WEFT_STORE_NAME, &pid), WEFT_OK);
    publish_numbers("room.a", 1, 2);
    say("done");
}

START_TEST(a_standby_can_be_stopped)
{
    RUN(a, stop_while_it_waits);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stores that stand by");
    TCase *c = tcase_create("standbys");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, a_standby_replaces_a_store_that_ends);
    tcase_add_test(c, a_standby_replaces_a_store_whose_node_is_lost);
    tcase_add_test(c, a_standby_can_be_stopped);
    return run_suite_unforked(suite);
}
