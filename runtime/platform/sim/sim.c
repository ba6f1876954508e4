/* runtime/platform/sim/sim.c -- the clock, the random numbers and the poller of a simulation. See sim.h. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

struct sim_poller {
    struct pf_sim *sim;
    struct pf_poller *real;
    _Atomic bool woken; /* any thread sets it with release; the poller's thread reads it with acquire */
};

static struct pf_sim *sim_of(struct pf_env *env)
{
    return (struct pf_sim *)env;
}

static struct sim_poller *poller_of(struct pf_poller *p)
{
    return (struct sim_poller *)(void *)p;
}

static int64_t sim_now(struct pf_env *env)
{
    return atomic_load_explicit(&sim_of(env)->now, memory_order_relaxed);
}

static int64_t sim_wall(struct pf_env *env)
{
    return sim_now(env) + sim_of(env)->wall_ahead;
}

/* SplitMix64: every seed, also 0 and 1, is as good as any other. */
uint64_t pf_sim_random(struct pf_sim *s)
{
    uint64_t z = (s->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void sim_random(struct pf_env *env, void *out, size_t size)
{
    char *at = out;
    while (size > 0) {
        uint64_t bits = pf_sim_random(sim_of(env));
        size_t part = WF_MIN(size, sizeof bits);
        memcpy(at, &bits, part);
        at += part;
        size -= part;
    }
}

void pf_sim_advance(struct pf_sim *s, int64_t to)
{
    if (to > sim_now(&s->env)) atomic_store_explicit(&s->now, to, memory_order_relaxed);
}

static int sim_cond_wait(struct pf_env *env, pf_cond *c, pf_mutex *m, int64_t deadline)
{
    struct pf_sim *s = sim_of(env);
    (void)c;
    WF_ASSERT(s->go_on != NULL);
    pf_mutex_unlock(m);
    bool on = s->go_on(s, deadline);
    pf_mutex_lock(m);
    WF_ASSERT(on || deadline != WEFT_FOREVER); /* it would never return */
    return on ? WEFT_OK : WEFT_ETIMEDOUT;
}

static void sim_cond_broadcast(struct pf_env *env, pf_cond *c)
{
    (void)env;
    pf_cond_broadcast(c);
}

static int poller_create(struct pf_env *env, struct pf_poller **out)
{
    struct sim_poller *p = calloc(1, sizeof *p);
    if (p == NULL) return WEFT_ENOMEM;
    p->sim = sim_of(env);
    struct pf_env *native = pf_env_native();
    int rc = native->poller_create(native, &p->real);
    if (rc < 0) {
        free(p);
        return rc;
    }
    *out = (struct pf_poller *)(void *)p;
    return WEFT_OK;
}

static void poller_destroy(struct pf_poller *p)
{
    if (p == NULL) return;
    pf_env_native()->poller_destroy(poller_of(p)->real);
    free(p);
}

static int poller_add(struct pf_poller *p, pf_handle h, uint64_t tag)
{
    int rc = pf_env_native()->poller_add(poller_of(p)->real, h, tag);
    if (rc == WEFT_OK) atomic_fetch_add_explicit(&poller_of(p)->sim->handles, 1, memory_order_relaxed);
    return rc;
}

static void poller_remove(struct pf_poller *p, pf_handle h)
{
    atomic_fetch_sub_explicit(&poller_of(p)->sim->handles, 1, memory_order_relaxed);
    pf_env_native()->poller_remove(poller_of(p)->real, h);
}

static int poller_arm(struct pf_poller *p, pf_handle h, uint64_t tag, bool for_write)
{
    return pf_env_native()->poller_arm(poller_of(p)->real, h, tag, for_write);
}

static bool poller_arms(struct pf_poller *p)
{
    return pf_env_native()->poller_arms(poller_of(p)->real);
}

static bool take_wake(struct sim_poller *p)
{
    return atomic_exchange_explicit(&p->woken, false, memory_order_acquire);
}

static int poller_wait(struct pf_poller *poller, struct pf_ready *out, int max, int64_t deadline)
{
    struct sim_poller *p = poller_of(poller);
    struct pf_sim *s = p->sim;
    struct pf_env *native = pf_env_native();
    int64_t until = s->patience > 0 ? native->now(native) + s->patience : WEFT_NOW;
    if (deadline == WEFT_FOREVER) until = WEFT_FOREVER;
    s->patience = 0;
    bool woken = take_wake(p);
    if (until != WEFT_NOW || woken || pf_sim_has_handles(s)) {
        int n = native->poller_wait(p->real, out, max, woken ? WEFT_NOW : until);
        if (n > 0) return n;
        /* The real poller is woken a little after `woken` is set: time must not pass in such a wait either. */
        woken |= until != WEFT_NOW && native->now(native) < until;
    }
    if (woken || take_wake(p) || deadline == WEFT_FOREVER) return 0;
    pf_sim_advance(s, deadline);
    return 0;
}

static void poller_wake(struct pf_poller *p)
{
    atomic_store_explicit(&poller_of(p)->woken, true, memory_order_release);
    pf_env_native()->poller_wake(poller_of(p)->real); /* the poller may be in a real wait */
}

static pf_handle poller_handle(struct pf_poller *p)
{
    return pf_env_native()->poller_handle(poller_of(p)->real);
}

/* A simulation is not embedded in another loop, so no loop waits for the alarm. */
static int poller_alarm(struct pf_poller *p, int64_t deadline)
{
    (void)p, (void)deadline;
    return WEFT_ENOTSUP;
}

/* The operation is done at once: virtual time does not pass during disk accesses, and a simulation has no other
 * thread. */
static int file_submit(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    op->result = op->write ? pf_file_write(op->file, op->data, op->size, op->offset)
                           : pf_file_read(op->file, op->data, op->size, op->offset);
    return op->result < 0 ? (int)op->result : WEFT_OK;
}

static void file_cancel(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    (void)op;
}

/* Children are outside of the simulation, like descriptors. */
static int process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag)
{
    int rc = pf_env_native()->process_watch(poller_of(p)->real, c, tag);
    if (rc == WEFT_OK) atomic_fetch_add_explicit(&poller_of(p)->sim->handles, 1, memory_order_relaxed);
    return rc;
}

static void process_unwatch(struct pf_poller *p, struct pf_process *c)
{
    atomic_fetch_sub_explicit(&poller_of(p)->sim->handles, 1, memory_order_relaxed);
    pf_env_native()->process_unwatch(poller_of(p)->real, c);
}

void pf_sim_init(struct pf_sim *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->env = (struct pf_env){
        .now = sim_now,
        .wall = sim_wall,
        .random = sim_random,
        .cond_wait = sim_cond_wait,
        .cond_broadcast = sim_cond_broadcast,
        .poller_create = poller_create,
        .poller_destroy = poller_destroy,
        .poller_add = poller_add,
        .poller_remove = poller_remove,
        .poller_arm = poller_arm,
        .poller_arms = poller_arms,
        .poller_wait = poller_wait,
        .poller_wake = poller_wake,
        .poller_handle = poller_handle,
        .poller_alarm = poller_alarm,
        .file_submit = file_submit,
        .file_cancel = file_cancel,
        .process_watch = process_watch,
        .process_unwatch = process_unwatch,
    };
    s->random = seed;
    s->wall_ahead = -WF_CLOCK_BEGIN;
    atomic_init(&s->now, PF_SIM_START);
    atomic_init(&s->handles, 0);
}
