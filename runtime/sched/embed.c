/* runtime/sched/embed.c -- see embed.h. */
#include "embed.h"

#include "here.h"

#include <weft/log.h>

/* A wait that finds another thread in a turn, which is a mistake of the program, tries again after this time. */
#define LOOK_AGAIN WEFT_MS(10)

static int embedded_wait(struct pf_env *env, pf_cond *c, pf_mutex *m, int64_t deadline)
{
    struct wf_workers *set = ((struct wf_embed *)env)->set;
    /* called within a turn: only other threads can end the wait */
    if (wf_here == set->at[0]) return pf_cond_wait(c, m, deadline);
    pf_mutex_unlock(m);
    int64_t next = wf_embed_turn(set, deadline);
    pf_mutex_lock(m);
    if (next < 0) (void)pf_cond_wait(c, m, WF_MIN(deadline, env->now(env) + LOOK_AGAIN));
    return deadline != WEFT_FOREVER && env->now(env) >= deadline ? WEFT_ETIMEDOUT : WEFT_OK;
}

/* Another thread calls it, while the waiting thread may be in the poller. */
static void embedded_broadcast(struct pf_env *env, pf_cond *c)
{
    struct wf_workers *set = ((struct wf_embed *)env)->set;
    pf_cond_broadcast(c);
    if (wf_here != set->at[0]) env->poller_wake(set->at[0]->poller);
}

void wf_embed_init(struct wf_embed *e, struct wf_workers *set)
{
    *e = (struct wf_embed){.set = set};
    e->env = *pf_env_native();
    e->env.cond_wait = embedded_wait;
    e->env.cond_broadcast = embedded_broadcast;
    set->env = &e->env;
}

int wf_embed_start(struct wf_workers *set)
{
    struct wf_worker *w = set->at[0];
    struct pf_env *env = set->env;
    WF_ASSERT(set->count == 1);
    if (env->poller_handle(w->poller) == PF_NO_HANDLE) return WEFT_ENOTSUP;
    int rc = env->poller_alarm(w->poller, WEFT_FOREVER - 1); /* after this call it cannot fail */
    if (rc < 0) return rc;
    atomic_store_explicit(&w->state, WF_ASLEEP, memory_order_seq_cst); /* pairs with wake_if_asleep */
    return env->poller_alarm(w->poller, WEFT_FOREVER);
}

static void say_two_threads(struct wf_embed *e)
{
    if (atomic_exchange_explicit(&e->said, true, memory_order_relaxed)) return;
    weft_log(WEFT_WARN,
             "two threads run this embedded node at the same time: call weft_node_start, weft_node_turn, "
             "weft_node_wait and weft_node_stop in one thread, and only functions such as weft_node_send in "
             "others");
}

int64_t wf_embed_turn(struct wf_workers *set, int64_t deadline)
{
    struct wf_embed *e = (struct wf_embed *)set->env;
    struct wf_worker *w = set->at[0], *outer = wf_here;
    if (atomic_exchange_explicit(&e->turning, true, memory_order_acquire)) {
        say_two_threads(e);
        return WEFT_EINVAL;
    }
    struct pf_held_off held; /* the thread is the user's: an actor's write must not end the process */
    WF_ASSERT(set->count == 1 && outer != w && w->thread == NULL);
    pf_signals_hold_off(&held);
    wf_here_set(w);
    wf_coro_adopt_thread(&w->loop);
    int64_t next = wf_worker_visit(w, deadline);
    wf_coro_release_thread(&w->loop);
    wf_here_set(outer);
    pf_signals_let_go(&held);
    atomic_store_explicit(&e->turning, false, memory_order_release);
    return next;
}
