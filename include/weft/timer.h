/* weft/timer.h -- timers that an actor can wait for beside other things. For a plain pause use weft_sleep. */
#ifndef WEFT_TIMER_H
#define WEFT_TIMER_H

#include <weft/api.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_timer;

/* [A] A timer of the calling actor; closed by weft_timer_close or when the actor ends. Fires at `first` (a point in
 * time) and, if `period` > 0, at first + n * period: computed from `first`, so it does not drift. Only its actor may
 * use it. WEFT_ENOMEM, WEFT_EINVAL (period < 0). */
WEFT_API int weft_timer_open(weft_timer *out, int64_t first, int64_t period);
/* [A] Sets it anew; firings not taken yet are forgotten. WEFT_ECLOSED. */
WEFT_API int weft_timer_set(weft_timer t, int64_t first, int64_t period);
/* [A] How often it fired since the last take, 0 if not yet; clears the count. WEFT_ECLOSED. */
WEFT_API int64_t weft_timer_take(weft_timer t);
/* [A] WEFT_ECLOSED if it was closed before. */
WEFT_API int weft_timer_close(weft_timer t);

WEFT_END
#endif
