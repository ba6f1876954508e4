/* transport/store/sql/sql_connection.h -- the connections of a store, and the transactions of its writer. */
#ifndef WF_STORE_SQL_CONNECTION_H
#define WF_STORE_SQL_CONNECTION_H

#include "sql_row.h"

/* What each driver's opening begins with. Returns false if there is no memory. */
bool sql_init(struct sql_store *s, const struct wf_store_engine *engine, const struct sql_driver *driver,
              bool read_only);
/* Reads what is kept in memory, or reads it again: nobody else uses the writer meanwhile. Returns 0 or a WEFT_E*, of which
 * `why` (may be NULL) says more. */
int sql_load(struct sql_store *s, struct wf_store_why *why);
/* Closes the connections of readers, and frees what sql_init and sql_load have made, but not the store. */
void sql_finish_store(struct sql_store *s);

/* The time of a VFS of SQLite; NULL: that of this machine. */
int64_t sql_clock(const char *vfs);

/* A connection for a reader; NULL: *rc is the error. */
struct sql_connection *sql_borrow(struct sql_store *s, int *rc);
void sql_give_back(struct sql_store *s, struct sql_connection *c);

/* Begins a transaction of the writer. Returns 0 or a WEFT_E*. */
int sql_begin(struct sql_store *s);
/* Ends it: commits if `rc` is 0, or rolls back. Returns 0 or a WEFT_E*. */
int sql_finish(struct sql_store *s, int rc);

#endif
