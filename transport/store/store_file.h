/* transport/store/store_file.h -- an open store that an actor and its blocking functions share; the last release
 * closes it. */
#ifndef WF_STORE_FILE_H
#define WF_STORE_FILE_H

#include <stdatomic.h>

#include <weft/api.h>

#include "engine.h"

struct wf_store_file {
    struct wf_store *store;
    atomic_int users;
};

/* Opens the store of a URL, "sqlite:FILE". Blocks. Errors: those of wf_store_engine.open; WEFT_EINVAL: no such
 * engine. */
WEFT_API int wf_store_file_open(struct wf_store_file **out, const char *url, bool read_only,
                                struct wf_store_why *why);
struct wf_store_file *wf_store_file_share(struct wf_store_file *f);
WEFT_API void wf_store_file_release(struct wf_store_file *f); /* NULL is allowed; the last release blocks */
/* [A, W] Releases the file in a clean-up of an actor; waits for a thread that does it. */
void wf_store_file_leave(struct wf_store_file *f);

#endif
