/* transport/store/sql/sql_share.c -- see sql_share.h. */
#include <string.h>

#include "sql_block.h"
#include "sql_connection.h"
#include "sql_cursors.h"
#include "sql_logs.h"
#include "sql_share.h"

enum { SHARE_BYTES_MAX = 1024 * 1024 }; /* bytes that one change moves, if it moves more than one record */

struct sharing {
    struct sql_store *s;
    struct wf_store_change *x;
    struct wf_store_log log;
    int64_t id;
    uint64_t next; /* the offset that comes next */
    uint64_t space;
    sql_share_each *each;
    void *arg;
};

/* False: the topic has no records. */
static bool find_log(struct sharing *h)
{
    sqlite3_mutex_enter(h->s->lock);
    const struct sql_log *log = sql_log_find(h->s, h->x->topic);
    bool has = log != NULL && log->stored;
    if (has) {
        h->log = log->is;
        h->id = log->id;
    }
    sqlite3_mutex_leave(h->s->lock);
    return has;
}

static int give(struct sharing *h, struct wf_shared_record r)
{
    r.topic = h->log.topic;
    r.topic_size = strlen(h->log.topic);
    r.epoch = h->log.epoch;
    h->x->count++;
    h->space--;
    return h->each(h->arg, h->id, &r);
}

/* What is missing between the cursor and the first record counts as one of the records. */
static int begin_at(struct sharing *h, const struct wf_store_cursor *at)
{
    bool same = at->epoch == h->log.epoch;
    h->next = same ? at->offset + 1 : h->log.first;
    if (at->epoch == 0 || (same && h->next >= h->log.first) || h->space == 0) return WEFT_OK;
    const uint64_t missing = same ? h->log.first - h->next : 0;
    h->next = h->log.first;
    return give(h, (struct wf_shared_record){.kind = same ? WF_SHARED_GAP : WF_SHARED_EPOCH,
                                             .offset = h->log.first,
                                             .missing = missing,
                                             .time = h->x->now});
}

/* A record that is damaged or missing is passed over: no member of the cursor could handle it. */
static int give_rows(struct sharing *h, struct sql_row *row, uint64_t last)
{
    size_t bytes = 0;
    int rc = SQL_ROW;
    struct sql_records records = {.row = row, .epoch = h->log.epoch, .from = h->next};
    struct wf_store_record r;
    bool fine;
    while (h->next <= last && (rc = sql_records_next(&records, &r, &fine)) == SQL_ROW) {
        if (r.offset < h->next) continue;
        if (r.offset > last) rc = SQL_DONE;
        if (rc == SQL_DONE) break;
        bytes += r.size;
        if (h->x->count > 0 && bytes > SHARE_BYTES_MAX) return WEFT_OK;
        h->x->skipped += r.offset - h->next + !fine;
        h->next = r.offset + 1;
        rc = fine ? give(h,
                         (struct wf_shared_record){
                             .offset = r.offset, .time = r.time, .tag = r.tag, .data = r.data, .size = r.size})
                  : WEFT_OK;
        if (rc != WEFT_OK) return rc;
    }
    if (rc == SQL_DONE && h->next <= last) {
        h->x->skipped += last + 1 - h->next;
        h->next = last + 1;
    }
    return sql_error(rc);
}

static int give_records(struct sharing *h)
{
    int rc;
    if (h->space == 0 || h->next > h->log.last) return WEFT_OK;
    const uint64_t left = h->log.last - h->next, last = h->next + (left < h->space ? left : h->space - 1);
    struct sql_row *row = sql_prepare(h->s->writer, SQL_READ_RECORDS, &rc);
    if (row == NULL) return rc;
    /* The last of them may be in a block that ends behind it. */
    const uint64_t end = h->log.last - last < SQL_BLOCK_RECORDS ? h->log.last : last + SQL_BLOCK_RECORDS;
    sql_bind_int(row, 1, sql_record_key(h->id, h->next));
    sql_bind_int(row, 2, sql_record_key(h->id, end));
    rc = give_rows(h, row, last);
    sql_reset(row);
    return rc;
}

int sql_share(struct sql_store *s, struct wf_store_change *x, uint64_t space, sql_share_each *each, void *arg)
{
    struct sharing h = {.s = s, .x = x, .space = space, .each = each, .arg = arg};
    struct wf_store_cursor at;
    if (!find_log(&h)) return WEFT_OK;
    int rc = sql_cursor_of_both(s, x->queue, x->topic, &at, &x->error);
    if (rc != WEFT_OK || x->error < 0) return rc;
    rc = begin_at(&h, &at);
    if (rc == WEFT_OK) rc = give_records(&h);
    x->more = h.next <= h.log.last;
    if (rc != WEFT_OK || (x->count == 0 && x->skipped == 0)) return rc;
    return sql_cursor_write(s, x->queue, x->topic, &at, (struct wf_store_cursor){h.log.epoch, h.next - 1});
}
