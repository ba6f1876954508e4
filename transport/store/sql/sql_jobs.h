/* transport/store/sql/sql_jobs.h -- the writer of queues, and the rows of jobs. */
#ifndef WF_STORE_SQL_JOBS_H
#define WF_STORE_SQL_JOBS_H

#include "sql.h"

int sql_change(struct wf_store *s, struct wf_store_change *batch, size_t count);

/* Reads a row of SQL_JOB and its like, but not the size. `queue` is valid until the row's statement goes on. False: the
 * row is damaged. */
bool sql_job_read(struct sql_row *row, struct wf_store_job *out, const char **queue);
/* Finds the body of a job and sets its size. The bytes are valid until `*row` is reset, which the caller does if it is
 * not NULL. Returns 0, WEFT_EFORMAT or another WEFT_E*. */
int sql_job_body(struct sql_connection *c, struct wf_store_job *job, const void **body, struct sql_row **row);
int64_t sql_key_sum(const char *queue, const char *name, int64_t job, int64_t until);

#endif
