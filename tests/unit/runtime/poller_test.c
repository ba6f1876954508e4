/* tests/unit/runtime/poller_test.c -- the contract of pf_env's poller, on the machine's own. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform.h"
#include "../../suite.h"

static struct pf_env *env;
static struct pf_poller *poller;
static int ends[2];

static void set_up(void)
{
    env = pf_env_native();
    ck_assert_int_eq(env->poller_create(env, &poller), WEFT_OK);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
}

static void tear_down(void)
{
    env->poller_destroy(poller);
    env->poller_destroy(NULL);
    pf_close(ends[0]);
    pf_close(ends[1]);
}

/* One look without waiting: the entry for `tag`, all false if there is none. */
static struct pf_ready look(uint64_t tag)
{
    struct pf_ready all[16], mine = {.tag = tag};
    int n = env->poller_wait(poller, all, 16, WEFT_NOW);
    ck_assert_int_ge(n, 0);
    for (int i = 0; i < n; i++)
        if (all[i].tag == tag) mine = all[i];
    return mine;
}

static int64_t write_text(int fd, const char *text)
{
    struct pf_slice s = {.data = text, .size = strlen(text)};
    return pf_write(fd, &s, 1);
}

START_TEST(data_after_again_is_reported_once)
{
    char buffer[16];
    ck_assert_int_eq(env->poller_add(poller, ends[0], 77), WEFT_OK);
    (void)look(77); /* writable from the start */
    ck_assert_int_eq(pf_read(ends[0], buffer, sizeof buffer), PF_AGAIN);
    ck_assert(!look(77).readable);
    ck_assert_int_eq(write_text(ends[1], "abc"), 3);
    ck_assert(look(77).readable);
    ck_assert(!look(77).readable); /* an edge, not a level */
    ck_assert_int_eq(pf_read(ends[0], buffer, sizeof buffer), 3);
    ck_assert_int_eq(pf_read(ends[0], buffer, sizeof buffer), PF_AGAIN);
    ck_assert_int_eq(write_text(ends[1], "d"), 1);
    ck_assert(look(77).readable);
}
END_TEST

START_TEST(room_after_again_is_reported)
{
    static char block[65536];
    struct pf_slice s = {.data = block, .size = sizeof block};
    int64_t n;
    ck_assert_int_eq(env->poller_add(poller, ends[0], 5), WEFT_OK);
    ck_assert(look(5).writable);
    while ((n = pf_write(ends[0], &s, 1)) > 0) {}
    ck_assert_int_eq(n, PF_AGAIN);
    ck_assert(!look(5).writable);
    ck_assert_int_eq(pf_is_ready(ends[0], true), 0);
    while (pf_read(ends[1], block, sizeof block) > 0) {}
    ck_assert(look(5).writable);
    ck_assert_int_eq(pf_is_ready(ends[0], true), 1);
}
END_TEST

START_TEST(the_end_of_the_other_side_is_reported)
{
    char byte;
    ck_assert_int_eq(env->poller_add(poller, ends[0], 6), WEFT_OK);
    ck_assert(!look(6).hangup);
    ck_assert_int_eq(pf_shutdown(ends[1]), WEFT_OK);
    struct pf_ready r = look(6);
    ck_assert(r.readable && r.hangup);
    ck_assert_int_eq(pf_read(ends[0], &byte, 1), 0);
}
END_TEST

START_TEST(a_broken_handle_is_ready_for_everything)
{
    char byte;
    ck_assert_int_eq(env->poller_add(poller, ends[0], 6), WEFT_OK);
    pf_close(ends[1]);
    ends[1] = -1;
    struct pf_ready r = look(6);
    ck_assert(r.readable && r.writable && r.hangup);
    ck_assert_int_eq(pf_read(ends[0], &byte, 1), 0);
    ck_assert_int_eq(write_text(ends[0], "x"), WEFT_ERESET); /* and no SIGPIPE */
}
END_TEST

START_TEST(registration_says_what_is_wrong)
{
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char name[] = "/tmp/weft-poller-XXXXXX";
    int regular = mkstemp(name);
    ck_assert_int_ge(regular, 0);
    unlink(name);
    ck_assert_int_eq(env->poller_add(poller, regular, 1), WEFT_EINVAL);
    ck_assert_int_eq(env->poller_add(poller, ends[0], UINT64_MAX), WEFT_EINVAL);
    ck_assert_int_eq(env->poller_add(poller, ends[0], 1), WEFT_OK);
    ck_assert_int_eq(env->poller_add(poller, ends[0], 2), WEFT_EEXIST);
    close(file);
    close(regular);
    ck_assert_int_eq(env->poller_add(poller, regular, 1), WEFT_ECLOSED);
    ck_assert_int_eq(pf_is_ready(regular, false), WEFT_ECLOSED);
    ck_assert_int_eq(pf_is_ready(PF_NO_HANDLE, false), WEFT_ECLOSED);
}
END_TEST

START_TEST(what_is_removed_is_not_reported)
{
    ck_assert_int_eq(env->poller_add(poller, ends[0], 9), WEFT_OK);
    env->poller_remove(poller, ends[0]);
    ck_assert_int_eq(write_text(ends[1], "x"), 1);
    struct pf_ready r = look(9);
    ck_assert(!r.readable && !r.writable);
    ck_assert_int_eq(env->poller_add(poller, ends[0], 10), WEFT_OK); /* what is ready already is reported */
    ck_assert(look(10).readable);
}
END_TEST

START_TEST(a_wake_before_the_wait_ends_it)
{
    struct pf_ready r[4];
    env->poller_wake(poller);
    env->poller_wake(poller);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
    /* Both became one: this would otherwise come back before its deadline. */
    int64_t deadline = env->now(env) + WEFT_MS(2);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
    ck_assert_int_ge(env->now(env), deadline);
}
END_TEST

START_TEST(a_wake_does_not_hide_what_is_ready)
{
    struct pf_ready r[4];
    ck_assert_int_eq(env->poller_add(poller, ends[0], 3), WEFT_OK);
    env->poller_wake(poller);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 1);
    ck_assert_uint_eq(r[0].tag, 3);
}
END_TEST

static _Atomic int turns;

static void wake_often(void *arg)
{
    int wakes = *(int *)arg;
    for (int i = 1; i <= wakes; i++) {
        env->poller_wake(poller);
        while (atomic_load(&turns) < i) sched_yield(); /* each wake must be felt before the next one */
    }
}

START_TEST(wakes_of_another_thread_are_never_lost)
{
    struct pf_ready r[4];
    pf_thread *other;
    int wakes = 3000;
    ck_assert_int_eq(pf_thread_start(&other, "waker", wake_often, &wakes), WEFT_OK);
    for (int i = 0; i < wakes; i++) {
        ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
        atomic_fetch_add(&turns, 1);
    }
    pf_thread_join(other);
}
END_TEST

START_TEST(deadlines_are_never_early)
{
    struct pf_ready r[4];
    static const int64_t SPANS[] = {1, 999, WEFT_US(100), WEFT_US(1500), WEFT_MS(3)};
    for (size_t i = 0; i < WF_COUNT(SPANS); i++) {
        int64_t deadline = env->now(env) + SPANS[i];
        ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
        ck_assert_int_ge(env->now(env), deadline);
    }
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_NOW), 0);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, 1), 0); /* long past */
}
END_TEST

START_TEST(more_handles_than_fit_come_in_parts)
{
    enum { PAIRS = 40 };
    int pairs[PAIRS][2], seen = 0;
    struct pf_ready r[7];
    for (int i = 0; i < PAIRS; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]), 0);
        ck_assert_int_eq(env->poller_add(poller, pairs[i][0], (uint64_t)i), WEFT_OK);
    }
    uint64_t tags = 0;
    for (int n; (n = env->poller_wait(poller, r, 7, WEFT_NOW)) > 0; seen += n) {
        ck_assert_int_le(n, 7);
        for (int k = 0; k < n; k++) tags |= (uint64_t)1 << r[k].tag;
    }
    ck_assert_int_eq(seen, PAIRS);
    ck_assert_uint_eq(tags, ((uint64_t)1 << PAIRS) - 1);
    for (int i = 0; i < PAIRS; i++) close(pairs[i][0]), close(pairs[i][1]);
}
END_TEST

START_TEST(the_handle_is_readable_while_wait_would_not_block)
{
    pf_handle h = env->poller_handle(poller);
    ck_assert_int_eq(pf_is_ready(h, false), 0);
    env->poller_wake(poller);
    ck_assert_int_eq(pf_is_ready(h, false), 1);
    (void)look(0);
    ck_assert_int_eq(pf_is_ready(h, false), 0);
}
END_TEST

static bool handle_becomes_readable(int timeout_ms)
{
    struct pollfd p = {.fd = (int)env->poller_handle(poller), .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

START_TEST(the_alarm_makes_the_handle_readable)
{
    struct pf_ready r[4];
    ck_assert_int_eq(env->poller_alarm(poller, WEFT_FOREVER), WEFT_OK);
    int64_t at = env->now(env) + WEFT_MS(2);
    ck_assert_int_eq(env->poller_alarm(poller, at), WEFT_OK);
    ck_assert_int_eq(env->poller_alarm(poller, at), WEFT_OK);
    ck_assert(handle_becomes_readable(-1));
    ck_assert_int_ge(env->now(env), at);
    ck_assert(handle_becomes_readable(0)); /* until a wait */
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
    ck_assert(!handle_becomes_readable(0));
    ck_assert_int_eq(env->poller_alarm(poller, WEFT_NOW), WEFT_OK);
    ck_assert(handle_becomes_readable(-1));
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
    ck_assert_int_eq(env->poller_alarm(poller, at), WEFT_OK); /* long past, and the same as once before */
    ck_assert(handle_becomes_readable(-1));
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
    /* The later call counts. */
    ck_assert_int_eq(env->poller_alarm(poller, env->now(env) + WEFT_MS(1)), WEFT_OK);
    ck_assert_int_eq(env->poller_alarm(poller, WEFT_FOREVER), WEFT_OK);
    ck_assert(!handle_becomes_readable(5));
}
END_TEST

START_TEST(an_alarm_does_not_hide_what_is_ready)
{
    struct pf_ready r[4];
    ck_assert_int_eq(env->poller_add(poller, ends[0], 3), WEFT_OK);
    ck_assert_int_eq(env->poller_alarm(poller, WEFT_NOW), WEFT_OK);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 1);
    ck_assert_uint_eq(r[0].tag, 3);
}
END_TEST

START_TEST(clock_and_randomness)
{
    int64_t before = env->now(env);
    ck_assert_int_gt(before, 0);
    ck_assert_int_ge(env->now(env), before);
    unsigned char a[600], b[600];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    env->random(env, a, sizeof a);
    env->random(env, b, sizeof b);
    ck_assert_mem_ne(a, b, sizeof a);
    ck_assert_mem_ne(a + 500, b + 500, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("poller");
    TCase *c = tcase_create("poller");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, data_after_again_is_reported_once);
    tcase_add_test(c, room_after_again_is_reported);
    tcase_add_test(c, the_end_of_the_other_side_is_reported);
    tcase_add_test(c, a_broken_handle_is_ready_for_everything);
    tcase_add_test(c, registration_says_what_is_wrong);
    tcase_add_test(c, what_is_removed_is_not_reported);
    tcase_add_test(c, a_wake_before_the_wait_ends_it);
    tcase_add_test(c, a_wake_does_not_hide_what_is_ready);
    tcase_add_test(c, wakes_of_another_thread_are_never_lost);
    tcase_add_test(c, deadlines_are_never_early);
    tcase_add_test(c, more_handles_than_fit_come_in_parts);
    tcase_add_test(c, the_handle_is_readable_while_wait_would_not_block);
    tcase_add_test(c, the_alarm_makes_the_handle_readable);
    tcase_add_test(c, an_alarm_does_not_hide_what_is_ready);
    tcase_add_test(c, clock_and_randomness);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
