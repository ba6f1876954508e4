/* weft/time.h -- spans, points in time and deadlines: int64_t nanoseconds on the monotonic clock. */
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

/* [S] The deadline `span` nanoseconds from now; WEFT_FOREVER if that lies past the end of time, WEFT_NOW if span <=
 * 0. */
WEFT_API int64_t weft_after(int64_t span);

WEFT_END
#endif
