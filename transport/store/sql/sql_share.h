/* transport/store/sql/sql_share.h -- shared cursors: what the records behind one become. */
#ifndef WF_STORE_SQL_SHARE_H
#define WF_STORE_SQL_SHARE_H

#include "shared_record.h"
#include "sql.h"

/* Gets one record, or a gap, of the log with this id. Returns 0 or a WEFT_E*. */
typedef int sql_share_each(void *arg, int64_t log, const struct wf_shared_record *r);

/* In a transaction of the writer: gives the records behind the cursor (x->queue, x->topic) to `each`, at most
 * `space` of them, and advances the cursor. Sets x->error and the results of WF_JOB_SHARE. Returns 0, or the error
 * of the batch. */
int sql_share(struct sql_store *s, struct wf_store_change *x, uint64_t space, sql_share_each *each, void *arg);

#endif
