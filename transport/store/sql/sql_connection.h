/* transport/store/sql/sql_connection.h -- the connections of a store, and the transactions of its writer. */
#ifndef WF_STORE_SQL_CONNECTION_H
#define WF_STORE_SQL_CONNECTION_H

#include "sql_row.h"

/* A connection for a reader; NULL: *rc is the error. */
struct sql_connection *sql_borrow(struct sql_store *s, int *rc);
void sql_give_back(struct sql_store *s, struct sql_connection *c);
/* What a store knows from memory is true only while it is the owner: after the loss of its session another one may have
 * stored more. Asks the database on the connection `c`, or on one that is borrowed (NULL). 0: it was the owner just now,
 * or is open for a tool. Errors: WEFT_ESYSTEM, and then the owner is doubted; those of sql_borrow. */
int sql_confirm(struct sql_store *s, struct sql_connection *c);
/* Borrows a connection for one statement, and prepares that. NULL: `*code` is the error. */
struct sql_row *sql_query(struct sql_store *s, enum sql_statement which, struct sql_connection **c, int *code);
/* Resets the statement and gives the connection back. Does nothing if `row` is NULL. */
void sql_query_end(struct sql_store *s, struct sql_connection *c, struct sql_row *row);

/* Begins a transaction of the writer. Returns 0 or a WEFT_E*. */
int sql_begin(struct sql_store *s);
/* Ends it: commits if `rc` is 0, or rolls back. Returns 0 or a WEFT_E*. */
int sql_finish(struct sql_store *s, int rc);
/* Runs a statement of the writer whose one parameter is a number. Returns 0 or a WEFT_E*. */
int sql_run_of(struct sql_store *s, enum sql_statement which, uint64_t id);

#endif
