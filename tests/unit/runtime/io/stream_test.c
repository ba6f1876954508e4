#include "../streams.h"

#include "stream.h"

static const enum transport kinds[] = {TCP, UNIX};
#define EACH_KIND(run) \
    for (size_t i_ = 0; i_ < WF_COUNT(kinds); i_++) run_alone(run, (void *)(uintptr_t)&kinds[i_])

static enum transport kind_of(void *arg)
{
    return *(enum transport *)arg;
}

/* ---- Large transfers ---- */
enum { LARGE = 4 << 20 };

struct transfer {
    weft_stream stream;
    unsigned seed;
};

static unsigned char pattern(unsigned seed, size_t at)
{
    return (unsigned char)((at * 31 + at / 251 + seed) & 0xFF);
}

static void send_large(void *arg)
{
    struct transfer *x = arg;
    unsigned char *data = malloc(LARGE);
    want(data != NULL);
    for (size_t i = 0; i < LARGE; i++) data[i] = pattern(x->seed, i);
    want_int(weft_write(x->stream, data, LARGE, WEFT_FOREVER), LARGE);
    want_int(weft_shutdown(x->stream), 0);
    free(data);
}

static void receive_large(void *arg)
{
    struct transfer *x = arg;
    unsigned char data[4096];
    size_t at = 0;
    for (int64_t n; (n = weft_read(x->stream, data, sizeof data, WEFT_FOREVER)) != 0; at += (size_t)n) {
        want(n > 0);
        for (size_t i = 0; i < (size_t)n; i++) want_int(data[i], pattern(x->seed, at + i));
    }
    want_int(at, LARGE);
}

static void both_ways(void *arg)
{
    weft_stream a, b;
    make_pair(kind_of(arg), &a, &b);
    struct transfer x[] = {{a, 1}, {b, 1}, {b, 2}, {a, 2}};
    struct test_task *t[4];
    for (int i = 0; i < 4; i++) t[i] = spawn_here(i % 2 == 0 ? send_large : receive_large, &x[i]);
    for (int i = 0; i < 4; i++) until(t[i]->done);
    close_pair(a, b);
}

START_TEST(large_transfers_go_both_ways_at_once)
{
    EACH_KIND(both_ways);
}
END_TEST

enum { SLICES = 64, SLICE = 32 * 1024 };

static void write_slices(void *arg)
{
    weft_slice slices[SLICES];
    struct transfer *x = arg;
    unsigned char *data = malloc((size_t)SLICES * SLICE);
    want(data != NULL);
    for (size_t i = 0; i < (size_t)SLICES * SLICE; i++) data[i] = pattern(x->seed, i);
    size_t size = 0;
    for (size_t i = 0; i < SLICES; i++) { /* of all sizes, 0 too */
        size_t part = i % 7 == 3 ? 0 : SLICE - i * 37;
        slices[i] = (weft_slice){data + size, part};
        size += part;
    }
    want_int(weft_writev(x->stream, slices, SLICES, WEFT_FOREVER), size);
    want_int(weft_writev(x->stream, slices, 0, WEFT_NOW), 0);
    want_int(weft_writev(x->stream, slices, SLICES + 1, WEFT_NOW), WEFT_EINVAL);
    want_int(weft_shutdown(x->stream), 0);
    free(data);
}

static void many_slices(void *arg)
{
    weft_stream a, b;
    make_pair(kind_of(arg), &a, &b);
    struct transfer x = {a, 7};
    struct test_task *t = spawn_here(write_slices, &x);
    unsigned char data[1000];
    size_t at = 0;
    for (int64_t n; (n = weft_read(b, data, sizeof data, WEFT_FOREVER)) != 0; at += (size_t)n) {
        want(n > 0);
        for (size_t i = 0; i < (size_t)n; i++) want_int(data[i], pattern(7, at + i));
    }
    until(t->done);
    want(at > (size_t)SLICE * 50);
    close_pair(a, b);
}

START_TEST(many_slices_arrive_whole_and_in_order)
{
    EACH_KIND(many_slices);
}
END_TEST

/* ---- Reading ---- */
static void put(weft_stream s, const char *text)
{
    want_int(weft_write(s, text, strlen(text), WEFT_FOREVER), strlen(text));
}

static void want_line(weft_stream s, size_t size, const char *line)
{
    char buffer[256];
    want_int(weft_read_until(s, buffer, size, '\n', WEFT_FOREVER), strlen(line));
    want(memcmp(buffer, line, strlen(line)) == 0);
}

static void lines(void *arg)
{
    weft_stream a, b;
    char buffer[64];
    make_pair(kind_of(arg), &a, &b);
    struct call c = {.what = READ_UNTIL, .stream = b, .buffer = buffer, .size = 64, .deadline = WEFT_FOREVER};
    struct test_task *t = spawn_here(do_call, &c);
    const char *segments[] = {"he", "l", "lo", "\nwor"};
    for (int i = 0; i < 4; i++) {
        until(is_waiting(t));
        put(a, segments[i]);
    }
    until(t->done);
    want_int(c.result, 6);
    want(memcmp(buffer, "hello\n", 6) == 0);
    put(a, "ld\n\none two three four\nend\nx");
    want_line(b, 64, "world\n");
    want_line(b, 64, "\n");
    want_int(weft_read_until(b, buffer, 10, '\n', WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_read_until(b, buffer, 0, '\n', WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_read_until(b, buffer, 18, '\n', WEFT_FOREVER), WEFT_ETOOBIG); /* one byte short */
    want_line(b, 19, "one two three four\n");                                   /* nothing was lost */
    want_int(weft_read(b, buffer, 2, WEFT_FOREVER), 2);
    want_line(b, 64, "d\n");
    want_int(weft_read_until(b, buffer, 64, '\n', weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    put(a, "yz");
    want_int(weft_shutdown(a), 0);
    want_int(weft_read_until(b, buffer, 64, '\n', WEFT_FOREVER), 3); /* the last piece as it is */
    want(memcmp(buffer, "xyz", 3) == 0);
    want_int(weft_read_until(b, buffer, 64, '\n', WEFT_FOREVER), 0);
    want_int(weft_read(b, buffer, 64, WEFT_FOREVER), 0);
    close_pair(a, b);
}

START_TEST(lines_are_read_whatever_the_segments)
{
    EACH_KIND(lines);
}
END_TEST

static void exactly(void *arg)
{
    weft_stream a, b;
    char buffer[16];
    make_pair(kind_of(arg), &a, &b);
    put(a, "abc");
    want_int(weft_read_exact(b, buffer, 5, weft_after(WEFT_MS(2))), WEFT_ETIMEDOUT);
    want_int(weft_read(b, buffer, 1, WEFT_NOW), 1); /* what had come stays readable */
    want(buffer[0] == 'a');
    put(a, "defgh");
    want_int(weft_read_exact(b, buffer, 5, WEFT_FOREVER), 5);
    want(memcmp(buffer, "bcdef", 5) == 0);
    want_int(weft_read_exact(b, buffer, 0, WEFT_FOREVER), 0);
    want_int(weft_shutdown(a), 0);
    want_int(weft_read_exact(b, buffer, 5, WEFT_FOREVER), 2);
    want(memcmp(buffer, "gh", 2) == 0);
    want_int(weft_read_exact(b, buffer, 5, WEFT_FOREVER), 0);
    close_pair(a, b);
}

START_TEST(exact_reads_lose_nothing_at_the_deadline)
{
    EACH_KIND(exactly);
}
END_TEST

static void readable_again(void *arg)
{
    weft_stream a, b;
    char buffer[16];
    make_pair(kind_of(arg), &a, &b);
    weft_wait w[] = {weft_on_readable(b), weft_on_writable(b)};
    want_int(weft_wait_any(w, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(w, 2, WEFT_FOREVER), 1);
    put(a, "one\ntw");
    want_int(weft_wait_any(w, 1, WEFT_NOW), 0); /* sees it though the poller has not told yet, on the same host */
    want_line(b, 16, "one\n");
    want_int(weft_wait_any(w, 1, WEFT_NOW), 0); /* held bytes are ready */
    want_int(weft_read_until(b, buffer, 16, '\n', weft_after(WEFT_MS(1))), WEFT_ETIMEDOUT);
    want_int(weft_wait_any(w, 1, weft_after(WEFT_MS(2))), WEFT_ETIMEDOUT); /* half a line counts as seen */
    put(a, "o\n");
    want_int(weft_wait_any(w, 1, WEFT_FOREVER), 0);
    want_line(b, 16, "two\n");
    want_int(weft_wait_any(w, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_shutdown(a), 0);
    want_int(weft_wait_any(w, 1, WEFT_FOREVER), 0); /* the end is something to read */
    want_int(weft_read(b, buffer, 16, WEFT_NOW), 0);
    want_int(weft_wait_any(w, 1, WEFT_NOW), 0); /* and stays it */
    close_pair(a, b);
}

START_TEST(readable_means_that_a_read_gets_on)
{
    EACH_KIND(readable_again);
}
END_TEST

static void half_close(void *arg)
{
    weft_stream a, b;
    char buffer[16];
    make_pair(kind_of(arg), &a, &b);
    put(a, "ask");
    want_int(weft_shutdown(a), 0);
    want_int(weft_read(b, buffer, 16, WEFT_FOREVER), 3);
    want_int(weft_read(b, buffer, 16, WEFT_FOREVER), 0);
    put(b, "answer");
    want_int(weft_read(a, buffer, 16, WEFT_FOREVER), 6);
    want_int(weft_close(b), 0);
    want_int(weft_read(a, buffer, 16, WEFT_FOREVER), 0);
    want_int(weft_close(a), 0);
}

START_TEST(a_side_may_end_its_writing_and_read_on)
{
    EACH_KIND(half_close);
}
END_TEST

static bool is_reset(int64_t n)
{
#ifdef _WIN32
    if (n == 0) return true; /* wine 8 says of a connection that was reset that it has ended */
#endif
    return n == WEFT_ERESET;
}

static void broken(void *arg)
{
    weft_stream a, b;
    char buffer[16];
    make_pair(kind_of(arg), &a, &b);
    put(b, "never read");
    weft_wait w = weft_on_readable(a);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    want_int(weft_close(a), 0); /* with bytes unread: a reset */
    want(is_reset(weft_read(b, buffer, 16, WEFT_FOREVER)));
    want(is_reset(weft_read(b, buffer, 16, WEFT_FOREVER))); /* for good */
    want_int(weft_write(b, "x", 1, WEFT_FOREVER), WEFT_ERESET);
    w = weft_on_readable(b);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    want_int(weft_close(b), 0);
}

static void broken_while_watched(void *arg)
{
    weft_stream a, b;
    char buffer[16];
    make_pair(kind_of(arg), &a, &b);
    put(b, "never read");
    weft_wait w = weft_on_readable(a);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    want_int(weft_read(b, buffer, 16, weft_after(1)), WEFT_ETIMEDOUT); /* the poller knows b from here on */
    want_int(weft_close(a), 0);
    w = weft_on_readable(b);
    want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    want(is_reset(weft_read(b, buffer, 16, WEFT_FOREVER)));
    want(is_reset(weft_read(b, buffer, 16, WEFT_FOREVER)));
    want_int(weft_close(b), 0);
}

START_TEST(a_poller_that_sees_a_reset_does_not_make_it_an_end)
{
    EACH_KIND(broken_while_watched);
}
END_TEST

START_TEST(a_broken_connection_is_reset)
{
    EACH_KIND(broken);
}
END_TEST

static void formatted(void *arg)
{
    weft_stream a, b;
    make_pair(kind_of(arg), &a, &b);
    char *large = malloc(70000), *got = malloc(70000);
    want(large != NULL && got != NULL);
    memset(large, 'x', 69999);
    large[69999] = 0;
    want_int(weft_printf(a, WEFT_FOREVER, "%s %d\n", "number", 7), 9);
    want_line(b, 16, "number 7\n");
    want_int(weft_printf(a, WEFT_FOREVER, "%s", large), WEFT_ETOOBIG);
    large[20000] = 0;
    want_int(weft_printf(a, WEFT_FOREVER, "%s|", large), 20001);
    want_int(weft_read_exact(b, got, 20001, WEFT_FOREVER), 20001);
    want(memcmp(got, large, 20000) == 0 && got[20000] == '|');
    free(large);
    free(got);
    close_pair(a, b);
}

START_TEST(printf_formats_then_writes)
{
    EACH_KIND(formatted);
}
END_TEST

/* ---- How calls end ---- */
/* A connection that is full may have space again a little later, when the kernel has moved what it holds. This is more
 * than it ever has. */
enum { NEVER_FITS = 64 * 1024 * 1024 };

static void endings(void *arg)
{
    weft_stream a, b;
    char buffer[1024] = {0}, *large = calloc(1, NEVER_FITS);
    want(large != NULL);
    make_pair(kind_of(arg), &a, &b);
    for (int what = READ; what <= READ_UNTIL; what++) {
        struct call c = {.what = (enum call_kind)what, .stream = b, .buffer = buffer, .size = sizeof buffer};
        check_endings(&c);
    }
    struct call wait = {.what = WAIT_READABLE, .stream = b};
    check_endings(&wait);
    struct call c = {.what = WRITE, .stream = a, .buffer = large, .size = NEVER_FITS};
    check_endings(&c);
    free(large);
    want(((struct wf_stream *)wf_slab_find(&wf_here->streams, a.id))->socket.user[1] == NULL);
    close_pair(a, b);
}

START_TEST(every_call_ends_at_deadline_cancel_and_kill)
{
    EACH_KIND(endings);
}
END_TEST

static void closing(void *arg)
{
    char *buffer = calloc(1, NEVER_FITS);
    want(buffer != NULL);
    for (int what = READ; what <= WAIT_READABLE; what++) {
        if (what == ACCEPT || what == CONNECT) continue;
        weft_stream a, b;
        make_pair(kind_of(arg), &a, &b);
        struct call c = {.what = (enum call_kind)what,
                         .stream = a,
                         .buffer = buffer,
                         .size = what == WRITE ? NEVER_FITS : 1024,
                         .deadline = WEFT_FOREVER};
        struct test_task *t = spawn_here(do_call, &c);
        until(is_waiting(t));
        int64_t second = what == WRITE ? weft_write(a, buffer, 1, WEFT_NOW) : weft_read(a, buffer, 1, WEFT_NOW);
        want_int(second, WEFT_EBUSY);
        want_int(weft_close(a), 0);
        want_int(weft_close(a), WEFT_ECLOSED);
        until(t->done);
        want_int(c.result, WEFT_ECLOSED);
        want_int(weft_close(b), 0);
        want_int(wf_here->streams.used, 0);
    }
    free(buffer);
}

START_TEST(closing_wakes_who_waits_and_a_second_waiter_is_refused)
{
    EACH_KIND(closing);
}
END_TEST

static void stale(void *arg)
{
    weft_stream a, b, c, d;
    char buffer[WEFT_ADDRESS_TEXT];
    make_pair(kind_of(arg), &a, &b);
    close_pair(a, b);
    make_pair(kind_of(arg), &c, &d); /* in the same slots */
    weft_stream old[] = {a, b, {0}, {UINT64_MAX}, {0x00000001FF000000}};
    for (size_t i = 0; i < WF_COUNT(old); i++) {
        weft_slice slice = {buffer, 1};
        want_int(weft_read(old[i], buffer, 1, WEFT_FOREVER), WEFT_ECLOSED);
        want_int(weft_read_exact(old[i], buffer, 1, WEFT_FOREVER), WEFT_ECLOSED);
        want_int(weft_read_until(old[i], buffer, 1, 'x', WEFT_FOREVER), WEFT_ECLOSED);
        want_int(weft_write(old[i], buffer, 1, WEFT_FOREVER), WEFT_ECLOSED);
        want_int(weft_writev(old[i], &slice, 1, WEFT_FOREVER), WEFT_ECLOSED);
        want_int(weft_printf(old[i], WEFT_FOREVER, "x"), WEFT_ECLOSED);
        want_int(weft_shutdown(old[i]), WEFT_ECLOSED);
        want_int(weft_stream_peer(old[i], buffer, sizeof buffer), WEFT_ECLOSED);
        want_int(weft_close(old[i]), WEFT_ECLOSED);
    }
    want_int(weft_stream_peer(c, buffer, sizeof buffer), 0);
    want_int(weft_read(c, buffer, 1, WEFT_NOW), WEFT_ETIMEDOUT); /* the new ones were not touched */
    want_int(weft_defer_close(c), 0);
    want_int(weft_defer_close(d), 0);
}

static void outlives(void *arg)
{
    struct test_task *t = spawn_here(stale, arg);
    until(t->done);
    want_int(wf_here->streams.used, 0); /* deferred closes have run */
}

START_TEST(stale_handles_say_closed)
{
    EACH_KIND(outlives);
    char byte = 0;
    weft_stream s = {1};
    want_int(weft_read(s, &byte, 1, WEFT_NOW), WEFT_ENOTACTOR);
    want_int(weft_write(s, &byte, 1, WEFT_NOW), WEFT_ENOTACTOR);
    want_int(weft_connect(&s, "127.0.0.1:1", WEFT_NOW), WEFT_ENOTACTOR);
    want_int(weft_close(s), WEFT_ENOTACTOR);
    want_int(weft_defer_close(s), WEFT_ENOTACTOR);
}
END_TEST

static void count_up(void *arg)
{
    ++*(int *)arg;
}

static void busy(void *arg)
{
    weft_stream a, b;
    make_pair(kind_of(arg), &a, &b);
    int others = 0;
    spawn_here(count_up, &others);
    char byte = 'x';
    for (int i = 0; i < 4 * WF_TASK_BUDGET * WF_TURN_BUDGET && others == 0; i++) { /* never has to wait */
        want_int(weft_write(a, &byte, 1, WEFT_FOREVER), 1);
        want_int(weft_read_exact(b, &byte, 1, WEFT_FOREVER), 1);
    }
    want_int(others, 1);
    close_pair(a, b);
}

START_TEST(a_busy_stream_does_not_starve_others)
{
    static enum transport kind = UNIX; /* what was written is there at once */
    run_alone(busy, &kind);
}
END_TEST

TEST_MAIN("stream", large_transfers_go_both_ways_at_once, many_slices_arrive_whole_and_in_order,
          lines_are_read_whatever_the_segments, exact_reads_lose_nothing_at_the_deadline,
          readable_means_that_a_read_gets_on, a_side_may_end_its_writing_and_read_on, a_broken_connection_is_reset,
          a_poller_that_sees_a_reset_does_not_make_it_an_end, printf_formats_then_writes,
          every_call_ends_at_deadline_cancel_and_kill, closing_wakes_who_waits_and_a_second_waiter_is_refused,
          stale_handles_say_closed, a_busy_stream_does_not_starve_others)
