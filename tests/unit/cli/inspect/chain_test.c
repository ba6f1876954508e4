/* Chains of actors that wait for each other's replies, and where they end. */
#include <stdlib.h>
#include <string.h>

#include "chain.h"

#include "../../../suite.h"

/* Actors 1, 2, ...: `asks` is whom each waits for, 0: nobody. */
struct world {
    int asks[100];
    int unneeded, silent,
        unnamed; /* one that could go on without, one whose node is silent, one who asks in secret; 0 */
    int questions;
};

static int tell(const char *asked, struct cli_who *out, void *arg)
{
    struct world *w = arg;
    int i = atoi(asked);
    w->questions++;
    *out = (struct cli_who){.needs_all = i != w->unneeded};
    snprintf(out->asked, sizeof out->asked, "%s", asked);
    if (i == w->silent) return CLI_OK;
    snprintf(out->pid, sizeof out->pid, "0.%d.1@n%d", i, i % 3);
    snprintf(out->state, sizeof out->state, "waiting");
    out->waits_ns = w->asks[i] != 0 || i == w->unnamed ? 1 : 0;
    if (w->asks[i] != 0) snprintf(out->ask, sizeof out->ask, i % 2 == 0 ? "%d" : "%d@node", w->asks[i]);
    return CLI_OK;
}

static int refuse(const char *asked, struct cli_who *out, void *arg)
{
    (void)asked, (void)out, (void)arg;
    return CLI_UNREACHABLE;
}

static struct cli_chain chain;

static void follow(struct world *w)
{
    ck_assert_int_eq(cli_chain_follow(&chain, "1", tell, w), CLI_OK);
}

START_TEST(a_chain_ends_with_an_actor_that_waits_for_no_other)
{
    struct world w = {.asks = {[1] = 2, [2] = 3}};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_WORKS);
    ck_assert_int_eq(chain.count, 3);
    ck_assert_int_eq(w.questions, 3);
    ck_assert_str_eq(chain.of[2].pid, "0.3.1@n0");
    ck_assert(!chain.deadlock);
}
END_TEST

START_TEST(an_actor_that_waits_for_no_other_is_a_chain_of_one)
{
    struct world w = {.asks = {[1] = 0}};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_WORKS);
    ck_assert_int_eq(chain.count, 1);
}
END_TEST

/* Each actor is in the chain once, also where it was asked for by its name and by its pid. */
START_TEST(a_circle_is_a_deadlock)
{
    struct world w = {.asks = {[1] = 2, [2] = 3, [3] = 1}};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_CIRCLE);
    ck_assert_int_eq(chain.count, 3);
    ck_assert_int_eq(chain.circle, 0);
    ck_assert(chain.deadlock);
    ck_assert_str_eq(cli_chain_end_name(chain.end), "circle");
}
END_TEST

START_TEST(a_circle_may_begin_later)
{
    struct world w = {.asks = {[1] = 2, [2] = 3, [3] = 4, [4] = 3}, .unneeded = 2};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_CIRCLE);
    ck_assert_int_eq(chain.count, 4);
    ck_assert_int_eq(chain.circle, 2);
    ck_assert(chain.deadlock);
}
END_TEST

START_TEST(a_circle_with_another_way_out_is_no_deadlock)
{
    struct world w = {.asks = {[1] = 2, [2] = 1}, .unneeded = 2};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_CIRCLE);
    ck_assert(!chain.deadlock);
}
END_TEST

START_TEST(an_actor_that_waits_for_itself_is_a_circle)
{
    struct world w = {.asks = {[1] = 1}};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_CIRCLE);
    ck_assert_int_eq(chain.count, 1);
    ck_assert_int_eq(chain.circle, 0);
}
END_TEST

START_TEST(a_chain_has_a_bound)
{
    struct world w = {.asks = {0}};
    for (int i = 1; i < 99; i++) w.asks[i] = i + 1;
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_LONG);
    ck_assert_int_eq(chain.count, CLI_CHAIN_MAX);
    ck_assert_int_eq(w.questions, CLI_CHAIN_MAX);
    w.asks[CLI_CHAIN_MAX] = 0; /* one that is as long as may be is whole */
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_WORKS);
    ck_assert_int_eq(chain.count, CLI_CHAIN_MAX);
}
END_TEST

START_TEST(a_node_may_be_silent)
{
    struct world w = {.asks = {[1] = 2, [2] = 3}, .silent = 2};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_UNKNOWN);
    ck_assert_int_eq(chain.count, 2);
    w = (struct world){.asks = {[1] = 2}, .unnamed = 2};
    follow(&w);
    ck_assert_int_eq(chain.end, CLI_CHAIN_HIDDEN);
    ck_assert_int_eq(cli_chain_follow(&chain, "1", refuse, NULL), CLI_UNREACHABLE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("chain");
    TCase *t = tcase_create("chain");
    tcase_add_test(t, a_chain_ends_with_an_actor_that_waits_for_no_other);
    tcase_add_test(t, an_actor_that_waits_for_no_other_is_a_chain_of_one);
    tcase_add_test(t, a_circle_is_a_deadlock);
    tcase_add_test(t, a_circle_may_begin_later);
    tcase_add_test(t, a_circle_with_another_way_out_is_no_deadlock);
    tcase_add_test(t, an_actor_that_waits_for_itself_is_a_circle);
    tcase_add_test(t, a_chain_has_a_bound);
    tcase_add_test(t, a_node_may_be_silent);
    suite_add_tcase(s, t);
    return run_suite(s);
}
