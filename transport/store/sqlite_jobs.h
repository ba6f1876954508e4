/* transport/store/sqlite_jobs.h -- the writer of queues, and the rows of jobs. */
#ifndef WF_STORE_SQLITE_JOBS_H
#define WF_STORE_SQLITE_JOBS_H

#include "sqlite.h"

int sq_change(struct wf_store *s, struct wf_store_change *batch, size_t count);

/* Reads a row of SQ_JOB and its like, but not the size. `queue` is valid until the row's statement is stepped or
 * reset. False: the row is damaged. */
bool sq_job_read(sqlite3_stmt *row, struct wf_store_job *out, const char **queue);
/* Finds the body of a job and sets its size. The bytes are valid until `*row` is reset, which the caller does if it is
 * not NULL. Returns 0, WEFT_EFORMAT or another WEFT_E*. */
int sq_job_body(struct sq_connection *c, struct wf_store_job *job, const void **body, sqlite3_stmt **row);
int64_t sq_key_sum(const char *queue, const char *name, int64_t job, int64_t until);

#endif
