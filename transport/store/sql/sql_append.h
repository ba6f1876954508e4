/* transport/store/sql/sql_append.h -- the writer. */
#ifndef WF_STORE_SQL_APPEND_H
#define WF_STORE_SQL_APPEND_H

#include "sql.h"

int sql_append(struct wf_store *s, struct wf_store_append *batch, size_t count);
int sql_trim(struct wf_store *s, const char *topic, const struct wf_store_limits *limits, int64_t now);
/* Reads a row of SQL_READ_RECORDS. False: it is not what was written under its offset, in a log with that epoch. */
bool sql_record_read(struct sql_row *row, uint64_t epoch, struct wf_store_record *out);

#endif
