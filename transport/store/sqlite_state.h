/* transport/store/sqlite_state.h -- snapshots and cursors. */
#ifndef WF_STORE_SQLITE_STATE_H
#define WF_STORE_SQLITE_STATE_H

#include "sqlite.h"

int sq_save(struct wf_store *s, const char *key, const void *data, size_t size);
int sq_load(struct wf_store *s, const char *key, void **out, size_t *size);
int sq_cursor(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor *out);
int sq_advance(struct wf_store *s, struct wf_store_advance *batch, size_t count);
int sq_cursors(struct wf_store *s, const char *name, const char *topic, wf_store_each_cursor *each, void *arg);
/* Returns the number of damaged cursors. */
int sq_check_cursors(struct wf_store *s, wf_store_each_fault *fault, void *arg);

#endif
