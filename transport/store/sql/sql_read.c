/* transport/store/sql/sql_read.c -- readers: pages of records, each from one snapshot of the database. */

#include "sql_block.h"
#include "sql_connection.h"
#include "sql_logs.h"
#include "sql_read.h"
#include "stored_topic.h"

struct reading {
    struct sql_store *s;
    struct sql_connection *c;
    struct wf_store_log log;
    int64_t id;
    uint64_t next; /* the expected offset of the next record */
    size_t count, bytes;
    wf_store_each_record *each;
    void *arg;
    int given;
};

/* A store that is open read-only has another process for an owner, so what it knows of the logs grows old. A log that it knows
 * is there for good, in its row, so its row is enough: a tool looks up one log after the other. */
static int refresh(struct sql_store *s, struct sql_log *log)
{
    if (!s->read_only) return WEFT_OK;
    return log != NULL ? sql_log_load(log, s->writer) : sql_logs_load(s, s->writer, NULL);
}

static int look_up(struct sql_store *s, const char *topic, struct wf_store_log *out, int64_t *id)
{
    sqlite3_mutex_enter(s->lock);
    struct sql_log *log = sql_log_find(s, topic);
    int rc = refresh(s, log);
    if (log == NULL) log = sql_log_find(s, topic);
    if (rc == WEFT_OK && log != NULL && log->stored) {
        *out = log->is;
        *id = log->id;
    } else if (rc == WEFT_OK) {
        rc = WEFT_ENOTFOUND;
    }
    sqlite3_mutex_leave(s->lock);
    return rc;
}

/* Returns 0 when the page is full or the log ends; or a WEFT_E* because of the record `next`. */
static int read_rows(struct reading *r, struct sql_row *row)
{
    size_t bytes = 0;
    struct sql_records records = {.row = row, .epoch = r->log.epoch, .from = r->next};
    while (r->next <= r->log.last && (size_t)r->given < r->count) {
        struct wf_store_record record;
        bool fine;
        int rc = sql_records_next(&records, &record, &fine);
        if (rc != SQL_ROW && rc != SQL_DONE) return sql_error(rc);
        if (rc == SQL_DONE || !fine || record.offset != r->next) return WEFT_EFORMAT;
        bytes += record.size;
        if (r->given > 0 && bytes > r->bytes) return WEFT_OK;
        r->given++;
        r->next++;
        if (!r->each(r->arg, &record)) return WEFT_OK;
    }
    return WEFT_OK;
}

static int read_page(struct reading *r)
{
    int rc;
    struct sql_row *row = sql_prepare(r->c, SQL_READ_RECORDS, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_int(row, 1, sql_record_key(r->id, r->next));
    sql_bind_int(row, 2, sql_record_key(r->id, r->log.last));
    rc = read_rows(r, row);
    sql_reset(row);
    return rc;
}

/* The writer may have removed a missing record since the log was looked up: then the log begins later now, and the
 * reading begins there. */
static int read_from(struct reading *r, const char *topic, uint64_t from)
{
    for (;;) {
        int rc = look_up(r->s, topic, &r->log, &r->id);
        if (rc < 0) return rc;
        r->next = from < r->log.first ? r->log.first : from;
        if (r->next > r->log.last) return WEFT_OK;
        rc = read_page(r);
        if (rc != WEFT_EFORMAT || r->given > 0) return rc;
        struct wf_store_log now;
        if (look_up(r->s, topic, &now, &r->id) == WEFT_OK && now.first > r->next) continue;
        int confirmed = sql_confirm(r->s, r->c); /* or the next owner has removed the record */
        return confirmed < 0 ? confirmed : rc;
    }
}

int sql_read(struct wf_store *store, const char *topic, uint64_t from, size_t count, size_t bytes,
             wf_store_each_record *each, void *arg, struct wf_store_log *log)
{
    struct reading r = {.s = sql_of(store), .count = count, .bytes = bytes, .each = each, .arg = arg};
    int rc;
    if (!wf_store_topic_ok(topic)) return WEFT_ENOTFOUND;
    r.c = sql_borrow(r.s, &rc);
    if (r.c == NULL) return sql_error(rc);
    rc = read_from(&r, topic, from);
    sql_give_back(r.s, r.c);
    if (log != NULL) *log = r.log;
    return rc < 0 && r.given == 0 ? rc : r.given;
}

int sql_find(struct wf_store *store, const char *topic, struct wf_store_log *out)
{
    int64_t id;
    return wf_store_topic_ok(topic) ? look_up(sql_of(store), topic, out, &id) : WEFT_ENOTFOUND;
}

/* ---- The list of logs ------------------------------------------------------------------------------------------ */

/* Of a log that comes meanwhile, it depends on its topic whether it is listed. */
int sql_list(struct wf_store *store, const char *after, wf_store_each_log *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct wf_store_log log;
    size_t place = 0;
    sqlite3_mutex_enter(s->lock);
    int rc = refresh(s, NULL);
    bool goes_on = rc == WEFT_OK && sql_log_next(s, after, &place, &log);
    sqlite3_mutex_leave(s->lock);
    while (goes_on && each(arg, &log)) {
        sqlite3_mutex_enter(s->lock);
        goes_on = sql_log_next(s, log.topic, &place, &log);
        sqlite3_mutex_leave(s->lock);
    }
    return rc == WEFT_OK ? sql_confirm(s, NULL) : rc;
}
