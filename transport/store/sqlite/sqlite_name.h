/* transport/store/sqlite/sqlite_name.h -- what differs between systems: the one name of a file that has several, as SQLite
 * keeps what it needs beside a file under names that begin with the one by which the file was opened; whether it is a file;
 * and why it cannot be opened. */
#ifndef WF_STORE_SQLITE_NAME_H
#define WF_STORE_SQLITE_NAME_H

#include <stdbool.h>

/* Returns the name under which SQLite has to open this file, so that all names of a file lead to the same one; a file
 * that is not there keeps its name. The caller frees it with sqlite3_free. NULL: there is no memory. */
char *sq_name(const char *file);
/* Says what has this name if it is no regular file, such as "a folder". NULL: it is one, or there is none. To open, or to read,
 * something else may wait without end. */
const char *sq_other_kind(const char *file);
/* Whether the file has several names in its file system (hard links). */
bool sq_has_several_names(const char *file);
/* What an error number of sqlite3_system_errno means. */
const char *sq_system_text(int number);

#endif
