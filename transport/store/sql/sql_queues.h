/* transport/store/sql/sql_queues.h -- queues as readers see them, and what is kept of them in memory. */
#ifndef WF_STORE_SQL_QUEUES_H
#define WF_STORE_SQL_QUEUES_H

#include "sql.h"

int sql_jobs(struct wf_store *s, const char *queue, bool dead, wf_store_each_job *each, void *arg);
/* Reads all jobs, bodies and keys. Returns 0 or a WEFT_E*; WEFT_EFORMAT: a table cannot be read. */
int sql_check_jobs(struct wf_store *s, wf_store_each_fault *each, void *arg);

/* Reads again, from the tables, what is kept of the queues in memory. */
int sql_queues_load(struct sql_store *s, struct wf_store_why *why);

#endif
