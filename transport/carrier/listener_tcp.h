/* transport/carrier/listener_tcp.h -- the listening half of the carrier on plain sockets. */
#ifndef WF_LISTENER_TCP_H
#define WF_LISTENER_TCP_H

struct wf_carrier;

/* As in wf_carrier_ops. */
int wf_tcp_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why);
void wf_tcp_accept(struct wf_carrier *base);
void wf_tcp_unlisten(struct wf_carrier *base);

#endif
