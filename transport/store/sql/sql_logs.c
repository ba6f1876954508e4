/* transport/store/sql/sql_logs.c -- the logs in memory, found by topic and in the order of their topics, and as the table has
 * them. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "hash.h"
#include "sql_connection.h"
#include "sql_logs.h"
#include "stored_topic.h"

static size_t bucket_of(const struct sql_store *s, const char *topic, size_t buckets)
{
    return wf_hash(topic, strlen(topic), s->base.secret) & (buckets - 1);
}

struct sql_log *sql_log_find(const struct sql_store *s, const char *topic)
{
    if (s->buckets == 0) return NULL;
    struct sql_log *log = s->bucket[bucket_of(s, topic, s->buckets)];
    while (log != NULL && strcmp(log->is.topic, topic) != 0) log = log->next;
    return log;
}

static bool grow(struct sql_store *s)
{
    size_t buckets = s->buckets == 0 ? 64 : s->buckets * 2;
    struct sql_log **order = realloc(s->order, buckets * sizeof(struct sql_log *));
    if (order == NULL) return false;
    s->order = order;
    struct sql_log **bucket = calloc(buckets, sizeof(struct sql_log *));
    if (bucket == NULL) return false;
    for (size_t i = 0; i < s->buckets; i++) {
        for (struct sql_log *log = s->bucket[i], *next; log != NULL; log = next) {
            next = log->next;
            struct sql_log **to = &bucket[bucket_of(s, log->is.topic, buckets)];
            log->next = *to;
            *to = log;
        }
    }
    free(s->bucket);
    s->bucket = bucket;
    s->buckets = buckets;
    return true;
}

struct sql_log *sql_log_add(struct sql_store *s, const char *topic)
{
    if (s->logs >= s->buckets && !grow(s)) return NULL;
    struct sql_log *log = calloc(1, sizeof *log);
    if (log == NULL) return NULL;
    memcpy(log->is.topic, topic, strlen(topic) + 1);
    log->is.first = 1;
    while (log->is.epoch == 0) {
        sqlite3_randomness(sizeof log->is.epoch, &log->is.epoch);
        log->is.epoch &= INT64_MAX; /* as databases and JSON have integers */
    }
    struct sql_log **to = &s->bucket[bucket_of(s, topic, s->buckets)];
    log->next = *to;
    *to = log;
    s->order[s->logs++] = log;
    return log;
}

/* ---- In the order of their topics ------------------------------------------------------------------------------- */

static int by_topic(const void *a, const void *b)
{
    return strcmp((*(struct sql_log *const *)a)->is.topic, (*(struct sql_log *const *)b)->is.topic);
}

/* Moves the later logs, which are sorted, to their places among the others. False: there is no memory. */
static bool merge(struct sql_store *s)
{
    const size_t later = s->logs - s->ordered;
    struct sql_log **copy = malloc(later * sizeof(struct sql_log *));
    if (copy == NULL) return false;
    memcpy(copy, s->order + s->ordered, later * sizeof(struct sql_log *));
    for (size_t left = s->ordered, more = later, to = s->logs; more > 0; s->order_steps++) {
        const bool is_later = left == 0 || by_topic(&s->order[left - 1], &copy[more - 1]) < 0;
        s->order[--to] = is_later ? copy[--more] : s->order[--left];
    }
    free(copy);
    return true;
}

/* Logs are added and never removed, and their topics stay as they are. */
static void put_in_order(struct sql_store *s)
{
    const size_t later = s->logs - s->ordered;
    if (later == 0) return;
    s->order_steps += later;
    qsort(s->order + s->ordered, later, sizeof(struct sql_log *), by_topic);
    if (!merge(s)) qsort(s->order, s->logs, sizeof(struct sql_log *), by_topic);
    s->ordered = s->logs;
}

static size_t first_behind(struct sql_store *s, const char *topic)
{
    size_t low = 0, high = s->ordered;
    for (; low < high; s->order_steps++) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(s->order[middle]->is.topic, topic) > 0) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The place is still right if no log came since: then the one before it has the topic `after`. */
bool sql_log_next(struct sql_store *s, const char *after, size_t *place, struct wf_store_log *out)
{
    put_in_order(s);
    const bool is_right = *place > 0 && *place <= s->ordered && strcmp(s->order[*place - 1]->is.topic, after) == 0;
    size_t at = is_right ? *place : after == NULL ? 0 : first_behind(s, after);
    for (s->order_steps++; at < s->ordered && !s->order[at]->stored; s->order_steps++) at++;
    if (at == s->ordered) return false;
    *out = s->order[at]->is;
    *place = at + 1;
    return true;
}

/* ---- As the database has them ------------------------------------------------------------------------------------ */

void sql_logs_free(struct sql_store *s)
{
    for (size_t i = 0; i < s->buckets; i++) {
        for (struct sql_log *log = s->bucket[i], *next; log != NULL; log = next) {
            next = log->next;
            free(log);
        }
    }
    free(s->bucket);
    free(s->order);
    s->bucket = s->order = NULL;
    s->buckets = s->logs = s->ordered = 0;
    s->stored_logs = 0;
}

int64_t sql_log_sum(int64_t id, const struct wf_store_log *log)
{
    uint64_t numbers[] = {(uint64_t)id, log->epoch, log->first, log->last, log->bytes};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), log->topic, strlen(log->topic));
}

int64_t sql_count_sum(int64_t count)
{
    return wf_crc32c(0, &count, sizeof count);
}

/* Reads a row of `logs`, which has to be the one of number `id`. False: it is damaged. */
static bool read_row(struct sql_row *row, int64_t id, struct wf_store_log *out)
{
    const char *topic = sql_text(row, 1);
    if (sql_int(row, 0) != id || !wf_store_topic_ok(topic)) return false;
    snprintf(out->topic, sizeof out->topic, "%s", topic);
    out->epoch = (uint64_t)sql_int(row, 2);
    out->first = (uint64_t)sql_int(row, 3);
    out->last = (uint64_t)sql_int(row, 4);
    out->bytes = (uint64_t)sql_int(row, 5);
    return sql_int(row, 6) == sql_log_sum(id, out) && out->first >= 1 && out->first <= out->last + 1 &&
           out->last <= WF_STORE_OFFSET_MAX;
}

/* They may be loaded again while the store is open: then the logs stay where they are. */
static int load_row(struct sql_store *s, int64_t id, const struct wf_store_log *is)
{
    struct sql_log *log = sql_log_find(s, is->topic);
    if (log != NULL && log->stored && log->id != id) return WEFT_EFORMAT;
    if (log == NULL) log = sql_log_add(s, is->topic);
    if (log == NULL) return WEFT_ENOMEM;
    log->is = *is;
    log->holes = 0;
    log->recount = (struct sql_recount){.next = 0};
    log->id = id;
    log->stored = true;
    return WEFT_OK;
}

/* How many logs the database says that it has. */
static int read_count(struct sql_connection *c, int64_t *out)
{
    int rc;
    struct sql_row *row = sql_prepare(c, SQL_READ_COUNT, &rc);
    if (row == NULL) return sql_error(rc);
    rc = sql_step(row);
    *out = sql_int(row, 0);
    bool damaged = rc == SQL_DONE || (rc == SQL_ROW && sql_int(row, 1) != sql_count_sum(*out));
    sql_reset(row);
    return damaged ? WEFT_EFORMAT : sql_error(rc);
}

int sql_log_load(struct sql_log *log, struct sql_connection *c)
{
    struct wf_store_log is = {0};
    int rc;
    struct sql_row *row = sql_prepare(c, SQL_READ_LOG, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_int(row, 1, log->id);
    rc = sql_step(row);
    const bool fine = rc == SQL_ROW && read_row(row, log->id, &is) && strcmp(is.topic, log->is.topic) == 0;
    sql_reset(row);
    if (fine) log->is = is;
    return fine ? WEFT_OK : rc < 0 ? sql_error(rc) : WEFT_EFORMAT;
}

int sql_logs_load(struct sql_store *s, struct sql_connection *c, struct wf_store_why *why)
{
    int64_t count = 0;
    int code, rc = read_count(c, &count);
    struct sql_row *row = rc < 0 ? NULL : sql_prepare(c, SQL_READ_LOGS, &code);
    if (row == NULL) return rc < 0 ? rc : sql_error(code);
    int64_t id = 1;
    for (; rc == WEFT_OK && (code = sql_step(row)) == SQL_ROW; id++) {
        struct wf_store_log is = {0};
        rc = read_row(row, id, &is) ? load_row(s, id, &is) : WEFT_EFORMAT;
        if (rc < 0) break;
    }
    if (rc == WEFT_OK) rc = sql_error(code);
    if (rc == WEFT_OK && id - 1 != count) rc = WEFT_EFORMAT;
    sql_reset(row);
    s->stored_logs = count;
    if (rc == WEFT_EFORMAT && why != NULL)
        snprintf(why->text, sizeof why->text, "%s: row %lld of the table of logs is damaged or missing", s->name,
                 (long long)id);
    return rc;
}
