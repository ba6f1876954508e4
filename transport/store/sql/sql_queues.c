/* transport/store/sql/sql_queues.c -- queues as readers see them, and what is kept of them in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sql_connection.h"
#include "sql_jobs.h"
#include "sql_logs.h"
#include "sql_queues.h"
#include "stored_topic.h"

/* ---- The writer's list ----------------------------------------------------------------------------------------- */

static size_t bucket_of(const struct sql_store *s, const char *name)
{
    return wf_hash(name, strlen(name), s->base.secret) % SQL_QUEUE_BUCKETS;
}

struct sql_queue *sql_queue_find(const struct sql_store *s, const char *name)
{
    struct sql_queue *q = s->queue[bucket_of(s, name)];
    while (q != NULL && strcmp(q->name, name) != 0) q = q->next;
    return q;
}

struct sql_queue *sql_queue_add(struct sql_store *s, const char *name)
{
    struct sql_queue *q = calloc(1, sizeof *q), **to = &s->queue[bucket_of(s, name)];
    if (q == NULL) return NULL;
    memcpy(q->name, name, strlen(name) + 1);
    q->next = *to;
    *to = q;
    s->queues++;
    return q;
}

void sql_queue_remove(struct sql_store *s, struct sql_queue *q)
{
    struct sql_queue **at = &s->queue[bucket_of(s, q->name)];
    while (*at != q) at = &(*at)->next;
    *at = q->next;
    free(q);
    s->queues--;
}

void sql_queues_free(struct sql_store *s)
{
    for (int i = 0; i < SQL_QUEUE_BUCKETS; i++)
        for (struct sql_queue *q = s->queue[i], *next; q != NULL; q = next) {
            next = q->next;
            free(q);
        }
    memset(s->queue, 0, sizeof s->queue);
    s->queues = 0;
}

/* Reads one number of one row, and its checksum if `sum` is not NULL. */
static int read_number(struct sql_connection *c, enum sql_statement which, int64_t *out, int64_t *sum)
{
    int rc;
    struct sql_row *row = sql_prepare(c, which, &rc);
    if (row == NULL) return sql_error(rc);
    rc = sql_step(row);
    *out = sql_int(row, 0);
    if (sum != NULL) *sum = sql_int(row, 1);
    sql_reset(row);
    return rc == SQL_ROW ? WEFT_OK : rc == SQL_DONE ? WEFT_EFORMAT : sql_error(rc);
}

static int load_queue(struct sql_store *s, struct sql_row *row)
{
    const char *name = sql_text(row, 0);
    if (!wf_store_topic_ok(name)) return WEFT_OK; /* a damaged row: check finds it, and nobody gets that job */
    struct sql_queue *q = sql_queue_add(s, name);
    if (q == NULL) return WEFT_ENOMEM;
    q->jobs = (uint64_t)sql_int(row, 1);
    return WEFT_OK;
}

/* Reminders of a queue that has no jobs are damage, which check finds. */
static int load_reminders(struct sql_store *s, struct sql_row *row)
{
    const char *name = sql_text(row, 0);
    uint64_t count = (uint64_t)sql_int(row, 1);
    struct sql_queue *q = wf_store_topic_ok(name) ? sql_queue_find(s, name) : NULL;
    s->reminders += count;
    if (q != NULL) q->reminders = count;
    return WEFT_OK;
}

static int load_rows(struct sql_store *s, enum sql_statement which, int (*load)(struct sql_store *, struct sql_row *))
{
    int code, rc = WEFT_OK;
    struct sql_row *row = sql_prepare(s->writer, which, &code);
    if (row == NULL) return sql_error(code);
    while (rc == WEFT_OK && (code = sql_step(row)) == SQL_ROW) rc = load(s, row);
    sql_reset(row);
    return rc < 0 ? rc : sql_error(code);
}

int sql_queues_load(struct sql_store *s, struct wf_store_why *why)
{
    int64_t sum = 0;
    sql_queues_free(s);
    s->reminders = 0;
    snprintf(why->text, sizeof why->text, "%s: the tables of queues are damaged, or cannot be read", s->name);
    int rc = read_number(s->writer, SQL_READ_LAST_JOB, &s->last_job, &sum);
    if (rc == WEFT_OK && sum != sql_count_sum(s->last_job)) rc = WEFT_EFORMAT;
    if (rc == WEFT_OK) rc = read_number(s->writer, SQL_COUNT_KEYS, &s->keys, NULL);
    if (rc == WEFT_OK) rc = load_rows(s, SQL_QUEUE_SIZES, load_queue);
    return rc == WEFT_OK ? load_rows(s, SQL_REMINDER_SIZES, load_reminders) : rc;
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

/* A row is the number of jobs of one queue that are in the same state. */
static void count_row(struct counting *c, struct sql_row *row)
{
    const char *name = sql_text(row, 0);
    if (!wf_store_topic_ok(name)) return;
    if (strcmp(name, c->q.name) != 0) give_queue(c);
    snprintf(c->q.name, sizeof c->q.name, "%s", name);
    bool dead = sql_int(row, 1) != 0, leased = sql_int(row, 2) != 0, later = sql_int(row, 3) != 0;
    uint64_t *state = dead ? &c->q.dead : !later ? &c->q.ready : leased ? &c->q.leased : &c->q.delayed;
    *state += (uint64_t)sql_int(row, 4);
}

static int count_jobs(struct sql_connection *c, int64_t now, struct counting *counts)
{
    int rc;
    struct sql_row *row = sql_prepare(c, SQL_QUEUES, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_int(row, 1, now);
    while (counts->goes_on && (rc = sql_step(row)) == SQL_ROW) count_row(counts, row);
    sql_reset(row);
    if (sql_error(rc) == WEFT_OK) give_queue(counts);
    return sql_error(rc);
}

int sql_queues(struct wf_store *store, int64_t now, wf_store_each_queue *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct counting counts = {.each = each, .arg = arg, .goes_on = true};
    int code;
    if (!s->has_queues) return WEFT_OK;
    struct sql_connection *c = sql_borrow(s, &code);
    if (c == NULL) return sql_error(code);
    int rc = count_jobs(c, now, &counts);
    sql_give_back(s, c);
    return rc;
}

static int give_jobs(struct sql_connection *c, const char *queue, bool dead, wf_store_each_job *each, void *arg)
{
    int code, rc = WEFT_OK;
    bool goes_on = true;
    struct sql_row *row = sql_prepare(c, SQL_JOBS, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_text(row, 1, queue);
    sql_bind_int(row, 2, dead);
    while (goes_on && rc == WEFT_OK && (code = sql_step(row)) == SQL_ROW) {
        struct wf_store_job job;
        const char *name;
        const void *body;
        struct sql_row *other = NULL;
        if (!sql_job_read(row, &job, &name) || strcmp(name, queue) != 0 || job.dead != dead) continue;
        rc = sql_job_body(c, &job, &body, &other);
        if (rc == WEFT_OK) goes_on = each(arg, &job, body);
        if (rc == WEFT_EFORMAT) rc = WEFT_OK;
        if (other != NULL) sql_reset(other);
    }
    sql_reset(row);
    return rc < 0 ? rc : sql_error(code);
}

int sql_jobs(struct wf_store *store, const char *queue, bool dead, wf_store_each_job *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    int code;
    if (!wf_store_topic_ok(queue)) return WEFT_EINVAL;
    if (!s->has_queues) return WEFT_OK;
    struct sql_connection *c = sql_borrow(s, &code);
    if (c == NULL) return sql_error(code);
    int rc = give_jobs(c, queue, dead, each, arg);
    sql_give_back(s, c);
    return rc;
}

/* ---- Checking -------------------------------------------------------------------------------------------------- */

struct checking {
    struct sql_connection *c;
    wf_store_each_fault *each;
    void *arg;
    int faults;
};

static void say(struct checking *k, const char *queue, uint64_t id, const char *text)
{
    k->faults++;
    k->each(k->arg, queue, id, text);
}

static int check_job(struct checking *k, struct sql_row *row)
{
    struct wf_store_job job;
    const char *queue;
    const void *body;
    struct sql_row *other = NULL;
    int rc = WEFT_OK;
    if (!sql_job_read(row, &job, &queue)) {
        say(k, wf_store_topic_ok(queue) ? queue : NULL, job.id, "the job is damaged");
        return WEFT_OK;
    }
    rc = sql_job_body(k->c, &job, &body, &other);
    if (other != NULL) sql_reset(other);
    if (rc == WEFT_EFORMAT) say(k, queue, job.id, "the body of the job is damaged or missing");
    return rc == WEFT_EFORMAT ? WEFT_OK : rc;
}

static int check_body(struct checking *k, struct sql_row *row)
{
    say(k, NULL, (uint64_t)sql_int(row, 0), "there is a body without its job");
    return WEFT_OK;
}

static int check_key(struct checking *k, struct sql_row *row)
{
    const char *queue = sql_text(row, 3), *name = sql_text(row, 4);
    int64_t job = sql_int(row, 0), until = sql_int(row, 1);
    if (queue == NULL || name == NULL || sql_int(row, 2) != sql_key_sum(queue, name, job, until))
        say(k, wf_store_topic_ok(queue) ? queue : NULL, (uint64_t)job, "the key of the job is damaged");
    return WEFT_OK;
}

static int check_rows(struct checking *k, enum sql_statement which, int (*check)(struct checking *, struct sql_row *))
{
    int code, rc = WEFT_OK;
    struct sql_row *row = sql_prepare(k->c, which, &code);
    if (row == NULL) return sql_error(code);
    while (rc == WEFT_OK && (code = sql_step(row)) == SQL_ROW) rc = check(k, row);
    sql_reset(row);
    return rc < 0 ? rc : sql_error(code);
}

int sql_check_jobs(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct checking k = {.each = each, .arg = arg};
    int64_t last = 0, sum = 0;
    int code;
    if (!s->has_queues) return 0;
    k.c = sql_borrow(s, &code);
    if (k.c == NULL) return sql_error(code);
    int rc = read_number(k.c, SQL_READ_LAST_JOB, &last, &sum);
    if (rc == WEFT_EFORMAT || (rc == WEFT_OK && sum != sql_count_sum(last))) {
        say(&k, NULL, 0, "the count of jobs is damaged");
        rc = WEFT_OK;
    }
    if (rc == WEFT_OK) rc = check_rows(&k, SQL_ALL_JOBS, check_job);
    if (rc == WEFT_OK) rc = check_rows(&k, SQL_ALL_BODIES, check_body);
    if (rc == WEFT_OK) rc = check_rows(&k, SQL_ALL_KEYS, check_key);
    sql_give_back(s, k.c);
    if (rc == WEFT_EFORMAT) say(&k, NULL, 0, "the tables of queues are damaged");
    return rc < 0 && rc != WEFT_EFORMAT ? rc : k.faults;
}
