/* transport/store/sql/sql.h -- an engine that keeps its data in tables: what the engines for SQLite and PostgreSQL share.
 *
 * The rules of engine.h are written once, in this room, over a table of functions (struct sql_driver) that knows how to
 * run statements. A driver knows its database, and none of the rules. sqlite3.h is used here for its mutex, its random
 * numbers and its clock alone, as libweft-store is given nothing of libweft's platform.
 *
 * Design notes.
 * (1) One connection writes. A batch is one transaction. Its commit returns when it is on disk, and only then do readers
 *     see its records. Each reader has a connection of its own from a list of idle ones.
 * (2) The table `logs` is kept in memory, too (struct sql_log). Memory is what append, find and list look at; the
 *     database is compared with it when the store is opened. So a damaged page cannot make a log disappear while it is
 *     open.
 * (3) The key of a record is the number of its log and its offset in one integer: the table needs no second index.
 *     The records of a log that one commit stores are few rows, blocks (sql_block.h).
 * (4) A job has a small row with its state and one with its body, which is not written again when the state changes.
 *     Which job is due next is looked up in an index; only the numbers of jobs of each queue are kept in memory. What the
 *     index says is believed only as far as the checksum of the job's row confirms it. A reminder is a row that
 *     names a job. It is looked for only in queues that have reminders.
 * (5) A state of an actor has a row, found by its key, and a snapshot and events, found by its id, which is never used
 *     again. When the store is opened all rows are read, and counted. If one is damaged or missing no new state begins,
 *     as it may be that one; so no actor is given an empty state instead of its damaged one. */
#ifndef WF_STORE_SQL_H
#define WF_STORE_SQL_H

#include <sqlite3.h>

#include "engine.h"

enum {
    SQL_READERS_MAX = 4, /* idle connections that are kept */
    SQL_OFFSET_BITS = 40,
    SQL_BLOCK_RECORDS = 256,     /* of a row, at most; sql_block.h */
    SQL_BLOCK_BYTES = 32 * 1024, /* of a row with more than one record */
    SQL_AHEAD_MAX = 64,          /* statements that are asked before their answers are needed */
};

/* What sql_step returns, besides a WEFT_E*. */
enum { SQL_DONE = 0, SQL_ROW = 1 };

/* No column has this number: a row with something else in the place of a number differs from its checksum, also where the
 * number was 0. */
#define SQL_NO_NUMBER (INT64_MIN + 7)

/* Of the bytes of a log, in parts. */
struct sql_recount {
    uint64_t next;         /* the offset with which the next part begins; 0: none runs */
    uint64_t bytes, found; /* of the records before it, and how many they are */
};

struct sql_log {
    struct wf_store_log is; /* as readers see it: what is committed */
    int64_t id;             /* 1, 2, 3, ...; 0: not in the table yet */
    bool stored;
    struct sql_log *next; /* with the same hash */
    /* Of the running commit. */
    struct wf_store_log will;
    int64_t will_id;
    uint64_t first_before;
    const struct wf_store_append *pending; /* records that are not written yet, in the order of their offsets */
    struct wf_store_append *last_pending;
    const struct wf_store_limits *limits; /* to be applied before the commit, as at `limits_time`; NULL: none */
    int64_t limits_time;
    uint64_t holes, will_holes; /* records that were damaged or missing when its bytes were counted; sql_append.c */
    struct sql_recount recount, will_recount;
    bool touched;
    struct sql_log *next_touched;
};

/* Numbers of jobs by state, and of reminders. */
struct sql_counts {
    uint64_t ready, delayed, leased, dead, reminders;
};

/* A queue that has jobs, or gets some from the running commit. */
struct sql_queue {
    char name[WF_STORE_TOPIC_MAX + 1];
    struct sql_counts is, will; /* as at the time `seen` (sql_counts.c); `will`: after the running commit */
    int64_t seen, later_from;   /* no job that is not dead is due between them */
    bool touched;
    struct sql_queue *next_touched;
};

/* Statements (sql_statements.c). A connection prepares each when it is first needed. */
enum sql_statement {
    SQL_INSERT_RECORD,
    SQL_DELETE_RECORDS,
    SQL_RECORD_SIZES,
    SQL_READ_RECORDS,
    SQL_INSERT_LOG,
    SQL_UPDATE_LOG,
    SQL_READ_LOGS,
    SQL_READ_LOG,
    SQL_COUNT_LOGS,
    SQL_READ_COUNT,
    SQL_ADVANCE,
    SQL_REMOVE_CURSOR,
    SQL_CURSOR,
    SQL_OTHER_CURSOR,
    SQL_CURSORS,
    SQL_COUNT_CURSORS,
    SQL_INSERT_JOB,
    SQL_INSERT_BODY,
    SQL_UPDATE_JOB,
    SQL_DELETE_JOB,
    SQL_DELETE_BODY,
    SQL_JOB,
    SQL_DUE_JOBS,
    SQL_NEXT_DUE,
    SQL_BODY,
    SQL_COUNT_JOBS,
    SQL_READ_LAST_JOB,
    SQL_INSERT_KEY,
    SQL_KEY,
    SQL_FORGET_KEYS,
    SQL_COUNT_KEYS,
    SQL_DUE_BETWEEN,
    SQL_QUEUES,
    SQL_JOBS,
    SQL_ALL_JOBS,
    SQL_ALL_BODIES,
    SQL_ALL_KEYS,
    SQL_INSERT_WORKER,
    SQL_DELETE_WORKER,
    SQL_LEASES,
    SQL_ALL_WORKERS,
    SQL_WRITE_REMINDER,
    SQL_DELETE_REMINDER,
    SQL_REMINDER,
    SQL_REMINDER_OF_JOB,
    SQL_REMINDER_SIZES,
    SQL_REMINDERS,
    SQL_ALL_REMINDERS,
    SQL_WRITE_STATE,
    SQL_DELETE_STATE,
    SQL_STATE,
    SQL_STATES,
    SQL_COUNT_STATES,
    SQL_READ_STATE_COUNT,
    SQL_WRITE_SNAPSHOT,
    SQL_DELETE_SNAPSHOT,
    SQL_SNAPSHOT,
    SQL_INSERT_EVENT,
    SQL_DELETE_EVENTS,
    SQL_EVENTS,
    SQL_LOST_ITEMS,
    SQL_STATEMENTS
};

struct sql_store;
struct sql_driver;

/* Each begins a struct of its driver's. */
struct sql_connection {
    const struct sql_driver *driver;
    struct sql_connection *next; /* in the list of idle ones */
    unsigned server;             /* of sql_store when it was made */
};
struct sql_row { /* a statement of a connection, and the row that it is at */
    const struct sql_driver *driver;
};

/* What a database is to this room. Functions that can fail return 0 or a WEFT_E*. */
struct sql_driver {
    /* A connection for a reader. */
    int (*connect)(struct sql_store *s, struct sql_connection **out);
    void (*disconnect)(struct sql_connection *c);
    /* Whether an idle connection can be used again; NULL: each can. */
    bool (*is_usable)(struct sql_connection *c);
    /* Asks the database on a reader's connection whether this store is its owner; NULL: it stays that while it is open.
     * WEFT_ESYSTEM: another store is, or the database cannot be reached. */
    int (*confirm)(struct sql_store *s, struct sql_connection *c);

    struct sql_row *(*prepare)(struct sql_connection *c, enum sql_statement which, int *rc);
    /* Parameters from 1 on, and columns from 0 on. What is bound has to stay until the statement was run or reset; what
     * is got, until the next step or reset. */
    void (*bind_int)(struct sql_row *row, int at, int64_t value);
    void (*bind_bytes)(struct sql_row *row, int at, bool is_text, const void *data, size_t size);
    int (*step)(struct sql_row *row);                     /* SQL_ROW, SQL_DONE or a WEFT_E* */
    int64_t (*get_int)(struct sql_row *row, int at);      /* SQL_NO_NUMBER: it is not a number */
    const char *(*get_text)(struct sql_row *row, int at); /* NULL: it is not a text */
    const void *(*get_bytes)(struct sql_row *row, int at, size_t *size);
    void (*reset)(struct sql_row *row); /* also forgets what was bound */
    /* Runs a statement of the writer that gives no rows, and resets it. `one`: WEFT_EFORMAT if it does not change exactly
     * one row. A driver may say an error of this statement at a later call for the same transaction. */
    int (*run)(struct sql_row *row, bool one);
    int (*run_counted)(struct sql_row *row, int64_t *changes); /* the same, at once; how many rows were changed */

    /* Asks a bound statement of the writer that gives one row at most, and resets it: the next SQL_AHEAD_MAX first steps of
     * that statement get the answers, in the order of asking. So a batch waits once for many answers. NULL: an answer is no
     * wait. */
    int (*ask)(struct sql_row *row);

    int (*begin)(struct sql_store *s); /* a transaction of the writer */
    /* Ends it: commits if `rc` is 0, or rolls back. Returns 0 when the commit is on disk. */
    int (*finish)(struct sql_store *s, int rc);
    /* What a reader reads in between is of one moment. */
    int (*begin_reading)(struct sql_connection *c);
    void (*end_reading)(struct sql_connection *c);
    /* The database's own check of its file; NULL: it has none. Returns the number of faults. */
    int (*check)(struct sql_connection *c, wf_store_each_fault *each, void *arg);
};

struct sql_store {
    struct wf_store base;
    const struct sql_driver *driver;
    char *name;                    /* what messages say of it */
    bool read_only, broken;        /* broken: nothing is written until the store is opened again */
    bool away;                     /* the writer has no connection, and the last attempt to make one has failed */
    struct sql_connection *writer; /* of a store that is open read-only: used under `lock` */
    sqlite3_mutex *lock;           /* for what follows */
    struct sql_connection *idle;
    int idle_count;
    unsigned
        server; /* grows when the writer has connected again: perhaps to another server, which readers have to use, too */
    struct sql_log **bucket; /* a power of two of them */
    size_t buckets, logs;
    struct sql_log *
        *order; /* all logs: the first `ordered` ones in the order of their topics, behind them later ones */
    size_t ordered;
    uint64_t order_steps; /* so many elements of it were looked at, or moved */
    int64_t stored_logs;
    int64_t cursors;                                         /* the writer's; -1: it has to count them */
    bool has_queues, has_states, has_workers, has_reminders; /* the database has their tables */
    sqlite3_mutex *queue_lock; /* for the queues; recursive. The writer holds it while it stores a batch of changes */
    struct sql_queue **queue;  /* sql_queue.h */
    size_t queues, queues_max;
    bool counts_unknown; /* they were not loaded as a whole, or a commit without an answer may have changed them */
    /* The writer's alone: */
    bool in_doubt;          /* a commit has no answer */
    int64_t last_job, keys; /* the highest id that was given to a job; how many keys are remembered */
    uint64_t reminders;
    int64_t states, last_state, damaged_states; /* last_state: the highest id; damaged: rows, when it was opened */
    uint8_t block[SQL_BLOCK_BYTES];             /* that is being written */
};

static inline uint64_t sql_jobs_of(const struct sql_counts *c)
{
    return c->ready + c->delayed + c->leased + c->dead;
}

/* Whether the last number that was given to something can be that of a store: numbers begin with 1 and never end. */
static inline bool sql_number_ok(int64_t last)
{
    return last >= 0 && last < INT64_MAX / 2;
}

static inline struct sql_store *sql_of(struct wf_store *s)
{
    return (struct sql_store *)s;
}

/* What a step, or a function that returns 0 or an error, says of errors. */
static inline int sql_error(int rc)
{
    return rc < 0 ? rc : WEFT_OK;
}

#endif
