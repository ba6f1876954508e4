/* transport/store/sql/sql_connection.h -- the connections of a store, and the transactions of its writer. */
#ifndef WF_STORE_SQL_CONNECTION_H
#define WF_STORE_SQL_CONNECTION_H

#include "sql_row.h"

/* A connection for a reader; NULL: *rc is the error. */
struct sql_connection *sql_borrow(struct sql_store *s, int *rc);
void sql_give_back(struct sql_store *s, struct sql_connection *c);

/* Begins a transaction of the writer. Returns 0 or a WEFT_E*. */
int sql_begin(struct sql_store *s);
/* Ends it: commits if `rc` is 0, or rolls back. Returns 0 or a WEFT_E*. */
int sql_finish(struct sql_store *s, int rc);

#endif
