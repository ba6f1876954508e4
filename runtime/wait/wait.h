/* runtime/wait/wait.h -- waiting for any or all of several sources, and the functions that a source has to provide.
 *
 * Design notes.
 * (1) Each kind of source has a row of functions, a struct wf_wait_kind, beside its own code. A space registers its
 *     rows in its part (part.h), the layer above in its hooks. wait.c calls these functions and knows none of the
 *     kinds: a new source is a number below, a row, and a line where rows are registered.
 * (2) A wait looks at each source; if none is ready it attaches to each of them, suspends, and looks again. If one
 *     can become ready between the look and the attaching, all are looked at before the wait suspends. Looking
 *     consumes nothing, so a wake is only a reason to look again, and the sources that were not ready are unchanged.
 * (3) All data of a wait is on the waiting task's stack. The small array serves nearly every wait, so that a few
 *     sources do not touch a second page of the stack. Everything is undone before settling, as a killed task does
 *     not come back from that. */
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

/* One source of one wait. Stays where it is for the length of the wait. */
enum { WF_WAIT_STATE = 80 };
struct wf_wait {
    const struct wf_wait_kind *kind;
    struct wf_task *task;
    bool attached;                        /* attach has been called, even if it failed */
    bool done;                            /* weft_wait_all: it was ready once */
    alignas(8) char state[WF_WAIT_STATE]; /* the source's own: wf_wait_state */
};
/* For a row: its own struct of at most WF_WAIT_STATE bytes. `open` begins it. */
#define WF_WAIT_STATE_OF(type, wait)                                                       \
    (__extension__({                                                                       \
        _Static_assert(sizeof(type) <= WF_WAIT_STATE && alignof(type) <= 8, "it fits in"); \
        (type *)(void *)(wait)->state;                                                     \
    }))

struct wf_wait_kind {
    enum wf_wait_number number;
    bool for_write;   /* the row's own */
    const char *name; /* static text: what people are told that the task waits for */
    /* Begins; an error leaves nothing behind. WEFT_ECLOSED, WEFT_EINVAL, ... */
    int (*open)(struct wf_wait *s, const weft_wait *from);
    /* The wait will not suspend: what came since the last poll counts as well. May be NULL. */
    void (*recheck)(struct wf_wait *s);
    /* 1: it is ready; 0: it is not; or an error. */
    int (*look)(struct wf_wait *s);
    /* From now until the end the task is woken when it may be ready. 0: it is as it was at the last look, because
     * nothing but the task's own worker makes it ready; 1: it has to be looked at again. `first` is the first source
     * of the same wait. WEFT_ENOMEM, ... */
    int (*attach)(struct wf_wait *s, struct wf_wait *first);
    /* weft_wait_all: it was ready, and the wait goes on for others. May be NULL. */
    void (*was_ready)(struct wf_wait *s);
    /* Undoes open, and attach if `attached`. */
    void (*close)(struct wf_wait *s);
};

extern const struct wf_part wf_wait_part; /* the first: it registers the rows of all */

#endif
