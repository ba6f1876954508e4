/* weft/changes.h -- what changes in a directory, or in one file, as something to wait for. */
#ifndef WEFT_CHANGES_H
#define WEFT_CHANGES_H

#include <weft/api.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_changes;

typedef enum {
    WEFT_CHANGE_CREATED = 1, /* it is there now: made, or moved here, perhaps over one of the same name */
    WEFT_CHANGE_REMOVED,     /* it is gone: removed, or moved away */
    WEFT_CHANGE_MODIFIED,    /* its contents; a writer that is not done may cause many */
    WEFT_CHANGE_OVERFLOW,    /* changes came faster than they were taken, and some are lost: look at all of it */
    WEFT_CHANGE_GONE,        /* what is watched has itself been removed or moved away, or the system watches it no
                                longer; nothing more comes */
} weft_change_kind;

enum { WEFT_CHANGE_NAME = 1024 }; /* bytes of a name at most, with its NUL */

typedef struct {
    weft_change_kind kind;
    char name[WEFT_CHANGE_NAME]; /* in the directory; "" if it is the watched file itself, or all */
} weft_change;

/* [A] Watches `path`: a directory and what is directly in it, or one file. From now on, so look at what is there
 * after this call. Open until weft_changes_close or weft_changes_defer_close's actor ends; it belongs to one actor at
 * a time, like a stream. WEFT_ENOTFOUND, WEFT_EACCESS, WEFT_EFULL (the system's limit of watches or descriptors),
 * WEFT_ENOTSUP: not on this system.
 * On BSD and macOS each file of a directory takes a descriptor, and changes close upon each other become one:
 * docs/platforms.md. */
WEFT_API WEFT_CHECKED int weft_changes_open(weft_changes *out, const char *path);
WEFT_API int weft_changes_defer_close(weft_changes c);
/* There is a change to take. */
WEFT_API weft_wait weft_on_changes(weft_changes c);
/* [A, W] 1: the next one, in the order they came. 0: nothing more will come: after WEFT_CHANGE_GONE, or
 * without it, where the system gave up a watch whose changes nobody took. WEFT_ECLOSED, WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int weft_changes_next(weft_changes c, weft_change *out, int64_t deadline);
/* [A] WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_changes_close(weft_changes c);

WEFT_END
#endif
