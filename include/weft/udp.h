/* weft/udp.h -- datagrams. A socket belongs to one actor at a time and is handed on like a stream; two actors waiting
 * on one in the same direction: WEFT_EBUSY. */
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
    const char *peer;   /* "127.0.0.1:53": only datagrams from there come in, and weft_udp_send may go without `to` */
    bool reuse;         /* others may be bound to the same port, for multicast */
    bool broadcast;     /* may send to broadcast addresses */
    bool no_loop;       /* members of a group on this machine do not get what this socket sends */
    int hops;           /* how many networks multicasts may cross; 0: this one only */
    int receive_buffer; /* bytes of datagrams that wait to be received; what does not fit is lost */
    int send_buffer;
} weft_udp_options;

/* [A] Bound to `address`, "127.0.0.1:4000", "[::]:0" (port 0: any free one). WEFT_EADDRESS, WEFT_EINUSE,
 * WEFT_EACCESS, WEFT_EFULL (out of descriptors), WEFT_EINVAL (an option's value), WEFT_ENOMEM, WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_udp_open(weft_udp *out, const char *address,
                                        const weft_udp_options *options /* NULL: defaults */);
/* [A] The address it is bound to, port filled in. */
WEFT_API int weft_udp_address(weft_udp u, weft_address *out);
/* [A] Joins or leaves the multicast group; `interface_name`: of one, "eth0"; NULL: the system's choice.
 * WEFT_EADDRESS (no such interface, no multicast address, or one of the other family; not joined), WEFT_EEXIST. */
WEFT_API int weft_udp_join(weft_udp u, const weft_address *group, const char *interface_name);
WEFT_API int weft_udp_leave(weft_udp u, const weft_address *group, const char *interface_name);

/* [A, W] Sends one datagram to `to`, or to the socket's peer if it is NULL. It may be lost on the way; sent is what
 * left this socket. 0; WEFT_ETOOBIG (no datagram is so large), WEFT_EREFUSED (an earlier one to the peer: nobody
 * listens there), WEFT_ENONODE, WEFT_EACCESS (broadcast, without the option), WEFT_EINVAL (no `to` and no peer),
 * WEFT_ENOMEM (the interface's queue is full), WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int weft_udp_send(weft_udp u, const weft_address *to, const void *data, size_t size,
                                        int64_t deadline);
/* [A, W] Receives one datagram, which may have 0 bytes, and its sender's address (`from` may be NULL). Returns its
 * size. WEFT_ETOOBIG: it was longer than `size`; `buffer` holds its beginning, `from` its sender, the rest is lost.
 * WEFT_EREFUSED (nobody listens at the peer's), WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int64_t weft_udp_receive(weft_udp u, void *buffer, size_t size, weft_address *from,
                                               int64_t deadline);
/* A datagram (or an error) to receive; or room to send one. */
WEFT_API weft_wait weft_on_udp(weft_udp u, bool for_write);

/* [A] As weft_close and weft_defer_close. */
WEFT_API int weft_udp_close(weft_udp u);
WEFT_API int weft_udp_defer_close(weft_udp u);

WEFT_END
#endif
