/* transport/store/sqlite_queues.h -- queues as readers see them, and the data about them in memory. */
#ifndef WF_STORE_SQLITE_QUEUES_H
#define WF_STORE_SQLITE_QUEUES_H

#include "sqlite.h"

int sq_queues(struct wf_store *s, int64_t now, wf_store_each_queue *each, void *arg);
int sq_jobs(struct wf_store *s, const char *queue, bool dead, wf_store_each_job *each, void *arg);
/* Reads all jobs, bodies and keys. Returns the number of faults. */
int sq_check_jobs(struct wf_store *s, wf_store_each_fault *each, void *arg);

/* Finds a queue in the writer's list. */
struct sq_queue *sq_queue_find(const struct sq_store *s, const char *name);
struct sq_queue *sq_queue_add(struct sq_store *s, const char *name); /* NULL: no memory */
void sq_queue_remove(struct sq_store *s, struct sq_queue *q);
int sq_queues_load(struct sq_store *s, struct wf_store_why *why);
void sq_queues_free(struct sq_store *s);

#endif
