/* transport/store/client/shared_member.h -- members of shared cursors, for a store of a given name. */
#ifndef WF_SHARED_MEMBER_H
#define WF_SHARED_MEMBER_H

#include <stdbool.h>

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/store.h>

/* Whether this can be the name of a shared cursor: words with dots between them. */
WEFT_API bool wf_shared_name_ok(const char *name);
/* [A, W] Starts an actor that takes records for the calling one. `store`: "weft.store@NODE", and the actor ends
 * when that does not answer; NULL: the store that has the name, and later its successor. Errors: those of
 * weft_subscribe_shared. */
WEFT_API WEFT_CHECKED int wf_shared_member_start(const char *store, const char *name, const char *pattern,
                                                 uint32_t bound, weft_pid *out, int64_t deadline);
/* [A, W] As weft_shared_done_upto. */
WEFT_API WEFT_CHECKED int wf_shared_done_upto(const char *store, const struct weft_stored *got, int64_t deadline);

#endif
