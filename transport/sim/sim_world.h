/* transport/sim/sim_world.h -- a simulated world: nodes and the network between them, in one thread and in virtual
 * time. A run with the same seed is always the same. The nodes run the same code as real nodes; only clock,
 * randomness and carrier are simulated.
 *
 * Design notes.
 * (1) One thread runs all workers and the network. It does one step at a time: a turn of a node that can run, with
 *     one task; if no node can run, time advances to the next timer or arrival. The seed chooses between several
 *     possible steps.
 * (2) The network is like TCP: messages arrive in order, once, some time later, or the connection ends. While a
 *     direction is cut no message arrives; afterwards all of them do, as if the sender had retransmitted them. A node
 *     that dials meanwhile gets no answer. An end that closes a connection with unread data resets it.
 * (3) A frozen node does not run, nor do its connections; its clock goes on, as that of a stopped process.
 * (4) A crashed node sends nothing any more; it is disconnected from all others and then ended like every node, to
 *     free its memory.
 * (5) A slow node takes time for each step; a frozen node is one whose next step takes long.
 * (6) When memory is scarce, allocations of the node's own code fail: the code between it and the allocator
 *     (cli/os/sim_memory_elf.c, tests/unit/alloc_faults.h) calls wf_sim_is_scarce (sim_run.h). Allocations of the
 *     simulation itself do not fail.
 * (7) A function that waits for a worker from outside (such as weft_node_stop) runs the simulation meanwhile:
 *     pf_env.cond_wait.
 * (8) A pid stands for one actor of one node of the whole simulation, because the generations of each started node
 *     begin at another number (wf_slab.begin): the number of its start times ten million. So reports can name the
 *     node of each actor, though the flight recorder has no space for it. After WF_SIM_LIVES starts they do not name
 *     it.
 *
 * Only the thread that made the world may use it; actors must not call these functions. */
#ifndef WF_SIM_WORLD_H
#define WF_SIM_WORLD_H

#include "heap.h"
#include "sim/sim.h"
#include "start.h"

enum { WF_SIM_HOSTS = 16, WF_SIM_LIVES = 400 };

struct wf_memory_carrier;

/* The node of a host that is not one of this libweft: tests/sim/guests.c, where another copy of libweft runs it. The
 * functions are those of its only worker; `host` is the node's. */
struct wf_sim_guest {
    int (*start)(struct wf_sim_guest *g, unsigned host, uint32_t begin); /* `begin`: see design note (8) */
    int (*stop)(struct wf_sim_guest *g, unsigned host, int64_t deadline);
    bool (*is_at_rest)(const struct wf_sim_guest *g, unsigned host);
    int64_t (*next_timer)(const struct wf_sim_guest *g, unsigned host); /* WEFT_FOREVER: none */
    uint32_t (*ready)(const struct wf_sim_guest *g, unsigned host);     /* the number of tasks that can run */
    void (*turn)(struct wf_sim_guest *g, unsigned host, uint32_t prefer);
};

struct wf_sim_host {
    weft_node *node;            /* NULL: no node of this libweft runs on this host */
    struct wf_sim_guest *guest; /* NULL: no other one either */
    struct wf_worker *worker;
    struct wf_memory_carrier *carrier; /* NULL: nothing listens here. Tests may have one without a node */
    bool poked;                        /* a callback has run on its worker, so it must run a turn */
    bool isolated;                     /* it has crashed */
    int64_t frozen_by;                 /* the node does not run before that time */
    int64_t slow_by, slow;             /* until `slow_by` each of its steps takes up to `slow`, */
    int64_t always_slow;               /* and afterwards up to this time; 0: no time */
    int64_t scarce_by;                 /* until that time some of its allocations fail */
    int64_t wall_ahead;                /* its wall clock minus the wall clock of the simulation */
    unsigned life;                     /* number of the start of its node: wf_sim_life_of */
    int64_t cut_by[WF_SIM_HOSTS];      /* before that time no message passes from this host to the other */
};

struct wf_sim_world {
    struct pf_sim sim; /* first, see pf_sim.go_on */
    struct wf_world base;
    struct wf_heap events; /* of the network */
    struct wf_sim_host host[WF_SIM_HOSTS];
    unsigned starting;          /* the host that wf_sim_start is starting */
    unsigned lives;             /* nodes that have been started */
    uint8_t home[WF_SIM_LIVES]; /* the host of each started node */
    uint64_t trace;             /* a hash of all events so far, in order */
    uint64_t steps;
    bool scarce; /* the running code belongs to a node whose memory is scarce */
    /* The network: each message takes between `delay_min` and `delay_max`, and `late` more in `late_permille` of 1000
     * cases, as if it was lost and sent again. */
    int64_t delay_min, delay_max, late;
    unsigned late_permille;
    void (*after_turn)(struct wf_sim_world *w); /* NULL, or called after each turn of a node */
    bool halted;                                /* after_turn may set it: then wf_sim_run returns */
};

void wf_sim_world_init(struct wf_sim_world *w, uint64_t seed);
/* Call it after all nodes have been stopped. */
void wf_sim_world_finish(struct wf_sim_world *w);

/* The URL at which the node of a host listens, such as "tcp://127.0.0.3:4000" for host 2. */
void wf_sim_url(unsigned host, char out[WF_URL_TEXT]);
/* As weft_node_start, with one worker. */
int wf_sim_start(struct wf_sim_world *w, unsigned host, const weft_node_options *options);
/* The same for a node of another copy of libweft. `guest` must stay until the node has been stopped. All other functions
 * are for such nodes, too; wf_sim_starve is if its code is watched (cli/os/sim_memory.h). */
int wf_sim_start_guest(struct wf_sim_world *w, unsigned host, struct wf_sim_guest *guest);
/* Whether a node runs on the host. */
bool wf_sim_is_up(const struct wf_sim_host *h);
/* As weft_node_stop. */
int wf_sim_stop(struct wf_sim_world *w, unsigned host, int64_t deadline);
/* Crashes a node. `silent`: like a machine that loses power; else like a killed process, whose connections are
 * reset. */
void wf_sim_crash(struct wf_sim_world *w, unsigned host, bool silent);
/* These faults last for a span. A later call with a shorter span does not shorten a fault. */
void wf_sim_cut(struct wf_sim_world *w, unsigned from, unsigned to, int64_t span);
void wf_sim_freeze(struct wf_sim_world *w, unsigned host, int64_t span);
/* Steps the node's wall clock, forward or back; its monotonic clock does not step. */
void wf_sim_step_clock(struct wf_sim_world *w, unsigned host, int64_t by);
/* For `span`, each step of the node takes up to `each`. */
void wf_sim_slow(struct wf_sim_world *w, unsigned host, int64_t each, int64_t span);
/* The same until the node ends. */
void wf_sim_slow_always(struct wf_sim_world *w, unsigned host, int64_t each);
/* For `span`, one allocation in 32 of the node fails. A node that is starting is not affected. */
void wf_sim_starve(struct wf_sim_world *w, unsigned host, int64_t span);
/* Resets all connections between the two nodes. */
void wf_sim_reset(struct wf_sim_world *w, unsigned a, unsigned b);
/* The node to which an actor belongs or belonged. */
struct wf_sim_life {
    unsigned host; /* WF_SIM_HOSTS: not known */
    bool over;     /* its node has ended */
};
void wf_sim_life_of(const struct wf_sim_world *w, uint64_t actor, struct wf_sim_life *out);
/* Runs the simulation for `span`. */
void wf_sim_run(struct wf_sim_world *w, int64_t span);

/* For work of the simulation inside of node code: the first call gives it memory, the second call restores the value
 * that the first one returned. */
bool wf_sim_scarcity(struct wf_sim_world *w, bool scarce);

/* ---- For the carrier ------------------------------------------------------------------------------------------- */

/* From now on the code of that node runs, until wf_sim_leave. */
void wf_sim_enter(struct wf_sim_world *w, unsigned host);
void wf_sim_leave(struct wf_sim_world *w, unsigned host);
void wf_sim_note(struct wf_sim_world *w, uint64_t what, uint64_t size); /* adds an event to the trace */
int64_t wf_sim_now(const struct wf_sim_world *w);
int64_t wf_sim_delay(struct wf_sim_world *w);
#endif
