/* transport/store/sql/sql_workers.h -- which worker has a job: kept so that a store that is opened again can monitor it. */
#ifndef WF_STORE_SQL_WORKERS_H
#define WF_STORE_SQL_WORKERS_H

#include "sql.h"

/* For the writer; they return 0 or a WEFT_E*. The first one of a job that was taken, the second one of one that is
 * removed. When a lease ends its row stays: it has another lease than the job then. */
int sql_worker_write(struct sql_store *s, const struct wf_store_change *x);
int sql_worker_delete(struct sql_store *s, uint64_t id);

int sql_leases(struct wf_store *s, int64_t now, wf_store_each_lease *each, void *arg);
/* Returns the number of faults. */
int sql_check_workers(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
