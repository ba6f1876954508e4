/* transport/store/sql/sql_workers.c -- see sql_workers.h. */
#include "crc32c.h"
#include "sql_connection.h"
#include "sql_jobs.h"
#include "sql_workers.h"

static int64_t worker_sum(uint64_t id, uint64_t lease, uint64_t node, uint64_t actor)
{
    uint64_t numbers[] = {id, lease, node, actor};
    return wf_crc32c(0, numbers, sizeof numbers);
}

int sql_worker_write(struct sql_store *s, const struct wf_store_change *x)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_INSERT_WORKER, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)x->job.id);
    sql_bind_int(row, 2, (int64_t)x->job.lease);
    sql_bind_int(row, 3, (int64_t)x->node);
    sql_bind_int(row, 4, (int64_t)x->actor);
    sql_bind_int(row, 5, worker_sum(x->job.id, x->job.lease, x->node, x->actor));
    return sql_run(row);
}

/* A row that is damaged is passed over: that lease ends by time. */
int sql_leases(struct wf_store *store, int64_t now, wf_store_each_lease *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct sql_connection *c;
    int rc;
    bool goes_on = true;
    if (!s->has_workers) return WEFT_OK;
    struct sql_row *row = sql_query(s, SQL_LEASES, &c, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_int(row, 1, now);
    while (goes_on && (rc = sql_step(row)) == SQL_ROW) {
        struct wf_store_job job;
        const char *queue;
        struct wf_store_lease l = {.node = (uint64_t)sql_int(row, 9), .actor = (uint64_t)sql_int(row, 10)};
        if (!sql_job_read(row, &job, &queue) || job.dead || job.lease == 0) continue;
        if (sql_int(row, 11) != worker_sum(job.id, job.lease, l.node, l.actor)) continue;
        l.queue = queue;
        l.id = job.id;
        l.lease = job.lease;
        l.due = job.due;
        l.tag = job.tag;
        goes_on = each(arg, &l);
    }
    sql_query_end(s, c, row);
    return sql_error(rc);
}

int sql_check_workers(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    int code;
    if (!s->has_workers) return 0;
    struct sql_connection *c;
    struct sql_row *row = sql_query(s, SQL_ALL_WORKERS, &c, &code);
    while (row != NULL && (code = sql_step(row)) == SQL_ROW) {
        uint64_t id = (uint64_t)sql_int(row, 0), lease = (uint64_t)sql_int(row, 1), node = (uint64_t)sql_int(row, 2),
                 actor = (uint64_t)sql_int(row, 3);
        if (sql_int(row, 4) == worker_sum(id, lease, node, actor)) continue;
        each(arg, NULL, id, "the worker of the job is damaged");
    }
    sql_query_end(s, c, row);
    return sql_error(code);
}
