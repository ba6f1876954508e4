/* transport/store/postgres/postgres_store.h -- what the files of the engine for PostgreSQL share.
 *
 * Design notes (sql.h has those of all databases).
 * (1) The tables are in the schema "weft" of the database, so a database has one store at most. Topics, names and keys are
 *     of type bytea: they are compared byte by byte, whatever the collation of the database is.
 * (2) The owner holds a session-level advisory lock on its writer's connection. A transaction of that connection can only
 *     be committed while its session lives, which has the lock. So two owners never write at the same time.
 * (3) When that connection is lost, so is the lock, and another node may take the store. The row of the table `store` has
 *     the owner's number, a random one of each opening, and counts the commits. Each transaction that changes something
 *     compares both and adds to the count. A new connection goes on only if they are what this owner knows: if nobody else was the owner meanwhile,
 *     and if no acknowledged commit is missing, as would be after the fail-over to a standby that is behind. A commit whose
 *     answer was lost may be counted or not; what is kept in memory is read again.
 * (4) Statements of a transaction go out in libpq's pipeline mode, and their answers are looked at when the next rows are
 *     needed, and before COMMIT is sent. So an error of a statement may be said at a later call.
 * (5) A server may live and answer nothing: its disk hangs, or its process stands still. Then the wait for an answer ends
 *     (answer_timeout), and with it the connection. The old session keeps the owner's lock until it has ended, so the next
 *     connection, which needs that lock, sees what became of the last commit.
 * (6) A statement that may give many rows gives a few at a time, by a cursor of the server's if there are more. libpq would keep
 *     answers of any size, so what it reads is counted on its way (postgres_relay.h). */
#ifndef WF_STORE_POSTGRES_STORE_H
#define WF_STORE_POSTGRES_STORE_H

#include <libpq-fe.h>

#include "postgres_url.h"
#include "sql.h"

enum {
    PQ_VERSION = 3,         /* of the tables: the column `version` of the table `store`; sqlite.h, 6 */
    PQ_PARAMETERS = 9,      /* of a statement */
    PQ_QUEUE_MAX = 256,     /* statements without an answer: libpq keeps what it reads of these answers */
    PQ_LOCK_TIMEOUT = 2000, /* ms for which a statement waits for a lock, or half of answer_timeout if that is less */
    PQ_BYTEA = 17,          /* types, of the server's pg_type.h */
    PQ_BIGINT = 20,
    PQ_ROWS = 32,                                 /* that a cursor gives at a time; each may have a megabyte */
    PQ_ANSWERS_MAX = (PQ_ROWS + 8) * 1024 * 1024, /* bytes of the answers that are awaited together */
};

/* PQ_ONE, PQ_FENCE: has to change one row. PQ_ASKED: the answer is kept for the row's statement. */
enum pq_kind { PQ_PLAIN, PQ_PREPARE, PQ_ONE, PQ_FENCE, PQ_ASKED, PQ_SYNC };

/* What has been sent, and has no answer yet. */
struct pq_sent {
    enum pq_kind kind;
    struct pq_row *row; /* of PQ_PREPARE */
};

struct pq_row {
    struct sql_row base;
    struct pq_connection *of;
    enum sql_statement which;
    bool prepared, opened; /* opened: it has a cursor */
    PGresult *result;      /* the rows that were got; NULL: it has to be run */
    int at;                /* the row in it; -1: none */
    int count;             /* of parameters */
    const char *value[PQ_PARAMETERS];
    int length[PQ_PARAMETERS], binary[PQ_PARAMETERS];
    Oid type[PQ_PARAMETERS];
    char number[PQ_PARAMETERS][8];
};

struct pq_connection {
    struct sql_connection base;
    PGconn *pg;
    struct pq_relay *relay;
    int silence;      /* for how many ms the server may be silent while an answer is awaited; -1: no limit */
    size_t space;     /* bytes that may still come of the answers that are awaited */
    bool is_given_up; /* it was silent for longer, or sends more than that: nothing is awaited any more */
    bool is_endless;  /* of these, the latter */
    bool is_ending;   /* the server has said that it ends this session */
    bool has_warned;  /* with an answer came a warning */
    bool in_transaction;
    /* Of the writer: a transaction begins with its first statement, and compares the owner with its first change. */
    bool begin_due, fence_due;
    int64_t owner, commits; /* what it compares */
    int cursors;            /* that are open; the first of them has begun a transaction if there was none */
    bool own_transaction;
    int failed;  /* the first error of what was sent since the transaction began */
    bool fenced; /* that error: this store has another owner, or lacks commits */
    struct pq_sent sent[PQ_QUEUE_MAX];
    int sent_count;
    struct pq_row *asked; /* the statement of these answers */
    PGresult *answer[SQL_AHEAD_MAX];
    int asked_count, answered, taken;
    struct pq_row row[SQL_STATEMENTS];
};

struct pq_store {
    struct sql_store base;
    struct pq_url url;
    struct pq_connection writer;
    uint64_t owner, commits;
};

#endif
