/* tests/unit/actors/call/calls.h -- actors that call, and servers that answer when a test allows it. */
#ifndef WF_CALLS_H
#define WF_CALLS_H

#include "../node_harness.h"

enum { DATA = 1, GO = 2, ASK = 3, ANSWER = 4, DONE = 5 };

__attribute__((unused)) static int ask(weft_pid to, int64_t value, int64_t deadline)
{
    weft_msg *answer = NULL;
    int rc = weft_call(to, ASK, &value, sizeof value, &answer, deadline);
    if (rc < 0) want(answer == NULL);
    else want_int(value_of(answer), value);
    weft_msg_free(answer);
    return rc;
}

__attribute__((unused)) static void reply_and_free(weft_msg *m)
{
    int64_t value = value_of(m);
    want_int(weft_reply(m, ANSWER, &value, sizeof value), 0);
    weft_msg_free(m);
}

/* Answers what comes. Told GO it first tells its parent, then waits for DONE with all else in its mailbox. */
__attribute__((unused)) static void server(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_wants_reply(m)) {
            reply_and_free(m);
            continue;
        }
        weft_msg_free(m);
        want_int(say(k.parent, GO, 0), 0);
        hear_only(DONE);
        want_int(say(k.parent, DONE, 0), 0);
    }
}

__attribute__((unused)) static void hold_up(weft_pid to)
{
    want_int(say(to, GO, 0), 0);
    hear(GO);
}

__attribute__((unused)) static void let_go(weft_pid to)
{
    want_int(say(to, DONE, 0), 0);
    hear(DONE);
}

__attribute__((unused)) static void end_kid(weft_pid p)
{
    want_int(weft_stop(p), 0);
    await_end(p);
}

#endif
