/* transport/link/bulk.h -- messages that have batches of their own: large ones, traced ones, and what must stay
 * behind them. */
#ifndef WF_BULK_H
#define WF_BULK_H

#include "frame_tables.h"
#include "held.h"
#include "outbox.h"
#include "port.h"

/* What is large, traced, or from somebody whose last message is still waiting, has batches of its own. */
static inline bool wf_goes_apart(const struct wf_port *port, uint64_t from, size_t size, const struct wf_body *shared)
{
    return WF_UNLIKELY(size >= WF_APART_BYTES || (shared != NULL && shared->traced)) ||
           wf_session_holds(port->session, wf_order_slot(from));
}
/* On a worker: a message to an actor (`key`), or a name (`key`: wf_credit_name), with batches of its own. 0;
 * WF_ROUTE_KEPT; WEFT_EFULL: too much waits; WEFT_ENOMEM. */
int wf_bulk_send(struct wf_port *port, uint32_t kind, weft_text name, uint64_t key, uint64_t from, weft_msg *m);
/* The same of a body for a topic or a group: wf_frame_describe(f). */
int wf_bulk_send_body(struct wf_port *port, struct wf_frame *f, struct wf_body *body);
/* In a batch of its own, of `size` bytes at most. False: no memory. */
bool wf_bulk_publish_to(struct wf_port *port, const struct wf_publish_to *to, size_t size);
/* A WANT behind large messages to whom it is for. False: no memory. */
bool wf_bulk_want(struct wf_port *port, const struct wf_frame *f);

#endif
