/* transport/store/sqlite_workers.h -- stores which worker has a job, so that a store that is opened again can monitor
 * the worker. */
#ifndef WF_STORE_SQLITE_WORKERS_H
#define WF_STORE_SQLITE_WORKERS_H

#include "sqlite.h"

/* The writer calls these; they return codes of SQLite. The first writes the row of a job that was taken, the second
 * removes the row of a job that is removed. When a lease ends its row stays: then its lease differs from that of the
 * job, so it has no effect. */
int sq_worker_write(struct sq_store *s, const struct wf_store_change *x);
int sq_worker_delete(struct sq_store *s, uint64_t id);

int sq_leases(struct wf_store *s, int64_t now, wf_store_each_lease *each, void *arg);
/* Returns the number of faults. */
int sq_check_workers(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
