/* weft/test.h -- testing actors without sleeping: a node in the calling thread whose clock is virtual, probes that
 * stand in for other actors, and expectations. Not part of weft.h. It works with any test framework, or without one.
 *
 *     static void body(const void *arg, size_t size)          -- the test is an actor
 *     {
 *         weft_pid server;
 *         weft_msg *m;
 *         weft_spawn(&server, server_body, NULL, 0, NULL);
 *         weft_send(server, PING, NULL, 0);
 *         weft_expect(PONG, WEFT_SEC(1), &m);                 -- fails the test here if none comes
 *         weft_msg_free(m);
 *     }
 *     ... return weft_test_run(body, NULL, 0, NULL) == 0 ? 0 : 1;
 *
 * Time does not pass while any actor can run, and jumps to the next timer when none can: an hour of weft_sleep takes
 * microseconds, and a deadline passes exactly when it should. The same test with the same seed runs in the same way
 * (docs/testing-actors.md has the limits: real sockets, threads of your own).
 *
 * Calls marked [X] are for actors of a node that weft_test_run runs; elsewhere they end the process with a message.
 * Spans of time are virtual nanoseconds: WEFT_MS(5). */
#ifndef WEFT_TEST_H
#define WEFT_TEST_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
#include <weft/node.h>
WEFT_BEGIN

/* Zero means the default for every field. */
typedef struct {
    /* 0: actors run in the order in which they became ready; else in a random order computed from this number */
    uint64_t seed;
    uint64_t turns_max; /* runs of actors after which the test is given up as endless; default 10,000,000 */
    /* real time that the test waits for descriptors and other threads whenever no actor can run, ns; default 1 ms
     * while a descriptor is open in the node, else none */
    int64_t outside;
    bool quiet; /* true: do not write the report of a failure to standard error */
    /* Options of the node. Only these are used: name, stack_bytes, actors_max, mailbox_bytes_max, send_timeout,
     * grace, and park_after. By default no actor is parked, so that a test may give other actors pointers to its
     * variables. */
    weft_node_options node;
} weft_test_options;

/* [T] Makes a node of one worker, runs `body` as its first actor in the calling thread, and returns when that actor
 * and all others have ended. When the body ends, the others are asked to stop, and killed if they do not end within
 * their grace period. Options may be NULL. Returns:
 *     0                 the test passed
 *     WEFT_EXIT_FAILED  an expectation failed; or every actor waited without end; or the test was endless; or actors
 *                       had to be killed
 *     another reason    the body's own, if it is neither WEFT_EXIT_NORMAL nor WEFT_EXIT_STOPPED
 *     an error          the node could not be made: WEFT_EINVAL (also in an actor, with more than one worker, or with
 *                       URLs), WEFT_ENOMEM, WEFT_ESYSTEM */
WEFT_API int weft_test_run(weft_actor *body, const void *arg, size_t size, const weft_test_options *options);

/* [T] Returns why the last weft_test_run of this thread did not return 0: "ping_test.c:12: no message with tag 2 came
 * within 1 s; the mailbox holds ...". It may have several lines; "" if the test passed, or if there was no memory for
 * it. The text is valid until the next run of this thread, which frees it. If the thread ends after a failed run, the
 * text is not freed. */
WEFT_API const char *weft_test_report(void);

/* ---- Time ------------------------------------------------------------------------------------------------------ */

/* [X, W] Lets this span pass, then waits as weft_settle. Returns 0 or WEFT_ECANCELED. */
WEFT_API int weft_advance(int64_t span);
/* [X, W] Waits, while no time passes, until all other actors wait for something, so that all present work is done. */
WEFT_API int weft_settle(void);

/* ---- Expectations: if one is not met, the test fails and the calling actor ends -------------------------------- */

/* [X, W] weft_expect(tag, within, out): expects a message with this tag; takes the oldest one that is there or comes
 * within the span (0: among those that are on their way now). Other messages stay in the mailbox. `out` receives the
 * message and may be NULL. */
#define weft_expect(tag, within, out) weft_expect_at(__FILE__, __LINE__, tag, within, out)
/* [X, W] weft_expect_nothing(within): expects that the mailbox is empty and stays empty for the span. */
#define weft_expect_nothing(within) weft_expect_nothing_at(__FILE__, __LINE__, within)

/* [X, W] weft_expect_down(who, reason, within): expects the end, with this reason, of an actor that the calling actor
 * monitors (weft_monitor, or weft_spawn_options.monitor). */
#define weft_expect_down(who, reason, within) weft_expect_down_at(__FILE__, __LINE__, who, reason, within)

/* The functions behind these macros. */
WEFT_API void weft_expect_at(const char *file, int line, uint32_t tag, int64_t within, weft_msg **out);
WEFT_API void weft_expect_nothing_at(const char *file, int line, int64_t within);
WEFT_API void weft_expect_down_at(const char *file, int line, weft_pid who, int reason, int64_t within);

/* ---- Probes ---------------------------------------------------------------------------------------------------- */

/* An actor that collects the messages that it is sent, so that the test can look at them: use its pid in place of a
 * real actor's. */
typedef struct {
    weft_pid pid;
} weft_probe;

/* [X] Makes a probe, registered under `name` unless that is NULL. It ends with the test.
 * Errors: WEFT_EEXIST, WEFT_EINVAL, WEFT_ENOMEM, WEFT_EFULL. */
WEFT_API int weft_probe_open(weft_probe *out, const char *name);
/* [X, W] weft_probe_expect(p, tag, within, out): as weft_expect, for messages sent to the probe. The message then
 * belongs to the calling actor: if it is a request, reply to it with weft_reply. */
#define weft_probe_expect(probe, tag, within, out) weft_probe_expect_at(__FILE__, __LINE__, probe, tag, within, out)
/* [X, W] weft_probe_expect_nothing(p, within): as weft_expect_nothing, for the probe. */
#define weft_probe_expect_nothing(probe, within) weft_probe_expect_nothing_at(__FILE__, __LINE__, probe, within)
/* The functions behind these two macros. */
WEFT_API void weft_probe_expect_at(const char *file, int line, weft_probe p, uint32_t tag, int64_t within,
                                   weft_msg **out);
WEFT_API void weft_probe_expect_nothing_at(const char *file, int line, weft_probe p, int64_t within);
/* [X] As weft_try_send, but the message comes from the probe. */
WEFT_API int weft_probe_send(weft_probe p, weft_pid to, uint32_t tag, const void *data, size_t size);
/* [X, W] Ends the probe with this reason (WEFT_EXIT_*, a WEFT_E* code or a number of your own) before it returns.
 * Monitors, links and callers of the probe are notified as usual. WEFT_ECLOSED: the probe has ended before. */
WEFT_API int weft_probe_exit(weft_probe p, int reason);

WEFT_END
#endif
