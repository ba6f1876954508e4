/* tests/integration/transport_end_test.c -- weft_on_end for actors of another node, and for a node that is lost. */
#include "transport_harness.h"

enum { GO = 2 };
static weft_pid kept[2]; /* written before "is there" is said */

static void ends_when_told(const void *arg, size_t size)
{
    weft_msg *m;
    (void)size;
    kept[*(const int *)arg] = weft_self();
    say("%d is there", *(const int *)arg);
    if (weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static void watch_two(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_link();
    const weft_wait sources[] = {weft_on_mailbox(), weft_on_end(kept[0]), weft_on_end(kept[1])};
    ck_assert_int_eq(weft_wait_any(sources, 3, WEFT_NOW), WEFT_ETIMEDOUT);
    ck_assert_int_eq(weft_send(kept[1], GO, NULL, 0), WEFT_OK);
    ck_assert_int_eq(weft_wait_any(sources, 3, WEFT_FOREVER), 2);
    ck_assert_int_eq(weft_wait_any(&sources[2], 1, WEFT_FOREVER), 0); /* one that has ended long ago */
    say("the second has ended");
    ck_assert_int_eq(weft_wait_any(&sources[1], 1, WEFT_FOREVER), 0);
    say("the first is lost");
}

START_TEST(ends_on_another_node_and_with_it)
{
    weft_node *far = node_up("far", "tcp://127.0.0.1:0", NULL, WEFT_SEC(5));
    weft_node *near = node_up("near", NULL, weft_node_url(far, 0), WEFT_SEC(5));
    forget_all();
    for (int i = 0; i < 2; i++) run_actor(far, ends_when_told, &i, sizeof i);
    ck_assert_int_ge(heard("0 is there", 1) + heard("1 is there", 1), 2);
    run_actor(near, watch_two, NULL, 0);
    HEAR("the second has ended");
    (void)weft_node_stop(far, WEFT_NOW);
    HEAR("the first is lost");
    ck_assert_int_eq(weft_node_stop(near, patience()), WEFT_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_end");
    TCase *c = tcase_create("transport_end");
    tcase_set_timeout(c, 100);
    tcase_add_test(c, ends_on_another_node_and_with_it);
    suite_add_tcase(suite, c);
    return run_suite_unforked(suite);
}
