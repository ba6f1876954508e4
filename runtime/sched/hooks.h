/* runtime/sched/hooks.h -- what the layer above registers: what a task does, what becomes of a post, what people are
 * told. */
#ifndef WF_HOOKS_H
#define WF_HOOKS_H

#include "post.h"

struct wf_wait_kind;
struct wf_task;
struct wf_workers;

/* What task_main has come to: it is over; it waits and needs no stack to go on; it has more to do, after others. */
enum wf_turn { WF_TURN_OVER, WF_TURN_IDLE, WF_TURN_AGAIN };

struct wf_hooks {
    ptrdiff_t task_id_at;   /* where the uint64_t lies that tells a task from others, from the task: for records */
    ptrdiff_t task_kind_at; /* and where the const char * to the name of its kind does, which is good for its life */
    /* Any thread: the name of the task with that id, "" if it has none. May be NULL. */
    void (*task_name)(struct wf_workers *set, uint64_t id, char *out, size_t size);
    enum wf_turn (*task_main)(struct wf_task *t); /* on the task's stack; called again after the latter two */
    void (*task_done)(struct wf_task *t);         /* the last touch: may free the task */
    void (*task_killed)(struct wf_task *t) __attribute__((noreturn)); /* on its stack: end it by wf_task_exit */
    /* There is no stack for it. True: it ends without having run, and may be freed; false: it tries again. */
    bool (*task_unstarted)(struct wf_task *t);
    int64_t (*task_latest)(const struct wf_task *t); /* of one that is `bounded` */
    /* The running task gave `what` a span where a point in time belongs (wf_is_span), or the other way round
     * (wf_is_point). On the task's stack, must not wait; may be NULL. */
    void (*wrong_time)(struct wf_task *t, const char *what, int64_t time);
    /* async-signal-safe: "actor chat 0.17.1" */
    void (*task_describe)(const struct wf_task *t, char *out, size_t size);
    /* One that was IDLE or PARKED has been woken; or that was STACKLESS begins to wait on a stack. May be NULL. */
    void (*task_woken)(struct wf_task *t);
    /* of the stack it has or had, as wf_stack_used says, beyond one page; may be NULL */
    void (*task_stack_used)(struct wf_task *t, size_t used);
    /* async-signal-safe: the parked task of worker `w` whose stack begins there, if there is one; may be NULL */
    bool (*parked_describe)(const struct wf_worker *w, const char *base, char *out, size_t size);
    void (*on_post[WF_POST_KINDS])(struct wf_worker *w, struct wf_post *p);
    void (*drop_post)(struct wf_worker *w, struct wf_post *p); /* the node ends with it undelivered: free it */
    /* What it adds to the things one can wait for: wait.h; the last is NULL. NULL itself: nothing. */
    const struct wf_wait_kind *const *wait_kinds;
    /* step 4 of a turn: hand what is batched per peer to the carrier; may be NULL */
    void (*flush)(struct wf_worker *w);
};

#endif
