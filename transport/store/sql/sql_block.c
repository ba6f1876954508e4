/* transport/store/sql/sql_block.c -- see sql_block.h. */
#include <string.h>

#include "crc32c.h"
#include "sql_block.h"
#include "sql_row.h"

enum { HEAD = 8 + 4 + 4 + 4 }; /* bytes in front of those of a record */

static int64_t record_sum(uint64_t epoch, const struct wf_store_record *r)
{
    uint64_t numbers[] = {epoch, r->offset, (uint64_t)r->time, r->tag, r->size};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), r->data, r->size);
}

static int64_t block_sum(uint64_t epoch, uint64_t last, int64_t time, size_t records, size_t size)
{
    uint64_t numbers[] = {epoch, last, (uint64_t)time, records, size};
    return wf_crc32c(0, numbers, sizeof numbers);
}

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
    return to + bytes;
}

static uint32_t get_4(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get_8(const uint8_t *at)
{
    return get_4(at) | (uint64_t)get_4(at + 4) << 32;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static bool read_single(const struct sql_records *r, struct wf_store_record *out)
{
    int64_t tag = sql_int(r->row, 2);
    out->time = sql_int(r->row, 1);
    out->tag = (uint32_t)tag;
    out->data = NULL;
    const int64_t number = sql_int(r->row, 4); /* the size; else the checksum */
    if (r->sizes_only) {
        out->size = number > 0 ? (size_t)number : 0;
        return number >= 0; /* damage may have taken the body away */
    }
    out->data = sql_bytes(r->row, 3, &out->size);
    return tag == out->tag && out->size <= WF_STORE_RECORD_MAX && (out->data != NULL || out->size == 0) &&
           number == record_sum(r->epoch, out);
}

/* Whether a row with this tag can be a block with that last record. */
static bool is_block(int64_t tag, uint64_t last)
{
    return tag <= -2 && tag >= -SQL_BLOCK_RECORDS && (uint64_t)-tag <= last;
}

uint64_t sql_records_first(struct sql_row *row)
{
    const uint64_t last = (uint64_t)sql_int(row, 0) & WF_STORE_OFFSET_MAX;
    const int64_t tag = sql_int(row, 2);
    return is_block(tag, last) ? last - (uint64_t)-tag + 1 : last;
}

/* How many records there are from `at` to the end of the block, if they fill it exactly; else 0. */
static size_t count_framed(const uint8_t *at, const uint8_t *end, size_t max)
{
    size_t count = 0;
    while (count < max && (size_t)(end - at) >= HEAD && get_4(at + 12) <= (size_t)(end - at) - HEAD) {
        at += HEAD + get_4(at + 12);
        count++;
    }
    return at == end ? count : 0;
}

static bool begin_block(struct sql_records *r, uint64_t last)
{
    size_t size;
    int64_t tag = sql_int(r->row, 2);
    r->last = last;
    r->at = sql_bytes(r->row, 3, &size);
    if (r->at == NULL || !is_block(tag, last)) return false;
    if (!r->sizes_only && sql_int(r->row, 4) != block_sum(r->epoch, last, sql_int(r->row, 1), (size_t)-tag, size))
        return false;
    r->end = r->at + size;
    r->left = (size_t)-tag;
    r->is_torn = count_framed(r->at, r->end, r->left) != r->left;
    return true;
}

/* Reads the record at `at`, which is the first of the last `left` ones of the block. It has to lie within the block. Returns
 * whether its checksum is right. */
static bool read_at(const struct sql_records *r, const uint8_t *at, size_t left, struct wf_store_record *out)
{
    *out = (struct wf_store_record){.offset = r->last - left + 1,
                                    .time = (int64_t)get_8(at),
                                    .tag = get_4(at + 8),
                                    .size = get_4(at + 12),
                                    .data = at + HEAD};
    return get_4(at + 16) == record_sum(r->epoch, out);
}

static void take_framed(struct sql_records *r, struct wf_store_record *out, bool *fine)
{
    const bool is_checked = !r->sizes_only && r->last - r->left + 1 >= r->from;
    if (is_checked) *fine = read_at(r, r->at, r->left, out);
    else {
        *out = (struct wf_store_record){
            .offset = r->last - r->left + 1, .time = (int64_t)get_8(r->at), .size = get_4(r->at + 12)};
        *fine = true;
    }
    r->at += HEAD + out->size;
    r->left--;
}

/* A size in this block is damaged, so it does not say where the next record begins. Each place is tried: a record is there if
 * its checksum is right, which knows its offset. That offset follows from the records up to the end of the block; or, if
 * there is more damage behind, the record is the next one, or the one behind a damaged one. False: no more are found. */
static bool take_torn(struct sql_records *r, struct wf_store_record *out)
{
    for (; (size_t)(r->end - r->at) >= HEAD && r->left > 0; r->at++) {
        if (get_4(r->at + 12) > (size_t)(r->end - r->at) - HEAD) continue;
        const size_t tried[] = {count_framed(r->at, r->end, r->left), r->left, r->left - 1};
        for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
            if (tried[i] == 0 || !read_at(r, r->at, tried[i], out)) continue;
            r->at += HEAD + out->size;
            r->left = tried[i] - 1;
            return true;
        }
    }
    r->left = 0;
    return false;
}

int sql_records_next(struct sql_records *r, struct wf_store_record *out, bool *fine)
{
    for (;;) {
        if (r->left == 0) {
            int rc = sql_step(r->row);
            if (rc != SQL_ROW) return rc;
            const uint64_t last = (uint64_t)sql_int(r->row, 0) & WF_STORE_OFFSET_MAX;
            *out = (struct wf_store_record){.offset = last};
            *fine = false;
            if (sql_int(r->row, 2) >= 0) *fine = read_single(r, out);
            if (sql_int(r->row, 2) >= 0 || !begin_block(r, last)) return SQL_ROW;
        }
        *fine = true;
        if (!r->is_torn) take_framed(r, out, fine);
        else if (!take_torn(r, out)) continue;
        if (out->offset >= r->from) return SQL_ROW;
    }
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static struct wf_store_record record_of(const struct wf_store_append *a)
{
    return (struct wf_store_record){a->offset, a->time, a->tag, a->data, a->size};
}

/* How many records fit into a row, and the bytes of their block. */
static size_t count_fitting(const struct wf_store_append *a, size_t *bytes)
{
    size_t count = 0;
    *bytes = 0;
    for (; a != NULL && count < SQL_BLOCK_RECORDS && *bytes + HEAD + a->size <= SQL_BLOCK_BYTES; a = a->next) {
        *bytes += HEAD + a->size;
        count++;
    }
    return count;
}

static int write_row(struct sql_store *s, int64_t key, const struct wf_store_record *r, int64_t tag, int64_t sum)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_INSERT_RECORD, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, key);
    sql_bind_int(row, 2, r->time);
    sql_bind_int(row, 3, tag);
    sql_bind_bytes(row, 4, r->data, r->size);
    sql_bind_int(row, 5, sum);
    return sql_run(row);
}

static const struct wf_store_append *fill_block(uint8_t *to, uint64_t epoch, const struct wf_store_append *a,
                                                size_t count, struct wf_store_record *last)
{
    for (; count > 0; count--, a = a->next) {
        *last = record_of(a);
        to = put(to, (uint64_t)a->time, 8);
        to = put(to, a->tag, 4);
        to = put(to, a->size, 4);
        to = put(to, (uint64_t)record_sum(epoch, last), 4);
        if (a->size > 0) memcpy(to, a->data, a->size);
        to += a->size;
    }
    return a;
}

int sql_records_write(struct sql_store *s, int64_t log, uint64_t epoch, const struct wf_store_append **list)
{
    if (*list == NULL) return WEFT_OK;
    size_t bytes, count = count_fitting(*list, &bytes);
    struct wf_store_record r = record_of(*list);
    if (count < 2) {
        *list = (*list)->next;
        return write_row(s, sql_record_key(log, r.offset), &r, r.tag, record_sum(epoch, &r));
    }
    *list = fill_block(s->block, epoch, *list, count, &r);
    r.data = s->block;
    r.size = bytes;
    return write_row(s, sql_record_key(log, r.offset), &r, -(int64_t)count,
                     block_sum(epoch, r.offset, r.time, count, bytes));
}
