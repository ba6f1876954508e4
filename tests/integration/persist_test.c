/* Actors that remember, on one node and on two: one actor has a state at a time, an earlier owner is refused, and what
 * was confirmed is loaded. */
#include <weft/persist.h>
#include <weft/queue.h>
#include <weft/store.h>
#include <weft/supervisor.h>
#include <weft/typed.h>

#define PURSE(F) F(int, gold) F(str, owner)
WEFT_MESSAGE(purse, 60, PURSE)
#define OLD_PURSE(F) F(int, gold)
WEFT_MESSAGE(old_purse, 61, OLD_PURSE)

#include "partition.h"
#include "store_kit.h"

enum { EVENT = 5, SNAPSHOT = 6, SO_FAR = 7 };

/* ---- What actors do -------------------------------------------------------------------------------------------- */

static weft_pid open_store(void)
{
    weft_pid pid;
    const struct weft_stored_states states[] = {{"account.*"}, {"many.>"}};
    const struct weft_stored_queues queues = {.pattern = "remind.*"};
    const weft_store_options options = {
        .url = url[0], .states = states, .state_count = 2, .queues = &queues, .queue_count = 1};
    int rc = weft_store_open(&options, &pid, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return pid;
}

/* "2:snapshot 3=event 4=event ": what was loaded. */
struct loaded {
    char text[4000];
    int error;
};

static int load(void *arg, const struct weft_persisted *is)
{
    struct loaded *l = arg;
    size_t at = strlen(l->text);
    bool is_snapshot = is->kind == WEFT_PERSISTED_SNAPSHOT;
    ck_assert_uint_eq(is->tag, is_snapshot ? SNAPSHOT : EVENT);
    ck_assert_int_gt(is->time, INT64_C(1000000000) * 1000000000);
    snprintf(l->text + at, sizeof l->text - at, "%d%s%.*s ", (int)is->number, is_snapshot ? ":" : "=", (int)is->size,
             (const char *)is->data);
    return l->error;
}

static weft_persist open_state(const char *key, const char *expected)
{
    weft_persist p;
    struct loaded l = {.text = ""};
    const weft_persist_options options = {.load = load, .arg = &l};
    int rc = weft_persist_open(&p, key, &options, patience());
    ck_assert_msg(rc == WEFT_OK, "%s: %s", key, weft_strerror(rc));
    ck_assert_str_eq(p.key, key);
    ck_assert_str_eq(l.text, expected);
    return p;
}

static int append(weft_persist *p, const char *text)
{
    return weft_persist_append(p, EVENT, text, strlen(text), patience());
}

static void append_ok(weft_persist *p, const char *text)
{
    int rc = append(p, text);
    ck_assert_msg(rc == WEFT_OK, "%s: %s", text, weft_strerror(rc));
}

static void save_ok(weft_persist *p, const char *text)
{
    int rc = weft_persist_save(p, SNAPSHOT, text, strlen(text), patience());
    ck_assert_msg(rc == WEFT_OK, "%s: %s", text, weft_strerror(rc));
}

/* Starts an actor and waits until it says that it is so far. No actor waits with HEAR: that takes its worker. */
static weft_pid start_and_wait(weft_actor *body)
{
    weft_pid pid, self = weft_self();
    weft_msg *m;
    ck_assert_int_eq(weft_spawn(&pid, body, &self, sizeof self, NULL), WEFT_OK);
    ck_assert_int_eq(weft_recv_tag(&m, SO_FAR, patience()), WEFT_OK);
    weft_msg_free(m);
    return pid;
}

/* In that actor; others have no argument. */
static void say_so_far(const char *line, const void *arg, size_t size)
{
    weft_pid parent;
    say("%s", line);
    if (size != sizeof parent) return;
    memcpy(&parent, arg, sizeof parent);
    ck_assert_int_eq(weft_send(parent, SO_FAR, NULL, 0), WEFT_OK);
}

#define RUN(node, body)                 \
    do {                                \
        run_actor(node, body, NULL, 0); \
        HEAR("done");                   \
    } while (0)

/* ---- One actor ------------------------------------------------------------------------------------------------- */

static void waits_for_ann(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_persist p;
    (void)weft_persist_open(&p, "account.ann", NULL, WEFT_FOREVER);
}

static void tries_ann(const void *arg, size_t size)
{
    weft_persist p;
    ck_assert_int_eq(weft_persist_open(&p, "account.ann", NULL, weft_after(WEFT_MS(50))), WEFT_ETIMEDOUT);
    say_so_far("waited", arg, size);
}

/* Openings wait until the owner ends, and not longer than the actors that have asked for them. */
static void waits_by_the_dead(const void *arg, size_t size)
{
    enum { AT_ONCE = 100 };
    (void)arg, (void)size;
    weft_pid pid[AT_ONCE], store = open_store();
    struct weft_persist_state states[1];
    open_state("account.ann", "");
    for (int i = 0; i < 12 * 1000; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++)
            ck_assert_int_eq(weft_spawn(&pid[k], waits_for_ann, NULL, 0, NULL), WEFT_OK);
        ck_assert_int_eq(weft_persist_states(NULL, states, 1, patience()), 1); /* meanwhile they have asked */
        for (int k = 0; k < AT_ONCE; k++) {
            weft_wait end = weft_on_end(pid[k]);
            weft_kill(pid[k]);
            ck_assert_int_ge(weft_wait_any(&end, 1, patience()), 0);
        }
    }
    start_and_wait(tries_ann);
    end_store(store);
    say("done");
}

static void whole_life(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_persist_state states[3];
    weft_pid store = open_store();
    weft_persist p = open_state("account.ann", "");
    ck_assert(p.opening == 1 && p.first == 1 && p.last == 0);
    append_ok(&p, "one");
    append_ok(&p, "two");
    p = open_state("account.ann", "1=one 2=two ");
    save_ok(&p, "both");
    append_ok(&p, "three");
    ck_assert(p.opening == 2 && p.first == 3 && p.last == 3);
    end_store(store);
    store = open_store();
    append_ok(&p, "four");
    p = open_state("account.ann", "2:both 3=three 4=four ");
    open_state("account.bob", "");
    ck_assert_int_eq(weft_persist_states(NULL, states, 3, patience()), 2);
    ck_assert_str_eq(states[0].key, "account.ann");
    ck_assert(states[0].opening == 3 && states[0].last == 4 && states[0].events == 2 && states[0].bytes == 9);
    ck_assert(states[0].has_snapshot && states[0].snapshot == 4);
    ck_assert(!states[1].has_snapshot && states[1].events == 0);
    ck_assert_int_eq(weft_persist_states("account.ann", states, 3, patience()), 1);
    ck_assert_str_eq(states[0].key, "account.bob");
    ck_assert_int_eq(weft_persist_remove(&p, patience()), WEFT_OK);
    ck_assert_int_eq(append(&p, "late"), WEFT_ECLOSED);
    ck_assert_int_eq(weft_persist_remove(&p, patience()), WEFT_ECLOSED);
    open_state("account.ann", "");
    end_store(store);
    say("done");
}

START_TEST(a_state_is_stored_and_loaded)
{
    RUN(a, whole_life);
}
END_TEST

static void errors(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    weft_persist p = {.owner = 0}, old;
    struct loaded l = {.error = -77};
    static char large[WEFT_PERSIST_MAX + 1];
    const weft_persist_options refuses = {.load = load, .arg = &l};
    const struct weft_stored_states bad = {.pattern = "a..b"};
    ck_assert_int_eq(weft_persist_open(&p, "account.x", NULL, patience()), WEFT_ENOACTOR);
    ck_assert_int_eq(append(&p, "x"), WEFT_ECLOSED);
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = url[0], .states = &bad, .state_count = 1}, NULL, patience()),
        WEFT_EINVAL);
    weft_pid store = open_store();
    ck_assert_int_eq(weft_persist_open(&p, "other", NULL, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_persist_open(&p, "account.*", NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_persist_open(&p, NULL, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_persist_open(NULL, "account.x", NULL, patience()), WEFT_EINVAL);
    p = open_state("account.x", "");
    ck_assert_int_eq(weft_persist_append(&p, WEFT_TAG_SYSTEM, "x", 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_persist_append(&p, EVENT, NULL, 1, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_persist_append(&p, EVENT, large, sizeof large, patience()), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_persist_save(&p, EVENT, large, sizeof large, patience()), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_persist_append(NULL, EVENT, NULL, 0, patience()), WEFT_EINVAL);
    append_ok(&p, "one");
    old = p;
    ck_assert_int_eq(weft_persist_open(&p, "account.x", &refuses, patience()), -77);
    ck_assert_int_eq(append(&p, "x"), WEFT_ECLOSED);
    p = open_state("account.x", "1=one ");
    ck_assert_int_eq(append(&old, "late"), WEFT_ECLOSED);
    ck_assert_int_eq(append(&old, "late"), WEFT_ECLOSED);
    append_ok(&p, "two");
    for (uint32_t request = 20; request <= 23; request++) {
        if (request == 21) continue;
        ck_assert_int_eq(weft_call_name(WEFT_STORE_NAME, request, "\xC1", 1, &m, patience()), WEFT_OK);
        weft_msg_free(m);
    }
    ck_assert_int_eq(weft_send_name(WEFT_STORE_NAME, 21, "\xC1", 1), WEFT_OK);
    append_ok(&p, "it lives on");
    /* It is not known what became of it: nothing is stored behind it. */
    ck_assert_int_eq(weft_persist_append(&p, EVENT, "x", 1, WEFT_NOW), WEFT_ETIMEDOUT);
    ck_assert_int_eq(append(&p, "x"), WEFT_ECLOSED);
    end_store(store);
    say("done");
}

START_TEST(errors_are_those_of_the_header)
{
    RUN(a, errors);
}
END_TEST

static int count_items(void *arg, const struct weft_persisted *is)
{
    uint64_t *next = arg;
    if (is->kind == WEFT_PERSISTED_SNAPSHOT) {
        ck_assert_uint_eq(is->size, WEFT_PERSIST_MAX);
        ck_assert_int_eq(((const char *)is->data)[WEFT_PERSIST_MAX - 1], 'x');
        *next = is->number;
    } else {
        ck_assert_uint_eq(is->size, is->number % 7 * 1000);
    }
    ck_assert_uint_eq(is->number, *next);
    ++*next;
    return WEFT_OK;
}

/* More than a page holds, by bytes and by number. */
static void many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static char large[WEFT_PERSIST_MAX];
    memset(large, 'x', sizeof large);
    uint64_t next = 1;
    const weft_persist_options options = {.load = count_items, .arg = &next};
    weft_pid store = open_store();
    weft_persist p = open_state("many.x", "");
    for (uint64_t i = 1; i <= 600; i++)
        ck_assert_int_eq(weft_persist_append(&p, EVENT, large, i % 7 * 1000, patience()), WEFT_OK);
    ck_assert_int_eq(weft_persist_open(&p, "many.x", &options, patience()), WEFT_OK);
    ck_assert_uint_eq(next, 601);
    ck_assert_int_eq(weft_persist_save(&p, SNAPSHOT, large, sizeof large, patience()), WEFT_OK);
    for (uint64_t i = 601; i <= 610; i++)
        ck_assert_int_eq(weft_persist_append(&p, EVENT, large, i % 7 * 1000, patience()), WEFT_OK);
    ck_assert_int_eq(weft_persist_open(&p, "many.x", &options, patience()), WEFT_OK);
    ck_assert_uint_eq(next, 611);
    end_store(store);
    say("done");
}

START_TEST(openings_of_actors_that_have_ended_take_no_place)
{
    RUN(a, waits_by_the_dead);
}
END_TEST

START_TEST(a_long_state_comes_in_pages)
{
    RUN(a, many);
}
END_TEST

static int load_purse(void *arg, const struct weft_persisted *is)
{
    struct purse p;
    int rc = weft_typed_read(purse_type(), is->data, is->size, &p, NULL);
    if (rc == WEFT_OK) *(int64_t *)arg = *(int64_t *)arg * 1000 + p.gold;
    return rc;
}

/* Version 1 counted silver. */
static int migrate(struct weft_handover *h)
{
    struct old_purse old;
    char bytes[64];
    ck_assert_str_eq(h->kind, "purse");
    if (h->version != 1) return WEFT_EINVAL;
    int rc = weft_typed_read(old_purse_type(), h->state, h->size, &old, NULL);
    if (rc < 0) return rc;
    old.gold /= 20;
    weft_writer w = weft_writer_on(bytes, sizeof bytes);
    old_purse_put(&w, &old);
    return weft_handover_state(h, bytes, w.size);
}

static void evolution(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_persist p;
    int64_t gold = 0;
    weft_persist_options options = {.load = load_purse, .arg = &gold, .version = 1};
    weft_pid store = open_store();
    ck_assert_int_eq(weft_persist_open(&p, "account.p", &options, patience()), WEFT_OK);
    ck_assert_int_eq(
        weft_persist_save_typed(&p, OLD_PURSE_TAG, old_purse_type(), &(struct old_purse){.gold = 40}, patience()),
        WEFT_OK);
    ck_assert_int_eq(weft_persist_append_typed(&p, PURSE_TAG, purse_type(),
                                               &(struct purse){.gold = 3, .owner = weft_cstr("ann")}, patience()),
                     WEFT_OK);
    ck_assert_int_eq(weft_persist_open(&p, "account.p", &options, patience()), WEFT_OK);
    ck_assert_int_eq(gold, 40003); /* the fields that were appended are 0 */
    options = (weft_persist_options){load_purse, &gold, 2, migrate, "purse"};
    gold = 0;
    ck_assert_int_eq(weft_persist_open(&p, "account.p", &options, patience()), WEFT_OK);
    ck_assert_int_eq(gold, 2003);
    ck_assert_int_eq(weft_persist_save_typed(&p, PURSE_TAG, purse_type(), &(struct purse){.gold = 5}, patience()),
                     WEFT_OK);
    gold = 0;
    ck_assert_int_eq(weft_persist_open(&p, "account.p", &options, patience()), WEFT_OK);
    ck_assert_int_eq(gold, 5); /* it has this version already */
    options.version = 3;
    ck_assert_int_eq(weft_persist_open(&p, "account.p", &options, patience()), WEFT_EINVAL); /* the hook refuses */
    end_store(store);
    say("done");
}

START_TEST(a_stored_state_of_an_older_version_is_read_and_migrated)
{
    RUN(a, evolution);
}
END_TEST

/* ---- Owners ---------------------------------------------------------------------------------------------------- */

static void keep_store(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    say("open");
    (void)weft_sleep(WEFT_FOREVER);
}

static weft_pid spawn_on(weft_node *n, weft_actor *body)
{
    weft_pid pid;
    ck_assert_int_eq(weft_node_spawn(n, &pid, body, NULL, 0, NULL), WEFT_OK);
    return pid;
}

static void stop_it(const void *arg, size_t size)
{
    (void)size;
    weft_pid pid;
    memcpy(&pid, arg, sizeof pid);
    ck_assert_int_eq(weft_stop(pid), WEFT_OK);
}

static void own(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    weft_persist p = open_state("account.x", "");
    append_ok(&p, "one");
    say("owns");
    (void)weft_sleep(WEFT_FOREVER);
}

static void take_over(const void *arg, size_t size)
{
    weft_persist p;
    await_store();
    ck_assert_int_eq(weft_persist_open(&p, "account.x", NULL, weft_after(WEFT_MS(20))), WEFT_ETIMEDOUT);
    /* The store has answered this, so it knows that the opening was given up: else the state might be given to that one
     * first, if its owner ends now. */
    struct weft_persist_state is;
    ck_assert_int_eq(weft_persist_states(NULL, &is, 1, patience()), 1);
    say_so_far("waits", arg, size);
    p = open_state("account.x", "1=one ");
    ck_assert_uint_eq(p.opening, 2);
    append_ok(&p, "two");
    say("done");
}

/* The first waits on while the second one, which gave up, does not get it. */
static void owner_ends(weft_node *its_node, weft_node *other)
{
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    weft_pid pid = spawn_on(its_node, own);
    HEAR("owns");
    run_actor(other, take_over, NULL, 0);
    HEAR("waits");
    run_actor(its_node, stop_it, &pid, sizeof pid);
    HEAR("done");
}

START_TEST(a_state_is_free_when_its_owner_ends)
{
    owner_ends(a, a);
}
END_TEST

START_TEST(a_state_is_free_when_its_owner_on_another_node_ends)
{
    second_node();
    owner_ends(b, a);
}
END_TEST

START_TEST(an_actor_of_another_node_takes_over)
{
    second_node();
    owner_ends(a, b);
}
END_TEST

START_TEST(a_state_is_free_when_its_owners_node_is_gone)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    spawn_on(b, own);
    HEAR("owns");
    run_actor(a, take_over, NULL, 0);
    HEAR("waits");
    node_down(b);
    b = NULL;
    HEAR("done");
}
END_TEST

/* A child that counts its starts on disk, and dies of each third event. */
static void account(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct loaded l = {.text = ""};
    const weft_persist_options options = {.load = load, .arg = &l};
    weft_persist p;
    int rc = weft_persist_open(&p, "account.x", &options, patience());
    if (rc < 0) weft_fail(rc, "%s", weft_strerror(rc));
    say("start %d: %s", (int)p.opening, l.text);
    while (p.last < 9) {
        append_ok(&p, "e");
        if (p.last % 3 == 0) weft_fail(WEFT_EXIT_FAILED, "event %d", (int)p.last);
    }
    say("all");
    (void)weft_sleep(WEFT_FOREVER);
}

static void supervise(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    const weft_child_spec child = {.name = "account", .body = account};
    ck_assert_int_eq(weft_supervise(&(weft_supervisor_spec){.children = &child, .child_count = 1, .max_restarts = 5}),
                     WEFT_OK);
}

static void supervised(weft_node *its_node)
{
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    run_actor(its_node, supervise, NULL, 0);
    HEAR("all");
    HEAR("start 1: ");
    HEAR("start 2: 1=e 2=e 3=e ");
    HEAR("start 4: 1=e 2=e 3=e 4=e 5=e 6=e 7=e 8=e 9=e ");
}

START_TEST(a_supervisor_starts_it_again)
{
    supervised(a);
}
END_TEST

START_TEST(a_supervisor_of_another_node_starts_it_again)
{
    second_node();
    supervised(b);
}
END_TEST

static void give_and_take(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store();
    weft_persist p = open_state("account.x", "");
    append_ok(&p, "one");
    weft_pid pid = start_and_wait(take_over);
    weft_persist_close(&p);
    ck_assert_int_eq(append(&p, "x"), WEFT_ECLOSED);
    weft_wait on = weft_on_end(pid);
    ck_assert_int_eq(weft_wait_any(&on, 1, patience()), 0);
    open_state("account.x", "1=one 2=two ");
    say("given");
}

START_TEST(an_owner_gives_its_state_up)
{
    run_actor(a, give_and_take, NULL, 0);
    HEAR("done");
    HEAR("given");
}
END_TEST

/* ---- A store that was opened again ----------------------------------------------------------------------------- */

static void wait_in_vain(const void *arg, size_t size)
{
    weft_persist p;
    ck_assert_int_eq(weft_persist_open(&p, "account.x", NULL, weft_after(WEFT_MS(20))), WEFT_ETIMEDOUT);
    say_so_far("in vain", arg, size);
}

static void known_again(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store();
    weft_persist p = open_state("account.x", "");
    append_ok(&p, "one");
    end_store(store);
    open_store();
    append_ok(&p, "still here");
    start_and_wait(wait_in_vain);
    append_ok(&p, "still here");
    say("done");
}

START_TEST(an_owner_is_known_again)
{
    RUN(a, known_again);
}
END_TEST

static void intruder(const void *arg, size_t size)
{
    weft_persist p = open_state("account.x", "1=one ");
    append_ok(&p, "theirs");
    say_so_far("took", arg, size);
    (void)weft_sleep(WEFT_FOREVER);
}

static void refused(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store();
    weft_persist p = open_state("account.x", "");
    append_ok(&p, "one");
    end_store(store);
    open_store(); /* it knows no owner */
    start_and_wait(intruder);
    weft_persist q = p, r = p;
    ck_assert_int_eq(append(&p, "late"), WEFT_ECLOSED);
    ck_assert_int_eq(weft_persist_save(&q, SNAPSHOT, "late", 4, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_persist_remove(&r, patience()), WEFT_ECLOSED);
    ck_assert_int_eq(weft_persist_open(&p, "account.x", NULL, weft_after(WEFT_MS(20))), WEFT_ETIMEDOUT);
    say("done");
}

START_TEST(an_earlier_owner_is_refused)
{
    RUN(a, refused);
}
END_TEST

/* ---- Timers that outlive their actor: docs/store.md ------------------------------------------------------------- */

/* The child of an actor: it brings the reminders that are due. */
static void bring_reminders(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m, *answer;
    struct weft_queue_job job;
    while (weft_queue_take("remind.ann", &m, &job, WEFT_FOREVER) == WEFT_OK) {
        int rc = weft_call_name("ann", job.tag, job.data, job.size, &answer, patience());
        if (rc == WEFT_OK) weft_msg_free(answer);
        rc = rc == WEFT_OK ? weft_queue_done(&job, patience())
                           : weft_queue_return(&job, WEFT_QUEUE_BACKOFF, patience());
        weft_msg_free(m);
        if (rc < 0) return;
    }
}

/* It asks to be reminded each time that it starts: the key makes that one reminder. */
static void ann(const void *arg, size_t size)
{
    (void)size;
    int turn;
    weft_msg *m;
    memcpy(&turn, arg, sizeof turn);
    const weft_queue_put_options later = {.delay = turn == 0 ? WEFT_MS(60) : 0, .key = "interest of May"};
    ck_assert_int_eq(weft_register("ann"), WEFT_OK);
    ck_assert_int_eq(weft_queue_put("remind.ann", EVENT, "pay", 3, &later, NULL, patience()), WEFT_OK);
    ck_assert_int_eq(weft_spawn(NULL, bring_reminders, NULL, 0, &(weft_spawn_options){.link = true}), WEFT_OK);
    say("ann %d", turn);
    if (turn < 2) weft_fail(WEFT_EXIT_FAILED, "before it was reminded");
    ck_assert_int_eq(weft_recv(&m, patience()), WEFT_OK);
    ck_assert_uint_eq(weft_tag(m), EVENT);
    ck_assert_int_eq(weft_reply(m, 0, NULL, 0), WEFT_OK);
    weft_msg_free(m);
    say("reminded");
}

static void until_it_ends(weft_actor *body, int turn)
{
    weft_pid pid;
    ck_assert_int_eq(weft_spawn(&pid, body, &turn, sizeof turn, NULL), WEFT_OK);
    weft_wait on = weft_on_end(pid);
    ck_assert_int_eq(weft_wait_any(&on, 1, patience()), 0);
}

static void reminders(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store();
    until_it_ends(ann, 0);
    end_store(store);
    store = open_store();
    until_it_ends(ann, 1);
    until_it_ends(ann, 2);
    end_store(store);
    say("done");
}

START_TEST(a_reminder_outlives_its_actor)
{
    RUN(a, reminders);
    HEAR("reminded");
    ck_assert_int_eq(heard("reminded", 1), 1);
}
END_TEST

/* ---- A network that is cut ------------------------------------------------------------------------------------- */

/* It writes only when it is told to, and does not know what has happened meanwhile. */
static void own_behind_the_cut(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    await_store();
    weft_persist p = open_state("account.x", "");
    append_ok(&p, "one");
    ck_assert_int_eq(weft_register("owner"), WEFT_OK);
    say("owns");
    ck_assert_int_eq(weft_recv(&m, patience()), WEFT_OK);
    weft_msg_free(m);
    int rc;
    while ((rc = append(&p, "two")) == WEFT_ENOACTOR) await_store();
    say("late write: %s", weft_error_name(rc));
    ck_assert_int_eq(append(&p, "three"), rc);
    p = open_state("account.x", rc == WEFT_ECLOSED ? "1=one 2=theirs " : "1=one 2=two 3=three ");
    say("again");
}

static void tell_owner(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert_int_eq(weft_send_name("owner", 1, NULL, 0), WEFT_OK);
}

/* Takes the state over, and ends. */
static void own_this_side(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_persist p = open_state("account.x", "1=one ");
    append_ok(&p, "theirs");
    say("took over");
}

/* The owner's node is lost, and comes back. Whether another actor has opened the state meanwhile decides. */
static void cut_and_heal(bool is_taken_over)
{
    net_open();
    net_node(0);
    run_actor(net.node[0], keep_store, NULL, 0);
    HEAR("open");
    net_node(1);
    HEAR("nodea up nodeb");
    HEAR("nodeb up nodea");
    run_actor(net.node[1], own_behind_the_cut, NULL, 0);
    HEAR("owns");
    net_cut(0, 1, true);
    if (is_taken_over) run_actor(net.node[0], own_this_side, NULL, 0);
    HEAR("nodea down nodeb");
    HEAR("nodeb down nodea");
    if (is_taken_over) HEAR("took over");
    net_cut(0, 1, false);
    ck_assert_int_ge(heard("nodea up nodeb", 2), 2);
    ck_assert_int_ge(heard("nodeb up nodea", 2), 2);
    run_actor(net.node[1], tell_owner, NULL, 0);
    HEAR("late write: ");
    HEAR(is_taken_over ? "late write: WEFT_ECLOSED" : "late write: WEFT_OK");
    HEAR("again");
    net_close();
}

START_TEST(an_owner_behind_a_cut_is_refused)
{
    cut_and_heal(true);
}
END_TEST

START_TEST(an_owner_behind_a_cut_goes_on_if_nobody_took_over)
{
    cut_and_heal(false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("actors that remember");
    TCase *c = tcase_create("states");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, a_state_is_stored_and_loaded);
    tcase_add_test(c, errors_are_those_of_the_header);
    tcase_add_test(c, openings_of_actors_that_have_ended_take_no_place);
    tcase_add_test(c, a_long_state_comes_in_pages);
    tcase_add_test(c, a_stored_state_of_an_older_version_is_read_and_migrated);
    tcase_add_test(c, a_state_is_free_when_its_owner_ends);
    tcase_add_test(c, a_state_is_free_when_its_owner_on_another_node_ends);
    tcase_add_test(c, an_actor_of_another_node_takes_over);
    tcase_add_test(c, a_state_is_free_when_its_owners_node_is_gone);
    tcase_add_test(c, a_supervisor_starts_it_again);
    tcase_add_test(c, a_supervisor_of_another_node_starts_it_again);
    tcase_add_test(c, an_owner_gives_its_state_up);
    tcase_add_test(c, an_owner_is_known_again);
    tcase_add_test(c, an_earlier_owner_is_refused);
    tcase_add_test(c, a_reminder_outlives_its_actor);
    tcase_add_test(c, an_owner_behind_a_cut_is_refused);
    tcase_add_test(c, an_owner_behind_a_cut_goes_on_if_nobody_took_over);
    return run_suite_unforked(suite);
}
