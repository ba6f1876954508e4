/* transport/store/sqlite_states_read.h -- states as readers see them, and their rows. */
#ifndef WF_STORE_SQLITE_STATES_READ_H
#define WF_STORE_SQLITE_STATES_READ_H

#include "sqlite.h"

int sq_states(struct wf_store *s, const char *after, wf_store_each_state *each, void *arg);
int sq_read_state(struct wf_store *s, const char *key, uint64_t owner, uint64_t from, size_t count, size_t bytes,
                  wf_store_each_item *each, void *arg);
/* Reads all states, snapshots and events. Returns the number of faults. */
int sq_check_states(struct wf_store *s, wf_store_each_fault *each, void *arg);

/* Reads a row of SQ_STATE and its like. False: the row is damaged; then its key is empty if it is not a valid key. */
bool sq_state_read(sqlite3_stmt *row, struct wf_store_state *out, int64_t *id);
int64_t sq_state_sum(const struct wf_store_state *state, int64_t id);
int64_t sq_item_sum(const struct wf_store_item *item, int64_t state);
/* Finds the row of a state. Returns 0, WEFT_ENOTFOUND, WEFT_EFORMAT (it is damaged) or another WEFT_E*. */
int sq_state_find(struct sq_connection *c, const char *key, struct wf_store_state *out, int64_t *id);

#endif
