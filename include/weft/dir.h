/* weft/dir.h -- what is in a directory. */
#ifndef WEFT_DIR_H
#define WEFT_DIR_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_dir;

typedef enum {
    WEFT_DIR_UNKNOWN, /* the system does not say; so do some file systems */
    WEFT_DIR_FILE,
    WEFT_DIR_DIRECTORY,
    WEFT_DIR_LINK,
    WEFT_DIR_OTHER, /* a pipe, a socket, a device */
} weft_dir_kind;

enum { WEFT_DIR_NAME = 1024 }; /* bytes of a name at most, with its NUL */

typedef struct {
    weft_dir_kind kind;
    char name[WEFT_DIR_NAME]; /* without the directory's */
} weft_dir_entry;

/* [A, W] Closed by weft_dir_close or when the actor ends; it is of use to this actor only. WEFT_ENOTFOUND (also if it
 * is no directory), WEFT_EACCESS, WEFT_EFULL (out of descriptors). */
WEFT_API WEFT_CHECKED int weft_dir_open(weft_dir *out, const char *path, int64_t deadline);
/* [A, W] 1: the next entry, in no order, without "." and ".."; 0: there are no more. What is made or removed
 * meanwhile may be among them or not. WEFT_ETIMEDOUT loses nothing: ask again. WEFT_ECLOSED. */
WEFT_API WEFT_CHECKED int weft_dir_next(weft_dir d, weft_dir_entry *out, int64_t deadline);
/* [A] WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_dir_close(weft_dir d);

WEFT_END
#endif
