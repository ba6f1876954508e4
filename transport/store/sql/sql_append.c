/* transport/store/sql/sql_append.c -- the writer: a batch is one transaction. */
#include <stdlib.h>
#include <string.h>

#include "sql_append.h"
#include "sql_block.h"
#include "sql_connection.h"
#include "sql_logs.h"
#include "stored_topic.h"

/* Records that one append looks at to count bytes again: more than it can have, so that a recount ends also while records
 * come. */
enum { SQL_RECOUNT_RECORDS = 4 * WF_STORE_BATCH_MAX };

/* The running transaction, with the logs that it changes. */
struct commit {
    struct sql_store *s;
    struct sql_log *touched;
    int64_t logs;
    size_t recounts; /* records that it may still look at to count the bytes of logs again */
};

static void touch(struct commit *c, struct sql_log *log)
{
    if (log->touched) return;
    log->touched = true;
    log->will = log->is;
    log->will_id = log->id;
    log->will_holes = log->holes;
    log->will_recount = log->recount;
    log->limits = NULL;
    log->pending = NULL;
    log->next_touched = c->touched;
    c->touched = log;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int write_log(struct sql_store *s, const struct sql_log *log, enum sql_statement which)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, which, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, log->will_id);
    sql_bind_text(row, 2, log->will.topic);
    sql_bind_int(row, 3, (int64_t)log->will.epoch);
    sql_bind_int(row, 4, (int64_t)log->will.first);
    sql_bind_int(row, 5, (int64_t)log->will.last);
    sql_bind_int(row, 6, (int64_t)log->will.bytes);
    sql_bind_int(row, 7, sql_log_sum(log->will_id, &log->will));
    return sql_run_one(row);
}

/* Writes the records that the log has got since the last call. */
static int write_records(struct sql_store *s, struct sql_log *log)
{
    int rc = WEFT_OK;
    while (log->pending != NULL && rc == WEFT_OK)
        rc = sql_records_write(s, log->will_id, log->will.epoch, &log->pending);
    return rc;
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

static struct sql_row *sizes_of(struct sql_store *s, const struct sql_log *log, uint64_t from, int *rc)
{
    struct sql_row *row = sql_prepare(s->writer, SQL_RECORD_SIZES, rc);
    if (row == NULL) return NULL;
    sql_bind_int(row, 1, sql_record_key(log->will_id, from));
    sql_bind_int(row, 2, sql_record_key(log->will_id, log->will.last));
    return row;
}

/* Damaged or missing records have taken an unknown number of bytes. So before they are removed, those of the others are counted,
 * which looks at the whole log: one commit looks at a part of it, and the removal waits until all is counted. A recount also
 * counts the holes that are left: they take nothing from these bytes when they are removed. So a log is counted once, and
 * again only if more records were damaged since. Returns SQL_DONE, SQL_ROW if the next commit has to go on, or an error. */
static int recount_bytes(struct commit *c, struct sql_log *log)
{
    struct wf_store_log *will = &log->will;
    struct sql_recount *to = &log->will_recount;
    int rc;
    if (to->next < will->first) *to = (struct sql_recount){.next = will->first};
    struct sql_row *row = sizes_of(c->s, log, to->next, &rc);
    if (row == NULL) return rc;
    struct sql_records records = {.row = row, .epoch = will->epoch, .from = to->next, .sizes_only = true};
    struct wf_store_record r;
    bool fine;
    for (rc = SQL_ROW; c->recounts > 0 && (rc = sql_records_next(&records, &r, &fine)) == SQL_ROW; c->recounts--) {
        if (r.offset >= to->next) to->next = r.offset + 1;
        to->bytes += fine ? r.size : 0;
        to->found += fine;
    }
    sql_reset(row);
    if (rc != SQL_DONE) return rc;
    const uint64_t count = will->last - will->first + 1;
    will->bytes = to->bytes;
    log->will_holes = to->found < count ? count - to->found : 0; /* damaged keys may give more */
    *to = (struct sql_recount){.next = 0};
    return SQL_DONE;
}

/* Advances `first` behind the records that are over the limits. Damaged or missing ones go with the record behind them, if
 * the bytes were counted since (`is_counted`: then those go for which that was done, also if the rest is within the limits
 * without them); else `*has_hole` says that it stands in front of some. */
static int advance_first(struct sql_store *s, struct sql_log *log, const struct wf_store_limits *limits, int64_t now,
                         bool is_counted, bool *has_hole)
{
    struct wf_store_log *will = &log->will;
    const uint64_t counted_for = is_counted ? will->first : 0;
    int rc;
    *has_hole = false;
    struct sql_row *row = sizes_of(s, log, log->will.first, &rc);
    if (row == NULL) return rc;
    struct sql_records records = {.row = row, .epoch = will->epoch, .from = will->first, .sizes_only = true};
    struct wf_store_record r;
    bool fine = false, again = false; /* again: records before `r` were missing, and it comes next */
    rc = WEFT_OK;
    while (will->first < will->last && !*has_hole) {
        if (!again) {
            fine = false;
            rc = sql_records_next(&records, &r, &fine);
            if (rc == SQL_DONE) r = (struct wf_store_record){.offset = will->last}; /* the rest is missing */
            else if (rc != SQL_ROW) break;
        }
        if (r.offset < will->first || r.offset > will->last) rc = WEFT_EFORMAT; /* the keys are damaged */
        const bool is_next = fine && r.offset == will->first, goes = !is_next && will->first == counted_for;
        if (rc == WEFT_EFORMAT || (!goes && !is_over(will, limits, fine ? r.time : now, now))) break;
        const bool is_damaged = rc == SQL_ROW && !fine && r.offset < will->last;
        const uint64_t after = is_next || is_damaged ? r.offset + 1 : r.offset;
        const uint64_t hole = is_next ? 0 : after - will->first;
        *has_hole = hole > log->will_holes && !is_counted;
        if (*has_hole) break;
        if (is_next) will->bytes -= r.size < will->bytes ? r.size : will->bytes;
        will->first = after;
        log->will_holes -= hole < log->will_holes ? hole : log->will_holes;
        again = !is_next && !is_damaged;
    }
    sql_reset(row);
    return sql_error(rc);
}

static int remove_old(struct commit *c, struct sql_log *log, const struct wf_store_limits *limits, int64_t now)
{
    struct wf_store_log *will = &log->will;
    const uint64_t from = will->first;
    bool has_hole = false;
    int rc = WEFT_OK;
    if (will->first < will->last && !surely_within(will, limits))
        rc = advance_first(c->s, log, limits, now, false, &has_hole);
    if (rc == WEFT_OK && has_hole) rc = recount_bytes(c, log);
    if (rc == SQL_DONE && has_hole) rc = advance_first(c->s, log, limits, now, true, &has_hole);
    if (rc < 0) return rc;
    if (will->first == from) return WEFT_OK;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_DELETE_RECORDS, &rc);
    if (row == NULL) return rc;
    /* A block stays until its last record is removed. */
    sql_bind_int(row, 1, sql_record_key(log->will_id, from));
    sql_bind_int(row, 2, sql_record_key(log->will_id, will->first - 1));
    return sql_run(row);
}

/* Records over the limits are removed once for a log and a batch, because its records mostly have the same limits. */
static int apply_limits(struct commit *c, struct sql_log *log)
{
    const struct wf_store_limits *limits = log->limits;
    log->limits = NULL;
    if (limits == NULL) return WEFT_OK;
    int rc = write_records(c->s, log);
    return rc < 0 ? rc : remove_old(c, log, limits, log->limits_time);
}

static bool is_same(const struct wf_store_limits *a, const struct wf_store_limits *b)
{
    return a->count == b->count && a->bytes == b->bytes && a->age == b->age;
}

/* Sets the limits of a new record. If they differ from the limits before, these are applied first: they count for the
 * records before this one. */
static int set_limits(struct commit *c, struct sql_log *log, const struct wf_store_append *a)
{
    bool is_other = log->limits == NULL || a->limits == NULL || !is_same(log->limits, a->limits);
    int rc = is_other ? apply_limits(c, log) : WEFT_OK;
    if (is_other || a->time > log->limits_time) log->limits_time = a->time;
    log->limits = a->limits;
    return rc;
}

/* ---- A transaction --------------------------------------------------------------------------------------------- */

static int write_logs(struct commit *c)
{
    int rc = WEFT_OK;
    for (struct sql_log *log = c->touched; log != NULL && rc == WEFT_OK; log = log->next_touched) {
        rc = apply_limits(c, log);
        if (rc == WEFT_OK) rc = write_records(c->s, log);
        if (rc == WEFT_OK) rc = write_log(c->s, log, log->stored ? SQL_UPDATE_LOG : SQL_INSERT_LOG);
    }
    if (rc != WEFT_OK || c->logs == c->s->stored_logs) return rc;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_COUNT_LOGS, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, c->logs);
    sql_bind_int(row, 2, sql_count_sum(c->logs));
    return sql_run(row);
}

/* Readers must know that records are removed before they are, because a missing record after `first` counts as
 * damage. */
static void announce(struct commit *c)
{
    sqlite3_mutex_enter(c->s->lock);
    for (struct sql_log *log = c->touched; log != NULL; log = log->next_touched) {
        log->first_before = log->is.first;
        log->is.first = log->will.first <= log->is.last ? log->will.first : log->is.last + 1;
    }
    sqlite3_mutex_leave(c->s->lock);
}

/* Makes the committed changes visible to readers. */
static void publish(struct commit *c, bool committed)
{
    sqlite3_mutex_enter(c->s->lock);
    for (struct sql_log *log = c->touched, *next; log != NULL; log = next) {
        next = log->next_touched;
        log->touched = false;
        log->is.first = log->first_before;
        if (!committed) continue;
        log->is = log->will;
        log->id = log->will_id;
        log->holes = log->will_holes;
        log->recount = log->will_recount;
        log->stored = true;
    }
    if (committed) c->s->stored_logs = c->logs;
    sqlite3_mutex_leave(c->s->lock);
}

static int commit(struct commit *c, int rc)
{
    if (rc == WEFT_OK) rc = write_logs(c);
    announce(c);
    int error = sql_finish(c->s, rc);
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
static struct sql_log *log_for(struct commit *c, struct wf_store_append *a)
{
    struct sql_store *s = c->s;
    sqlite3_mutex_enter(s->lock);
    struct sql_log *log = sql_log_find(s, a->topic);
    if (log == NULL) {
        log = s->logs >= WF_STORE_LOGS_MAX ? NULL : sql_log_add(s, a->topic);
        if (log == NULL) a->error = s->logs >= WF_STORE_LOGS_MAX ? WEFT_EFULL : WEFT_ENOMEM;
    }
    sqlite3_mutex_leave(s->lock);
    if (log != NULL && !log->touched) {
        touch(c, log);
        if (!log->stored) log->will_id = ++c->logs;
    }
    return log;
}

/* The epoch and offset of a copied record: it begins a log, or follows its last record. */
static bool place_copy(struct sql_log *log, const struct wf_store_append *a)
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
    struct sql_log *log = a->error < 0 ? NULL : log_for(c, a);
    if (log == NULL) return WEFT_OK;
    if (log->will.last >= WF_STORE_OFFSET_MAX) {
        a->error = WEFT_EFULL;
        return WEFT_OK;
    }
    if (a->as_offset != 0 && !place_copy(log, a)) {
        a->error = WEFT_EEXIST;
        return WEFT_OK;
    }
    int rc = set_limits(c, log, a);
    if (rc != WEFT_OK) return rc;
    a->epoch = log->will.epoch;
    a->offset = ++log->will.last;
    log->will.bytes += a->size;
    a->next = NULL;
    if (log->pending == NULL) log->pending = a;
    else log->last_pending->next = a;
    log->last_pending = a;
    return WEFT_OK;
}

static int check_batch(const struct wf_store_append *batch, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count && count <= WF_STORE_BATCH_MAX; i++) bytes += batch[i].size;
    if (count == 0 || count > WF_STORE_BATCH_MAX) return WEFT_EINVAL;
    return bytes > WF_STORE_BATCH_BYTES_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

int sql_append(struct wf_store *store, struct wf_store_append *batch, size_t count)
{
    struct sql_store *s = sql_of(store);
    int rc = check_batch(batch, count);
    if (rc == WEFT_OK) rc = sql_begin(s);
    if (rc == WEFT_OK) {
        struct commit c = {.s = s, .logs = s->stored_logs, .recounts = SQL_RECOUNT_RECORDS};
        int code = WEFT_OK;
        for (size_t i = 0; i < count && code == WEFT_OK; i++) code = append_one(&c, &batch[i]);
        rc = commit(&c, code);
    }
    for (size_t i = 0; i < count && rc < 0; i++) batch[i].error = rc;
    for (size_t i = 0; i < count; i++)
        if (batch[i].error < 0) batch[i].epoch = batch[i].offset = 0;
    return rc;
}

int sql_trim(struct wf_store *store, const char *topic, const struct wf_store_limits *limits, int64_t now)
{
    struct sql_store *s = sql_of(store);
    sqlite3_mutex_enter(s->lock);
    struct sql_log *log = wf_store_topic_ok(topic) ? sql_log_find(s, topic) : NULL;
    sqlite3_mutex_leave(s->lock);
    if (log == NULL || !log->stored) return WEFT_ENOTFOUND;
    int rc = sql_begin(s);
    if (rc < 0) return rc;
    struct commit c = {.s = s, .logs = s->stored_logs, .recounts = SIZE_MAX};
    touch(&c, log);
    return commit(&c, remove_old(&c, log, limits, now));
}
