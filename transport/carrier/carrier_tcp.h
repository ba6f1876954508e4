/* transport/carrier/carrier_tcp.h -- the carrier on plain sockets: its connections. listener_tcp.c listens. */
#ifndef WF_CARRIER_TCP_H
#define WF_CARRIER_TCP_H

#include "carrier_loop.h"

struct tcp_carrier {
    struct wf_loop loop;      /* its lock also guards this struct, and its count includes the listeners */
    struct wf_list listeners; /* tcp_listener.in_carrier */
    bool accepting;           /* listeners begin at once */
};

bool wf_tcp_parse(const char *url, struct pf_address *out);
/* Takes the handle over; `tag` and `to` are NULL if the connection was accepted. Returns what wf_loop_conn_new
 * returns. */
int wf_tcp_conn_new(struct tcp_carrier *k, pf_handle h, void *tag, const struct pf_address *to, bool connecting);

/* The carrier of tcp:// with numeric addresses, and of inherited://. NULL: out of memory. */
struct wf_carrier *wf_carrier_tcp(const struct wf_carrier_options *options);
bool wf_carrier_tcp_knows(const char *url); /* whether it can listen there and dial it without looking up a name */

#endif
