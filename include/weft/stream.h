/* weft/stream.h -- connected byte channels: TCP and Unix sockets. Calls read like blocking ones and suspend only the
 * actor.
 *
 * Addresses: "127.0.0.1:4001", "[::1]:4001", "localhost:0" (port 0: any free one) and "unix:/path/to/socket".
 *
 * A stream belongs to one actor at a time. Hand it on by sending the handle in a message or as a spawn argument; the
 * first actor that uses it after that becomes its owner, on whichever worker it lives. Two actors waiting on one
 * stream at once: WEFT_EBUSY. But one may read while another one of the same worker (WEFT_BESIDE) writes. */
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
    bool reuse_port; /* several listeners on one TCP port, the kernel spreads connections over them */
} weft_listen_options;

/* [A] WEFT_EADDRESS, WEFT_EINUSE, WEFT_EACCESS, WEFT_ESYSTEM. A Unix socket's file is replaced if nobody listens on
 * it (else WEFT_EINUSE) and removed on close. */
WEFT_API WEFT_CHECKED int weft_listen(weft_listener *out, const char *address,
                                      const weft_listen_options *options /* NULL: defaults */);
/* [A] Takes a listener that the service manager has opened and handed to this process, as systemd does for a .socket
 * unit (sd_listen_fds_with_names(3)): the first one named `name` there (FileDescriptorName=), or whatever its name is
 * (NULL). Each is taken once; ask again for the next one of that name. Connections that were made before wait in it.
 * A Unix socket's file stays when it is closed: it is the service manager's. WEFT_ENOTFOUND: there is none, or no
 * more, as when the program was started by hand; WEFT_EINVAL: what there is by that name is no listening stream
 * socket; WEFT_ENOMEM; WEFT_ENOTSUP (Windows). Programs that are started with this one's environment (weft/process.h)
 * do not see $LISTEN_FDS and the like. */
WEFT_API WEFT_CHECKED int weft_listen_inherited(weft_listener *out, const char *name);
/* [A] Writes the address it really listens on (port 0 filled in) into `out`, at most `size` bytes with the NUL. */
WEFT_API int weft_listener_address(weft_listener l, char *out, size_t size);
/* [A, W] Out of descriptors is WEFT_EFULL after a short pause, so that a loop over weft_accept neither spins nor
 * ends. */
WEFT_API WEFT_CHECKED int weft_accept(weft_listener l, weft_stream *out, int64_t deadline);
/* [A] From now on at most `most` streams that weft_accept gives are open at a time (1 to 1,048,576), and at most
 * `each` of one source, an IPv4 address or a network of 64 bits of IPv6; 0: a quarter of `most`. Connections beyond
 * that are closed at once, and weft_accept goes on waiting. Streams that are open do not count. For every port that
 * strangers reach: one who only connects cannot take the places of all others. WEFT_EINVAL, WEFT_ECLOSED,
 * WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_listener_places(weft_listener l, uint32_t most, uint32_t each);
/* [A] WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_listener_close(weft_listener l);
/* [A] As weft_defer_close. */
WEFT_API int weft_listener_defer_close(weft_listener l);

/* [A, W] To an address, or to "host:port" (a port's name will do, too): the name is looked up as by weft_resolve,
 * then its addresses are tried in that order, each for an equal share of the time that is left. The first that
 * answers wins; the error is that of the last one. To wait for it beside other things: weft/connect.h. TCP_NODELAY is
 * set. WEFT_EADDRESS, WEFT_ENOHOST, WEFT_EREFUSED,
 * WEFT_ENONODE (no way there), WEFT_EFULL (out of descriptors), WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_connect(weft_stream *out, const char *address, int64_t deadline);
/* [A] Around a connected stream socket that something else has made: `fd` is the stream's from here on and
 * non-blocking. WEFT_EINVAL (it is no such socket), WEFT_ENOMEM: it is still the caller's. */
WEFT_API WEFT_CHECKED int weft_stream_from_fd(weft_stream *out, int fd);
/* [A] The stream's own descriptor, to look at, to pass on or to duplicate; it goes with the stream. Bytes that the
 * stream holds back (see weft_read_until) are not in it. */
WEFT_API int weft_stream_fd(weft_stream s, int *out);
/* [A] The other side's address, or "unix:" for an unnamed one. */
WEFT_API int weft_stream_peer(weft_stream s, char *out, size_t size);

/* [A, W] Reads what is there, 1 to `size` bytes; 0 at the end of the stream. WEFT_ERESET, WEFT_ECLOSED,
 * WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int64_t weft_read(weft_stream s, void *buffer, size_t size, int64_t deadline);
/* [A, W] Reads exactly `size` bytes; fewer only at the end of the stream (then the result is what there was). At the
 * deadline the bytes read so far stay readable: nothing is lost. */
WEFT_API WEFT_CHECKED int64_t weft_read_exact(weft_stream s, void *buffer, size_t size, int64_t deadline);
/* [A, W] Reads up to and including the first `delimiter` and returns the length with it. 0 at the end of the stream
 * with nothing left; a last piece without delimiter is returned as it is. WEFT_ETOOBIG if `size` bytes hold no
 * delimiter. Bytes that were not returned stay readable.
 * After WEFT_ETIMEDOUT or WEFT_ECANCELED (of weft_read_exact, too) the bytes kept count as seen: weft_on_readable
 * means new ones, so that a loop around a wait does not spin over half a line. weft_read returns them like any
 * others. */
WEFT_API WEFT_CHECKED int64_t weft_read_until(weft_stream s, void *buffer, size_t size, char delimiter,
                                              int64_t deadline);
/* [A, W] Writes all of it; returns `size`. After an error (the deadline too) an unknown part has been sent, so close
 * the stream. */
WEFT_API WEFT_CHECKED int64_t weft_write(weft_stream s, const void *data, size_t size, int64_t deadline);
/* [A, W] Writes all slices (at most 64) in order, in as few system calls as the kernel allows. */
WEFT_API WEFT_CHECKED int64_t weft_writev(weft_stream s, const weft_slice *slices, size_t count, int64_t deadline);
/* [A, W] Formats, then writes all of it. WEFT_ETOOBIG over 64 KiB. */
WEFT_API WEFT_CHECKED int64_t weft_printf(weft_stream s, int64_t deadline, const char *format, ...) WEFT_PRINTF(3, 4);
/* [A, W] Sends a descriptor over a Unix socket, with one byte of its own. The other process gets a descriptor of the
 * same open file; `fd` stays the caller's and may be closed as soon as this returns. WEFT_EINVAL (no Unix socket, no
 * descriptor), WEFT_EFULL (too many are on their way), WEFT_ERESET, WEFT_ENOTSUP (not on Windows). */
WEFT_API WEFT_CHECKED int weft_send_fd(weft_stream s, int fd, int64_t deadline);
/* [A, W] 1: `*out` is the next descriptor sent, the caller's, close-on-exec; 0 at the end of the stream. What is a
 * connection becomes a stream by weft_stream_from_fd. WEFT_EFORMAT: what comes next is bytes; one of them may be
 * lost, so close the stream. WEFT_EFULL: this process is out of descriptors and has lost it. WEFT_EINVAL: no Unix
 * socket. A weft_read where a descriptor was sent reads its byte and loses it. */
WEFT_API WEFT_CHECKED int weft_receive_fd(weft_stream s, int *out, int64_t deadline);

typedef enum {
    WEFT_NODELAY = 1, /* 0 or 1 (the default): small writes go out at once */
    WEFT_KEEPALIVE,   /* 0: off (the default); ns of silence after which the peer is asked for a sign of life */
    WEFT_KEEPALIVE_INTERVAL, /* ns between two such questions; */
    WEFT_KEEPALIVE_COUNT,    /* so many without an answer: reads and writes give WEFT_ERESET */
    WEFT_SEND_BUFFER,        /* bytes the system keeps for this stream; it rounds, and may double them */
    WEFT_RECEIVE_BUFFER,
    WEFT_LINGER, /* -1 (the default): what was written is sent after weft_close; 0: it is dropped, and the peer reads
                  * WEFT_ERESET. Other values would block the worker: WEFT_EINVAL */
    WEFT_UNSENT, /* writable only while fewer bytes than this wait in the system to be sent; 0: no such bound */
} weft_stream_option;

/* [A] Times are in ns, rounded up to whole seconds. WEFT_EINVAL: no such option, or none of this kind of socket (all
 * but the buffers and WEFT_LINGER are for TCP), or not that value. */
WEFT_API int weft_stream_set(weft_stream s, weft_stream_option option, int64_t value);
WEFT_API int weft_stream_get(weft_stream s, weft_stream_option option, int64_t *value);

/* [A] Ends the writing side: the peer reads the end of the stream, reading goes on. */
WEFT_API int weft_shutdown(weft_stream s);
/* [A] Closes it; an actor waiting on it wakes with WEFT_ECLOSED. WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_close(weft_stream s);
/* [A] Closes the stream when the calling actor ends. Without it the stream outlives the actor, so that it can be
 * handed on. WEFT_ENOMEM: then it has been closed. */
WEFT_API int weft_defer_close(weft_stream s);

WEFT_END
#endif
