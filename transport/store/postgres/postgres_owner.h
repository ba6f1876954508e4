/* transport/store/postgres/postgres_owner.h -- the owner of a store: its lock, its number, its transactions. */
#ifndef WF_STORE_POSTGRES_OWNER_H
#define WF_STORE_POSTGRES_OWNER_H

#include "postgres_store.h"

/* The lock of the owner, on the writer's connection. WEFT_EINUSE: another session has had it for as long as
 * PQ_LOCK_TIMEOUT says. */
int pq_lock(struct pq_store *s);
/* Reads the owner's number and how many commits there were. WEFT_ENOTFOUND: there is no store. */
int pq_read_mark(struct pq_connection *c, struct wf_store_mark *out);
/* Draws a new number, which makes this store the owner. */
int pq_own(struct pq_store *s);

/* To be called before a statement is sent: sends what has to come before it. */
int pq_before(struct pq_connection *c, bool changes);

/* Of the driver (sql.h). A connection that was lost is made again first. */
int pq_begin(struct sql_store *s);
int pq_finish(struct sql_store *s, int rc);
int pq_confirm_beside(struct sql_store *s, struct sql_connection *reader);
int pq_confirm(struct wf_store *s); /* of the engine */

#endif
