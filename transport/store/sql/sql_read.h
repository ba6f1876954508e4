/* transport/store/sql/sql_read.h -- readers. */
#ifndef WF_STORE_SQL_READ_H
#define WF_STORE_SQL_READ_H

#include "sql.h"

int sql_read(struct wf_store *s, const char *topic, uint64_t from, size_t count, size_t bytes,
             wf_store_each_record *each, void *arg, struct wf_store_log *log);
int sql_find(struct wf_store *s, const char *topic, struct wf_store_log *out);
int sql_list(struct wf_store *s, const char *after, wf_store_each_log *each, void *arg);

#endif
