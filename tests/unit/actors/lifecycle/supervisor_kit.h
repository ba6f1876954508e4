/* tests/unit/actors/lifecycle/supervisor_kit.h -- children for tests of supervisors, in virtual time: the order of
 * events and the times are exact. Children log to `trace`: "+a": a has started, "-a": a has ended. */
#ifndef WF_SUPERVISOR_KIT_H
#define WF_SUPERVISOR_KIT_H

#include "../node_harness.h"

#include <weft/test.h>

enum { EXIT = 1, FAIL, HANG, READY, ASK, HOLD, STOP_COUNT };

/* ---- Children -------------------------------------------------------------------------------------------------- */

__attribute__((unused)) static char trace[4096];
__attribute__((unused)) static size_t traced;
__attribute__((unused)) static int64_t times[64]; /* of each start, since the first one */
__attribute__((unused)) static size_t starts;
__attribute__((unused)) static int fail_starts; /* so many starts of `fails` fail */
__attribute__((unused)) static int fail_reason;

__attribute__((unused)) static void note(char what, char who)
{
    if (traced + 2 < sizeof trace) trace[traced++] = what, trace[traced++] = who;
    trace[traced] = 0;
    if (what == '+' && starts < WF_COUNT(times)) times[starts++] = weft_now();
}

__attribute__((unused)) static void clear(void)
{
    traced = starts = 0;
    trace[0] = 0;
}

__attribute__((unused)) static void want_trace_at(int line, const char *wanted)
{
    if (strcmp(trace, wanted) != 0) {
        fprintf(stderr, "%s:%d: the trace is \"%s\", not \"%s\"\n", __FILE__, line, trace, wanted);
        abort();
    }
    clear();
}
#define want_trace(wanted) want_trace_at(__LINE__, wanted)

/* Waits until nothing is left to do at this time, and compares the events. */
#define want_now(wanted)                 \
    do {                                 \
        want_int(weft_settle(), 0);      \
        want_trace_at(__LINE__, wanted); \
    } while (0)

__attribute__((unused)) static void note_end(void *who)
{
    note('-', (char)(intptr_t)who);
}

__attribute__((unused)) static void obey(char who)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        int64_t value = weft_size(m) == sizeof value ? value_of(m) : 0;
        switch (weft_tag(m)) {
        case EXIT: weft_exit((int)value);
        case FAIL: weft_fail((int)value, "%c has failed", who);
        case HANG: want_int(weft_trap_stop(true), 0); break; /* and a request to stop means nothing to it */
        case READY: want_int(weft_ready(), 0); break;
        case ASK: want_int(weft_reply(m, ASK, &value, sizeof value), 0); break;
        case HOLD: continue; /* and not freed */
        }
        weft_msg_free(m);
    }
}

/* Its argument is its letter. */
__attribute__((unused)) static void player(const void *arg, size_t size)
{
    char who = *(const char *)arg;
    want_int(size, 1);
    note('+', who);
    want_int(weft_defer(note_end, (void *)(intptr_t)who), 0);
    obey(who);
}

/* Ready or not by `fail_starts`. */
__attribute__((unused)) static void fails(const void *arg, size_t size)
{
    char who = *(const char *)arg;
    (void)size;
    note('+', who);
    want_int(weft_defer(note_end, (void *)(intptr_t)who), 0);
    if (fail_starts > 0) {
        fail_starts--;
        if (fail_reason == 0) return;
        weft_fail(fail_reason, "no luck");
    }
    want_int(weft_ready(), 0);
    obey(who);
}

/* A supervisor as a child: its argument is a pointer to its spec. */
__attribute__((unused)) static void subtree(const void *arg, size_t size)
{
    (void)size;
    (void)weft_supervise(*(const weft_supervisor_spec *const *)arg);
    want_failed("weft_supervise has returned", __FILE__, __LINE__, 0);
}

#define CHILD(letter)                                                \
    {                                                                \
        .name = letter, .body = player, .arg = letter, .arg_size = 1 \
    }
#define CHILD_WITH(letter, ...)                                                   \
    {                                                                             \
        .name = letter, .body = player, .arg = letter, .arg_size = 1, __VA_ARGS__ \
    }
#define SPEC(list)                                      \
    {                                                   \
        .children = list, .child_count = WF_COUNT(list) \
    }
#define SPEC_WITH(list, ...)                                         \
    {                                                                \
        .children = list, .child_count = WF_COUNT(list), __VA_ARGS__ \
    }

/* ---- The test's side ------------------------------------------------------------------------------------------- */

/* Starts a supervisor and monitors it. */
__attribute__((unused)) static weft_pid top(const weft_supervisor_spec *spec)
{
    weft_pid pid;
    weft_monitor_ref ref;
    want_int(weft_spawn(&pid, subtree, &spec, sizeof spec, &(weft_spawn_options){.monitor = &ref}), 0);
    want_int(weft_settle(), 0);
    return pid;
}

__attribute__((unused)) static weft_pid named(const char *name)
{
    weft_pid pid;
    want_int(weft_whereis(name, &pid), 0);
    return pid;
}

__attribute__((unused)) static bool exists(const char *name)
{
    weft_pid pid;
    return weft_whereis(name, &pid) == 0;
}

__attribute__((unused)) static void tell(const char *name, uint32_t tag, int64_t value)
{
    want_int(say(named(name), tag, value), 0);
}

/* It stops its children in this order, and ends for this reason. */
__attribute__((unused)) static void stop_top(weft_pid pid, const char *wanted)
{
    want_int(weft_stop(pid), 0);
    want_int(weft_settle(), 0);
    if (strcmp(trace, wanted) != 0) fprintf(stderr, "\"%s\", not \"%s\"\n", trace, wanted);
    want(strcmp(trace, wanted) == 0);
    clear();
    want_int(down_now().reason, WEFT_EXIT_STOPPED);
}

__attribute__((unused)) static void want_text(const struct weft_down *down, const char *part)
{
    if (strstr(down->text, part) == NULL) fprintf(stderr, "\"%s\" is not in \"%s\"\n", part, down->text);
    want(strstr(down->text, part) != NULL);
}

__attribute__((unused)) static void play(weft_actor *body)
{
    clear();
    weft_log_set(getenv("LOUD") != NULL ? WEFT_DEBUG : WEFT_SILENT, false);
    int rc = weft_test_run(body, NULL, 0, NULL);
    weft_log_set(WEFT_INFO, false);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
}

#define PLAY(name)         \
    START_TEST(name)       \
    {                      \
        play(name##_body); \
    }                      \
    END_TEST
#define BODY(name) static void name##_body(const void *arg_, size_t size_)
#define NO_ARGS (void)arg_, (void)size_

__attribute__((unused)) static const weft_child_spec abc[] = {CHILD("a"), CHILD("b"), CHILD("c")};
__attribute__((unused)) static const weft_child_spec abcd[] = {CHILD("a"), CHILD("b"), CHILD("c"), CHILD("d")};

#endif
