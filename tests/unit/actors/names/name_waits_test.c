/* actors/names/name_waits.c: waits are grouped by name, and are notified in parts when their name comes. */
#include <check.h>

#include "name_waits.h"
#include "../../../suite.h"

enum { A = 5, B = 6 }; /* hashes */

static int woken;
static struct wf_name_waits waits;

static void wake(struct wf_name_wait *wait)
{
    ck_assert(!weft_pid_is_nobody(wait->found));
    woken++;
}

static void add(struct wf_name_wait *wait, const char *name, uint32_t hash)
{
    *wait = (struct wf_name_wait){.wake = wake};
    ck_assert_int_eq(wf_name_waits_add(&waits, weft_cstr(name), hash, wait), WEFT_OK);
}

static void came(const char *name, uint32_t hash, uint64_t actor)
{
    wf_name_waits_came(&waits, weft_cstr(name), hash, (weft_pid){1, actor}, false);
}

static void begin(void)
{
    woken = 0;
    wf_name_waits_init(&waits);
}

START_TEST(only_waits_for_that_name_are_due)
{
    struct wf_name_wait a[3], b, same_hash;
    begin();
    for (int i = 0; i < 3; i++) add(&a[i], "a", A);
    add(&b, "b", B);
    add(&same_hash, "c", A);
    came("x", A, 9);
    ck_assert(!wf_name_waits_are_due(&waits));
    came("a", A, 7);
    ck_assert_uint_eq(wf_name_waits_notify(&waits, 2), 2);
    ck_assert(wf_name_waits_are_due(&waits));
    ck_assert(a[0].found.actor == 7 && a[1].found.actor == 7 && weft_pid_is_nobody(a[2].found)); /* in their order */
    ck_assert_uint_eq(wf_name_waits_notify(&waits, 2), 1);
    ck_assert(!wf_name_waits_are_due(&waits));
    ck_assert_int_eq(woken, 3);
    ck_assert_uint_eq(waits.count, 2);
    wf_name_waits_drop(&waits, &b);
    wf_name_waits_drop(&waits, &same_hash);
    wf_name_waits_drop(&waits, &a[0]); /* it was notified */
    ck_assert(weft_pid_is_nobody(b.found) && weft_pid_is_nobody(same_hash.found));
    wf_name_waits_finish(&waits);
}
END_TEST

START_TEST(one_bound_is_for_all_names_together)
{
    struct wf_name_wait a[2], b[2];
    begin();
    for (int i = 0; i < 2; i++) add(&a[i], "a", A), add(&b[i], "b", B);
    came("b", B, 8);
    came("a", A, 7);
    ck_assert_uint_eq(wf_name_waits_notify(&waits, 3), 3);
    ck_assert(b[0].found.actor == 8 && b[1].found.actor == 8 && a[0].found.actor == 7); /* the first name first */
    ck_assert(weft_pid_is_nobody(a[1].found));
    wf_name_waits_drop(&waits, &a[1]); /* it gives up, but its name has come */
    ck_assert_uint_eq(a[1].found.actor, 7);
    ck_assert_int_eq(woken, 3);
    ck_assert(!wf_name_waits_are_due(&waits));
    wf_name_waits_finish(&waits);
}
END_TEST

START_TEST(who_waits_again_for_a_name_that_has_gone_waits_for_the_next_one)
{
    struct wf_name_wait first, later;
    begin();
    add(&first, "a", A);
    came("a", A, 7);
    add(&later, "a", A); /* the name has gone again, and the first one was not notified yet */
    came("a", A, 8);
    ck_assert_uint_eq(wf_name_waits_notify(&waits, 9), 2);
    ck_assert(first.found.actor == 7 && later.found.actor == 8);
    wf_name_waits_finish(&waits);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("name_waits");
    TCase *t = tcase_create("name_waits");
    tcase_add_test(t, only_waits_for_that_name_are_due);
    tcase_add_test(t, one_bound_is_for_all_names_together);
    tcase_add_test(t, who_waits_again_for_a_name_that_has_gone_waits_for_the_next_one);
    suite_add_tcase(s, t);
    return run_suite(s);
}
