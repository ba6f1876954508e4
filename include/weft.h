/* weft.h -- actors in C. An actor is one coroutine with one mailbox on one worker thread. It reads like
 * blocking code, waits for its mailbox, timers, sockets and events in one call, and has the same address
 * whether it lives in this process or on another machine.
 *
 * Errors     An int result is >= 0 or a negative WEFT_E* code. errno is never used: actors share a thread, so
 *            another actor's system call would overwrite it before you looked.
 * Results    The compiler warns if you do not look at the result of a call that may have refused what you would miss:
 *            a message that is not sent, an actor that is not started, a handle that is not open, bytes that are not
 *            read. weft_ignore(call) says that it does not matter here. Calls that end, close, cancel or leave
 *            something do not warn: after them it is gone in any case. Nor does weft_reply: its caller is told.
 * Time       int64_t nanoseconds on the monotonic clock. A `deadline` is a point in time, not a span: WEFT_NOW
 *            polls, WEFT_FOREVER waits, weft_after(WEFT_MS(250)) is 250 ms from now.
 * Ownership  A call that takes a weft_msg * consumes it, also when it fails. A call that fills a weft_msg **
 *            gives it to you: send it on or weft_msg_free() it. Everything else is copied or borrowed.
 * Handles    Small values; all zeroes mean none. A closed or stale one yields WEFT_ECLOSED, never a crash.
 * Marks      [A] inside an actor only (elsewhere: WEFT_ENOTACTOR)   [T] any thread   [S] signal handlers too
 *            [W] may suspend the actor: WEFT_ETIMEDOUT at the deadline, WEFT_ECANCELED once it was asked to stop
 *
 * A call marked [W] gives other actors of the same worker a turn only when it has to wait, or when the caller
 * has used up its budget for this turn. Between two such calls nothing else runs on the worker. */
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
#include <weft/far.h>
#include <weft/exclusive.h>
#include <weft/node.h>
#include <weft/embed.h>
#include <weft/cluster.h>

#endif
