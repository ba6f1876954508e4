/* weft/supervisor.h -- actors that start other actors in order, start them again when they fail, and stop them in the
 * reverse order. After Erlang/OTP; docs/supervisors.md tells what happens when.
 *
 * A supervisor is an actor that has called weft_supervise. Its children are described by specs; they are linked to
 * it, so that none outlives it. A child may itself be a supervisor: that makes a tree, in which a failure goes up
 * only as far as it is not dealt with. */
#ifndef WEFT_SUPERVISOR_H
#define WEFT_SUPERVISOR_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* What is started again when one child has failed. */
typedef enum {
    WEFT_ONE_FOR_ONE,  /* that child */
    WEFT_ONE_FOR_ALL,  /* all: they are stopped, last first, then started, first first */
    WEFT_REST_FOR_ONE, /* that child and those after it, in the same way */
} weft_strategy;

/* Which ends of a child are failures. */
typedef enum {
    WEFT_PERMANENT, /* any */
    WEFT_TRANSIENT, /* any but WEFT_EXIT_NORMAL and WEFT_EXIT_STOPPED */
    WEFT_TEMPORARY, /* none: when it has ended, for whatever reason, it leaves the list of children */
} weft_restart;

enum {
    WEFT_CHILD_ARG_MAX = 60 * 1024, /* bytes */
    WEFT_CHILDREN_MAX = 65536,      /* of one supervisor */
    WEFT_RESTARTS_MAX = 10000,      /* limit of weft_supervisor_spec.max_restarts */
    WEFT_NO_RESTARTS = -1,          /* as max_restarts: the first failure is one too many */
};

/* One child. Zero means the default for every field but `name` and `body`. Everything is copied, but for
 * options.kind. */
typedef struct {
    const char *name; /* unlike its siblings'. As for weft_register, which is done for it at each start */
    weft_actor *body;
    const void *arg; /* at most WEFT_CHILD_ARG_MAX bytes; each start gets a copy */
    size_t arg_size;
    weft_restart restart;       /* default WEFT_PERMANENT */
    bool keep_mailbox;          /* a restarted child has the pid and the unread mail of the one before */
    bool await_ready;           /* it has started when it calls weft_ready(); default: when its body is entered */
    bool unregistered;          /* `name` is for its supervisor only */
    int64_t start_timeout;      /* for await_ready, and for memory to start in: then it has failed; default 30 s */
    int64_t stop_timeout;       /* from weft_stop to weft_kill. Default: the node's grace period, which is the most
                                 * an ordinary actor gets; for a supervisor: as long as its own children need */
    weft_spawn_options options; /* `link` and `monitor` must not be set */
} weft_child_spec;

/* Zero means the default for every field. */
typedef struct {
    weft_strategy strategy;          /* default WEFT_ONE_FOR_ONE */
    const weft_child_spec *children; /* in the order of their start */
    size_t child_count;              /* none is fine: see weft_start_child */
    int max_restarts;                /* within `period`; with one more the supervisor gives up. Default 3 */
    int64_t period;                  /* default 5 s */
    int64_t backoff_min;             /* before a restart; doubled for each further one of a child that has not lived
                                      * for `period` meanwhile. Default: no wait */
    int64_t backoff_max;             /* bound of the doubling; default the larger of 60 s and backoff_min */
    bool jitter;                     /* each wait is a random one between its half and its whole */
} weft_supervisor_spec;

/* Why a supervisor ended (beside WEFT_EXIT_STOPPED and WEFT_EXIT_KILLED). */
enum {
    WEFT_EXIT_GAVE_UP = 6, /* more restarts than allowed; the text says of which child, and its last reason */
};

/* [A, W] Makes the calling actor a supervisor: starts the children, keeps them running, and does not return: the
 * actor ends in here. weft_stop makes it stop its children in reverse order and end with WEFT_EXIT_STOPPED. A child
 * that does not even start for the first time makes it stop the others and end with that child's reason
 * (WEFT_EXIT_FAILED if that was WEFT_EXIT_NORMAL) and a text that names the child. If it is a child itself, it calls
 * weft_ready() for itself once all its children have started.
 * It returns only when it could not begin; then nothing has been started: WEFT_EINVAL (the log says which field),
 * WEFT_ENOMEM, WEFT_ECANCELED (it had been asked to stop before). */
WEFT_API int weft_supervise(const weft_supervisor_spec *spec);

/* [A] In a child with `await_ready`: it has started, its successors may. To report that it cannot start a child calls
 * weft_fail, or simply ends. Elsewhere, and the second time, it does nothing. WEFT_ENOMEM. */
WEFT_API int weft_ready(void);

/* The following ask a supervisor of this node; WEFT_EINVAL for another node's. `deadline` ends the waiting, not what
 * has been asked for. Also WEFT_EINVAL, WEFT_ENOACTOR, WEFT_ECANCELED (the supervisor is stopping), WEFT_ETIMEDOUT
 * and what weft_call returns. Not from a child that the supervisor waits for: one that is not ready yet, or
 * stopping. */

/* [A, W] Adds a child behind the others and returns when it has started. `out` (may be NULL) gets its pid.
 * WEFT_EEXIST if there is a child of that name or the name is registered, WEFT_EFULL; if it ended before it had
 * started: its reason if that is a WEFT_E* code, else WEFT_ECHILD. A child that did not start is not added. */
WEFT_API WEFT_CHECKED int weft_start_child(weft_pid supervisor, const weft_child_spec *spec, weft_pid *out,
                                           int64_t deadline);

/* [A, W] Stops a child, or ends the waiting for its restart, and takes it off the list. Returns when it has ended.
 * WEFT_ENOTFOUND, WEFT_EBUSY if somebody else is stopping it. */
WEFT_API int weft_stop_child(weft_pid supervisor, const char *name, int64_t deadline);

typedef enum {
    WEFT_CHILD_WAITING,  /* not running: for its turn to start, or for the back-off to pass */
    WEFT_CHILD_STARTING, /* not ready yet */
    WEFT_CHILD_RUNNING,
    WEFT_CHILD_STOPPING,
    WEFT_CHILD_ENDED, /* a WEFT_TRANSIENT one that needs no restart, until its group is started again. Under
                       * WEFT_ONE_FOR_ONE it leaves the list instead */
} weft_child_state;

struct weft_child_info {
    char name[65];
    weft_child_state state;
    bool is_supervisor;
    weft_pid pid;      /* weft_nobody() while it has none */
    uint32_t restarts; /* because this child failed, not another one */
    int reason;        /* of its last end */
};

/* [A, W] Describes the first `max` children in order. Returns how many there are in all. */
WEFT_API int weft_children(weft_pid supervisor, struct weft_child_info *out, size_t max, int64_t deadline);

WEFT_END
#endif
