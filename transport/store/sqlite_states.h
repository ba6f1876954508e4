/* transport/store/sqlite_states.h -- the writer of states, and the numbers about them that it keeps in memory. */
#ifndef WF_STORE_SQLITE_STATES_H
#define WF_STORE_SQLITE_STATES_H

#include "sqlite.h"

int sq_change_states(struct wf_store *s, struct wf_store_state_change *batch, size_t count);
/* Reads all rows of states, and counts the damaged ones. */
int sq_states_load(struct sq_store *s, struct wf_store_why *why);
int64_t sq_state_count_sum(int64_t count, int64_t last);

#endif
