/* weft/event.h -- an auto-reset flag that actors wait for and anybody sets: another actor, a foreign thread, a signal
 * handler. */
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

/* [A] A cleared event; closed by weft_event_close or when the actor that opened it ends. Any actor of the node may
 * wait for it. */
WEFT_API int weft_event_open(weft_event *out);
/* [S] Sets it; wakes its waiters. Many sets before one take are one set. WEFT_ECLOSED. Neither allocates nor
 * locks. */
WEFT_API int weft_event_set(weft_event e);
/* [T] 1 if it was set, and clears it; 0 if it was not. Of several takers one gets the 1. WEFT_ECLOSED. */
WEFT_API int weft_event_take(weft_event e);
/* [A, W] Waits until it is set, and takes it. 0, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED (also when closed
 * meanwhile). */
WEFT_API int weft_event_await(weft_event e, int64_t deadline);
/* [A] Waiters wake with WEFT_ECLOSED. */
WEFT_API int weft_event_close(weft_event e);

WEFT_END
#endif
