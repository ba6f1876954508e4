/* transport/store/sql/sql_append.h -- the writer. */
#ifndef WF_STORE_SQL_APPEND_H
#define WF_STORE_SQL_APPEND_H

#include "sql.h"

int sql_append(struct wf_store *s, struct wf_store_append *batch, size_t count);
int sql_trim(struct wf_store *s, const char *topic, const struct wf_store_limits *limits, int64_t now);

#endif
