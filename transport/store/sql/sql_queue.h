/* transport/store/sql/sql_queue.h -- the queues that have jobs, in memory: under `queue_lock`. They are an array in the
 * order of their names, WF_STORE_QUEUES_MAX at most, so that a page of the list costs no more than its rows. */
#ifndef WF_STORE_SQL_QUEUE_H
#define WF_STORE_SQL_QUEUE_H

#include "sql.h"

struct sql_queue *sql_queue_find(const struct sql_store *s, const char *name); /* NULL: it has no jobs */
struct sql_queue *sql_queue_add(struct sql_store *s, const char *name);        /* NULL: no memory */
/* The place of the first queue whose name is behind `name`. */
size_t sql_queue_behind(const struct sql_store *s, const char *name);
void sql_queue_remove(struct sql_store *s, struct sql_queue *q);
void sql_queues_free(struct sql_store *s);

#endif
