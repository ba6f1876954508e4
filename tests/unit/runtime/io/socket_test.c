#include "../streams.h"

/* ---- Handing a stream from worker to worker ---- */
enum { BYTES = 400000, HOPS_EVERY = 997 };

struct relay {
    weft_stream stream;
    size_t at;
    uint32_t worker;
};

static unsigned char pattern(size_t at)
{
    return (unsigned char)((at * 131 + at / 256) & 0xFF);
}

static void send_bytes(void *arg)
{
    weft_stream s = *(weft_stream *)arg;
    unsigned char data[500];
    for (size_t at = 0; at < BYTES; at += sizeof data) {
        for (size_t i = 0; i < sizeof data; i++) data[i] = pattern(at + i);
        want_int(weft_write(s, data, sizeof data, WEFT_FOREVER), sizeof data);
    }
    want_int(weft_close(s), 0);
}

/* Reads a piece on this worker, then the next one does so elsewhere, while bytes go on arriving. */
static void read_and_pass(void *arg)
{
    struct relay *r = arg;
    unsigned char data[HOPS_EVERY];
    weft_wait w = weft_on_readable(r->stream);
    if (r->at % 2 == 0) want_int(weft_wait_any(&w, 1, WEFT_FOREVER), 0);
    int64_t n = weft_read(r->stream, data, sizeof data, WEFT_FOREVER);
    want(n >= 0);
    for (size_t i = 0; i < (size_t)n; i++) want_int(data[i], pattern(r->at + i));
    r->at += (size_t)n;
    if (n == 0) {
        want_int(r->at, BYTES);
        want_int(weft_close(r->stream), 0);
        return;
    }
    r->worker = (r->worker + 1) % harness_here()->set.count;
    harness_spawn(harness_here(), r->worker, read_and_pass, r);
}

static struct relay relay;
static weft_stream source;

static void begin_relay(void *arg)
{
    make_pair(*(enum transport *)arg, &source, &relay.stream);
    spawn_here(send_bytes, &source);
    relay.at = relay.worker = 0;
    spawn_here(read_and_pass, &relay);
}

/* Slots and registrations come back by posts; if one is missing this does not end. */
static void all_went_home(void *arg)
{
    (void)arg;
    until(wf_here->streams.used == 0 && wf_here->fds.used == 0);
}

static void relay_over(enum transport kind)
{
    struct harness h;
    harness_start(&h, 3);
    harness_spawn(&h, 0, begin_relay, &kind);
    harness_join(&h);
    for (uint32_t i = 0; i < 3; i++) harness_spawn(&h, i, all_went_home, NULL);
    harness_stop(&h);
}

START_TEST(no_byte_is_lost_when_other_workers_adopt_a_stream)
{
    relay_over(TCP);
    relay_over(UNIX);
}
END_TEST

/* ---- Closing from elsewhere ---- */
static struct call reading;
static char buffer[16];
static weft_stream other_end;
static _Atomic int step; /* sequentially consistent: hands the variables above on */

static void open_and_read(void *arg)
{
    (void)arg;
    make_pair(TCP, &reading.stream, &other_end);
    reading.what = READ;
    reading.buffer = buffer;
    reading.size = sizeof buffer;
    reading.deadline = WEFT_FOREVER;
    struct test_task *t = spawn_here(do_call, &reading);
    until(is_waiting(t));
    atomic_store(&step, 1);
    until(t->done);
    want_int(reading.result, WEFT_ECLOSED);
    want_int(weft_close(other_end), 0);
}

static void close_elsewhere(void *arg)
{
    (void)arg;
    while (atomic_load(&step) != 1) wf_task_yield();
    char byte;
    want_int(weft_read(reading.stream, &byte, 1, WEFT_FOREVER), WEFT_EBUSY);
    want_int(weft_close(reading.stream), 0);
    want_int(weft_close(reading.stream), WEFT_ECLOSED);
    want_int(weft_read(reading.stream, &byte, 1, WEFT_FOREVER), WEFT_ECLOSED);
}

START_TEST(closing_on_another_worker_wakes_who_waits)
{
    struct harness h;
    for (int i = 0; i < 50; i++) {
        atomic_store(&step, 0);
        harness_start(&h, 2);
        harness_spawn(&h, 0, open_and_read, NULL);
        harness_spawn(&h, 1, close_elsewhere, NULL);
        harness_stop(&h);
    }
}
END_TEST

/* The handle goes first, so the end that the peer's close makes belongs to nobody's stream any more. */
enum { ROUNDS = 300 };
static _Atomic uint64_t read_elsewhere;

static void read_until_closed(void *arg)
{
    (void)arg;
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&step) != round) wf_task_yield();
        weft_stream s = {atomic_load(&read_elsewhere)};
        char byte;
        int64_t n = weft_read(s, &byte, 1, WEFT_NOW);
        atomic_store(&step, -round);
        while (n == WEFT_ETIMEDOUT) n = weft_read(s, &byte, 1, WEFT_NOW);
        want_int(n, WEFT_ECLOSED);
    }
}

static void close_handle_then_peer(void *arg)
{
    (void)arg;
    for (int round = 1; round <= ROUNDS; round++) {
        weft_stream s, peer;
        make_pair(UNIX, &s, &peer);
        atomic_store(&read_elsewhere, s.id);
        atomic_store(&step, round);
        while (atomic_load(&step) != -round) wf_task_yield();
        want_int(weft_close(s), 0);
        want_int(weft_close(peer), 0);
    }
}

START_TEST(a_stream_closed_elsewhere_does_not_read_as_ended)
{
    struct harness h;
    atomic_store(&step, 0);
    harness_start(&h, 2);
    harness_spawn(&h, 0, close_handle_then_peer, NULL);
    harness_spawn(&h, 1, read_until_closed, NULL);
    harness_stop(&h);
}
END_TEST

/* ---- Using one handle on all workers at once is an error, not a crash ---- */
static _Atomic uint64_t contested, peer_of_it;

static void contend(void *arg)
{
    bool closes = arg != NULL;
    for (int i = 0; i < 3000; i++) {
        weft_stream s = {atomic_load(&contested)};
        char byte;
        int64_t n = weft_read(s, &byte, 1, i % 3 == 0 ? weft_after(WEFT_US(50)) : WEFT_NOW);
        want(n == WEFT_ETIMEDOUT || n == WEFT_EBUSY || n == WEFT_ECLOSED);
        if (closes && i % 10 == 0) {
            weft_stream fresh, peer;
            want_int(weft_close(s), 0);
            want_int(weft_close((weft_stream){atomic_load(&peer_of_it)}), 0);
            make_pair(UNIX, &fresh, &peer);
            atomic_store(&peer_of_it, peer.id);
            atomic_store(&contested, fresh.id);
        }
        wf_task_yield();
    }
}

static void begin_contest(void *arg)
{
    weft_stream s, peer;
    make_pair(UNIX, &s, &peer);
    atomic_store(&contested, s.id);
    atomic_store(&peer_of_it, peer.id);
    for (uint32_t i = 0; i < 4; i++) harness_spawn(harness_here(), i % 2, contend, i == 0 ? arg : NULL);
}

START_TEST(a_contested_handle_answers_busy_or_closed)
{
    struct harness h;
    harness_start(&h, 2);
    harness_spawn(&h, 0, begin_contest, &h);
    harness_stop(&h); /* and closes what is left open */
}
END_TEST

TEST_MAIN("socket", no_byte_is_lost_when_other_workers_adopt_a_stream, closing_on_another_worker_wakes_who_waits,
          a_stream_closed_elsewhere_does_not_read_as_ended, a_contested_handle_answers_busy_or_closed)
