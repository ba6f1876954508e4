/* weft/dir.h -- the entries of a directory. */
#ifndef WEFT_DIR_H
#define WEFT_DIR_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_dir;

typedef enum {
    WEFT_DIR_UNKNOWN, /* the system, or this file system, does not tell */
    WEFT_DIR_FILE,
    WEFT_DIR_DIRECTORY,
    WEFT_DIR_LINK,
    WEFT_DIR_OTHER, /* a pipe, a socket, a device */
} weft_dir_kind;

enum { WEFT_DIR_NAME = 1024 }; /* bytes of a name at most, with its NUL */

typedef struct {
    weft_dir_kind kind;
    char name[WEFT_DIR_NAME]; /* without the name of the directory */
} weft_dir_entry;

/* [A, W] Opens a directory. It is closed by weft_dir_close or when the actor ends; only this actor can use it.
 * Errors: WEFT_ENOTFOUND (also if it is not a directory), WEFT_EACCESS, WEFT_EFULL (out of descriptors),
 * WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_dir_open(weft_dir *out, const char *path, int64_t deadline);
/* [A, W] Reads the next entry, in no particular order, without "." and "..". Returns 1, or 0 if there are no more. An
 * entry that is created or removed meanwhile may or may not be among them. After WEFT_ETIMEDOUT nothing is lost: call
 * it again. WEFT_ECLOSED. */
WEFT_API WEFT_CHECKED int weft_dir_next(weft_dir d, weft_dir_entry *out, int64_t deadline);
/* [A] Closes the directory. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_dir_close(weft_dir d);

WEFT_END
#endif
