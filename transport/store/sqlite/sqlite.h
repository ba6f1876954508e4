/* transport/store/sqlite/sqlite.h -- the engine for SQLite, and what its files share.
 *
 * Design notes (sql.h has those of all databases).
 * (1) The file is in WAL mode with synchronous=FULL. COMMIT returns after the WAL was synced.
 * (2) The owner holds an exclusive lock on FILE-owner, an empty database of its own, for as long as it is open.
 *     SQLite's own exclusive mode would shut out our readers as well. The lock goes with the process.
 * (3) At the start the WAL is copied into the file and both are synced, so nothing is served that is in the system's
 *     cache only, left there by a process that died between a write and its sync. */
#ifndef WF_STORE_SQLITE_H
#define WF_STORE_SQLITE_H

#include "sql.h"

extern const struct wf_store_engine wf_store_sqlite; /* "sqlite:FILE" */

enum {
    /* Of the tables: PRAGMA user_version. 2: with queues; 3: with states of actors; 4: with the workers of jobs;
     * 5: with reminders; 6: a row of records may be a block. */
    SQ_VERSION = 6,
    SQ_APPLICATION = 0x77656674, /* "weft": PRAGMA application_id */
};

struct sq_row {
    struct sql_row base;
    struct sq_connection *of;
    sqlite3_stmt *statement;
};

struct sq_connection {
    struct sql_connection base;
    sqlite3 *db;
    bool disk_failed; /* after such an error it is not known what is on disk */
    struct sq_row row[SQL_STATEMENTS];
};

struct sq_store {
    struct sql_store base;
    char *vfs;
    sqlite3 *owner;
    struct sq_connection writer;
};

#endif
