/* runtime/wait/wait.h -- waiting for any or all of several sources, and the functions that a source has to provide.
 *
 * Design notes.
 * (1) Each kind of source has a row of functions, a struct wf_wait_kind, beside its own code. A room of runtime/
 *     registers its rows in its part (part.h), the layer above in its hooks. wait.c calls these functions and knows
 *     none of the kinds: a new source is a number below, a row, and a line where rows are registered.
 * (2) A wait looks at each source; if none is ready it attaches to each of them, suspends, and looks again. If one
 *     can become ready between the look and the attaching, all are looked at before the wait suspends. Looking
 *     consumes nothing, so a wake is only a reason to look again, and the sources that were not ready are unchanged.
 * (3) All data of a wait is on the waiting task's stack. The small array serves nearly every wait, so that a few
 *     sources do not touch a second page of the stack. Everything is undone before wf_task_finish_wait, which does
 *     not return for a killed task. */
#ifndef WF_WAIT_H
#define WF_WAIT_H

#include "task.h"

#include <weft/wait.h>

/* weft_wait.kind: where a row stands in wf_workers.wait_kinds. 0 is no kind. */
enum wf_wait_number {
    WF_ON_MAILBOX = 1,
    WF_ON_TIMER,
    WF_ON_EVENT,
    WF_ON_END,
    WF_ON_READABLE,
    WF_ON_WRITABLE,
    WF_ON_LISTENER,
    WF_ON_FD_READABLE,
    WF_ON_FD_WRITABLE,
    WF_ON_UDP_READABLE,
    WF_ON_UDP_WRITABLE,
    WF_WAIT_KINDS
};
_Static_assert((int)WF_WAIT_KINDS <= (int)WF_WAIT_KINDS_MAX, "wf_workers.wait_kinds has a place for each kind");

/* One source of one wait. It does not move during the wait. */
enum { WF_WAIT_STATE = 80 };
struct wf_wait {
    const struct wf_wait_kind *kind;
    struct wf_task *task;
    bool attached;                        /* attach has been called, even if it failed */
    bool done;                            /* weft_wait_all: it was ready once */
    alignas(8) char state[WF_WAIT_STATE]; /* for the source: WF_WAIT_STATE_OF */
};
/* A row's own struct, of at most WF_WAIT_STATE bytes. `open` initialises it. */
#define WF_WAIT_STATE_OF(type, wait)                                                       \
    (__extension__({                                                                       \
        _Static_assert(sizeof(type) <= WF_WAIT_STATE && alignof(type) <= 8, "it fits in"); \
        (type *)(void *)(wait)->state;                                                     \
    }))

struct wf_wait_kind {
    enum wf_wait_number number;
    bool for_write;   /* for the row: which direction it waits for */
    const char *name; /* static text for users: the source for which the task waits */
    /* Begins the wait. Returns 0, WEFT_ECLOSED, WEFT_EINVAL or another error, after which nothing is left to be
     * undone. */
    int (*open)(struct wf_wait *s, const weft_wait *from);
    /* Called if the wait will not suspend: then events since the last poll count as well. May be NULL. */
    void (*recheck)(struct wf_wait *s);
    /* Returns 1: it is ready; 0: it is not; or an error. */
    int (*look)(struct wf_wait *s);
    /* From now until the end the task is woken when it may be ready. `first` is the first source of the same wait.
     * Returns 0: it has not changed since the last look, because only the task's own worker makes it ready; 1: `look`
     * must be called again; WEFT_ENOMEM or another error. */
    int (*attach)(struct wf_wait *s, struct wf_wait *first);
    /* Called by weft_wait_all when this source was ready, and the wait continues for others. May be NULL. */
    void (*was_ready)(struct wf_wait *s);
    /* Undoes open, and attach if `attached`. */
    void (*close)(struct wf_wait *s);
};

extern const struct wf_part wf_wait_part; /* the first part, which registers the rows of all parts */

#endif
