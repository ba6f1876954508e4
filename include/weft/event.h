/* weft/event.h -- a flag that actors wait for. Another actor, a thread that is not weft's, or a signal handler sets
 * it.
 *
 *                      one set releases      and the event stays set
 *     automatic        the longest waiter    until one actor has taken it
 *     manual           all waiters           until weft_event_reset
 *
 * Setting an event that is set does nothing. Waiting for an event that is set does not suspend. For a count see
 * weft/semaphore.h; for "all have arrived" see weft/latch.h. */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct weft_node weft_node;

/* A handle. It is valid while its node lives. */
typedef struct {
    weft_node *node;
    uint64_t id;
} weft_event;

/* [A] Opens a cleared event, automatic or manual. It is closed by weft_event_close or when the actor that opened it
 * ends. Any actor of the node may wait for it. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_event_open(weft_event *out);
WEFT_API WEFT_CHECKED int weft_event_open_manual(weft_event *out);

/* [S] Sets the event and wakes its waiters. Many sets before one take count as one set. Any thread may call it: a
 * thread of the same node, of another node, or one that is not weft's. It neither allocates nor locks.
 * WEFT_ECLOSED. */
WEFT_API int weft_event_set(weft_event e);
/* [S] Clears the event. Actors that were waiting when a manual event was set are released, even if it is reset at
 * once. WEFT_ECLOSED. */
WEFT_API int weft_event_reset(weft_event e);
/* [S] Returns 1 if the event was set, and clears it unless it is manual; 0 if it was not set. If several callers take
 * an automatic event, only one of them gets the 1. WEFT_ECLOSED. */
WEFT_API int weft_event_take(weft_event e);

/* [A, W] Waits until the event is set, and takes it. An actor that begins to wait for an automatic event queues
 * behind the actors that wait already, also with WEFT_NOW. Returns 0.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED (also if it is closed during the wait), WEFT_EINVAL (an event
 * of another node). */
WEFT_API WEFT_CHECKED int weft_event_await(weft_event e, int64_t deadline);

/* [A] Closes the event; waiters wake with WEFT_ECLOSED. Any actor of the node may close it. WEFT_ECLOSED: it was
 * closed before. */
WEFT_API int weft_event_close(weft_event e);

/* [T] `*fd` receives a descriptor that is readable while the event is set, for a loop that is not weft's: poll,
 * epoll, libuv. When it is readable, call weft_event_take in that loop's thread; do not read the descriptor. The
 * result is 1, or 0 if another caller took the event first. Each event has one descriptor. It belongs to weft: do
 * not close it. When the event is closed, the descriptor becomes permanently readable and weft_event_take returns
 * WEFT_ECLOSED. Remove it from the loop then, because weft may use it for another event. It is closed with the node.
 * Errors: WEFT_ECLOSED, WEFT_EFULL (out of descriptors), WEFT_ENOMEM, WEFT_ENOTSUP (Windows). */
WEFT_API int weft_event_fd(weft_event e, int *fd);

WEFT_END
#endif
