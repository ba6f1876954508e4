/* weft/pool.h -- several actors that do the same work, behind one pid.
 *
 * What is sent to the pool is passed on to one of its members. A request (weft_call) keeps its asker, so the answer
 * goes straight to him. What is sent keeps its sender: in a member weft_from() is not the pool.
 *
 * Load. A message is outstanding from when the pool passes it on until the member answers it, frees it, sends it on,
 * or ends. A member to which `outstanding_max` messages are outstanding gets no more; when that holds for all the
 * pool takes no more from its own mailbox, and when that is full, senders wait as with any other actor.
 *
 * A member that ends is replaced. Requests it had taken fail with WEFT_ENOREPLY, those it had not yet taken with
 * WEFT_ENOACTOR; nothing is done twice. */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

enum { WEFT_POOL_MAX = 1024 }; /* members */

/* Which member gets a message, of those with room. */
typedef enum {
    WEFT_POOL_ROUND_ROBIN,  /* in turn */
    WEFT_POOL_LEAST_LOADED, /* the one with the fewest messages outstanding; in turn among equals */
    /* all messages with the same key go to the same member, in order, and wait for it if it has no room. When the
     * number of members goes from n to n + 1, only one key of n + 1 moves (jump consistent hashing) */
    WEFT_POOL_BY_KEY,
} weft_pool_policy;

/* Which members are replaced. */
typedef enum {
    WEFT_POOL_REPLACE_ALWAYS,
    WEFT_POOL_REPLACE_FAILED, /* not those that end with WEFT_EXIT_NORMAL or WEFT_EXIT_STOPPED */
    WEFT_POOL_REPLACE_NEVER,  /* without members the pool answers WEFT_ENOACTOR */
} weft_pool_replace;

/* Zero means the default for every field. */
typedef struct {
    const char *name;        /* registered for the pool; NULL: none */
    uint32_t count;          /* of members, at most WEFT_POOL_MAX; default: as many as the node has workers */
    weft_pool_policy policy; /* default: round robin */
    /* by key: a number made of what in the message is the key, for example by weft_hash. Runs in the pool; must not
     * wait */
    uint64_t (*key)(const weft_msg *m);
    uint32_t outstanding_max; /* messages outstanding per member; default and most: its mailbox_max, or 256 */
    weft_pool_replace replace;
    /* more replacements than `replacements_max` (default 10) within `period` (default 10 s) end the pool, with
     * WEFT_EXIT_FAILED */
    uint32_t replacements_max;
    int64_t period;
    uint32_t mailbox_max;      /* of the pool; default 65,536 */
    bool link;                 /* the pool to the calling actor, as in weft_spawn_options */
    weft_monitor_ref *monitor; /* of the pool */
    /* of each member: kind, stack_bytes, mailbox_max and so on. worker: 1..N puts all on that one, else they are
     * spread. policy: WEFT_FULL_SUSPEND or _FAIL; link and monitor must not be set */
    weft_spawn_options member;
} weft_pool_options;

/* [A, W] Starts a pool; waits until its members are started. `body` with `arg` is an actor as for weft_spawn (here
 * `arg` may have 60 KiB). It takes messages by weft_recv and need not know that it is in a pool. The pool stands on
 * its own; use `link` to end it with the caller. WEFT_EINVAL, WEFT_ENOMEM, WEFT_EEXIST (the name), WEFT_EFULL (the
 * node's actor limit), WEFT_ECANCELED; then there is no pool. */
WEFT_API WEFT_CHECKED int weft_spawn_pool(weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                          const weft_pool_options *options /* NULL: defaults */);

/* [A, W] Changes the number of members, 1 to WEFT_POOL_MAX. New ones are started at once. Those that are too many,
 * the newest first, get no more messages and are asked to stop when nothing is outstanding to them. The calls below
 * are for pools of this node: WEFT_EINVAL if it is no pool or another node's, WEFT_ENOACTOR if it has ended,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED. They are heard also while no
 * member has room. Here also WEFT_ENOMEM, WEFT_EFULL: as many as could be were
 * started. */
WEFT_API int weft_pool_resize(weft_pid pool, uint32_t count, int64_t deadline);

/* [A, W] Ends a pool in order: what was sent to it before is passed on and done; then each member in turn, the oldest
 * place first, is asked to stop and waited for. At the deadline: WEFT_ETIMEDOUT, and the members that are left are
 * killed. What is sent after this may fail with WEFT_ENOACTOR. (weft_stop on the pool does the same within the node's
 * grace period, but refuses what is still in the pool's mailbox.) */
WEFT_API int weft_pool_stop(weft_pid pool, int64_t deadline);

struct weft_pool_member {
    weft_pid pid;
    uint32_t outstanding;
    uint64_t done; /* messages answered, freed or sent on */
};
struct weft_pool_info {
    uint32_t count;       /* members there should be */
    uint32_t alive;       /* members there are, without those that are to end */
    uint32_t retiring;    /* those: they finish what is outstanding to them, or have been asked to stop */
    uint32_t outstanding; /* to all of them */
    uint32_t waiting;     /* in the pool's mailbox */
    uint64_t passed_on, refused;
    uint64_t replaced; /* members, since the beginning */
};
/* [A, W] How the pool is. `out` may be NULL. Of the members, the oldest place first, at most `max` are described in
 * `members`; returns how many. */
WEFT_API int weft_pool_inspect(weft_pid pool, struct weft_pool_info *out, struct weft_pool_member *members,
                               size_t max, int64_t deadline);

/* [S] A hash of these bytes for use as a key: the same on every machine and in every version. */
WEFT_API uint64_t weft_hash(const void *data, size_t size);

WEFT_END
#endif
