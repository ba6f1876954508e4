/* transport/carrier_tcp.h -- between the two halves of the carrier on plain TCP: connections, with the design notes
 * (carrier_tcp.c), and listening (listener_tcp.c). */
#ifndef WF_CARRIER_TCP_H
#define WF_CARRIER_TCP_H

#include "carrier.h"
#include "fd.h"
#include "places.h"

struct tcp_carrier {
    struct wf_carrier base;
    struct wf_carrier_options options;
    pf_mutex *lock;
    pf_cond *quiet;           /* `count` became 0 */
    struct wf_list conns;     /* tcp_conn.in_carrier */
    struct wf_list listeners; /* tcp_listener.in_carrier */
    uint32_t count;           /* connections and listeners that are not freed */
    struct wf_places *strangers;
    uint32_t turn;
    bool accepting; /* listeners begin at once */
    bool closing;
};

/* What the log says of an error of the platform's. */
const char *wf_tcp_explain(int64_t error);
bool wf_tcp_parse(const char *url, struct pf_address *out);
/* The worker of the next connection: in turn, those that an actor holds up left out. Lock held. */
struct wf_worker *wf_tcp_next_worker(struct tcp_carrier *k);
/* One of those that `count` counts has been freed. The carrier may be, too, from then on. */
void wf_tcp_gone(struct tcp_carrier *k);
/* Takes the handle over; `tag` and `to` are NULL for one that was accepted. WEFT_ENOMEM; WEFT_ECLOSED: too many
 * strangers, or the carrier ends. */
int wf_tcp_conn_new(struct tcp_carrier *k, pf_handle h, void *tag, const struct pf_address *to, bool connecting);

/* As in wf_carrier_ops. */
int wf_tcp_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why);
void wf_tcp_accept(struct wf_carrier *base);
void wf_tcp_unlisten(struct wf_carrier *base);

#endif
