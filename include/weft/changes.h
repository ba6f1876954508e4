/* weft/changes.h -- changes in a directory, or in one file, as a source that actors can wait for. */
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
    /* the entry was created, or was moved here; it may have replaced another entry of that name */
    WEFT_CHANGE_CREATED = 1,
    WEFT_CHANGE_REMOVED,  /* the entry is gone: removed, or moved away */
    WEFT_CHANGE_MODIFIED, /* its contents changed; a writer that is not done may cause many such changes */
    WEFT_CHANGE_OVERFLOW, /* changes came faster than they were taken, and some are lost: look at all entries */
    /* the watched directory or file has itself been removed or moved away, or the system no longer watches it; no
     * more changes follow. On Linux a file counts as removed when no process has it open and it has no other name: to
     * follow a file that its writer keeps open, watch the directory */
    WEFT_CHANGE_GONE,
} weft_change_kind;

enum { WEFT_CHANGE_NAME = 1024 }; /* bytes of a name at most, with its NUL */

typedef struct {
    weft_change_kind kind;
    /* name in the directory; "" if the change concerns the watched file itself, or everything */
    char name[WEFT_CHANGE_NAME];
} weft_change;

/* [A] Watches `path`: a directory and its direct entries, or one file. Changes are reported from this call on, so
 * look at the present contents after it. The watch stays open until weft_changes_close. Like a stream it belongs to
 * one actor at a time (weft/stream.h). Opening and closing a watch do not suspend, and no other actor of the worker
 * runs meanwhile: on Linux, opening takes 0.02 ms, or up to 120 ms for a directory of which the kernel has cached
 * 200,000 names; closing takes 1 to 30 ms, as the kernel waits for the end of reports under way. On BSD and macOS each
 * file of a directory takes a descriptor, and changes that follow each other closely become one: docs/platforms.md.
 * Errors: WEFT_ENOTFOUND, WEFT_EACCESS, WEFT_EFULL (the system's limit of watches or descriptors), WEFT_ENOTSUP (not
 * on this system). */
WEFT_API WEFT_CHECKED int weft_changes_open(weft_changes *out, const char *path);
/* [A] Closes the watch when the calling actor ends. Errors: WEFT_ECLOSED; WEFT_ENOMEM (the watch has been closed). */
WEFT_API int weft_changes_defer_close(weft_changes c);
/* Ready when there is a change to take. */
WEFT_API weft_wait weft_on_changes(weft_changes c);
/* [A, W] Takes the next change, in the order in which the changes came. Returns 1, or 0 if no more will come: after
 * WEFT_CHANGE_GONE; or without it, if the system has given up a watch whose changes were not taken in time.
 * Errors: WEFT_ECLOSED, WEFT_EBUSY, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_changes_next(weft_changes c, weft_change *out, int64_t deadline);
/* [A] Closes the watch. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_changes_close(weft_changes c);

WEFT_END
#endif
