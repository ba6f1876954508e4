/* transport/store/sql/sql_queues.c -- queues as readers see them, and what is kept of them in memory. */
#include <stdio.h>
#include <string.h>

#include "sql_connection.h"
#include "sql_counts.h"
#include "sql_jobs.h"
#include "sql_logs.h"
#include "sql_queue.h"
#include "sql_queues.h"
#include "stored_topic.h"

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

/* Reminders of a queue that has no jobs are damage, which check finds. */
static int load_reminders(struct sql_store *s)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_REMINDER_SIZES, &rc);
    if (row == NULL) return sql_error(rc);
    while ((rc = sql_step(row)) == SQL_ROW) {
        const char *name = sql_text(row, 0);
        struct sql_queue *q = wf_store_topic_ok(name) ? sql_queue_find(s, name) : NULL;
        s->reminders += (uint64_t)sql_int(row, 1);
        if (q != NULL) q->is.reminders = (uint64_t)sql_int(row, 1);
    }
    sql_reset(row);
    return sql_error(rc);
}

static int load_all(struct sql_store *s, struct wf_store_why *why)
{
    int64_t sum = 0;
    sql_queues_free(s);
    s->reminders = 0;
    snprintf(why->text, sizeof why->text, "%s: the tables of queues are damaged, or cannot be read", s->name);
    int rc = read_number(s->writer, SQL_READ_LAST_JOB, &s->last_job, &sum);
    if (rc == WEFT_OK && (sum != sql_count_sum(s->last_job) || !sql_number_ok(s->last_job))) rc = WEFT_EFORMAT;
    if (rc == WEFT_OK) rc = read_number(s->writer, SQL_COUNT_KEYS, &s->keys, NULL);
    if (rc == WEFT_OK) rc = sql_counts_load(s);
    return rc == WEFT_OK ? load_reminders(s) : rc;
}

int sql_queues_load(struct sql_store *s, struct wf_store_why *why)
{
    sqlite3_mutex_enter(s->queue_lock);
    int rc = load_all(s, why);
    s->counts_unknown = rc < 0;
    sqlite3_mutex_leave(s->queue_lock);
    return rc;
}

/* ---- Readers --------------------------------------------------------------------------------------------------- */

int sql_jobs(struct wf_store *store, const char *queue, bool dead, wf_store_each_job *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct sql_connection *c;
    int code, rc = WEFT_OK;
    bool goes_on = true;
    if (!wf_store_topic_ok(queue)) return WEFT_EINVAL;
    if (!s->has_queues) return WEFT_OK;
    struct sql_row *row = sql_query(s, SQL_JOBS, &c, &code);
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
    sql_query_end(s, c, row);
    return rc < 0 ? rc : sql_error(code);
}

/* ---- Checking -------------------------------------------------------------------------------------------------- */

struct checking {
    struct sql_connection *c;
    wf_store_each_fault *each;
    void *arg;
};

static void say(struct checking *k, const char *queue, uint64_t id, const char *text)
{
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
    return rc;
}
