/* weft/actor.h -- making actors and ending them. */
#ifndef WEFT_ACTOR_H
#define WEFT_ACTOR_H

#include <weft/api.h>
#include <weft/names.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* The body of an actor. `arg` is the actor's own copy of what was given to weft_spawn, aligned for any type, valid
 * until the body returns. Returning ends the actor with reason WEFT_EXIT_NORMAL. */
typedef void weft_actor(const void *arg, size_t size);

/* Why an actor ended: one of these, a WEFT_E* code (it failed with that error), or a number of its own from 16 up. */
enum {
    WEFT_EXIT_NORMAL = 0,    /* the body returned */
    WEFT_EXIT_STOPPED = 1,   /* the body returned after it was asked to stop */
    WEFT_EXIT_KILLED = 2,    /* weft_kill, or it did not end within the grace period: its stack was dropped */
    WEFT_EXIT_NO_ACTOR = 3,  /* it had ended, for reasons unknown, before it was monitored or linked */
    WEFT_EXIT_NODE_LOST = 4, /* its node is unreachable; it may live on there */
    WEFT_EXIT_FAILED = 5,    /* weft_require; the usual reason for weft_fail */
};

/* What weft_send does when this actor's mailbox is full. Refused and dropped messages are counted per actor. What was
 * under way from another worker of this node when the mailbox filled up is still taken with _SUSPEND and _FAIL; a
 * sender on another node waits with _SUSPEND as well, when its worker has sent what it had credit for; with the
 * others its message is dropped and counted at the bound. docs/mailboxes.md */
typedef enum {
    WEFT_FULL_SUSPEND,     /* the sending actor waits for room (see weft_send) */
    WEFT_FULL_DROP_NEWEST, /* the message that does not fit is dropped */
    WEFT_FULL_DROP_OLDEST, /* the oldest message makes room; by bytes: as many as it takes */
    WEFT_FULL_FAIL,        /* weft_send gets WEFT_EFULL at once */
} weft_full_policy;

/* A monitor of the calling actor: see weft/monitor.h. */
typedef struct {
    uint64_t id;
} weft_monitor_ref;

/* Zero means the default for every field. */
typedef struct {
    const char *kind;        /* shown by `weft ps`; static storage, not copied; default "actor" */
    size_t stack_bytes;      /* default: the node's stack size; rounded up to the next class, at most 8 MiB */
    uint32_t mailbox_max;    /* messages; default 65,536 */
    weft_full_policy policy; /* at the bound; default WEFT_FULL_SUSPEND */
    /* bytes, 64 for each message and its body if that is not shared; the mailbox is full from there on, so that the
     * last message may go beyond; default: none but the node's mailbox_bytes_max */
    size_t mailbox_bytes;
    uint32_t aside_max; /* messages that one selective receive may pass over; default 10,000; see weft_recv_match */
    /* 1..N: that one. WEFT_SPREAD, WEFT_BESIDE. 0: the parent's; but while another one is idle children go there if
     * the parent's has much to run (64 actors), and every second child while the actors of the parent's have each
     * run for 20 us or more, on average, in this turn of its loop */
    int worker;
    bool link; /* tie parent and child as weft_link does, before the child first runs */
    /* Others read or write this actor's stack while it waits: it is never parked (weft_node_options.park_after).
     * Without it nobody else may use variables of an actor that waits; a fault then names both actors. */
    bool shares_stack;
    weft_monitor_ref *monitor; /* gets a monitor of the child, made before it first runs; NULL: none */
} weft_spawn_options;
/* As `worker`. _SPREAD: the workers take turns. For children that live long and talk little to their parent, as a
 * server's clients do. _BESIDE: the parent's, in any case (with weft_node_spawn: as _SPREAD). The two never run at
 * the same time, and one may read a stream while the other writes it. */
enum { WEFT_SPREAD = -1, WEFT_BESIDE = -2 };

/* [A] Starts an actor and returns at once; the actor first runs after the caller suspends. Copies `size` bytes of
 * `arg` (at most 64 KiB); the copy is the actor's, and good until its clean-ups have run. `out` (may be NULL) gets
 * the pid.
 * WEFT_EINVAL, WEFT_ENOMEM, WEFT_EFULL (the node's actor limit), WEFT_ECANCELED (the node is stopping). */
WEFT_API WEFT_CHECKED int weft_spawn(weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                     const weft_spawn_options *options /* NULL: defaults */);

/* [A] The calling actor; weft_nobody() outside of actors. */
WEFT_API weft_pid weft_self(void);

/* [A] Ends the calling actor: runs its deferred clean-ups, last first, and does not return. `reason` is one of
 * WEFT_EXIT_*, a WEFT_E* code, or a number of your own from 16 up; weft_main makes an exit code of the first actor's.
 * Called from a clean-up it abandons that one; the others still run. Outside of an actor it ends the process, with a
 * message. */
WEFT_API WEFT_NORETURN void weft_exit(int reason);

/* [A] weft_fail(reason, format, ...): the same with a text, which goes to the log and to everyone who monitors this
 * actor or is linked to it: "file.c:12: what went wrong". Only this actor ends; its process lives on. */
#define weft_fail(reason, ...) weft_fail_at(__FILE__, __LINE__, reason, __VA_ARGS__)
/* [A] An actor's own assertion: if `condition` does not hold it ends with WEFT_EXIT_FAILED and the condition's
 * text. */
#define weft_require(condition) \
    ((condition) ? (void)0 : weft_fail_at(__FILE__, __LINE__, WEFT_EXIT_FAILED, "%s does not hold", #condition))
WEFT_API WEFT_NORETURN void weft_fail_at(const char *file, int line, int reason, const char *format, ...)
    WEFT_PRINTF(4, 5);

/* [A] Asks an actor (perhaps the caller itself) to end: what it waits for, and every later wait, returns
 * WEFT_ECANCELED. If it has not ended after the node's grace period it is killed. Works across nodes. WEFT_ENOACTOR
 * if it is known to be gone, WEFT_ENONODE, WEFT_EINVAL (nobody), WEFT_ENOMEM. */
WEFT_API int weft_stop(weft_pid target);

/* [A] Ends an actor at its next wait, or now if it waits: its frames are abandoned and its deferred clean-ups run.
 * Reason WEFT_EXIT_KILLED. An actor whose clean-ups run already is left to them. Otherwise as weft_stop. */
WEFT_API int weft_kill(weft_pid target);

/* [A] Runs `undo(arg)` when this actor ends, in whatever way; last in, first out. `arg` must not point into the
 * body's own variables: they are gone when it has returned. A clean-up may wait, but all of them together no longer
 * than the node's grace period. WEFT_ENOMEM: then `undo(arg)` has already been run. */
WEFT_API WEFT_CHECKED int weft_defer(void (*undo)(void *), void *arg);

/* [A, W] Lets every other actor of this worker that was ready to go on do so. Those just spawned begin first, up to
 * some 250 of them. */
WEFT_API int weft_yield(void);

/* [A, W] Sleeps until the deadline. 0 once it has come; WEFT_ECANCELED. */
WEFT_API int weft_sleep(int64_t deadline);

WEFT_END
#endif
