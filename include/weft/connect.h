/* weft/connect.h -- connecting beside other things: an actor begins to connect, waits for that together with its
 * mailbox, a client or a timer, and takes the stream, or gives up. An actor that has nothing else to do meanwhile
 * calls weft_connect (weft/stream.h). */
#ifndef WEFT_CONNECT_H
#define WEFT_CONNECT_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/stream.h>
#include <weft/wait.h>
WEFT_BEGIN

/* A connection that is being made; all zeroes: none. It belongs to the actor that has started it. */
typedef struct {
    uint64_t id;
    weft_pid by; /* weft's own: only to be waited for */
} weft_connecting;

/* [A] Begins to connect, as weft_connect does: the same addresses, names and Unix sockets, until the same `deadline`.
 * Does not wait. `*out` is to be taken or dropped by this actor, and is dropped when it ends. WEFT_EADDRESS (longer
 * than any address), WEFT_EINVAL, WEFT_ENOMEM, WEFT_ECANCELED (the node stops). */
WEFT_API int weft_connect_start(weft_connecting *out, const char *address, int64_t deadline);
/* Ready once it has come to an end, connected or not. */
WEFT_API weft_wait weft_on_connect(weft_connecting c);
/* [A] 0: connected, `*out` is the caller's; or what weft_connect would have returned (WEFT_EREFUSED, WEFT_ETIMEDOUT:
 * its deadline, ...). Each result is taken once. WEFT_EBUSY: it is still under way, wait for it. WEFT_ECLOSED: taken
 * or dropped before, or another actor's. */
WEFT_API int weft_connect_take(weft_connecting c, weft_stream *out);
/* [A] Gives up: what is under way ends, and what was connected is closed. WEFT_ECLOSED: as weft_connect_take. */
WEFT_API int weft_connect_drop(weft_connecting c);

WEFT_END
#endif
