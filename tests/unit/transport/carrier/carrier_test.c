/* The carriers as their owner sees them, and a peer that sends any bytes. Each test runs with each form: our own
 * sockets, NNG on the workers' loops and with callbacks, over TCP and over a Unix socket. The linker can replace the
 * function that finds descriptors, so that NNG has to use callbacks. */
#include "carrier.h"
#include "sp.h"
#include "parts.h"
#include "task.h"
#include "../../../sockets.h"
#include "seen.h"
#include "../../../suite.h"
#include "carrier_tcp.h"
#ifndef _WIN32
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/error.h>
#include <weft/time.h>

enum { BIG = 8 * 1024 * 1024 };
enum form { TCP, NNG, NNG_CALLBACKS, IPC, IPC_CALLBACKS };
#include <unistd.h>
#ifdef _WIN32
enum { FORMS = NNG_CALLBACKS + 1 };
#else
#include <sys/un.h>
enum { FORMS = IPC_CALLBACKS + 1 };
#endif
static enum form form;

/* ---- A system that does not say which descriptors there are ---------------------------------------------------- */

#ifndef NO_WRAP
int __real_pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out);
int __wrap_pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out);
int __wrap_pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out)
{
    if (form != NNG_CALLBACKS && form != IPC_CALLBACKS) return __real_pf_find_stream(local, remote, out);
    *out = PF_NO_HANDLE;
    return WEFT_ENOTFOUND;
}
#endif

static const char *form_text(void)
{
    if (form == TCP) return "tcp";
#ifdef __linux__
    if (form == NNG || form == IPC) return "nng";
#endif
    return "nng callbacks";
}

/* The callbacks of the carrier, under `lock`. */
static struct {
    int ups, downs, sent, failed, wrong;
    size_t messages, bytes;
    char reason[WF_REASON_TEXT];
    struct wf_conn *conn;
    bool text;    /* messages hold something else than counting bytes */
    bool pause;   /* each message pauses the receiving side */
    size_t most;  /* bytes that are taken of a message at once; 0: all */
    uint8_t next; /* byte, of a message that comes in parts */
    bool trust;   /* connections are, from the beginning */
    struct wf_conn *ends[2];
    bool looked;
} seen;

static struct wf_workers set;
static struct wf_hooks hooks;
static struct wf_carrier *carrier;
static char url[WF_URL_TEXT];

static void on_up(void *owner, struct wf_conn *c)
{
    (void)owner;
    if (seen.trust) wf_conn_trust(c, BIG);
    SEEN((seen.ends[seen.ups % 2] = c, seen.ups++, seen.conn = c));
}

static enum wf_receive on_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    (void)owner;
    bool pause, text;
    uint8_t next;
    int wrong = 0; /* Check's own functions are for the main thread */
    SEEN((text = seen.text, next = seen.next));
    if (seen.most > 0 && size > seen.most) *left = size - seen.most;
    for (size_t i = 0; i < size - *left; i++) wrong += data[i] != (uint8_t)(i + next) && !text;
    next = *left > 0 ? (uint8_t)(next + seen.most) : 0;
    SEEN((seen.messages++, seen.wrong += wrong, seen.bytes += size - *left, seen.next = next, pause = seen.pause));
    if (*left > 0) wf_conn_resume(c);
    return pause || *left > 0 ? WF_RECEIVE_PAUSE : WF_RECEIVE_ON;
}

static enum wf_receive on_chunk(void *owner, struct wf_conn *c)
{
    (void)owner, (void)c;
    return WF_RECEIVE_ON;
}

static void on_sent(void *owner, struct wf_conn *c, bool ok)
{
    (void)owner, (void)c;
    SEEN((seen.sent += ok, seen.failed += !ok));
}

static void on_down(void *owner, struct wf_conn *c, const char *reason)
{
    (void)owner, (void)c;
    SEEN((seen.downs++, snprintf(seen.reason, sizeof seen.reason, "%s", reason)));
}

static void on_dial_failed(void *owner, void *tag, const char *reason)
{
    (void)tag;
    on_down(owner, NULL, reason);
}

static const struct wf_carrier_user user = {on_up, on_message, on_chunk, on_sent, on_down, on_dial_failed};

static bool is_local(void)
{
    return form == IPC || form == IPC_CALLBACKS;
}

static void start(int which, int64_t stranger_time)
{
    char wanted[WF_URL_TEXT] = "tcp://127.0.0.1:0";
    char why[WF_REASON_TEXT];
    memset(&seen, 0, sizeof seen);
    set = (struct wf_workers){.env = pf_env_native(), .hooks = &hooks, .parts = wf_runtime_parts, .count = 2};
    ck_assert_int_eq(wf_workers_init(&set), WEFT_OK);
    ck_assert_int_eq(wf_workers_start(&set), WEFT_OK);
    struct wf_carrier_options o = {.env = set.env, .workers = &set, .user = &user, .stranger_time = stranger_time};
    form = (enum form)which;
    carrier = form == TCP ? wf_carrier_tcp(&o) : wf_carrier_nng(&o);
    if (is_local()) snprintf(wanted, sizeof wanted, "ipc:///tmp/weft-carrier-%ld.sock", (long)getpid());
    ck_assert_int_eq(carrier->ops->listen(carrier, wanted, 0, url, why), 0);
    carrier->ops->accept(carrier);
}

static void stop(void)
{
    ck_assert_int_eq(seen.wrong, 0);
    if (seen.conn != NULL) wf_conn_release(seen.conn);
    carrier->ops->destroy(carrier);
    wf_workers_stop(&set);
    wf_workers_finish(&set);
}

#ifndef _WIN32
static int connect_to_file(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", url + strlen("ipc://"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socket_patience(fd, 20);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}
#endif

static int connect_here(void)
{
    ON_UNIX(if (is_local()) return connect_to_file();)
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socket_patience(fd, 20);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void put(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, (const char *)data + done, size - done, MSG_NOSIGNAL);
        ck_assert_int_gt(n, 0);
        done += (size_t)n;
    }
}

static void get(int fd, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = recv(fd, (char *)data + done, size - done, 0);
        ck_assert_int_gt(n, 0);
        done += (size_t)n;
    }
}

/* Everything until the end. */
static void expect_end(int fd)
{
    char rest[4096];
    ssize_t n;
    while ((n = recv(fd, rest, sizeof rest, 0)) > 0) {}
    ck_assert(n == 0 || socket_was_reset());
    close(fd);
}

static size_t message(uint8_t *out, size_t size)
{
    size_t n = wf_sp_prefix(out, is_local(), size);
    for (size_t i = 0; i < size; i++) out[n + i] = (uint8_t)i;
    return n + size;
}

static int greeted(void)
{
    int fd = connect_here();
    put(fd, wf_sp_header, WF_SP_HEADER);
    AWAIT(seen.conn != NULL);
    ck_assert_str_eq(seen.conn->form, form_text());
    return fd;
}

START_TEST(faults_in_the_bytes_end_the_connection_and_say_why)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *reason;
    } cases[] = {
        {"GET / HT", 8, "does not speak the SP protocol of PAIR"},
        {"\0SP\0\0\x11\0\0", 8, "does not speak the SP protocol of PAIR"},
        {"\0SP\0\0\x10\0\0\0\0\0\0\0\0\x10\x01", 16, "a message of 4097 bytes is over the limit of 4096"},
        {"\0SP\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16,
         "a message of 18446744073709551615 bytes is over the limit of 4096"},
    };
    for (size_t i = 0; i < WF_COUNT(cases); i++) {
        start(_i, 0);
        int fd = connect_here();
        put(fd, cases[i].bytes, WF_MIN(cases[i].size, (size_t)WF_SP_HEADER));
        if (is_local() && cases[i].size == 16) put(fd, "\x01", 1);
        if (cases[i].size > WF_SP_HEADER) put(fd, cases[i].bytes + WF_SP_HEADER, cases[i].size - WF_SP_HEADER);
        AWAIT(seen.downs == 1);
        ck_assert_str_eq(seen.reason, cases[i].reason);
        ck_assert_uint_eq(seen.messages, 0);
        expect_end(fd);
        stop();
    }
}
END_TEST

START_TEST(messages_that_come_byte_by_byte_are_received_whole)
{
    uint8_t bytes[WF_SP_HEADER + 2 * 300];
    start(_i, 0);
    memcpy(bytes, wf_sp_header, WF_SP_HEADER);
    size_t n = WF_SP_HEADER;
    n += message(bytes + n, 200);
    n += message(bytes + n, 0);
    n += message(bytes + n, 77);
    int fd = connect_here(), on = 1;
    if (!is_local()) setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof on);
    for (size_t i = 0; i < n; i++) put(fd, bytes + i, 1);
    AWAIT(seen.messages == 3);
    ck_assert_uint_eq(seen.bytes, 277);
    put(fd, bytes + WF_SP_HEADER, 100); /* and one that is cut off */
    get(fd, bytes, WF_SP_HEADER);
    close(fd);
    AWAIT(seen.downs == 1);
    ck_assert_uint_eq(seen.messages, 3);
    ck_assert_str_eq(seen.reason, "closed by the other side");
    stop();
}
END_TEST

/* An owner that takes a part of a message gets the rest when it resumes, before later messages. */
START_TEST(a_message_may_be_taken_in_parts)
{
    uint8_t bytes[3 * 1024 + 64];
    size_t size = 0;
    start(_i, 0);
    seen.most = 100;
    int fd = greeted();
    size += message(bytes, 1024);
    size += message(bytes + size, 7);
    size += message(bytes + size, 1000);
    put(fd, bytes, size);
    AWAIT(seen.messages == 11 + 1 + 10);
    ck_assert_uint_eq(seen.bytes, 1024 + 7 + 1000);
    ck_assert_int_eq(seen.wrong, 0);
    close(fd);
    AWAIT(seen.downs == 1);
    stop();
}
END_TEST

START_TEST(a_large_message_comes_whole_once_the_peer_is_trusted)
{
    uint8_t *bytes = malloc(BIG + 16);
    ck_assert_ptr_nonnull(bytes);
    start(_i, 0);
    seen.pause = true;
    int fd = greeted();
    put(fd, bytes, message(bytes, 3));
    AWAIT(seen.messages == 1);
    SEEN(seen.pause = false);
    wf_conn_trust(seen.conn, BIG);
    wf_conn_resume(seen.conn);
    put(fd, bytes, message(bytes, BIG));
    put(fd, bytes, message(bytes, 5));
    AWAIT(seen.messages == 3);
    ck_assert_uint_eq(seen.bytes, 3 + BIG + 5);
    put(fd, bytes, wf_sp_prefix(bytes, is_local(), BIG + 1));
    AWAIT(seen.downs == 1);
    ck_assert_str_eq(seen.reason, "a message of 8388609 bytes is over the limit of 8388608");
    expect_end(fd);
    free(bytes);
    stop();
}
END_TEST

/* Whether it was sent: at once, or later. */
static void send_big(uint8_t *bytes, bool *late)
{
    struct pf_slice slices[2] = {{bytes, BIG / 2}, {bytes + BIG / 2, BIG / 2}};
    *late = wf_conn_send(seen.conn, slices, 2) == WF_SEND_LATER;
}

START_TEST(bytes_that_the_socket_does_not_take_are_sent_later)
{
    uint8_t *bytes = malloc(BIG), *got = malloc(BIG), before[16];
    ck_assert(bytes != NULL && got != NULL);
    for (size_t i = 0; i < BIG; i++) bytes[i] = (uint8_t)(i / 4096);
    start(_i, 0);
    int fd = greeted();
    bool late;
    send_big(bytes, &late);
    ck_assert(late); /* nobody reads yet */
    get(fd, before, WF_SP_HEADER);
    if (is_local()) get(fd, before, 1);
    get(fd, before, 8);
    ck_assert_mem_eq(before, "\0\0\0\0\0\x80\0\0", 8);
    get(fd, got, BIG);
    ck_assert(memcmp(got, bytes, BIG) == 0);
    AWAIT(seen.sent == 1);
    ck_assert_int_eq(seen.failed, 0);
    close(fd);
    AWAIT(seen.downs == 1);
    free(got);
    stop();
    free(bytes);
}
END_TEST

START_TEST(a_peer_that_never_reads_holds_up_nobody_who_closes)
{
    uint8_t *bytes = calloc(1, BIG);
    ck_assert_ptr_nonnull(bytes);
    start(_i, 0);
    int fd = greeted();
    bool late;
    send_big(bytes, &late);
    ck_assert(late);
    wf_conn_close(seen.conn, "enough");
    wf_conn_close(seen.conn, "again");
    AWAIT(seen.failed == 1 && seen.downs == 1);
    ck_assert_str_eq(seen.reason, "enough");
    ck_assert_int_eq(seen.sent, 0);
    expect_end(fd);
    stop();
    free(bytes);
}
END_TEST

START_TEST(strangers_have_little_time)
{
    start(_i, WEFT_MS(50));
    int fd = connect_here();
    AWAIT(seen.downs == 1);
    ck_assert_str_eq(seen.reason, "silent");
    expect_end(fd);
    fd = connect_here();
    put(fd, wf_sp_header, WF_SP_HEADER);
    put(fd, is_local() ? "\x01\0\0\0" : "\0\0\0\0", 4);
    AWAIT(seen.downs == 2);
    ck_assert_str_eq(seen.reason, "no HELLO in time");
    expect_end(fd);
    stop();
}
END_TEST

START_TEST(dialling_says_what_is_wrong)
{
    char why[WF_REASON_TEXT], other[WF_URL_TEXT];
    start(_i, 0);
    const char *nobody = is_local() ? "ipc:///tmp/weft-carrier-nobody.sock" : "tcp://127.0.0.1:1";
    ck_assert_int_eq(carrier->ops->dial(carrier, nobody, &set, why), 0);
    AWAIT(seen.downs == 1);
    ck_assert_str_eq(seen.reason, "no process listens there");
    ck_assert_int_lt(carrier->ops->dial(carrier, "nonsense", &set, why), 0);
    ck_assert_int_eq(carrier->ops->listen(carrier, url, 0, other, why), WEFT_EINUSE);
    ck_assert_str_eq(why, "the address is in use by another process");
    stop();
}
END_TEST

#ifndef _WIN32
/* How often the workers have looked for work while a timer of the first one ran. */
static struct {
    struct wf_call begin;
    struct wf_timer timer;
    uint64_t turns;
} watch;

static void on_timer(struct wf_worker *w, struct wf_timer *t)
{
    (void)t;
    SEEN((watch.turns = w->count.turns - watch.turns, seen.looked = true));
}

static void on_begin(struct wf_worker *w, struct wf_call *call)
{
    (void)call;
    watch.turns = w->count.turns;
    ck_assert_int_eq(wf_timer_arm(w, &watch.timer, w->set->env->now(w->set->env) + WEFT_MS(100)), WEFT_OK);
}

/* It waits for some to be closed, instead of asking for one all the time. */
START_TEST(without_descriptors_it_neither_spins_nor_gives_up)
{
    struct rlimit before, none;
    char why[WF_REASON_TEXT];
    if (RUNNING_ON_VALGRIND) return; /* it keeps the table of descriptors itself */
    start(0, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0), lowest = dup(fd);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
    close(lowest);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){(rlim_t)lowest, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    watch.begin = (struct wf_call){.post.kind = WF_POST_CALL, .call = on_begin};
    watch.timer.fire = on_timer;
    wf_worker_post(set.at[0], &watch.begin.post);
    ck_assert_int_lt(carrier->ops->dial(carrier, "tcp://127.0.0.1:1", &set, why), 0);
    AWAIT(seen.looked);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_str_eq(why, "no file descriptors are left: raise ulimit -n");
    ck_assert_uint_lt(watch.turns, 100);
    put(fd, wf_sp_header, WF_SP_HEADER);
    AWAIT(seen.conn != NULL);
    close(fd);
    AWAIT(seen.downs == 1);
    stop();
}
END_TEST
#endif

#ifndef _WIN32
/* NNG's poller has seen its end, and nobody reads it: that must not keep a core busy. */
START_TEST(a_peer_that_has_left_a_paused_connection_costs_nothing)
{
    uint8_t bytes[16];
    start(_i, 0);
    seen.pause = true;
    int fd = greeted();
    put(fd, bytes, message(bytes, 3));
    AWAIT(seen.messages == 1);
    wf_conn_trust(seen.conn, BIG);
    close(fd);
    clock_t before = clock();
    int64_t until = pf_env_native()->now(pf_env_native()) + WEFT_MS(300);
    pf_mutex_lock(lock);
    while (pf_cond_wait(more, lock, until) == 0) {}
    pf_mutex_unlock(lock);
    ck_assert_int_lt(clock() - before, CLOCKS_PER_SEC / 10);
    SEEN(seen.pause = false);
    wf_conn_resume(seen.conn);
    AWAIT(seen.downs == 1);
    stop();
}
END_TEST
#endif

/* A carrier dials itself, and each side sends more than fits into a socket while the other one reads. */
static void both_ways(const char *what)
{
    uint8_t *bytes = malloc(BIG);
    char why[WF_REASON_TEXT];
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < BIG; i++) bytes[i] = (uint8_t)i;
    seen.trust = true;
    ck_assert_int_eq(carrier->ops->dial(carrier, url, &set, why), 0);
    AWAIT(seen.ups == 2);
    struct wf_conn *ends[2] = {seen.ends[0], seen.ends[1]};
    int at_once = 0;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 2; i++) {
            struct pf_slice slices[2] = {{bytes, BIG / 2}, {bytes + BIG / 2, BIG / 2}};
            at_once += wf_conn_send(ends[i], slices, 2) == WF_SEND_DONE;
        }
        AWAIT(seen.sent + at_once == 4 * round + 2);
        for (int i = 0; i < 2; i++)
            at_once += wf_conn_send(ends[i], &(struct pf_slice){bytes, 100}, 1) == WF_SEND_DONE;
        AWAIT(seen.sent + at_once == 4 * round + 4);
    }
    AWAIT(seen.bytes == 8 * (size_t)(BIG + 100));
    ck_assert_int_eq(seen.failed, 0);
    for (int i = 0; i < 2; i++) ck_assert_str_eq(ends[i]->form, what);
    wf_conn_close(ends[0], "enough");
    AWAIT(seen.downs == 2);
    for (int i = 0; i < 2; i++) wf_conn_release(ends[i]);
    seen.conn = NULL;
    stop();
    free(bytes);
}

START_TEST(both_ends_send_what_does_not_fit_at_once)
{
    start(_i, WEFT_SEC(60));
    both_ways(form_text());
}
END_TEST

START_TEST(both_ends_send_over_a_websocket_what_does_not_fit_at_once)
{
    char why[WF_REASON_TEXT];
    start(NNG, WEFT_SEC(60));
    ck_assert_int_eq(carrier->ops->listen(carrier, "ws://127.0.0.1:0/weft", 0, url, why), 0);
    both_ways("nng callbacks");
}
END_TEST

/* If it was dialled, NNG itself reads the frames of the WebSocket, so NNG may know of the end before weft does. */
START_TEST(a_websocket_that_has_ended_while_it_was_paused_says_so)
{
    const uint8_t bytes[16] = {0};
    char why[WF_REASON_TEXT];
    start(NNG, WEFT_SEC(60));
    ck_assert_int_eq(carrier->ops->listen(carrier, "ws://127.0.0.1:0/weft", 0, url, why), 0);
    seen.trust = seen.pause = seen.text = true;
    ck_assert_int_eq(carrier->ops->dial(carrier, url, &set, why), 0);
    AWAIT(seen.ups == 2);
    struct wf_conn *accepted = seen.ends[seen.ends[0]->dial_tag != NULL],
                   *dialled = seen.ends[accepted == seen.ends[0]];
    ck_assert_int_ne(wf_conn_send(accepted, &(struct pf_slice){bytes, sizeof bytes}, 1), WF_SEND_FAILED);
    AWAIT(seen.messages == 1);
    wf_conn_close(accepted, "enough");
    AWAIT(seen.downs == 1);
    int64_t until = pf_env_native()->now(pf_env_native()) + WEFT_MS(300); /* NNG has time to see it */
    pf_mutex_lock(lock);
    while (pf_cond_wait(more, lock, until) == 0) {}
    pf_mutex_unlock(lock);
    wf_conn_resume(dialled);
    AWAIT(seen.downs == 2);
    ck_assert_str_eq(seen.reason, "closed by the other side");
    for (int i = 0; i < 2; i++) wf_conn_release(seen.ends[i]);
    seen.conn = NULL;
    stop();
}
END_TEST

START_TEST(the_end_of_a_carrier_ends_its_connections)
{
    start(_i, 0);
    int greeted_fd = greeted(), silent_fd = connect_here();
    wf_conn_release(seen.conn);
    seen.conn = NULL;
    carrier->ops->destroy(carrier);
    ck_assert_int_ge(seen.downs, 1);
    expect_end(greeted_fd);
    expect_end(silent_fd);
    wf_workers_stop(&set);
    wf_workers_finish(&set);
}
END_TEST

#ifndef _WIN32
/* The next version of a program removes the file and listens there, and then the old version ends. */
START_TEST(a_carrier_that_ends_leaves_the_file_of_its_successor)
{
    char old[WF_URL_TEXT], why[WF_REASON_TEXT];
    start(_i, 0);
    snprintf(old, sizeof old, "%s", url);
    ck_assert_int_eq(unlink(url + strlen("ipc://")), 0);
    struct wf_carrier *successor = wf_carrier_nng(
        &(struct wf_carrier_options){.env = set.env, .workers = &set, .user = &user});
    ck_assert_int_eq(successor->ops->listen(successor, old, 0, url, why), 0);
    successor->ops->accept(successor);
    carrier->ops->unlisten(carrier);
    int fd = greeted();
    close(fd);
    AWAIT(seen.downs == 1);
    carrier->ops->destroy(carrier);
    carrier = successor;
    ck_assert_int_eq(access(url + strlen("ipc://"), F_OK), 0);
    stop();
    ck_assert_int_ne(access(url + strlen("ipc://"), F_OK), 0);
}
END_TEST

/* A program of another's making. */
START_TEST(nngcat_is_understood)
{
    char dial[WF_URL_TEXT + 16];
    pid_t nngcat;
    if (system("nngcat --version >/dev/null 2>&1") != 0) return; /* not installed */
    start(_i, 0);
    seen.text = true;
    snprintf(dial, sizeof dial, "--dial=%s", url);
    char *const words[] = {"nngcat", "--pair0", dial, "--data=hello", NULL}; /* and no environment */
    ck_assert_int_eq(posix_spawnp(&nngcat, words[0], NULL, NULL, words, &words[4]), 0);
    AWAIT(seen.messages == 1);
    ck_assert_uint_eq(seen.bytes, 5);
    /* Or it dials again, perhaps the socket of the next test, which counts on one connection. */
    ck_assert_int_eq(kill(nngcat, SIGKILL), 0);
    ck_assert_int_eq(waitpid(nngcat, NULL, 0), nngcat);
    stop();
}
END_TEST
#endif

int main(void)
{
    if (pf_mutex_create(&lock) < 0 || pf_cond_create(&more) < 0) return 1;
    Suite *s = suite_create("carrier");
    TCase *t = tcase_create("carriers");
    tcase_add_loop_test(t, faults_in_the_bytes_end_the_connection_and_say_why, 0, FORMS);
    tcase_add_loop_test(t, messages_that_come_byte_by_byte_are_received_whole, 0, FORMS);
    tcase_add_loop_test(t, a_large_message_comes_whole_once_the_peer_is_trusted, 0, FORMS);
    tcase_add_loop_test(t, a_message_may_be_taken_in_parts, 0, FORMS);
    tcase_add_loop_test(t, bytes_that_the_socket_does_not_take_are_sent_later, 0, FORMS);
    tcase_add_loop_test(t, a_peer_that_never_reads_holds_up_nobody_who_closes, 0, FORMS);
    tcase_add_loop_test(t, strangers_have_little_time, 0, FORMS);
    tcase_add_loop_test(t, dialling_says_what_is_wrong, 0, FORMS);
    ON_UNIX(tcase_add_loop_test(t, a_peer_that_has_left_a_paused_connection_costs_nothing, 0, FORMS);)
    tcase_add_loop_test(t, both_ends_send_what_does_not_fit_at_once, 0, FORMS);
    tcase_add_test(t, both_ends_send_over_a_websocket_what_does_not_fit_at_once);
    tcase_add_test(t, a_websocket_that_has_ended_while_it_was_paused_says_so);
    ON_UNIX(tcase_add_test(t, without_descriptors_it_neither_spins_nor_gives_up);)
    tcase_add_loop_test(t, the_end_of_a_carrier_ends_its_connections, 0, FORMS);
    ON_UNIX(tcase_add_loop_test(t, a_carrier_that_ends_leaves_the_file_of_its_successor, IPC, FORMS);)
    ON_UNIX(tcase_add_loop_test(t, nngcat_is_understood, 0, FORMS);)
    suite_add_tcase(s, t);
    int failed = run_suite_unforked(s);
    pf_cond_destroy(more);
    pf_mutex_destroy(lock);
    return failed;
}
