/* transport/sim/sim_world.h -- a world of its own: nodes and the network between them, in one thread and in virtual
 * time, the same again for the same seed. The nodes are the very nodes that run elsewhere; only clock, randomness and
 * carrier are the world's.
 *
 * Design notes.
 * (1) One thread is all workers and the network. It takes one step at a time: a turn of a node that can run, with one
 *     task; else time goes on to the next timer or arrival. The seed decides which of several is next.
 * (2) The network is like TCP: what is sent arrives in order, once, some time later, or the connection ends. While a
 *     way is cut nothing arrives; then everything does, as from a sender that has tried again and again. Who dials
 *     meanwhile gets no answer. Who closes with something unread resets the connection.
 * (3) A node that is frozen does not run, nor do its connections; its clock goes on, as that of a stopped process.
 * (4) A node that crashes says nothing any more; it is then ended as every node is, cut off from all others.
 * (5) A node that is slow takes time for each step; a frozen one is one that takes long for its next.
 * (6) Memory of a node runs out where its own code asks for some: whoever stands between it and the allocator
 *     (cli/os/sim_memory_elf.c, tests/unit/alloc_faults.h) asks wf_sim_is_scarce (sim_run.h).
 *     What the world needs itself is there.
 * (7) Whoever waits for a worker from outside (weft_node_stop, say) makes the world go on meanwhile:
 *     pf_env.cond_wait.
 * (8) A pid means one actor of one node of the world: generations of each node that starts begin elsewhere
 *     (wf_slab.begin), at the number of its start times ten million. So what happens can be told of it with the name
 *     of its node, also where the flight recorder has no space for that. Beyond WF_SIM_LIVES starts it is not told.
 *
 * All of it belongs to the thread that made it; none of it may be called from an actor. */
#ifndef WF_SIM_WORLD_H
#define WF_SIM_WORLD_H

#include "heap.h"
#include "sim/sim.h"
#include "start.h"

enum { WF_SIM_HOSTS = 16, WF_SIM_LIVES = 400 };

struct wf_memory_carrier;

struct wf_sim_host {
    weft_node *node; /* NULL: none runs there */
    struct wf_worker *worker;
    struct wf_memory_carrier *carrier; /* NULL: nothing listens there. A test may have one without a node */
    bool poked;                        /* a callback has run on its worker: it is to turn */
    bool isolated;                     /* it has crashed */
    int64_t frozen_by;                 /* it does not run before that time */
    int64_t slow_by, slow;             /* until then each of its steps takes up to `slow`, */
    int64_t always_slow;               /* and afterwards up to this; 0: no time */
    int64_t scarce_by;                 /* until then some of its allocations fail */
    int64_t wall_ahead;                /* its wall clock, of the world's time */
    unsigned life;                     /* of its node: wf_sim_life_of */
    int64_t cut_by[WF_SIM_HOSTS];      /* from here to there nothing goes before that time */
};

struct wf_sim_world {
    struct pf_sim sim; /* first, see pf_sim.go_on */
    struct wf_world base;
    struct wf_heap events; /* of the network */
    struct wf_sim_host host[WF_SIM_HOSTS];
    unsigned starting;          /* the host that wf_sim_start is at work for */
    unsigned lives;             /* nodes that have been started */
    uint8_t home[WF_SIM_LIVES]; /* the host of each */
    uint64_t trace;             /* a hash of all that has happened so far, in order */
    uint64_t steps;
    bool scarce; /* code of a node runs that is short of memory */
    /* The network: each message takes between `delay_min` and `delay_max`, and `late` more in `late_permille` cases:
     * it was lost and is sent again. */
    int64_t delay_min, delay_max, late;
    unsigned late_permille;
    void (*after_turn)(struct wf_sim_world *w); /* NULL, or called after each turn of a node */
    bool halted;                                /* set by it: wf_sim_run returns */
};

void wf_sim_world_init(struct wf_sim_world *w, uint64_t seed);
/* All nodes have been stopped. */
void wf_sim_world_finish(struct wf_sim_world *w);

/* Where the node of a host listens: "tcp://127.0.0.3:4000" of host 2. */
void wf_sim_url(unsigned host, char out[WF_URL_TEXT]);
/* As weft_node_start; one worker. */
int wf_sim_start(struct wf_sim_world *w, unsigned host, const weft_node_options *options);
/* As weft_node_stop. */
int wf_sim_stop(struct wf_sim_world *w, unsigned host, int64_t deadline);
/* `silent`: like a machine without power; else like a killed process, whose connections are reset. */
void wf_sim_crash(struct wf_sim_world *w, unsigned host, bool silent);
/* Faults that last for a span. A shorter one that comes later does not end them. */
void wf_sim_cut(struct wf_sim_world *w, unsigned from, unsigned to, int64_t span);
void wf_sim_freeze(struct wf_sim_world *w, unsigned host, int64_t span);
/* Its wall clock steps, forward or back; what the runtime measures time with does not. */
void wf_sim_step_clock(struct wf_sim_world *w, unsigned host, int64_t by);
/* For so long each of its steps takes up to `each`. */
void wf_sim_slow(struct wf_sim_world *w, unsigned host, int64_t each, int64_t span);
/* The same until the node ends. */
void wf_sim_slow_always(struct wf_sim_world *w, unsigned host, int64_t each);
/* For so long one allocation in 32 fails. A node that starts meanwhile has memory. */
void wf_sim_starve(struct wf_sim_world *w, unsigned host, int64_t span);
/* All connections between the two are reset. */
void wf_sim_reset(struct wf_sim_world *w, unsigned a, unsigned b);
/* Which node's an actor is, or was. */
struct wf_sim_life {
    unsigned host; /* WF_SIM_HOSTS: not known */
    bool over;     /* its node has ended */
};
void wf_sim_life_of(const struct wf_sim_world *w, uint64_t actor, struct wf_sim_life *out);
/* Lets so much time pass. */
void wf_sim_run(struct wf_sim_world *w, int64_t span);

/* For what the world does while code of a node runs: it has memory until the second call, which puts `was` back. */
bool wf_sim_scarcity(struct wf_sim_world *w, bool scarce);

/* ---- For the carrier ------------------------------------------------------------------------------------------- */

/* Code of that node runs from now on, until wf_sim_leave. */
void wf_sim_enter(struct wf_sim_world *w, unsigned host);
void wf_sim_leave(struct wf_sim_world *w, unsigned host);
void wf_sim_note(struct wf_sim_world *w, uint64_t what, uint64_t size); /* for the trace */
int64_t wf_sim_now(const struct wf_sim_world *w);
int64_t wf_sim_delay(struct wf_sim_world *w);
#endif
