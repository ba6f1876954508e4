/* transport/carrier/carrier_tcp.h -- between the two halves of the carrier on plain sockets: dialling (carrier_tcp.c)
 * and listening (listener_tcp.c). */
#ifndef WF_CARRIER_TCP_H
#define WF_CARRIER_TCP_H

#include "carrier_loop.h"

struct tcp_carrier {
    struct wf_loop loop;      /* its lock is this one's, too, and its count has the listeners in it */
    struct wf_list listeners; /* tcp_listener.in_carrier */
    bool accepting;           /* listeners begin at once */
};

bool wf_tcp_parse(const char *url, struct pf_address *out);
/* Takes the handle over; `tag` and `to` are NULL for one that was accepted. As wf_loop_conn_new. */
int wf_tcp_conn_new(struct tcp_carrier *k, pf_handle h, void *tag, const struct pf_address *to, bool connecting);

/* As in wf_carrier_ops. */
int wf_tcp_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why);
void wf_tcp_accept(struct wf_carrier *base);
void wf_tcp_unlisten(struct wf_carrier *base);

#endif
