/* Actors that one node starts on another by name: their arguments, refusals and their reasons, and that no end is
 * missed and no actor is left behind. */
#include "transport_harness.h"

enum { HELLO = 1, LIMIT = 10 };

static weft_node *na, *nb;

#define ROOM_ARGS(F) F(str, topic) F(uint, places) F(list(int), numbers)
WEFT_STRUCT(room_args, ROOM_ARGS)
/* Another version of the struct, as it might look like. */
#define WRONG_ARGS(F) F(str, topic) F(str, places)
WEFT_STRUCT(wrong_args, WRONG_ARGS)

static void room(const struct room_args *args)
{
    weft_list_int numbers = args->numbers;
    int64_t sum = 0;
    weft_msg *m;
    for (int64_t n; weft_int_next(&numbers, &n);) sum += n;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        char text[64];
        int size = snprintf(text, sizeof text, "%s %.*s %d %d", weft_node_name(weft_here()), WEFT_STR(args->topic),
                            (int)args->places, (int)sum);
        (void)weft_reply(m, HELLO, text, (size_t)size);
        weft_msg_free(m);
    }
}
WEFT_EXPORT_ACTOR("test.room", room, room_args)

static void ends(const void *arg, size_t size)
{
    weft_exit(size == 1 ? *(const unsigned char *)arg : 17);
}
WEFT_EXPORT_PLAIN("test.ends", ends)

static void stays(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}
WEFT_EXPORT_PLAIN("test.stays", stays)

static void setup(void)
{
    forget_all();
    nb = node_with((weft_node_options){.name = "b", .workers = 3, .remote_actors_max = LIMIT}, "tcp://127.0.0.1:0",
                   NULL);
    na = node_up("a", NULL, weft_node_url(nb, 0), 0);
    watch(na);
    HEAR("a up b");
}

static void teardown(void)
{
    node_down(na);
    node_down(nb);
}

/* ---- What is started, and what is not -------------------------------------------------------------------------- */

static const int64_t some[] = {1, 2, 3};

static void meets(const void *arg, size_t size)
{
    const char *node = arg;
    (void)size;
    struct room_args args = {.topic = weft_cstr("tea"), .places = 40, .numbers = weft_int_list(some, 3)};
    weft_pid pid = weft_nobody();
    int rc = weft_spawn_on(node[0] == 0 ? NULL : node, "test.room", &pid, WEFT_ARGS(room_args, &args), NULL);
    weft_msg *m;
    if (rc == WEFT_OK) rc = weft_call(pid, HELLO, NULL, 0, &m, patience());
    if (rc < 0) {
        say("spawn on %s: %d", node, rc);
        return;
    }
    say("met %.*s", (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
    say("stopped %d", weft_stop(pid));
}

START_TEST(an_actor_starts_there_with_its_arguments)
{
    run_actor(na, meets, "b", 2);
    HEAR("met b tea 40 6");
    run_actor(na, meets, "a", 2);
    HEAR("met a tea 40 6");
    run_actor(nb, meets, "", 1);
    ck_assert_int_ge(heard("met b tea 40 6", 2), 2);
    run_actor(nb, meets, "a", 2);
    ck_assert_int_ge(heard("met a tea 40 6", 2), 2);
    ck_assert_int_eq(heard("stopped 0", 4), 4);
}
END_TEST

static void refused(const char *node, const char *actor, const struct weft_type_info *type, const void *args)
{
    struct weft_why why = {0};
    weft_pid pid = weft_nobody();
    weft_remote_options o = {.why = &why};
    int rc = weft_spawn_on(node, actor, &pid, type, args, &o);
    say("%s", weft_pid_is_nobody(pid) ? weft_error_name(rc) : "a pid");
    say("%s", why.error == rc ? why.text : "another error");
}

static void is_refused(const void *arg, size_t size)
{
    static char large[WEFT_REMOTE_ARGS_MAX + 1];
    (void)arg, (void)size;
    struct room_args good = {.topic = weft_cstr("x")};
    struct room_args big = {.topic = weft_str(large, sizeof large)};
    struct wrong_args wrong = {weft_cstr("x"), weft_cstr("many")};
    refused("b", "test.nothing", WEFT_NO_ARGS);
    refused("b", "test.room", WEFT_ARGS(wrong_args, &wrong));
    refused("b", "test.room", WEFT_NO_ARGS);
    refused(NULL, "test.room", WEFT_ARGS(wrong_args, &wrong));
    refused("c", "test.room", WEFT_ARGS(room_args, &good));
    refused("b", "test.room", WEFT_ARGS(room_args, &big));
    refused("b", NULL, WEFT_NO_ARGS);
    refused("b", "a.name.that.is.longer.than.any.name.that.an.actor.is.exported.under", WEFT_NO_ARGS);
    say("done");
}

START_TEST(a_refused_spawn_says_why)
{
    run_actor(na, is_refused, NULL, 0);
    HEAR("done");
    ck_assert_int_eq(heard("WEFT_ENOACTOR", 2), 2);
    HEAR("node b exports no actor test.nothing");
    HEAR("no actor is exported under a name of 67 bytes");
    ck_assert_int_eq(heard("WEFT_EFORMAT", 3), 3);
    ck_assert_int_eq(heard("room_args.places: expected uint, got str", 2), 2);
    ck_assert_int_eq(heard("WEFT_ENONODE", 1), 1);
    HEAR("not linked with a node c");
    ck_assert_int_eq(heard("WEFT_ETOOBIG", 1), 1);
    ck_assert_int_eq(heard("WEFT_EINVAL", 1), 1);
    ck_assert_int_eq(heard("a pid", 0), 0);
    ck_assert_int_eq(heard("another error", 0), 0);
}
END_TEST

START_TEST(a_name_is_exported_once)
{
    static struct weft_export again = {.name = "test.room", .body = stays};
    static struct weft_export bad = {.name = "no name", .body = stays};
    ck_assert_int_eq(weft_export_actor(&again), WEFT_EEXIST);
    ck_assert_int_eq(weft_export_actor(&bad), WEFT_EINVAL);
    ck_assert_int_eq(weft_export_actor(NULL), WEFT_EINVAL);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------------------------ */

static void hears_ends(const void *arg, size_t size)
{
    const char *node = arg;
    (void)size;
    int good = 0;
    (void)weft_trap_exits(true);
    for (int i = 0; i < 200; i++) {
        unsigned char reason = (unsigned char)(20 + i % 50);
        weft_monitor_ref ref = {0};
        weft_pid pid = weft_nobody();
        weft_remote_options o = {.link = i % 2 == 0, .monitor = i % 3 == 0 || i % 2 == 1 ? &ref : NULL};
        int rc = weft_spawn_packed_on(node, "test.ends", &pid, &reason, 1, &o);
        if (rc < 0) say("spawn %d", rc);
        for (int k = 0; k < o.link + (o.monitor != NULL); k++) {
            struct weft_down d = {0};
            weft_msg *m;
            rc = weft_recv(&m, patience());
            if (rc < 0) {
                say("news %d", rc);
                return;
            }
            rc = weft_down_read(m, &d);
            good += rc == WEFT_OK && d.reason == reason && weft_pid_equal(d.who, pid) &&
                    (weft_tag(m) == WEFT_TAG_EXIT || d.ref.id == ref.id);
            weft_msg_free(m);
        }
    }
    weft_msg *m;
    say("%s good %d, then %d", node, good, weft_recv(&m, WEFT_NOW));
}

START_TEST(an_end_is_never_missed)
{
    /* 100 links, of these 34 with a monitor; 100 monitors. */
    run_actor(na, hears_ends, "b", 2);
    HEAR("b good 234, then -3");
    run_actor(na, hears_ends, "a", 2);
    HEAR("a good 234, then -3");
}
END_TEST

static void fails_alone(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_remote_options o = {.link = true};
    (void)weft_spawn_on("b", "test.stays", NULL, WEFT_NO_ARGS, &o);
    say("will fail");
    weft_exit(42);
}

static void fills(const void *arg, size_t size)
{
    weft_pid pid[LIMIT + 1];
    (void)arg, (void)size;
    for (int i = 0; i < LIMIT; i++) {
        int rc;
        while ((rc = weft_spawn_on("b", "test.stays", &pid[i], WEFT_NO_ARGS, NULL)) == WEFT_EFULL) (void)weft_yield();
        if (rc < 0) say("spawn %d", rc);
    }
    refused("b", "test.stays", WEFT_NO_ARGS);
    for (int i = 0; i < LIMIT; i++) (void)weft_stop(pid[i]);
    say("filled");
}

START_TEST(an_actor_started_elsewhere_with_a_link_ends_with_its_spawner)
{
    /* Were one of them left behind the node would be full too early, and these would try for ever. */
    for (int i = 0; i < LIMIT; i++) run_actor(na, fails_alone, NULL, 0);
    ck_assert_int_eq(heard("will fail", LIMIT), LIMIT);
    run_actor(na, fills, NULL, 0);
    HEAR("filled");
    ck_assert_int_eq(heard("WEFT_EFULL", 1), 1);
    HEAR("10 actors that it has started live on node b");
    ck_assert_int_eq(heard("spawn", 0), 0);
}
END_TEST

static void is_impatient(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int late = 0;
    for (int i = 0; i < 50; i++) {
        weft_monitor_ref ref;
        weft_remote_options o = {.deadline = 1, .monitor = &ref, .link = true};
        weft_pid pid;
        int rc = weft_spawn_on("b", "test.stays", &pid, WEFT_NO_ARGS, &o);
        late += rc == WEFT_ETIMEDOUT;
        if (rc != WEFT_OK) continue; /* the answer came with the deadline */
        (void)weft_demonitor(ref);
        (void)weft_unlink(pid);
        (void)weft_kill(pid);
    }
    say("late %d", late > 0);
    weft_msg *m;
    say("news %d", weft_recv(&m, WEFT_NOW));
}

START_TEST(a_spawner_that_gives_up_leaves_no_actor_behind)
{
    run_actor(na, is_impatient, NULL, 0);
    HEAR("late 1");
    HEAR("news -3");
    run_actor(na, fills, NULL, 0);
    HEAR("filled");
    ck_assert_int_eq(heard("WEFT_EFULL", 1), 1);
}
END_TEST

/* Its orders are all under way when it is killed. */
static void orders(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_spawn_on("b", "test.stays", NULL, WEFT_NO_ARGS, NULL);
    say("was not killed");
}

static void kills(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid[3 * LIMIT];
    weft_spawn_options here = {.worker = 1};
    for (int i = 0; i < 3 * LIMIT; i++) (void)weft_spawn(&pid[i], orders, NULL, 0, &here);
    (void)weft_yield(); /* they ask; what comes from the network is looked at later */
    for (int i = 0; i < 3 * LIMIT; i++) (void)weft_kill(pid[i]);
    say("killed");
}

START_TEST(a_spawner_killed_while_it_waits_leaves_no_actor_behind)
{
    ck_assert_int_eq(weft_node_spawn(na, NULL, kills, NULL, 0, &(weft_spawn_options){.worker = 1}), WEFT_OK);
    HEAR("killed");
    run_actor(na, fills, NULL, 0);
    HEAR("filled");
    ck_assert_int_eq(heard("WEFT_EFULL", 1), 1);
    ck_assert_int_eq(heard("was not killed", 0), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("far");
    TCase *t = tcase_create("far");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, an_actor_starts_there_with_its_arguments);
    tcase_add_test(t, a_refused_spawn_says_why);
    tcase_add_test(t, a_name_is_exported_once);
    tcase_add_test(t, an_end_is_never_missed);
    tcase_add_test(t, an_actor_started_elsewhere_with_a_link_ends_with_its_spawner);
    tcase_add_test(t, a_spawner_that_gives_up_leaves_no_actor_behind);
    tcase_add_test(t, a_spawner_killed_while_it_waits_leaves_no_actor_behind);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
