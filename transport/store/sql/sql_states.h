/* transport/store/sql/sql_states.h -- the writer of states, and what it knows of them. */
#ifndef WF_STORE_SQL_STATES_H
#define WF_STORE_SQL_STATES_H

#include "sql.h"

int sql_change_states(struct wf_store *s, struct wf_store_state_change *batch, size_t count);
/* Reads all rows of states, and counts the damaged ones. */
int sql_states_load(struct sql_store *s, struct wf_store_why *why);
int64_t sql_state_count_sum(int64_t count, int64_t last);

#endif
