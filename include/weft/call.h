/* weft/call.h -- requests and answers: to one actor, to a name, to many; their deadlines; cycles of calls.
 *
 * A request carries its caller's deadline, also to another node, where it counts from the request's arrival. A
 * request that nobody waits for any more is dropped when it would be received, and counted as "expired": its deadline
 * has passed, its caller has ended, or its caller, on the same worker, has given up. A server that works long looks
 * at weft_expired, and hands weft_deadline on to the calls it makes itself. */
#ifndef WEFT_CALL_H
#define WEFT_CALL_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct weft_msg weft_msg;

/* [A, W] Sends a request and waits for its answer, which comes past the mailbox. `*answer` is the caller's. A late
 * answer is dropped. WEFT_ENOACTOR if the receiver is gone or ends before it took the request, WEFT_ENOREPLY if it
 * let the request go unanswered (it ended, or freed it), WEFT_ENONODE if its node is lost, WEFT_EDEADLOCK if this
 * call is part of a cycle of calls that wait for each other (see weft_call_cycle), else as weft_send. */
WEFT_API WEFT_CHECKED int weft_call(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer,
                                    int64_t deadline);
/* [A, W] The same to a name, here or "name@node". */
WEFT_API WEFT_CHECKED int weft_call_name(const char *name, uint32_t tag, const void *data, size_t size,
                                         weft_msg **answer, int64_t deadline);
/* [A] Answers a message for which weft_wants_reply() holds, once; the request stays the caller's, who frees it. Never
 * suspends: the asker has kept a place for the answer. WEFT_EINVAL if it is no request or is answered already,
 * WEFT_ETOOBIG, WEFT_ENOMEM: nothing was sent, and it can still be answered; the caller of a request that is freed
 * without an answer gets WEFT_ENOREPLY. WEFT_ENONODE: the asker's node is lost. */
WEFT_API int weft_reply(const weft_msg *ask, uint32_t tag, const void *data, size_t size);
/* [A] The same with a message that was made by weft_msg_new or received, such as the answer to a call of one's own:
 * its bytes are not copied on this node. It comes from the actor that calls this. `m` may be `ask` itself, which
 * sends the request's bytes back. Consumes `m` whatever happens. `ask` stays the caller's, if it is not `m`. After
 * WEFT_EINVAL it is as it was, and can still be answered if it was a request: `m` is NULL, has a reserved tag, or is
 * another request that nobody has answered (whose caller then gets WEFT_ENOREPLY). To another node also WEFT_ENONODE:
 * nothing was sent, and `ask` counts as answered; and WEFT_ENOMEM: nothing was sent, and `ask` can still be answered.
 * If `ask` is `m`, that ends the link with the asker's node, as there is nothing left to be answered. */
WEFT_API int weft_reply_msg(const weft_msg *ask, weft_msg *m);

/* [T] Until when the sender of a request waits, on this node's clock. WEFT_FOREVER if it has no deadline, is answered
 * already, or is no request. */
WEFT_API int64_t weft_deadline(const weft_msg *ask);
/* [T] Whether that has passed: an answer would come too late. */
WEFT_API bool weft_expired(const weft_msg *ask);

enum { WEFT_GATHER_MAX = 65536 }; /* actors asked at once */

/* One of the many that are asked. */
struct weft_answer {
    weft_pid from;    /* whom to ask: filled in by the caller */
    weft_msg *answer; /* the caller's, or NULL */
    int error;        /* WEFT_OK with an answer; else why there is none */
};

/* [A, W] Sends one request to `count` actors and waits until `need` of them have answered: 1 for the first answer,
 * `count` for all, count / 2 + 1 for a majority. Returns how many answers there are: at least `need`, or fewer if the
 * deadline has passed or so many have failed that `need` cannot be reached, which ends the wait at once.
 *
 * In `answers` each actor then has its answer or its error: those of weft_call; WEFT_ETIMEDOUT if it had not answered
 * when the wait ended; WEFT_EFULL if there was no room for the request, as weft_gather does not wait for room. Later
 * answers are dropped and counted. Free what came with weft_answers_free.
 *
 * WEFT_EINVAL (need is 0 or over count, count over WEFT_GATHER_MAX), WEFT_ETOOBIG, WEFT_ENOMEM, WEFT_ECANCELED: then
 * there are no answers. */
WEFT_API WEFT_CHECKED int weft_gather(struct weft_answer *answers, size_t count, size_t need, uint32_t tag,
                                      const void *data, size_t size, int64_t deadline);
/* [A] Frees the answers that weft_gather left and sets them to NULL. */
WEFT_API void weft_answers_free(struct weft_answer *answers, size_t count);

/* [A] The actors of the last cycle that made a call of this actor fail with WEFT_EDEADLOCK: the caller itself first,
 * each waiting for the next, the last for the first. Writes at most `max` of them, returns how many there are, 0 if
 * there was no cycle. The log has said the same, with names.
 *
 * A call to itself, and one that closes a cycle on its own worker, fails at once. Other cycles, across workers and
 * nodes, are found when their calls have waited for a tenth of a second; then one call of the cycle fails, on one
 * node the one that began last. A weft_gather takes part while it needs every answer that is still open. Cycles of
 * more than 64 actors are not found: they end at their deadlines. */
WEFT_API size_t weft_call_cycle(weft_pid *out, size_t max);

WEFT_END
#endif
