/* transport/sim_world: the end of overlapping faults, and the node to which an actor's pid belongs. */
#include "../../../suite.h"

#include "sim_world.h"

#include <weft.h>

static struct wf_sim_world world;

START_TEST(a_shorter_fault_that_comes_later_ends_nothing)
{
    struct wf_sim_host *h = &world.host[1];
    wf_sim_world_init(&world, 1);
    const int64_t now = wf_sim_now(&world);
    const int64_t *until[] = {&h->cut_by[2], &h->frozen_by, &h->slow_by, &h->scarce_by};
    for (int64_t seconds = 10; seconds > 0; seconds -= 9) {
        wf_sim_cut(&world, 1, 2, WEFT_SEC(seconds));
        wf_sim_freeze(&world, 1, WEFT_SEC(seconds));
        wf_sim_slow(&world, 1, WEFT_MS(10), WEFT_SEC(seconds));
        wf_sim_starve(&world, 1, WEFT_SEC(seconds));
    }
    for (size_t i = 0; i < WF_COUNT(until); i++) ck_assert_int_eq(*until[i], now + WEFT_SEC(10));
    wf_sim_world_finish(&world);
}
END_TEST

static weft_pid born; /* the last one */

static void body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    born = weft_self();
    weft_sleep(WEFT_FOREVER);
}

/* Starts a node there, with an actor, whose pid it returns. */
static uint64_t start(unsigned host)
{
    ck_assert_int_eq(wf_sim_start(&world, host, &(weft_node_options){.name = "n"}), WEFT_OK);
    ck_assert_int_eq(weft_node_spawn(world.host[host].node, NULL, body, NULL, 0, NULL), WEFT_OK);
    wf_sim_run(&world, WEFT_SEC(1));
    return born.actor;
}

static void want_life(uint64_t actor, unsigned host, bool over)
{
    struct wf_sim_life life;
    wf_sim_life_of(&world, actor, &life);
    ck_assert_uint_eq(life.host, host);
    ck_assert_int_eq(life.over, over);
}

START_TEST(a_pid_is_that_of_one_actor_in_the_whole_world)
{
    wf_sim_world_init(&world, 1);
    uint64_t first = start(3), second = start(5);
    want_life(first, 3, false);
    want_life(second, 5, false);
    wf_sim_crash(&world, 3, false);
    want_life(first, 3, true);
    uint64_t third = start(3);
    want_life(first, 3, true);
    want_life(third, 3, false);
    want_life(second, 5, false);
    want_life((uint64_t)1 << 32 | 7, WF_SIM_HOSTS, false); /* of a node elsewhere */
    ck_assert_int_eq(wf_sim_stop(&world, 3, WEFT_NOW), WEFT_OK);
    ck_assert_int_eq(wf_sim_stop(&world, 5, WEFT_NOW), WEFT_OK);
    wf_sim_run(&world, WEFT_SEC(1));
    wf_sim_world_finish(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_world");
    TCase *t = tcase_create("world");
    tcase_add_test(t, a_shorter_fault_that_comes_later_ends_nothing);
    tcase_add_test(t, a_pid_is_that_of_one_actor_in_the_whole_world);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
