/* One call of an actor may reach thousands of others: a publication, a message to a group, a change of a group that they
 * watch. An actor that makes such calls one after the other does not hold up its worker: after WF_TURN_WORK messages the
 * turn ends. */
#include "../node_harness.h"

#include "mailbox.h"

#include <stdio.h>

enum { READY = 1, DATA = 2 };
enum { MANY = 1500, MOST = WF_TURN_WORK / MANY + 2 /* calls in a turn */ };
enum kind { PUBLICATIONS, GROUP_MESSAGES, CHANGES, WATCHES, RETAINED, KINDS };

static enum kind chosen;
static unsigned done; /* calls */

/* A tenth shows as well that a turn ends before all are done. */
static unsigned calls(void)
{
    return under_tools() ? 20 : 200;
}

static void receiver(const void *arg, size_t size)
{
    struct kid k;
    want_int(size, sizeof k);
    memcpy(&k, arg, sizeof k);
    if (chosen == PUBLICATIONS) want_int(weft_subscribe("topic", NULL), 0);
    else if (chosen == CHANGES) want_int(weft_group_watch("group"), 0);
    else want_int(weft_group_join("group"), 0);
    say(k.parent, READY, 0);
    (void)weft_sleep(WEFT_FOREVER);
}

static void call_once(void)
{
    weft_subscription s;
    switch (chosen) {
    case PUBLICATIONS: want_int(weft_publish("topic", DATA, NULL, 0), MANY); return;
    case GROUP_MESSAGES: want_int(weft_group_send("group", DATA, NULL, 0), MANY); return;
    case CHANGES: want_int(done % 2 == 0 ? weft_group_join("group") : weft_group_leave("group"), 0); return;
    case WATCHES:
        want_int(weft_group_watch("group"), 0);
        want_int(weft_group_unwatch("group"), 0);
        return;
    case RETAINED:
        want_int(weft_subscribe("kept.>", &s), 0);
        want_int(weft_unsubscribe(s), 0);
        want_int(weft_sleep(WEFT_NOW), 0); /* an operation: these two calls never yield */
        return;
    default: return;
    }
}

static void caller(const void *arg, size_t size)
{
    struct kid k;
    want_int(size, sizeof k);
    memcpy(&k, arg, sizeof k);
    for (unsigned i = 0; chosen == RETAINED && i < MANY; i++) {
        char topic[32];
        snprintf(topic, sizeof topic, "kept.%u", i);
        want(weft_publish_retained(topic, DATA, "x", 1) >= 0);
    }
    say(k.parent, READY, 0);
    want_int(weft_yield(), 0);
    for (done = 0; done < calls(); done++) call_once();
}

/* Looks between any two turns, until `p` has ended or has done all. Returns the most that it has done in one. */
static unsigned most_in_a_turn(weft_pid p, unsigned all)
{
    unsigned before = done, most = 0;
    for (uint64_t turn = wf_here->count.turns; is_alive(p) && done < all;) {
        want_int(weft_yield(), 0);
        if (wf_here->count.turns == turn) continue;
        turn = wf_here->count.turns;
        most = WF_MAX(most, done - before);
        before = done;
    }
    return WF_MAX(most, done - before);
}

static void looks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid all[MANY] = {{0, 0}};
    const unsigned receivers = chosen == RETAINED ? 0 : MANY;
    for (unsigned i = 0; i < receivers; i++) {
        all[i] = kid_on(1, receiver, 0);
        (void)hear(READY);
    }
    done = 0;
    weft_pid p = kid_on(1, caller, 0);
    (void)hear(READY);
    unsigned most = most_in_a_turn(p, calls());
    want_int(done, calls());
    want(most <= MOST);
    for (unsigned i = 0; i < receivers; i++) want_int(weft_kill(all[i]), 0);
}

START_TEST(calls_that_reach_many_make_no_turn_long)
{
    chosen = (enum kind)_i;
    run_on(1, looks);
}
END_TEST

/* ---- Entries of tables ----------------------------------------------------------------------------------------- */

enum { ENTRIES_MOST = 1024 + 10 };
enum entry { NAME, GROUP, TOPIC, MONITOR, ENTRY_KINDS };

static unsigned entries(void)
{
    return under_tools() ? 3000 : 20000;
}

static enum entry entry;

static void makes_entries(const void *arg, size_t size)
{
    struct kid k;
    want_int(size, sizeof k);
    memcpy(&k, arg, sizeof k);
    say(k.parent, READY, 0);
    for (done = 0; done < entries(); done++) {
        char name[32];
        snprintf(name, sizeof name, "one.of.many.%u", done);
        want_int(entry == NAME    ? weft_register(name)
                 : entry == GROUP ? weft_group_join(name)
                 : entry == TOPIC ? weft_subscribe(name, NULL)
                                  : weft_monitor(k.parent, NULL),
                 0);
        if (done % 10 == 9) want_int(weft_sleep(WEFT_NOW), 0); /* an operation */
    }
}

static void looks_at_entries(const void *arg, size_t size)
{
    (void)arg, (void)size;
    done = 0;
    weft_pid p = kid_on(1, makes_entries, 0);
    (void)hear(READY);
    unsigned most = most_in_a_turn(p, entries());
    want(most <= ENTRIES_MOST);
}

START_TEST(an_actor_that_makes_very_many_entries_makes_no_turn_long)
{
    entry = (enum entry)_i;
    run_on(1, looks_at_entries);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("many receivers");
    TCase *tc = tcase_create("kinds");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, calls_that_reach_many_make_no_turn_long, 0, KINDS);
    tcase_add_loop_test(tc, an_actor_that_makes_very_many_entries_makes_no_turn_long, 0, ENTRY_KINDS);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
