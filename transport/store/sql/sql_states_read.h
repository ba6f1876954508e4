/* transport/store/sql/sql_states_read.h -- states as readers see them, and their rows. */
#ifndef WF_STORE_SQL_STATES_READ_H
#define WF_STORE_SQL_STATES_READ_H

#include "sql.h"

int sql_states(struct wf_store *s, const char *after, wf_store_each_state *each, void *arg);
int sql_read_state(struct wf_store *s, const char *key, uint64_t owner, uint64_t from, size_t count, size_t bytes,
                   wf_store_each_item *each, void *arg);
/* Reads all states, snapshots and events, as sql_check_jobs. */
int sql_check_states(struct wf_store *s, wf_store_each_fault *each, void *arg);

/* Reads a row of SQL_STATE and its like. False: the row is damaged; its key is empty then if it is no key. */
bool sql_state_read(struct sql_row *row, struct wf_store_state *out, int64_t *id);
int64_t sql_state_sum(const struct wf_store_state *state, int64_t id);
int64_t sql_item_sum(const struct wf_store_item *item, int64_t state);
/* Finds the row of a state. Returns 0, WEFT_ENOTFOUND, WEFT_EFORMAT (it is damaged) or another WEFT_E*. */
int sql_state_find(struct sql_connection *c, const char *key, struct wf_store_state *out, int64_t *id);

#endif
