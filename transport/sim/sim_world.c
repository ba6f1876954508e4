/* transport/sim/sim_world.c -- nodes and their network in one thread: see sim_world.h. */
#include "sim_world.h"

#include "actor.h"
#include "carrier_memory.h"
#include "hash.h"
#include "sim_limits.h"
#include "sim_run.h"
#include "start.h"
#include "task.h"

#include <stdio.h>
#include <string.h>

enum { PICK_AMONG = 64, STEPS_AT_ONCE = 10000000, FAILS_ONE_IN = 32, GENERATIONS_EACH = 10000000 };
/* 2001-01-01T00:00:00 when a simulation begins: log lines then say for how long it has run. */
#define WALL_AT_START (WEFT_SEC(978307200) - PF_SIM_START)

static struct wf_sim_world *here; /* the simulated world of this process */

int64_t wf_sim_now(const struct wf_sim_world *w)
{
    return atomic_load_explicit(&w->sim.now, memory_order_relaxed);
}

void wf_sim_note(struct wf_sim_world *w, uint64_t what, uint64_t size)
{
    const uint64_t words[] = {(uint64_t)wf_sim_now(w), what, size};
    for (size_t i = 0; i < WF_COUNT(words); i++) w->trace = wf_mix(w->trace ^ words[i]);
}

int64_t wf_sim_delay(struct wf_sim_world *w)
{
    uint64_t span = (uint64_t)(w->delay_max - w->delay_min) + 1;
    int64_t delay = w->delay_min + (int64_t)(pf_sim_random(&w->sim) % span);
    return pf_sim_random(&w->sim) % 1000 < w->late_permille ? delay + w->late : delay;
}

/* ---- Whose code runs ------------------------------------------------------------------------------------------- */

void wf_sim_enter(struct wf_sim_world *w, unsigned host)
{
    struct wf_sim_host *h = &w->host[host];
    WF_ASSERT(wf_here == NULL && !w->scarce);
    wf_here_set(h->worker);
    w->sim.wall_ahead = h->wall_ahead;
    w->scarce = wf_sim_now(w) < h->scarce_by;
}

void wf_sim_leave(struct wf_sim_world *w, unsigned host)
{
    struct wf_sim_host *h = &w->host[host];
    wf_here_set(NULL);
    w->scarce = false;
    const int64_t slow = wf_sim_now(w) < h->slow_by ? h->slow : h->always_slow;
    if (slow > 0)
        h->frozen_by = WF_MAX(h->frozen_by, wf_sim_now(w) + (int64_t)(pf_sim_random(&w->sim) % (uint64_t)slow));
}

bool wf_sim_scarcity(struct wf_sim_world *w, bool scarce)
{
    bool was = w->scarce;
    w->scarce = scarce;
    return was;
}

bool wf_sim_is_scarce(void)
{
    if (here == NULL || !here->scarce || pf_sim_random(&here->sim) % FAILS_ONE_IN != 0) return false;
    wf_sim_note(here, 'm', 0);
    return true;
}

/* ---- Steps ----------------------------------------------------------------------------------------------------- */

bool wf_sim_is_up(const struct wf_sim_host *h)
{
    return h->node != NULL || h->guest != NULL;
}

static unsigned number_of(const struct wf_sim_world *w, const struct wf_sim_host *h)
{
    return (unsigned)(h - w->host);
}

static bool is_at_rest(const struct wf_sim_world *w, const struct wf_sim_host *h)
{
    if (h->poked) return false;
    return h->guest != NULL ? h->guest->is_at_rest(h->guest, number_of(w, h)) : wf_worker_is_at_rest(h->worker);
}

static uint32_t ready_of(const struct wf_sim_world *w, const struct wf_sim_host *h)
{
    return h->guest != NULL ? h->guest->ready(h->guest, number_of(w, h)) : h->worker->ready_count;
}

static void turn_worker(struct wf_worker *worker, uint32_t ready, uint32_t prefer, int64_t now)
{
    wf_coro_adopt_thread(&worker->loop);
    if (ready > 1) wf_task_prefer(worker, prefer);
    wf_worker_turn(worker, now);
    wf_coro_release_thread(&worker->loop);
}

static void turn(struct wf_sim_world *w, struct wf_sim_host *h)
{
    const unsigned host = number_of(w, h);
    const uint32_t ready = ready_of(w, h);
    uint32_t prefer = 0;
    wf_sim_note(w, host, ready);
    h->poked = false;
    wf_sim_enter(w, host);
    if (ready > 1) prefer = (uint32_t)(pf_sim_random(&w->sim) % WF_MIN(ready, (uint32_t)PICK_AMONG));
    if (h->guest != NULL) h->guest->turn(h->guest, host, prefer);
    else turn_worker(h->worker, ready, prefer, wf_sim_now(w));
    wf_sim_leave(w, host);
    if (w->after_turn != NULL) w->after_turn(w);
}

static bool turn_somebody(struct wf_sim_world *w)
{
    struct wf_sim_host *can[WF_SIM_HOSTS];
    unsigned count = 0;
    for (unsigned i = 0; i < WF_SIM_HOSTS; i++) {
        struct wf_sim_host *h = &w->host[i];
        bool runs = wf_sim_is_up(h) && wf_sim_now(w) >= h->frozen_by;
        if (runs && !is_at_rest(w, h)) can[count++] = h;
    }
    if (count > 0) turn(w, can[pf_sim_random(&w->sim) % count]);
    return count > 0;
}

static int64_t first_timer(const struct wf_sim_world *w, const struct wf_sim_host *h)
{
    if (h->guest != NULL) return h->guest->next_timer(h->guest, number_of(w, h));
    const struct wf_timer *first = wf_heap_first(&h->worker->timers);
    return first != NULL ? first->deadline : WEFT_FOREVER;
}

/* The time at which a node at rest has to run its next turn. */
static int64_t next_of(const struct wf_sim_world *w, const struct wf_sim_host *h)
{
    if (!wf_sim_is_up(h)) return WEFT_FOREVER;
    bool now = !is_at_rest(w, h); /* it is at work, but frozen */
    int64_t at = now ? wf_sim_now(w) : first_timer(w, h);
    return at == WEFT_FOREVER ? at : WF_MAX(at, h->frozen_by);
}

/* All nodes are at rest: advances the time to the next event. */
static bool pass_time(struct wf_sim_world *w, int64_t deadline)
{
    struct wf_timer *event = wf_heap_first(&w->events);
    int64_t at = event == NULL ? WEFT_FOREVER : event->deadline;
    for (unsigned i = 0; i < WF_SIM_HOSTS; i++) at = WF_MIN(at, next_of(w, &w->host[i]));
    if (at == WEFT_FOREVER || at > deadline) {
        if (deadline != WEFT_FOREVER) pf_sim_advance(&w->sim, deadline);
        return false;
    }
    if (at > wf_sim_now(w)) w->steps = 0;
    pf_sim_advance(&w->sim, at);
    for (unsigned i = 0; i < WF_SIM_HOSTS; i++)
        if (next_of(w, &w->host[i]) <= at) w->host[i].poked = true;
    if (event == NULL || event->deadline > at) return true;
    wf_heap_remove(&w->events, event);
    event->fire(NULL, event);
    return true;
}

static bool go_on(struct pf_sim *s, int64_t deadline)
{
    struct wf_sim_world *w = (struct wf_sim_world *)s;
    WF_ASSERT(wf_here == NULL && w->steps++ < STEPS_AT_ONCE);
    if (wf_sim_now(w) >= deadline) return false;
    return turn_somebody(w) || pass_time(w, deadline);
}

void wf_sim_run(struct wf_sim_world *w, int64_t span)
{
    int64_t until = wf_sim_now(w) + span;
    while (!w->halted && wf_sim_now(w) < until) (void)go_on(&w->sim, until);
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

static struct wf_sim_world *world_of(struct wf_world *in)
{
    return WF_CONTAINER(in, struct wf_sim_world, base);
}

static struct wf_carrier *make_carrier(struct wf_world *in, const struct wf_carrier_options *options)
{
    struct wf_sim_world *w = world_of(in);
    struct wf_carrier *k = wf_carrier_memory(w, w->starting, options);
    w->host[w->starting].carrier = (struct wf_memory_carrier *)k;
    return k;
}

static int run_node(struct wf_world *in, weft_node *node)
{
    struct wf_sim_world *w = world_of(in);
    struct wf_sim_host *h = &w->host[w->starting];
    node->workers.turn_budget = 1;
    h->node = node;
    h->worker = node->workers.at[0];
    wf_actors_of(h->worker)->slab.begin = h->life * GENERATIONS_EACH; /* no actor has existed on this node yet */
    return WEFT_OK;
}

void wf_sim_life_of(const struct wf_sim_world *w, uint64_t actor, struct wf_sim_life *out)
{
    unsigned life = wf_id_generation(actor) / GENERATIONS_EACH;
    bool known = life > 0 && life <= WF_MIN(w->lives, (unsigned)WF_SIM_LIVES - 1);
    unsigned host = known ? w->home[life] : WF_SIM_HOSTS;
    *out = (struct wf_sim_life){host, known && (w->host[host].life != life || !wf_sim_is_up(&w->host[host]))};
}

void wf_sim_url(unsigned host, char out[WF_URL_TEXT])
{
    snprintf(out, WF_URL_TEXT, "tcp://127.0.0.%u:4000", host + 1);
}

/* A host gets ready for a node. */
static struct wf_sim_host *prepare(struct wf_sim_world *w, unsigned host)
{
    struct wf_sim_host *h = &w->host[host];
    WF_ASSERT(host < WF_SIM_HOSTS && !wf_sim_is_up(h));
    w->starting = host;
    h->isolated = false;
    h->frozen_by = h->slow_by = h->scarce_by = h->always_slow = 0;
    h->life = ++w->lives < WF_SIM_LIVES ? w->lives : 0;
    w->home[h->life] = (uint8_t)host;
    w->sim.wall_ahead = h->wall_ahead;
    return h;
}

int wf_sim_start(struct wf_sim_world *w, unsigned host, const weft_node_options *options)
{
    weft_node_options o = *options;
    weft_node *node;
    struct wf_sim_host *h = prepare(w, host);
    o.workers = 1;
    if (o.park_after == 0) o.park_after = WEFT_FOREVER;
    wf_sim_limits_options(&o, host);
    int rc = wf_node_start(&node, &o, &w->base);
    if (rc < 0) h->node = NULL;
    return rc;
}

int wf_sim_start_guest(struct wf_sim_world *w, unsigned host, struct wf_sim_guest *guest)
{
    struct wf_sim_host *h = prepare(w, host);
    h->worker = NULL;
    h->guest = guest;
    int rc = guest->start(guest, host, h->life * GENERATIONS_EACH);
    if (rc < 0) h->guest = NULL;
    return rc;
}

int wf_sim_stop(struct wf_sim_world *w, unsigned host, int64_t deadline)
{
    struct wf_sim_host *h = &w->host[host];
    int rc = h->guest != NULL ? h->guest->stop(h->guest, host, deadline) : weft_node_stop(h->node, deadline);
    h->node = NULL;
    h->guest = NULL;
    return rc;
}

void wf_sim_crash(struct wf_sim_world *w, unsigned host, bool silent)
{
    struct wf_sim_host *h = &w->host[host];
    wf_sim_note(w, 'c', host);
    if (!silent) wf_carrier_memory_reset(h->carrier, WF_SIM_HOSTS);
    h->isolated = true;
    h->frozen_by = h->slow_by = h->scarce_by = h->always_slow = 0;
    (void)wf_sim_stop(w, host, WEFT_NOW);
}

/* ---- Faults ---------------------------------------------------------------------------------------------------- */

void wf_sim_cut(struct wf_sim_world *w, unsigned from, unsigned to, int64_t span)
{
    wf_sim_note(w, 'x', from * WF_SIM_HOSTS + to);
    w->host[from].cut_by[to] = WF_MAX(w->host[from].cut_by[to], wf_sim_now(w) + span);
}

void wf_sim_freeze(struct wf_sim_world *w, unsigned host, int64_t span)
{
    wf_sim_note(w, 'f', host);
    w->host[host].frozen_by = WF_MAX(w->host[host].frozen_by, wf_sim_now(w) + span);
}

void wf_sim_step_clock(struct wf_sim_world *w, unsigned host, int64_t by)
{
    wf_sim_note(w, 'w', host);
    w->host[host].wall_ahead += by;
}

void wf_sim_slow(struct wf_sim_world *w, unsigned host, int64_t each, int64_t span)
{
    wf_sim_note(w, 's', host);
    w->host[host].slow = each;
    w->host[host].slow_by = WF_MAX(w->host[host].slow_by, wf_sim_now(w) + span);
}

void wf_sim_slow_always(struct wf_sim_world *w, unsigned host, int64_t each)
{
    wf_sim_note(w, 'S', host);
    w->host[host].always_slow = each;
}

void wf_sim_starve(struct wf_sim_world *w, unsigned host, int64_t span)
{
    wf_sim_note(w, 'a', host);
    w->host[host].scarce_by = WF_MAX(w->host[host].scarce_by, wf_sim_now(w) + span);
}

void wf_sim_reset(struct wf_sim_world *w, unsigned a, unsigned b)
{
    wf_sim_note(w, 'r', a * WF_SIM_HOSTS + b);
    if (wf_sim_is_up(&w->host[a])) wf_carrier_memory_reset(w->host[a].carrier, b);
}

/* ---- The world ------------------------------------------------------------------------------------------------- */

void wf_sim_world_init(struct wf_sim_world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    pf_sim_init(&w->sim, seed);
    w->sim.go_on = go_on;
    w->base = (struct wf_world){pf_sim_env(&w->sim), make_carrier, run_node};
    wf_heap_init(&w->events);
    w->delay_min = WEFT_US(50);
    w->delay_max = WEFT_MS(1);
    for (unsigned i = 0; i < WF_SIM_HOSTS; i++) w->host[i].wall_ahead = WALL_AT_START;
    WF_ASSERT(wf_env_here == NULL && here == NULL);
    here = w;
    wf_env_here = pf_sim_env(&w->sim);
}

void wf_sim_world_finish(struct wf_sim_world *w)
{
    WF_ASSERT(wf_heap_first(&w->events) == NULL);
    wf_heap_finish(&w->events);
    wf_env_here = NULL;
    here = NULL;
}
