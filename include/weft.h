/* weft.h -- actors in C. An actor is one coroutine with one mailbox on one worker thread. Its code reads like
 * blocking code. It waits for its mailbox, timers, sockets and events in one call. It has the same address whether it
 * lives in this process or on another machine.
 *
 * Errors     An int result is >= 0 or a negative WEFT_E* code. errno is never used: actors share a thread, so
 *            another actor's system call would overwrite it before you read it.
 * Results    The compiler warns if you ignore the result of a call that may have refused something you need: a
 *            message was not sent, an actor was not started, a handle is not open, bytes were not read. Where the
 *            result does not matter, write weft_ignore(call). Calls that end, close, cancel or leave something do
 *            not warn, because the thing is gone afterwards in any case. weft_reply does not warn either, because
 *            the caller of the request gets an error.
 * Time       int64_t nanoseconds on the monotonic clock. A `deadline` is a point in time, not a span: WEFT_NOW
 *            polls, WEFT_FOREVER waits, weft_after(WEFT_MS(250)) is 250 ms from now.
 * Ownership  A call that takes a weft_msg * consumes the message, also when the call fails. A call that fills a
 *            weft_msg ** gives the message to you: forward it or free it with weft_msg_free(). All other arguments
 *            are copied, or are used only during the call, unless their comment says otherwise.
 * Handles    Small values. All zeroes mean no handle. A closed or stale handle yields WEFT_ECLOSED, never a crash.
 * Marks      They say where a call is allowed and what it may do:
 *            [A] only inside an actor (elsewhere: WEFT_ENOTACTOR)   [T] in any thread   [S] also in signal handlers
 *            [W] may suspend the actor: WEFT_ETIMEDOUT at the deadline, WEFT_ECANCELED once the actor was asked
 *            to stop   [Y] never waits, but may let other actors run
 *            The functions weft_on_...() are all [S]: they only make a value for weft_wait_any (weft/wait.h).
 *
 * A call marked [W] lets other actors of the same worker run only when it has to wait, or, as a call marked [Y], when
 * the caller has used up its budget for this iteration of the worker's loop: 256 such calls, or fewer if they are much
 * work. Between two such calls no other actor runs on the worker, whatever other calls the actor makes and however long
 * it takes. So a long loop that has none of them must call weft_yield now and then. */
#ifndef WEFT_H
#define WEFT_H

#include <weft/error.h>
#include <weft/time.h>
#include <weft/pid.h>
#include <weft/log.h>
#include <weft/actor.h>
#include <weft/message.h>
#include <weft/call.h>
#include <weft/later.h>
#include <weft/names.h>
#include <weft/group.h>
#include <weft/handler.h>
#include <weft/monitor.h>
#include <weft/supervisor.h>
#include <weft/wait.h>
#include <weft/timer.h>
#include <weft/event.h>
#include <weft/file.h>
#include <weft/dir.h>
#include <weft/changes.h>
#include <weft/pipe.h>
#include <weft/process.h>
#include <weft/signal.h>
#include <weft/semaphore.h>
#include <weft/latch.h>
#include <weft/local.h>
#include <weft/offload.h>
#include <weft/pool.h>
#include <weft/resolve.h>
#include <weft/record.h>
#include <weft/reload.h>
#include <weft/stream.h>
#include <weft/connect.h>
#include <weft/tls.h>
#include <weft/topic.h>
#include <weft/trace.h>
#include <weft/udp.h>
#include <weft/pack.h>
#include <weft/typed.h>
#include <weft/remote.h>
#include <weft/exclusive.h>
#include <weft/node.h>
#include <weft/embed.h>
#include <weft/cluster.h>

#endif
