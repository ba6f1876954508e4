/* weft/timer.h -- timers that an actor can wait for, alone or together with other sources. For a plain pause use
 * weft_sleep; to send a message later use weft_send_after.
 *
 * Times are points on the monotonic clock (weft/time.h), so a change of the wall clock has no effect. A timer costs
 * no descriptor and no system call: a worker gives the kernel one deadline, that of its first timer. The actor that
 * waits resumes on its own worker. If a deadline passes while its actor computes, it takes effect as soon as the
 * actor waits or yields.
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

/* [A] Opens a timer of the calling actor. It is closed by weft_timer_close or when the actor ends; no other actor may
 * use it. It fires at `first` (a point in time; at once if that has passed, never if it is WEFT_FOREVER). If `period`
 * > 0 (ns), it fires again at first + n * period; each time is computed from `first`, so the timer does not drift.
 * Errors: WEFT_ENOMEM, WEFT_EINVAL (period < 0). */
WEFT_API WEFT_CHECKED int weft_timer_open(weft_timer *out, int64_t first, int64_t period);
/* [A] Sets the timer again, also if it has fired or was cancelled. Firings that were not taken yet are forgotten.
 * Errors: WEFT_ECLOSED, WEFT_EINVAL, WEFT_ENOMEM (only if the timer was not set; it is still not set). */
WEFT_API int weft_timer_set(weft_timer t, int64_t first, int64_t period);

/* [A, W] Waits until the timer has fired, and takes that: returns the number of firings since the last take, more
 * than 1 if the actor came late to a periodic timer. A timer that is not set does not fire. To wait for other sources
 * as well: weft_on_timer, weft_wait_any.
 * Errors: WEFT_ETIMEDOUT (`deadline` came first), WEFT_ECANCELED, WEFT_ECLOSED. */
WEFT_API WEFT_CHECKED int64_t weft_timer_await(weft_timer t, int64_t deadline);
/* [A] Returns the number of firings since the last take, 0 if there was none, and clears it. WEFT_ECLOSED. */
WEFT_API int64_t weft_timer_take(weft_timer t);
/* [A] Returns the point in time at which the timer fires next; WEFT_FOREVER if it is not set, that is, cancelled or a
 * one-time timer that has fired. A periodic timer last fired at weft_timer_next - period; the time since then says
 * how late the actor is. WEFT_ECLOSED. */
WEFT_API int64_t weft_timer_next(weft_timer t);

/* [A] Closes the timer. WEFT_ECLOSED: it was closed before. */
WEFT_API int weft_timer_close(weft_timer t);

WEFT_END
#endif
