/* transport/store/sqlite_connection.c -- connections to the file, their statements, and the conversion of SQLite's
 * errors. */
#include <stdlib.h>
#include <string.h>

#include "sqlite_connection.h"

/* The columns of struct wf_store_job, and of its checksum. */
#define JOB "id, queue, dead, due, lease, attempts, time, tag, sum"

/* The columns of struct wf_store_state, with its id, and of its checksum; and those of struct wf_store_item. */
#define STATE "key, id, opening, owner, first, last, bytes, size, sum"
#define ITEM "time, tag, version, body, sum"

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): some have several parts */
static const char *const text_of[SQ_STATEMENTS] = {
    [SQ_BEGIN] = "BEGIN IMMEDIATE",
    [SQ_COMMIT] = "COMMIT",
    [SQ_ROLLBACK] = "ROLLBACK",
    [SQ_INSERT_RECORD] = "INSERT INTO records(id, time, tag, body, sum) VALUES(?, ?, ?, ?, ?)",
    [SQ_DELETE_RECORDS] = "DELETE FROM records WHERE id BETWEEN ? AND ?",
    [SQ_RECORD_SIZES] = "SELECT id, time, length(body) FROM records WHERE id BETWEEN ? AND ? ORDER BY id",
    [SQ_READ_RECORDS] = "SELECT id, time, tag, body, sum FROM records WHERE id BETWEEN ? AND ? ORDER BY id",
    [SQ_INSERT_LOG] = "INSERT INTO logs(id, topic, epoch, first, last, bytes, sum) VALUES(?, ?, ?, ?, ?, ?, ?)",
    [SQ_UPDATE_LOG] =
        "UPDATE logs SET topic = ?2, epoch = ?3, first = ?4, last = ?5, bytes = ?6, sum = ?7 WHERE id = ?1",
    [SQ_READ_LOGS] = "SELECT id, topic, epoch, first, last, bytes, sum FROM logs ORDER BY id",
    [SQ_COUNT_LOGS] = "UPDATE log_count SET count = ?, sum = ? WHERE id = 1",
    [SQ_READ_COUNT] = "SELECT count, sum FROM log_count WHERE id = 1",
    [SQ_ADVANCE] = "INSERT OR REPLACE INTO cursors(name, topic, epoch, last, sum) VALUES(?, ?, ?, ?, ?)",
    [SQ_REMOVE_CURSOR] = "DELETE FROM cursors WHERE name = ? AND topic = ?",
    [SQ_CURSOR] = "SELECT epoch, last, sum FROM cursors WHERE name = ? AND topic = ?",
    [SQ_CURSORS] =
        "SELECT epoch, last, sum, name, topic FROM cursors WHERE (name, topic) > (?, ?) ORDER BY name, topic",
    [SQ_COUNT_CURSORS] = "SELECT count(*) FROM cursors",
    [SQ_INSERT_JOB] = "INSERT INTO jobs(" JOB ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SQ_INSERT_BODY] = "INSERT INTO job_bodies(id, body, sum) VALUES(?, ?, ?)",
    [SQ_UPDATE_JOB] =
        "UPDATE jobs SET queue = ?2, dead = ?3, due = ?4, lease = ?5, attempts = ?6, time = ?7, tag = ?8,"
        " sum = ?9 WHERE id = ?1",
    [SQ_DELETE_JOB] = "DELETE FROM jobs WHERE id = ?",
    [SQ_DELETE_BODY] = "DELETE FROM job_bodies WHERE id = ?",
    [SQ_JOB] = "SELECT " JOB " FROM jobs WHERE id = ?",
    [SQ_DUE_JOBS] = "SELECT " JOB " FROM jobs WHERE queue = ? AND dead = ? AND due <= ? ORDER BY due, lease, id",
    [SQ_NEXT_DUE] = "SELECT due FROM jobs WHERE queue = ? AND dead = 0 AND due > ? ORDER BY due LIMIT 1",
    [SQ_BODY] = "SELECT body, sum FROM job_bodies WHERE id = ?",
    [SQ_COUNT_JOBS] = "UPDATE job_count SET last = ?, sum = ? WHERE id = 1",
    [SQ_READ_LAST_JOB] = "SELECT last, sum FROM job_count WHERE id = 1",
    [SQ_INSERT_KEY] = "INSERT OR REPLACE INTO job_keys(queue, name, job, until, sum) VALUES(?, ?, ?, ?, ?)",
    [SQ_KEY] = "SELECT job, until, sum FROM job_keys WHERE queue = ? AND name = ?",
    [SQ_FORGET_KEYS] =
        "DELETE FROM job_keys WHERE (queue, name) IN (SELECT queue, name FROM job_keys WHERE until <= ?"
        " ORDER BY until LIMIT 2)",
    [SQ_COUNT_KEYS] = "SELECT count(*) FROM job_keys",
    [SQ_QUEUE_SIZES] = "SELECT queue, count(*) FROM jobs GROUP BY queue",
    [SQ_QUEUES] = "SELECT queue, dead, lease <> 0, due > ?, count(*) FROM jobs GROUP BY 1, 2, 3, 4 ORDER BY 1",
    [SQ_JOBS] = "SELECT " JOB " FROM jobs WHERE queue = ? AND dead = ? ORDER BY due, lease, id",
    [SQ_ALL_JOBS] = "SELECT " JOB " FROM jobs ORDER BY id",
    [SQ_ALL_BODIES] = "SELECT id FROM job_bodies WHERE id NOT IN (SELECT id FROM jobs) ORDER BY id",
    [SQ_ALL_KEYS] = "SELECT job, until, sum, queue, name FROM job_keys",
    [SQ_INSERT_WORKER] = "INSERT OR REPLACE INTO job_workers(id, lease, node, actor, sum) VALUES(?, ?, ?, ?, ?)",
    [SQ_DELETE_WORKER] = "DELETE FROM job_workers WHERE id = ?",
    [SQ_LEASES] =
        "SELECT j.id, j.queue, j.dead, j.due, j.lease, j.attempts, j.time, j.tag, j.sum, w.node, w.actor, w.sum"
        " FROM job_workers w JOIN jobs j ON j.id = w.id WHERE j.lease = w.lease AND j.due > ? ORDER BY j.id",
    [SQ_ALL_WORKERS] = "SELECT id, lease, node, actor, sum FROM job_workers",
    [SQ_BEGIN_READING] = "BEGIN",
    [SQ_WRITE_STATE] = "INSERT OR REPLACE INTO states(" STATE ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SQ_DELETE_STATE] = "DELETE FROM states WHERE key = ?",
    [SQ_STATE] = "SELECT " STATE " FROM states WHERE key = ?",
    [SQ_STATES] = "SELECT " STATE " FROM states WHERE key > ? ORDER BY key",
    [SQ_COUNT_STATES] = "UPDATE state_count SET count = ?, last = ?, sum = ? WHERE id = 1",
    [SQ_READ_STATE_COUNT] = "SELECT count, last, sum FROM state_count WHERE id = 1",
    [SQ_WRITE_SNAPSHOT] = "INSERT OR REPLACE INTO state_snapshots(state, number, " ITEM
                          ") VALUES(?, ?, ?, ?, ?, ?, ?)",
    [SQ_DELETE_SNAPSHOT] = "DELETE FROM state_snapshots WHERE state = ?",
    [SQ_SNAPSHOT] = "SELECT number, " ITEM " FROM state_snapshots WHERE state = ?",
    [SQ_INSERT_EVENT] = "INSERT INTO state_events(state, number, " ITEM ") VALUES(?, ?, ?, ?, ?, ?, ?)",
    [SQ_DELETE_EVENTS] = "DELETE FROM state_events WHERE state = ?",
    [SQ_EVENTS] = "SELECT number, " ITEM " FROM state_events WHERE state = ? AND number >= ? ORDER BY number",
    [SQ_LOST_ITEMS] = "SELECT state, number FROM state_snapshots WHERE state NOT IN (SELECT id FROM states)"
                      " UNION ALL SELECT state, number FROM state_events WHERE state NOT IN (SELECT id FROM states)",
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */

int sq_error(int rc)
{
    if (rc == SQLITE_IOERR_NOMEM) return WEFT_ENOMEM;
    if (rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_CORRUPTFS) return WEFT_EFORMAT;
    switch (rc & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return WEFT_OK;
    case SQLITE_NOMEM: return WEFT_ENOMEM;
    case SQLITE_FULL: return WEFT_ENOSPC;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return WEFT_EACCESS;
    case SQLITE_CANTOPEN: return WEFT_ENOTFOUND;
    case SQLITE_ERROR: /* the statements are correct, so other code has changed the tables */
    case SQLITE_CONSTRAINT:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return WEFT_EFORMAT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return WEFT_EINUSE;
    case SQLITE_TOOBIG: return WEFT_ETOOBIG;
    default: return WEFT_ESYSTEM;
    }
}

int sq_connect(struct sq_connection *c, const char *file, const char *vfs, bool read_only)
{
    int flags = SQLITE_OPEN_NOMUTEX | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(file, &c->db, flags, vfs);
    if (rc == SQLITE_OK) rc = sqlite3_extended_result_codes(c->db, 1);
    if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(c->db, 2000);
    /* A damaged file must not make SQLite run SQL from the file, and SQLite checks its pages closely. */
    if (rc == SQLITE_OK) rc = sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->db, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", NULL, NULL, NULL);
    return rc;
}

void sq_disconnect(struct sq_connection *c)
{
    for (int i = 0; i < SQ_STATEMENTS; i++) sqlite3_finalize(c->statement[i]);
    sqlite3_close(c->db);
    *c = (struct sq_connection){0};
}

sqlite3_stmt *sq_prepare(struct sq_connection *c, enum sq_statement which, int *rc)
{
    *rc = SQLITE_OK;
    if (c->statement[which] == NULL)
        *rc = sqlite3_prepare_v3(c->db, text_of[which], -1, SQLITE_PREPARE_PERSISTENT, &c->statement[which], NULL);
    return *rc == SQLITE_OK ? c->statement[which] : NULL;
}

int sq_step_once(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int sq_run(struct sq_connection *c, enum sq_statement which)
{
    int rc;
    sqlite3_stmt *statement = sq_prepare(c, which, &rc);
    return statement == NULL ? rc : sq_step_once(statement);
}

struct sq_connection *sq_borrow(struct sq_store *s, int *rc)
{
    sqlite3_mutex_enter(s->lock);
    struct sq_connection *c = s->idle;
    if (c != NULL) s->idle = c->next, s->idle_count--;
    sqlite3_mutex_leave(s->lock);
    *rc = SQLITE_OK;
    if (c != NULL) return c;
    c = calloc(1, sizeof *c);
    *rc = c == NULL ? SQLITE_NOMEM : sq_connect(c, s->file, s->vfs, true);
    if (*rc == SQLITE_OK) return c;
    if (c != NULL) sq_disconnect(c);
    free(c);
    return NULL;
}

void sq_give_back(struct sq_store *s, struct sq_connection *c)
{
    sqlite3_mutex_enter(s->lock);
    bool keep = s->idle_count < SQ_READERS_MAX;
    if (keep) c->next = s->idle, s->idle = c, s->idle_count++;
    sqlite3_mutex_leave(s->lock);
    if (keep) return;
    sq_disconnect(c);
    free(c);
}
