/* The limits of a peer per second: a peer above its limit is slowed down and loses nothing; far too much at once ends
 * the link; too many spawns are refused. And identities without certificates: an incarnation belongs to one name. */
#include "cluster.h"
#include "peers.h"
#include "transport.h"
#include "transport_harness.h"

#include <stdatomic.h>

static weft_node *limited, *other;

static void start(uint64_t frames, uint64_t bytes, uint64_t spawns)
{
    weft_node_options o = {.name = "n", .peer_frames = frames, .peer_bytes = bytes, .peer_spawns = spawns};
    forget_all();
    limited = node_with(o, "tcp://127.0.0.1:0", NULL);
    watch(limited);
    other = node_up("m", NULL, weft_node_url(limited, 0), WEFT_SEC(5));
    watch(other);
    HEAR("m up n");
    HEAR("n up m");
}

static void stop(void)
{
    node_down(other);
    node_down(limited);
}

/* Reads how node n has counted its peer m. */
static void usage(int64_t *slowed, uint64_t *refused)
{
    struct wf_transport *t = limited->transport;
    *slowed = 0;
    *refused = 0;
    pf_mutex_lock(t->lock);
    WF_LIST_EACH(k, &t->cluster->peers) {
        struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
        if (p->link == NULL) continue;
        *slowed += atomic_load(&p->link->usage.slowed);
        *refused += atomic_load(&p->link->refused);
    }
    pf_mutex_unlock(t->lock);
}

/* Takes as many messages as its argument says; each has the next number. */
static void counter(const void *arg, size_t size)
{
    int wanted, next = 0;
    memcpy(&wanted, arg, size);
    weft_register("counter");
    say("counting");
    weft_msg *m;
    while (next < wanted && weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if ((int)weft_tag(m) != next) say("out of order");
        if (++next == wanted - 1) say("all but one");
        weft_msg_free(m);
    }
    say("counted %d", next);
}

struct burst {
    int first, count;
    size_t size;
};

static void burst(const void *arg, size_t size)
{
    struct burst b;
    static char body[65536];
    memcpy(&b, arg, size);
    for (int i = 0; i < b.count; i++)
        if (weft_send_name("counter@n", (uint32_t)(b.first + i), body, b.size) != WEFT_OK) say("send failed");
    say("sent");
}

/* And one more behind them, which is read only when what they have cost is paid. Returns how long that took. */
static int64_t send_all(int count, size_t size)
{
    int64_t start_at = weft_now();
    struct burst all = {0, count, size}, last = {count, 1, size};
    int wanted = count + 1;
    char counted[32];
    snprintf(counted, sizeof counted, "counted %d", wanted);
    run_actor(limited, counter, &wanted, sizeof wanted);
    HEAR("counting");
    run_actor(other, burst, &all, sizeof all);
    HEAR("all but one");
    run_actor(other, burst, &last, sizeof last);
    HEAR(counted);
    return weft_now() - start_at;
}

START_TEST(too_many_frames_are_slowed)
{
    int64_t slowed;
    uint64_t refused;
    start(2000, 0, 0);
    /* 3000 frames at 2000 a second, of which a second's worth may come at once. */
    ck_assert_int_ge(send_all(3000, 8), WEFT_MS(500));
    ck_assert_int_eq(heard("out of order", 0), 0);
    usage(&slowed, &refused);
    ck_assert_int_gt(slowed, 0);
    ck_assert_uint_eq(refused, 0);
    stop();
}
END_TEST

START_TEST(too_many_bytes_are_slowed)
{
    start(0, 2000000, 0);
    /* 2.87 MB at 2 MB a second, of which a second's worth may come at once. */
    ck_assert_int_ge(send_all(700, 4096), WEFT_MS(400));
    stop();
}
END_TEST

START_TEST(within_the_limit_nobody_is_slowed)
{
    int64_t slowed;
    uint64_t refused;
    start(1000000, 1000000000, 1000000);
    send_all(5000, 8);
    usage(&slowed, &refused);
    ck_assert_int_eq(slowed, 0);
    ck_assert_uint_eq(refused, 0);
    stop();
}
END_TEST

START_TEST(far_too_much_ends_the_link)
{
    start(0, 1000, 0);
    struct burst b = {0, 1, 60000};
    run_actor(other, burst, &b, sizeof b);
    HEAR("n down m: connection lost: over 30 times the limit of 1000 bytes a second");
    HEAR("m down n");
    stop();
}
END_TEST

static void child(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
}
WEFT_EXPORT_PLAIN("limits.child", child)

static _Atomic int refused_spawns;

static void spawner(const void *arg, size_t size)
{
    (void)arg;
    (void)size;
    int good = 0, full = 0;
    int64_t start_at = weft_now();
    for (int i = 0; i < 20; i++) {
        weft_pid pid;
        int rc = weft_spawn_packed_on("n", "limits.child", &pid, NULL, 0, NULL);
        if (rc == WEFT_OK) good++;
        else if (rc == WEFT_EFULL) full++;
        else say("spawn: %s", weft_error_name(rc));
    }
    /* Four at once, and four in each second that it took. */
    int most = 5 + (int)(4 * (weft_now() - start_at) / WEFT_SEC(1));
    atomic_store(&refused_spawns, full);
    say("spawned %s", good >= 4 && good <= most && good + full == 20 ? "as many as allowed" : "otherwise");
}

START_TEST(too_many_spawns_are_refused)
{
    int64_t slowed;
    uint64_t refused;
    start(0, 0, 4);
    run_actor(other, spawner, NULL, 0);
    HEAR("spawned as many as allowed");
    usage(&slowed, &refused);
    ck_assert_int_eq((int)refused, atomic_load(&refused_spawns));
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport limits");
    TCase *t = tcase_create("limits");
    tcase_add_test(t, too_many_frames_are_slowed);
    tcase_add_test(t, too_many_bytes_are_slowed);
    tcase_add_test(t, within_the_limit_nobody_is_slowed);
    tcase_add_test(t, far_too_much_ends_the_link);
    tcase_add_test(t, too_many_spawns_are_refused);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
