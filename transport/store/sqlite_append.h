/* transport/store/sqlite_append.h -- the writer. */
#ifndef WF_STORE_SQLITE_APPEND_H
#define WF_STORE_SQLITE_APPEND_H

#include "sqlite.h"

int sq_append(struct wf_store *s, struct wf_store_append *batch, size_t count);
int sq_trim(struct wf_store *s, const char *topic, const struct wf_store_limits *limits, int64_t now);
/* Begins a transaction of the writer. Returns 0 or a WEFT_E*. */
int sq_begin(struct sq_store *s);
/* Ends the transaction of the writer, whose result so far is `rc`, a code of SQLite: commits, or rolls back. Returns
 * a WEFT_E*. */
int sq_finish(struct sq_store *s, int rc);
int64_t sq_record_sum(uint64_t epoch, const struct wf_store_record *r);

#endif
