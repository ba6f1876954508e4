/* runtime/sched/post.h -- posts between workers, batches of posts, and waiting for a congested worker. The rules of
 * sleeping and waking are note (3) of worker.h. */
#ifndef WF_POST_H
#define WF_POST_H

#include "base.h"

struct wf_worker;

/* WORK: a MESSAGE that a pool of actors has passed on, until the member frees or sends it. HEAVY: the same on its way
 * to another worker, while its bytes are counted by wf_worker_weigh. */
enum wf_post_kind {
    WF_POST_CALL,
    WF_POST_MESSAGE,
    WF_POST_WORK,
    WF_POST_HEAVY_MESSAGE,
    WF_POST_HEAVY_WORK,
    WF_POST_KINDS,
    WF_POST_BUNDLE = WF_POST_KINDS,
    WF_POST_HANDLED, /* a MESSAGE or WORK that a handler was called with; it is never posted */
    WF_POST_HANDLED_WORK,
};

/* Each struct that is posted to another worker begins with it. */
struct wf_post {
    struct wf_post *next; /* batch and inbox: the one pushed before this one */
    union {
        struct {
            uint8_t kind;        /* wf_post_kind: wf_hooks.on_post[kind] takes it */
            uint8_t flags;       /* the kind says what they mean */
            uint8_t block_class; /* the class of its memory block, for wf_pool_give */
            uint8_t room;        /* the kind says what it means; 0 in all messages */
        };
        uint32_t head; /* these together */
    };
    uint32_t word; /* the kind says what it means */
};

/* WF_POST_BUNDLE: many posts in an array, oldest first, so that their cache lines can be prefetched; in a list each
 * one would have to be loaded before the next. `word` counts them. Made by wf_post_batch_flush. */
enum { WF_BUNDLE = 62 };
struct wf_bundle {
    struct wf_post post;
    struct wf_post *at[WF_BUNDLE];
};
_Static_assert(sizeof(struct wf_bundle) == 512, "a block of the pool");

/* WF_POST_CALL: runs `call` on the target's thread between tasks; the callee frees or reuses it. It must not
 * suspend. */
struct wf_call {
    struct wf_post post;
    void (*call)(struct wf_worker *w, struct wf_call *c);
};

/* The posts for one worker, handed over at the end of the turn, or when the batch is full. */
struct wf_post_batch {
    uint32_t count;
    struct wf_post *at[WF_BUNDLE]; /* oldest first */
};

/* Any thread, signal handlers: pushes one post and wakes the worker if it sleeps. Never fails: bounded by the
 * callers. */
void wf_worker_post(struct wf_worker *w, struct wf_post *p);
/* Any thread: pushes a chain (newest first, `oldest` its end) of `count` posts with one atomic operation and at most
 * one wake. */
void wf_worker_post_chain(struct wf_worker *w, struct wf_post *newest, struct wf_post *oldest, uint32_t count);
/* Any thread: so many KiB are on their way to `target`, or have arrived. A KiB counts as one post for
 * wf_worker_is_congested. */
void wf_worker_weigh(struct wf_worker *target, uint32_t kib);
void wf_worker_unweigh(struct wf_worker *target, uint32_t kib);
/* As wf_worker_is_congested, but `kib` of the bytes do not count. */
bool wf_worker_is_congested_beside(const struct wf_worker *target, uint32_t kib);
/* Any thread: runs `c` on `target`'s thread when its inbox has been drained, at once if it is. Use it to wait for a
 * congested worker. */
void wf_worker_when_space(struct wf_worker *target, struct wf_call *c);
/* Tasks that wait for space are woken so many at a time, which is fewer than a turn runs. */
enum { WF_SPACE_PART = WF_TURN_BUDGET / 2 };
/* Task on worker `w`: waits until `target` is no longer congested. As wf_task_wait. */
int wf_worker_wait_space(struct wf_worker *w, uint32_t target, int64_t deadline);

/* For the loop. All posts, oldest first. */
struct wf_post *wf_posts_take(_Atomic(struct wf_post *) *from);
/* Hands over the batch for worker `target`. */
void wf_post_batch_flush(struct wf_worker *w, uint32_t target);

#endif
