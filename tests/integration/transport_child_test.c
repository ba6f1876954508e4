/* Children of a supervisor, and members of a pool, that live on other nodes: they start on the first node of their
 * list that can start them, end as local ones do, and are stopped and killed with their supervisor. */
#include "transport_harness.h"

enum { ECHO = 1, END = 2 };

static weft_node *na, *nb, *nc;

#define WORKER_ARGS(F) F(str, name)
WEFT_STRUCT(worker_args, WORKER_ARGS)

static void says_gone(void *arg)
{
    (void)arg;
    say("gone from %s", weft_node_name(weft_here()));
}

/* Answers with its node and its name. */
static void worker(const struct worker_args *args)
{
    (void)weft_defer(says_gone, NULL);
    say("%.*s lives on %s", WEFT_STR(args->name), weft_node_name(weft_here()));
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) == END) weft_fail(42, "told to");
        if (!weft_wants_reply(m)) continue;
        char text[100];
        int size = snprintf(text, sizeof text, "%.*s on %s", WEFT_STR(args->name), weft_node_name(weft_here()));
        (void)weft_reply(m, ECHO, text, (size_t)size);
    }
}
WEFT_EXPORT_ACTOR("test.worker", worker, worker_args)

static void setup(void)
{
    forget_all();
    nb = node_up("b", "tcp://127.0.0.1:0", NULL, 0);
    nc = node_up("c", "tcp://127.0.0.1:0", weft_node_url(nb, 0), 0);
    na = node_up("a", NULL, weft_node_url(nb, 0), 0);
    watch(na);
    HEAR("a up b");
    HEAR("a up c");
}

static void teardown(void)
{
    node_down(na);
    if (nb != NULL) node_down(nb);
    node_down(nc);
}

static size_t place(char *out, size_t size)
{
    static const char *const nodes[] = {"b", "c"};
    struct worker_args args = {weft_cstr("ann")};
    int64_t n = weft_remote_place(out, size, nodes, 2, "test.worker", WEFT_ARGS(worker_args, &args));
    ck_assert_int_gt(n, 0);
    return (size_t)n;
}

static void supervises(const void *arg, size_t size)
{
    weft_child_spec child = {
        .name = "ann", .body = weft_remote_child, .arg = arg, .arg_size = size, .await_ready = true};
    weft_supervisor_spec s = {.children = &child,
                              .child_count = 1,
                              .max_restarts = 1000,
                              .backoff_min = WEFT_MS(1),
                              .backoff_max = WEFT_MS(20)};
    (void)weft_supervise(&s);
}

/* Asks by the name that the supervisor has given it, until somebody answers. */
static void asks(const void *arg, size_t size)
{
    weft_msg *m;
    int rc;
    (void)arg, (void)size;
    while ((rc = weft_call_name("ann", ECHO, NULL, 0, &m, patience())) < 0 && rc != WEFT_ECANCELED)
        (void)weft_yield();
    if (rc < 0) return;
    say("answer %.*s", (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
}

static void ends_it(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_send_name("ann", END, NULL, 0);
}

static void stops(const void *arg, size_t size)
{
    weft_pid pid;
    memcpy(&pid, arg, size);
    (void)weft_stop(pid);
}

static weft_pid start(void)
{
    char at[200];
    weft_pid supervisor;
    size_t size = place(at, sizeof at);
    ck_assert_int_eq(weft_node_spawn(na, &supervisor, supervises, at, size, NULL), WEFT_OK);
    HEAR("ann lives on b");
    return supervisor;
}

START_TEST(a_child_elsewhere_is_like_any_other)
{
    weft_pid supervisor = start();
    run_actor(na, asks, NULL, 0);
    HEAR("answer ann on b");
    run_actor(na, ends_it, NULL, 0);
    HEAR("gone from b");
    ck_assert_int_ge(heard("ann lives on b", 2), 2); /* on the same node, which is up */
    run_actor(na, stops, &supervisor, sizeof supervisor);
    ck_assert_int_ge(heard("gone from b", 2), 2);
    ck_assert_int_eq(heard("ann lives on c", 0), 0);
}
END_TEST

START_TEST(a_child_moves_when_its_node_is_down)
{
    (void)start();
    node_down(nb);
    nb = NULL;
    HEAR("ann lives on c");
    run_actor(na, asks, NULL, 0);
    HEAR("answer ann on c");
}
END_TEST

START_TEST(a_child_ends_with_the_node_of_its_supervisor)
{
    (void)start();
    node_down(na);
    HEAR("gone from b");
    na = node_up("a", NULL, weft_node_url(nb, 0), 0);
}
END_TEST

/* ---- Pools ----------------------------------------------------------------------------------------------------- */

static void asks_pool(const void *arg, size_t size)
{
    weft_pid pool;
    weft_pool_options o = {.count = 3};
    int rc = weft_spawn_pool(&pool, weft_remote_child, arg, size, &o), good = 0;
    for (int i = 0; i < 30 && rc == WEFT_OK; i++) {
        weft_msg *m;
        rc = weft_call(pool, ECHO, NULL, 0, &m, patience());
        if (rc < 0) break;
        good += weft_size(m) == 8 && memcmp(weft_data(m), "ann on b", 8) == 0;
        weft_msg_free(m);
    }
    say("pool %d %d", good, rc);
    (void)weft_stop(pool);
}

START_TEST(members_of_a_pool_live_elsewhere)
{
    char at[200];
    size_t size = place(at, sizeof at);
    run_actor(na, asks_pool, at, size);
    HEAR("pool 30 0");
    ck_assert_int_eq(heard("ann lives on b", 3), 3);
    ck_assert_int_eq(heard("gone from b", 3), 3);
}
END_TEST

START_TEST(bad_arguments_of_a_remote_place_are_refused)
{
    char at[200];
    static const char *const nodes[] = {"b"};
    struct worker_args args = {weft_cstr("ann")};
    ck_assert_int_eq(weft_remote_place(at, sizeof at, NULL, 0, "x", WEFT_NO_ARGS), WEFT_EINVAL);
    ck_assert_int_eq(weft_remote_place(at, sizeof at, nodes, 1, NULL, WEFT_NO_ARGS), WEFT_EINVAL);
    ck_assert_int_eq(weft_remote_place(at, 5, nodes, 1, "test.worker", WEFT_ARGS(worker_args, &args)), WEFT_ETOOBIG);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("child");
    TCase *t = tcase_create("child");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_child_elsewhere_is_like_any_other);
    tcase_add_test(t, a_child_moves_when_its_node_is_down);
    tcase_add_test(t, a_child_ends_with_the_node_of_its_supervisor);
    tcase_add_test(t, members_of_a_pool_live_elsewhere);
    tcase_add_test(t, bad_arguments_of_a_remote_place_are_refused);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
