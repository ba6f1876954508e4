/* weft/semaphore.h -- a number of things to have: anybody adds some, each waiter takes one. For permits (at most 10
 * at a time) and for counting what a foreign thread has made ready. */
#ifndef WEFT_SEMAPHORE_H
#define WEFT_SEMAPHORE_H

#include <weft/api.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

enum { WEFT_SEMAPHORE_MAX = 16777215 };

/* Good while its node lives. */
typedef struct {
    weft_node *node;
    uint64_t id;
} weft_semaphore;

/* [A] Closed by weft_semaphore_close or when the actor that opened it ends. Any actor of the node may wait for it.
 * WEFT_ENOMEM, WEFT_EINVAL (initial > WEFT_SEMAPHORE_MAX). */
WEFT_API WEFT_CHECKED int weft_semaphore_open(weft_semaphore *out, uint32_t initial);
/* [S] Adds `n`. From any thread. WEFT_EFULL: it would be more than WEFT_SEMAPHORE_MAX, nothing was added.
 * WEFT_ECLOSED. Neither allocates nor locks. */
WEFT_API int weft_semaphore_post(weft_semaphore s, uint32_t n);
/* [S] 1 if there was one, which is yours, whoever waits; 0 if not. WEFT_ECLOSED. */
WEFT_API int weft_semaphore_take(weft_semaphore s);
/* [S] How many there are now. WEFT_ECLOSED. */
WEFT_API int64_t weft_semaphore_count(weft_semaphore s);
/* [A, W] Waits until there is one, and takes it. Who waits longest is served first, on whichever worker it runs; a
 * post wakes as many as it adds. Whoever begins to wait stands behind those who wait already, with WEFT_NOW too. 0,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED, WEFT_EINVAL (of another node). What a killed actor had taken is not
 * given back: weft_defer does it. */
WEFT_API WEFT_CHECKED int weft_semaphore_await(weft_semaphore s, int64_t deadline);
/* [A] Waiters wake with WEFT_ECLOSED. */
WEFT_API int weft_semaphore_close(weft_semaphore s);
/* [T] As weft_event_fd: readable while there is one; call weft_semaphore_take then. */
WEFT_API int weft_semaphore_fd(weft_semaphore s, int *fd);
/* Ready when there is one to take and nobody else waits longer for it. The turn is yours until you suspend: take
 * before, or the next one that waits has it. */
WEFT_API weft_wait weft_on_semaphore(weft_semaphore s);

WEFT_END
#endif
