/* transport/store/sql/sql_logs.h -- the logs in memory. All functions are called under the lock, or while no
 * other thread knows the store. */
#ifndef WF_STORE_SQL_LOGS_H
#define WF_STORE_SQL_LOGS_H

#include "sql.h"

struct sql_log *sql_log_find(const struct sql_store *s, const char *topic);
struct sql_log *sql_log_add(struct sql_store *s, const char *topic); /* NULL: no memory */
/* Copies the first stored log behind the topic `after` (NULL: the first one), and sets `*place`, which a walk through all
 * logs begins with 0, so that each step costs the same however many there are. False: there is none. */
bool sql_log_next(struct sql_store *s, const char *after, size_t *place, struct wf_store_log *out);
/* Reads the row of one log again. */
int sql_log_load(struct sql_log *log, struct sql_connection *c);
int sql_logs_load(struct sql_store *s, struct sql_connection *c, struct wf_store_why *why);
void sql_logs_free(struct sql_store *s);
int64_t sql_log_sum(int64_t id, const struct wf_store_log *log);
int64_t sql_count_sum(int64_t count);

#endif
