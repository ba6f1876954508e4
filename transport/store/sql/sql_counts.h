/* transport/store/sql/sql_counts.h -- how many jobs of each state a queue has. */
#ifndef WF_STORE_SQL_COUNTS_H
#define WF_STORE_SQL_COUNTS_H

#include "sql.h"

/* A job of the queue becomes `is`; was NULL: it is new; is NULL: it is removed. In a transaction of the writer. */
void sql_count_job(struct sql_queue *q, const struct wf_store_job *was, const struct wf_store_job *is);
/* Reads all jobs of the store into the counts of its queues, which it adds. */
int sql_counts_load(struct sql_store *s);

/* When the first job that is not due yet becomes due; INT64_MAX: there is no such job. */
int sql_next_due(struct sql_connection *c, const char *queue, int64_t now, int64_t *out);

int sql_queues(struct wf_store *s, const char *after, int64_t now, wf_store_each_queue *each, void *arg);

#endif
