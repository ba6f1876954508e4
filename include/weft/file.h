/* weft/file.h -- files: positioned reads and writes that suspend only the actor.
 *
 * What the system has in memory is read at once, without suspending (but others have a turn after each megabyte); the
 * rest is done by the node's threads for blocking functions (weft_node_options.offload_threads), or by the kernel
 * itself where it can. Nothing keeps a position: each call says where, so one file serves many actors at once, on any
 * worker.
 *
 * While a call is under way it works on memory of its own. Whoever gives up at a deadline, is cancelled or killed may
 * use or free the buffer at once: nothing is written to it afterwards. A write that was given up may still happen. */
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
    WEFT_FILE_CREATE = 4,    /* makes it if it is not there */
    WEFT_FILE_EXCLUSIVE = 8, /* with CREATE: WEFT_EEXIST if it is there */
    WEFT_FILE_TRUNCATE = 16, /* with WRITE: to 0 bytes */
    WEFT_FILE_APPEND = 32,   /* every write goes to the end, wherever that is by then: its offset is WEFT_FILE_END */
};
enum { WEFT_FILE_END = -1 };
enum { WEFT_FILE_OP_MAX = 16 * 1024 * 1024 }; /* bytes of one weft_file_*_start, or of one that appends */

/* [A, W] `flags`: WEFT_FILE_READ, WEFT_FILE_WRITE or both, and others. `mode`: permissions of a file it makes, 0644
 * and the like. The file is open until weft_file_close: see weft_file_defer_close. WEFT_ENOTFOUND, WEFT_EACCESS,
 * WEFT_EISDIR, WEFT_EEXIST, WEFT_ENOSPC, WEFT_EFULL (out of descriptors), WEFT_EINVAL (also a pipe or a socket, which
 * has no positions), WEFT_EBUSY. */
WEFT_API WEFT_CHECKED int weft_file_open(weft_file *out, const char *path, unsigned flags, unsigned mode,
                                         int64_t deadline);
/* [A, W] Reads `size` bytes from `offset` on; fewer only at the end of the file, and a plain 0 there and beyond it.
 * WEFT_NOW: only what is in memory, else WEFT_ETIMEDOUT. WEFT_EACCESS (not opened to read), WEFT_ECLOSED. After an
 * error the buffer may hold a part. */
WEFT_API WEFT_CHECKED int64_t weft_file_read(weft_file f, void *buffer, size_t size, int64_t offset,
                                             int64_t deadline);
/* [A, W] Writes all of it; returns `size`. After an error (the deadline too) an unknown part has been written.
 * WEFT_ENOSPC, WEFT_ETOOBIG (beyond the largest file allowed; more than WEFT_FILE_OP_MAX to append), WEFT_EACCESS.
 * What is written is in the system's memory, not on the disk: see weft_file_sync. */
WEFT_API WEFT_CHECKED int64_t weft_file_write(weft_file f, const void *data, size_t size, int64_t offset,
                                              int64_t deadline);
/* [A, W] */
WEFT_API int64_t weft_file_size(weft_file f, int64_t deadline);
/* [A, W] Returns when what was written is on the disk, as far as the system can tell. */
WEFT_API WEFT_CHECKED int weft_file_sync(weft_file f, int64_t deadline);
/* [A, W] Cuts it, or adds zeroes. */
WEFT_API WEFT_CHECKED int weft_file_truncate(weft_file f, int64_t size, int64_t deadline);
/* [A] Operations under way are carried through. WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_file_close(weft_file f);
/* [A] Closes the file when the calling actor ends. WEFT_ENOMEM: then it has been closed. */
WEFT_API int weft_file_defer_close(weft_file f);

/* ---- Many at once: start, wait for any of them, take ----------------------------------------------------------- */
/* One read or write under way: of the actor that has started it, which takes or drops it. */
typedef struct {
    weft_event done;
} weft_file_op;

/* [A, W] Starts reading up to `size` (at most WEFT_FILE_OP_MAX) bytes. Suspends only if the threads' queue is full,
 * until `deadline` at most: WEFT_EFULL. WEFT_ETOOBIG, WEFT_ENOMEM; what else goes wrong is the result of taking. */
WEFT_API WEFT_CHECKED int weft_file_read_start(weft_file_op *out, weft_file f, size_t size, int64_t offset,
                                               int64_t deadline);
/* [A, W] The same; `data` is copied. */
WEFT_API WEFT_CHECKED int weft_file_write_start(weft_file_op *out, weft_file f, const void *data, size_t size,
                                                int64_t offset, int64_t deadline);
/* Ready once it is done, until it is taken. */
WEFT_API weft_wait weft_on_file(weft_file_op op);
/* [A, W] Waits until it is done. The result is that of weft_file_read or weft_file_write; what was read is copied to
 * `buffer`, which has room for `size` bytes, not fewer than were asked for (else WEFT_EINVAL); NULL for a write.
 * WEFT_ETIMEDOUT and WEFT_ECANCELED leave it under way. WEFT_ECLOSED: taken or dropped before, or another actor's. */
WEFT_API WEFT_CHECKED int64_t weft_file_take(weft_file_op op, void *buffer, size_t size, int64_t deadline);
/* [A] Cancels it: the result is not wanted. WEFT_ECLOSED. */
WEFT_API int weft_file_drop(weft_file_op op);

WEFT_END
#endif
