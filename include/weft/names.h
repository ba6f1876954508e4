/* weft/names.h -- registered names of actors, unique within one node.
 *
 * A name is 1 to 64 letters, digits, '.', '_', '-' and '$'. Every call here that takes one says WEFT_EINVAL if it is
 * NULL or malformed, WEFT_ETOOBIG if it is longer. Who knows a name sends to it with weft_send_name and
 * weft_call_name, as "name" on this node, as "name@node" from others. */
#ifndef WEFT_NAMES_H
#define WEFT_NAMES_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* [A] Gives the calling actor a name on this node. It may have several; all vanish when it ends, before anybody hears
 * of its end. WEFT_EEXIST: somebody has it, perhaps the caller. WEFT_ENOMEM. */
WEFT_API int weft_register(const char *name);
/* [A] Gives a name back. WEFT_ENOACTOR: the caller has no such name. */
WEFT_API int weft_unregister(const char *name);
/* [A] The i-th name of the calling actor, the oldest first; NULL past the last. Lives until it is given back. */
WEFT_API const char *weft_own_name(size_t i);

/* [A] The actor of that name on this node. WEFT_ENOACTOR. */
WEFT_API int weft_whereis(const char *name, weft_pid *out);
/* [A, W] The same, but waits until somebody on this node has the name. Nothing polls: the one who registers wakes all
 * who wait, also if the name is given back at once. WEFT_ENOMEM. */
WEFT_API int weft_await_name(const char *name, weft_pid *out, int64_t deadline);

WEFT_END
#endif
