/* transport/store/sqlite_connection.h -- connections to the file, and their statements. */
#ifndef WF_STORE_SQLITE_CONNECTION_H
#define WF_STORE_SQLITE_CONNECTION_H

#include "sqlite.h"

int sq_error(int rc); /* converts a code of SQLite to a WEFT_E* */
int sq_connect(struct sq_connection *c, const char *file, const char *vfs, bool read_only);
void sq_disconnect(struct sq_connection *c);
/* Returns the statement, ready to be bound; NULL: *rc is the error. */
sqlite3_stmt *sq_prepare(struct sq_connection *c, enum sq_statement which, int *rc);
/* Runs a statement that returns no rows. Returns 0 or a code of SQLite. */
int sq_run(struct sq_connection *c, enum sq_statement which);
int sq_step_once(sqlite3_stmt *statement); /* the same for a bound statement, which it resets */
struct sq_connection *sq_borrow(struct sq_store *s, int *rc);
void sq_give_back(struct sq_store *s, struct sq_connection *c);

#endif
