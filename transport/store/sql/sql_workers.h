/* transport/store/sql/sql_workers.h -- which worker has a job: kept so that a store that is opened again can monitor it. */
#ifndef WF_STORE_SQL_WORKERS_H
#define WF_STORE_SQL_WORKERS_H

#include "sql.h"

/* For the writer, when a job was taken. Returns 0 or a WEFT_E*. When a lease ends its row stays: it has another lease
 * than the job then. */
int sql_worker_write(struct sql_store *s, const struct wf_store_change *x);

int sql_leases(struct wf_store *s, int64_t now, wf_store_each_lease *each, void *arg);
/* As sql_check_jobs. */
int sql_check_workers(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
