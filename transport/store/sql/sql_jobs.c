/* transport/store/sql/sql_jobs.c -- the writer of queues: a batch of changes is one transaction. */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "sql_ahead.h"
#include "sql_append.h"
#include "sql_connection.h"
#include "sql_counts.h"
#include "sql_jobs.h"
#include "sql_logs.h"
#include "sql_queue.h"
#include "sql_reminders.h"
#include "sql_share.h"
#include "sql_workers.h"
#include "stored_topic.h"

enum { DEAD_MAX = 1000 }; /* dead jobs that one change revives or removes at most */

/* The running transaction, with the queues that it changes. */
struct commit {
    struct sql_store *s;
    struct sql_queue *touched;
    int64_t last_job, keys;
    uint64_t reminders;
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int64_t job_sum(const struct wf_store_job *j, const char *queue)
{
    uint64_t numbers[] = {j->id, j->dead, (uint64_t)j->due, j->lease, j->attempts, (uint64_t)j->time, j->tag};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), queue, strlen(queue));
}

static int64_t body_sum(uint64_t id, const void *body, size_t size)
{
    return wf_crc32c(wf_crc32c(0, &id, sizeof id), body, size);
}

int64_t sql_key_sum(const char *queue, const char *name, int64_t job, int64_t until)
{
    int64_t numbers[] = {job, until};
    uint32_t sum = wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), queue, strlen(queue) + 1);
    return wf_crc32c(sum, name, strlen(name));
}

bool sql_job_read(struct sql_row *row, struct wf_store_job *out, const char **queue)
{
    int64_t dead = sql_int(row, 2), attempts = sql_int(row, 5), tag = sql_int(row, 7);
    *queue = sql_text(row, 1);
    *out = (struct wf_store_job){.id = (uint64_t)sql_int(row, 0),
                                 .lease = (uint64_t)sql_int(row, 4),
                                 .due = sql_int(row, 3),
                                 .time = sql_int(row, 6),
                                 .tag = (uint32_t)tag,
                                 .attempts = (uint32_t)attempts,
                                 .dead = dead == 1};
    return wf_store_topic_ok(*queue) && (dead == 0 || dead == 1) && attempts == out->attempts && tag == out->tag &&
           sql_int(row, 8) == job_sum(out, *queue);
}

int sql_job_body(struct sql_connection *c, struct wf_store_job *job, const void **body, struct sql_row **row)
{
    int rc;
    *row = sql_prepare(c, SQL_BODY, &rc);
    if (*row == NULL) return sql_error(rc);
    sql_bind_int(*row, 1, (int64_t)job->id);
    rc = sql_step(*row);
    if (rc != SQL_ROW) return rc == SQL_DONE ? WEFT_EFORMAT : sql_error(rc);
    *body = sql_bytes(*row, 0, &job->size);
    bool fine = job->size <= WF_STORE_BODY_MAX && sql_int(*row, 1) == body_sum(job->id, *body, job->size);
    return fine ? WEFT_OK : WEFT_EFORMAT;
}

static int write_job(struct sql_store *s, const struct wf_store_job *j, const char *queue, enum sql_statement which)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, which, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)j->id);
    sql_bind_text(row, 2, queue);
    sql_bind_int(row, 3, j->dead);
    sql_bind_int(row, 4, j->due);
    sql_bind_int(row, 5, (int64_t)j->lease);
    sql_bind_int(row, 6, j->attempts);
    sql_bind_int(row, 7, j->time);
    sql_bind_int(row, 8, j->tag);
    sql_bind_int(row, 9, job_sum(j, queue));
    return sql_run_one(row);
}

static int write_body(struct sql_store *s, uint64_t id, const void *data, size_t size)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_INSERT_BODY, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)id);
    sql_bind_bytes(row, 2, data, size);
    sql_bind_int(row, 3, body_sum(id, data, size));
    return sql_run(row);
}

/* ---- Queues in memory ------------------------------------------------------------------------------------------ */

static void touch(struct commit *c, struct sql_queue *q)
{
    if (q->touched) return;
    q->touched = true;
    q->will = q->is;
    q->next_touched = c->touched;
    c->touched = q;
}

/* Returns the queue of a change; creates it if it does not exist. NULL: `x->error` says why. */
static struct sql_queue *queue_for(struct commit *c, struct wf_store_change *x)
{
    struct sql_queue *q = sql_queue_find(c->s, x->queue);
    if (q == NULL && c->s->queues >= WF_STORE_QUEUES_MAX) {
        x->error = WEFT_EFULL;
        return NULL;
    }
    if (q == NULL) q = sql_queue_add(c->s, x->queue);
    if (q == NULL) x->error = WEFT_ENOMEM;
    else touch(c, q);
    return q;
}

static int update_job(struct commit *c, const char *queue, const struct wf_store_job *was,
                      const struct wf_store_job *is)
{
    struct sql_queue *q = sql_queue_find(c->s, queue);
    if (q != NULL) { /* NULL: there was damage when the store was opened */
        touch(c, q);
        sql_count_job(q, was, is);
    }
    return write_job(c->s, is, queue, SQL_UPDATE_JOB);
}

static bool has_space(const struct sql_queue *q, const struct wf_store_change *x)
{
    uint64_t jobs = sql_jobs_of(&q->will);
    return jobs < x->jobs_max && jobs < WF_STORE_JOBS_MAX;
}

static bool has_reminders(const struct commit *c, const char *name)
{
    const struct sql_queue *q = sql_queue_find(c->s, name);
    return q != NULL && (q->touched ? q->will : q->is).reminders > 0;
}

static int64_t later(int64_t now, int64_t delay)
{
    return now > INT64_MAX - delay ? INT64_MAX : now + delay;
}

/* ---- Putting --------------------------------------------------------------------------------------------------- */

/* Finds the key of a new job. `x->job.id` is the job that used the key first; 0: the key is free. `*is_old`: an
 * expired row has the key. */
static int find_key(struct commit *c, struct wf_store_change *x, bool *is_old)
{
    int rc;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_KEY, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, x->queue);
    sql_bind_text(row, 2, x->key);
    rc = sql_step(row);
    if (rc == SQL_ROW) {
        int64_t job = sql_int(row, 0), until = sql_int(row, 1);
        if (sql_int(row, 2) != sql_key_sum(x->queue, x->key, job, until)) x->error = WEFT_EFORMAT;
        else if (until > x->now) x->job.id = (uint64_t)job;
        else *is_old = true;
    }
    sql_reset(row);
    return sql_error(rc);
}

static int write_key(struct commit *c, const struct wf_store_change *x)
{
    int rc;
    int64_t until = later(x->now, x->key_age);
    struct sql_row *row = sql_prepare(c->s->writer, SQL_INSERT_KEY, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, x->queue);
    sql_bind_text(row, 2, x->key);
    sql_bind_int(row, 3, (int64_t)x->job.id);
    sql_bind_int(row, 4, until);
    sql_bind_int(row, 5, sql_key_sum(x->queue, x->key, (int64_t)x->job.id, until));
    return sql_run(row);
}

/* Each new key removes up to two expired ones, so the table does not grow without limit. */
static int forget_keys(struct commit *c, int64_t now)
{
    int rc;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_FORGET_KEYS, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, now);
    int64_t changes = 0;
    rc = row->driver->run_counted(row, &changes);
    c->keys -= changes;
    return rc;
}

static int check_put(const struct wf_store_change *x)
{
    if ((x->data == NULL && x->size > 0) || (x->key != NULL && !wf_store_key_ok(x->key))) return WEFT_EINVAL;
    return x->size > WF_STORE_RECORD_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

static int add_job(struct commit *c, struct wf_store_change *x, struct sql_queue *q, int64_t due)
{
    x->job = (struct wf_store_job){
        .id = (uint64_t)++c->last_job, .due = due, .time = x->now, .tag = x->tag, .size = x->size};
    sql_count_job(q, NULL, &x->job);
    int rc = write_job(c->s, &x->job, x->queue, SQL_INSERT_JOB);
    return rc == WEFT_OK ? write_body(c->s, x->job.id, x->data, x->size) : rc;
}

static int put(struct commit *c, struct wf_store_change *x)
{
    int rc = WEFT_OK;
    bool is_old = false;
    x->error = check_put(x);
    struct sql_queue *q = x->error < 0 ? NULL : queue_for(c, x);
    if (q == NULL) return WEFT_OK;
    if (x->key != NULL) rc = forget_keys(c, x->now);
    if (x->key != NULL && rc == WEFT_OK) rc = find_key(c, x, &is_old);
    if (rc != WEFT_OK || x->error < 0 || x->job.id != 0) return rc;
    bool full = x->key != NULL && c->keys >= WF_STORE_JOB_KEYS_MAX;
    if (full || !has_space(q, x)) {
        x->error = WEFT_EFULL;
        return WEFT_OK;
    }
    rc = add_job(c, x, q, later(x->now, x->delay));
    if (rc == WEFT_OK && x->key != NULL) rc = write_key(c, x);
    c->keys += x->key != NULL && !is_old;
    return rc;
}

/* ---- Records of shared cursors --------------------------------------------------------------------------------- */

struct sharing {
    struct commit *c;
    struct wf_store_change *x;
    struct sql_queue *q;
};

static int add_record(void *arg, int64_t log, const struct wf_shared_record *r)
{
    struct sharing *h = arg;
    struct wf_store_change job = *h->x;
    void *body = malloc(wf_shared_size(r));
    if (body == NULL) return WEFT_ENOMEM;
    wf_shared_put(r, body);
    job.tag = (uint32_t)log;
    job.data = body;
    job.size = wf_shared_size(r);
    int rc = add_job(h->c, &job, h->q, job.now);
    free(body);
    return rc;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int share(struct commit *c, struct wf_store_change *x)
{
    bool fine = wf_shared_is(x->queue) && x->topic != NULL && wf_store_topic_ok(x->topic);
    if (!fine) x->error = WEFT_EINVAL;
    struct sharing h = {c, x, fine ? queue_for(c, x) : NULL};
    if (h.q == NULL) return WEFT_OK;
    const uint64_t jobs = sql_jobs_of(&h.q->will), live = jobs - h.q->will.dead;
    const uint64_t max = at_most(x->jobs_max, WF_STORE_JOBS_MAX);
    const uint64_t space = at_most(max > jobs ? max - jobs : 0, x->ahead > live ? x->ahead - live : 0);
    return sql_share(c->s, x, at_most(space, x->most), add_record, &h);
}

/* ---- Taking ---------------------------------------------------------------------------------------------------- */

/* Copies the body of the job, and the key of its reminder. */
static int copy_body(struct wf_store_change *x, const void *body, const struct sql_reminder *r)
{
    const size_t size = x->job.size, more = r == NULL ? 1 : strlen(r->key) + 1;
    if (body == NULL && size > 0) return WEFT_EFORMAT;
    x->body = malloc(size + more);
    if (x->body == NULL) return WEFT_ENOMEM;
    if (size > 0) memcpy(x->body, body, size);
    if (r == NULL) return WEFT_OK;
    x->reminder = memcpy((char *)x->body + size, r->key, more);
    x->at = r->at;
    x->period = r->period;
    return WEFT_OK;
}

/* Reads the body of the job that is due, and its reminder. WEFT_EFORMAT: one of them is damaged. */
static int read_due(struct commit *c, struct wf_store_change *x, struct sql_row **other)
{
    struct sql_reminder r;
    enum sql_found found = SQL_NO_REMINDER;
    const void *body = NULL;
    int rc = has_reminders(c, x->queue) ? sql_reminder_of_job(c->s, x->queue, x->job.id, &r, &found) : WEFT_OK;
    if (rc == WEFT_OK && found == SQL_DAMAGED_REMINDER) rc = WEFT_EFORMAT;
    if (rc == WEFT_OK) rc = sql_job_body(c->s->writer, &x->job, &body, other);
    return rc == WEFT_OK ? copy_body(x, body, found == SQL_A_REMINDER ? &r : NULL) : rc;
}

/* Finds the first job that is due and not damaged. Returns a WEFT_E*; WEFT_ENOTFOUND: there is no such job. */
static int find_due(struct commit *c, struct wf_store_change *x)
{
    int code, rc = WEFT_ENOTFOUND;
    const char *queue;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_DUE_JOBS, &code), *other = NULL;
    if (row == NULL) return sql_error(code);
    sql_bind_text(row, 1, x->queue);
    sql_bind_int(row, 2, 0);
    sql_bind_int(row, 3, x->now);
    while (rc == WEFT_ENOTFOUND && (code = sql_step(row)) == SQL_ROW) {
        bool fine = sql_job_read(row, &x->job, &queue) && strcmp(queue, x->queue) == 0 && !x->job.dead &&
                    x->job.due <= x->now;
        rc = fine ? read_due(c, x, &other) : WEFT_EFORMAT;
        if (other != NULL) sql_reset(other);
        if (rc != WEFT_EFORMAT) break;
        x->count++;
        rc = WEFT_ENOTFOUND;
    }
    sql_reset(row);
    return rc == WEFT_ENOTFOUND && sql_error(code) < 0 ? sql_error(code) : rc;
}

static void kill_job(struct wf_store_job *j, int64_t now)
{
    j->dead = true;
    j->lease = 0;
    j->due = now;
}

static uint64_t new_lease(void)
{
    uint64_t lease = 0;
    while (lease == 0) {
        sqlite3_randomness(sizeof lease, &lease);
        lease &= INT64_MAX; /* as databases have integers */
    }
    return lease;
}

static bool is_used_up(const struct wf_store_job *j, uint32_t attempts)
{
    return attempts != 0 && j->attempts >= attempts;
}

static int take(struct commit *c, struct wf_store_change *x)
{
    int rc = WEFT_OK;
    while (rc == WEFT_OK) {
        int error = find_due(c, x);
        if (error == WEFT_ENOTFOUND) {
            x->error = WEFT_ENOTFOUND;
            return sql_next_due(c->s->writer, x->queue, x->now, &x->next_due);
        }
        if (error < 0) return error;
        const struct wf_store_job was = x->job;
        bool dies = is_used_up(&x->job, x->attempts); /* its last lease ended by time */
        if (dies) {
            kill_job(&x->job, x->now);
            x->died++;
        } else {
            x->job.attempts++;
            x->job.lease = new_lease();
            x->job.due = later(x->now, x->delay);
        }
        rc = update_job(c, x->queue, &was, &x->job);
        if (!dies && rc == WEFT_OK && x->node != 0) rc = sql_worker_write(c->s, x);
        if (!dies) return rc;
        free(x->body);
        x->body = NULL;
        x->reminder = NULL;
    }
    return rc;
}

/* ---- Jobs that were taken ------------------------------------------------------------------------------------- */

static int find_job(struct commit *c, struct wf_store_change *x)
{
    int rc;
    const char *queue;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_JOB, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)x->id);
    rc = sql_step(row);
    const bool good = rc == SQL_ROW && sql_job_read(row, &x->job, &queue);
    if (rc == SQL_ROW && !good) x->error = WEFT_EFORMAT;
    else if (rc == SQL_DONE || (good && strcmp(queue, x->queue) != 0)) x->error = WEFT_ECLOSED;
    sql_reset(row);
    return sql_error(rc);
}

static int remove_job(struct commit *c, struct sql_queue *q, const struct wf_store_job *job)
{
    sql_count_job(q, job, NULL);
    int rc = sql_run_of(c->s, SQL_DELETE_JOB, job->id);
    if (rc == WEFT_OK) rc = sql_run_of(c->s, SQL_DELETE_BODY, job->id);
    return rc == WEFT_OK ? sql_run_of(c->s, SQL_DELETE_WORKER, job->id) : rc;
}

static int remove_reminder(struct commit *c, struct sql_queue *q, const char *queue, const char *key)
{
    if (q->will.reminders > 0) q->will.reminders--;
    if (c->reminders > 0) c->reminders--;
    return sql_reminder_delete(c->s, queue, key);
}

static int remove_both(struct commit *c, struct sql_queue *q, const char *queue, const struct wf_store_job *job,
                       const struct sql_reminder *r)
{
    int rc = WEFT_OK;
    if (r != NULL) rc = remove_reminder(c, q, queue, r->key);
    return rc == WEFT_OK ? remove_job(c, q, job) : rc;
}

/* The times that have passed meanwhile do not come any more. */
static int repeat(struct commit *c, struct wf_store_change *x, struct sql_reminder *r)
{
    const struct wf_store_job was = x->job;
    r->at = x->next_due = x->job.due = sql_reminder_next(r, x->now);
    x->job.lease = 0;
    x->job.attempts = 0;
    int rc = update_job(c, x->queue, &was, &x->job);
    return rc == WEFT_OK ? sql_reminder_write(c->s, x->queue, r) : rc;
}

static int finish_job(struct commit *c, struct wf_store_change *x)
{
    struct sql_reminder r;
    enum sql_found found = SQL_NO_REMINDER;
    int rc = has_reminders(c, x->queue) ? sql_reminder_of_job(c->s, x->queue, x->id, &r, &found) : WEFT_OK;
    if (rc == WEFT_OK && found == SQL_DAMAGED_REMINDER) x->error = WEFT_EFORMAT;
    if (rc != WEFT_OK || x->error < 0) return rc;
    if (found == SQL_A_REMINDER && r.period > 0) return repeat(c, x, &r);
    struct sql_queue *q = queue_for(c, x);
    if (q == NULL) return WEFT_OK;
    return remove_both(c, q, x->queue, &x->job, found == SQL_A_REMINDER ? &r : NULL);
}

static int change_taken(struct commit *c, struct wf_store_change *x)
{
    struct wf_store_job *j = &x->job;
    int rc = find_job(c, x);
    if (rc != WEFT_OK || x->error < 0) return rc;
    if (j->dead || j->lease == 0 || j->lease != x->lease) {
        x->error = WEFT_ECLOSED;
        return WEFT_OK;
    }
    if (x->kind == WF_JOB_DONE) return finish_job(c, x);
    const struct wf_store_job was = *j;
    if (x->kind == WF_JOB_UNTAKE) j->attempts--;
    if (x->kind != WF_JOB_EXTEND) j->lease = 0;
    j->due = x->kind == WF_JOB_UNTAKE ? x->now : later(x->now, x->delay);
    if (x->kind == WF_JOB_RETURN && is_used_up(j, x->attempts)) kill_job(j, x->now);
    return update_job(c, x->queue, &was, j);
}

/* ---- Dead ones ------------------------------------------------------------------------------------------------- */

static int revive_job(struct commit *c, struct wf_store_change *x, struct wf_store_job *j)
{
    const struct wf_store_job was = *j;
    j->dead = false;
    j->attempts = 0;
    j->due = x->now;
    x->count++;
    return update_job(c, x->queue, &was, j);
}

static int drop_job(struct commit *c, struct wf_store_change *x, struct wf_store_job *j)
{
    struct sql_reminder r;
    enum sql_found found = SQL_NO_REMINDER;
    int rc = has_reminders(c, x->queue) ? sql_reminder_of_job(c->s, x->queue, j->id, &r, &found) : WEFT_OK;
    struct sql_queue *q = rc == WEFT_OK ? queue_for(c, x) : NULL;
    if (q == NULL || found == SQL_DAMAGED_REMINDER) return rc;
    x->count++;
    return remove_both(c, q, x->queue, j, found == SQL_A_REMINDER ? &r : NULL);
}

/* Finds dead jobs of the queue, as many as fit into `all`. */
static int find_dead(struct commit *c, const struct wf_store_change *x, struct wf_store_job *all, size_t *count)
{
    int rc;
    const char *queue;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_DUE_JOBS, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, x->queue);
    sql_bind_int(row, 2, 1);
    sql_bind_int(row, 3, INT64_MAX);
    while (*count < DEAD_MAX && (rc = sql_step(row)) == SQL_ROW)
        *count += sql_job_read(row, &all[*count], &queue) && strcmp(queue, x->queue) == 0 && all[*count].dead;
    sql_reset(row);
    return sql_error(rc);
}

static int change_dead(struct commit *c, struct wf_store_change *x)
{
    bool revives = x->kind == WF_JOB_REVIVE;
    const bool one = x->id != 0;
    struct wf_store_job *all = one ? NULL : calloc(DEAD_MAX, sizeof *all);
    if (!one && all == NULL) return WEFT_ENOMEM;
    size_t count = 0;
    int rc = one ? find_job(c, x) : find_dead(c, x, all, &count);
    for (size_t i = 0; i < count && rc == WEFT_OK; i++) rc = (revives ? revive_job : drop_job)(c, x, &all[i]);
    free(all);
    if (rc == WEFT_OK && one && x->error == WEFT_OK && x->job.dead)
        rc = (revives ? revive_job : drop_job)(c, x, &x->job);
    if (x->count == 0 && x->error != WEFT_EFORMAT) x->error = WEFT_ENOTFOUND;
    return rc;
}

/* ---- Reminders ------------------------------------------------------------------------------------------------- */

/* Removes the job of a reminder; damage can have removed it before. */
static int remove_job_of(struct commit *c, struct sql_queue *q, uint64_t id)
{
    int rc;
    const char *queue;
    struct wf_store_job job = {.id = id};
    struct sql_row *row = sql_prepare(c->s->writer, SQL_JOB, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)id);
    rc = sql_step(row);
    if (rc == SQL_ROW) (void)sql_job_read(row, &job, &queue);
    sql_reset(row);
    return rc == SQL_ROW ? remove_job(c, q, &job) : sql_error(rc);
}

static int set(struct commit *c, struct wf_store_change *x)
{
    struct sql_reminder r = {.job = 0};
    enum sql_found found;
    x->error = x->key == NULL || x->at < 0 || x->period < 0 ? WEFT_EINVAL : check_put(x);
    struct sql_queue *q = x->error < 0 ? NULL : queue_for(c, x);
    if (q == NULL) return WEFT_OK;
    int rc = sql_reminder_find(c->s, x->queue, x->key, &r, &found);
    if (rc != WEFT_OK) return rc;
    if (found == SQL_DAMAGED_REMINDER) x->error = WEFT_EFORMAT;
    if (found == SQL_NO_REMINDER && (c->reminders >= WF_STORE_REMINDERS_MAX || !has_space(q, x)))
        x->error = WEFT_EFULL;
    if (x->error < 0) return WEFT_OK;
    x->removed = r.job;
    if (found == SQL_A_REMINDER) rc = remove_job_of(c, q, r.job);
    if (found == SQL_NO_REMINDER || q->will.reminders == 0) q->will.reminders++; /* 0: its jobs were missing */
    c->reminders += found == SQL_NO_REMINDER;
    if (rc == WEFT_OK) rc = add_job(c, x, q, x->at);
    if (rc != WEFT_OK) return rc;
    r = (struct sql_reminder){.job = x->job.id, .at = x->at, .period = x->period};
    memcpy(r.key, x->key, strlen(x->key) + 1);
    return sql_reminder_write(c->s, x->queue, &r);
}

/* What job a damaged reminder has is not known. */
static int cancel(struct commit *c, struct wf_store_change *x)
{
    struct sql_reminder r;
    enum sql_found found;
    x->error = x->key == NULL || !wf_store_key_ok(x->key) ? WEFT_EINVAL : WEFT_OK;
    if (x->error < 0) return WEFT_OK;
    int rc = sql_reminder_find(c->s, x->queue, x->key, &r, &found);
    if (rc != WEFT_OK) return rc;
    if (found == SQL_NO_REMINDER) x->error = WEFT_ENOTFOUND;
    struct sql_queue *q = x->error < 0 ? NULL : queue_for(c, x);
    if (q == NULL) return WEFT_OK;
    rc = remove_reminder(c, q, x->queue, x->key);
    if (found == SQL_DAMAGED_REMINDER) return rc;
    x->removed = r.job;
    return rc == WEFT_OK ? remove_job_of(c, q, r.job) : rc;
}

/* ---- A batch --------------------------------------------------------------------------------------------------- */

static int change_one(void *commit, void *batch, size_t at)
{
    struct commit *c = commit;
    struct wf_store_change *x = (struct wf_store_change *)batch + at;
    x->error = WEFT_OK;
    if (!wf_store_topic_ok(x->queue) || x->delay < 0) {
        x->error = WEFT_EINVAL;
        return WEFT_OK;
    }
    switch (x->kind) {
    case WF_JOB_PUT: return put(c, x);
    case WF_JOB_TAKE: return take(c, x);
    case WF_JOB_REVIVE:
    case WF_JOB_DROP: return change_dead(c, x);
    case WF_JOB_SET: return set(c, x);
    case WF_JOB_CANCEL: return cancel(c, x);
    case WF_JOB_SHARE: return share(c, x);
    case WF_JOB_DONE:
    case WF_JOB_RETURN:
    case WF_JOB_UNTAKE:
    case WF_JOB_EXTEND: return change_taken(c, x);
    }
    x->error = WEFT_EINVAL;
    return WEFT_OK;
}

static bool is_of_a_job(const struct wf_store_change *x)
{
    bool is_taken = x->kind == WF_JOB_DONE || x->kind == WF_JOB_RETURN || x->kind == WF_JOB_UNTAKE ||
                    x->kind == WF_JOB_EXTEND;
    return is_taken && wf_store_topic_ok(x->queue) && x->delay >= 0;
}

/* Changes of other kinds may change any job. A job that is twice in the batch is read again after its first change. */
static bool may_ask(const void *batch, size_t first, size_t at)
{
    const struct wf_store_change *all = batch;
    if (!is_of_a_job(&all[at])) return false;
    for (size_t i = first; i < at; i++)
        if (all[i].id == all[at].id) return false;
    return true;
}

static void bind_change(struct sql_row *row, const void *batch, size_t at)
{
    sql_bind_int(row, 1, (int64_t)((const struct wf_store_change *)batch)[at].id);
}

static const struct sql_ahead change = {SQL_JOB, may_ask, bind_change, change_one};

static int write_count(struct commit *c)
{
    int rc;
    if (c->last_job == c->s->last_job) return WEFT_OK;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_COUNT_JOBS, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, c->last_job);
    sql_bind_int(row, 2, sql_count_sum(c->last_job));
    return sql_run(row);
}

static void finish(struct commit *c, bool committed)
{
    for (struct sql_queue *q = c->touched, *next; q != NULL; q = next) {
        next = q->next_touched;
        q->touched = false;
        if (committed) q->is = q->will;
        if (sql_jobs_of(&q->is) == 0) sql_queue_remove(c->s, q);
    }
    if (!committed) return;
    c->s->last_job = c->last_job;
    c->s->keys = c->keys;
    c->s->reminders = c->reminders;
}

static int check_batch(const struct wf_store_change *batch, size_t count)
{
    size_t bytes = 0, takes = 0;
    if (count == 0 || count > WF_STORE_BATCH_MAX) return WEFT_EINVAL;
    for (size_t i = 0; i < count; i++) {
        bytes += batch[i].kind == WF_JOB_PUT || batch[i].kind == WF_JOB_SET ? batch[i].size : 0;
        takes += batch[i].kind == WF_JOB_TAKE;
    }
    if (takes > WF_STORE_TAKES_MAX) return WEFT_EINVAL;
    return bytes > WF_STORE_BATCH_BYTES_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

static void clear_result(struct wf_store_change *x, int error)
{
    free(x->body);
    x->body = NULL;
    x->reminder = NULL;
    x->job = (struct wf_store_job){0};
    x->error = error;
}

static int store_batch(struct sql_store *s, struct wf_store_change *batch, size_t count)
{
    int rc = sql_begin(s);
    if (rc != WEFT_OK) return rc;
    struct commit c = {.s = s, .last_job = s->last_job, .keys = s->keys, .reminders = s->reminders};
    int code = sql_run_batch(s, &change, &c, batch, count);
    if (code == WEFT_OK) code = write_count(&c);
    rc = sql_finish(s, code);
    finish(&c, rc == WEFT_OK);
    s->counts_unknown |= s->in_doubt;
    if (rc < 0) s->cursors = -1; /* shares have counted theirs */
    return rc;
}

int sql_change(struct wf_store *store, struct wf_store_change *batch, size_t count)
{
    struct sql_store *s = sql_of(store);
    int rc = check_batch(batch, count);
    for (size_t i = 0; i < count; i++) {
        batch[i].body = NULL;
        batch[i].count = batch[i].removed = batch[i].skipped = batch[i].died = 0;
        batch[i].more = false;
        batch[i].next_due = 0;
        clear_result(&batch[i], rc);
    }
    if (rc == WEFT_OK) {
        sqlite3_mutex_enter(s->queue_lock);
        rc = store_batch(s, batch, count);
        sqlite3_mutex_leave(s->queue_lock);
    }
    for (size_t i = 0; i < count; i++)
        if (rc < 0 || batch[i].error < 0) clear_result(&batch[i], rc < 0 ? rc : batch[i].error);
    return rc;
}
