/* weft/offload.h -- blocking functions, run on threads of their own while the actor waits: files, databases, name
 * look-ups, long computations.
 *
 * A node has a few such threads (weft_node_options.offload_threads), started when they are first needed; an idle one
 * sleeps. What does not find a free thread waits in a queue (offload_queue), and where that is full the actor waits.
 *
 * A job owns its block: a copy of the caller's `size` bytes. The function changes the copy; once it is done the copy
 * is copied back. So the caller may give up, or be killed, while the function still runs: then the function runs to
 * its end, on memory that is its own, and the result is dropped. What the block points to must live as long itself,
 * or be given away with the block and freed by `drop`.
 *
 * The function runs outside of actors: of weft it may call what is marked [T] or [S], such as weft_node_send. It
 * cannot be interrupted. */
#ifndef WEFT_OFFLOAD_H
#define WEFT_OFFLOAD_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

enum { WEFT_OFFLOAD_MAX = 16 * 1024 * 1024 }; /* bytes of a block */

typedef void weft_blocking(void *block);

/* [A, W] Runs `run` on a copy of the `size` bytes at `block` and copies them back. `block` may be NULL if size is 0.
 * On failure `block` is as it was. WEFT_EFULL: until the deadline there was no place in the queue; it has not run.
 * WEFT_ETIMEDOUT, WEFT_ECANCELED: it had not begun and never will, or is running and its result will be dropped; at
 * WEFT_NOW it does not run. WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM (also when the system gives no thread). */
WEFT_API WEFT_CHECKED int weft_offload(weft_blocking *run, void *block, size_t size, int64_t deadline);

/* A job under way; all zeroes: none. */
typedef struct {
    weft_event done; /* weft's own: only to be waited for */
} weft_job;

/* [A, W] The same without waiting for the end: `*out` is to be taken or dropped by this actor, and is dropped when it
 * ends. Waits only while the queue is full: WEFT_EFULL at the deadline. `drop` (may be NULL) is called on a block
 * whose result nobody takes, whether `run` has been called or not, to free what it points to: on the actor's thread
 * or on the job's, so it may call no more of weft than `run` may. Not called if this fails. */
WEFT_API WEFT_CHECKED int weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop,
                                             const void *block, size_t size, int64_t deadline);
/* Ready once the job is done, until it is taken. */
WEFT_API weft_wait weft_on_offload(weft_job job);
/* [A, W] Waits until the job is done and copies its block, whose `size` must be the same, to `block`. WEFT_ETIMEDOUT
 * and WEFT_ECANCELED leave it under way. WEFT_ECLOSED: taken or dropped before, or another actor's. WEFT_EINVAL: the
 * size is not that of the job. */
WEFT_API WEFT_CHECKED int weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline);
/* [A] The result is not wanted any more. If the function has not begun it never will. WEFT_ECLOSED. */
WEFT_API int weft_offload_drop(weft_job job);

WEFT_END
#endif
