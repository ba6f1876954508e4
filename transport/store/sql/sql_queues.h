/* transport/store/sql/sql_queues.h -- queues as readers see them, and what is kept of them in memory. */
#ifndef WF_STORE_SQL_QUEUES_H
#define WF_STORE_SQL_QUEUES_H

#include "sql.h"

int sql_queues(struct wf_store *s, int64_t now, wf_store_each_queue *each, void *arg);
int sql_jobs(struct wf_store *s, const char *queue, bool dead, wf_store_each_job *each, void *arg);
/* Reads all jobs, bodies and keys. Returns the number of faults. */
int sql_check_jobs(struct wf_store *s, wf_store_each_fault *each, void *arg);

/* The writer's list of queues. */
struct sql_queue *sql_queue_find(const struct sql_store *s, const char *name);
struct sql_queue *sql_queue_add(struct sql_store *s, const char *name); /* NULL: no memory */
void sql_queue_remove(struct sql_store *s, struct sql_queue *q);
int sql_queues_load(struct sql_store *s, struct wf_store_why *why);
void sql_queues_free(struct sql_store *s);

#endif
