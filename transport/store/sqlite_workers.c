/* transport/store/sqlite_workers.c -- see sqlite_workers.h. */
#include "crc32c.h"
#include "sqlite_connection.h"
#include "sqlite_jobs.h"
#include "sqlite_workers.h"

static int64_t worker_sum(uint64_t id, uint64_t lease, uint64_t node, uint64_t actor)
{
    uint64_t numbers[] = {id, lease, node, actor};
    return wf_crc32c(0, numbers, sizeof numbers);
}

int sq_worker_write(struct sq_store *s, const struct wf_store_change *x)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_INSERT_WORKER, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, (int64_t)x->job.id);
    sqlite3_bind_int64(row, 2, (int64_t)x->job.lease);
    sqlite3_bind_int64(row, 3, (int64_t)x->node);
    sqlite3_bind_int64(row, 4, (int64_t)x->actor);
    sqlite3_bind_int64(row, 5, worker_sum(x->job.id, x->job.lease, x->node, x->actor));
    return sq_step_once(row);
}

int sq_worker_delete(struct sq_store *s, uint64_t id)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_DELETE_WORKER, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, (int64_t)id);
    return sq_step_once(row);
}

/* A damaged row is skipped: then that lease ends when it expires. */
static int give_leases(struct sq_connection *c, int64_t now, wf_store_each_lease *each, void *arg)
{
    int rc;
    bool goes_on = true;
    sqlite3_stmt *row = sq_prepare(c, SQ_LEASES, &rc);
    if (row == NULL) return sq_error(rc);
    sqlite3_bind_int64(row, 1, now);
    while (goes_on && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        struct wf_store_job job;
        const char *queue;
        struct wf_store_lease l = {.node = (uint64_t)sqlite3_column_int64(row, 9),
                                   .actor = (uint64_t)sqlite3_column_int64(row, 10)};
        if (!sq_job_read(row, &job, &queue) || job.dead || job.lease == 0) continue;
        if (sqlite3_column_int64(row, 11) != worker_sum(job.id, job.lease, l.node, l.actor)) continue;
        l.queue = queue;
        l.id = job.id;
        l.lease = job.lease;
        l.due = job.due;
        goes_on = each(arg, &l);
    }
    sqlite3_reset(row);
    return sq_error(rc);
}

int sq_leases(struct wf_store *store, int64_t now, wf_store_each_lease *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    int code;
    if (!s->has_workers) return WEFT_OK;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    int rc = give_leases(c, now, each, arg);
    sq_give_back(s, c);
    return rc;
}

int sq_check_workers(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    int code, faults = 0;
    if (!s->has_workers) return 0;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    sqlite3_stmt *row = sq_prepare(c, SQ_ALL_WORKERS, &code);
    while (row != NULL && (code = sqlite3_step(row)) == SQLITE_ROW) {
        uint64_t id = (uint64_t)sqlite3_column_int64(row, 0), lease = (uint64_t)sqlite3_column_int64(row, 1),
                 node = (uint64_t)sqlite3_column_int64(row, 2), actor = (uint64_t)sqlite3_column_int64(row, 3);
        if (sqlite3_column_int64(row, 4) == worker_sum(id, lease, node, actor)) continue;
        each(arg, NULL, id, "the worker of the job is damaged");
        faults++;
    }
    if (row != NULL) sqlite3_reset(row);
    sq_give_back(s, c);
    int rc = sq_error(code);
    return rc == WEFT_OK || rc == WEFT_EFORMAT ? faults : rc; /* check_pages has reported the damaged page */
}
