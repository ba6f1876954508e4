/* weft/time.h -- spans, points in time and deadlines: int64_t nanoseconds on the monotonic clock.
 *
 * A span is a length of time. A point is a moment. A deadline is a point: weft_recv(&m, weft_after(WEFT_SEC(1))). If
 * a span is given as a deadline, as in weft_recv(&m, WEFT_SEC(1)), it lies in the past, so the wait ends at once. The
 * log then warns, once for each kind of actor and of wait, and says what to write. If a point is given as a span, it
 * counts as WEFT_FOREVER, with a warning as well.
 *
 * The two can be told apart because weft's clock begins at 2^62 ns (146 years) when the machine starts. No point
 * except WEFT_NOW is below that, and no useful span is above it. So a point of weft is not one of clock_gettime:
 * compare points of weft_now only with each other. */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <weft/api.h>
WEFT_BEGIN

#define WEFT_US(n) (1000 * (int64_t)(n))
#define WEFT_MS(n) (1000000 * (int64_t)(n))
#define WEFT_SEC(n) (1000000000 * (int64_t)(n))

#define WEFT_NOW ((int64_t)0)  /* a deadline that has passed: the call does not wait */
#define WEFT_FOREVER INT64_MAX /* a deadline that never comes */

/* [S] Returns the present point in time. Inside an actor it is the node's clock, which a simulation may control. */
WEFT_API int64_t weft_now(void);

/* [S] Returns the deadline `span` nanoseconds from now; WEFT_FOREVER if that is beyond the largest point in time (if
 * an actor passed a point in time as the span, the log names the actor); WEFT_NOW if span <= 0. */
WEFT_API int64_t weft_after(int64_t span);

WEFT_END
#endif
