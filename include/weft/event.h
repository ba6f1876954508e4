/* weft/event.h -- a flag that actors wait for and anybody sets: another actor, a foreign thread, a signal handler.
 *
 *                      one set lets go of    and stays set
 *     automatic        the longest waiter    until one has taken it
 *     manual           all who wait          until weft_event_reset
 *
 * Setting what is set does nothing. Waiting for what is set does not suspend. For a count see weft/semaphore.h, for
 * "all have arrived" weft/latch.h. */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct weft_node weft_node;

/* Good while its node lives. */
typedef struct {
    weft_node *node;
    uint64_t id;
} weft_event;

/* [A] A cleared event, automatic or manual; closed by weft_event_close or when the actor that opened it ends. Any
 * actor of the node may wait for it. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_event_open(weft_event *out);
WEFT_API WEFT_CHECKED int weft_event_open_manual(weft_event *out);

/* [S] Sets it; wakes its waiters. Many sets before one take are one set. From any thread, of the same node, another
 * or none. WEFT_ECLOSED. Neither allocates nor locks. */
WEFT_API int weft_event_set(weft_event e);
/* [S] Clears it. Who was already waiting when a manual event was set is let go in any case, even if it is reset at
 * once. WEFT_ECLOSED. */
WEFT_API int weft_event_reset(weft_event e);
/* [S] 1 if it was set, and clears it, but for a manual one; 0 if it was not. Of several takers of an automatic one
 * one gets the 1. WEFT_ECLOSED. */
WEFT_API int weft_event_take(weft_event e);

/* [A, W] Waits until it is set, and takes it. Whoever begins to wait for an automatic one stands behind those who
 * wait already, with WEFT_NOW too. 0, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED (also when closed meanwhile),
 * WEFT_EINVAL (of another node). */
WEFT_API WEFT_CHECKED int weft_event_await(weft_event e, int64_t deadline);

/* [A] Waiters wake with WEFT_ECLOSED. */
WEFT_API int weft_event_close(weft_event e);

/* [T] A descriptor that is readable while the event is set, for a loop that is not weft's: poll, epoll, libuv. When
 * it is readable call weft_event_take (on that loop's thread; do not read the descriptor): 1, or 0 if somebody else
 * was faster. One per event; the descriptor is weft's, do not close it. When the event is closed it becomes readable
 * for good and weft_event_take says WEFT_ECLOSED: take it out of the loop then, as another event may be given it; it
 * is closed with the node. WEFT_ECLOSED, WEFT_EFULL (out of descriptors), WEFT_ENOMEM, WEFT_ENOTSUP (Windows). */
WEFT_API int weft_event_fd(weft_event e, int *fd);

WEFT_END
#endif
