/* weft/exclusive.h -- names that one actor of the whole cluster holds at a time, and actors of which one runs.
 *
 * Who holds a name is decided by etcd: the node needs an entry `etcd:` in weft_node_options.discover (or `weft run
 * --discover`); without it every call here says WEFT_ENOETCD. docs/exclusive.md says what is promised and what is
 * not.
 *
 * A name is 1 to 64 letters, digits, '.', '_', '-'; else WEFT_EINVAL. It has nothing to do with weft_register. */
#ifndef WEFT_EXCLUSIVE_H
#define WEFT_EXCLUSIVE_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
#include <weft/time.h>
WEFT_BEGIN

/* What one holds. */
typedef struct {
    /* The fencing token: higher than that of everyone who has held the name before. Send it along with what you
     * write elsewhere, and let the other side refuse what comes with a lower one than it has seen. */
    uint64_t token;
    uint64_t lease; /* weft's own */
} weft_exclusive;

/* [A, W] Waits until the calling actor holds the name, on this node or any other of the cluster. It holds it until it
 * gives it back, ends, or is told that it has lost it. Nothing polls. While etcd cannot be reached it waits, too.
 * WEFT_EEXIST: it holds it already, or waits for it. WEFT_EFULL: 65,536 actors wait. WEFT_ETIMEDOUT, WEFT_ECANCELED,
 * WEFT_ENOMEM, WEFT_ENOETCD, WEFT_EINVAL. */
WEFT_API WEFT_CHECKED int weft_exclusive_acquire(const char *name, weft_exclusive *out, int64_t deadline);

/* [A, W] Gives it back. WEFT_ENOACTOR: the caller does not hold it, perhaps not any more. WEFT_ENOETCD,
 * WEFT_EINVAL. */
WEFT_API int weft_exclusive_release(const char *name);

/* [A] Until when nobody else can have it, as far as this node knows now; it grows while etcd answers. WEFT_NOW: it is
 * lost already. What must not happen twice is done before that time: after a pause (a stopped process, a suspended
 * machine) the clock knows before any message does. */
WEFT_API WEFT_CHECKED int64_t weft_exclusive_until(weft_exclusive held);

/* [A, W] What some actor of this node holds under that name now. WEFT_ENOACTOR: nobody here does. WEFT_ENOETCD,
 * WEFT_EINVAL. */
WEFT_API int weft_exclusive_find(const char *name, weft_exclusive *out);

/* The body of a WEFT_TAG_EXCLUSIVE_LOST message, which comes in the system lane: etcd has not answered for nearly the
 * time of the lease, or somebody has deleted the key. It comes before etcd gives the name to somebody else, by a
 * fifth of the lease's time, unless this process was stopped. */
struct weft_exclusive_lost {
    uint64_t token;
    char name[65];
};
/* [T] 0, or WEFT_EFORMAT if `m` is no such message. */
WEFT_API int weft_exclusive_lost_read(const weft_msg *m, struct weft_exclusive_lost *out);

/* [A] Of all nodes that call this with the same name, one runs `body` at a time. Spawns a keeper, which waits for the
 * exclusive name and then spawns the body as an actor of this node; `out` (may be NULL) gets the keeper's pid. The
 * body finds its token by weft_exclusive_find(name, ...).
 *
 * The name lost: the body is killed. The body ends by WEFT_EXIT_NORMAL: this node's keeper gives the name back and
 * ends. It ends otherwise: the name is given back, and this node tries for it again after a second. The keeper is
 * asked to stop: so is the body, and the name is given back when it has ended. WEFT_ENOETCD, WEFT_EINVAL, else as
 * weft_spawn. */
WEFT_API WEFT_CHECKED int weft_singleton(weft_pid *out, const char *name, weft_actor *body, const void *arg,
                                         size_t size,
                                         const weft_spawn_options *options /* of the body; NULL: defaults */);

WEFT_END
#endif
