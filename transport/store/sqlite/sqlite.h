/* transport/store/sqlite/sqlite.h -- the engine for SQLite, and what its files share.
 *
 * Design notes (sql.h has those of all databases).
 * (1) The file is in WAL mode with synchronous=FULL. COMMIT returns after the WAL was synced. The writes to the WAL are
 *     passed on together (sqlite_gather.h).
 * (2) The owner holds an exclusive lock on FILE-owner, an empty database of its own, for as long as it is open.
 *     SQLite's own exclusive mode would shut out our readers as well. The lock goes with the process.
 * (3) A checkpoint copies the WAL into the file and syncs the file. From then on SQLite writes the WAL over from its start,
 *     which is synced faster than a file that grows. The writer makes a checkpoint before a transaction, so no commit
 *     waits for one after it is on disk. Large commits, those of many publishers, mostly write new pages: after a few of
 *     them a checkpoint is due, which is short. Small commits write the same pages again and again. They are left in the
 *     WAL until it has SQ_WAL_PAGES, so that such a page is copied once for many commits.
 * (4) So the WAL has the pages of SQ_WAL_PAGES and of two commits at most, the zeroes of SQ_LOG_STEP behind them, and the
 *     pages of those commits that a reader holds up:
 *     SQLite copies nothing that is newer than what a reader sees, and does not write over what one may read. Our readers
 *     read some records at a time. A check or a backup takes longer, and the WAL grows meanwhile.
 * (5) After a checkpoint that fails nothing is written, as after a commit that fails. A next one would not copy again what
 *     the last ones have copied but not synced, and after a failed sync that may be missing on disk. So the note of what was
 *     copied is taken back at once, and at each opening: the next checkpoint copies all of the WAL, whichever process makes
 *     it. One case is left: this process is killed between the failed sync and the next few instructions, and a program
 *     that is no store is the last one to close the file. SQLite makes its checkpoint, without that part.
 * (6) At the start the WAL is copied into the file and both are synced, so nothing is served that is in the system's
 *     cache only, left there by a process that died between a write and its sync. */
#ifndef WF_STORE_SQLITE_H
#define WF_STORE_SQLITE_H

#include "sql.h"
#include "sqlite_gather.h"

extern const struct wf_store_engine wf_store_sqlite; /* "sqlite:FILE" */

enum {
    /* Of the tables: PRAGMA user_version. 2: with queues; 3: with states of actors; 4: with the workers of jobs;
     * 5: with reminders; 6: a row of records may be a block. */
    SQ_VERSION = 6,
    SQ_APPLICATION = 0x77656674, /* "weft": PRAGMA application_id */
    /* A checkpoint is due after so many pages of large commits, or of all commits: */
    SQ_LARGE_PAGES = 64,
    SQ_WAL_PAGES = 1000,
    SQ_SMALL_COMMIT = 8, /* pages; of a large commit, those that are more than these count */
};

struct sq_row {
    struct sql_row base;
    struct sq_connection *of;
    sqlite3_stmt *statement;
};

enum sq_control { SQ_BEGIN_WRITING, SQ_BEGIN_READING, SQ_COMMIT, SQ_ROLLBACK, SQ_CONTROLS };

/* The write-ahead log, as the writer sees it. */
struct sq_wal {
    int pages;     /* after the last commit */
    int copied_at; /* its pages at the last checkpoint */
    int large;     /* pages of large commits since then */
};

struct sq_connection {
    struct sql_connection base;
    sqlite3 *db;
    struct sq_wal wal;
    bool disk_failed; /* it is not known what is on disk: sq_is_lasting */
    struct sq_row row[SQL_STATEMENTS];
    sqlite3_stmt *control[SQ_CONTROLS]; /* each prepared when it is first needed */
};

struct sq_store {
    struct sql_store base;
    char *vfs;
    sqlite3 *owner;
    struct sq_gather gather; /* the VFS of the writer, if the file may be written */
    struct sq_connection writer;
};

#endif
