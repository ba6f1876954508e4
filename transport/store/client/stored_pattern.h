/* transport/store/client/stored_pattern.h -- subscriptions to all stored topics that match a pattern. */
#ifndef WF_STORED_PATTERN_H
#define WF_STORED_PATTERN_H

#include <stdbool.h>

#include <weft/api.h>
#include <weft/pid.h>

/* [A, W] Starts an actor that starts a reader for the calling actor and each topic that matches, present or later.
 * `now`: of existing topics only records that are stored from now on. `cursor`: each begins where that cursor of its
 * topic is; NULL: none. `store`: "weft.store@NODE", and all readers end when it does not answer; NULL: the store that
 * has the name, and later its successor. Returns when the existing topics have been found. Errors: those of
 * weft_subscribe_from. */
WEFT_API WEFT_CHECKED int wf_stored_pattern_start(const char *store, const char *pattern, bool now,
                                                  const char *cursor, weft_pid *out, int64_t deadline);

#endif
