/* weft/offload.h -- blocking functions, run on separate threads while the actor waits: files, databases, name
 * look-ups, long computations.
 *
 * A node has a few such threads (weft_node_options.offload_threads). They are started when they are first needed; an
 * idle thread sleeps. A job that finds no free thread waits in a queue (offload_queue); if the queue is full, the
 * actor waits.
 *
 * A job owns its block, which is a copy of the caller's `size` bytes. The function changes the copy; when it is done,
 * the copy is copied back. So the caller may give up, or be killed, while the function still runs: the function then
 * runs to its end, on memory of its own, and the result is dropped. Memory to which the block points must live as
 * long as the job, or be given away with the block and freed by `drop`.
 *
 * The function runs outside of actors: it may call only those functions of weft that are marked [T] or [S], such as
 * weft_node_send. It cannot be interrupted. */
#ifndef WEFT_OFFLOAD_H
#define WEFT_OFFLOAD_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

enum { WEFT_OFFLOAD_MAX = 16 * 1024 * 1024 }; /* bytes of a block */

typedef void weft_blocking(void *block);

/* [A, W] Runs `run` on a copy of the `size` bytes at `block` and copies them back. `block` may be NULL if `size` is
 * 0. On an error `block` is unchanged.
 * Errors: WEFT_EFULL (there was no place in the queue until the deadline; `run` was not called). WEFT_ETIMEDOUT,
 * WEFT_ECANCELED (`run` had not begun and will not be called; or it is running and its result will be dropped; with
 * WEFT_NOW it is not called). WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM (also when the system provides no thread). */
WEFT_API WEFT_CHECKED int weft_offload(weft_blocking *run, void *block, size_t size, int64_t deadline);

/* A running job; all zeroes: none. */
typedef struct {
    weft_event done; /* weft's own: use it only to wait for */
} weft_job;

/* [A, W] As weft_offload, but does not wait for the end of the job. The calling actor must take or drop `*out`; a job
 * is dropped when its actor ends. The call waits only while the queue is full: WEFT_EFULL at the deadline. `drop`
 * (may be NULL) is called on a block whose result is not taken, whether `run` was called or not, to free what the
 * block points to. It runs on the actor's thread or on the job's, so it may call only the functions of weft that
 * `run` may call. It is not called if weft_offload_start fails. */
WEFT_API WEFT_CHECKED int weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop,
                                             const void *block, size_t size, int64_t deadline);
/* Ready once the job is done, until it is taken. */
WEFT_API weft_wait weft_on_offload(weft_job job);
/* [A, W] Waits until the job is done and copies its block to `block`; `size` must be the same as at the start.
 * Errors: WEFT_ETIMEDOUT and WEFT_ECANCELED: the job continues and can still be taken. WEFT_ECLOSED: it was taken or
 * dropped before, or belongs to another actor. WEFT_EINVAL: the size differs. */
WEFT_API WEFT_CHECKED int weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline);
/* [A] Drops a job, whose result is not needed any more. If the function has not begun, it will not be called.
 * WEFT_ECLOSED: as weft_offload_take. */
WEFT_API int weft_offload_drop(weft_job job);

WEFT_END
#endif
