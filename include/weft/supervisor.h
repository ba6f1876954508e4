/* weft/supervisor.h -- actors that start other actors in order, restart them when they fail, and stop them in the
 * reverse order. The design follows Erlang/OTP; docs/supervisors.md describes each case.
 *
 * A supervisor is an actor that has called weft_supervise. Specs describe its children. The children are linked to
 * it, so that no child outlives it. A child may itself be a supervisor. This makes a tree, in which a failure travels
 * up until a supervisor deals with it. */
#ifndef WEFT_SUPERVISOR_H
#define WEFT_SUPERVISOR_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* What is restarted when one child has failed. */
typedef enum {
    WEFT_ONE_FOR_ONE,  /* that child */
    WEFT_ONE_FOR_ALL,  /* all children: they are stopped, last first, then started, first first */
    WEFT_REST_FOR_ONE, /* that child and the children after it, in the same way */
} weft_strategy;

/* Which ends of a child count as failures. */
typedef enum {
    WEFT_PERMANENT, /* every end */
    WEFT_TRANSIENT, /* every end except WEFT_EXIT_NORMAL and WEFT_EXIT_STOPPED */
    WEFT_TEMPORARY, /* no end: when the child has ended, for whatever reason, it leaves the list of children */
} weft_restart;

enum {
    WEFT_CHILD_ARG_MAX = 60 * 1024, /* bytes */
    WEFT_CHILDREN_MAX = 65536,      /* the children of one supervisor */
    WEFT_RESTARTS_MAX = 10000,      /* limit of weft_supervisor_spec.max_restarts */
    WEFT_NO_RESTARTS = -1,          /* as max_restarts: the first failure already exceeds the limit */
};

/* One child. Zero means the default for every field but `name` and `body`. Everything is copied except the text of
 * options.kind. */
typedef struct {
    const char *name; /* different from its siblings' names. Each start registers it as by weft_register */
    weft_actor *body;
    const void *arg; /* at most WEFT_CHILD_ARG_MAX bytes; each start gets a copy */
    size_t arg_size;
    weft_restart restart; /* default WEFT_PERMANENT */
    bool keep_mailbox;    /* a restarted child keeps the pid and the unread user messages of the previous one */
    bool await_ready;     /* the child has started once it calls weft_ready(); default: once its body is entered */
    bool unregistered;    /* `name` is not registered; only the supervisor knows it */
    /* how long the start may take, for await_ready and while there is not enough memory; after that the start has
     * failed; ns, default 30 s */
    int64_t start_timeout;
    /* ns from weft_stop to weft_kill. Default: the node's grace period, which is the longest that an ordinary actor
     * gets; for a supervisor: as long as its own children need */
    int64_t stop_timeout;
    weft_spawn_options options; /* `link` and `monitor` must not be set */
} weft_child_spec;

/* Zero means the default for every field. */
typedef struct {
    weft_strategy strategy;          /* default WEFT_ONE_FOR_ONE */
    const weft_child_spec *children; /* the children, in the order in which they start */
    size_t child_count;              /* may be 0: see weft_start_child */
    int max_restarts; /* restarts allowed within `period`; one more, and the supervisor gives up. Default 3 */
    int64_t period;   /* ns; default 5 s */
    /* ns to wait before a restart. The wait doubles with each further restart of a child that has not run for
     * `period` meanwhile. Default: no wait */
    int64_t backoff_min;
    int64_t backoff_max; /* ns; the longest wait after doubling; default the larger of 60 s and backoff_min */
    bool jitter;         /* true: each wait is random, 50 to 100 % of its length */
} weft_supervisor_spec;

/* Why a supervisor ended, besides WEFT_EXIT_STOPPED and WEFT_EXIT_KILLED. */
enum {
    WEFT_EXIT_GAVE_UP = 6, /* more restarts than allowed; the text names the child and its last reason */
};

/* [A, W] Makes the calling actor a supervisor: starts the children and keeps them running. When the supervisor ends,
 * the actor ends inside this call, so the call does not return. After weft_stop it stops its children in reverse
 * order and ends with WEFT_EXIT_STOPPED. If a child fails at its first start, the supervisor stops the others and
 * ends with that child's reason (WEFT_EXIT_FAILED if that was WEFT_EXIT_NORMAL) and a text that names the child. A
 * supervisor that is itself a child with `await_ready` calls weft_ready() once all its children have started.
 *
 * The call returns only if the supervisor could not begin; then nothing has been started.
 * Errors: WEFT_EINVAL (the log says which field; also in a clean-up, because no wait there outlasts the grace
 * period), WEFT_ENOMEM, WEFT_ECANCELED (the actor had been asked to stop before). */
WEFT_API int weft_supervise(const weft_supervisor_spec *spec);

/* [A] Called by a child with `await_ready`: the child has started, and the next children may start. A child that
 * cannot start calls weft_fail, or simply ends. In other actors, and when called again, it does nothing.
 * WEFT_ENOMEM. */
WEFT_API int weft_ready(void);

/* The following calls send a request to a supervisor of this node. The `deadline` ends the wait for the reply; the
 * supervisor still does what was asked. A child must not call them while the supervisor waits for this child, because
 * it is not ready yet or is stopping.
 * Errors: WEFT_EINVAL (also for a supervisor of another node, and if an actor that is no supervisor replies),
 * WEFT_ENOACTOR, WEFT_ECANCELED (the supervisor is stopping), WEFT_ETIMEDOUT, and the errors of weft_call. */

/* [A, W] Adds a child after the others and returns when it has started. `out` (may be NULL) receives its pid. A child
 * that did not start is not added.
 * Errors: WEFT_EEXIST (there is a child of that name, or the name is registered), WEFT_EFULL. If the child ended
 * before it had started: its reason if that is a WEFT_E* code, else WEFT_ECHILD. */
WEFT_API WEFT_CHECKED int weft_start_child(weft_pid supervisor, const weft_child_spec *spec, weft_pid *out,
                                           int64_t deadline);

/* [A, W] Stops a child, or cancels its pending restart, and removes it from the list. Returns when the child has
 * ended.
 * Errors: WEFT_ENOTFOUND, WEFT_EBUSY (another actor is stopping it). */
WEFT_API int weft_stop_child(weft_pid supervisor, const char *name, int64_t deadline);

typedef enum {
    WEFT_CHILD_WAITING,  /* not running: it waits for its turn to start, or for the back-off to pass */
    WEFT_CHILD_STARTING, /* not ready yet */
    WEFT_CHILD_RUNNING,
    WEFT_CHILD_STOPPING,
    /* a WEFT_TRANSIENT child that needs no restart, until its siblings are restarted with it. Under WEFT_ONE_FOR_ONE
     * such a child leaves the list instead */
    WEFT_CHILD_ENDED,
} weft_child_state;

struct weft_child_info {
    char name[65];
    weft_child_state state;
    bool is_supervisor;
    weft_pid pid;      /* weft_nobody() while it is not running */
    uint32_t restarts; /* restarts because this child failed, not another one */
    int reason;        /* the reason of its last end */
};

/* [A, W] Describes the first `max` children, in order. Returns the number of all children. */
WEFT_API int weft_children(weft_pid supervisor, struct weft_child_info *out, size_t max, int64_t deadline);

WEFT_END
#endif
