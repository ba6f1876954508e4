/* transport/store/sql/sql_cursors.h -- cursors. */
#ifndef WF_STORE_SQL_CURSORS_H
#define WF_STORE_SQL_CURSORS_H

#include "sql.h"

int sql_cursor(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor *out);
int sql_advance(struct wf_store *s, struct wf_store_advance *batch, size_t count);
int sql_cursors(struct wf_store *s, const char *name, const char *topic, wf_store_each_cursor *each, void *arg);
/* Returns the number of damaged cursors. */
int sql_check_cursors(struct wf_store *s, wf_store_each_fault *fault, void *arg);

#endif
