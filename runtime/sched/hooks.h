/* runtime/sched/hooks.h -- the functions that the layer above registers: to run tasks, to take posts, to describe
 * tasks to users. */
#ifndef WF_HOOKS_H
#define WF_HOOKS_H

#include "post.h"

struct wf_wait_kind;
struct wf_task;
struct wf_workers;

/* Result of task_main: the task is over; it waits and needs no stack; it has more to do, after other tasks. */
enum wf_turn { WF_TURN_OVER, WF_TURN_IDLE, WF_TURN_AGAIN };

struct wf_hooks {
    size_t worker_bytes;    /* what the layer above keeps behind each struct wf_worker; a multiple of WF_CACHE_LINE */
    ptrdiff_t task_id_at;   /* offset from the task of a uint64_t, its id, for records */
    ptrdiff_t task_kind_at; /* offset of the const char * name of its kind, valid for its life */
    /* Any thread: the name of the task with that id, "" if it has none. May be NULL. */
    void (*task_name)(struct wf_workers *set, uint64_t id, char *out, size_t size);
    enum wf_turn (*task_main)(struct wf_task *t); /* on the task's stack; called again after the last two results */
    void (*task_done)(struct wf_task *t);         /* it is not used afterwards, so this may free it */
    void (*task_killed)(struct wf_task *t) __attribute__((noreturn)); /* on its stack: end it by wf_task_exit */
    /* There is no memory for its stack. True: it ends without having run, and may be freed; false: it is tried
     * again. */
    bool (*task_unstarted)(struct wf_task *t);
    /* The latest end of a wait of a `bounded` task, which begins to wait. May set `killed`. */
    int64_t (*task_latest)(struct wf_task *t);
    /* The running task gave `what` a time span where a point in time belongs (wf_is_span), or the other way round
     * (wf_is_point). Runs on the task's stack, and must not wait; may be NULL. */
    void (*wrong_time)(struct wf_task *t, const char *what, int64_t time);
    /* async-signal-safe: writes "actor chat 0.17.1" */
    void (*task_describe)(const struct wf_task *t, char *out, size_t size);
    /* An IDLE or PARKED task was woken, or a STACKLESS task begins to wait on a stack. May be NULL. */
    void (*task_woken)(struct wf_task *t);
    /* reports how much of its stack was used (wf_stack_used) if that is more than one page; may be NULL */
    void (*task_stack_used)(struct wf_task *t, size_t used);
    /* async-signal-safe: describes the parked task of worker `w` whose stack begins at `base`; false: there is none.
     * May be NULL */
    bool (*parked_describe)(const struct wf_worker *w, const char *base, char *out, size_t size);
    void (*on_post[WF_POST_KINDS])(struct wf_worker *w, struct wf_post *p);
    void (*drop_post)(struct wf_worker *w, struct wf_post *p); /* the node ends before it is delivered: frees it */
    /* Sources of waits that the layer above adds, see wait.h; the last is NULL. NULL: there are none. */
    const struct wf_wait_kind *const *wait_kinds;
    /* step 4 of a turn: hands the batches of each peer to the carrier; may be NULL */
    void (*flush)(struct wf_worker *w);
};

#endif
