/* weft/timer.h -- timers that an actor can wait for, alone or beside other things. For a plain pause use weft_sleep,
 * to have a message sent later weft_send_after.
 *
 * Times are points on the monotonic clock (weft/time.h): setting the wall clock moves none. A timer costs no
 * descriptor and no system call: a worker gives the kernel one deadline, that of its first timer. Whoever waited goes
 * on on its own worker. A deadline that passes while its actor computes counts as soon as the actor waits or yields.
 *
 *     weft_timer_open(&t, weft_after(WEFT_MS(100)), WEFT_MS(100));
 *     while (weft_timer_await(t, WEFT_FOREVER) > 0) tick();
 *     weft_timer_set(t, weft_after(WEFT_SEC(5)), 0);       once, 5 s from now
 *     weft_timer_set(t, WEFT_FOREVER, 0);                  cancelled */
#ifndef WEFT_TIMER_H
#define WEFT_TIMER_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_timer;

/* [A] A timer of the calling actor; closed by weft_timer_close or when the actor ends. Fires at `first` (a point in
 * time; at once if it has passed, never if WEFT_FOREVER) and, if `period` > 0, at first + n * period: computed from
 * `first`, so it does not drift. Only its actor may use it. WEFT_ENOMEM, WEFT_EINVAL (period < 0). */
WEFT_API WEFT_CHECKED int weft_timer_open(weft_timer *out, int64_t first, int64_t period);
/* [A] Sets it anew, also one that has fired or is cancelled; firings not taken yet are forgotten. WEFT_ECLOSED,
 * WEFT_EINVAL, WEFT_ENOMEM (only if it was not set; it still is not). */
WEFT_API int weft_timer_set(weft_timer t, int64_t first, int64_t period);

/* [A, W] Waits until it has fired, and takes that: how often since the last take, more than 1 if the actor came late
 * to a periodic one. One that is not set does not fire. WEFT_ETIMEDOUT (`deadline` came first), WEFT_ECANCELED,
 * WEFT_ECLOSED. To wait for other things as well: weft_on_timer, weft_wait_any. */
WEFT_API WEFT_CHECKED int64_t weft_timer_await(weft_timer t, int64_t deadline);
/* [A] How often it fired since the last take, 0 if not yet; clears the count. WEFT_ECLOSED. */
WEFT_API int64_t weft_timer_take(weft_timer t);
/* [A] The point in time at which it fires next; WEFT_FOREVER if it is not set: cancelled, or to fire once and it has.
 * A periodic one fired last for weft_timer_next - period: how long ago that is says how late one is. WEFT_ECLOSED. */
WEFT_API int64_t weft_timer_next(weft_timer t);

/* [A] WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_timer_close(weft_timer t);

WEFT_END
#endif
