/* transport/store/sqlite.h -- the engine for SQLite: definitions that its files share.
 *
 * Design notes.
 * (1) The file is in WAL mode with synchronous=FULL. One connection writes. COMMIT returns after the WAL was synced,
 *     and only then do readers see its records. Each reader has a connection of its own from a list of idle ones.
 * (2) The table `logs` is kept in memory, too (struct sq_log). append, find and list use the copy in memory; the file
 *     is compared with it when the store is opened. So a damaged page cannot make a log disappear while it is open.
 * (3) The key of a record is the number of its log and its offset in one integer: the table needs no index.
 * (4) The owner holds an exclusive lock on FILE-owner, an empty database of its own, for as long as it is open.
 *     SQLite's own exclusive mode would shut out our readers as well. The lock goes with the process.
 * (5) A job has a small row with its state and one with its body, which is not written again when the state changes.
 *     An index finds the job that is due next; only the number of jobs of each queue is kept in memory. A result of
 *     the index counts only if the checksum of the job's row confirms it.
 * (6) A state of an actor has a row, found by its key, and a snapshot and events, found by its id, which is never used
 *     again. When the file is opened all rows are read, and counted. If one is damaged or missing no new state begins, as
 *     it may be that one; so no actor is given an empty state instead of its damaged one.
 * (7) At the start the WAL is copied into the file and both are synced. So the store never serves data that is only
 *     in the system's cache because a process died between a write and its sync. */
#ifndef WF_STORE_SQLITE_H
#define WF_STORE_SQLITE_H

#include <sqlite3.h>

#include "engine.h"

extern const struct wf_store_engine wf_store_sqlite; /* "sqlite:FILE" */

enum {
    /* The version of the tables: PRAGMA user_version. 2: with queues; 3: with states of actors; 4: with the workers
     * of jobs. */
    SQ_VERSION = 4,
    SQ_APPLICATION = 0x77656674, /* "weft": PRAGMA application_id */
    SQ_READERS_MAX = 4,          /* idle connections that are kept */
    SQ_OFFSET_BITS = 40,
    SQ_QUEUE_BUCKETS = 1024,
};

struct sq_log {
    struct wf_store_log is; /* the committed state, as readers see it */
    int64_t id;             /* 1, 2, 3, ...; 0: not in the file yet */
    bool stored;
    struct sq_log *next; /* with the same hash */
    /* Used during the running commit. */
    struct wf_store_log will;
    int64_t will_id;
    uint64_t first_before;
    bool touched;
    struct sq_log *next_touched;
};

/* A queue that has jobs, or gets jobs from the running commit. */
struct sq_queue {
    char name[WF_STORE_TOPIC_MAX + 1];
    uint64_t jobs, will; /* number of jobs, also dead ones; `will`: the number after the running commit */
    bool touched;
    struct sq_queue *next; /* with the same hash */
    struct sq_queue *next_touched;
};

/* Statements of a connection; each is prepared when it is first needed. */
enum sq_statement {
    SQ_BEGIN,
    SQ_COMMIT,
    SQ_ROLLBACK,
    SQ_INSERT_RECORD,
    SQ_DELETE_RECORDS,
    SQ_RECORD_SIZES,
    SQ_READ_RECORDS,
    SQ_INSERT_LOG,
    SQ_UPDATE_LOG,
    SQ_READ_LOGS,
    SQ_COUNT_LOGS,
    SQ_READ_COUNT,
    SQ_ADVANCE,
    SQ_REMOVE_CURSOR,
    SQ_CURSOR,
    SQ_CURSORS,
    SQ_COUNT_CURSORS,
    SQ_INSERT_JOB,
    SQ_INSERT_BODY,
    SQ_UPDATE_JOB,
    SQ_DELETE_JOB,
    SQ_DELETE_BODY,
    SQ_JOB,
    SQ_DUE_JOBS,
    SQ_NEXT_DUE,
    SQ_BODY,
    SQ_COUNT_JOBS,
    SQ_READ_LAST_JOB,
    SQ_INSERT_KEY,
    SQ_KEY,
    SQ_FORGET_KEYS,
    SQ_COUNT_KEYS,
    SQ_QUEUE_SIZES,
    SQ_QUEUES,
    SQ_JOBS,
    SQ_ALL_JOBS,
    SQ_ALL_BODIES,
    SQ_ALL_KEYS,
    SQ_INSERT_WORKER,
    SQ_DELETE_WORKER,
    SQ_LEASES,
    SQ_ALL_WORKERS,
    SQ_BEGIN_READING,
    SQ_WRITE_STATE,
    SQ_DELETE_STATE,
    SQ_STATE,
    SQ_STATES,
    SQ_COUNT_STATES,
    SQ_READ_STATE_COUNT,
    SQ_WRITE_SNAPSHOT,
    SQ_DELETE_SNAPSHOT,
    SQ_SNAPSHOT,
    SQ_INSERT_EVENT,
    SQ_DELETE_EVENTS,
    SQ_EVENTS,
    SQ_LOST_ITEMS,
    SQ_STATEMENTS
};

struct sq_connection {
    sqlite3 *db;
    sqlite3_stmt *statement[SQ_STATEMENTS];
    struct sq_connection *next; /* in the list of idle ones */
};

struct sq_store {
    struct wf_store base;
    bool read_only, broken; /* broken: a sync failed */
    char *file, *vfs;
    sqlite3 *owner;
    struct sq_connection writer; /* if the store is open read-only, it is used under `lock` */
    sqlite3_mutex *lock;         /* protects the fields that follow */
    struct sq_connection *idle;
    int idle_count;
    struct sq_log **bucket; /* a power of two of buckets */
    size_t buckets, logs;
    int64_t stored_logs;
    int64_t cursors;                          /* number of cursors, only for the writer; -1: it has to count them */
    bool has_queues, has_states, has_workers; /* the file has their tables */
    /* Only the writer uses these: */
    struct sq_queue *queue[SQ_QUEUE_BUCKETS];
    size_t queues;
    int64_t last_job, keys; /* the highest id of a job so far; the number of keys that are remembered */
    int64_t states, last_state, damaged_states; /* states, the highest id, and damaged rows at the opening */
};

static inline struct sq_store *sq_of(struct wf_store *s)
{
    return (struct sq_store *)s;
}

#endif
