/* Limits of connections at a listener: the number in all, the number of one source, and that closed connections free
 * their places. */
#include "places.h"
#include "../../../suite.h"

#include <check.h>
#include <stdio.h>

#include <weft/error.h>

enum { MOST = 256, EACH = 64 };

static struct wf_places *p;
static uint32_t place[MOST * 10];

static bool take(const char *from, uint32_t *out)
{
    struct pf_address a;
    ck_assert_int_eq(pf_address_parse(from, &a), WEFT_OK);
    return wf_places_take(p, &a, out);
}

enum kind { ONE_OF_IPV4, ONE_MAPPED, ONE_NETWORK, MANY_OF_IPV4, MANY_NETWORKS };

static uint32_t take_all(enum kind kind, uint32_t tries)
{
    uint32_t got = 0;
    for (uint32_t i = 0; i < tries; i++) {
        char from[64];
        unsigned high = i / 250 % 250, low = i % 250, port = 1000 + i;
        switch (kind) {
        case ONE_OF_IPV4: snprintf(from, sizeof from, "10.0.0.1:%u", port); break;
        case ONE_MAPPED: snprintf(from, sizeof from, "[::ffff:10.0.0.1]:%u", port); break;
        case ONE_NETWORK: snprintf(from, sizeof from, "[2001:db8:1:2:%x:%x::9]:%u", high, low, port); break;
        case MANY_OF_IPV4: snprintf(from, sizeof from, "10.1.%u.%u:%u", high, low, port); break;
        case MANY_NETWORKS: snprintf(from, sizeof from, "[2001:db8:%x:%x::9]:%u", high, low, port); break;
        }
        got += take(from, &place[got]);
    }
    return got;
}

static void give(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) wf_places_give(p, place[i]);
}

START_TEST(a_source_gets_its_share_and_others_get_the_rest)
{
    ck_assert_int_eq(wf_places_new(&p, pf_env_native(), MOST, EACH), WEFT_OK);
    for (int round = 0; round < 3; round++) {
        for (enum kind one = ONE_OF_IPV4; one <= ONE_NETWORK; one++) {
            ck_assert_uint_eq(take_all(one, MOST * 10), EACH);
            give(EACH);
        }
        for (enum kind many = MANY_OF_IPV4; many <= MANY_NETWORKS; many++) {
            ck_assert_uint_eq(take_all(many, MOST * 10), MOST);
            give(MOST);
        }
    }
    uint32_t mine = take_all(ONE_OF_IPV4, MOST), other;
    ck_assert_uint_eq(mine, EACH);
    ck_assert(take("[2001:db8::1]:1", &other)); /* what one source takes leaves the rest to others */
    wf_places_give(p, other);
    give(mine);
    wf_places_release(p);
}
END_TEST

/* Ten thousand other sources connect: if each had a single counter, about ten of them would be refused. */
START_TEST(a_source_that_takes_its_share_keeps_no_other_one_out)
{
    uint32_t other;
    ck_assert_int_eq(wf_places_new(&p, pf_env_native(), MOST, EACH), WEFT_OK);
    uint32_t mine = take_all(ONE_OF_IPV4, MOST), kept_out = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        char from[64];
        snprintf(from, sizeof from, "10.2.%u.%u:1", (unsigned)i / 250, (unsigned)i % 250);
        if (take(from, &other)) wf_places_give(p, other);
        else kept_out++;
    }
    ck_assert_uint_le(kept_out, 1);
    give(mine);
    wf_places_release(p);
}
END_TEST

START_TEST(sources_without_an_address_count_only_in_total)
{
    struct pf_address a;
    ck_assert_int_eq(wf_places_new(&p, pf_env_native(), 8, 1), WEFT_OK);
    ck_assert_int_eq(pf_address_parse("unix:/tmp/x", &a), WEFT_OK);
    for (int i = 0; i < 8; i++) ck_assert(wf_places_take(p, i % 2 == 0 ? NULL : &a, &place[i]));
    ck_assert(!wf_places_take(p, NULL, &place[8]) && !take("10.0.0.1:1", &place[8]));
    wf_places_give(p, place[0]);
    ck_assert(take("10.0.0.1:1", &place[0]));
    wf_places_release(p); /* what is taken stays good */
    give(8);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("places");
    TCase *t = tcase_create("places");
    tcase_add_test(t, a_source_gets_its_share_and_others_get_the_rest);
    tcase_add_test(t, a_source_that_takes_its_share_keeps_no_other_one_out);
    tcase_add_test(t, sources_without_an_address_count_only_in_total);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
