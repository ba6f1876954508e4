/* weft/stream.h -- connected byte channels: TCP and Unix sockets. Calls read like blocking ones and suspend only the
 * actor.
 *
 * Addresses: "127.0.0.1:4001", "[::1]:4001", "localhost:0" (port 0: any free one) and "unix:/path/to/socket". Host
 * names other than localhost are not resolved yet: WEFT_EADDRESS.
 *
 * A stream belongs to one actor at a time. Hand it on by sending the handle in a message or as a spawn argument; the
 * first actor that uses it after that becomes its owner, on whichever worker it lives. Two actors waiting on one
 * stream at once: WEFT_EBUSY. */
#ifndef WEFT_STREAM_H
#define WEFT_STREAM_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_stream;
typedef struct {
    uint64_t id;
} weft_listener;
typedef struct {
    const void *data;
    size_t size;
} weft_slice;

enum { WEFT_ADDRESS_TEXT = 128 }; /* bytes that any address needs at most, with its NUL */

typedef struct {
    int backlog;     /* 0: 1024 */
    bool reuse_port; /* several listeners on one TCP port, the kernel spreads connections over them */
} weft_listen_options;

/* [A] WEFT_EADDRESS, WEFT_EINUSE, WEFT_EACCESS, WEFT_ESYSTEM. A Unix socket's file is replaced if nobody listens on
 * it (else WEFT_EINUSE) and removed on close. */
WEFT_API int weft_listen(weft_listener *out, const char *address,
                         const weft_listen_options *options /* NULL: defaults */);
/* [A] Writes the address it really listens on (port 0 filled in) into `out`, at most `size` bytes with the NUL. */
WEFT_API int weft_listener_address(weft_listener l, char *out, size_t size);
/* [A, W] Out of descriptors is WEFT_EFULL after a short pause, so that a loop over weft_accept neither spins nor
 * ends. */
WEFT_API int weft_accept(weft_listener l, weft_stream *out, int64_t deadline);
/* [A] WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_listener_close(weft_listener l);
/* [A] As weft_defer_close. */
WEFT_API int weft_listener_defer_close(weft_listener l);

/* [A, W] WEFT_EADDRESS, WEFT_EREFUSED, WEFT_ESYSTEM. TCP_NODELAY is set. */
WEFT_API int weft_connect(weft_stream *out, const char *address, int64_t deadline);
/* [A] The other side's address, or "unix:" for an unnamed one. */
WEFT_API int weft_stream_peer(weft_stream s, char *out, size_t size);

/* [A, W] Reads what is there, 1 to `size` bytes; 0 at the end of the stream. WEFT_ERESET, WEFT_ECLOSED,
 * WEFT_EBUSY. */
WEFT_API int64_t weft_read(weft_stream s, void *buffer, size_t size, int64_t deadline);
/* [A, W] Reads exactly `size` bytes; fewer only at the end of the stream (then the result is what there was). At the
 * deadline the bytes read so far stay readable: nothing is lost. */
WEFT_API int64_t weft_read_exact(weft_stream s, void *buffer, size_t size, int64_t deadline);
/* [A, W] Reads up to and including the first `delimiter` and returns the length with it. 0 at the end of the stream
 * with nothing left; a last piece without delimiter is returned as it is. WEFT_ETOOBIG if `size` bytes hold no
 * delimiter. Bytes that were not returned stay readable.
 * After WEFT_ETIMEDOUT or WEFT_ECANCELED (of weft_read_exact, too) the bytes kept count as seen: weft_on_readable
 * means new ones, so that a loop around a wait does not spin over half a line. weft_read returns them like any
 * others. */
WEFT_API int64_t weft_read_until(weft_stream s, void *buffer, size_t size, char delimiter, int64_t deadline);
/* [A, W] Writes all of it; returns `size`. After an error (the deadline too) an unknown part has been sent, so close
 * the stream. */
WEFT_API int64_t weft_write(weft_stream s, const void *data, size_t size, int64_t deadline);
/* [A, W] Writes all slices (at most 64) in order, in as few system calls as the kernel allows. */
WEFT_API int64_t weft_writev(weft_stream s, const weft_slice *slices, size_t count, int64_t deadline);
/* [A, W] Formats, then writes all of it. WEFT_ETOOBIG over 64 KiB. */
WEFT_API int64_t weft_printf(weft_stream s, int64_t deadline, const char *format, ...) WEFT_PRINTF(3, 4);
/* [A] Ends the writing side: the peer reads the end of the stream, reading goes on. */
WEFT_API int weft_shutdown(weft_stream s);
/* [A] Closes it; an actor waiting on it wakes with WEFT_ECLOSED. WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_close(weft_stream s);
/* [A] Closes the stream when the calling actor ends. Without it the stream outlives the actor, so that it can be
 * handed on. WEFT_ENOMEM: then it has been closed. */
WEFT_API int weft_defer_close(weft_stream s);

WEFT_END
#endif
