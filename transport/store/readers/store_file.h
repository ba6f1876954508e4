/* transport/store/readers/store_file.h -- an open store that actors and their blocking functions share: the last one
 * closes it.
 *
 * An actor is started with the number of a file, and not with a share of it: it may be killed before it first runs, and
 * then nobody would release the share. */
#ifndef WF_STORE_FILE_H
#define WF_STORE_FILE_H

#include <stdint.h>

#include <weft/api.h>

#include "engine.h"

struct wf_store_file {
    struct wf_store *store;
    uint64_t number; /* another one for each file that this process opens */
    int users;       /* with a lock of all files, as `next` */
    struct wf_store_file *next;
};

/* Writes what messages say of a URL: without a password, if it has one. */
WEFT_API void wf_store_url_show(const char *url, char *out, size_t size);
/* Whether it is a URL of a store, without a look at files or servers. WEFT_EINVAL, and `why` says what is wrong. */
WEFT_API int wf_store_url_check(const char *url, struct wf_store_why *why);
/* Opens the store of a URL, "sqlite:FILE" or "postgres:URL". Blocks. Errors: those of wf_store_engine.open; WEFT_EINVAL: no such
 * engine. */
WEFT_API int wf_store_file_open(struct wf_store_file **out, const char *url, bool read_only,
                                struct wf_store_why *why);
/* The same, with all that can be said of an opening. */
int wf_store_file_open_as(struct wf_store_file **out, const char *url, const struct wf_store_opening *how,
                          struct wf_store_why *why);
/* Reads the mark of a store beside its owner. Blocks. Errors: those of wf_store_engine.look; WEFT_ENOTSUP: the stores of that
 * engine have no marks. */
int wf_store_file_look(const char *url, struct wf_store_mark *out, struct wf_store_why *why);
/* The mark of an open store; `owner` is 0 if it has none. */
void wf_store_file_mark(const struct wf_store_file *f, struct wf_store_mark *out);
struct wf_store_file *wf_store_file_share(struct wf_store_file *f);
/* A share of the file with that number; NULL: it is closed. */
struct wf_store_file *wf_store_file_find(uint64_t number);
WEFT_API void wf_store_file_release(struct wf_store_file *f); /* NULL is allowed; the last one blocks */
/* [A, W] The same for a clean-up of an actor, which waits for a thread that releases it. */
void wf_store_file_leave(struct wf_store_file *f);

#endif
