/* transport/store/sqlite/sqlite_connection.h -- connections to the file, their statements, and what SQLite's errors
 * mean. */
#ifndef WF_STORE_SQLITE_CONNECTION_H
#define WF_STORE_SQLITE_CONNECTION_H

#include "sqlite.h"

extern const struct sql_driver sq_driver;

int sq_error(int rc); /* of SQLite's code, as a WEFT_E* */
/* Whether, after an error with this code of SQLite, it is not known what is on disk. */
bool sq_is_lasting(int code);
/* Returns 0 or a code of SQLite. */
int sq_connect(struct sq_connection *c, const char *file, const char *vfs, bool read_only);
void sq_disconnect(struct sq_connection *c);
/* From now on the writer makes the checkpoints (sqlite.h), and SQLite none by itself. */
void sq_make_checkpoints(struct sq_connection *c);
/* Lets the next checkpoint copy all of the log, for such a writer. */
void sq_forget_what_was_copied(struct sq_connection *c);

#endif
