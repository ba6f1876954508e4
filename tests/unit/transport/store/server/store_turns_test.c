/* tests/unit/transport/store/server/store_turns_test.c -- however much clients fill the tables of the store's actor with, it does no
 * more than a millisecond of work in a turn. Work is counted in units (effort.h), as times vary. */
#include <weft/log.h>
#include <weft/test.h>

#include "msg.h"
#include "parked_reads.h"
#include "shared_record.h"
#include "queues_fixture.h"
#include "store_cursors.h"
#include "store_messages.h"
#include "store_states.h"

static void setup(void)
{
    begin_queues("$shared.x");
}

/* `times` things, each of which is `units` of work at least, were done. The last of a turn may be a quarter of its work. */
static void want_turns(size_t times, size_t units)
{
    ck_assert_uint_ge(effort.turns + 1, times * units / (WF_EFFORT_TURN * 5 / 4));
    ck_assert_uint_lt(effort.done, WF_EFFORT_TURN);
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

/* A request, in an actor, to open the state: of another one, and with a deadline. */
static weft_msg *opening_of(const char *key, weft_pid from, int64_t deadline)
{
    const struct store_state_ask in = {.kind = WF_STATE_OPEN, .key = weft_cstr(key)};
    weft_msg *m = wf_store_message(WF_STORE_STATE, store_state_ask_type(), &in);
    weft_require(m != NULL);
    weft_msg *ask = weft_msg_new(WF_STORE_STATE, weft_size(m) + 8 + sizeof(struct wf_terms));
    weft_require(ask != NULL);
    memcpy(wf_msg_bytes(ask), weft_data(m), weft_size(m));
    ask->size = m->size;
    ask->from = from;
    ask->post.flags = WF_MSG_CALL;
    *wf_terms(ask) = (struct wf_terms){.deadline = deadline};
    weft_msg_free(m);
    return ask;
}

static struct wf_store_states states; /* it is large */

static struct wf_store_states *begin_states(void)
{
    char(*pattern)[WF_STORE_TOPIC_MAX + 1] = calloc(1, sizeof *pattern);
    weft_require(pattern != NULL);
    strcpy(pattern[0], ">");
    memset(&states, 0, sizeof states);
    wf_states_init(&states, &file, &effort, pattern, 1);
    return &states;
}

static void owner_leaves(const void *arg, size_t size)
{
    struct wf_store_states *s = begin_states();
    const size_t count = *(const size_t *)arg;
    weft_require(size == sizeof count);
    wf_states_ask(s, opening_of("s", weft_self(), WEFT_FOREVER));
    for (size_t i = 0; i < count; i++) {
        const weft_pid who = {.node = 1000 + i / WF_OPENINGS_OF_NODE, .actor = i};
        wf_states_ask(s, opening_of("s", who, weft_after(WEFT_MS(1))));
    }
    weft_require(s->openings == count && s->owners == 1 && s->requests.count == 1);
    weft_require(weft_sleep(weft_after(WEFT_MS(1))) == 0);
    effort = (struct wf_effort){0};
    const struct store_state_ask in = {.key = weft_cstr("s")};
    weft_msg *leaves = wf_store_message(WF_STORE_STATE_CLOSE, store_state_ask_type(), &in);
    leaves->from = weft_self();
    wf_states_close(s, leaves);
    if (effort.done + effort.turns > 0 || s->openings != count) weft_fail(1, "the openings are ended at once");
    weft_require(wf_states_give_on(s));
    weft_require(s->openings == 0 && s->owners == 0 && !wf_states_give_on(s));
    weft_msg_free(s->requests.first->ask);
    wf_states_free(s);
}

/* Of five nodes the latter. */
START_TEST(openings_that_have_expired_are_removed_in_many_turns)
{
    const size_t counts[] = {WF_OPENINGS_MAX / 10, WF_OPENINGS_MAX};
    for (int i = 0; i < 2; i++) {
        int rc = weft_test_run(owner_leaves, &counts[i], sizeof *counts, NULL);
        ck_assert_msg(rc == 0, "%s", weft_test_report());
        want_turns(counts[i], WF_EFFORT_ANSWER);
    }
}
END_TEST

/* ---- The end ----------------------------------------------------------------------------------------------------- */

enum { LEFT = 20 * 1000 };

static void owners_are_left(const void *arg, size_t size)
{
    struct wf_store_states *s = begin_states();
    (void)arg, (void)size;
    for (size_t i = 0; i < LEFT; i++) {
        char key[16];
        snprintf(key, sizeof key, "s%zu", i);
        wf_states_ask(s, opening_of(key, (weft_pid){.node = 7, .actor = i}, WEFT_FOREVER));
    }
    weft_require(s->owners == LEFT && s->requests.count == LEFT);
    effort = (struct wf_effort){0};
    wf_states_free(s); /* the messages end with this actor */
}

START_TEST(owners_that_are_left_are_freed_in_many_turns)
{
    int rc = weft_test_run(owners_are_left, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
    want_turns(LEFT, 2 * WF_EFFORT_FREE); /* and their changes */
}
END_TEST

static void openings_are_left(const void *arg, size_t size)
{
    struct wf_store_states *s = begin_states();
    (void)arg, (void)size;
    wf_states_ask(s, opening_of("s", weft_self(), WEFT_FOREVER));
    for (size_t i = 0; i < WF_OPENINGS_MAX; i++) {
        const weft_pid who = {.node = 1000 + i / WF_OPENINGS_OF_NODE, .actor = i};
        wf_states_ask(s, opening_of("s", who, WEFT_FOREVER));
    }
    weft_require(s->openings == WF_OPENINGS_MAX);
    effort = (struct wf_effort){0};
    wf_states_free(s);
}

START_TEST(openings_that_are_left_are_freed_in_many_turns)
{
    int rc = weft_test_run(openings_are_left, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
    want_turns(WF_OPENINGS_MAX, WF_EFFORT_ANSWER);
}
END_TEST

static void reads_are_left(const void *arg, size_t size)
{
    static struct wf_parked_reads parked; /* it is large */
    (void)arg, (void)size;
    memset(&parked, 0, sizeof parked); /* a literal would be on the stack of a build without optimization */
    wf_parked_reads_init(&parked, 11);
    for (size_t i = 0; i < LEFT; i++) {
        weft_msg *ask = weft_msg_new(WF_STORE_READ, 8);
        weft_require(ask != NULL);
        ask->from = (weft_pid){.node = 7, .actor = i};
        weft_require(wf_parked_reads_add(&parked, "t", ask) == WEFT_OK);
    }
    effort = (struct wf_effort){0};
    wf_parked_reads_free(&parked, &effort);
}

START_TEST(reads_that_are_left_are_freed_in_many_turns)
{
    int rc = weft_test_run(reads_are_left, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
    want_turns(LEFT, WF_EFFORT_ANSWER);
}
END_TEST

/* ---- Readers that wait for a record ------------------------------------------------------------------------------ */

static weft_msg *park(struct wf_parked_reads *p, const char *topic, uint64_t actor)
{
    weft_msg *ask = weft_msg_new(WF_STORE_READ, 8);
    weft_require(ask != NULL);
    ask->from = (weft_pid){.node = 7, .actor = actor};
    weft_require(wf_parked_reads_add(p, topic, ask) == WEFT_OK);
    return ask;
}

/* Thousands read "t", two read "u", and one reads "v", which gets no record. */
static void topics_have_records(const void *arg, size_t size)
{
    static struct wf_parked_reads parked; /* it is large */
    const size_t count = *(const size_t *)arg;
    weft_require(size == sizeof count);
    memset(&parked, 0, sizeof parked);
    wf_parked_reads_init(&parked, 11);
    for (size_t i = 0; i < count; i++) (void)park(&parked, "t", i);
    weft_msg *const u[] = {park(&parked, "u", 1), park(&parked, "u", 2)};
    (void)park(&parked, "v", 3);
    weft_require(wf_parked_reads_next(&parked) == NULL);
    wf_parked_reads_wake(&parked, "t");
    wf_parked_reads_wake(&parked, "none");
    wf_parked_reads_wake(&parked, "u");
    weft_require(parked.count == count + 3);
    weft_msg *const later = park(&parked, "t", count); /* it waits for the next record */
    size_t of_t = 0, of_u = 0;
    for (weft_msg *m; (m = wf_parked_reads_next(&parked)) != NULL; weft_msg_free(m)) {
        weft_require(m != later);
        of_u += of_u < 2 && m == u[of_u];
        of_t += m != u[0] && m != u[1];
        weft_require(of_u == 2 || of_t < 4); /* the many of "t" do not keep those of "u" waiting */
    }
    weft_require(of_t == count && of_u == 2 && parked.count == 2);
    wf_parked_reads_wake(&parked, "t");
    weft_require(wf_parked_reads_next(&parked) == later && wf_parked_reads_next(&parked) == NULL);
    weft_msg_free(later);
    effort = (struct wf_effort){0};
    wf_parked_reads_free(&parked, &effort);
}

START_TEST(readers_of_one_topic_do_not_keep_those_of_another_waiting)
{
    const size_t counts[] = {1, 3, WF_PARKED_OF_NODE - 4};
    for (int i = 0; i < 3; i++) {
        int rc = weft_test_run(topics_have_records, &counts[i], sizeof *counts, NULL);
        ck_assert_msg(rc == 0, "%s", weft_test_report());
    }
}
END_TEST

/* ---- Cursors ----------------------------------------------------------------------------------------------------- */

/* Here, outside of an actor, the job is refused, and each gets an error. */
START_TEST(the_advances_of_a_batch_are_answered_in_many_turns)
{
    const struct store_advance in = {.name = weft_cstr("c"), .topic = weft_cstr("t")};
    struct wf_store_cursors c = {.file = NULL};
    weft_job job;
    wf_cursors_init(&c, &file, NULL, &effort);
    for (int i = 0; i < WF_STORE_BATCH_MAX; i++)
        wf_cursors_advance(&c, wf_store_message(WF_STORE_ADVANCE, store_advance_type(), &in));
    ck_assert_uint_eq(c.requests.count, WF_STORE_BATCH_MAX);
    ck_assert(!wf_cursors_start(&c, &job));
    ck_assert(c.requests.running == NULL && c.requests.batch == NULL);
    want_turns(WF_STORE_BATCH_MAX, WF_EFFORT_ANSWER + WF_EFFORT_COMPARE);
}
END_TEST

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static struct wf_hold *add_worker(struct wf_work_queue *w, uint64_t id)
{
    struct wf_hold *h = calloc(1, sizeof *h);
    ck_assert_ptr_nonnull(h);
    ck_assert_int_eq(wf_node_counts_add(&queues.of_node, 7, WF_HOLDS_MAX), WEFT_OK);
    *h = (struct wf_hold){.state = IS_WORKING,
                          .who = {.node = 7, .actor = 5},
                          .queue = w,
                          .bound = 1,
                          .due = INT64_MAX,
                          .id = id,
                          .lease = 3,
                          .given = id};
    w->users++;
    queues.holds++;
    wf_hold_found_by_monitor(&queues, h);
    wf_hold_found_by_job(&queues, h);
    wf_chained_push(wf_hold_member_bucket(&queues, w, h->who), &h->of_member);
    return h;
}

/* As after a day in which the store was down. */
START_TEST(queues_that_are_due_at_once_are_looked_at_in_many_turns)
{
    enum { COUNT = 10 * 1000 };
    weft_job job;
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "q%d", i);
        use_queue(name);
        wf_queue_set_due(&queues.table, queue, 5);
    }
    ck_assert(!wf_queues_start(&queues, &job));
    ck_assert_int_eq(wf_queue_table_next_due(&queues.table), INT64_MAX);
    want_turns(COUNT, WF_EFFORT_ANSWER);
}
END_TEST

/* Their takers have left, and workers use them still. */
START_TEST(queues_without_takers_count_as_work)
{
    enum { COUNT = 10 * 1000 };
    weft_job job;
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "q%d", i);
        use_queue(name);
        queue->taker_count = 1;
        wf_queue_look_again(&queues.table, queue);
        queue->taker_count = 0;
    }
    ck_assert(!wf_queues_start(&queues, &job));
    want_turns(COUNT, WF_EFFORT_ANSWER);
}
END_TEST

START_TEST(a_member_of_many_cursors_costs_what_one_of_them_has)
{
    struct wf_work_queue *w = queue;
    int64_t due;
    const struct wf_hold *taker = add_worker(w, 1);
    for (uint64_t i = 0; i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof name, "$shared.c%d", (int)i % 500);
        use_queue(name);
        (void)add_worker(queue, 2 + i);
    }
    ck_assert(wf_hold_has_all(&queues, taker, &due));
    ck_assert_uint_lt(effort.done, 100);
}
END_TEST

/* Each acknowledgement looks at all records that its member has. */
START_TEST(acknowledgements_of_a_member_with_many_records_count_as_work)
{
    enum { ASKS = 1000 };
    const struct store_change in = {
        .kind = WF_JOB_DONE, .queue = weft_cstr("$shared.x"), .id = WF_MEMBER_BOUND_MAX, .lease = 3, .upto = true};
    static weft_msg *ask[ASKS];
    for (uint64_t i = 1; i <= WF_MEMBER_BOUND_MAX; i++) (void)add_worker(queue, i);
    for (int i = 0; i < ASKS; i++) {
        ask[i] = wf_store_message(WF_STORE_CHANGE, store_change_type(), &in);
        ck_assert_ptr_nonnull(ask[i]);
        wf_queues_change(&queues, ask[i]);
        wf_effort_count(&effort, WF_EFFORT_ANSWER);
    }
    want_turns(ASKS, WF_MEMBER_BOUND_MAX);
    for (int i = 0; i < ASKS; i++) weft_msg_free(ask[i]); /* they would end with the actor */
}
END_TEST

/* With their workers, and a change that was not stored. */
START_TEST(queues_that_are_left_are_freed_in_many_turns)
{
    const struct store_change in = {.kind = WF_JOB_DONE, .queue = weft_cstr("q1"), .id = 1, .lease = 3};
    weft_msg *ask = wf_store_message(WF_STORE_CHANGE, store_change_type(), &in);
    for (uint64_t i = 0; i < LEFT; i++) {
        char name[16];
        snprintf(name, sizeof name, "q%d", (int)i);
        use_queue(name);
        (void)add_worker(queue, i);
    }
    wf_queues_change(&queues, ask);
    ck_assert_uint_eq(queues.requests.count, 1);
    effort = (struct wf_effort){0};
    wf_queues_free(&queues);
    want_turns(LEFT, 2 * WF_EFFORT_FREE);
    weft_msg_free(ask);
    begin_queues("q"); /* for the end of the test */
}
END_TEST

int main(void)
{
    weft_log_set(WEFT_SILENT, false); /* it says that these requests want no answer */
    Suite *suite = suite_create("turns of the store's actor");
    TCase *c = tcase_create("turns");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, openings_that_have_expired_are_removed_in_many_turns);
    tcase_add_test(c, the_advances_of_a_batch_are_answered_in_many_turns);
    tcase_add_test(c, queues_that_are_due_at_once_are_looked_at_in_many_turns);
    tcase_add_test(c, queues_without_takers_count_as_work);
    tcase_add_test(c, a_member_of_many_cursors_costs_what_one_of_them_has);
    tcase_add_test(c, acknowledgements_of_a_member_with_many_records_count_as_work);
    tcase_add_test(c, owners_that_are_left_are_freed_in_many_turns);
    tcase_add_test(c, openings_that_are_left_are_freed_in_many_turns);
    tcase_add_test(c, reads_that_are_left_are_freed_in_many_turns);
    tcase_add_test(c, readers_of_one_topic_do_not_keep_those_of_another_waiting);
    tcase_add_test(c, queues_that_are_left_are_freed_in_many_turns);
    return run_suite(suite);
}
