/* transport/store/sqlite_queues.c -- queues as readers see them, and the data about them in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sqlite_connection.h"
#include "sqlite_jobs.h"
#include "sqlite_logs.h"
#include "sqlite_queues.h"
#include "stored_topic.h"

/* ---- The writer's list ----------------------------------------------------------------------------------------- */

static size_t bucket_of(const struct sq_store *s, const char *name)
{
    return wf_hash(name, strlen(name), s->base.secret) % SQ_QUEUE_BUCKETS;
}

struct sq_queue *sq_queue_find(const struct sq_store *s, const char *name)
{
    struct sq_queue *q = s->queue[bucket_of(s, name)];
    while (q != NULL && strcmp(q->name, name) != 0) q = q->next;
    return q;
}

struct sq_queue *sq_queue_add(struct sq_store *s, const char *name)
{
    struct sq_queue *q = calloc(1, sizeof *q), **to = &s->queue[bucket_of(s, name)];
    if (q == NULL) return NULL;
    memcpy(q->name, name, strlen(name) + 1);
    q->next = *to;
    *to = q;
    s->queues++;
    return q;
}

void sq_queue_remove(struct sq_store *s, struct sq_queue *q)
{
    struct sq_queue **at = &s->queue[bucket_of(s, q->name)];
    while (*at != q) at = &(*at)->next;
    *at = q->next;
    free(q);
    s->queues--;
}

void sq_queues_free(struct sq_store *s)
{
    for (int i = 0; i < SQ_QUEUE_BUCKETS; i++)
        for (struct sq_queue *q = s->queue[i], *next; q != NULL; q = next) {
            next = q->next;
            free(q);
        }
}

/* Reads one number of one row, and its checksum if `sum` is not NULL. */
static int read_number(struct sq_connection *c, enum sq_statement which, int64_t *out, int64_t *sum)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(c, which, &rc);
    if (row == NULL) return sq_error(rc);
    rc = sqlite3_step(row);
    *out = sqlite3_column_int64(row, 0);
    if (sum != NULL) *sum = sqlite3_column_int64(row, 1);
    sqlite3_reset(row);
    return rc == SQLITE_ROW ? WEFT_OK : rc == SQLITE_DONE ? WEFT_EFORMAT : sq_error(rc);
}

static int load_queue(struct sq_store *s, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    if (!wf_store_topic_ok(name)) return WEFT_OK; /* a damaged row: check finds it, and no worker gets that job */
    struct sq_queue *q = sq_queue_add(s, name);
    if (q == NULL) return WEFT_ENOMEM;
    q->jobs = (uint64_t)sqlite3_column_int64(row, 1);
    return WEFT_OK;
}

int sq_queues_load(struct sq_store *s, struct wf_store_why *why)
{
    int64_t sum = 0;
    int code = SQLITE_OK;
    snprintf(why->text, sizeof why->text, "%s: the tables of queues are damaged, or cannot be read", s->file);
    int rc = read_number(&s->writer, SQ_READ_LAST_JOB, &s->last_job, &sum);
    if (rc == WEFT_OK && sum != sq_count_sum(s->last_job)) rc = WEFT_EFORMAT;
    if (rc == WEFT_OK) rc = read_number(&s->writer, SQ_COUNT_KEYS, &s->keys, NULL);
    sqlite3_stmt *row = rc < 0 ? NULL : sq_prepare(&s->writer, SQ_QUEUE_SIZES, &code);
    if (row == NULL) return rc < 0 ? rc : sq_error(code);
    while (rc == WEFT_OK && (code = sqlite3_step(row)) == SQLITE_ROW) rc = load_queue(s, row);
    sqlite3_reset(row);
    return rc < 0 ? rc : sq_error(code);
}

/* ---- Readers --------------------------------------------------------------------------------------------------- */

struct counting {
    struct wf_store_queue q;
    wf_store_each_queue *each;
    void *arg;
    bool goes_on;
};

static void give_queue(struct counting *c)
{
    if (c->goes_on && c->q.name[0] != '\0') c->goes_on = c->each(c->arg, &c->q);
    c->q = (struct wf_store_queue){.name = ""};
}

/* A row has the number of jobs of one queue that are in the same state. */
static void count_row(struct counting *c, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    if (!wf_store_topic_ok(name)) return;
    if (strcmp(name, c->q.name) != 0) give_queue(c);
    snprintf(c->q.name, sizeof c->q.name, "%s", name);
    bool dead = sqlite3_column_int64(row, 1) != 0, leased = sqlite3_column_int64(row, 2) != 0,
         later = sqlite3_column_int64(row, 3) != 0;
    uint64_t *state = dead ? &c->q.dead : !later ? &c->q.ready : leased ? &c->q.leased : &c->q.delayed;
    *state += (uint64_t)sqlite3_column_int64(row, 4);
}

static int count_jobs(struct sq_connection *c, int64_t now, struct counting *counts)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(c, SQ_QUEUES, &rc);
    if (row == NULL) return sq_error(rc);
    sqlite3_bind_int64(row, 1, now);
    while (counts->goes_on && (rc = sqlite3_step(row)) == SQLITE_ROW) count_row(counts, row);
    sqlite3_reset(row);
    if (sq_error(rc) == WEFT_OK) give_queue(counts);
    return sq_error(rc);
}

int sq_queues(struct wf_store *store, int64_t now, wf_store_each_queue *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    struct counting counts = {.each = each, .arg = arg, .goes_on = true};
    int code;
    if (!s->has_queues) return WEFT_OK;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    int rc = count_jobs(c, now, &counts);
    sq_give_back(s, c);
    return rc;
}

static int give_jobs(struct sq_connection *c, const char *queue, bool dead, wf_store_each_job *each, void *arg)
{
    int code, rc = WEFT_OK;
    bool goes_on = true;
    sqlite3_stmt *row = sq_prepare(c, SQ_JOBS, &code);
    if (row == NULL) return sq_error(code);
    sqlite3_bind_text(row, 1, queue, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, dead);
    while (goes_on && rc == WEFT_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        struct wf_store_job job;
        const char *name;
        const void *body;
        sqlite3_stmt *other = NULL;
        if (!sq_job_read(row, &job, &name) || strcmp(name, queue) != 0 || job.dead != dead) continue;
        rc = sq_job_body(c, &job, &body, &other);
        if (rc == WEFT_OK) goes_on = each(arg, &job, body);
        if (rc == WEFT_EFORMAT) rc = WEFT_OK;
        if (other != NULL) sqlite3_reset(other);
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return rc < 0 ? rc : sq_error(code);
}

int sq_jobs(struct wf_store *store, const char *queue, bool dead, wf_store_each_job *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    int code;
    if (!wf_store_topic_ok(queue)) return WEFT_EINVAL;
    if (!s->has_queues) return WEFT_OK;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    int rc = give_jobs(c, queue, dead, each, arg);
    sq_give_back(s, c);
    return rc;
}

/* ---- Checking -------------------------------------------------------------------------------------------------- */

struct checking {
    struct sq_connection *c;
    wf_store_each_fault *each;
    void *arg;
    int faults;
};

static void say(struct checking *k, const char *queue, uint64_t id, const char *text)
{
    k->faults++;
    k->each(k->arg, queue, id, text);
}

static int check_job(struct checking *k, sqlite3_stmt *row)
{
    struct wf_store_job job;
    const char *queue;
    const void *body;
    sqlite3_stmt *other = NULL;
    int rc = WEFT_OK;
    if (!sq_job_read(row, &job, &queue)) {
        say(k, wf_store_topic_ok(queue) ? queue : NULL, job.id, "the job is damaged");
        return WEFT_OK;
    }
    rc = sq_job_body(k->c, &job, &body, &other);
    if (other != NULL) sqlite3_reset(other);
    if (rc == WEFT_EFORMAT) say(k, queue, job.id, "the body of the job is damaged or missing");
    return rc == WEFT_EFORMAT ? WEFT_OK : rc;
}

static int check_body(struct checking *k, sqlite3_stmt *row)
{
    say(k, NULL, (uint64_t)sqlite3_column_int64(row, 0), "there is a body without its job");
    return WEFT_OK;
}

static int check_key(struct checking *k, sqlite3_stmt *row)
{
    const char *queue = (const char *)sqlite3_column_text(row, 3), *name = (const char *)sqlite3_column_text(row, 4);
    int64_t job = sqlite3_column_int64(row, 0), until = sqlite3_column_int64(row, 1);
    if (queue == NULL || name == NULL || sqlite3_column_int64(row, 2) != sq_key_sum(queue, name, job, until))
        say(k, wf_store_topic_ok(queue) ? queue : NULL, (uint64_t)job, "the key of the job is damaged");
    return WEFT_OK;
}

static int check_rows(struct checking *k, enum sq_statement which, int (*check)(struct checking *, sqlite3_stmt *))
{
    int code, rc = WEFT_OK;
    sqlite3_stmt *row = sq_prepare(k->c, which, &code);
    if (row == NULL) return sq_error(code);
    while (rc == WEFT_OK && (code = sqlite3_step(row)) == SQLITE_ROW) rc = check(k, row);
    sqlite3_reset(row);
    return rc < 0 ? rc : sq_error(code);
}

int sq_check_jobs(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    struct checking k = {.each = each, .arg = arg};
    int64_t last = 0, sum = 0;
    int code;
    if (!s->has_queues) return 0;
    k.c = sq_borrow(s, &code);
    if (k.c == NULL) return sq_error(code);
    int rc = read_number(k.c, SQ_READ_LAST_JOB, &last, &sum);
    if (rc == WEFT_EFORMAT || (rc == WEFT_OK && sum != sq_count_sum(last))) {
        say(&k, NULL, 0, "the count of jobs is damaged");
        rc = WEFT_OK;
    }
    if (rc == WEFT_OK) rc = check_rows(&k, SQ_ALL_JOBS, check_job);
    if (rc == WEFT_OK) rc = check_rows(&k, SQ_ALL_BODIES, check_body);
    if (rc == WEFT_OK) rc = check_rows(&k, SQ_ALL_KEYS, check_key);
    sq_give_back(s, k.c);
    if (rc == WEFT_EFORMAT) say(&k, NULL, 0, "the tables of queues are damaged");
    return rc < 0 && rc != WEFT_EFORMAT ? rc : k.faults;
}
