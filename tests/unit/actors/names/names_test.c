/* Tests of actors/names/names.c. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "platform.h"
#include "../random.h"
#include "../../../suite.h"

static weft_pid pid(uint64_t actor)
{
    weft_pid p = {1, actor};
    return p;
}

static struct wf_names *names_new(void)
{
    struct wf_names *n = NULL;
    ck_assert_int_eq(wf_names_create(&n, 7), 0);
    return n;
}

START_TEST(names_have_allowed_characters_and_at_most_64_bytes)
{
    static const char *const good[] = {"a", "Room-7", "$system", "a.b_c", ".", "0"};
    static const char *const bad[] = {"", " ", "a b", "a@b", "a*", "a>", "a/b", "caf\xC3\xA9", "a\n"};
    for (size_t i = 0; i < WF_COUNT(good); i++) ck_assert_int_eq(wf_name_check(weft_cstr(good[i])), 0);
    for (size_t i = 0; i < WF_COUNT(bad); i++) ck_assert_int_eq(wf_name_check(weft_cstr(bad[i])), WEFT_EINVAL);
    char text[66];
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(wf_name_check(weft_str(text, 64)), 0);
    ck_assert_int_eq(wf_name_check(weft_str(text, 65)), WEFT_ETOOBIG);
    ck_assert_int_eq(wf_name_check(weft_str("a\0b", 3)), WEFT_EINVAL);
}
END_TEST

START_TEST(a_name_has_one_owner)
{
    struct wf_names *n = names_new();
    struct wf_name *a = NULL, *b = NULL;
    weft_pid found = pid(99);
    ck_assert_str_eq(wf_names_first(a), "");
    ck_assert_int_eq(wf_names_add(n, weft_cstr("room"), pid(1), &a), 0);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("room"), pid(2), &b), WEFT_EEXIST);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("room"), pid(1), &a), WEFT_EEXIST);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("no space"), pid(1), &a), WEFT_EINVAL);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("rooms"), pid(1), &a), 0);
    ck_assert_str_eq(wf_names_first(a), "room");
    ck_assert_int_eq(wf_names_find(n, weft_cstr("roo"), &found), WEFT_ENOACTOR);
    ck_assert_uint_eq(found.actor, 99);
    ck_assert_int_eq(wf_names_find(n, weft_str("rooms", 4), &found), 0);
    ck_assert_uint_eq(found.actor, 1);

    ck_assert_int_eq(wf_names_remove(n, weft_cstr("room"), &b), WEFT_ENOACTOR); /* not b's */
    ck_assert_int_eq(wf_names_find(n, weft_cstr("room"), &found), 0);
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("room"), &a), 0);
    ck_assert_int_eq(wf_names_find(n, weft_cstr("room"), &found), WEFT_ENOACTOR);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("room"), pid(2), &b), 0);
    ck_assert_uint_eq(wf_names_count(n), 2);
    wf_names_remove_all(n, &a);
    ck_assert_ptr_null(a);
    wf_names_remove_all(n, &a);
    ck_assert_uint_eq(wf_names_count(n), 1);
    ck_assert_int_eq(wf_names_find(n, weft_cstr("room"), &found), 0);
    ck_assert_uint_eq(found.actor, 2);
    wf_names_destroy(n); /* with an entry in it */
    wf_names_destroy(NULL);
}
END_TEST

enum { MODEL_NAMES = 500, MODEL_ACTORS = 20 };

static bool count_name(weft_text name, weft_pid p, uint64_t stamp, bool holds, void *arg)
{
    uint64_t *owner = arg;
    ck_assert(stamp == 0 && holds);
    ck_assert_uint_eq(strlen(name.data), name.size);
    int number = atoi(name.data + 2);
    ck_assert_int_lt(number, MODEL_NAMES);
    ck_assert_uint_eq(owner[number], p.actor);
    owner[MODEL_NAMES]++;
    return true;
}

START_TEST(random_changes_against_a_table)
{
    struct wf_names *n = names_new();
    struct wf_name *chain[MODEL_ACTORS + 1] = {NULL};
    uint64_t owner[MODEL_NAMES + 1] = {0}; /* 0: free; behind them a counter */
    uint64_t seed = 3;
    size_t held = 0;
    for (int step = 0; step < repeats(50000); step++) {
        uint32_t number = random_below(&seed, MODEL_NAMES), actor = 1 + random_below(&seed, MODEL_ACTORS);
        char text[16];
        snprintf(text, sizeof text, "n.%u", number);
        weft_pid found = pid(0);
        uint32_t what = random_below(&seed, 100);
        if (what < 50) {
            int rc = wf_names_add(n, weft_cstr(text), pid(actor), &chain[actor]);
            ck_assert_int_eq(rc, owner[number] == 0 ? 0 : WEFT_EEXIST);
            if (rc == 0) owner[number] = actor, held++;
        } else if (what < 80) {
            int rc = wf_names_remove(n, weft_cstr(text), &chain[actor]);
            ck_assert_int_eq(rc, owner[number] == actor ? 0 : WEFT_ENOACTOR);
            if (rc == 0) owner[number] = 0, held--;
        } else if (what < 99) {
            int rc = wf_names_find(n, weft_cstr(text), &found);
            ck_assert_int_eq(rc, owner[number] != 0 ? 0 : WEFT_ENOACTOR);
            ck_assert_uint_eq(found.actor, owner[number]);
        } else {
            wf_names_remove_all(n, &chain[actor]);
            for (size_t i = 0; i < MODEL_NAMES; i++) {
                if (owner[i] == actor) owner[i] = 0, held--;
            }
        }
        ck_assert_uint_eq(wf_names_count(n), held);
    }
    uint64_t at = 0;
    while (wf_names_some(n, &at, count_name, owner)) {}
    ck_assert_uint_eq(owner[MODEL_NAMES], held);
    ck_assert_uint_gt(held, 0);
    for (size_t i = 0; i <= MODEL_ACTORS; i++) wf_names_remove_all(n, &chain[i]);
    ck_assert_uint_eq(wf_names_count(n), 0);
    wf_names_destroy(n);
}
END_TEST

/* ---- Parts of a table ---- */

enum { STAYING = 500, COMING = 20000 };

struct parts {
    int seen[STAYING];
    uint32_t in_part, most;
};

static bool note_part(weft_text name, weft_pid who, uint64_t stamp, bool holds, void *arg)
{
    struct parts *p = arg;
    int number;
    (void)who, (void)stamp, (void)holds;
    if (sscanf(name.data, "stays.%d", &number) == 1) p->seen[number]++;
    return ++p->in_part < p->most;
}

/* Each name that exists all the time is in exactly one part, even if the table grows meanwhile, and no part is
 * long. */
START_TEST(a_table_is_read_in_parts_while_it_grows)
{
    struct wf_names *n = names_new();
    struct wf_name *stay = NULL, *come = NULL;
    struct parts p = {.most = 10};
    char text[32];
    uint64_t at = 0;
    int next = 0;
    for (int i = 0; i < STAYING; i++) {
        snprintf(text, sizeof text, "stays.%d", i);
        ck_assert_int_eq(wf_names_add(n, weft_cstr(text), pid(1), &stay), 0);
    }
    for (bool more = true; more;) {
        p.in_part = 0;
        more = wf_names_some(n, &at, note_part, &p);
        ck_assert_uint_le(p.in_part, 30); /* those that share the last one's place */
        for (int i = 0; i < 500 && next < COMING; i++, next++) {
            snprintf(text, sizeof text, "comes.%d", next);
            ck_assert_int_eq(wf_names_add(n, weft_cstr(text), pid(2), &come), 0);
        }
    }
    ck_assert_int_eq(next, COMING);
    for (int i = 0; i < STAYING; i++) ck_assert_int_eq(p.seen[i], 1);
    /* The first and the last of a long chain, and one in its midst. */
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("comes.0"), &come), 0);
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("comes.777"), &come), 0);
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("comes.19999"), &come), 0);
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("comes.777"), &come), WEFT_ENOACTOR);
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("stays.1"), &come), WEFT_ENOACTOR); /* another's */
    ck_assert_uint_eq(wf_names_count(n), STAYING + COMING - 3);
    wf_names_remove_all(n, &stay);
    wf_names_remove_all(n, &come);
    ck_assert_uint_eq(wf_names_count(n), 0);
    wf_names_destroy(n);
}
END_TEST

/* The names that node `node` has announced, at most 9. */
static struct wf_copies *from(uint64_t node)
{
    static struct wf_copies all[10];
    if (all[node].node == 0) wf_copies_init(&all[node], node);
    return &all[node];
}

static int put_copy_at(struct wf_names *n, const char *name, weft_pid who, uint64_t stamp, int64_t now,
                       struct wf_name_clash *clash)
{
    return wf_names_put_copy(n, from(who.node), weft_cstr(name), who, stamp, now, clash);
}

static int put_copy(struct wf_names *n, const char *name, weft_pid who, uint64_t stamp, weft_pid *loser)
{
    struct wf_name_clash clash;
    int rc = put_copy_at(n, name, who, stamp, 0, &clash);
    ck_assert(weft_pid_is_nobody(clash.defender));
    *loser = clash.loser;
    return rc;
}

static bool take_copy(struct wf_names *n, const char *name, uint64_t node)
{
    return wf_names_take_copy(n, from(node), weft_cstr(name));
}

/* How many of that node have been taken out, at most `work`. */
static uint32_t clear(struct wf_names *n, uint64_t node, uint32_t work)
{
    uint32_t left = work;
    wf_names_clear_copies(n, from(node), &left);
    return work - left;
}

/* The same of all of that node. */
static uint32_t lose(struct wf_names *n, uint64_t node)
{
    from(node)->round++;
    return clear(n, node, UINT32_MAX);
}

static int find_any(struct wf_names *n, const char *name, weft_pid *out)
{
    return wf_names_find_any(n, weft_cstr(name), out);
}

START_TEST(the_older_of_two_copies_holds)
{
    struct wf_names *n = names_new();
    weft_pid found = pid(99), loser;
    weft_pid of7 = {7, 1}, of8 = {8, 2}, of9 = {9, 3};
    ck_assert_int_eq(put_copy(n, "boss", of8, 20, &loser), 1);
    ck_assert_int_eq(find_any(n, "boss", &found), 0);
    ck_assert(weft_pid_equal(found, of8));
    ck_assert_int_eq(wf_names_find(n, weft_cstr("boss"), &found), WEFT_ENOACTOR); /* not of this node */
    ck_assert_int_eq(put_copy(n, "boss", of9, 10, &loser), 1);
    ck_assert_int_eq(find_any(n, "boss", &found), 0);
    ck_assert(weft_pid_equal(found, of9));
    ck_assert_int_eq(put_copy(n, "boss", of7, 10, &loser), 1); /* equal: the lower node */
    ck_assert_int_eq(find_any(n, "boss", &found), 0);
    ck_assert(weft_pid_equal(found, of7) && weft_pid_is_nobody(loser));
    ck_assert_int_eq(put_copy(n, "boss", (weft_pid){7, 4}, 30, &loser), 0); /* again */
    ck_assert_int_eq(find_any(n, "boss", &found), 0);
    ck_assert(weft_pid_equal(found, of9));
    ck_assert(take_copy(n, "boss", 9) && !take_copy(n, "boss", 9));
    ck_assert_int_eq(find_any(n, "boss", &found), 0);
    ck_assert(weft_pid_equal(found, of8));
    ck_assert_int_eq(put_copy(n, "other", of8, 21, &loser), 1);
    ck_assert_uint_eq(lose(n, 8), 2);
    ck_assert_int_eq(find_any(n, "other", &found), WEFT_ENOACTOR);
    ck_assert_int_eq(find_any(n, "boss", &found), 0);
    ck_assert_uint_eq(lose(n, 7), 1);
    ck_assert_int_eq(find_any(n, "boss", &found), WEFT_ENOACTOR);
    ck_assert_uint_eq(wf_names_count(n), 0);
    wf_names_destroy(n);
}
END_TEST

static void count_gone(weft_text name, weft_pid p, void *arg)
{
    (void)name, (void)p;
    ++*(int *)arg;
}

/* A node between two others reports the name of one to the other; it has no copy of it. */
START_TEST(a_name_gives_way_to_one_that_is_only_heard_of)
{
    struct wf_names *n;
    struct wf_name *chain = NULL;
    weft_pid found, loser = weft_nobody(), own = {5, 1};
    struct wf_name_claim claim;
    ck_assert_int_eq(wf_names_create(&n, 7), WEFT_OK);
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), own, 10, 0, &chain), WEFT_OK);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("local"), own, &chain), WEFT_OK);
    ck_assert(!wf_names_give_way(n, weft_cstr("boss"), 7, 11, &loser)); /* younger */
    ck_assert(!wf_names_give_way(n, weft_cstr("boss"), 7, 10, &loser)); /* as old, and a higher node */
    ck_assert(!wf_names_give_way(n, weft_cstr("local"), 7, 1, &loser)); /* of this node only */
    ck_assert(!wf_names_give_way(n, weft_cstr("none"), 7, 1, &loser));
    ck_assert(weft_pid_is_nobody(loser));
    ck_assert(wf_names_give_way(n, weft_cstr("boss"), 4, 10, &loser));
    ck_assert(weft_pid_equal(loser, own));
    ck_assert_int_eq(wf_names_find_any(n, weft_cstr("boss"), &found), WEFT_ENOACTOR);
    ck_assert(!wf_names_copy_of(n, weft_cstr("boss"), 4, &claim));
    ck_assert_uint_eq(wf_names_claims(n, weft_cstr("boss")), 0);
    ck_assert_int_eq(put_copy(n, "boss", (weft_pid){4, 2}, 10, &loser), 1);
    ck_assert_int_eq(put_copy(n, "boss", (weft_pid){6, 3}, 12, &loser), 1);
    ck_assert_uint_eq(wf_names_claims(n, weft_cstr("boss")), 2);
    ck_assert(wf_names_copy_of(n, weft_cstr("boss"), 6, &claim) && claim.pid.actor == 3 && claim.stamp == 12);
    ck_assert_uint_eq(lose(n, 4) + lose(n, 6), 2);
    wf_names_remove_all(n, &chain);
    wf_names_destroy(n);
}
END_TEST

/* Node 7 has received what there was at 100. */
START_TEST(a_node_that_knew_a_name_cannot_have_had_it_first)
{
    struct wf_names *n = names_new();
    struct wf_name *chain = NULL;
    struct wf_name_clash clash;
    weft_pid found, liar = {7, 1}, stranger = {6, 2}, own = pid(1);
    from(7)->known = 100;
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), own, 1000, 100, &chain), 0);
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("young"), own, 1001, 101, &chain), 0);
    ck_assert_int_eq(put_copy_at(n, "boss", liar, 500, 200, &clash), 1);
    ck_assert(weft_pid_is_nobody(clash.loser) && weft_pid_equal(clash.defender, own));
    ck_assert_uint_eq(clash.stamp, 499);
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, own));
    /* A stamp of 1 is as low as its own gets, and it stays all the same; it says so only so often. */
    int defended = 0;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(put_copy_at(n, "boss", liar, (uint64_t)(i < 50 ? 400 - i : 1), 200, &clash), 0);
        ck_assert(weft_pid_is_nobody(clash.loser));
        defended += !weft_pid_is_nobody(clash.defender);
    }
    ck_assert_int_eq(defended, 15);
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, own));
    /* It may not have been told of that one, and the other node not of this one. */
    ck_assert_int_eq(put_copy_at(n, "young", liar, 500, 200, &clash), 1);
    ck_assert(weft_pid_equal(clash.loser, own) && weft_pid_is_nobody(clash.defender));
    ck_assert_int_eq(put_copy_at(n, "boss", stranger, 3, 200, &clash), 1);
    ck_assert(weft_pid_equal(clash.loser, own));
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, stranger)); /* the liar's is still doubted */
    ck_assert(take_copy(n, "boss", 6));
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, liar)); /* nobody else has it */
    from(7)->known = INT64_MIN;
    ck_assert_uint_eq(lose(n, 7), 2);
    wf_names_remove_all(n, &chain);
    wf_names_destroy(n);
}
END_TEST

/* This node neither has the name nor claims it: it knows the holder and a claimant. */
START_TEST(the_doubted_one_of_two_copies_does_not_hold)
{
    struct wf_names *n = names_new();
    struct wf_name_clash clash;
    struct wf_name_claim claim;
    weft_pid found, liar = {7, 1}, holder = {8, 2};
    from(7)->known = 100 + WEFT_SEC(60); /* the holder has told it, too, by then */
    from(8)->known = 99;
    ck_assert_int_eq(put_copy_at(n, "boss", holder, 1000, 100, &clash), 1);
    ck_assert_int_eq(put_copy_at(n, "boss", liar, 1001, 200, &clash), 1); /* as an honest one would */
    ck_assert_int_eq(put_copy_at(n, "boss", liar, 500, 200, &clash), 0);
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, holder));
    ck_assert(wf_names_copy_of(n, weft_cstr("boss"), 7, &claim) && claim.doubt > 0);
    ck_assert_int_eq(put_copy_at(n, "boss", liar, 500, 200, &clash), 0); /* again, as in a snapshot */
    from(8)->known = 100 + WEFT_SEC(60);
    ck_assert_int_eq(put_copy_at(n, "boss", holder, 499, 400, &clash), 0); /* who defends it is not doubted */
    ck_assert(wf_names_copy_of(n, weft_cstr("boss"), 8, &claim) && claim.doubt == 0);
    ck_assert_int_eq(put_copy_at(n, "boss", liar, 1, 400, &clash), 0);
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, holder));
    ck_assert(weft_pid_is_nobody(clash.loser) && weft_pid_is_nobody(clash.defender));
    from(7)->known = from(8)->known = INT64_MIN;
    ck_assert_uint_eq(lose(n, 7) + lose(n, 8), 2);
    wf_names_destroy(n);
}
END_TEST

/* Whatever it was told of; among guests as among others. */
START_TEST(a_guest_takes_no_name_of_others)
{
    struct wf_names *n = names_new();
    struct wf_name *chain = NULL;
    struct wf_name_clash clash;
    weft_pid found, guest = {6, 1}, other = {7, 2}, member = {8, 3}, own = pid(1);
    from(6)->guest = from(7)->guest = true;
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), own, 1000, 100, &chain), 0);
    ck_assert_int_eq(put_copy_at(n, "boss", guest, 500, 101, &clash), 1);
    ck_assert(weft_pid_is_nobody(clash.loser) && weft_pid_equal(clash.defender, own) && clash.stamp == 499);
    ck_assert_int_eq(put_copy_at(n, "boss", other, 600, 102, &clash), 1);
    ck_assert(weft_pid_is_nobody(clash.loser) && weft_pid_is_nobody(clash.defender)); /* its own is lower already */
    wf_names_remove_all(n, &chain);
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, guest));
    ck_assert_int_eq(put_copy_at(n, "boss", member, 2000, 103, &clash), 1);
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, member));
    from(6)->guest = from(7)->guest = false;
    ck_assert_uint_eq(lose(n, 6) + lose(n, 7) + lose(n, 8), 3);
    wf_names_destroy(n);
}
END_TEST

START_TEST(a_global_name_is_lost_to_an_older_one_only)
{
    struct wf_names *n = names_new();
    struct wf_name *chain = NULL, *other = NULL;
    weft_pid found, loser, far = {2, 5};
    int gone = 0;
    wf_names_on_removal(n, count_gone, &gone);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("local"), pid(1), &chain), 0);
    ck_assert(!wf_names_global(chain, UINT32_MAX));
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), pid(1), 10, 0, &chain), 0);
    ck_assert_int_eq(wf_names_add(n, weft_cstr("last"), pid(1), &chain), 0);
    ck_assert(wf_names_global(chain, UINT32_MAX));
    ck_assert_int_eq(put_copy(n, "local", far, 1, &loser), 1); /* hidden */
    ck_assert(weft_pid_is_nobody(loser));
    ck_assert(find_any(n, "local", &found) == 0 && weft_pid_equal(found, pid(1)));
    ck_assert_int_eq(put_copy(n, "boss", far, 11, &loser), 1);
    ck_assert(weft_pid_is_nobody(loser));
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, pid(1)));
    ck_assert_int_eq(put_copy(n, "boss", far, 9, &loser), 0);
    ck_assert(weft_pid_equal(loser, pid(1)));
    ck_assert(find_any(n, "boss", &found) == 0 && weft_pid_equal(found, far));
    ck_assert_uint_eq(wf_names_count(n), 2);
    ck_assert_str_eq(wf_names_at(chain, 0), "local"); /* what is lost is passed over */
    ck_assert_str_eq(wf_names_at(chain, 1), "last");
    ck_assert_ptr_null(wf_names_at(chain, 2));
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), pid(3), 12, 0, &other), WEFT_EEXIST);
    ck_assert_int_eq(wf_names_remove(n, weft_cstr("boss"), &chain), WEFT_ENOACTOR);
    ck_assert(take_copy(n, "boss", 2));
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), pid(3), 13, 0, &other), 0);
    ck_assert_int_eq(put_copy(n, "boss", far, 1, &loser), 1);
    ck_assert_str_eq(wf_names_first(other), ""); /* its only one */
    wf_names_remove_all(n, &other);
    ck_assert_int_eq(gone, 0); /* the others know that it was lost */
    ck_assert(take_copy(n, "boss", 2));
    ck_assert_int_eq(wf_names_add_global(n, weft_cstr("boss"), pid(1), 14, 0, &chain), 0);
    wf_names_remove_all(n, &chain);
    ck_assert_int_eq(gone, 1);
    ck_assert_uint_eq(wf_names_count(n), 0);
    ck_assert_uint_eq(lose(n, 2), 1);
    wf_names_destroy(n);
}
END_TEST

static void name_at(char name[16], int i)
{
    snprintf(name, 16, "name.%d", i);
}

START_TEST(names_of_a_lost_node_are_removed_in_parts)
{
    enum { COUNT = 1000 };
    struct wf_names *n = names_new();
    weft_pid found, loser;
    char name[16];
    for (int i = 0; i < COUNT; i++) {
        name_at(name, i);
        ck_assert_int_eq(put_copy(n, name, (weft_pid){3, 1}, 10, &loser), 1);
        ck_assert_int_eq(put_copy(n, name, (weft_pid){4, 1}, 11, &loser), 1);
    }
    ck_assert_uint_eq(clear(n, 3, 10), 0); /* nothing is over */
    from(3)->round++;
    ck_assert_uint_eq(clear(n, 3, 600), 600);
    ck_assert(find_any(n, "name.599", &found) == 0 && found.node == 4);
    ck_assert(find_any(n, "name.600", &found) == 0 && found.node == 3); /* until its turn has come */
    ck_assert(!take_copy(n, "name.700", 3));                            /* it was over; now it is gone */
    ck_assert(find_any(n, "name.700", &found) == 0 && found.node == 4);
    ck_assert_int_eq(put_copy(n, "name.800", (weft_pid){3, 2}, 9, &loser), 1); /* it is set again, and stays */
    ck_assert_int_eq(put_copy(n, "name.800", (weft_pid){3, 2}, 9, &loser), 0);
    ck_assert_uint_eq(clear(n, 3, COUNT), COUNT - 600 - 2);
    ck_assert(find_any(n, "name.800", &found) == 0 && weft_pid_equal(found, (weft_pid){3, 2}));
    ck_assert_uint_eq(lose(n, 3), 1);
    ck_assert_uint_eq(lose(n, 4), COUNT);
    ck_assert_int_eq(find_any(n, "name.800", &found), WEFT_ENOACTOR);
    wf_names_destroy(n);
}
END_TEST

/* Threads race for the same names; each counts what it won and gives half of it back. */
struct racer {
    struct wf_names *names;
    struct wf_name *chain;
    uint64_t number;
    uint32_t won, kept, wrong;
};

enum { RACERS = 4, RACED = 2000 };

static void race(void *arg)
{
    struct racer *r = arg;
    for (uint32_t i = 0; i < RACED; i++) {
        char text[16];
        snprintf(text, sizeof text, "n%u", i);
        weft_pid found = pid(0);
        if (wf_names_add(r->names, weft_cstr(text), pid(r->number), &r->chain) == 0) {
            r->won++;
            if (wf_names_find(r->names, weft_cstr(text), &found) < 0 || found.actor != r->number) r->wrong++;
        }
    }
    while (r->kept < r->won / 2) {
        if (wf_names_remove(r->names, weft_cstr(wf_names_first(r->chain)), &r->chain) < 0) r->wrong++;
        r->kept++;
    }
    r->kept = r->won - r->kept;
}

START_TEST(one_of_the_threads_that_race_for_a_name_wins_it)
{
    struct racer racers[RACERS];
    pf_thread *threads[RACERS];
    struct wf_names *n = names_new();
    memset(racers, 0, sizeof racers);
    for (uint64_t i = 0; i < RACERS; i++) {
        racers[i].names = n;
        racers[i].number = i + 1;
        ck_assert_int_eq(pf_thread_start(&threads[i], "racer", race, &racers[i]), 0);
    }
    uint32_t won = 0, kept = 0;
    for (size_t i = 0; i < RACERS; i++) {
        pf_thread_join(threads[i]);
        ck_assert_uint_eq(racers[i].wrong, 0);
        won += racers[i].won;
        kept += racers[i].kept;
    }
    ck_assert_uint_ge(won, RACED); /* each name was taken at least once, more often if it was given back in between */
    ck_assert_uint_eq(wf_names_count(n), kept);
    for (size_t i = 0; i < RACERS; i++) wf_names_remove_all(n, &racers[i].chain);
    ck_assert_uint_eq(wf_names_count(n), 0);
    wf_names_destroy(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("names");
    TCase *t = tcase_create("names");
    tcase_add_test(t, names_have_allowed_characters_and_at_most_64_bytes);
    tcase_add_test(t, a_name_has_one_owner);
    tcase_add_test(t, the_older_of_two_copies_holds);
    tcase_add_test(t, a_global_name_is_lost_to_an_older_one_only);
    tcase_add_test(t, a_name_gives_way_to_one_that_is_only_heard_of);
    tcase_add_test(t, a_node_that_knew_a_name_cannot_have_had_it_first);
    tcase_add_test(t, the_doubted_one_of_two_copies_does_not_hold);
    tcase_add_test(t, a_guest_takes_no_name_of_others);
    tcase_add_test(t, names_of_a_lost_node_are_removed_in_parts);
    tcase_add_test(t, random_changes_against_a_table);
    tcase_add_test(t, a_table_is_read_in_parts_while_it_grows);
    tcase_add_test(t, one_of_the_threads_that_race_for_a_name_wins_it);
    suite_add_tcase(s, t);
    return run_suite(s);
}
