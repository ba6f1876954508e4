/* Trace ids: which actors pass one on, which do not, and what a tap sees. */
#include "../node_harness.h"
#include "log.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

enum { DATA = 1, ASK = 2, END = 3, FAR = 4 };

static const weft_trace first = {0x0123456789abcdef, 0xfedcba9876543210}, none = {0, 0};

#define want_id(id, wanted)                   \
    do {                                      \
        weft_trace id_ = (id), w_ = (wanted); \
        want_int(id_.high, w_.high);          \
        want_int(id_.low, w_.low);            \
    } while (0)

/* Which id the next message brings. */
static weft_trace next_id(uint32_t tag)
{
    weft_msg *m;
    want_int(weft_recv_tag(&m, tag, WEFT_FOREVER), 0);
    weft_trace id = weft_trace_now();
    weft_msg_free(m);
    return id;
}

/* ---- Carrying on ----------------------------------------------------------------------------------------------- */

/* Answers, and passes on to `other` or its parent what it gets, until END. */
static void hop(const void *arg, size_t size)
{
    struct kid k;
    weft_msg *m;
    (void)size;
    memcpy(&k, arg, sizeof k);
    want_id(weft_trace_now(), none);
    if (k.n == 1) {
        want_int(weft_subscribe("room.one", NULL), 0);
        want_int(weft_group_join("group"), 0);
    }
    want_int(say(k.parent, END, 0), 0);
    for (;;) {
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        uint32_t tag = weft_tag(m);
        if (weft_wants_reply(m)) want_int(weft_reply(m, tag, "answer", 6), 0);
        if (tag == DATA) want_int(weft_send(weft_pid_is_nobody(k.other) ? k.parent : k.other, tag, "x", 1), 0);
        weft_msg_free(m);
        if (tag == END) return;
    }
}

static weft_pid hop_on(int worker, int64_t subscribes)
{
    weft_pid pid = kid_with(hop, (struct kid){.n = subscribes}, &(weft_spawn_options){.worker = worker});
    want_id(next_id(END), none);
    return pid;
}

/* The hops are on this worker if it is the only one, else between two workers. */
static void goes_round(const void *arg, size_t size)
{
    int worker = (int)wf_here->set->users;
    (void)arg, (void)size;
    weft_msg *m;
    weft_pid there = hop_on(worker, 1);
    /* If no message has a trace id, none gets one, and none takes the slow path. */
    want_int(say(there, DATA, 1), 0);
    want_id(next_id(DATA), none);
    want(!wf_actors_of(wf_here)->tracing);
    want_int(weft_trace_set(first), 0);
    want(wf_actors_of(wf_here)->tracing);
    want_int(say(there, DATA, 1), 0);
    want_id(next_id(DATA), first);
    want_int(weft_try_send(there, DATA, NULL, 0), 0);
    want_id(next_id(DATA), first);
    m = weft_msg_new(DATA, 3);
    memcpy(weft_msg_body(m), "abc", 3);
    want_int(weft_send_msg(there, m), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want(weft_size(m) == 1 && memcmp(weft_data(m), "x", 1) == 0);
    want_int(weft_send_msg(there, m), 0); /* what it got it passes on */
    want_id(next_id(DATA), first);
    want_int(weft_publish("room.one", DATA, "p", 1), 1);
    want_id(next_id(DATA), first);
    want_int(weft_group_send("group", DATA, "g", 1), 1);
    want_id(next_id(DATA), first);
    want_int(weft_send_after(WEFT_NOW, there, DATA, "l", 1, NULL), 0);
    want_id(next_id(DATA), first);
    /* An answer is no message that one takes: the asker stays with what it has. */
    want_int(weft_call(there, ASK, "ask", 3, &m, weft_after(WEFT_SEC(60))), 0);
    want(wf_is_traced(m) && weft_size(m) == 6 && memcmp(weft_data(m), "answer", 6) == 0);
    weft_msg_free(m);
    want_id(weft_trace_now(), first);
    want_int(weft_trace_set(none), 0);
    want_int(say(there, DATA, 1), 0);
    want_id(next_id(DATA), none);
    want(!wf_actors_of(wf_here)->tracing);
    want_int(weft_send(there, END, NULL, 0), 0);
}

START_TEST(an_id_goes_on_with_what_is_sent)
{
    run_on(1, goes_round);
    run_on(2, goes_round);
}
END_TEST

/* A handler answers with 1 if it has an id. */
static void handles(void *state, weft_msg *m)
{
    (void)state;
    if (weft_tag(m) == END) weft_exit(0);
    weft_trace id = weft_trace_now();
    want_int(say(weft_from(m), DATA, id.low == first.low), 0);
}

static int64_t ask_handler(weft_pid who)
{
    weft_msg *m;
    int64_t value;
    want_int(say(who, DATA, 0), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    memcpy(&value, weft_data(m), sizeof value);
    weft_msg_free(m);
    return value;
}

static void uses_a_handler(const void *arg, size_t size)
{
    weft_pid who;
    (void)arg, (void)size;
    want_int(weft_spawn_handler(&who, handles, NULL, 0, NULL), 0);
    want_int(ask_handler(who), 0);
    want_int(weft_trace_set(first), 0);
    want_int(ask_handler(who), 1);
    want_int(weft_trace_set(none), 0);
    want_int(ask_handler(who), 0);
    want_int(weft_trace_set(first), 0);
    want_int(weft_send(who, END, NULL, 0), 0);
}

START_TEST(a_handler_passes_the_trace_id_on)
{
    run_on(1, uses_a_handler);
}
END_TEST

static void sets_ids(const void *arg, size_t size)
{
    char text[WEFT_TRACE_TEXT];
    (void)arg, (void)size;
    weft_trace one = weft_trace_new(), other = weft_trace_new();
    want(one.low != other.low && (one.high != 0 || one.low != 0));
    want_int(weft_trace_set(one), 0);
    want_id(weft_trace_now(), one);
    want_int(weft_trace_set(other), 0);
    want_id(weft_trace_now(), other);
    want(strcmp(weft_trace_format(first, text), "0123456789abcdeffedcba9876543210") == 0);
}

START_TEST(a_program_chooses_ids)
{
    ck_assert_int_eq(weft_trace_set(first), WEFT_ENOTACTOR);
    ck_assert_uint_eq(weft_trace_now().low, 0);
    run_on(1, sets_ids);
}
END_TEST

/* ---- Taps ------------------------------------------------------------------------------------------------------ */

static uint64_t missed;

/* The events since the last call as text: the actor, the event and the tag, with "!" if it was asked for. */
static void taken(struct wf_tap *t, weft_pid me, char out[256])
{
    static const char verbs[] = "?srdf";
    size_t used = 0;
    out[0] = '\0';
    for (struct wf_passed *p = wf_tap_take(weft_here(), t, &missed), *next; p != NULL; p = next) {
        next = p->next;
        used += (size_t)snprintf(out + used, 256 - used, "%s%s%c%u%s", used == 0 ? "" : " ",
                                 weft_pid_equal(p->actor, me) ? "me" : "it", verbs[p->what], p->tag,
                                 p->wanted ? "!" : "");
        want(p->trace.flags == WF_TRACE_BY_TOOL && (p->trace.id.high | p->trace.id.low) != 0);
        free(p);
    }
}

static void is_tapped(const void *arg, size_t size)
{
    int worker = (int)wf_here->set->users;
    (void)arg, (void)size;
    char text[256];
    int64_t wall;
    weft_pid there = hop_on(worker, 0), me = weft_self();
    struct wf_tap tap = {.tag = ASK, .has_tag = true}, other = {.actor = there};
    weft_msg *m;
    want_int(weft_event_open(&tap.filled), 0);
    want_int(wf_tap_open(weft_here(), &tap), 0);
    want(wf_actors_of(wf_here)->tracing);
    want_int(say(there, DATA, 1), 0);
    want_id(next_id(DATA), none);
    taken(&tap, me, text);
    want(strcmp(text, "") == 0);
    want_int(weft_event_take(tap.filled), 0);
    want_int(weft_call(there, ASK, NULL, 0, &m, WEFT_FOREVER), 0);
    weft_msg_free(m);
    want_int(weft_event_take(tap.filled), 1); /* so its tool need not look again and again */
    taken(&tap, me, text);
    want(strcmp(text, "mes2! itr2! its2! mer2!") == 0);
    /* A message without a requested tag was caused by one with such a tag, as it has the same trace id. */
    want_int(wf_tap_open(weft_here(), &other), 0);
    want_int(say(there, DATA, 1), 0);
    weft_trace id = next_id(DATA);
    want(id.low != 0);
    taken(&tap, me, text);
    want(strcmp(text, "mes1 itr1 its1 mer1") == 0);
    taken(&other, me, text);
    want(strcmp(text, "mes1! itr1! its1! mer1!") == 0);
    want_int(weft_send((weft_pid){there.node, there.actor + (UINT64_C(7) << 32)}, FAR, NULL, 0), WEFT_ENOACTOR);
    taken(&other, me, text);
    want(strcmp(text, "mes4 mef4") == 0);
    /* No tool reads the trace, so it ends. */
    wf_tap_close(weft_here(), &tap);
    wf_tap_close(weft_here(), &other);
    want_id(weft_trace_now(), none);
    (void)wf_log_context(text, sizeof text, &wall);
    want(strstr(text, "trace=") == NULL);
    want_int(say(there, DATA, 1), 0);
    want_id(next_id(DATA), none);
    want_int(weft_send(there, END, NULL, 0), 0);
}

START_TEST(a_tap_sees_what_it_asks_for_and_what_follows)
{
    run_on(1, is_tapped);
    run_on(2, is_tapped);
}
END_TEST

static void publishes(const void *arg, size_t size)
{
    char text[256];
    (void)arg, (void)size;
    weft_pid there = hop_on(1, 1), me = weft_self();
    struct wf_tap tap = {.topic = "room.*"}, its = {.actor = there};
    want_int(wf_tap_open(weft_here(), &tap), 0);
    want_int(weft_publish("other", DATA, "p", 1), 0);
    want_int(weft_publish("room.one", DATA, "p", 1), 1);
    want(next_id(DATA).low != 0);
    taken(&tap, me, text);
    want(strcmp(text, "mes1! itr1! its1 mer1") == 0);
    wf_tap_close(weft_here(), &tap);
    /* Whom it is for is known when it arrives. */
    want_int(wf_tap_open(weft_here(), &its), 0);
    want_int(weft_publish("room.one", DATA, "p", 1), 1);
    want(next_id(DATA).low != 0);
    taken(&its, me, text);
    want(strcmp(text, "mes1 itr1! its1! mer1!") == 0);
    wf_tap_close(weft_here(), &its);
    want_int(weft_send(there, END, NULL, 0), 0);
}

START_TEST(a_tap_of_topics)
{
    run_on(1, publishes);
}
END_TEST

static void overflows(const void *arg, size_t size)
{
    static char body[WF_PASSED_BYTES * 2];
    struct wf_tap tap = {.tag = DATA, .has_tag = true};
    uint32_t count = 0;
    (void)arg, (void)size;
    want_int(wf_tap_open(weft_here(), &tap), 0);
    for (int i = 0; i < WF_TAP_BYTES / WF_PASSED_BYTES; i++)
        want_int(weft_send(weft_self(), DATA, body, sizeof body), 0);
    for (struct wf_passed *p = wf_tap_take(weft_here(), &tap, &missed), *next; p != NULL; p = next, count++) {
        next = p->next;
        want_int(p->size, sizeof body);
        want_int(p->kept, WF_PASSED_BYTES);
        free(p);
    }
    want(missed > 0 && count > 0);
    want_int(count + missed, WF_TAP_BYTES / WF_PASSED_BYTES);
    want_int(weft_send(weft_self(), DATA, body, 1), 0); /* is left in the tap */
    wf_tap_close(weft_here(), &tap);
}

START_TEST(a_tap_is_bounded)
{
    run_on(1, overflows);
}
END_TEST

static void logs(const void *arg, size_t size)
{
    char fields[256];
    int64_t wall;
    (void)arg, (void)size;
    (void)wf_log_context(fields, sizeof fields, &wall);
    want(strstr(fields, "trace=") == NULL);
    want_int(weft_trace_set(first), 0);
    (void)wf_log_context(fields, sizeof fields, &wall);
    want(strstr(fields, " trace=0123456789abcdeffedcba9876543210") != NULL);
}

START_TEST(log_lines_name_the_trace_id)
{
    run_on(1, logs);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trace");
    TCase *t = tcase_create("trace");
    tcase_add_test(t, an_id_goes_on_with_what_is_sent);
    tcase_add_test(t, a_handler_passes_the_trace_id_on);
    tcase_add_test(t, a_program_chooses_ids);
    tcase_add_test(t, a_tap_sees_what_it_asks_for_and_what_follows);
    tcase_add_test(t, a_tap_of_topics);
    tcase_add_test(t, a_tap_is_bounded);
    tcase_add_test(t, log_lines_name_the_trace_id);
    suite_add_tcase(s, t);
    return run_suite(s);
}
