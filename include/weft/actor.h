/* weft/actor.h -- starting actors and ending them. */
#ifndef WEFT_ACTOR_H
#define WEFT_ACTOR_H

#include <weft/api.h>
#include <weft/names.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* The body of an actor. `arg` is the actor's own copy of the bytes given to weft_spawn: aligned for any type and
 * valid until the body returns. When the body returns, the actor ends with reason WEFT_EXIT_NORMAL. */
typedef void weft_actor(const void *arg, size_t size);

/* Why an actor ended: one of these, a WEFT_E* code (the actor failed with that error), or a number of its own from 16
 * up. */
enum {
    WEFT_EXIT_NORMAL = 0,    /* the body returned */
    WEFT_EXIT_STOPPED = 1,   /* the body returned after it was asked to stop */
    WEFT_EXIT_KILLED = 2,    /* weft_kill, or it outlived its grace period: its stack was discarded */
    WEFT_EXIT_NO_ACTOR = 3,  /* it had ended before it was monitored or linked; its reason is not known */
    WEFT_EXIT_NODE_LOST = 4, /* its node is unreachable; the actor may still run there */
    WEFT_EXIT_FAILED = 5,    /* weft_require; the usual reason for weft_fail */
};

/* What weft_send does when this actor's mailbox is full. Each actor counts its refused and dropped messages (`weft
 * ps` shows the numbers). A message that was already on its way between two workers of this node when the mailbox
 * filled up is still accepted under _SUSPEND and _FAIL. A sender on another node also waits under _SUSPEND, once its
 * worker has used up the credit that this node has granted. Under the other policies, a full mailbox drops the
 * message from another node and counts it. docs/mailboxes.md */
typedef enum {
    WEFT_FULL_SUSPEND,     /* the sending actor waits for free space (see weft_send) */
    WEFT_FULL_DROP_NEWEST, /* the message that does not fit is dropped */
    WEFT_FULL_DROP_OLDEST, /* the oldest message is dropped; with a byte limit, as many as needed */
    WEFT_FULL_FAIL,        /* weft_send returns WEFT_EFULL at once */
} weft_full_policy;

/* A monitor of the calling actor: see weft/monitor.h. */
typedef struct {
    uint64_t id;
} weft_monitor_ref;

/* Zero means the default for every field. */
typedef struct {
    const char *kind; /* shown by `weft ps`; static storage, not copied; default "actor" */
    /* default: the node's stack size. Rounded up to the next class: 16 KiB, 64 KiB, 256 KiB, 1 MiB, 8 MiB, which is the
     * most. See docs/memory.md for what fits into 16 KiB */
    size_t stack_bytes;
    uint32_t mailbox_max;    /* messages; default 65,536; more than 2^31 - 1 count as that */
    weft_full_policy policy; /* when the mailbox is full; default WEFT_FULL_SUSPEND */
    /* limit in bytes: 64 for each message, plus its body unless the body is shared. The mailbox is full once it holds
     * this many bytes, so the last message may exceed the limit. Default: no limit except the node's
     * mailbox_bytes_max */
    size_t mailbox_bytes;
    uint32_t skipped_max; /* messages that one selective receive may skip; default 10,000; see weft_recv_match */
    /* The worker on which the actor lives. 1..N: the worker of that number. WEFT_SPREAD, WEFT_BESIDE: see below. 0:
     * the worker of the parent. While another worker is idle, there are two exceptions: if 64 or more actors of the
     * parent's worker are ready to run, children go to the idle worker; and if the actors that the parent's worker
     * has run in this iteration of its loop took 20 us or more each, on average, every second child goes there */
    int worker;
    bool link; /* link parent and child as weft_link does, before the child first runs */
    /* Other actors read or write this actor's stack while it waits, so it is never parked
     * (weft_node_options.park_after). Without this option, no other code may use local variables of a waiting actor:
     * while the actor is parked, such an access is a fault, whose report names both actors. */
    bool shares_stack;
    /* receives a monitor of the child, made before the child first runs; NULL: no monitor */
    weft_monitor_ref *monitor;
} weft_spawn_options;
/* Values of `worker`. WEFT_SPREAD: the workers take turns. It suits children that live long and exchange few messages
 * with their parent, such as the actors for a server's clients. WEFT_BESIDE: always the parent's worker
 * (weft_node_spawn treats it as WEFT_SPREAD). Parent and child then never run at the same time, and one may read a
 * stream while the other writes it. */
enum { WEFT_SPREAD = -1, WEFT_BESIDE = -2 };

/* [A, Y] Starts an actor and returns at once. The actor first runs after the caller suspends. Copies `size` bytes of
 * `arg` (at most 64 KiB); the copy belongs to the new actor and stays valid until its clean-ups have run. `out` (may
 * be NULL) receives the pid.
 * Errors: WEFT_EINVAL, WEFT_ENOMEM, WEFT_EFULL (the node's limit of actors is reached), WEFT_ECANCELED (the node is
 * stopping). */
WEFT_API WEFT_CHECKED int weft_spawn(weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                     const weft_spawn_options *options /* NULL: defaults */);

/* [A] Returns the pid of the calling actor; weft_nobody() outside of actors. */
WEFT_API weft_pid weft_self(void);

/* [A] Ends the calling actor: runs its deferred clean-ups, last first, and does not return. `reason` is one of
 * WEFT_EXIT_*, a WEFT_E* code, or a number of your own from 16 up; weft_main turns the first actor's reason into an
 * exit code. If a clean-up calls weft_exit, that clean-up is abandoned and the others still run. Outside of an actor,
 * weft_exit ends the process with a message. */
WEFT_API WEFT_NORETURN void weft_exit(int reason);

/* [A] weft_fail(reason, format, ...): as weft_exit, with a text: "file.c:12: what went wrong". The text goes to the
 * log and to every actor that monitors this actor or is linked to it. Only this actor ends; the process continues. */
#define weft_fail(reason, ...) weft_fail_at(__FILE__, __LINE__, reason, __VA_ARGS__)
/* [A] An assertion for actors: if `condition` is false, the actor ends with WEFT_EXIT_FAILED and the condition's
 * text. */
#define weft_require(condition) \
    ((condition) ? (void)0 : weft_fail_at(__FILE__, __LINE__, WEFT_EXIT_FAILED, "%s does not hold", #condition))
WEFT_API WEFT_NORETURN void weft_fail_at(const char *file, int line, int reason, const char *format, ...)
    WEFT_PRINTF(4, 5);

/* [A] Asks an actor (or the caller itself) to end: its current wait and every later wait return WEFT_ECANCELED. If
 * the actor has not ended after the node's grace period, it is killed. Works across nodes.
 * Errors: WEFT_ENOACTOR (the target is known to have ended), WEFT_ENONODE, WEFT_EINVAL (the target is weft_nobody()),
 * WEFT_ENOMEM. */
WEFT_API int weft_stop(weft_pid target);

/* [A] Ends an actor at its next wait, or at once if it is waiting. Its stack is discarded, so no function on it
 * returns; then its deferred clean-ups run. The reason is WEFT_EXIT_KILLED. If the actor is already running its
 * clean-ups, weft_kill does not interrupt them. Works across nodes, with the errors of weft_stop. */
WEFT_API int weft_kill(weft_pid target);

/* [A] Runs `undo(arg)` when this actor ends, for whatever reason. Clean-ups run in reverse order: the last deferred
 * runs first. `arg` must not point to local variables of the body, because they are gone once the body has returned.
 * A clean-up may wait, but all clean-ups together may take no longer than the node's grace period: after that their
 * waits return WEFT_ETIMEDOUT at once. A clean-up that still waits again after a second grace period is abandoned, and
 * the others run.
 * Errors: WEFT_ENOMEM (`undo(arg)` has already been run). WEFT_ETIMEDOUT (a clean-up has called it after the second
 * grace period: `undo(arg)` has already been run; but if it was called by a clean-up that was run in this way,
 * `undo(arg)` is not run, so that clean-ups that defer themselves again come to an end). */
WEFT_API WEFT_CHECKED int weft_defer(void (*undo)(void *), void *arg);

/* [A, W] Lets every other actor of this worker that is ready run once. Newly spawned actors start first, up to about
 * 250 of them. Returns 0, or WEFT_ECANCELED. */
WEFT_API int weft_yield(void);

/* [A, W] Sleeps until the deadline. Returns 0 when the deadline has come, or WEFT_ECANCELED. */
WEFT_API int weft_sleep(int64_t deadline);

WEFT_END
#endif
