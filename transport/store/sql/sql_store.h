/* transport/store/sql/sql_store.h -- what a driver needs to open and to close a store. */
#ifndef WF_STORE_SQL_STORE_H
#define WF_STORE_SQL_STORE_H

#include "sql.h"

/* What each driver's opening begins with. Returns false if there is no memory. */
bool sql_init(struct sql_store *s, const struct wf_store_engine *engine, const struct sql_driver *driver,
              bool read_only);
/* Reads what is kept in memory, or reads it again: nobody else uses the writer meanwhile. Returns 0 or a WEFT_E*, of which
 * `why` (may be NULL) says more. */
int sql_load(struct sql_store *s, struct wf_store_why *why);
/* Readers get new connections from now on, as the writer has got one. */
void sql_server_changed(struct sql_store *s);
bool sql_is_lost(const struct wf_store *s);
/* Closes the connections of readers, and frees what sql_init and sql_load have made, but not the store. */
void sql_finish_store(struct sql_store *s);

/* The time of a VFS of SQLite; NULL: that of this machine. */
int64_t sql_clock(const char *vfs);

#endif
