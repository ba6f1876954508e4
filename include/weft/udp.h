/* weft/udp.h -- datagrams. A socket belongs to one actor at a time, and its handle can be given to another actor like
 * that of a stream (weft/stream.h). If two actors wait on one socket in the same direction, the second gets
 * WEFT_EBUSY. */
#ifndef WEFT_UDP_H
#define WEFT_UDP_H

#include <weft/api.h>
#include <weft/resolve.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_udp;

/* All zeroes: the system's defaults. */
typedef struct {
    /* "127.0.0.1:53": only datagrams from there are received, and weft_udp_send may be called without `to` */
    const char *peer;
    bool reuse;         /* other sockets may be bound to the same port, for multicast */
    bool broadcast;     /* the socket may send to broadcast addresses */
    bool no_loop;       /* multicasts of this socket are not delivered to members on this machine */
    int hops;           /* how many networks multicasts may cross; 0: only the local one */
    int receive_buffer; /* bytes of datagrams that wait to be received; datagrams that do not fit are lost */
    int send_buffer;    /* bytes of datagrams that wait to be sent */
} weft_udp_options;

/* [A] Opens a socket bound to `address`: "127.0.0.1:4000", "[::]:0" (port 0: any free port).
 * Errors: WEFT_EADDRESS, WEFT_EINUSE, WEFT_EACCESS, WEFT_EFULL (out of descriptors), WEFT_EINVAL (the value of an
 * option), WEFT_ENOMEM, WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_udp_open(weft_udp *out, const char *address,
                                        const weft_udp_options *options /* NULL: defaults */);
/* [A] `*out` receives the address to which the socket is bound, with its real port. Errors: WEFT_ECLOSED,
 * WEFT_EINVAL. */
WEFT_API int weft_udp_address(weft_udp u, weft_address *out);
/* [A] Joins or leaves the multicast group on the interface `interface_name`, such as "eth0"; NULL: the system
 * chooses.
 * Errors: WEFT_EADDRESS (no such interface, not a multicast address, the wrong address family, or not joined),
 * WEFT_EEXIST (joined already). */
WEFT_API int weft_udp_join(weft_udp u, const weft_address *group, const char *interface_name);
WEFT_API int weft_udp_leave(weft_udp u, const weft_address *group, const char *interface_name);

/* [A, W] Sends one datagram to `to`, or to the socket's peer if `to` is NULL. Returns 0 when it has left this socket;
 * it may still be lost on the way.
 * Errors: WEFT_ETOOBIG (too large for a datagram), WEFT_EREFUSED (nothing listened at the peer for an earlier one),
 * WEFT_ENONODE, WEFT_EACCESS (broadcast, without the option), WEFT_EINVAL (no `to` and no peer), WEFT_ENOMEM (the
 * interface's queue is full), WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int weft_udp_send(weft_udp u, const weft_address *to, const void *data, size_t size,
                                        int64_t deadline);
/* [A, W] Receives one datagram, which may have 0 bytes, and the address of its sender (`from` may be NULL). Returns
 * its size.
 * Errors: WEFT_ETOOBIG (it was longer than `size`: `buffer` holds its beginning and `from` its sender, the rest is
 * lost), WEFT_EREFUSED (nothing listens at the peer's address), WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int64_t weft_udp_receive(weft_udp u, void *buffer, size_t size, weft_address *from,
                                               int64_t deadline);
/* Ready when there is a datagram (or an error) to receive; with `for_write`, when there is space to send one. */
WEFT_API weft_wait weft_on_udp(weft_udp u, bool for_write);

/* [A] As weft_close and weft_defer_close. */
WEFT_API int weft_udp_close(weft_udp u);
WEFT_API int weft_udp_defer_close(weft_udp u);

WEFT_END
#endif
