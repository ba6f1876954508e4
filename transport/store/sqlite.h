/* transport/store/sqlite.h -- the engine for SQLite, which several files share.
 *
 * Design notes.
 * (1) The file is in WAL mode with synchronous=FULL. One connection writes. COMMIT returns after the WAL was synced,
 *     and only then do readers see its records. Each reader has a connection of its own from a list of idle ones.
 * (2) The table `logs` is kept in memory, too (struct sq_log). Memory is what append, find and list look at; the file is
 *     compared with it when the store is opened. So a damaged page cannot make a log disappear while it is open.
 * (3) The key of a record is the number of its log and its offset in one integer: the table needs no index.
 * (4) The owner holds an exclusive lock on FILE-owner, an empty database of its own, for as long as it is open. SQLite's
 *     own exclusive mode would shut out our readers as well. The lock goes with the process.
 * (5) At the start the WAL is copied into the file and both are synced, so nothing is served that is in the system's
 *     cache only, left there by a process that died between a write and its sync. */
#ifndef WF_STORE_SQLITE_H
#define WF_STORE_SQLITE_H

#include <sqlite3.h>

#include "engine.h"

enum {
    SQ_VERSION = 1,              /* of the tables: PRAGMA user_version */
    SQ_APPLICATION = 0x77656674, /* "weft": PRAGMA application_id */
    SQ_READERS_MAX = 4,          /* idle connections that are kept */
    SQ_OFFSET_BITS = 40,
};

struct sq_log {
    struct wf_store_log is; /* as readers see it: what is committed */
    int64_t id;             /* 1, 2, 3, ...; 0: not in the file yet */
    bool stored;
    struct sq_log *next; /* with the same hash */
    /* Of the running commit. */
    struct wf_store_log will;
    int64_t will_id;
    uint64_t first_before;
    bool touched;
    struct sq_log *next_touched;
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
    SQ_SAVE,
    SQ_LOAD,
    SQ_ADVANCE,
    SQ_CURSOR,
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
    struct sq_connection writer; /* of a store that is open read-only: used under `lock` */
    sqlite3_mutex *lock;         /* for what follows */
    struct sq_connection *idle;
    int idle_count;
    struct sq_log **bucket; /* a power of two of them */
    size_t buckets, logs;
    int64_t stored_logs;
};

static inline struct sq_store *sq_of(struct wf_store *s)
{
    return (struct sq_store *)s;
}

/* sqlite_connection.c */
int sq_error(int rc); /* of SQLite's code, as a WEFT_E* */
int sq_connect(struct sq_connection *c, const char *file, const char *vfs, bool read_only);
void sq_disconnect(struct sq_connection *c);
/* Returns the statement, ready to be bound; NULL: *rc is the error. */
sqlite3_stmt *sq_prepare(struct sq_connection *c, enum sq_statement which, int *rc);
/* Runs a statement that gives no rows. Returns 0 or a code of SQLite. */
int sq_run(struct sq_connection *c, enum sq_statement which);
int sq_step_once(sqlite3_stmt *statement); /* the same, for one that is bound; resets it */
struct sq_connection *sq_borrow(struct sq_store *s, int *rc);
void sq_give_back(struct sq_store *s, struct sq_connection *c);

/* sqlite_logs.c: all under the lock, or while no other thread knows the store */
struct sq_log *sq_log_find(const struct sq_store *s, const char *topic);
struct sq_log *sq_log_add(struct sq_store *s, const char *topic); /* NULL: no memory */
int sq_logs_load(struct sq_store *s, struct sq_connection *c, struct wf_store_why *why);
void sq_logs_free(struct sq_store *s);
int64_t sq_log_sum(int64_t id, const struct wf_store_log *log);
int64_t sq_count_sum(int64_t count);

/* sqlite_append.c */
int sq_append(struct wf_store *s, struct wf_store_append *batch, size_t count);
int sq_trim(struct wf_store *s, const char *topic, const struct wf_store_limits *limits, int64_t now);
/* Ends the transaction of the writer that `rc`, a code of SQLite, stands for: commits, or rolls back. Returns a WEFT_E*. */
int sq_finish(struct sq_store *s, int rc);
int64_t sq_record_sum(uint64_t epoch, const struct wf_store_record *r);

/* sqlite_read.c */
int sq_read(struct wf_store *s, const char *topic, uint64_t from, size_t count, size_t bytes,
            wf_store_each_record *each, void *arg, struct wf_store_log *log);
int sq_find(struct wf_store *s, const char *topic, struct wf_store_log *out);
int sq_list(struct wf_store *s, const char *after, wf_store_each_log *each, void *arg);

/* sqlite_state.c */
int sq_save(struct wf_store *s, const char *key, const void *data, size_t size);
int sq_load(struct wf_store *s, const char *key, void **out, size_t *size);
int sq_cursor(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor *out);
int sq_advance(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor to);

/* sqlite_check.c */
int sq_check(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
