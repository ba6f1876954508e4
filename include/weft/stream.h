/* weft/stream.h -- connected byte channels: TCP and Unix sockets. The calls read like blocking ones and suspend only
 * the actor.
 *
 * Addresses: "127.0.0.1:4001", "[::1]:4001", "localhost:0" (port 0: any free port) and "unix:/path/to/socket".
 *
 * A stream belongs to one actor at a time. To pass it to another actor, send the handle in a message or as a spawn
 * argument; the first actor that uses it after that becomes its owner, on whichever worker it lives. If two actors
 * wait on one stream at once, the second gets WEFT_EBUSY. There is one exception: an actor may read while another
 * actor of the same worker (WEFT_BESIDE) writes. */
#ifndef WEFT_STREAM_H
#define WEFT_STREAM_H

#include <weft/api.h>
#include <weft/resolve.h>
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

typedef struct {
    int backlog;     /* 0: 1024 */
    bool reuse_port; /* allows several listeners on one TCP port; the kernel distributes connections among them */
} weft_listen_options;

/* [A] Listens on an address. The file of a Unix socket is replaced if no process listens on it (else WEFT_EINUSE),
 * and removed on close, unless another socket listens there by then.
 * Errors: WEFT_EADDRESS (also if the folder of a Unix socket does not exist), WEFT_EINUSE, WEFT_EACCESS, WEFT_EFULL
 * (out of descriptors), WEFT_EINVAL, WEFT_ENOMEM, WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_listen(weft_listener *out, const char *address,
                                      const weft_listen_options *options /* NULL: defaults */);
/* [A] Takes a listener that the service manager has opened and handed to this process, as systemd does for a .socket
 * unit (sd_listen_fds_with_names(3)): the first one named `name` (FileDescriptorName=); NULL: the first one, whatever
 * its name. Each listener can be taken once; call again for the next one of that name. Connections made before wait
 * in it. The file of a Unix socket stays when the listener is closed, because it belongs to the service manager.
 * Programs that are started with this process's environment (weft/process.h) do not see $LISTEN_FDS and related
 * variables.
 * Errors: WEFT_ENOTFOUND (there is none, or no more, as when the program was started by hand), WEFT_EINVAL (the
 * descriptor of that name is not a listening stream socket), WEFT_ENOMEM, WEFT_ENOTSUP (Windows). */
WEFT_API WEFT_CHECKED int weft_listen_inherited(weft_listener *out, const char *name);
/* [A] Writes the address on which it listens, with its real port, into `out`: at most `size` bytes with the NUL.
 * Errors: WEFT_EINVAL, WEFT_ECLOSED, WEFT_ETOOBIG. */
WEFT_API int weft_listener_address(weft_listener l, char *out, size_t size);
/* [A, W] Accepts a connection. `*out` belongs to the caller. When the process is out of descriptors, it returns
 * WEFT_EFULL after a short pause, so that a loop over weft_accept neither spins nor ends.
 * Errors: WEFT_EFULL, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED (also if it is closed during the wait),
 * WEFT_EBUSY, WEFT_EINVAL, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_accept(weft_listener l, weft_stream *out, int64_t deadline);
/* [A] Limits the streams that weft_accept returns: from now on at most `most` (1 to 1,048,576) of them are open at a
 * time, and at most `each` from one source, that is, an IPv4 address or an IPv6 network of 64 bits; `each` 0: a
 * quarter of `most`. Connections beyond that are closed at once, and weft_accept continues to wait. Streams that were
 * open before the call do not count. Use it for every port that strangers can reach, so that one client cannot take
 * all the places. Errors: WEFT_EINVAL, WEFT_ECLOSED, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_listener_places(weft_listener l, uint32_t most, uint32_t each);
/* [A] Closes the listener. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_listener_close(weft_listener l);
/* [A] As weft_defer_close, for a listener. */
WEFT_API int weft_listener_defer_close(weft_listener l);

/* [A, W] Connects to an address, or to "host:port" (the port may be a name). The host name is looked up as by
 * weft_resolve; its addresses are tried in that order, each for an equal share of the time that is left. The first
 * one that answers wins; if none does, the error is that of the last one. To wait for a connection together with
 * other sources see weft/connect.h. TCP_NODELAY is set.
 * Errors: WEFT_EADDRESS, WEFT_ENOHOST, WEFT_EREFUSED (also if there is no such Unix socket), WEFT_EACCESS (to a Unix
 * socket), WEFT_ENONODE (no route to it), WEFT_EFULL (out of descriptors, or of places in the queue for look-ups),
 * WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_connect(weft_stream *out, const char *address, int64_t deadline);
/* [A] Makes a stream from a connected stream socket that other code has made. From then on `fd` belongs to the stream
 * and is non-blocking. Errors, after which `fd` is still yours: WEFT_EINVAL (it is no such socket), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_stream_from_fd(weft_stream *out, int fd);
/* [A] `*out` receives the stream's own descriptor, to inspect, send or duplicate it; do not close it: it is closed
 * with the stream. Bytes that the stream holds back (see weft_read_until) cannot be read from it any more.
 * WEFT_ECLOSED. */
WEFT_API int weft_stream_fd(weft_stream s, int *out);
/* [A] Writes the address of the other side, or "unix:" for a socket without a name, into `out`: at most `size` bytes
 * with the NUL. Errors: those of weft_listener_address. */
WEFT_API int weft_stream_peer(weft_stream s, char *out, size_t size);

/* [A, W] Reads the bytes that are there, 1 to `size`; waits if there are none. Returns their number, or 0 at the end
 * of the stream. Errors: WEFT_ERESET, WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int64_t weft_read(weft_stream s, void *buffer, size_t size, int64_t deadline);
/* [A, W] Reads exactly `size` bytes; fewer only at the end of the stream. Returns their number. If the deadline
 * passes, the bytes read so far stay readable: nothing is lost. */
WEFT_API WEFT_CHECKED int64_t weft_read_exact(weft_stream s, void *buffer, size_t size, int64_t deadline);
/* [A, W] Reads up to and including the first `delimiter` and returns the length, delimiter included. Returns 0 at the
 * end of the stream when no bytes are left; a last piece without a delimiter is returned as it is. Bytes that were
 * not returned stay readable. WEFT_ETOOBIG: the next `size` bytes hold no delimiter.
 *
 * After WEFT_ETIMEDOUT or WEFT_ECANCELED (also of weft_read_exact) weft_on_readable reports only new bytes, and not
 * the bytes that the stream has kept, so that a loop around a wait does not spin over half a line. weft_read returns
 * the kept bytes first. */
WEFT_API WEFT_CHECKED int64_t weft_read_until(weft_stream s, void *buffer, size_t size, char delimiter,
                                              int64_t deadline);
/* [A, W] Writes all of it and returns `size`. After an error (also WEFT_ETIMEDOUT) an unknown part has been sent, so
 * close the stream. Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ERESET, WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int64_t weft_write(weft_stream s, const void *data, size_t size, int64_t deadline);
/* [A, W] Writes all slices (at most 64, else WEFT_EINVAL) in order, in as few system calls as the kernel allows.
 * Otherwise as weft_write; returns the sum of their sizes. */
WEFT_API WEFT_CHECKED int64_t weft_writev(weft_stream s, const weft_slice *slices, size_t count, int64_t deadline);
/* [A, W] Formats as printf does, then writes all of it, as weft_write. Returns the number of bytes.
 * Errors: those of weft_write; WEFT_ETOOBIG (over 64 KiB), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int64_t weft_printf(weft_stream s, int64_t deadline, const char *format, ...) WEFT_PRINTF(3, 4);
/* [A, W] Sends a descriptor over a Unix socket, together with one byte. The other process gets a descriptor of the
 * same open file; `fd` stays yours and may be closed as soon as this returns.
 * Errors: WEFT_EINVAL (not a Unix socket, or not a descriptor), WEFT_EFULL (too many are on their way), WEFT_ERESET,
 * WEFT_ENOTSUP (Windows). */
WEFT_API WEFT_CHECKED int weft_send_fd(weft_stream s, int fd, int64_t deadline);
/* [A, W] Receives the next descriptor. Returns 1: `*out` is the descriptor, it belongs to the caller and is
 * close-on-exec; or 0 at the end of the stream. If it is a connection, weft_stream_from_fd makes a stream of it. A
 * weft_read at this point reads the byte of the descriptor and loses the descriptor.
 * Errors: WEFT_EFORMAT (bytes come next instead; one of them may be lost, so close the stream), WEFT_EFULL (this
 * process is out of descriptors and has lost this one), WEFT_EINVAL (not a Unix socket). */
WEFT_API WEFT_CHECKED int weft_receive_fd(weft_stream s, int *out, int64_t deadline);

typedef enum {
    WEFT_NODELAY = 1,        /* 0 or 1 (the default): small writes go out at once */
    WEFT_KEEPALIVE,          /* 0: off (the default); else ns of silence after which the peer is probed */
    WEFT_KEEPALIVE_INTERVAL, /* ns between two probes */
    WEFT_KEEPALIVE_COUNT,    /* number of unanswered probes after which reads and writes return WEFT_ERESET */
    /* bytes that the system buffers for this stream; it rounds the value, and may double it */
    WEFT_SEND_BUFFER,
    WEFT_RECEIVE_BUFFER,
    /* -1 (the default): bytes already written are still sent after weft_close; 0: they are dropped, and the peer
     * reads WEFT_ERESET. Other values would block the worker: WEFT_EINVAL */
    WEFT_LINGER,
    /* the stream is writable only while fewer bytes than this wait in the system to be sent; 0: no such limit */
    WEFT_UNSENT,
} weft_stream_option;

/* [A] Sets or reads an option. Times are in ns, rounded up to whole seconds. WEFT_EINVAL: there is no such option,
 * this kind of socket does not have it (all but the buffers and WEFT_LINGER are for TCP), or the value is not
 * allowed. */
WEFT_API int weft_stream_set(weft_stream s, weft_stream_option option, int64_t value);
WEFT_API int weft_stream_get(weft_stream s, weft_stream_option option, int64_t *value);

/* [A] Ends the writing side: the peer reads the end of the stream. Reading is still possible. On a secured stream it
 * may suspend: see weft/tls.h. */
WEFT_API int weft_shutdown(weft_stream s);
/* [A] Closes the stream; an actor that waits on it wakes with WEFT_ECLOSED. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_close(weft_stream s);
/* [A] Closes the stream when the calling actor ends. Without this call the stream outlives the actor, so that it can
 * be passed on. WEFT_ENOMEM: the stream has been closed. */
WEFT_API int weft_defer_close(weft_stream s);

WEFT_END
#endif
