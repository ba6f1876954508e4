/* actors/run/placement.c -- on which worker a new actor lives, for good.
 *
 * Design notes.
 * (1) A pid contains the worker, so an actor never moves. A new actor lives on the worker of its parent, whose
 *     messages it will get.
 * (2) The exception: another worker is idle, and this one has many runnable tasks, or at least one and actors that
 *     compute. Whether they compute is checked once in each run of a task that spawns, and only if a worker is idle,
 *     as it needs a read of the clock. Then every second child goes to the idle worker, at once and not at the end of
 *     the turn, which may come late. Half of the children is half of the tree of actors that they spawn. Savina's
 *     quicksort of a million numbers with two workers: 4.7 -> 5.9 M/s (docs/performance.md).
 * (3) Actors that weft's own actors spawn stay beside them, on the worker without user actors: see `users` in
 *     worker.h. */
#include "placement.h"

#include "actor.h"

enum {
    BUSY = 64,        /* a worker with so many runnable tasks has much to do */
    LONG_RUN = 20000, /* ns: tasks that run this long in a turn, on average, compute */
};

static struct wf_worker *find_idle(const struct wf_worker *from)
{
    struct wf_workers *set = from->set;
    for (uint32_t i = 1; i < set->users; i++) {
        struct wf_worker *w = set->at[(from->index + i) % set->users];
        if (atomic_load_explicit(&w->state, memory_order_relaxed) != WF_RUNNING) return w; /* a hint is enough */
    }
    return NULL;
}

/* Whether this turn's tasks compute more than they talk. */
static bool computes(struct wf_worker *w)
{
    struct pf_env *env = w->set->env;
    int64_t run = (int64_t)(w->set->turn_budget - w->budget);
    return env->now(env) - w->now >= run * LONG_RUN;
}

/* Every second child of a task that computes goes to a worker that is idle at that time. */
static struct wf_worker *lend(struct wf_worker *from)
{
    if (from->ready_count == 0) return NULL;
    /* All spawns in one run of a task have the same number. */
    uint64_t run = from->count.turns * WF_TURN_BUDGET + from->budget;
    if (from->lent_in != run) {
        struct wf_worker *idle = find_idle(from);
        from->lent_in = run;
        from->lent_to = idle != NULL && computes(from) ? idle : NULL;
        from->lends = false;
    }
    if (from->lent_to == NULL) return NULL;
    from->lends = !from->lends;
    return from->lends ? from->lent_to : NULL;
}

/* Where there is more than one worker for users. */
static __attribute__((noinline)) struct wf_worker *choose(struct wf_worker *from, bool *at_once)
{
    struct wf_worker *lent = from->ready_count >= BUSY ? find_idle(from) : lend(from);
    *at_once = lent != NULL && from->ready_count < BUSY;
    return lent == NULL ? from : lent;
}

struct wf_worker *wf_place_by_choice(weft_node *node, struct wf_worker *from, int wanted, bool *at_once)
{
    struct wf_workers *set = &node->workers;
    if (WF_UNLIKELY(wanted > 0)) return set->at[wanted - 1];
    if (WF_UNLIKELY(from == NULL || wanted == WEFT_SPREAD))
        return set->at[atomic_fetch_add_explicit(&node->next_worker, 1, memory_order_relaxed) % set->users];
    if (set->users == 1 || wanted == WEFT_BESIDE || from->index >= set->users) return from;
    return choose(from, at_once);
}
