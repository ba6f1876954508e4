/* transport/store/sqlite_logs.c -- the logs in memory, found by topic, and their rows in the file. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "hash.h"
#include "sqlite_connection.h"
#include "sqlite_logs.h"
#include "stored_topic.h"

static size_t bucket_of(const struct sq_store *s, const char *topic, size_t buckets)
{
    return wf_hash(topic, strlen(topic), s->base.secret) & (buckets - 1);
}

struct sq_log *sq_log_find(const struct sq_store *s, const char *topic)
{
    if (s->buckets == 0) return NULL;
    struct sq_log *log = s->bucket[bucket_of(s, topic, s->buckets)];
    while (log != NULL && strcmp(log->is.topic, topic) != 0) log = log->next;
    return log;
}

static bool grow(struct sq_store *s)
{
    size_t buckets = s->buckets == 0 ? 64 : s->buckets * 2;
    struct sq_log **bucket = calloc(buckets, sizeof(struct sq_log *));
    if (bucket == NULL) return false;
    for (size_t i = 0; i < s->buckets; i++) {
        for (struct sq_log *log = s->bucket[i], *next; log != NULL; log = next) {
            next = log->next;
            struct sq_log **to = &bucket[bucket_of(s, log->is.topic, buckets)];
            log->next = *to;
            *to = log;
        }
    }
    free(s->bucket);
    s->bucket = bucket;
    s->buckets = buckets;
    return true;
}

struct sq_log *sq_log_add(struct sq_store *s, const char *topic)
{
    if (s->logs >= s->buckets && !grow(s)) return NULL;
    struct sq_log *log = calloc(1, sizeof *log);
    if (log == NULL) return NULL;
    memcpy(log->is.topic, topic, strlen(topic) + 1);
    log->is.first = 1;
    while (log->is.epoch == 0) {
        sqlite3_randomness(sizeof log->is.epoch, &log->is.epoch);
        log->is.epoch &= INT64_MAX; /* because SQLite and JSON have signed integers */
    }
    struct sq_log **to = &s->bucket[bucket_of(s, topic, s->buckets)];
    log->next = *to;
    *to = log;
    s->logs++;
    return log;
}

void sq_logs_free(struct sq_store *s)
{
    for (size_t i = 0; i < s->buckets; i++) {
        for (struct sq_log *log = s->bucket[i], *next; log != NULL; log = next) {
            next = log->next;
            free(log);
        }
    }
    free(s->bucket);
    s->bucket = NULL;
    s->buckets = s->logs = 0;
    s->stored_logs = 0;
}

int64_t sq_log_sum(int64_t id, const struct wf_store_log *log)
{
    uint64_t numbers[] = {(uint64_t)id, log->epoch, log->first, log->last, log->bytes};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), log->topic, strlen(log->topic));
}

int64_t sq_count_sum(int64_t count)
{
    return wf_crc32c(0, &count, sizeof count);
}

/* Reads a row of `logs`, which has to be the one of number `id`. False: it is damaged. */
static bool read_row(sqlite3_stmt *row, int64_t id, struct wf_store_log *out)
{
    const char *topic = (const char *)sqlite3_column_text(row, 1);
    if (sqlite3_column_int64(row, 0) != id || !wf_store_topic_ok(topic)) return false;
    snprintf(out->topic, sizeof out->topic, "%s", topic);
    out->epoch = (uint64_t)sqlite3_column_int64(row, 2);
    out->first = (uint64_t)sqlite3_column_int64(row, 3);
    out->last = (uint64_t)sqlite3_column_int64(row, 4);
    out->bytes = (uint64_t)sqlite3_column_int64(row, 5);
    return sqlite3_column_int64(row, 6) == sq_log_sum(id, out) && out->first >= 1 && out->first <= out->last + 1 &&
           out->last <= WF_STORE_OFFSET_MAX;
}

/* A store that is open read-only loads the logs repeatedly; a log that it has already keeps its place in memory. */
static int load_row(struct sq_store *s, int64_t id, const struct wf_store_log *is)
{
    struct sq_log *log = sq_log_find(s, is->topic);
    if (log != NULL && (!s->read_only || log->id != id)) return WEFT_EFORMAT;
    if (log == NULL) log = sq_log_add(s, is->topic);
    if (log == NULL) return WEFT_ENOMEM;
    log->is = *is;
    log->id = id;
    log->stored = true;
    return WEFT_OK;
}

/* Reads the number of logs that the file has stored. */
static int read_count(struct sq_connection *c, int64_t *out)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(c, SQ_READ_COUNT, &rc);
    if (row == NULL) return sq_error(rc);
    rc = sqlite3_step(row);
    *out = sqlite3_column_int64(row, 0);
    bool damaged = rc == SQLITE_DONE || (rc == SQLITE_ROW && sqlite3_column_int64(row, 1) != sq_count_sum(*out));
    sqlite3_reset(row);
    return damaged ? WEFT_EFORMAT : sq_error(rc);
}

int sq_logs_load(struct sq_store *s, struct sq_connection *c, struct wf_store_why *why)
{
    int64_t count = 0;
    int code, rc = read_count(c, &count);
    sqlite3_stmt *row = rc < 0 ? NULL : sq_prepare(c, SQ_READ_LOGS, &code);
    if (row == NULL) return rc < 0 ? rc : sq_error(code);
    int64_t id = 1;
    for (; rc == WEFT_OK && (code = sqlite3_step(row)) == SQLITE_ROW; id++) {
        struct wf_store_log is = {0};
        rc = read_row(row, id, &is) ? load_row(s, id, &is) : WEFT_EFORMAT;
        if (rc < 0) break;
    }
    if (rc == WEFT_OK) rc = sq_error(code);
    if (rc == WEFT_OK && id != count + 1) rc = WEFT_EFORMAT;
    sqlite3_reset(row);
    s->stored_logs = count;
    if (rc == WEFT_EFORMAT && why != NULL)
        snprintf(why->text, sizeof why->text, "%s: row %lld of the table of logs is damaged or missing", s->file,
                 (long long)id);
    return rc;
}
