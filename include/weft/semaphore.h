/* weft/semaphore.h -- a counting semaphore: any thread adds units, each waiter takes one unit. Use it for permits (at
 * most 10 users at a time), and to count the items that a thread of your own has made ready for actors. */
#ifndef WEFT_SEMAPHORE_H
#define WEFT_SEMAPHORE_H

#include <weft/api.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

enum { WEFT_SEMAPHORE_MAX = 16777215 };

/* A handle. It is valid while its node lives. */
typedef struct {
    weft_node *node;
    uint64_t id;
} weft_semaphore;

/* [A] Opens a semaphore with `initial` units. It is closed by weft_semaphore_close or when the actor that opened it
 * ends. Any actor of the node may wait for it. Errors: WEFT_ENOMEM, WEFT_EINVAL (initial > WEFT_SEMAPHORE_MAX). */
WEFT_API WEFT_CHECKED int weft_semaphore_open(weft_semaphore *out, uint32_t initial);
/* [S] Adds `n` units. Any thread may call it. It neither allocates nor locks.
 * Errors: WEFT_EFULL (there would be more than WEFT_SEMAPHORE_MAX; nothing was added), WEFT_ECLOSED. */
WEFT_API int weft_semaphore_post(weft_semaphore s, uint32_t n);
/* [S] Takes a unit if there is one, even if actors are waiting. Returns 1 if the caller got a unit, 0 if there was
 * none. WEFT_ECLOSED. */
WEFT_API int weft_semaphore_take(weft_semaphore s);
/* [S] Returns the number of units. WEFT_ECLOSED. */
WEFT_API int64_t weft_semaphore_count(weft_semaphore s);
/* [A, W] Waits until there is a unit, and takes it. The actor that has waited longest is served first, on whichever
 * worker it runs; a post wakes as many actors as it adds units. A new waiter queues behind the actors that wait
 * already, also with WEFT_NOW. A unit that a killed actor had taken is not given back; use weft_defer to do that.
 * Returns 0.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED, WEFT_EINVAL (a semaphore of another node). */
WEFT_API WEFT_CHECKED int weft_semaphore_await(weft_semaphore s, int64_t deadline);
/* [A] Closes the semaphore; waiters wake with WEFT_ECLOSED. Any actor of the node may close it. WEFT_ECLOSED: it was
 * closed before. */
WEFT_API int weft_semaphore_close(weft_semaphore s);
/* [T] As weft_event_fd: the descriptor is readable while there is a unit; call weft_semaphore_take then. */
WEFT_API int weft_semaphore_fd(weft_semaphore s, int *fd);
/* Ready when there is a unit to take and no other actor has waited longer for it. Your turn lasts until you suspend:
 * take the unit before that, or the next waiter gets it. */
WEFT_API weft_wait weft_on_semaphore(weft_semaphore s);

WEFT_END
#endif
