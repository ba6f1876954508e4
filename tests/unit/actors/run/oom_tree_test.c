/* Out of memory in features that use messages, monitors and links: supervisors, groups, waits for names. See
 * oom.h. */
#include "oom.h"
#include "../../../suite.h"

/* ---- Groups and names ------------------------------------------------------------------------------------------ */

static void member(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    if (ok(weft_group_join("all")) && k.n % 2 == 0 && ok(weft_group_leave("all"))) (void)ok(weft_group_join("all"));
    serve(NULL, 0);
}

static void groups(void)
{
    weft_pid all[8];
    char name[16];
    weft_msg *m;
    bool watching = ok(weft_group_watch("all"));
    for (int64_t i = 0; i < 6; i++) {
        struct kid k = {.n = i};
        (void)ok(weft_spawn(NULL, member, &k, sizeof k, NULL));
    }
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "group-%d", i);
        if (ok(weft_group_join(name))) want_int(weft_group_members(name, all, 8), 1);
        else want_int(weft_group_members(name, all, 8), 0);
    }
    (void)weft_settle();
    int sent = weft_group_send("all", DATA, "text", 4), there = weft_group_members("all", all, 8);
    want((sent >= 0 && sent <= there) || sent == WEFT_ENOMEM);
    if (there > 0) (void)ok(weft_stop(all[0]));
    (void)weft_settle();
    while (weft_recv(&m, WEFT_NOW) == 0) {
        struct weft_group_news news;
        want_int(weft_group_news_read(m, &news), 0);
        weft_msg_free(m);
    }
    int rc = weft_group_unwatch("all");
    want(rc == 0 || rc == WEFT_ENOMEM || (rc == WEFT_ENOACTOR && !watching));
}

static void waits_for_name(const void *arg, size_t size)
{
    weft_pid who;
    (void)arg, (void)size;
    int rc = weft_await_name("late", &who, weft_after(WEFT_SEC(1)));
    want(rc == 0 || rc == WEFT_ENOMEM || rc == WEFT_ETIMEDOUT);
}

static void awaited_names(void)
{
    for (int i = 0; i < 5; i++) (void)ok(weft_spawn(NULL, waits_for_name, NULL, 0, NULL));
    (void)weft_settle();
    if (ok(weft_register("late"))) {
        want(strcmp(weft_own_name(0), "late") == 0);
        want_int(weft_unregister("late"), 0);
    }
    (void)weft_sleep(weft_after(WEFT_SEC(2)));
}

/* ---- Supervisors ----------------------------------------------------------------------------------------------- */

static void worker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    serve(NULL, 0);
}

static void ready_worker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_ready() < 0) weft_exit(WEFT_ENOMEM);
    serve(NULL, 0);
}

static void fails_when_told(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) == 0) weft_fail(77, "told to");
}

static void top(const void *arg, size_t size)
{
    static const weft_child_spec children[] = {
        {.name = "one", .body = worker},
        {.name = "two", .body = ready_worker, .await_ready = true, .start_timeout = WEFT_SEC(1)},
        {.name = "three", .body = fails_when_told, .keep_mailbox = true, .arg = "argument", .arg_size = 8},
    };
    weft_supervisor_spec spec = {.strategy = *(const weft_strategy *)arg,
                                 .children = children,
                                 .child_count = WF_COUNT(children),
                                 .backoff_min = WEFT_MS(10)};
    (void)size;
    int rc = weft_supervise(&spec);
    want(rc == WEFT_ENOMEM || rc == WEFT_ECANCELED);
}

static void supervised(weft_strategy strategy)
{
    weft_pid sup, who;
    struct weft_child_info info[8];
    weft_child_spec more = {.name = "four", .body = worker, .restart = WEFT_TEMPORARY};
    if (!ok(weft_spawn(&sup, top, &strategy, sizeof strategy, NULL))) return;
    (void)weft_advance(WEFT_SEC(1));
    if (weft_whereis("three", &who) == 0) {
        int rc = weft_send(who, DATA, NULL, 0);
        want(rc == 0 || rc == WEFT_ENOMEM || rc == WEFT_ENOACTOR);
    }
    (void)weft_advance(WEFT_SEC(1));
    /* It may have ended for lack of memory: then there is nobody to ask. */
    int started = weft_start_child(sup, &more, NULL, weft_after(WEFT_SEC(1)));
    int count = weft_children(sup, info, 8, weft_after(WEFT_SEC(1)));
    int stopped = weft_stop_child(sup, "four", weft_after(WEFT_SEC(1)));
    if (faults.failed == 0) {
        want_int(started, 0);
        want_int(count, 4);
        want_int(info[2].restarts, 1);
        want_int(stopped, 0);
    }
    (void)weft_stop(sup);
    (void)weft_advance(WEFT_SEC(60));
}

static void one_for_one(void)
{
    supervised(WEFT_ONE_FOR_ONE);
}

static void one_for_all(void)
{
    supervised(WEFT_ONE_FOR_ALL);
}

static void rest_for_one(void)
{
    supervised(WEFT_REST_FOR_ONE);
}

/* ---- Memory that is short for a while -------------------------------------------------------------------------- */

static int lives;

/* Its end, and the request for it, need no memory: it is told by the clock. */
static void short_lived(const void *arg, size_t size)
{
    (void)arg, (void)size;
    lives++;
    (void)weft_sleep(weft_after(WEFT_SEC(1)));
    weft_fail(77, "it is over");
}

/* If it is told so, there is no memory from its start on. */
static void takes_all(const void *arg, size_t size)
{
    (void)size;
    if (*(const bool *)arg) faults_arm(0, true);
    serve(NULL, 0);
}

struct tree {
    bool from_start; /* memory is short when the second child is started first; else when it is restarted */
    int max_restarts;
};

static void tree(const void *arg, size_t size)
{
    const struct tree *t = arg;
    weft_child_spec children[] = {
        {.name = "taker", .body = takes_all, .arg = &t->from_start, .arg_size = sizeof t->from_start},
        {.name = "short", .body = short_lived, .start_timeout = WEFT_SEC(5)},
    };
    weft_supervisor_spec spec = {
        .children = children, .child_count = 2, .max_restarts = t->max_restarts, .backoff_min = WEFT_MS(10)};
    (void)size;
    (void)weft_supervise(&spec);
}

/* Starts a tree, waits for `wait` without memory. How often an allocation has failed meanwhile. */
static long starved(const struct tree *t, weft_pid *pid, int64_t wait)
{
    weft_monitor_ref ref;
    wf_here->pool.bypass = true; /* so that each block is an allocation */
    lives = 0;
    want_int(weft_spawn(pid, tree, t, sizeof *t, &(weft_spawn_options){.monitor = &ref}), 0);
    want_int(weft_settle(), 0);
    if (!t->from_start) {
        want_int(lives, 1);
        want_int(weft_advance(WEFT_SEC(1) + WEFT_MS(5)), 0); /* it has failed, and is waited for */
        faults_arm(0, true);
    }
    want_int(weft_advance(wait), 0);
    return faults_disarm();
}

/* Only one restart is allowed, and that is the one for its failure. */
static void restart_waits_for_memory_body(const void *arg, size_t size)
{
    struct weft_child_info infos[2];
    weft_pid sup;
    (void)arg, (void)size;
    want(starved(&(struct tree){.max_restarts = 1}, &sup, WEFT_SEC(2)) > 10);
    want_int(lives, 1);
    want_int(weft_children(sup, infos, 2, WEFT_FOREVER), 2);
    want_int(infos[1].state, WEFT_CHILD_WAITING);
    want_int(infos[1].reason, WEFT_ENOMEM);
    want_int(weft_advance(WEFT_MS(20)), 0);
    want_int(lives, 2);
    want_int(weft_children(sup, infos, 2, WEFT_FOREVER), 2);
    want_int(infos[1].state, WEFT_CHILD_RUNNING);
    want_int(infos[1].restarts, 1);
    want_int(weft_advance(WEFT_SEC(1)), 0); /* and that failure is one too many */
    want_int(down_now().reason, WEFT_EXIT_GAVE_UP);
}

static void first_start_waits_for_memory_body(const void *arg, size_t size)
{
    weft_pid sup;
    (void)arg, (void)size;
    want(starved(&(struct tree){.from_start = true, .max_restarts = WEFT_NO_RESTARTS}, &sup, WEFT_SEC(4)) > 10);
    want_int(lives, 0);
    want_int(weft_advance(WEFT_MS(20)), 0);
    want_int(lives, 1);
    want_int(weft_stop(sup), 0);
    want_int(weft_settle(), 0);
    want_int(down_now().reason, WEFT_EXIT_STOPPED);
}

/* The tree has not started when start_timeout has passed. */
static void memory_that_never_comes_body(const void *arg, size_t size)
{
    struct weft_child_info infos[2];
    weft_pid sup;
    (void)arg, (void)size;
    want(starved(&(struct tree){.from_start = true}, &sup, WEFT_SEC(6)) > 10);
    want_int(lives, 0);
    want_int(down_now().reason, WEFT_ENOMEM);
    want(starved(&(struct tree){.max_restarts = 2}, &sup, WEFT_SEC(6)) > 10);
    want_int(weft_advance(WEFT_MS(20)), 0);
    want_int(lives, 2);
    want_int(weft_children(sup, infos, 2, WEFT_FOREVER), 2);
    want_int(infos[1].restarts, 2); /* that counts */
    want_int(weft_kill(sup), 0);
    want_int(weft_settle(), 0);
    want_int(down_now().reason, WEFT_EXIT_KILLED);
}

static void play(weft_actor *body)
{
    weft_log_set(WEFT_SILENT, false);
    ck_assert_msg(weft_test_run(body, NULL, 0, NULL) == 0, "%s", weft_test_report());
}

#define PLAY(name)         \
    START_TEST(name)       \
    {                      \
        play(name##_body); \
    }                      \
    END_TEST

PLAY(restart_waits_for_memory)
PLAY(first_start_waits_for_memory)
PLAY(memory_that_never_comes)

/* ---------------------------------------------------------------------------------------------------------------- */

static void (*const scenarios[])(void) = {groups, awaited_names, one_for_one, one_for_all, rest_for_one};

OOM_TEST(trees_and_groups_endure, scenarios)

int main(void)
{
    Suite *suite = suite_create("oom_tree");
    TCase *tcase = tcase_create("oom_tree");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, restart_waits_for_memory);
    tcase_add_test(tcase, first_start_waits_for_memory);
    tcase_add_test(tcase, memory_that_never_comes);
    tcase_add_loop_test(tcase, trees_and_groups_endure, 0, 2 * (int)WF_COUNT(scenarios));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
