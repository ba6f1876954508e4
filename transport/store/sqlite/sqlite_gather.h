/* transport/store/sqlite/sqlite_gather.h -- the VFS of the connection that writes: it passes on neighbouring writes to the log
 * together, and lets the log grow in large steps.
 *
 * SQLite writes each page of its log with two system calls, so a commit of half a megabyte takes 260. Here writes that follow
 * each other are held until another call for the log comes, and then passed on as one. A sync is such a call. So what is on
 * disk after a sync is the same, and other connections see the same: a commit becomes visible after its sync (synchronous=FULL).
 * A write that fails is reported by the call that passes it on: by a later write, or at the latest by the sync of the commit.
 *
 * The writes of a checkpoint to the file itself are not held. A checkpoint that a reader hinders has no sync behind them, and
 * readers turn to the file for these pages at once.
 *
 * A sync of a file that has grown takes twice as long as one of a file that was written over. So zeroes are written behind
 * the end of the log when it grows. To SQLite they are no part of it: they have not the salt of its header. */
#ifndef WF_STORE_SQLITE_GATHER_H
#define WF_STORE_SQLITE_GATHER_H

#include <sqlite3.h>

/* Bytes that are held. SQLite's own VFS on Unix takes less than 128 KiB at a time: of a larger write it ignores
 * the high bits of the size. */
enum { SQ_GATHER_MAX = 120 * 1024 };
enum { SQ_LOG_STEP = 512 * 1024 }; /* the size of the log is a multiple of it, unless the disk is full */

struct sq_gather {
    sqlite3_vfs vfs; /* its zName is to be given to sqlite3_open_v2 */
    sqlite3_vfs *below;
    char name[32];
};

/* Registers the VFS. `below`: the name of the VFS that has the files; NULL: SQLite's default. Returns a code of SQLite. */
int sq_gather_begin(struct sq_gather *g, const char *below);
/* All of its files are closed. It may be all zeroes. */
void sq_gather_end(struct sq_gather *g);

#endif
