/* weft/wait.h -- waiting for any of several sources, or for all of them. Every other wait is built on this.
 *
 * A wait only reports which source is ready. It consumes nothing: receive, read or take afterwards. The other sources
 * stay as they were. A source is ready while the call that consumes it would not have to wait.
 *
 * [S] A weft_on_*() function makes a value that stands for a source. It cannot fail: the handle is checked by the
 * wait. Further weft_on_*() functions are in the headers of their sources: semaphore.h, latch.h, offload.h, file.h,
 * process.h, signal.h, connect.h, changes.h, udp.h. */
#ifndef WEFT_WAIT_H
#define WEFT_WAIT_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/pid.h>
#include <weft/stream.h>
#include <weft/timer.h>
WEFT_BEGIN

enum { WEFT_WAIT_MAX = 64 }; /* sources in one wait */

/* Made by the weft_on_*() functions; a value that can be used for one wait or for many. */
typedef struct {
    int kind;
    int fd;
    uint64_t id;
    uint64_t node; /* the address of the node of an event; the incarnation of an actor's node */
} weft_wait;

WEFT_API weft_wait weft_on_mailbox(void);       /* a message has arrived, also in the system queue */
WEFT_API weft_wait weft_on_timer(weft_timer t); /* the timer has fired since the last take */
/* The event is set. For an automatic event also: no other actor has waited longer */
WEFT_API weft_wait weft_on_event(weft_event e);
/* The actor, on this node or another, has ended, or its node is lost. The source is ready at once if the actor had
 * ended before. For an actor on another node this takes a network round trip, so it is not ready with WEFT_NOW. For
 * the reason of the end see weft_monitor */
WEFT_API weft_wait weft_on_end(weft_pid who);
/* bytes (new ones, see weft_read_until), the end of the stream, or an error */
WEFT_API weft_wait weft_on_readable(weft_stream s);
WEFT_API weft_wait weft_on_writable(weft_stream s);   /* space for bytes, or an error */
WEFT_API weft_wait weft_on_listener(weft_listener l); /* a connection to accept */
/* Your own file descriptor. It must be pollable and stay open during the wait. */
WEFT_API weft_wait weft_on_fd(int fd, bool for_write);

/* [A, W] Waits until at least one of `count` (0..WEFT_WAIT_MAX) sources is ready. Returns the lowest index of a ready
 * source.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED (a source is closed, or is closed during the wait),
 * WEFT_EINVAL. */
WEFT_API WEFT_CHECKED int weft_wait_any(const weft_wait *sources, size_t count, int64_t deadline);

/* [A, W] Waits until each of the sources has been ready once; they need not all be ready at the same time. Returns 0,
 * or an error of weft_wait_any. */
WEFT_API WEFT_CHECKED int weft_wait_all(const weft_wait *sources, size_t count, int64_t deadline);

WEFT_END
#endif
