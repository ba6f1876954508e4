/* transport/store/sqlite_jobs.c -- the writer of queues: a batch of changes is one transaction. */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "sqlite_append.h"
#include "sqlite_connection.h"
#include "sqlite_jobs.h"
#include "sqlite_logs.h"
#include "sqlite_queues.h"
#include "sqlite_workers.h"
#include "stored_topic.h"

enum { REVIVED_MAX = 1000 }; /* jobs that one change revives at most */

/* Marks the end of the list of queues that the running transaction has touched. */
struct commit {
    struct sq_store *s;
    struct sq_queue *touched;
    int64_t last_job, keys;
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

int64_t sq_key_sum(const char *queue, const char *name, int64_t job, int64_t until)
{
    int64_t numbers[] = {job, until};
    uint32_t sum = wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), queue, strlen(queue) + 1);
    return wf_crc32c(sum, name, strlen(name));
}

bool sq_job_read(sqlite3_stmt *row, struct wf_store_job *out, const char **queue)
{
    int64_t dead = sqlite3_column_int64(row, 2), attempts = sqlite3_column_int64(row, 5),
            tag = sqlite3_column_int64(row, 7);
    *queue = (const char *)sqlite3_column_text(row, 1);
    *out = (struct wf_store_job){.id = (uint64_t)sqlite3_column_int64(row, 0),
                                 .lease = (uint64_t)sqlite3_column_int64(row, 4),
                                 .due = sqlite3_column_int64(row, 3),
                                 .time = sqlite3_column_int64(row, 6),
                                 .tag = (uint32_t)tag,
                                 .attempts = (uint32_t)attempts,
                                 .dead = dead == 1};
    return wf_store_topic_ok(*queue) && (dead == 0 || dead == 1) && attempts == out->attempts && tag == out->tag &&
           sqlite3_column_int64(row, 8) == job_sum(out, *queue);
}

int sq_job_body(struct sq_connection *c, struct wf_store_job *job, const void **body, sqlite3_stmt **row)
{
    int rc;
    *row = sq_prepare(c, SQ_BODY, &rc);
    if (*row == NULL) return sq_error(rc);
    sqlite3_bind_int64(*row, 1, (int64_t)job->id);
    rc = sqlite3_step(*row);
    if (rc != SQLITE_ROW) return rc == SQLITE_DONE ? WEFT_EFORMAT : sq_error(rc);
    *body = sqlite3_column_blob(*row, 0);
    job->size = (size_t)sqlite3_column_bytes(*row, 0);
    bool fine = job->size <= WF_STORE_RECORD_MAX &&
                sqlite3_column_int64(*row, 1) == body_sum(job->id, *body, job->size);
    return fine ? WEFT_OK : WEFT_EFORMAT;
}

static int write_job(struct sq_store *s, const struct wf_store_job *j, const char *queue, enum sq_statement which)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, which, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, (int64_t)j->id);
    sqlite3_bind_text(row, 2, queue, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 3, j->dead);
    sqlite3_bind_int64(row, 4, j->due);
    sqlite3_bind_int64(row, 5, (int64_t)j->lease);
    sqlite3_bind_int64(row, 6, j->attempts);
    sqlite3_bind_int64(row, 7, j->time);
    sqlite3_bind_int64(row, 8, j->tag);
    sqlite3_bind_int64(row, 9, job_sum(j, queue));
    rc = sq_step_once(row);
    return rc != SQLITE_OK || sqlite3_changes(s->writer.db) == 1 ? rc : SQLITE_CORRUPT;
}

static int write_body(struct sq_store *s, uint64_t id, const void *data, size_t size)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_INSERT_BODY, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, (int64_t)id);
    if (size == 0) sqlite3_bind_zeroblob(row, 2, 0);
    else sqlite3_bind_blob(row, 2, data, (int)size, SQLITE_STATIC);
    sqlite3_bind_int64(row, 3, body_sum(id, data, size));
    return sq_step_once(row);
}

static int delete_by_id(struct sq_store *s, enum sq_statement which, uint64_t id)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, which, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, (int64_t)id);
    return sq_step_once(row);
}

/* ---- Queues in memory ------------------------------------------------------------------------------------------ */

static void touch(struct commit *c, struct sq_queue *q)
{
    if (q->touched) return;
    q->touched = true;
    q->will = q->jobs;
    q->next_touched = c->touched;
    c->touched = q;
}

/* Returns the queue of a change; creates it if it does not exist. NULL: `x->error` says why. */
static struct sq_queue *queue_for(struct commit *c, struct wf_store_change *x)
{
    struct sq_queue *q = sq_queue_find(c->s, x->queue);
    if (q == NULL && c->s->queues >= WF_STORE_QUEUES_MAX) {
        x->error = WEFT_EFULL;
        return NULL;
    }
    if (q == NULL) q = sq_queue_add(c->s, x->queue);
    if (q == NULL) x->error = WEFT_ENOMEM;
    else touch(c, q);
    return q;
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
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_KEY, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, x->queue, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, x->key, -1, SQLITE_STATIC);
    rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        int64_t job = sqlite3_column_int64(row, 0), until = sqlite3_column_int64(row, 1);
        if (sqlite3_column_int64(row, 2) != sq_key_sum(x->queue, x->key, job, until)) x->error = WEFT_EFORMAT;
        else if (until > x->now) x->job.id = (uint64_t)job;
        else *is_old = true;
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int write_key(struct commit *c, const struct wf_store_change *x)
{
    int rc;
    int64_t until = later(x->now, x->key_age);
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_INSERT_KEY, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, x->queue, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, x->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 3, (int64_t)x->job.id);
    sqlite3_bind_int64(row, 4, until);
    sqlite3_bind_int64(row, 5, sq_key_sum(x->queue, x->key, (int64_t)x->job.id, until));
    return sq_step_once(row);
}

/* Each new key removes up to two expired ones, so the table does not grow without limit. */
static int forget_keys(struct commit *c, int64_t now)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_FORGET_KEYS, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, now);
    rc = sq_step_once(row);
    if (rc == SQLITE_OK) c->keys -= sqlite3_changes(c->s->writer.db);
    return rc;
}

static bool is_key(const char *key)
{
    return key[0] != '\0' && memchr(key, '\0', WF_STORE_KEY_MAX + 1) != NULL;
}

static int check_put(const struct wf_store_change *x)
{
    if ((x->data == NULL && x->size > 0) || (x->key != NULL && !is_key(x->key))) return WEFT_EINVAL;
    return x->size > WF_STORE_RECORD_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

static int put(struct commit *c, struct wf_store_change *x)
{
    int rc = SQLITE_OK;
    bool is_old = false;
    x->error = check_put(x);
    struct sq_queue *q = x->error < 0 ? NULL : queue_for(c, x);
    if (q == NULL) return SQLITE_OK;
    if (x->key != NULL) rc = forget_keys(c, x->now);
    if (x->key != NULL && rc == SQLITE_OK) rc = find_key(c, x, &is_old);
    if (rc != SQLITE_OK || x->error < 0 || x->job.id != 0) return rc;
    bool full = x->key != NULL && c->keys >= WF_STORE_JOB_KEYS_MAX;
    if (full || q->will >= x->jobs_max || q->will >= WF_STORE_JOBS_MAX) {
        x->error = WEFT_EFULL;
        return SQLITE_OK;
    }
    x->job = (struct wf_store_job){.id = (uint64_t)++c->last_job,
                                   .due = later(x->now, x->delay),
                                   .time = x->now,
                                   .tag = x->tag,
                                   .size = x->size};
    q->will++;
    rc = write_job(c->s, &x->job, x->queue, SQ_INSERT_JOB);
    if (rc == SQLITE_OK) rc = write_body(c->s, x->job.id, x->data, x->size);
    if (rc == SQLITE_OK && x->key != NULL) rc = write_key(c, x);
    c->keys += x->key != NULL && !is_old;
    return (rc & 0xFF) == SQLITE_CONSTRAINT ? SQLITE_CORRUPT : rc; /* a job with that id exists already */
}

/* ---- Taking ---------------------------------------------------------------------------------------------------- */

static int copy_body(struct wf_store_change *x, const void *body)
{
    x->body = malloc(x->job.size + 1);
    if (x->body == NULL) return WEFT_ENOMEM;
    if (x->job.size > 0) memcpy(x->body, body, x->job.size);
    return WEFT_OK;
}

/* Finds the first job that is due and not damaged. Returns a WEFT_E*; WEFT_ENOTFOUND: there is no such job. */
static int find_due(struct sq_store *s, struct wf_store_change *x)
{
    int code, rc = WEFT_ENOTFOUND;
    const char *queue;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_DUE_JOBS, &code), *other = NULL;
    if (row == NULL) return sq_error(code);
    sqlite3_bind_text(row, 1, x->queue, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, 0);
    sqlite3_bind_int64(row, 3, x->now);
    while (rc == WEFT_ENOTFOUND && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const void *body = NULL;
        bool fine = sq_job_read(row, &x->job, &queue) && strcmp(queue, x->queue) == 0 && !x->job.dead &&
                    x->job.due <= x->now;
        rc = fine ? sq_job_body(&s->writer, &x->job, &body, &other) : WEFT_EFORMAT;
        if (rc == WEFT_OK) rc = copy_body(x, body);
        if (other != NULL) sqlite3_reset(other);
        if (rc != WEFT_EFORMAT) break;
        x->count++;
        rc = WEFT_ENOTFOUND;
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return rc == WEFT_ENOTFOUND && sq_error(code) < 0 ? sq_error(code) : rc;
}

static int find_next_due(struct sq_store *s, struct wf_store_change *x)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_NEXT_DUE, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, x->queue, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, x->now);
    rc = sqlite3_step(row);
    x->next_due = rc == SQLITE_ROW ? sqlite3_column_int64(row, 0) : INT64_MAX;
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
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
        lease &= INT64_MAX; /* because SQLite has signed integers */
    }
    return lease;
}

static bool is_used_up(const struct wf_store_job *j, uint32_t attempts)
{
    return attempts != 0 && j->attempts >= attempts;
}

/* Converts a WEFT_E* that fails the whole batch to a code of SQLite. */
static int code_of(int error)
{
    return error == WEFT_ENOMEM ? SQLITE_NOMEM : error == WEFT_EFORMAT ? SQLITE_CORRUPT : SQLITE_IOERR;
}

static int take(struct commit *c, struct wf_store_change *x)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK) {
        int error = find_due(c->s, x);
        if (error == WEFT_ENOTFOUND) {
            x->error = WEFT_ENOTFOUND;
            return find_next_due(c->s, x);
        }
        if (error < 0) return code_of(error);
        bool dies = is_used_up(&x->job, x->attempts); /* its last lease has expired */
        if (dies) {
            kill_job(&x->job, x->now);
        } else {
            x->job.attempts++;
            x->job.lease = new_lease();
            x->job.due = later(x->now, x->delay);
        }
        rc = write_job(c->s, &x->job, x->queue, SQ_UPDATE_JOB);
        if (!dies && rc == SQLITE_OK && x->node != 0) rc = sq_worker_write(c->s, x);
        if (!dies) return rc;
        free(x->body);
        x->body = NULL;
    }
    return rc;
}

/* ---- Jobs that were taken ------------------------------------------------------------------------------------- */

static int find_job(struct commit *c, struct wf_store_change *x)
{
    int rc;
    const char *queue;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_JOB, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, (int64_t)x->id);
    rc = sqlite3_step(row);
    const bool good = rc == SQLITE_ROW && sq_job_read(row, &x->job, &queue);
    if (rc == SQLITE_ROW && !good) x->error = WEFT_EFORMAT;
    else if (rc == SQLITE_DONE || (good && strcmp(queue, x->queue) != 0)) x->error = WEFT_ECLOSED;
    sqlite3_reset(row);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int remove_job(struct commit *c, struct wf_store_change *x)
{
    struct sq_queue *q = queue_for(c, x);
    if (q == NULL) return SQLITE_OK;
    if (q->will > 0) q->will--;
    int rc = delete_by_id(c->s, SQ_DELETE_JOB, x->id);
    if (rc == SQLITE_OK) rc = delete_by_id(c->s, SQ_DELETE_BODY, x->id);
    return rc == SQLITE_OK ? sq_worker_delete(c->s, x->id) : rc;
}

static int change_taken(struct commit *c, struct wf_store_change *x)
{
    struct wf_store_job *j = &x->job;
    int rc = find_job(c, x);
    if (rc != SQLITE_OK || x->error < 0) return rc;
    if (j->dead || j->lease == 0 || j->lease != x->lease) {
        x->error = WEFT_ECLOSED;
        return SQLITE_OK;
    }
    if (x->kind == WF_JOB_DONE) return remove_job(c, x);
    if (x->kind == WF_JOB_UNTAKE) j->attempts--;
    if (x->kind != WF_JOB_EXTEND) j->lease = 0;
    j->due = x->kind == WF_JOB_UNTAKE ? x->now : later(x->now, x->delay);
    if (x->kind == WF_JOB_RETURN && is_used_up(j, x->attempts)) kill_job(j, x->now);
    return write_job(c->s, j, x->queue, SQ_UPDATE_JOB);
}

/* ---- Dead ones ------------------------------------------------------------------------------------------------- */

static int revive_job(struct commit *c, struct wf_store_change *x, struct wf_store_job *j)
{
    j->dead = false;
    j->attempts = 0;
    j->due = x->now;
    x->count++;
    return write_job(c->s, j, x->queue, SQ_UPDATE_JOB);
}

/* Finds dead jobs of the queue, as many as fit into `all`. */
static int find_dead(struct commit *c, const struct wf_store_change *x, struct wf_store_job *all, size_t *count)
{
    int rc;
    const char *queue;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_DUE_JOBS, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, x->queue, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, 1);
    sqlite3_bind_int64(row, 3, INT64_MAX);
    while (*count < REVIVED_MAX && (rc = sqlite3_step(row)) == SQLITE_ROW)
        *count += sq_job_read(row, &all[*count], &queue) && strcmp(queue, x->queue) == 0 && all[*count].dead;
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int revive(struct commit *c, struct wf_store_change *x)
{
    struct wf_store_job *all = x->id != 0 ? NULL : calloc(REVIVED_MAX, sizeof *all);
    if (x->id == 0 && all == NULL) return SQLITE_NOMEM;
    size_t count = 0;
    int rc = x->id == 0 ? find_dead(c, x, all, &count) : find_job(c, x);
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) rc = revive_job(c, x, &all[i]);
    free(all);
    if (rc == SQLITE_OK && x->id != 0 && x->error == WEFT_OK && x->job.dead) rc = revive_job(c, x, &x->job);
    if (x->count == 0 && x->error != WEFT_EFORMAT) x->error = WEFT_ENOTFOUND;
    return rc;
}

/* ---- A batch --------------------------------------------------------------------------------------------------- */

static int change_one(struct commit *c, struct wf_store_change *x)
{
    x->error = WEFT_OK;
    if (!wf_store_topic_ok(x->queue) || x->delay < 0) {
        x->error = WEFT_EINVAL;
        return SQLITE_OK;
    }
    switch (x->kind) {
    case WF_JOB_PUT: return put(c, x);
    case WF_JOB_TAKE: return take(c, x);
    case WF_JOB_REVIVE: return revive(c, x);
    case WF_JOB_DONE:
    case WF_JOB_RETURN:
    case WF_JOB_UNTAKE:
    case WF_JOB_EXTEND: return change_taken(c, x);
    }
    x->error = WEFT_EINVAL;
    return SQLITE_OK;
}

static int write_count(struct commit *c)
{
    int rc;
    if (c->last_job == c->s->last_job) return SQLITE_OK;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_COUNT_JOBS, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, c->last_job);
    sqlite3_bind_int64(row, 2, sq_count_sum(c->last_job));
    return sq_step_once(row);
}

static void finish(struct commit *c, bool committed)
{
    for (struct sq_queue *q = c->touched, *next; q != NULL; q = next) {
        next = q->next_touched;
        q->touched = false;
        if (committed) q->jobs = q->will;
        if (q->jobs == 0) sq_queue_remove(c->s, q);
    }
    if (!committed) return;
    c->s->last_job = c->last_job;
    c->s->keys = c->keys;
}

static int check_batch(const struct wf_store_change *batch, size_t count)
{
    size_t bytes = 0, takes = 0;
    if (count == 0 || count > WF_STORE_BATCH_MAX) return WEFT_EINVAL;
    for (size_t i = 0; i < count; i++) {
        bytes += batch[i].kind == WF_JOB_PUT ? batch[i].size : 0;
        takes += batch[i].kind == WF_JOB_TAKE;
    }
    if (takes > WF_STORE_TAKES_MAX) return WEFT_EINVAL;
    return bytes > WF_STORE_BATCH_BYTES_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

static void clear_result(struct wf_store_change *x, int error)
{
    free(x->body);
    x->body = NULL;
    x->job = (struct wf_store_job){0};
    x->error = error;
}

int sq_change(struct wf_store *store, struct wf_store_change *batch, size_t count)
{
    struct sq_store *s = sq_of(store);
    int rc = check_batch(batch, count);
    for (size_t i = 0; i < count; i++) {
        batch[i].body = NULL;
        batch[i].count = 0;
        clear_result(&batch[i], rc);
    }
    if (rc == WEFT_OK) rc = sq_begin(s);
    if (rc == WEFT_OK) {
        struct commit c = {.s = s, .last_job = s->last_job, .keys = s->keys};
        int code = SQLITE_OK;
        for (size_t i = 0; i < count && code == SQLITE_OK; i++) code = change_one(&c, &batch[i]);
        if (code == SQLITE_OK) code = write_count(&c);
        rc = sq_finish(s, code);
        finish(&c, rc == WEFT_OK);
    }
    for (size_t i = 0; i < count; i++)
        if (rc < 0 || batch[i].error < 0) clear_result(&batch[i], rc < 0 ? rc : batch[i].error);
    return rc;
}
