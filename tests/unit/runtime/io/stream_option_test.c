/* tests/unit/runtime/io/stream_option_test.c -- options of streams. */
#include "../streams.h"

static void want_option(weft_stream s, weft_stream_option o, int64_t set, int64_t least, int64_t most)
{
    int64_t value = -77;
    want_int(weft_stream_set(s, o, set), 0);
    want_int(weft_stream_get(s, o, &value), 0);
    want(value >= least && value <= most);
}

static void tcp_options(void *arg)
{
    weft_stream a, b;
    int64_t value;
    (void)arg;
    make_pair(TCP, &a, &b);
    want_int(weft_stream_get(a, WEFT_NODELAY, &value), 0);
    want_int(value, 1); /* of accepted ones, too */
    want_option(a, WEFT_NODELAY, 0, 0, 0);
#ifndef _WIN32 /* wine 8 does not know these three */
    want_option(a, WEFT_KEEPALIVE, WEFT_MS(1500), WEFT_SEC(2), WEFT_SEC(2));
    want_option(a, WEFT_KEEPALIVE_INTERVAL, WEFT_SEC(3), WEFT_SEC(3), WEFT_SEC(3));
    want_option(a, WEFT_KEEPALIVE_COUNT, 4, 4, 4);
#endif
    want_option(a, WEFT_KEEPALIVE, 0, 0, 0);
    want_option(a, WEFT_SEND_BUFFER, 20000, 20000, 40000);
    want_option(a, WEFT_RECEIVE_BUFFER, 20000, 20000, 40000);
    ON_UNIX(want_option(a, WEFT_UNSENT, 16384, 16384, 16384);)
    want_option(a, WEFT_LINGER, 0, 0, 0);
    want_option(a, WEFT_LINGER, -1, -1, -1);
    want_int(weft_stream_set(a, WEFT_LINGER, WEFT_SEC(1)), WEFT_EINVAL); /* would block */
    want_int(weft_stream_set(a, WEFT_NODELAY, 2), WEFT_EINVAL);
    want_int(weft_stream_set(a, WEFT_KEEPALIVE, -1), WEFT_EINVAL);
    want_int(weft_stream_set(a, WEFT_KEEPALIVE, INT64_MAX), WEFT_EINVAL);
    want_int(weft_stream_set(a, (weft_stream_option)0, 0), WEFT_EINVAL);
    want_int(weft_stream_set(a, (weft_stream_option)99, 0), WEFT_EINVAL);
    close_pair(a, b);
    want_int(weft_stream_set(a, WEFT_NODELAY, 1), WEFT_ECLOSED);
}

#ifndef _WIN32
static void unix_options(void *arg)
{
    weft_stream a, b;
    (void)arg;
    make_pair(UNIX, &a, &b);
    want_int(weft_stream_set(a, WEFT_NODELAY, 1), WEFT_EINVAL);
    want_option(a, WEFT_SEND_BUFFER, 20000, 20000, 40000);
    close_pair(a, b);
}
#endif

START_TEST(options_are_kept_and_impossible_ones_refused)
{
    ck_assert_int_eq(weft_stream_set((weft_stream){0}, WEFT_NODELAY, 1), WEFT_ENOTACTOR);
    run_alone(tcp_options, NULL);
    ON_UNIX(run_alone(unix_options, NULL);)
}
END_TEST

static void broken_by_linger(void *arg)
{
    weft_stream a, b;
    char byte;
    (void)arg;
    make_pair(TCP, &a, &b);
    want_int(weft_stream_set(a, WEFT_LINGER, 0), 0);
    want_int(weft_close(a), 0);
    int64_t n = weft_read(b, &byte, 1, WEFT_FOREVER);
    ON_UNIX(want_int(n, WEFT_ERESET);) /* not the end of the stream, as wine 8 takes it for */
    want(n == WEFT_ERESET || n == 0);
    want_int(weft_close(b), 0);
}

START_TEST(linger_0_breaks_the_connection_at_its_close)
{
    run_alone(broken_by_linger, NULL);
}
END_TEST

TEST_MAIN("stream_option", options_are_kept_and_impossible_ones_refused, linger_0_breaks_the_connection_at_its_close)
