/* weft/pool.h -- several actors that do the same work, behind one pid.
 *
 * The pool forwards each message that it receives to one of its members. A request (weft_call) keeps its caller, so
 * the reply goes directly to the caller. Other messages keep their sender: in a member, weft_from() is not the pool.
 *
 * Load. A message is outstanding from the moment when the pool forwards it until the member replies to it, frees it,
 * forwards it, or ends. A member with `outstanding_max` outstanding messages gets no more. When all members have that
 * many, the pool receives no more messages; when its own mailbox is full, senders wait as with any other actor.
 *
 * A member that ends is replaced. Requests that it had received fail with WEFT_ENOREPLY, and those that it had not
 * yet received with WEFT_ENOACTOR; no request is processed twice. */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

enum { WEFT_POOL_MAX = 1024 }; /* members */

/* Which member gets a message, among those below their limit. */
typedef enum {
    WEFT_POOL_ROUND_ROBIN,  /* the members take turns */
    WEFT_POOL_LEAST_LOADED, /* the member with the fewest outstanding messages; equal members take turns */
    /* all messages with the same key go to the same member, in order, and wait for it if it is at its limit. Up to
     * 1,024 of them wait so while messages for other members pass them; if more wait, all messages do. When the number
     * of members grows from n to n + 1, only one key in n + 1 moves (jump consistent hashing) */
    WEFT_POOL_BY_KEY,
} weft_pool_policy;

/* Which members are replaced when they end. */
typedef enum {
    WEFT_POOL_REPLACE_ALWAYS,
    WEFT_POOL_REPLACE_FAILED, /* not members that end with WEFT_EXIT_NORMAL or WEFT_EXIT_STOPPED */
    WEFT_POOL_REPLACE_NEVER,  /* without members the pool fails requests with WEFT_ENOACTOR */
} weft_pool_replace;

/* Zero means the default for every field. */
typedef struct {
    const char *name; /* a name to register for the pool; NULL: none */
    uint32_t count;   /* number of members, at most WEFT_POOL_MAX; default: the number of workers of the node */
    weft_pool_policy policy; /* default: round robin */
    /* for WEFT_POOL_BY_KEY: computes a number from the part of the message that is the key, for example by weft_hash.
     * It runs in the pool, again while the message waits for its member, and must not wait */
    uint64_t (*key)(const weft_msg *m);
    /* outstanding messages per member; default 256. Never more than member.mailbox_max, if that is set */
    uint32_t outstanding_max;
    weft_pool_replace replace;
    /* more than `replacements_max` replacements (default 10) within `period` (ns; default 10 s) end the pool, with
     * WEFT_EXIT_FAILED */
    uint32_t replacements_max;
    int64_t period;
    uint32_t mailbox_max;      /* mailbox_max of the pool itself; default 65,536 */
    bool link;                 /* link the pool to the calling actor, as in weft_spawn_options */
    weft_monitor_ref *monitor; /* receives a monitor of the pool; NULL: none */
    /* options of each member: kind, stack_bytes, mailbox_max and so on. worker: 1..N puts all members on that worker,
     * otherwise they are spread. policy: WEFT_FULL_SUSPEND or _FAIL. link and monitor must not be set */
    weft_spawn_options member;
} weft_pool_options;

/* [A, W] Starts a pool and waits until its members have started. `body` and `arg` are as for weft_spawn, but `arg`
 * may have at most 60 KiB. The body receives messages by weft_recv and need not know that it is in a pool. The pool
 * is not tied to its caller; use `link` to end it with the caller. Errors, after which there is no pool: WEFT_EINVAL,
 * WEFT_ENOMEM, WEFT_EEXIST (the name is taken), WEFT_EFULL (the node's limit of actors), WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_spawn_pool(weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                          const weft_pool_options *options /* NULL: defaults */);

/* [A, W] Changes the number of members, 1 to WEFT_POOL_MAX. New members are started at once. Surplus members, the
 * newest first, get no more messages, and are asked to stop when nothing is outstanding to them. This call and those
 * below are for pools of this node; the pool handles them also while all its members are at their limit. Errors of
 * all of them: WEFT_EINVAL (not a pool, or a pool of another node), WEFT_ENOACTOR (the pool has ended),
 * WEFT_ETIMEDOUT, WEFT_ECANCELED. Here also WEFT_ENOMEM and WEFT_EFULL: as many members as possible were started. */
WEFT_API int weft_pool_resize(weft_pid pool, uint32_t count, int64_t deadline);

/* [A, W] Shuts a pool down gracefully: messages that were sent to it before are forwarded and processed. Then each
 * member in turn, the oldest place first, is asked to stop, and the pool waits for its end. At the deadline the
 * members that are left are killed, and the result is WEFT_ETIMEDOUT. Messages sent after this call may fail with
 * WEFT_ENOACTOR. (weft_stop on the pool does the same within the node's grace period, but refuses the messages in the
 * pool's mailbox.) */
WEFT_API int weft_pool_stop(weft_pid pool, int64_t deadline);

struct weft_pool_member {
    weft_pid pid;
    uint32_t outstanding;
    uint64_t done; /* messages replied to, freed or forwarded */
};
struct weft_pool_info {
    uint32_t count; /* members that the pool should have */
    uint32_t alive; /* members that are alive, without the retiring ones */
    /* members that are to end: they process their outstanding messages, or have been asked to stop */
    uint32_t retiring;
    uint32_t outstanding; /* outstanding messages of all members */
    uint32_t waiting;     /* messages in the pool's mailbox */
    uint64_t passed_on;   /* messages that the pool has forwarded */
    uint64_t refused;     /* messages that it could not forward to a member */
    uint64_t replaced;    /* members replaced since the start */
};
/* [A, W] Describes the pool in `*out` (may be NULL), and at most `max` members in `members`, the oldest place first.
 * Returns the number of members described. */
WEFT_API int weft_pool_inspect(weft_pid pool, struct weft_pool_info *out, struct weft_pool_member *members,
                               size_t max, int64_t deadline);

/* [S] Returns a hash of these bytes, for use as a key: the same on every machine and in every version. */
WEFT_API uint64_t weft_hash(const void *data, size_t size);

WEFT_END
#endif
