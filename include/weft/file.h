/* weft/file.h -- files: positioned reads and writes that suspend only the actor.
 *
 * Data that the system has in memory is read at once, without suspending (but other actors may run after each
 * megabyte). All other work is done by the node's threads for blocking functions (weft_node_options.offload_threads),
 * or by the kernel where it can. A file has no current position: each call gives its offset. So many actors, on any
 * worker, can use one file at once.
 *
 * While a call is running it works on memory of its own. An actor that gives up at a deadline, is cancelled or is
 * killed may use or free its buffer at once: nothing is written to it afterwards. A write that was given up may still
 * happen. */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_file;

enum {
    WEFT_FILE_READ = 1,
    WEFT_FILE_WRITE = 2,
    WEFT_FILE_CREATE = 4,    /* creates the file if it does not exist */
    WEFT_FILE_EXCLUSIVE = 8, /* with CREATE: WEFT_EEXIST if the file exists */
    WEFT_FILE_TRUNCATE = 16, /* with WRITE: cuts the file to 0 bytes */
    /* every write goes to the end of the file at that time; the offset must be WEFT_FILE_END */
    WEFT_FILE_APPEND = 32,
};
enum { WEFT_FILE_END = -1 };
enum { WEFT_FILE_OP_MAX = 16 * 1024 * 1024 }; /* bytes of one weft_file_*_start, or of one write that appends */

/* [A, W] Opens a file. `flags`: WEFT_FILE_READ, WEFT_FILE_WRITE or both, and other flags. `mode`: permissions of a
 * file that is created, such as 0644. The file is open until weft_file_close: see weft_file_defer_close.
 * Errors: WEFT_ENOTFOUND, WEFT_EACCESS, WEFT_EISDIR, WEFT_EEXIST, WEFT_ENOSPC, WEFT_EFULL (out of descriptors),
 * WEFT_EINVAL (also for a pipe or a socket, which has no positions), WEFT_EBUSY, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_file_open(weft_file *out, const char *path, unsigned flags, unsigned mode,
                                         int64_t deadline);
/* [A, W] Reads `size` bytes from `offset` on and returns the number read: fewer only at the end of the file, and 0 at
 * or beyond the end. With WEFT_NOW it reads only data that is in memory, else returns WEFT_ETIMEDOUT. After an error
 * the buffer may hold a part.
 * Errors: WEFT_EACCESS (the file is not open for reading), WEFT_EINVAL (the offset is negative), WEFT_ECLOSED,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int64_t weft_file_read(weft_file f, void *buffer, size_t size, int64_t offset,
                                             int64_t deadline);
/* [A, W] Writes all of it and returns `size`. After an error (also WEFT_ETIMEDOUT) an unknown part has been written.
 * The data is then in the system's memory, not yet on the disk: see weft_file_sync.
 * Errors: WEFT_ENOSPC, WEFT_ETOOBIG (beyond the largest file allowed, or more than WEFT_FILE_OP_MAX to append),
 * WEFT_EACCESS, WEFT_EINVAL (the offset is negative, or not WEFT_FILE_END in a file that is appended to), WEFT_ECLOSED,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int64_t weft_file_write(weft_file f, const void *data, size_t size, int64_t offset,
                                              int64_t deadline);
/* [A, W] Returns the size of the file in bytes. Errors of this call and of the next two: WEFT_ECLOSED,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED, and an error of the system. */
WEFT_API int64_t weft_file_size(weft_file f, int64_t deadline);
/* [A, W] Returns when the data written before is on the disk, as far as the system can tell. */
WEFT_API WEFT_CHECKED int weft_file_sync(weft_file f, int64_t deadline);
/* [A, W] Sets the size of the file in bytes: cuts it, or appends zeroes. WEFT_EINVAL: the size is negative. */
WEFT_API WEFT_CHECKED int weft_file_truncate(weft_file f, int64_t size, int64_t deadline);
/* [A] Closes the file. Running operations are completed. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_file_close(weft_file f);
/* [A] Closes the file when the calling actor ends. WEFT_ENOMEM: the file has been closed. */
WEFT_API int weft_file_defer_close(weft_file f);

/* ---- Many at once: start, wait for any of them, take ----------------------------------------------------------- */
/* One running read or write. It belongs to the actor that started it; this actor takes or drops it. It is dropped
 * when the actor ends. */
typedef struct {
    weft_event done;
} weft_file_op;

/* [A, W] Starts reading up to `size` (at most WEFT_FILE_OP_MAX) bytes. Suspends only if the threads' queue is full,
 * until `deadline` at most: WEFT_EFULL.
 * Errors: WEFT_EFULL, WEFT_ETOOBIG, WEFT_ENOMEM; all other errors are returned by weft_file_take. */
WEFT_API WEFT_CHECKED int weft_file_read_start(weft_file_op *out, weft_file f, size_t size, int64_t offset,
                                               int64_t deadline);
/* [A, W] As weft_file_read_start, for a write; `data` is copied. */
WEFT_API WEFT_CHECKED int weft_file_write_start(weft_file_op *out, weft_file f, const void *data, size_t size,
                                                int64_t offset, int64_t deadline);
/* Ready once the operation is done, until it is taken. */
WEFT_API weft_wait weft_on_file(weft_file_op op);
/* [A, W] Waits until the operation is done. The result is that of weft_file_read or weft_file_write. The data read is
 * copied to `buffer`, which has space for `size` bytes, at least as many as were asked for (else WEFT_EINVAL); NULL
 * for a write.
 * Errors: WEFT_ETIMEDOUT and WEFT_ECANCELED: the operation continues. WEFT_ECLOSED: it was taken or dropped before,
 * or belongs to another actor. */
WEFT_API WEFT_CHECKED int64_t weft_file_take(weft_file_op op, void *buffer, size_t size, int64_t deadline);
/* [A] Cancels the operation: its result is not wanted. WEFT_ECLOSED: as weft_file_take. */
WEFT_API int weft_file_drop(weft_file_op op);

WEFT_END
#endif
