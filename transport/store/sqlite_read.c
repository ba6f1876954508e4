/* transport/store/sqlite_read.c -- readers: pages of records, each from one snapshot of the file. */
#include <stdlib.h>
#include <string.h>

#include "sqlite_append.h"
#include "sqlite_connection.h"
#include "sqlite_logs.h"
#include "sqlite_read.h"
#include "stored_topic.h"

struct reading {
    struct sq_store *s;
    struct sq_connection *c;
    struct wf_store_log log;
    int64_t id;
    uint64_t next; /* the expected offset of the next record */
    size_t count, bytes;
    wf_store_each_record *each;
    void *arg;
    int given;
};

/* The owner of a store that is open read-only is another process, so the logs in memory become outdated and are
 * loaded again. */
static int refresh(struct sq_store *s)
{
    return s->read_only ? sq_logs_load(s, &s->writer, NULL) : WEFT_OK;
}

static int look_up(struct sq_store *s, const char *topic, struct wf_store_log *out, int64_t *id)
{
    sqlite3_mutex_enter(s->lock);
    int rc = refresh(s);
    const struct sq_log *log = rc == WEFT_OK ? sq_log_find(s, topic) : NULL;
    if (log != NULL && log->stored) {
        *out = log->is;
        *id = log->id;
    } else if (rc == WEFT_OK) {
        rc = WEFT_ENOTFOUND;
    }
    sqlite3_mutex_leave(s->lock);
    return rc;
}

static bool read_row(struct reading *r, sqlite3_stmt *row, struct wf_store_record *out)
{
    int64_t tag = sqlite3_column_int64(row, 2);
    out->offset = (uint64_t)sqlite3_column_int64(row, 0) & WF_STORE_OFFSET_MAX;
    out->time = sqlite3_column_int64(row, 1);
    out->tag = (uint32_t)tag;
    out->data = sqlite3_column_blob(row, 3);
    out->size = (size_t)sqlite3_column_bytes(row, 3);
    return out->offset == r->next && tag == out->tag && out->size <= WF_STORE_RECORD_MAX &&
           sqlite3_column_int64(row, 4) == sq_record_sum(r->log.epoch, out);
}

/* Returns 0 when the page is full or the log ends; or a WEFT_E* because of the record `next`. */
static int read_rows(struct reading *r, sqlite3_stmt *row)
{
    size_t bytes = 0;
    while (r->next <= r->log.last && (size_t)r->given < r->count) {
        struct wf_store_record record;
        int rc = sqlite3_step(row);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE) return sq_error(rc);
        if (rc == SQLITE_DONE || !read_row(r, row, &record)) return WEFT_EFORMAT;
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
    sqlite3_stmt *row = sq_prepare(r->c, SQ_READ_RECORDS, &rc);
    if (row == NULL) return sq_error(rc);
    sqlite3_bind_int64(row, 1, r->id << SQ_OFFSET_BITS | (int64_t)r->next);
    sqlite3_bind_int64(row, 2, r->id << SQ_OFFSET_BITS | (int64_t)r->log.last);
    rc = read_rows(r, row);
    sqlite3_reset(row);
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
        if (look_up(r->s, topic, &now, &r->id) < 0 || now.first <= r->next) return rc;
    }
}

int sq_read(struct wf_store *store, const char *topic, uint64_t from, size_t count, size_t bytes,
            wf_store_each_record *each, void *arg, struct wf_store_log *log)
{
    struct reading r = {.s = sq_of(store), .count = count, .bytes = bytes, .each = each, .arg = arg};
    int rc;
    if (!wf_store_topic_ok(topic)) return WEFT_ENOTFOUND;
    r.c = sq_borrow(r.s, &rc);
    if (r.c == NULL) return sq_error(rc);
    rc = read_from(&r, topic, from);
    sq_give_back(r.s, r.c);
    if (log != NULL) *log = r.log;
    return rc < 0 && r.given == 0 ? rc : r.given;
}

int sq_find(struct wf_store *store, const char *topic, struct wf_store_log *out)
{
    int64_t id;
    return wf_store_topic_ok(topic) ? look_up(sq_of(store), topic, out, &id) : WEFT_ENOTFOUND;
}

/* ---- The list of logs ------------------------------------------------------------------------------------------ */

/* Logs are added and never removed while a store is open, and their topics stay as they are. */
static int by_topic(const void *a, const void *b)
{
    return strcmp((*(struct sq_log *const *)a)->is.topic, (*(struct sq_log *const *)b)->is.topic);
}

static struct sq_log **find_logs(struct sq_store *s, const char *after, size_t *count)
{
    struct sq_log **all = calloc(s->logs + 1, sizeof(struct sq_log *));
    *count = 0;
    for (size_t i = 0; i < s->buckets && all != NULL; i++)
        for (struct sq_log *log = s->bucket[i]; log != NULL; log = log->next)
            if (log->stored && (after == NULL || strcmp(log->is.topic, after) > 0)) all[(*count)++] = log;
    return all;
}

int sq_list(struct wf_store *store, const char *after, wf_store_each_log *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    size_t count = 0;
    bool goes_on = true;
    sqlite3_mutex_enter(s->lock);
    int rc = refresh(s);
    struct sq_log **all = rc < 0 ? NULL : find_logs(s, after, &count);
    sqlite3_mutex_leave(s->lock);
    if (all == NULL) return rc < 0 ? rc : WEFT_ENOMEM;
    qsort(all, count, sizeof(struct sq_log *), by_topic);
    for (size_t i = 0; i < count && goes_on; i++) {
        sqlite3_mutex_enter(s->lock);
        struct wf_store_log log = all[i]->is;
        sqlite3_mutex_leave(s->lock);
        goes_on = each(arg, &log);
    }
    free(all);
    return WEFT_OK;
}
