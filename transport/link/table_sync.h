/* transport/link/table_sync.h -- the tables of names, groups and topics, of which nodes keep copies of each other. */
#ifndef WF_TABLE_SYNC_H
#define WF_TABLE_SYNC_H

#include "frame.h"
#include "session.h"
#include "tables.h"

/* By $cluster: before wf_ports_open (WEFT_ENOMEM), and before anybody hears of the end. */
int wf_tables_open(struct wf_session *s);
void wf_tables_close(struct wf_session *s);
void wf_tables_finish(struct wf_transport *t); /* after the last link has ended */
/* at each heartbeat: for want of memory some may have missed something */
void wf_tables_retry(struct wf_transport *t);
/* A TABLE frame came. False: the session was closed. */
bool wf_tables_receive(struct wf_channel *ch, const struct wf_frame *f);
/* The link to that node, if it is open; a reference of the caller's. Any thread. */
struct wf_session *wf_tables_session(struct wf_transport *t, uint64_t incarnation);
void wf_tables_route_tell(weft_node *node, int op, const struct wf_entry *e); /* wf_route.tell */
void wf_tables_retained(weft_node *node, uint64_t number);                    /* wf_route.retained */
/* There is room in the outbox, for which what is retained may have waited. */
void wf_tables_go_on(struct wf_session *s);

#endif
