/* tests/platform/poller_test.c -- readiness: reporting too much is allowed, too little never. */
#include "conformance.h"

/* ---- Data and space --------------------------------------------------------------------------------------------- */

START_TEST(a_handle_that_is_ready_already_is_reported)
{
    struct end pair[2];
    make_pair(0, pair);
    env->poller_remove(poller, pair[0].handle);
    write_text(&pair[1], "x");
    add(pair[0].handle, 7);
    await_ready(pair[0].handle, 7, true);
    await_ready(pair[0].handle, 7, false);
    ck_assert(!seen[7].hangup);
    close_pair(pair);
}
END_TEST

START_TEST(data_after_again_is_reported_every_time)
{
    struct end pair[2];
    char byte;
    make_pair(0, pair);
    for (int i = 0; i < 200; i++) {
        const struct end *from = &pair[i % 2], *to = &pair[1 - i % 2];
        ck_assert_int_eq(pf_read(to->handle, &byte, 1), PF_AGAIN);
        forget(to->tag);
        ck_assert_int_eq(env->poller_arm(poller, to->handle, to->tag, false), WEFT_OK);
        (void)look();
        ck_assert_msg(!seen[to->tag].hangup, "round %d", i);
        write_text(from, "x");
        await_ready(to->handle, to->tag, false);
        ck_assert_int_eq(read_some(to, &byte, 1), 1);
    }
    close_pair(pair);
}
END_TEST

START_TEST(data_after_a_short_read_is_reported)
{
    struct end pair[2];
    char buffer[16];
    make_pair(0, pair);
    for (int i = 0; i < 50; i++) {
        write_text(&pair[1], "abc");
        read_exactly(&pair[0], buffer, 2);
        forget(0);
        ck_assert_int_eq(pf_read(pair[0].handle, buffer, sizeof buffer), 1); /* less: it is empty */
        write_text(&pair[1], "d");
        await_ready(pair[0].handle, 0, false);
        ck_assert_int_eq(read_some(&pair[0], buffer, sizeof buffer), 1);
    }
    close_pair(pair);
}
END_TEST

static char block[65536];

/* Until there is no space; how much it was. */
static size_t fill(const struct end *e)
{
    struct pf_slice s = {block, sizeof block};
    size_t sum = 0;
    int64_t n;
    forget(e->tag);
    while ((n = pf_write(e->handle, &s, 1)) > 0) {
        sum += (size_t)n;
        forget(e->tag);
    }
    ck_assert_int_eq(n, PF_AGAIN);
    return sum;
}

START_TEST(space_after_again_is_reported)
{
    struct end pair[2];
    make_pair(0, pair);
    for (int round = 0; round < 3; round++) {
        size_t sum = fill(&pair[0]);
        ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, true), WEFT_OK);
        for (size_t done = 0; done < sum;) {
            int64_t n = read_some(&pair[1], block, WF_MIN(sizeof block, sum - done));
            ck_assert_int_gt(n, 0);
            done += (size_t)n;
        }
        await_ready(pair[0].handle, 0, true);
        ck_assert_int_eq(write_some(&pair[0], "x", 1), 1);
        ck_assert_int_eq(read_some(&pair[1], block, 1), 1);
    }
    close_pair(pair);
}
END_TEST

/* One thread that pours more than fits through a connection, both ways at once. */
START_TEST(a_stream_that_is_always_full_comes_through)
{
    enum { TOTAL = 4 << 20 };
    struct end pair[2];
    size_t sent[2] = {0, 0}, got[2] = {0, 0};
    make_pair(0, pair);
    while (got[0] < TOTAL || got[1] < TOTAL) {
        bool moved = false;
        forget(0);
        forget(1);
        for (int i = 0; i < 2; i++) {
            struct pf_slice s = {block, WF_MIN(sizeof block, TOTAL - sent[i])};
            int64_t n = s.size > 0 ? pf_write(pair[i].handle, &s, 1) : PF_AGAIN;
            if (n > 0) sent[i] += (size_t)n;
            int64_t m = pf_read(pair[i].handle, block, sizeof block / 3);
            if (m > 0) got[i] += (size_t)m;
            ck_assert((n > 0 || n == PF_AGAIN) && (m > 0 || m == PF_AGAIN));
            moved |= n > 0 || m > 0;
        }
        if (moved) continue;
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(env->poller_arm(poller, pair[i].handle, (uint64_t)i, false), WEFT_OK);
            ck_assert_int_eq(env->poller_arm(poller, pair[i].handle, (uint64_t)i, true), WEFT_OK);
        }
        ck_assert_int_gt(wait_for_some(PATIENCE, 64), 0);
    }
    ck_assert_uint_eq(sent[0] + sent[1], got[0] + got[1]);
    close_pair(pair);
}
END_TEST

START_TEST(a_handle_that_is_not_read_is_not_reported_for_ever)
{
    struct end pair[2];
    make_pair(0, pair);
    write_text(&pair[1], "x");
    await_ready(pair[0].handle, 0, false);
    int times = 0;
    while (look() > 0) ck_assert_int_lt(++times, 16);
    close_pair(pair);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

START_TEST(half_close_ends_one_direction)
{
    struct end pair[2];
    char byte;
    make_pair(0, pair);
    ck_assert_int_eq(pf_read(pair[0].handle, &byte, 1), PF_AGAIN);
    forget(0);
    ck_assert_int_eq(pf_shutdown(pair[1].handle), WEFT_OK);
    await_ready(pair[0].handle, 0, false);
    ck_assert_int_eq(read_some(&pair[0], &byte, 1), 0);
    ck_assert_int_eq(read_some(&pair[0], &byte, 1), 0); /* and again */
    write_text(&pair[0], "y");
    read_exactly(&pair[1], &byte, 1);
    ck_assert_int_eq(byte, 'y');
    close_pair(pair);
}
END_TEST

START_TEST(data_before_the_end_is_not_lost)
{
    for (int round = 0; round < 8; round++) {
        struct end pair[2];
        char buffer[8];
        make_pair(0, pair);
        write_text(&pair[1], "last");
        if (round % 2 == 0) take_out(&pair[1]);
        await_ready(pair[0].handle, 0, false);
        bool told = seen[0].hangup;
        forget(0);
        ck_assert_int_eq(pf_read(pair[0].handle, buffer, sizeof buffer), 4); /* less than asked for */
        ck_assert_mem_eq(buffer, "last", 4);
        if (round % 2 != 0) take_out(&pair[1]);
        if (!told) await_ready(pair[0].handle, 0, false);
        ck_assert_int_eq(read_some(&pair[0], buffer, sizeof buffer), 0);
        take_out(&pair[0]);
    }
}
END_TEST

START_TEST(a_reset_makes_both_directions_ready)
{
    struct end pair[2];
    make_pair(0, pair);
    write_text(&pair[0], "never read");
    await_ready(pair[1].handle, 1, false);
    (void)fill(&pair[0]);
    ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, false), WEFT_OK);
    take_out(&pair[1]); /* with unread data: resets the connection */
    await_ready(pair[0].handle, 0, true);
    await_hint(&seen[0].readable);
    int64_t n = read_some(&pair[0], block, 1);
    ck_assert(n == WEFT_ERESET || n == 0);
    ck_assert_int_eq(write_some(&pair[0], "x", 1), WEFT_ERESET); /* and no signal */
    take_out(&pair[0]);
}
END_TEST

START_TEST(an_abort_makes_both_ends_ready)
{
    struct end pair[2];
    make_pair(0, pair);
    ck_assert_int_eq(pf_read(pair[0].handle, block, 1), PF_AGAIN);
    forget(0);
    forget(1);
    ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, false), WEFT_OK);
    ck_assert_int_eq(env->poller_arm(poller, pair[1].handle, 1, false), WEFT_OK);
    pf_abort(pair[0].handle);
    await_hint(&seen[0].readable);
    await_hint(&seen[1].readable);
    ck_assert_int_le(read_some(&pair[0], block, 1), 0);
    ck_assert_int_lt(write_some(&pair[0], "x", 1), 0);
    ck_assert_int_le(read_some(&pair[1], block, 1), 0);
    close_pair(pair);
}
END_TEST

/* ---- Registration ---------------------------------------------------------------------------------------------- */

START_TEST(registration_says_what_is_wrong)
{
    struct end pair[2];
    make_pair(0, pair);
    ck_assert_int_eq(env->poller_add(poller, pair[0].handle, 5), WEFT_EEXIST);
    env->poller_remove(poller, pair[0].handle);
    env->poller_remove(poller, pair[0].handle); /* twice is fine */
    ck_assert_int_eq(env->poller_add(poller, pair[0].handle, UINT64_MAX), WEFT_EINVAL);
    pf_close(pair[0].handle);
    ck_assert_int_eq(env->poller_add(poller, pair[0].handle, 5), WEFT_ECLOSED);
    ck_assert_int_eq(env->poller_add(poller, PF_NO_HANDLE, 5), WEFT_ECLOSED);
    ck_assert_int_eq(pf_is_ready(pair[0].handle, false), WEFT_ECLOSED);
    ck_assert_int_eq(pf_is_ready(PF_NO_HANDLE, false), WEFT_ECLOSED);
    take_out(&pair[1]);
}
END_TEST

START_TEST(a_removed_handle_is_not_reported)
{
    struct end pair[2];
    make_pair(0, pair);
    env->poller_remove(poller, pair[0].handle);
    while (look() > 0) {}
    forget(0);
    write_text(&pair[1], "x");
    while (look() > 0) {}
    ck_assert(!seen[0].readable && !seen[0].writable);
    add(pair[0].handle, 10);
    await_ready(pair[0].handle, 10, false);
    ck_assert(!seen[0].readable && !seen[0].writable);
    close_pair(pair);
}
END_TEST

/* A handle's number comes back soon: what is registered under it is the new one. */
START_TEST(a_number_used_again_has_the_new_tag)
{
    char byte;
    for (int i = 0; i < 20; i++) {
        struct end pair[2];
        uint64_t tag = (uint64_t)i * 2;
        make_pair(tag, pair);
        write_text(&pair[1], "x");
        if (i % 2 == 0) await_ready(pair[0].handle, tag, false);
        read_exactly(&pair[0], &byte, 1);
        close_pair(pair);
        while (look() > 0) {}
        memset(seen, 0, sizeof seen);
    }
    struct end pair[2];
    make_pair(100, pair);
    write_text(&pair[1], "x");
    await_ready(pair[0].handle, 100, false);
    for (uint64_t tag = 0; tag < 40; tag++) ck_assert(!seen[tag].readable && !seen[tag].writable);
    close_pair(pair);
}
END_TEST

START_TEST(a_handle_moves_to_another_poller)
{
    struct end pair[2];
    struct pf_poller *first = poller, *second;
    char byte;
    make_pair(0, pair);
    ck_assert_int_eq(env->poller_create(env, &second), WEFT_OK);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(pf_read(pair[0].handle, &byte, 1), PF_AGAIN);
        ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, false), WEFT_OK);
        env->poller_remove(poller, pair[0].handle);
        poller = first;
        if (i % 3 == 0) write_text(&pair[1], "x"); /* while it is in neither */
        poller = i % 2 == 0 ? second : first;
        add(pair[0].handle, 0);
        if (i % 3 != 0) {
            struct pf_slice s = {"x", 1};
            ck_assert_int_eq(pf_write(pair[1].handle, &s, 1), 1);
        }
        await_ready(pair[0].handle, 0, false);
        ck_assert_int_eq(read_some(&pair[0], &byte, 1), 1);
    }
    env->poller_remove(poller, pair[0].handle);
    pf_close(pair[0].handle);
    poller = first;
    env->poller_destroy(second);
    take_out(&pair[1]);
}
END_TEST

START_TEST(destroying_leaves_the_handles_alone)
{
    struct end pair[2];
    char byte;
    make_pair(0, pair);
    ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, false), WEFT_OK);
    (void)look();
    env->poller_destroy(poller);
    ck_assert_int_eq(env->poller_create(env, &poller), WEFT_OK);
    add(pair[0].handle, 0);
    add(pair[1].handle, 1);
    write_text(&pair[1], "x");
    read_exactly(&pair[0], &byte, 1);
    close_pair(pair);
}
END_TEST

/* ---- Many ------------------------------------------------------------------------------------------------------ */

enum { MANY = 250 };
static struct end many[MANY][2];

static void make_many(void)
{
    struct pf_address bound;
    pf_raise_handle_limit();
    pf_handle listener = listen_here("127.0.0.1:0", &bound);
    for (int i = 0; i < MANY; i++) make_pair_at(listener, &bound, (uint64_t)i * 2, many[i]);
    pf_listen_close(listener, &bound);
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(env->poller_arm(poller, many[i][k].handle, many[i][k].tag, false), WEFT_OK);
    while (look() > 0) {}
    memset(seen, 0, sizeof seen);
}

/* All are ready at once, and waits take seven at a time: each is reported. */
START_TEST(every_one_of_many_ready_handles_is_reported)
{
    char byte;
    make_many();
    for (int i = 0; i < MANY; i++) {
        struct pf_slice s = {"x", 1};
        for (int k = 0; k < 2; k++) ck_assert_int_eq(pf_write(many[i][k].handle, &s, 1), 1);
    }
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < 2; k++) {
            int64_t deadline = env->now(env) + PATIENCE;
            while (!seen[many[i][k].tag].readable) {
                ck_assert_msg(env->now(env) < deadline, "handle %d was left out", i);
                (void)wait_for_some(PATIENCE, 7);
            }
        }
    }
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 2; k++) read_exactly(&many[i][k], &byte, 1);
    for (int i = 0; i < MANY; i++) close_pair(many[i]);
}
END_TEST

/* A token goes round through all connections: only one of many is ready at a time. */
START_TEST(the_ready_one_of_many_handles_is_found)
{
    char byte;
    make_many();
    for (int i = 0; i < MANY; i++) {
        write_text(&many[i][0], "x");
        read_exactly(&many[i][1], &byte, 1);
        for (int k = 0; k < TAGS; k++)
            if (seen[k].hangup) ck_abort_msg("handle %d hung up", k);
    }
    for (int i = 0; i < MANY; i++) close_pair(many[i]);
}
END_TEST

/* ---- Other threads --------------------------------------------------------------------------------------------- */

static void add_it(void *arg)
{
    struct end *e = arg;
    WF_ASSERT(env->poller_add(poller, e->handle, e->tag) == WEFT_OK);
    env->poller_wake(poller);
}

/* add is any thread's; what it adds is reported to a wait that is under way. */
START_TEST(a_handle_added_during_a_wait_is_reported)
{
    struct end pair[2];
    make_pair(0, pair);
    env->poller_remove(poller, pair[0].handle);
    while (look() > 0) {}
    write_text(&pair[1], "x");
    pf_thread *other;
    forget(0);
    ck_assert_int_eq(pf_thread_start(&other, "adder", add_it, &pair[0]), WEFT_OK);
    struct pf_ready r[4];
    int n = env->poller_wait(poller, r, 4, WEFT_FOREVER);
    for (int i = 0; i < n; i++) seen[0].readable |= r[i].readable && r[i].tag == 0;
    pf_thread_join(other);
    await_ready(pair[0].handle, 0, false);
    close_pair(pair);
}
END_TEST

static struct end churned[2];

static void churn(void *arg)
{
    (void)arg;
    for (int i = 0; i < 500; i++) {
        env->poller_remove(poller, churned[0].handle);
        WF_ASSERT(env->poller_add(poller, churned[0].handle, churned[0].tag) == WEFT_OK);
    }
    env->poller_wake(poller);
}

/* Registration goes on and off in one thread while another waits: what is there in the end is reported. */
START_TEST(registration_changes_during_waits)
{
    make_pair(0, churned);
    while (look() > 0) {}
    pf_thread *other;
    ck_assert_int_eq(pf_thread_start(&other, "churn", churn, NULL), WEFT_OK);
    for (int i = 0; i < 500; i++) (void)look();
    pf_thread_join(other);
    forget(0);
    write_text(&churned[1], "x");
    await_ready(churned[0].handle, 0, false);
    close_pair(churned);
}
END_TEST

int main(void)
{
    const TTest *const streams[] = {
        a_handle_that_is_ready_already_is_reported,
        data_after_again_is_reported_every_time,
        data_after_a_short_read_is_reported,
        space_after_again_is_reported,
        a_stream_that_is_always_full_comes_through,
        a_handle_that_is_not_read_is_not_reported_for_ever,
        half_close_ends_one_direction,
        data_before_the_end_is_not_lost,
        a_reset_makes_both_directions_ready,
        an_abort_makes_both_ends_ready,
    };
    const TTest *const registration[] = {
        registration_says_what_is_wrong,        a_removed_handle_is_not_reported,
        a_number_used_again_has_the_new_tag,    a_handle_moves_to_another_poller,
        destroying_leaves_the_handles_alone,    every_one_of_many_ready_handles_is_reported,
        the_ready_one_of_many_handles_is_found, a_handle_added_during_a_wait_is_reported,
        registration_changes_during_waits,
    };
    Suite *suite = suite_create("conformance: poller");
    add_cases(suite, streams, WF_COUNT(streams));
    add_cases(suite, registration, WF_COUNT(registration));
    return run_suite(suite);
}
