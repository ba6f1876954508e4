/* Lists of actors whose requester ends before they arrive; the actor that a log line names; the stack bytes that
 * actors use. */
#include "../node_harness.h"

#include "inspect_worker.h"
#include "node_stats.h"

#include "../../../capture.h"

#include <weft/test.h>

enum { READY = 1 };

static void lists_for_ever(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    for (bool told = false;; told = true) {
        struct wf_actor_info *all;
        size_t count;
        int rc = wf_node_list_actors(weft_here(), NULL, &all, &count, WEFT_FOREVER);
        want(rc == WEFT_OK || rc == WEFT_ECANCELED); /* asked to stop it goes on, until it is killed */
        if (rc == WEFT_OK) (void)weft_release(all);
        if (!told) want_int(say(k.parent, READY, 0), 0);
    }
}

static void kills_askers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < (under_tools() ? 4 : 20); i++) {
        weft_pid asker = kid_on(1 + i % 2, lists_for_ever, 0);
        hear(READY);
        want_int(weft_stop(asker), 0);
        await_end(asker);
    }
}

/* A leak would be reported by the address sanitizer. */
START_TEST(an_asker_that_is_killed_leaves_nothing)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = WEFT_MS(1)));
    node_spawn(n, 1, kills_askers);
    node_end(n);
}
END_TEST

static void speaks(const void *arg, size_t size)
{
    (void)size;
    weft_pid_format(weft_self(), *(char *const *)arg);
    weft_log(WEFT_WARN, "from within");
}

START_TEST(a_log_line_says_which_actor_of_which_node_speaks)
{
    char pid[WEFT_PID_TEXT], said[1024], expected[200], *where = pid;
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .name = "speaker"));
    capture_state c = capture_start();
    ck_assert_int_eq(weft_node_spawn(n, NULL, speaks, &where, sizeof where, NULL), 0);
    node_end(n);
    weft_log(WEFT_WARN, "from outside");
    (void)capture_end(&c, said, sizeof said);
    *strchr(pid, '@') = 0;
    snprintf(expected, sizeof expected, "node=speaker actor=%s msg=\"from within\"", pid);
    ck_assert_msg(strstr(said, expected) != NULL, "%s", said);
    ck_assert_msg(strstr(said, "level=warn msg=\"from outside\"") != NULL, "%s", said);
}
END_TEST

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

enum { GO = 1, PAGE = 4096 };

static __attribute__((noinline)) void touch(uint32_t bytes)
{
    volatile char *deep = __builtin_alloca(bytes);
    for (uint32_t i = 0; i < bytes; i += 64) deep[i] = 1;
}

/* Uses that much of its stack; then it ends, or waits for a message. */
static void uses(const void *arg, size_t size)
{
    struct kid k = *(const struct kid *)arg;
    (void)size;
    if (k.n > 0) touch((uint32_t)k.n);
    weft_msg *m;
    if (k.other.actor == 0 && weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static size_t most_of(const char *kind)
{
    struct wf_actor_info *all;
    size_t count, most = 0;
    want_int(wf_node_list_actors(weft_here(), NULL, &all, &count, WEFT_FOREVER), 0);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].kind, kind) == 0) most = all[i].stack_most;
    }
    (void)weft_release(all);
    return most;
}

static weft_pid user_of(const char *kind, int64_t bytes, bool ends)
{
    weft_spawn_options o = {.kind = kind, .stack_bytes = 256 << 10};
    weft_pid pid = kid_with(uses, (struct kid){.n = bytes, .other = {.actor = ends}}, &o);
    want_int(weft_settle(), 0);
    return pid;
}

static void stacks_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const size_t slack = under_tools() ? 3 * PAGE : 2 * PAGE; /* its other frames, and rounding up */
    weft_pid small = user_of("small", 0, false);
    want(most_of("small") > 0 && most_of("small") <= slack);
    (void)user_of("large", 50000, false);
    want(most_of("large") >= 50000 && most_of("large") <= 50000 + slack);
    /* The largest use is also known of actors that are parked now, and of one that has ended. */
    want_int(weft_advance(WEFT_MS(500)), 0);
    want(most_of("large") >= 50000 && most_of("large") <= 50000 + slack);
    (void)user_of("small", 30000, true);
    want(most_of("small") >= 30000 && most_of("small") <= 30000 + slack);
    /* Bytes that earlier users left on a stack are not counted. */
    want_int(say(small, GO, 0), 0);
    (void)user_of("other", 0, false);
    want(most_of("other") <= slack);
}

START_TEST(the_most_stack_a_kind_has_used)
{
    weft_test_options o = {.node.park_after = WEFT_MS(100)};
    ck_assert_msg(weft_test_run(stacks_body, NULL, 0, &o) == 0, "%s", weft_test_report());
}
END_TEST

/* ---- Figures (node_stats.h) ------------------------------------------------------------------------------------ */

static const struct wf_node_stats_kind *tallied(const struct wf_node_stats *t, const char *kind)
{
    for (uint32_t i = 0; i < t->kinds; i++) {
        if (strcmp(t->kind[i].kind, kind) == 0) return &t->kind[i];
    }
    return NULL;
}

static void waits_for_ever(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_sleep(WEFT_FOREVER);
}

static void takes_all(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

static uint64_t received(struct wf_node_stats *t)
{
    uint64_t sum = 0;
    want_int(wf_node_stats_take(weft_here(), true, t, WEFT_FOREVER), 0);
    for (uint32_t i = 0; i < t->workers; i++) sum += t->worker[i].received;
    return sum;
}

/* More actors than are looked at in one go, on one worker, one of them with mail. */
static void counts(const void *arg, size_t size)
{
    enum { MANY = 5000, MAIL = 7 };
    (void)arg, (void)size;
    struct wf_node_stats *t = malloc(sizeof *t);
    weft_pid *all = calloc(MANY, sizeof *all), last = {0, 0};
    for (int i = 0; i < MANY; i++) {
        weft_spawn_options o = {.kind = "idler", .worker = 2, .shares_stack = true};
        want_int(weft_spawn(&all[i], waits_for_ever, NULL, 0, &o), 0);
        last = all[i];
    }
    for (int i = 0; i < MAIL; i++) want_int(weft_send(last, GO, NULL, 0), 0);
    while (received(t), tallied(t, "idler")->waiting < MAIL) {}
    want_int(t->workers, 3); /* weft's own is the last */
    want_int(tallied(t, "idler")->actors, MANY);
    want_int((int)tallied(t, "idler")->waiting, MAIL);
    want_int((int)tallied(t, "idler")->deepest, MAIL);
    want(t->worker[0].counted && t->worker[1].counted);
    want(t->worker[0].mailbox_bytes + t->worker[1].mailbox_bytes > 0);
    /* Received messages stay counted when their receiver has ended. */
    weft_pid taker;
    weft_spawn_options o = {.kind = "taker"};
    uint64_t before = received(t);
    want_int(weft_spawn(&taker, takes_all, NULL, 0, &o), 0);
    for (int i = 0; i < 100; i++) want_int(weft_send(taker, GO, NULL, 0), 0);
    while (received(t) < before + 100) {}
    want_int(weft_stop(taker), 0);
    await_end(taker);
    const struct wf_node_stats_kind *k; /* stays if any of its mail was timed */
    while (received(t), (k = tallied(t, "taker")) != NULL && k->actors > 0) {}
    want(received(t) >= before + 100);
    want_int(wf_node_stats_take(weft_here(), false, t, WEFT_FOREVER), 0);
    want_int(t->kinds, 0);
    for (int i = 0; i < MANY; i++) (void)weft_stop(all[i]);
    free(all);
    free(t);
}

START_TEST(a_tally_counts_all_actors)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2));
    node_spawn(n, 1, counts);
    node_end(n);
}
END_TEST

/* ---- What was dropped, of whom --------------------------------------------------------------------------------- */

static void has_a_name(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("first"), 0);
    want_int(weft_register("second"), 0);
    weft_yield(); /* for the messages that it does not read */
    weft_yield();
}

static const struct wf_dropped *last_drop(const struct wf_drops_seen *seen, uint64_t before)
{
    return &seen->log.last[(seen->log.count - 1 - before) % WF_DROPS_KEPT];
}

static void look_at_drops(struct wf_drops_seen *seen)
{
    want_int(wf_worker_inspect(weft_here(), 0, wf_inspect_drops, seen, sizeof *seen, WEFT_FOREVER), 0);
}

static void drops_of_the_named(const void *arg, size_t size)
{
    static struct wf_drops_seen seen;
    weft_pid named, nameless;
    (void)arg, (void)size;
    want_int(weft_spawn(&named, has_a_name, NULL, 0, &(weft_spawn_options){.kind = "named", .worker = 1}), 0);
    want_int(weft_send(named, GO, NULL, 0), 0);
    await_end(named);
    look_at_drops(&seen);
    want_int(seen.log.count, 1);
    want(strcmp(last_drop(&seen, 0)->kind, "named") == 0 && strcmp(last_drop(&seen, 0)->name, "first") == 0);
    /* An actor without a name has ended: its entry does not have the name of the one before. */
    want_int(weft_spawn(&nameless, waits_for_ever, NULL, 0, &(weft_spawn_options){.kind = "nameless", .worker = 1}),
             0);
    want_int(weft_send(nameless, GO, NULL, 0), 0);
    want_int(weft_stop(nameless), 0);
    await_end(nameless);
    look_at_drops(&seen);
    want_int(seen.log.count, 2);
    want(strcmp(last_drop(&seen, 0)->kind, "nameless") == 0 && strcmp(last_drop(&seen, 0)->name, "") == 0);
}

START_TEST(a_drop_tells_the_kind_and_the_name_of_who_has_ended)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1));
    node_spawn(n, 1, drops_of_the_named);
    node_end(n);
}
END_TEST

/* ---- Memory of a kind ------------------------------------------------------------------------------------------ */

enum { HOARDERS = 3, HELD = 4, UNREAD = 5, BODY = 1000, BLOCK = 10000, DEEP = 40000 };

static void goes_deep(void)
{
    volatile char frame[DEEP];
    for (size_t i = 0; i < sizeof frame; i++) frame[i] = 1;
}

static const weft_local_key keyed = {BLOCK, NULL};

/* Holds messages, has others in its mailbox, blocks, a subscription and a deep stack. */
static void hoards(const void *arg, size_t size)
{
    struct kid k;
    (void)size;
    memcpy(&k, arg, sizeof k);
    goes_deep();
    for (int i = 0; i < HELD; i++) want(weft_msg_new(GO, BODY) != NULL);
    void *released = weft_alloc(BLOCK);
    want(released != NULL && weft_alloc(BLOCK) != NULL && weft_local(&keyed) != NULL);
    want_int(weft_release(released), 0);
    want_int(weft_subscribe("hoard", NULL), 0);
    char body[BODY] = "";
    for (int i = 0; i < UNREAD; i++) want_int(weft_send(weft_self(), GO, body, sizeof body), 0);
    want_int(say(k.parent, READY, 0), 0);
    weft_sleep(WEFT_FOREVER);
}

static void adds_up(const void *arg, size_t size)
{
    struct wf_actor_info *all;
    size_t count;
    struct wf_actor_memory sum = {0};
    (void)arg, (void)size;
    weft_pid kid[HOARDERS];
    for (int i = 0; i < HOARDERS; i++) {
        struct kid k = {.parent = weft_self()};
        weft_spawn_options o = {.kind = "hoarder", .worker = 1 + i % 2};
        want_int(weft_spawn(&kid[i], hoards, &k, sizeof k, &o), 0);
        hear(READY);
    }
    want_int(wf_node_list_actors(weft_here(), NULL, &all, &count, WEFT_FOREVER), 0);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].kind, "hoarder") != 0) continue;
        const struct wf_actor_memory *m = &all[i].memory;
        want_int(all[i].held, HELD);
        want(m->held >= HELD * BODY && m->held < HELD * (BODY + 200));
        want(m->mailbox >= UNREAD * BODY && m->mailbox < UNREAD * (BODY + 200));
        want(under_tools() || (m->stack >= DEEP && m->stack < DEEP + 32768 && m->stack % 4096 == 0));
        want(m->heap > 2 * BLOCK && m->heap < 2 * BLOCK + 1000);
        sum.mailbox += m->mailbox;
        sum.held += m->held;
        sum.stack += m->stack;
        sum.heap += m->heap;
    }
    (void)weft_release(all);
    struct wf_node_stats *t = malloc(sizeof *t);
    want_int(wf_node_stats_take(weft_here(), true, t, WEFT_FOREVER), 0);
    const struct wf_node_stats_kind *k = tallied(t, "hoarder");
    want_int(k->actors, HOARDERS);
    want_int((int)k->held, HOARDERS * HELD);
    want(memcmp(&k->memory, &sum, sizeof sum) == 0);
    free(t);
    for (int i = 0; i < HOARDERS; i++) (void)weft_stop(kid[i]);
}

START_TEST(the_memory_of_a_kind_is_the_sum_of_its_actors)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2));
    node_spawn(n, 1, adds_up);
    node_end(n);
}
END_TEST

static void rests(void *state, weft_msg *m)
{
    (void)state, (void)m;
}

static void looks_at_a_handler(const void *arg, size_t size)
{
    char state[5000] = "";
    struct wf_actor_info *all;
    size_t count;
    weft_pid big;
    (void)arg, (void)size;
    want_int(weft_spawn_handler(&big, rests, state, sizeof state, &(weft_spawn_options){.kind = "rests"}), 0);
    want_int(wf_node_list_actors(weft_here(), NULL, &all, &count, WEFT_FOREVER), 0);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].kind, "rests") != 0) continue;
        want_int((int)all[i].memory.stack, 0);
        want(all[i].memory.heap > sizeof state && all[i].memory.heap < sizeof state + 1000);
    }
    (void)weft_release(all);
    (void)weft_stop(big);
}

START_TEST(a_handler_at_rest_has_no_stack_but_state)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 1));
    node_spawn(n, 1, looks_at_a_handler);
    node_end(n);
}
END_TEST

/* ---- Pages ------------------------------------------------------------------------------------------------------ */

enum { CROWD = 1500 };

static void reads_pages(const void *arg, size_t size)
{
    static struct wf_actor_page page;
    uint32_t listed = 0, others = 0;
    (void)arg, (void)size;
    weft_pid crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        want_int(weft_spawn_handler(&crowd[i], rests, NULL, 0, &(weft_spawn_options){.kind = "crowd", .worker = 2}),
                 0);
    wf_actor_page_begin(&page, 1000);
    while (!page.last) {
        want_int(wf_node_page_actors(weft_here(), &page, WEFT_FOREVER), 0);
        want(page.count <= 1000);
        want(page.slices * 512 >= page.count); /* a turn of the worker describes no more */
        for (uint32_t i = 0; i < page.count; i++) {
            if (strcmp(page.at[i].kind, "crowd") != 0) others++;
            else want(listed < CROWD && weft_pid_equal(page.at[i].pid, crowd[listed++]));
        }
    }
    want_int(listed, CROWD);
    want_int(others, 1);
    for (int i = 0; i < CROWD; i++) (void)weft_stop(crowd[i]);
}

START_TEST(a_page_takes_a_worker_several_turns)
{
    run_on(2, reads_pages);
}
END_TEST

enum { CALLERS = 300, OTHERS = 5000 };

static void asks(const void *arg, size_t size)
{
    weft_pid whom;
    weft_msg *answer;
    (void)size;
    memcpy(&whom, arg, sizeof whom);
    want(weft_call(whom, GO, NULL, 0, &answer, WEFT_FOREVER) < 0);
}

static void sleeps(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}

static void counts_calls(const void *arg, size_t size)
{
    static struct wf_waits seen;
    static weft_pid others[OTHERS];
    weft_pid silent;
    (void)arg, (void)size;
    for (int i = 0; i < OTHERS; i++) want_int(weft_spawn_handler(&others[i], rests, NULL, 0, NULL), 0);
    want_int(weft_spawn(&silent, sleeps, NULL, 0, NULL), 0);
    for (int i = 0; i < CALLERS; i++) want_int(weft_spawn(NULL, asks, &silent, sizeof silent, NULL), 0);
    while (seen.count < CALLERS || seen.shown < WF_WAITS_SHOWN) { /* until all of them wait */
        memset(&seen, 0, sizeof seen);
        want_int(wf_worker_inspect(weft_here(), 0, wf_inspect_waits, &seen, sizeof seen, WEFT_FOREVER), 0);
    }
    want_int(seen.count, CALLERS);
    want_int(seen.shown, WF_WAITS_SHOWN);
    for (uint32_t i = 0; i < seen.shown; i++) want(weft_pid_equal(seen.of[i].whom, silent));
    (void)weft_stop(silent);
    for (int i = 0; i < OTHERS; i++) (void)weft_stop(others[i]);
}

START_TEST(all_calls_are_counted_and_some_are_shown)
{
    run_on(1, counts_calls);
}
END_TEST

/* ---- Some of them (top_actors.h) ------------------------------------------------------------------------------- */

static int by_mailbox(const void *a, const void *b)
{
    const struct wf_actor_info *x = a, *y = b;
    return x->mailbox > y->mailbox ? -1 : x->mailbox < y->mailbox;
}

/* Sorted, so that they can be looked at. */
static void pick(struct wf_top_actors *p, struct wf_node_stats *t, enum wf_top_by by, uint32_t most,
                 const char *filter)
{
    struct wf_top_want want = {.by = by, .most = most};
    snprintf(want.filter, sizeof want.filter, "%s", filter);
    want_int(wf_top_actors_init(p, &want), 0);
    want_int(wf_node_stats_top(weft_here(), t, p, WEFT_FOREVER), 0);
    qsort(p->actors, p->count, sizeof *p->actors, by_mailbox);
}

/* Both workers have actors, and one of them has more than a query looks at in a turn. */
static void picks(const void *arg, size_t size)
{
    enum { MANY = 5000, STEP = 25, EACH = MANY / 10 / STEP, MOST = EACH + 10 };
    (void)arg, (void)size;
    struct wf_node_stats *t = malloc(sizeof *t);
    struct wf_top_actors p;
    weft_pid *all = calloc(MANY, sizeof *all);
    uint64_t sent = 0, there = 0;
    for (int i = 0; i < MANY; i++) {
        weft_spawn_options o = {.kind = i % 20 != 0 ? "even" : "Odd", .worker = 1 + (i > 500), .shares_stack = true};
        want_int(weft_spawn(&all[i], waits_for_ever, NULL, 0, &o), 0);
        int mail = i % 10 != 0 ? 0 : i / 10 % STEP; /* EACH actors have as many */
        for (int k = 0; k < mail; k++) want_int(weft_send(all[i], GO, NULL, 0), 0);
        sent += (uint64_t)mail;
    }
    while (there < sent) {
        (void)received(t);
        there = 0;
        for (uint32_t i = 0; i < t->kinds; i++) there += t->kind[i].waiting;
    }
    pick(&p, t, WF_TOP_BY_MAILBOX, MOST, "");
    want_int((int)p.count, MOST);
    want(p.matched >= MANY); /* and this actor, and weft's own */
    for (int i = 0; i < MOST; i++) want_int((int)p.actors[i].mailbox, i < EACH ? STEP - 1 : STEP - 2);
    want_int((int)tallied(t, "Odd")->actors, MANY / 20);
    wf_top_actors_free(&p);
    pick(&p, t, WF_TOP_BY_RECEIVED, 10, "oDD");
    want_int((int)p.count, 10);
    want_int((int)p.matched, MANY / 20);
    for (int i = 0; i < 10; i++) want(strcmp(p.actors[i].kind, "Odd") == 0);
    wf_top_actors_free(&p);
    pick(&p, t, WF_TOP_BY_DROPPED, 10, "nobody has this");
    want_int((int)(p.count + p.matched), 0);
    wf_top_actors_free(&p);
    pick(&p, t, WF_TOP_BY_MAILBOX, 0, "");
    want_int((int)p.count, 0);
    wf_top_actors_free(&p);
    for (int i = 0; i < MANY; i++) (void)weft_stop(all[i]);
    free(all);
    free(t);
}

START_TEST(the_fullest_mailboxes_are_picked)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2));
    node_spawn(n, 1, picks);
    node_end(n);
}
END_TEST

/* Kinds beyond the bound are counted together. */
static void many_kinds(const void *arg, size_t size)
{
    static char kinds[100][16];
    weft_pid pids[100];
    (void)arg, (void)size;
    struct wf_node_stats *t = malloc(sizeof *t);
    for (int i = 0; i < 100; i++) {
        snprintf(kinds[i], sizeof kinds[i], "kind-%d", i);
        weft_spawn_options o = {.kind = kinds[i], .worker = WEFT_SPREAD};
        want_int(weft_spawn(&pids[i], waits_for_ever, NULL, 0, &o), 0);
    }
    uint32_t all = 0;
    while (all < 100) { /* they are on their way to their workers */
        want_int(wf_node_stats_take(weft_here(), true, t, WEFT_FOREVER), 0);
        all = 0;
        for (uint32_t i = 0; i < t->kinds; i++) all += t->kind[i].actors;
    }
    want_int(t->kinds, WF_NODE_STATS_KINDS);
    want(tallied(t, "other") == &t->kind[WF_NODE_STATS_KINDS - 1] &&
         tallied(t, "other")->actors >= 100 - WF_NODE_STATS_KINDS);
    for (int i = 0; i < 100; i++) (void)weft_stop(pids[i]);
    free(t);
}

START_TEST(a_tally_has_a_bound_of_kinds)
{
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2));
    node_spawn(n, 1, many_kinds);
    node_end(n);
}
END_TEST

TEST_MAIN("inspect", a_drop_tells_the_kind_and_the_name_of_who_has_ended, a_tally_counts_all_actors,
          the_memory_of_a_kind_is_the_sum_of_its_actors, a_handler_at_rest_has_no_stack_but_state,
          a_page_takes_a_worker_several_turns, all_calls_are_counted_and_some_are_shown,
          the_fullest_mailboxes_are_picked, a_tally_has_a_bound_of_kinds, an_asker_that_is_killed_leaves_nothing,
          a_log_line_says_which_actor_of_which_node_speaks, the_most_stack_a_kind_has_used)
