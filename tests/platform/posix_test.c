/* tests/platform/posix_test.c -- the poller with objects that only Unix systems have: Unix sockets, pipes, files and
 * signal handlers. */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pthread.h>

static void make_unix_pair(struct end *pair)
{
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
        pair[i] = (struct end){fds[i], (uint64_t)i};
        add(fds[i], (uint64_t)i);
    }
}

START_TEST(unix_sockets_tell_data_space_and_end)
{
    static char block[65536];
    struct end pair[2];
    make_unix_pair(pair);
    struct pf_slice s = {block, sizeof block};
    for (int round = 0; round < 20; round++) {
        write_text(&pair[1], "abc");
        read_exactly(&pair[0], block, 3);
    }
    forget(0);
    while (pf_write(pair[0].handle, &s, 1) > 0) forget(0);
    ck_assert_int_eq(pf_is_ready(pair[0].handle, true), 0);
    ck_assert_int_eq(env->poller_arm(poller, pair[0].handle, 0, true), WEFT_OK);
    while (pf_read(pair[1].handle, block, sizeof block) > 0) {}
    await_ready(pair[0].handle, 0, true);
    forget(0);
    ck_assert_int_eq(pf_shutdown(pair[1].handle), WEFT_OK);
    await_hint(&seen[0].readable);
    ck_assert(seen[0].hangup);
    ck_assert_int_eq(pf_read(pair[0].handle, block, 1), 0);
    close_pair(pair);
}
END_TEST

START_TEST(a_broken_unix_socket_is_ready_for_everything)
{
    struct end pair[2];
    char byte;
    make_unix_pair(pair);
    while (look() > 0) {}
    forget(0);
    take_out(&pair[1]);
    await_ready(pair[0].handle, 0, true);
    await_hint(&seen[0].readable);
    ck_assert(seen[0].hangup);
    ck_assert_int_eq(pf_read(pair[0].handle, &byte, 1), 0);
    ck_assert_int_eq(write_some(&pair[0], "x", 1), WEFT_ERESET); /* and no SIGPIPE */
    take_out(&pair[0]);
}
END_TEST

static bool is_blocked(int number)
{
    sigset_t mask;
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, number) == 1;
}

/* A write to a socket needs no system call for it. */
START_TEST(signals_are_blocked_from_the_first_write_on_that_may_raise_one)
{
    struct end pair[2];
    struct pf_held_off outer, inner;
    int fds[2];
    make_unix_pair(pair);
    ck_assert_int_eq(pipe(fds), 0);
    pf_signals_before_write(); /* on a thread that is held off from nothing */
    ck_assert(!is_blocked(SIGPIPE));
    pf_signals_hold_off(&outer);
    write_text(&pair[0], "abc");
    ck_assert(!is_blocked(SIGPIPE) && !is_blocked(SIGXFSZ));
    pf_signals_hold_off(&inner);
    ck_assert_int_eq(pf_write(fds[1], &(struct pf_slice){"x", 1}, 1), 1);
    ck_assert(is_blocked(SIGPIPE) && is_blocked(SIGXFSZ));
    pf_signals_let_go(&inner);
    ck_assert(!is_blocked(SIGPIPE) && !is_blocked(SIGXFSZ));
    close(fds[0]);
    ck_assert_int_eq(pf_write(fds[1], &(struct pf_slice){"x", 1}, 1), WEFT_ERESET);
    ck_assert(is_blocked(SIGPIPE));
    pf_signals_let_go(&outer);
    ck_assert(!is_blocked(SIGPIPE));
    close(fds[1]);
    take_out(&pair[0]);
    take_out(&pair[1]);
}
END_TEST

START_TEST(pipes_tell_data_space_and_end)
{
    static char block[65536];
    struct pf_slice s = {block, sizeof block};
    for (int round = 0; round < 2; round++) {
        int fds[2];
        ck_assert_int_eq(pipe(fds), 0);
        struct end from = {fds[0], 0}, to = {fds[1], 1};
        for (int i = 0; i < 2; i++) ck_assert_int_eq(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
        add(fds[0], 0);
        add(fds[1], 1);
        ck_assert_int_eq(pf_read(fds[0], block, 1), PF_AGAIN);
        write_text(&to, "abc");
        await_ready(fds[0], 0, false);
        read_exactly(&from, block, 3);
        forget(1);
        while (pf_write(fds[1], &s, 1) > 0) forget(1);
        while (pf_read(fds[0], block, sizeof block) > 0) {}
        await_ready(fds[1], 1, true);
        if (round == 0) { /* the writer goes */
            ck_assert_int_eq(pf_read(fds[0], block, 1), PF_AGAIN);
            forget(0);
            take_out(&to);
            await_ready(fds[0], 0, false);
            ck_assert_int_eq(read_some(&from, block, 1), 0);
            take_out(&from);
        } else {                      /* the reader goes */
            signal(SIGPIPE, SIG_IGN); /* as in the runtime's threads, which block it */
            take_out(&from);
            await_ready(fds[1], 1, true);
            ck_assert_int_eq(write_some(&to, "x", 1), WEFT_ERESET);
            take_out(&to);
        }
    }
}
END_TEST

START_TEST(files_are_always_ready)
{
    char name[] = "/tmp/weft-poller-XXXXXX";
    int regular = mkstemp(name);
    ck_assert_int_ge(regular, 0);
    unlink(name);
    ck_assert_int_eq(env->poller_add(poller, regular, 1), WEFT_EINVAL);
    close(regular);
    ck_assert_int_eq(env->poller_add(poller, regular, 1), WEFT_ECLOSED);
}
END_TEST

/* ---- The handle for other loops -------------------------------------------------------------------------------- */

static bool handle_becomes_readable(int timeout_ms)
{
    struct pollfd p = {.fd = (int)env->poller_handle(poller), .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

static bool has_alarm(void)
{
    return env->poller_handle(poller) != PF_NO_HANDLE && env->poller_alarm(poller, WEFT_FOREVER) != WEFT_ENOTSUP;
}

START_TEST(the_alarm_makes_the_handle_readable)
{
    struct pf_ready r[4];
    if (!has_alarm()) return;
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

/* Also where no other loop could wait for the handle. */
START_TEST(the_alarm_ends_a_wait)
{
    struct pf_ready r[4];
    if (env->poller_alarm(poller, WEFT_FOREVER) == WEFT_ENOTSUP) return;
    static const int64_t SPANS[] = {0, WEFT_MS(2), WEFT_US(700)};
    for (size_t i = 0; i < WF_COUNT(SPANS); i++) {
        int64_t at = env->now(env) + SPANS[i];
        ck_assert_int_eq(env->poller_alarm(poller, at + WEFT_SEC(1000)), WEFT_OK);
        ck_assert_int_eq(env->poller_alarm(poller, at), WEFT_OK);
        ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
        ck_assert_int_ge(env->now(env), at);
        int64_t deadline = env->now(env) + WEFT_MS(2);
        ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0); /* once */
        ck_assert_int_ge(env->now(env), deadline);
    }
}
END_TEST

START_TEST(an_alarm_does_not_hide_what_is_ready)
{
    struct end pair[2];
    if (env->poller_alarm(poller, WEFT_FOREVER) == WEFT_ENOTSUP) return;
    make_unix_pair(pair);
    ck_assert_int_eq(env->poller_alarm(poller, WEFT_NOW), WEFT_OK);
    await_hint(&seen[0].writable);
    close_pair(pair);
}
END_TEST

/* ---- Signals --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t signals_taken;

static void wake_in_handler(int number)
{
    (void)number;
    signals_taken++;
    env->poller_wake(poller);
}

/* The handler runs where the thread happens to be: in a wait, or in the middle of one beginning or ending. */
START_TEST(a_signal_handler_may_wake)
{
    struct sigaction action = {.sa_handler = wake_in_handler, .sa_flags = SA_RESTART};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    for (int i = 0; i < 200; i++) {
        signals_taken = 0;
        ck_assert_int_eq(raise(SIGUSR1), 0);
        ck_assert_int_eq(signals_taken, 1);
        struct pf_ready r[4];
        ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
    }
}
END_TEST

enum { SHOTS = 300 };
static pthread_t target;
static _Atomic int felt;

static void shoot(void *arg)
{
    (void)arg;
    for (int i = 0; i < SHOTS; i++) {
        WF_ASSERT(pthread_kill(target, SIGUSR1) == 0);
        while (atomic_load(&felt) <= i) pf_cpu_relax();
    }
}

START_TEST(a_signal_that_hits_a_wait_is_never_slept_over)
{
    struct sigaction action = {.sa_handler = wake_in_handler, .sa_flags = SA_RESTART};
    pf_thread *other;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    signals_taken = 0;
    atomic_store(&felt, 0);
    target = pthread_self();
    ck_assert_int_eq(pf_thread_start(&other, "shooter", shoot, NULL), WEFT_OK);
    while (atomic_load(&felt) < SHOTS) {
        struct pf_ready r[4];
        if (signals_taken == atomic_load(&felt)) ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
        atomic_store(&felt, (int)signals_taken);
    }
    pf_thread_join(other);
}
END_TEST

#ifdef __linux__
static pf_handle listen_at(const char *text, struct pf_address *at)
{
    pf_handle h;
    ck_assert_int_eq(pf_address_parse(text, at), WEFT_OK);
    ck_assert_int_eq(pf_listen(&h, at, 8, false), WEFT_OK);
    ck_assert_int_eq(pf_local_address(h, at), WEFT_OK);
    return h;
}

static pf_handle take_one(pf_handle listener)
{
    pf_handle h;
    int rc;
    while ((rc = pf_accept(listener, &h)) == PF_AGAIN) (void)sched_yield();
    ck_assert_int_eq(rc, WEFT_OK);
    return h;
}

static bool same_socket(pf_handle a, pf_handle b)
{
    struct stat s[2];
    ck_assert(fstat((int)a, &s[0]) == 0 && fstat((int)b, &s[1]) == 0);
    return s[0].st_ino == s[1].st_ino;
}

static void find_tcp(const char *place)
{
    struct pf_address at, from, other;
    pf_handle client, listener, found;
    ck_assert_int_eq(pf_address_parse(place, &at), WEFT_OK);
    if (pf_listen(&listener, &at, 8, false) < 0) return; /* no IPv6 here */
    pf_close(listener);
    listener = listen_at(place, &at);
    int rc = pf_connect(&client, &at);
    ck_assert(rc == WEFT_OK || rc == PF_AGAIN);
    pf_handle server = take_one(listener);
    ck_assert_int_eq(pf_local_address(client, &from), WEFT_OK);
    ck_assert_int_eq(pf_find_stream(&from, &at, &found), WEFT_OK);
    ck_assert(same_socket(found, client) && found != client);
    ck_assert_int_eq(fcntl((int)found, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    pf_close(found);
    ck_assert_int_eq(pf_find_stream(&at, &from, &found), WEFT_OK);
    ck_assert(same_socket(found, server));
    pf_close(found);
    ck_assert_int_eq(pf_address_parse("127.0.0.1:1", &other), WEFT_OK);
    ck_assert_int_eq(pf_find_stream(&at, &other, &found), WEFT_ENOTFOUND);
    ck_assert_int_eq(found, PF_NO_HANDLE);
    pf_close(client), pf_close(server), pf_close(listener);
}

START_TEST(a_tcp_socket_is_found_by_its_two_addresses)
{
    find_tcp("127.0.0.1:0");
    find_tcp("[::1]:0");
}
END_TEST

/* Sockets of one listener are all alike: those that were found have two descriptors. */
START_TEST(an_accepted_unix_socket_is_found_once)
{
    char text[64];
    struct pf_address at;
    pf_handle client[3], server[3], found[3], one;
    snprintf(text, sizeof text, "unix:/tmp/weft-find-%ld.sock", (long)getpid());
    pf_handle listener = listen_at(text, &at);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pf_connect(&client[i], &at), WEFT_OK);
        server[i] = take_one(listener);
        ck_assert_int_eq(pf_find_stream(&at, NULL, &found[i]), WEFT_OK);
        ck_assert(same_socket(found[i], server[i]));
        ck_assert_int_eq(pf_find_stream(&at, NULL, &one), WEFT_ENOTFOUND);
    }
    ck_assert_int_eq(pf_find_stream(NULL, &at, &one), WEFT_ENOTFOUND); /* two clients */
    pf_close(client[0]), pf_close(client[1]);
    pf_close(found[0]), pf_close(found[1]);
    /* Those whose peers have left do not count. */
    ck_assert_int_eq(pf_connect(&client[2], &at), WEFT_OK);
    server[2] = take_one(listener);
    ck_assert_int_eq(pf_find_stream(&at, NULL, &found[2]), WEFT_OK);
    ck_assert(same_socket(found[2], server[2]));
    ck_assert_int_eq(pf_find_stream(NULL, &at, &one), WEFT_OK);
    ck_assert(same_socket(one, client[2]));
    pf_close(one), pf_close(found[2]), pf_close(client[2]);
    for (int i = 0; i < 3; i++) pf_close(server[i]);
    pf_listen_close(listener, &at);
}
END_TEST
#endif

int main(void)
{
    const TTest *const tests[] = {
        unix_sockets_tell_data_space_and_end,
        a_broken_unix_socket_is_ready_for_everything,
        signals_are_blocked_from_the_first_write_on_that_may_raise_one,
        pipes_tell_data_space_and_end,
        files_are_always_ready,
        the_alarm_makes_the_handle_readable,
        the_alarm_ends_a_wait,
        an_alarm_does_not_hide_what_is_ready,
        a_signal_handler_may_wake,
        a_signal_that_hits_a_wait_is_never_slept_over,
#ifdef __linux__
        a_tcp_socket_is_found_by_its_two_addresses,
        an_accepted_unix_socket_is_found_once,
#endif
    };
    Suite *suite = suite_create("conformance: Unix");
    add_cases(suite, tests, WF_COUNT(tests));
    return run_suite(suite);
}
