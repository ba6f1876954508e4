/* transport/store/sql/sql_check.h -- reads everything. */
#ifndef WF_STORE_SQL_CHECK_H
#define WF_STORE_SQL_CHECK_H

#include "sql.h"

int sql_check(struct wf_store *s, wf_store_each_fault *each, void *arg);

#endif
