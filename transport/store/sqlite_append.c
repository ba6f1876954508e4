/* transport/store/sqlite_append.c -- the writer: a batch is one transaction. */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "sqlite_append.h"
#include "sqlite_connection.h"
#include "sqlite_logs.h"
#include "stored_topic.h"

/* Marks the end of the list of logs that the running transaction has touched. */
struct commit {
    struct sq_store *s;
    struct sq_log *touched;
    int64_t logs;
};

static int64_t key_of(const struct sq_log *log, uint64_t offset)
{
    return log->will_id << SQ_OFFSET_BITS | (int64_t)offset;
}

int64_t sq_record_sum(uint64_t epoch, const struct wf_store_record *r)
{
    uint64_t numbers[] = {epoch, r->offset, (uint64_t)r->time, r->tag, r->size};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), r->data, r->size);
}

static void touch(struct commit *c, struct sq_log *log)
{
    if (log->touched) return;
    log->touched = true;
    log->will = log->is;
    log->will_id = log->id;
    log->next_touched = c->touched;
    c->touched = log;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int write_log(struct sq_store *s, const struct sq_log *log, enum sq_statement which)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, which, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, log->will_id);
    sqlite3_bind_text(row, 2, log->will.topic, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 3, (int64_t)log->will.epoch);
    sqlite3_bind_int64(row, 4, (int64_t)log->will.first);
    sqlite3_bind_int64(row, 5, (int64_t)log->will.last);
    sqlite3_bind_int64(row, 6, (int64_t)log->will.bytes);
    sqlite3_bind_int64(row, 7, sq_log_sum(log->will_id, &log->will));
    rc = sq_step_once(row);
    return rc != SQLITE_OK || sqlite3_changes(s->writer.db) == 1 ? rc : SQLITE_CORRUPT;
}

static int write_record(struct sq_store *s, const struct sq_log *log, const struct wf_store_record *r)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_INSERT_RECORD, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, key_of(log, r->offset));
    sqlite3_bind_int64(row, 2, r->time);
    sqlite3_bind_int64(row, 3, r->tag);
    if (r->size == 0) sqlite3_bind_zeroblob(row, 4, 0);
    else sqlite3_bind_blob(row, 4, r->data, (int)r->size, SQLITE_STATIC);
    sqlite3_bind_int64(row, 5, sq_record_sum(log->will.epoch, r));
    rc = sq_step_once(row);
    return (rc & 0xFF) == SQLITE_CONSTRAINT ? SQLITE_CORRUPT : rc; /* the log has a record with that offset already */
}

/* ---- Removing what is over the limits -------------------------------------------------------------------------- */

static bool is_over(const struct wf_store_log *log, const struct wf_store_limits *limits, int64_t time, int64_t now)
{
    if (limits->count > 0 && log->last - log->first + 1 > limits->count) return true;
    if (limits->bytes > 0 && log->bytes > limits->bytes) return true;
    return limits->age > 0 && time < now - limits->age;
}

/* Whether the log is within its limits by count and bytes, so that nothing has to be removed for them; the age of the
 * first record is not known yet. */
static bool surely_within(const struct wf_store_log *log, const struct wf_store_limits *limits)
{
    return limits->age == 0 && !is_over(log, limits, 0, 0);
}

static int remove_old(struct sq_store *s, struct sq_log *log, const struct wf_store_limits *limits, int64_t now)
{
    struct wf_store_log *will = &log->will;
    if (will->first >= will->last || surely_within(will, limits)) return SQLITE_OK;
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_RECORD_SIZES, &rc);
    if (row == NULL) return rc;
    uint64_t from = will->first;
    sqlite3_bind_int64(row, 1, key_of(log, from));
    sqlite3_bind_int64(row, 2, key_of(log, will->last - 1));
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        if (sqlite3_column_int64(row, 0) != key_of(log, will->first)) rc = SQLITE_CORRUPT;
        if (rc != SQLITE_ROW || !is_over(will, limits, sqlite3_column_int64(row, 1), now)) break;
        uint64_t size = (uint64_t)sqlite3_column_int64(row, 2);
        will->bytes -= size < will->bytes ? size : will->bytes;
        will->first++;
    }
    sqlite3_reset(row);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return rc;
    if (will->first == from) return SQLITE_OK;
    row = sq_prepare(&s->writer, SQ_DELETE_RECORDS, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, key_of(log, from));
    sqlite3_bind_int64(row, 2, key_of(log, will->first - 1));
    return sq_step_once(row);
}

/* ---- A transaction --------------------------------------------------------------------------------------------- */

int sq_begin(struct sq_store *s)
{
    if (s->read_only) return WEFT_EACCESS;
    if (s->broken) return WEFT_ESYSTEM;
    return sq_error(sq_run(&s->writer, SQ_BEGIN));
}

/* After these errors it is not known which data is on disk. */
static bool is_lasting(int rc)
{
    return (rc & 0xFF) == SQLITE_IOERR && rc != SQLITE_IOERR_NOMEM;
}

int sq_finish(struct sq_store *s, int rc)
{
    if (rc == SQLITE_OK) rc = sq_run(&s->writer, SQ_COMMIT);
    if (is_lasting(rc)) s->broken = true;
    if (rc != SQLITE_OK && sqlite3_get_autocommit(s->writer.db) == 0) (void)sq_run(&s->writer, SQ_ROLLBACK);
    if (sqlite3_get_autocommit(s->writer.db) == 0) s->broken = true; /* the rollback has failed */
    return sq_error(rc);
}

static int write_logs(struct commit *c)
{
    int rc = SQLITE_OK;
    for (struct sq_log *log = c->touched; log != NULL && rc == SQLITE_OK; log = log->next_touched)
        rc = write_log(c->s, log, log->stored ? SQ_UPDATE_LOG : SQ_INSERT_LOG);
    if (rc != SQLITE_OK || c->logs == c->s->stored_logs) return rc;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_COUNT_LOGS, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, c->logs);
    sqlite3_bind_int64(row, 2, sq_count_sum(c->logs));
    return sq_step_once(row);
}

/* Readers must know that records are removed before they are, because a missing record after `first` counts as
 * damage. */
static void announce(struct commit *c)
{
    sqlite3_mutex_enter(c->s->lock);
    for (struct sq_log *log = c->touched; log != NULL; log = log->next_touched) {
        log->first_before = log->is.first;
        log->is.first = log->will.first <= log->is.last ? log->will.first : log->is.last + 1;
    }
    sqlite3_mutex_leave(c->s->lock);
}

/* Makes the committed changes visible to readers. */
static void publish(struct commit *c, bool committed)
{
    sqlite3_mutex_enter(c->s->lock);
    for (struct sq_log *log = c->touched, *next; log != NULL; log = next) {
        next = log->next_touched;
        log->touched = false;
        log->is.first = log->first_before;
        if (!committed) continue;
        log->is = log->will;
        log->id = log->will_id;
        log->stored = true;
    }
    if (committed) c->s->stored_logs = c->logs;
    sqlite3_mutex_leave(c->s->lock);
}

static int commit(struct commit *c, int rc)
{
    if (rc == SQLITE_OK) rc = write_logs(c);
    announce(c);
    int error = sq_finish(c->s, rc);
    publish(c, error == WEFT_OK);
    return error;
}

/* ---- Appending ------------------------------------------------------------------------------------------------- */

static int check_record(const struct wf_store_append *a)
{
    if (!wf_store_topic_ok(a->topic) || (a->data == NULL && a->size > 0)) return WEFT_EINVAL;
    if ((a->as_epoch == 0) != (a->as_offset == 0) || a->as_offset > WF_STORE_OFFSET_MAX) return WEFT_EINVAL;
    return a->size > WF_STORE_RECORD_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

/* Returns the log of a record; creates it if it does not exist. NULL: `a->error` says why. */
static struct sq_log *log_for(struct commit *c, struct wf_store_append *a)
{
    struct sq_store *s = c->s;
    sqlite3_mutex_enter(s->lock);
    struct sq_log *log = sq_log_find(s, a->topic);
    if (log == NULL) {
        log = s->logs >= WF_STORE_LOGS_MAX ? NULL : sq_log_add(s, a->topic);
        if (log == NULL) a->error = s->logs >= WF_STORE_LOGS_MAX ? WEFT_EFULL : WEFT_ENOMEM;
    }
    sqlite3_mutex_leave(s->lock);
    if (log != NULL && !log->touched) {
        touch(c, log);
        if (!log->stored) log->will_id = ++c->logs;
    }
    return log;
}

/* Whether the epoch and offset of a copied record begin a log, or follow its last record. */
static bool place_copy(struct sq_log *log, const struct wf_store_append *a)
{
    if (!log->stored && log->will.last == 0) {
        log->will.epoch = a->as_epoch;
        log->will.first = a->as_offset;
        log->will.last = a->as_offset - 1;
    }
    return log->will.epoch == a->as_epoch && a->as_offset == log->will.last + 1;
}

static int append_one(struct commit *c, struct wf_store_append *a)
{
    a->error = check_record(a);
    struct sq_log *log = a->error < 0 ? NULL : log_for(c, a);
    if (log == NULL) return SQLITE_OK;
    if (log->will.last >= WF_STORE_OFFSET_MAX) {
        a->error = WEFT_EFULL;
        return SQLITE_OK;
    }
    if (a->as_offset != 0 && !place_copy(log, a)) {
        a->error = WEFT_EEXIST;
        return SQLITE_OK;
    }
    struct wf_store_record r = {log->will.last + 1, a->time, a->tag, a->data, a->size};
    int rc = write_record(c->s, log, &r);
    if (rc != SQLITE_OK) return rc;
    log->will.last = r.offset;
    log->will.bytes += a->size;
    a->epoch = log->will.epoch;
    a->offset = r.offset;
    return a->limits == NULL ? SQLITE_OK : remove_old(c->s, log, a->limits, a->time);
}

static int check_batch(const struct wf_store_append *batch, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count && count <= WF_STORE_BATCH_MAX; i++) bytes += batch[i].size;
    if (count == 0 || count > WF_STORE_BATCH_MAX) return WEFT_EINVAL;
    return bytes > WF_STORE_BATCH_BYTES_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

int sq_append(struct wf_store *store, struct wf_store_append *batch, size_t count)
{
    struct sq_store *s = sq_of(store);
    int rc = check_batch(batch, count);
    if (rc == WEFT_OK) rc = sq_begin(s);
    if (rc == WEFT_OK) {
        struct commit c = {.s = s, .logs = s->stored_logs};
        int code = SQLITE_OK;
        for (size_t i = 0; i < count && code == SQLITE_OK; i++) code = append_one(&c, &batch[i]);
        rc = commit(&c, code);
    }
    for (size_t i = 0; i < count && rc < 0; i++) batch[i].error = rc;
    for (size_t i = 0; i < count; i++)
        if (batch[i].error < 0) batch[i].epoch = batch[i].offset = 0;
    return rc;
}

int sq_trim(struct wf_store *store, const char *topic, const struct wf_store_limits *limits, int64_t now)
{
    struct sq_store *s = sq_of(store);
    sqlite3_mutex_enter(s->lock);
    struct sq_log *log = wf_store_topic_ok(topic) ? sq_log_find(s, topic) : NULL;
    sqlite3_mutex_leave(s->lock);
    if (log == NULL || !log->stored) return WEFT_ENOTFOUND;
    int rc = sq_begin(s);
    if (rc < 0) return rc;
    struct commit c = {.s = s, .logs = s->stored_logs};
    touch(&c, log);
    return commit(&c, remove_old(s, log, limits, now));
}
