/* weft/time.h -- spans, points in time and deadlines: int64_t nanoseconds on the monotonic clock.
 *
 * A span says how long, a point in time says when. A deadline is a point: weft_recv(&m, weft_after(WEFT_SEC(1))). A
 * span that is given for a deadline, weft_recv(&m, WEFT_SEC(1)), lies in the past, so that the wait is over at once.
 * The log then warns, once for each kind of actor and of wait, and says what to write. A point that is given for a
 * span is taken for WEFT_FOREVER, with a warning as well.
 *
 * What tells the two apart: weft's clock begins at 2^62 ns (146 years) when the machine starts. No point but WEFT_NOW
 * lies below that, and no span that makes sense lies above. So a point of weft is not one of clock_gettime: compare
 * points of weft_now with each other only. */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <weft/api.h>
WEFT_BEGIN

#define WEFT_US(n) (1000 * (int64_t)(n))
#define WEFT_MS(n) (1000000 * (int64_t)(n))
#define WEFT_SEC(n) (1000000000 * (int64_t)(n))

#define WEFT_NOW ((int64_t)0)  /* a deadline long past: look, do not wait */
#define WEFT_FOREVER INT64_MAX /* a deadline that never comes */

/* [S] The monotonic clock. Inside an actor it is the node's clock, which a simulation may drive. */
WEFT_API int64_t weft_now(void);

/* [S] The deadline `span` nanoseconds from now; WEFT_FOREVER if that lies past the end of time (an actor that gave a
 * point in time for the span is named in the log), WEFT_NOW if span <= 0. */
WEFT_API int64_t weft_after(int64_t span);

WEFT_END
#endif
