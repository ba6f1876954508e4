/* transport/link/port.h -- one worker's way to one peer (the worker's thread only), and the route out of the node. */
#ifndef WF_PORT_H
#define WF_PORT_H

#include "credit.h"
#include "session.h"
#include "topic_trie.h"

struct wf_port {
    struct wf_list_node in_ports;             /* wf_ports.ports, or `closed` */
    struct wf_hashed by_incarnation, by_name; /* wf_ports.nodes, and names unless it is a tool's; not if closed */
    struct wf_session *session;
    uint64_t incarnation;
    struct wf_batch *batch; /* NULL: nothing to flush, and no buffer */
    bool dirty;             /* on wf_ports.dirty */
    struct wf_port *next_dirty;
    struct wf_interest interest; /* of the peer */
    struct wf_list changes;      /* of `interest` that are to be made: `more` is armed while there are any */
    struct wf_timer more;
    struct wf_list waiting; /* wf_waiter.on_source: tasks that wait for room */
    struct wf_credits credits;
};

struct wf_ports {
    struct wf_transport *t;
    struct wf_list ports;  /* wf_port.in_ports */
    struct wf_list closed; /* the same, of ports whose patterns are still being freed: `more` is armed */
    struct wf_port *last;  /* found last; NULL */
    struct wf_port *dirty;
    struct wf_hash_table nodes, names; /* by incarnation, and by name */
    uint32_t worker;                   /* its index */
};

extern const struct wf_route wf_transport_route;
int wf_ports_create(struct wf_transport *t); /* for each worker; before they run */
void wf_ports_destroy(struct wf_transport *t);
/* On the worker: its port to that peer; NULL. */
struct wf_port *wf_port_find(struct wf_worker *w, uint64_t peer);
void wf_port_push(struct wf_port *port); /* what has been written goes into the outbox */
/* A WANT behind what has been sent. False: no memory. */
bool wf_port_say_want(struct wf_ports *p, struct wf_port *port, uint64_t key, const char *name, uint32_t number);
/* By $cluster: tells every worker. */
int wf_ports_open(struct wf_session *s);
void wf_ports_close(struct wf_session *s);
wf_room_made wf_ports_room_made;
/* Any thread: every worker's interest of that peer changes as the INTEREST frame says. */
int wf_ports_interest(struct wf_session *s, struct wf_frame *f);

#endif
