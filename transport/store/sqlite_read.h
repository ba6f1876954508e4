/* transport/store/sqlite_read.h -- readers. */
#ifndef WF_STORE_SQLITE_READ_H
#define WF_STORE_SQLITE_READ_H

#include "sqlite.h"

int sq_read(struct wf_store *s, const char *topic, uint64_t from, size_t count, size_t bytes,
            wf_store_each_record *each, void *arg, struct wf_store_log *log);
int sq_find(struct wf_store *s, const char *topic, struct wf_store_log *out);
int sq_list(struct wf_store *s, const char *after, wf_store_each_log *each, void *arg);

#endif
