/* A listener on a system that has no descriptor or no memory for a while: clients that dialled meanwhile are accepted
 * in the end. The linker replaces the calls by functions of the test. */
#include "carrier_tcp.h"
#include "fd.h"
#include "sp.h"
#include "parts.h"
#include "task.h"

#include "../../../sockets.h"
#include "../../../suite.h"

#include <weft/log.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A system that fails --------------------------------------------------------------------------------------- */

static _Atomic int accepts_fail,
    adds_fail;                  /* so many of the next ones; the test's thread sets, the worker counts down */
static _Atomic bool no_timer;   /* the one to try again with fails, too */
static _Atomic bool failed_now; /* what failed last was one of the above */
static _Atomic int refused;     /* how many timers */

static bool fails(_Atomic int *left)
{
    if (*left == 0) return false;
    (*left)--;
    failed_now = true;
    return true;
}

int __real_pf_accept(pf_handle listener, pf_handle *out);
int __wrap_pf_accept(pf_handle listener, pf_handle *out);
int __wrap_pf_accept(pf_handle listener, pf_handle *out)
{
    return fails(&accepts_fail) ? WEFT_EFULL : __real_pf_accept(listener, out);
}

int __real_wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out);
int __wrap_wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out);
int __wrap_wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out)
{
    return fails(&adds_fail) ? WEFT_ENOMEM : __real_wf_fd_add(w, h, out);
}

int __real_wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
int __wrap_wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline);
int __wrap_wf_timer_arm(struct wf_worker *w, struct wf_timer *t, int64_t deadline)
{
    if (!atomic_exchange(&failed_now, false) || !no_timer) return __real_wf_timer_arm(w, t, deadline);
    refused++;
    return WEFT_ENOMEM;
}

/* ---- The carrier ----------------------------------------------------------------------------------------------- */

static void on_up(void *owner, struct wf_conn *c)
{
    (void)owner;
    wf_conn_release(c);
}

static enum wf_receive on_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    (void)owner, (void)c, (void)data, (void)size, (void)left;
    return WF_RECEIVE_ON;
}

static enum wf_receive on_chunk(void *owner, struct wf_conn *c)
{
    (void)owner, (void)c;
    return WF_RECEIVE_ON;
}

static void on_sent(void *owner, struct wf_conn *c, bool ok)
{
    (void)owner, (void)c, (void)ok;
}

static void on_down(void *owner, struct wf_conn *c, const char *reason)
{
    (void)owner, (void)c, (void)reason;
}

static void on_dial_failed(void *owner, void *tag, const char *reason)
{
    (void)owner, (void)tag, (void)reason;
}

static const struct wf_carrier_user user = {on_up, on_message, on_chunk, on_sent, on_down, on_dial_failed};
static struct wf_workers set;
static struct wf_hooks hooks;
static struct wf_carrier *carrier;
static int port;

static void start(void)
{
    char url[WF_URL_TEXT], why[WF_REASON_TEXT];
    weft_log_set(WEFT_SILENT, false);
    refused = 0;
    set = (struct wf_workers){.env = pf_env_native(), .hooks = &hooks, .parts = wf_runtime_parts, .count = 1};
    ck_assert_int_eq(wf_workers_init(&set), WEFT_OK);
    ck_assert_int_eq(wf_workers_start(&set), WEFT_OK);
    carrier = wf_carrier_tcp(&(struct wf_carrier_options){.env = set.env, .workers = &set, .user = &user});
    ck_assert_ptr_nonnull(carrier);
    ck_assert_int_eq(carrier->ops->listen(carrier, "tcp://127.0.0.1:0", 0, url, why), 0);
    port = atoi(strrchr(url, ':') + 1);
}

static void stop(void)
{
    carrier->ops->destroy(carrier);
    wf_workers_stop(&set);
    wf_workers_finish(&set);
}

static int dial(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socket_patience(fd, 20);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* An accepted connection gets the greeting. */
static void expect_greeting(int fd)
{
    char header[WF_SP_HEADER];
    for (size_t done = 0; done < sizeof header;) {
        ssize_t n = recv(fd, header + done, sizeof header - done, 0);
        ck_assert_msg(n > 0, "no connection was accepted");
        done += (size_t)n;
    }
    ck_assert_mem_eq(header, wf_sp_header, WF_SP_HEADER);
    close(fd);
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

/* No other connection comes, so only the listener itself can cause another look. */
START_TEST(a_waiting_connection_is_accepted_when_descriptors_are_free)
{
    start();
    int fd = dial();
    no_timer = _i == 1;
    accepts_fail = _i == 1 ? 20 : 2;
    carrier->ops->accept(carrier);
    expect_greeting(fd);
    ck_assert_int_eq(accepts_fail, 0);
    ck_assert_int_eq(refused, _i == 1 ? 20 : 0);
    expect_greeting(dial());
    stop();
}
END_TEST

START_TEST(a_waiting_connection_is_accepted_when_there_is_memory_to_watch)
{
    start();
    int fd = dial();
    no_timer = _i == 1;
    adds_fail = _i == 1 ? 20 : 1;
    carrier->ops->accept(carrier);
    expect_greeting(fd);
    ck_assert_int_eq(adds_fail, 0);
    ck_assert_int_eq(refused, _i == 1 ? 20 : 0);
    stop();
}
END_TEST

/* It ends while it would look again, one way or the other. */
START_TEST(a_listener_that_never_can_ends)
{
    start();
    int fd = dial();
    no_timer = _i % 2 == 1;
    *(_i < 2 ? &accepts_fail : &adds_fail) = INT32_MAX;
    carrier->ops->accept(carrier);
    while ((_i < 2 ? accepts_fail : adds_fail) > INT32_MAX - (no_timer ? 5 : 1)) {}
    stop();
    close(fd);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("listener");
    TCase *t = tcase_create("listener");
    tcase_add_loop_test(t, a_waiting_connection_is_accepted_when_descriptors_are_free, 0, 2);
    tcase_add_loop_test(t, a_waiting_connection_is_accepted_when_there_is_memory_to_watch, 0, 2);
    tcase_add_loop_test(t, a_listener_that_never_can_ends, 0, 4);
    suite_add_tcase(s, t);
    return run_suite(s);
}
