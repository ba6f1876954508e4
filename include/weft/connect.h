/* weft/connect.h -- connecting while doing other things: an actor starts to connect, waits for that together with its
 * mailbox, a client or a timer, and then takes the stream or gives up. An actor that has nothing else to do meanwhile
 * calls weft_connect (weft/stream.h). */
#ifndef WEFT_CONNECT_H
#define WEFT_CONNECT_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/stream.h>
#include <weft/wait.h>
WEFT_BEGIN

/* A connection that is being made; all zeroes: none. It belongs to the actor that started it. */
typedef struct {
    uint64_t id;
    weft_pid by; /* weft's own: use it only to wait for */
} weft_connecting;

/* [A, Y] Starts to connect, as weft_connect does: with the same addresses, names and Unix sockets, until the same
 * `deadline`. Does not wait. The calling actor must take or drop `*out`; it is dropped when the actor ends.
 * Errors: WEFT_EADDRESS (longer than any address), WEFT_EINVAL, WEFT_ENOMEM, WEFT_ECANCELED (the node is
 * stopping). */
WEFT_API int weft_connect_start(weft_connecting *out, const char *address, int64_t deadline);
/* Ready once the attempt has ended, connected or not. */
WEFT_API weft_wait weft_on_connect(weft_connecting c);
/* [A] Takes the result: 0 if connected, and `*out` belongs to the caller; or the error that weft_connect would have
 * returned (WEFT_EREFUSED, WEFT_ETIMEDOUT at its deadline, ...). Each result can be taken once.
 * Errors: WEFT_EBUSY (still connecting: wait for it), WEFT_ECLOSED (taken or dropped before, or another actor's). */
WEFT_API int weft_connect_take(weft_connecting c, weft_stream *out);
/* [A] Gives up: a running attempt ends, and a finished connection is closed. WEFT_ECLOSED: as weft_connect_take. */
WEFT_API int weft_connect_drop(weft_connecting c);

WEFT_END
#endif
