/* transport/store/client/stored_cursor.h -- requests about cursors, for a store of a given name. */
#ifndef WF_STORED_CURSOR_H
#define WF_STORED_CURSOR_H

#include <weft/api.h>
#include <weft/store.h>

/* [A, W] Finds the position of the cursor of a topic; 0, 0: it has not been advanced. Errors: those of
 * weft_subscribe_cursor; WEFT_ENOTSUP (the store is of an older version). */
WEFT_API WEFT_CHECKED int wf_cursor_find(const char *store, const char *name, const char *topic,
                                         struct weft_position *out, int64_t deadline);
/* [A, W] As weft_cursor_advance; the position 0, 0 removes the cursor. */
WEFT_API WEFT_CHECKED int wf_cursor_advance(const char *store, const char *name, const char *topic,
                                            struct weft_position to, int64_t deadline);

#endif
