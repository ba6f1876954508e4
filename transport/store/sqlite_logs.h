/* transport/store/sqlite_logs.h -- the logs in memory. All functions are called under the lock, or while no
 * other thread knows the store. */
#ifndef WF_STORE_SQLITE_LOGS_H
#define WF_STORE_SQLITE_LOGS_H

#include "sqlite.h"

struct sq_log *sq_log_find(const struct sq_store *s, const char *topic);
struct sq_log *sq_log_add(struct sq_store *s, const char *topic); /* NULL: no memory */
int sq_logs_load(struct sq_store *s, struct sq_connection *c, struct wf_store_why *why);
void sq_logs_free(struct sq_store *s);
int64_t sq_log_sum(int64_t id, const struct wf_store_log *log);
int64_t sq_count_sum(int64_t count);

#endif
