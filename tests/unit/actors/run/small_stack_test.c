/* tests/unit/actors/run/small_stack_test.c -- actors of the smallest stack, 16 KiB, call what has large frames; weft's
 * own actors have the default of 64 KiB all the same. */
#include "../node_harness.h"

#include <weft/resolve.h>

#include "node_life.h"

enum { SMALL = 16 << 10, PING = 1, STOPPED = 7 };

static weft_node *small_node(void)
{
    return node_start(RUN_OPTIONS(.workers = 1, .stack_bytes = SMALL));
}

static size_t own_stack(void)
{
    return wf_stack_bytes(&wf_here->current->coro.stack);
}

static void answerer(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_reply(m, PING, NULL, 0), 0);
    weft_msg_free(m);
}

static void failing(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_fail(STOPPED, "%.900s", "a long text");
}

static void twice(void *of)
{
    *(int *)of *= 2;
}

static int64_t at_once(void)
{
    return weft_after(WEFT_MS(1));
}

static void calls(const void *arg, size_t size)
{
    weft_wait all[WEFT_WAIT_MAX];
    weft_timer timers[WEFT_WAIT_MAX];
    weft_address found[4];
    weft_msg *m;
    weft_pid pid;
    weft_stream stream;
    char text[3000];
    int number = 21;
    (void)arg, (void)size;
    if (!wf_is_sanitized()) want_int(own_stack(), SMALL);

    memset(text, 'x', sizeof text);
    weft_log(WEFT_INFO, "%.*s", (int)sizeof text, text);

    for (int i = 0; i < WEFT_WAIT_MAX; i++) {
        want_int(weft_timer_open(&timers[i], weft_after(i == 0 ? 1 : WEFT_SEC(3600)), 0), 0);
        all[i] = weft_on_timer(timers[i]);
    }
    want_int(weft_wait_any(all, WEFT_WAIT_MAX, WEFT_FOREVER), 0);
    want_int(weft_wait_all(all, WEFT_WAIT_MAX, at_once()), WEFT_ETIMEDOUT);
    for (int i = 0; i < WEFT_WAIT_MAX; i++) want_int(weft_timer_close(timers[i]), 0);

    want_int(weft_spawn(&pid, answerer, NULL, 0, NULL), 0);
    want_int(weft_call(pid, PING, NULL, 0, &m, WEFT_FOREVER), 0);
    weft_msg_free(m);
    weft_monitor_ref ref;
    want_int(weft_spawn(&pid, failing, NULL, 0, &(weft_spawn_options){.monitor = &ref}), 0);
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    weft_msg_free(m);

    want_int(weft_subscribe("small.>", NULL), 0);
    want_int(weft_publish("small.stack", PING, NULL, 0), 1);
    want_int(weft_recv_tag(&m, PING, WEFT_FOREVER), 0);
    weft_msg_free(m);

    want_int(weft_offload(twice, &number, sizeof number, WEFT_FOREVER), 0);
    want_int(number, 42);
    want(weft_resolve("127.0.0.1", "80", found, WF_COUNT(found), WEFT_FOREVER) > 0);
    want(weft_connect(&stream, "tcp://127.0.0.1:1", WEFT_FOREVER) < 0);
}

START_TEST(what_has_large_frames_fits_into_the_smallest_stack)
{
    weft_node *n = small_node();
    node_spawn(n, 1, calls);
    node_end(n);
}
END_TEST

static size_t stack_of_service;

static void service(const void *arg, size_t size)
{
    (void)arg, (void)size;
    stack_of_service = own_stack();
}

START_TEST(actors_of_wefts_own_have_the_default_at_least)
{
    static const size_t CASES[][2] = {{SMALL, 64 << 10}, {0, 64 << 10}, {200 << 10, 256 << 10}};
    for (size_t i = 0; i < WF_COUNT(CASES); i++) {
        weft_node *n = node_start(RUN_OPTIONS(.workers = 1, .stack_bytes = CASES[i][0]));
        stack_of_service = 0;
        want_int(wf_node_spawn_service(n, NULL, service, NULL, 0, "$test"), 0);
        node_finish(n);
        wf_node_destroy(n);
        want_int(stack_of_service, CASES[i][1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("small_stack");
    TCase *c = tcase_create("small_stack");
    tcase_add_test(c, what_has_large_frames_fits_into_the_smallest_stack);
    tcase_add_test(c, actors_of_wefts_own_have_the_default_at_least);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
