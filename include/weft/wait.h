/* weft/wait.h -- waiting for any of several things, or for all of them. The one primitive under every other wait.
 *
 * Waiting consumes nothing: it says what is ready, then one receives, reads or takes. The sources that lost are
 * exactly as they were. A source is ready while the call that consumes it would not have to wait. */
#ifndef WEFT_WAIT_H
#define WEFT_WAIT_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/pid.h>
#include <weft/stream.h>
#include <weft/timer.h>
WEFT_BEGIN

enum { WEFT_WAIT_MAX = 64 }; /* sources in one wait */

/* Made by the weft_on_*() functions; a value, good for one or many waits. */
typedef struct {
    int kind;
    int fd;
    uint64_t id;
    uint64_t node; /* of an event the node's address, of an actor its node's incarnation */
} weft_wait;

WEFT_API weft_wait weft_on_mailbox(void);       /* any message, also one of the system lane */
WEFT_API weft_wait weft_on_timer(weft_timer t); /* it has fired since the last take */
WEFT_API weft_wait weft_on_event(weft_event e); /* it is set; an automatic one: and nobody waits longer */
/* that actor, of this node or another, has ended, or its node is lost. At once if it had before; on another node that
 * takes a message there and back, so with WEFT_NOW it is not ready. For the reason see weft_monitor */
WEFT_API weft_wait weft_on_end(weft_pid who);
WEFT_API weft_wait weft_on_readable(weft_stream s); /* bytes (new ones, see weft_read_until), end of stream, error */
WEFT_API weft_wait weft_on_writable(weft_stream s); /* room for bytes, or an error */
WEFT_API weft_wait weft_on_listener(weft_listener l); /* a connection to accept */
/* a descriptor of your own, pollable, open during the wait */
WEFT_API weft_wait weft_on_fd(int fd, bool for_write);

/* [A, W] Waits until at least one of `count` (0..WEFT_WAIT_MAX) sources is ready and returns the lowest ready index.
 * WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED (a source is closed, or is closed meanwhile), WEFT_EINVAL. */
WEFT_API WEFT_CHECKED int weft_wait_any(const weft_wait *sources, size_t count, int64_t deadline);

/* [A, W] Waits until each of the sources has been ready once (they need not all be ready at the same time). 0, or as
 * weft_wait_any. */
WEFT_API WEFT_CHECKED int weft_wait_all(const weft_wait *sources, size_t count, int64_t deadline);

WEFT_END
#endif
