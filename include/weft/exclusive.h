/* weft/exclusive.h -- names that only one actor of the whole cluster holds at a time, and actors that run on only one
 * node at a time.
 *
 * etcd decides which actor holds a name. The node needs an entry `etcd:` in weft_node_options.discover (or `weft run
 * --discover`); without it every call here returns WEFT_ENOETCD. docs/exclusive.md says what is guaranteed and what
 * is not.
 *
 * A name has 1 to 64 letters, digits, '.', '_', '-'; otherwise WEFT_EINVAL. It is independent of weft_register. */
#ifndef WEFT_EXCLUSIVE_H
#define WEFT_EXCLUSIVE_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
#include <weft/time.h>
WEFT_BEGIN

/* A name that an actor holds. */
typedef struct {
    /* The fencing token: higher than that of every earlier holder of the name. Send it with each write to another
     * system, and let that system refuse writes with a lower token than it has seen. */
    uint64_t token;
    uint64_t lease; /* weft's own */
} weft_exclusive;

/* [A, W] Waits until the calling actor holds the name, alone in the whole cluster. The actor holds the name until it
 * releases it, ends, or is notified that it has lost it. The wait does not poll. While etcd cannot be reached, the
 * call waits, too.
 * Errors: WEFT_EEXIST (the actor holds the name already, or waits for it), WEFT_EFULL (65,536 actors wait),
 * WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENOMEM, WEFT_ENOETCD, WEFT_EINVAL. */
WEFT_API WEFT_CHECKED int weft_exclusive_acquire(const char *name, weft_exclusive *out, int64_t deadline);

/* [A, W] Releases the name. Returns 0 if the caller has held it until now.
 * Errors: WEFT_ENOACTOR (the caller does not hold it, or holds it no longer: the time of weft_exclusive_until has
 * passed, even if no message has said so yet), WEFT_ENOETCD, WEFT_EINVAL. */
WEFT_API int weft_exclusive_release(const char *name);

/* [A] Returns the point in time until which no other actor can hold the name, as far as this node knows now; it moves
 * forward while etcd answers. WEFT_NOW: the name is lost already. Before an action that must not happen twice, check
 * that this time is not over: after a pause (a stopped process, a suspended machine) the clock shows the loss before
 * any message does. */
WEFT_API WEFT_CHECKED int64_t weft_exclusive_until(weft_exclusive held);

/* [A, W] Finds the name if an actor of this node holds it now. Errors: WEFT_ENOACTOR (no actor of this node holds
 * it), WEFT_ENOETCD, WEFT_EINVAL. */
WEFT_API int weft_exclusive_find(const char *name, weft_exclusive *out);

/* The body of a WEFT_TAG_EXCLUSIVE_LOST message in the system queue: etcd has not answered for nearly the time of the
 * lease, or the key was deleted. Unless this process was stopped, the message comes a fifth of the lease's time
 * before etcd gives the name to another actor. */
struct weft_exclusive_lost {
    uint64_t token;
    char name[65];
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API int weft_exclusive_lost_read(const weft_msg *m, struct weft_exclusive_lost *out);

/* [A, W] Runs `body` on one node at a time, of all nodes that call this with the same name. The call spawns a keeper on
 * this node. The keeper waits for the exclusive name and then spawns an actor with the body. `out` (may be NULL)
 * receives the keeper's pid. The body finds its token by weft_exclusive_find(name, ...).
 *     The name is lost                   the body is killed
 *     The body ends: WEFT_EXIT_NORMAL    this node's keeper releases the name and ends
 *     The body ends for another reason   the name is released, and this node tries to get it again after a second
 *     The keeper is asked to stop        the body is asked to stop, too; the name is released once it has ended
 * Errors: WEFT_ENOETCD, WEFT_EINVAL, and those of weft_spawn. */
WEFT_API WEFT_CHECKED int weft_singleton(weft_pid *out, const char *name, weft_actor *body, const void *arg,
                                         size_t size,
                                         const weft_spawn_options *options /* of the body; NULL: defaults */);

WEFT_END
#endif
