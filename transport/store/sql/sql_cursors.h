/* transport/store/sql/sql_cursors.h -- cursors. */
#ifndef WF_STORE_SQL_CURSORS_H
#define WF_STORE_SQL_CURSORS_H

#include "sql.h"

int sql_cursor(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor *out);
int sql_advance(struct wf_store *s, struct wf_store_advance *batch, size_t count);
int sql_cursors(struct wf_store *s, const char *name, const char *topic, wf_store_each_cursor *each, void *arg);
/* For the writer, in a transaction. Finds the shared cursor of that name ("$shared.NAME") and topic; `*error` is
 * WEFT_OK, WEFT_EFORMAT, WEFT_EEXIST (there is none, and there is a plain one) or WEFT_EFULL. Returns 0 or a
 * WEFT_E*. */
int sql_cursor_of_both(struct sql_store *s, const char *name, const char *topic, struct wf_store_cursor *out,
                       int *error);
/* Writes it; `was` is what sql_cursor_of_both has found. */
int sql_cursor_write(struct sql_store *s, const char *name, const char *topic, const struct wf_store_cursor *was,
                     struct wf_store_cursor to);
/* Reads all cursors, as sql_check_jobs (sql_queues.h). */
int sql_check_cursors(struct wf_store *s, wf_store_each_fault *fault, void *arg);

#endif
