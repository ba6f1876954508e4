/* weft/call.h -- requests and replies: to one actor, to a name, to many; their deadlines; cycles of calls.
 *
 * A request carries its caller's deadline. On another node the deadline counts from the arrival of the request there.
 * A request is dropped when it would be received, and counted as "expired", if its deadline has passed, if its caller
 * has ended, or if its caller is on the same worker and has stopped waiting. A server that takes long checks
 * weft_expired, and passes weft_deadline on to the calls it makes itself. */
#ifndef WEFT_CALL_H
#define WEFT_CALL_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct weft_msg weft_msg;

/* [A, W] Sends a request and waits for the reply, which does not go through the mailbox. `*answer` belongs to the
 * caller, who frees it. A reply that comes too late is dropped.
 * Errors: those of weft_send; WEFT_ETIMEDOUT; WEFT_ENOACTOR (the receiver has ended, or ends before it receives the
 * request); WEFT_ENOREPLY (the receiver ended or freed the request without a reply); WEFT_ENONODE (its node is lost);
 * WEFT_EDEADLOCK (this call is part of a cycle of calls that wait for each other, see weft_call_cycle). */
WEFT_API WEFT_CHECKED int weft_call(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer,
                                    int64_t deadline);
/* [A, W] As weft_call, to a registered name: "name", or "name@node" on another node (see weft_send_name). */
WEFT_API WEFT_CHECKED int weft_call_name(const char *name, uint32_t tag, const void *data, size_t size,
                                         weft_msg **answer, int64_t deadline);
/* [A] Replies to a request, that is, a message for which weft_wants_reply() holds. A request can have one reply. The
 * request still belongs to the server that received it, which frees it. Never suspends: the caller has reserved space
 * for the reply.
 * Errors: WEFT_EINVAL: `ask` is not a request, or has been replied to already. WEFT_ETOOBIG, WEFT_ENOMEM: nothing was
 * sent, and the request can still be replied to; if it is freed without a reply, its caller gets WEFT_ENOREPLY.
 * WEFT_ENONODE: the caller's node is lost. */
WEFT_API int weft_reply(const weft_msg *ask, uint32_t tag, const void *data, size_t size);
/* [A] As weft_reply, with a message that was made by weft_msg_new or received, such as the reply to a call of your
 * own: its bytes are not copied on this node. The actor that calls this is the sender. `m` may be `ask` itself, which
 * sends the request's bytes back. Consumes `m`, also on an error; `ask` stays yours, unless it is `m`.
 * Errors: WEFT_EINVAL: `m` is NULL, has a reserved tag, or is another request that has no reply yet (the caller of
 * that request gets WEFT_ENOREPLY); or `ask` is not a request. `ask` is unchanged, and a request can still be replied
 * to. If the caller is on another node, also: WEFT_ENONODE: nothing was sent, and `ask` counts as replied to.
 * WEFT_ENOMEM: nothing was sent, and `ask` can still be replied to; but if `ask` is `m`, nothing is left to reply to,
 * so the link with the caller's node is ended. */
WEFT_API int weft_reply_msg(const weft_msg *ask, weft_msg *m);

/* [T] Returns the deadline of the request's caller, on this node's clock. WEFT_FOREVER if the caller has no deadline,
 * if the request has been replied to, or if `ask` is not a request. */
WEFT_API int64_t weft_deadline(const weft_msg *ask);
/* [T] Returns true if that deadline has passed, so that a reply would come too late. */
WEFT_API bool weft_expired(const weft_msg *ask);

enum { WEFT_GATHER_MAX = 65536 }; /* actors in one weft_gather */

/* One of the actors that weft_gather asks. */
struct weft_answer {
    weft_pid from;    /* the actor to ask: filled in by the caller */
    weft_msg *answer; /* the reply, which belongs to the caller; or NULL */
    int error;        /* WEFT_OK if there is a reply; else the reason why there is none */
};

/* [A, W] Sends one request to `count` actors and waits until `need` of them have replied: 1 for the first reply,
 * `count` for all, count / 2 + 1 for a majority. Returns the number of replies. It is less than `need` if the
 * deadline has passed, or if so many actors have failed that `need` cannot be reached, which ends the wait at once.
 *
 * Afterwards each entry of `answers` holds a reply or an error: one of the errors of weft_call; WEFT_ETIMEDOUT if
 * that actor had not replied when the wait ended; WEFT_EFULL if there was no space for the request, because
 * weft_gather does not wait for space. Later replies are dropped and counted. Free the replies with
 * weft_answers_free.
 *
 * Errors, after which there are no replies: WEFT_EINVAL (`need` is 0 or over `count`, or `count` is over
 * WEFT_GATHER_MAX), WEFT_ETOOBIG, WEFT_ENOMEM, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_gather(struct weft_answer *answers, size_t count, size_t need, uint32_t tag,
                                      const void *data, size_t size, int64_t deadline);
/* [A] Frees the replies that weft_gather stored and sets them to NULL. */
WEFT_API void weft_answers_free(struct weft_answer *answers, size_t count);

/* [A] Returns the number of actors in the last cycle that made a call of this actor fail with WEFT_EDEADLOCK; 0 if
 * there was none. Writes at most `max` of them to `out`: the caller itself first; each actor waits for the next one,
 * and the last for the first. The log has named the same actors.
 *
 * A call of an actor to itself, and a call that closes a cycle on its own worker, fails at once. Other cycles, across
 * workers and nodes, are detected when their calls have waited for a tenth of a second; then one call of the cycle
 * fails. If the whole cycle is on one node, it is the call that began last. A weft_gather is part of a cycle while it
 * needs every reply that is still missing. Cycles of more than 64 actors are not detected: they end at their
 * deadlines. */
WEFT_API size_t weft_call_cycle(weft_pid *out, size_t max);

WEFT_END
#endif
