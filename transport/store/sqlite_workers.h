/* transport/store/sqlite_workers.h -- which worker has a job: kept so that a store that is opened again can monitor it. */
#ifndef WF_STORE_SQLITE_WORKERS_H
#define WF_STORE_SQLITE_WORKERS_H

#include "sqlite.h"

/* For the writer; they return codes of SQLite. The first one of a job that was taken, the second one of one that is
 * removed. When a lease ends its row stays: it has another lease than the job then. */
int sq_worker_write(struct sq_store *s, const struct wf_store_change *x);
int sq_worker_delete(struct sq_store *s, uint64_t id);

int sq_leases(struct wf_store *s, int64_t now, wf_store_each_lease *each, void *arg);
/* Returns the number of faults. */
int sq_check_workers(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
