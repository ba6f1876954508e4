/* runtime/io/datagram.h -- UDP sockets (weft/udp.h). */
#ifndef WF_DATAGRAM_H
#define WF_DATAGRAM_H

#include "socket.h"

extern const struct wf_part wf_udp_part;

#endif
