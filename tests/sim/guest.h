/* tests/sim/guest.h -- the border between a simulated world and its guests. A guest is a shared object that has a whole
 * libweft of its own, of this version or of an older one; its nodes run in the world of the host.
 *
 * Design notes.
 * (1) Only integers, bytes and pointers to functions cross the border, so that both sides may have different structs of
 *     weft. guest.c is compiled with the headers of its own version; guests.c is the side of the host.
 * (2) The host has the time, the network and the order of all steps. So faults happen to nodes of guests as to all
 *     others, and a seed gives the same run again.
 * (3) All is one thread. Both sides may be in the middle of a call to the other: a guest's node that waits calls go_on.
 * (4) Append fields only, and count GUEST_BORDER up: a guest of another border is refused. */
#ifndef SIM_GUEST_H
#define SIM_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scene;

enum { GUEST_BORDER = 1, GUEST_TEXT = 256 /* bytes of URLs and reasons */, GUEST_JOIN = 2 };

/* What an owner of a connection says to a message: wf_receive. */
enum { GUEST_GOES_ON, GUEST_PAUSES, GUEST_ENDS };
/* What becomes of a send: wf_send. */
enum { GUEST_SENT_LATER, GUEST_SENT, GUEST_NOT_SENT };

struct guest_slice {
    const void *data;
    size_t size;
};

/* What the host does for a guest. `host` is the number of a node's host; `c` is a connection, as the host calls it. */
struct guest_world {
    int64_t (*now)(void);
    int64_t (*wall_ahead)(unsigned host); /* the node's wall clock minus `now` */
    /* The next event of the world happens; or false: none comes before `deadline`, which it is now. */
    bool (*go_on)(int64_t deadline);
    int (*make_carrier)(unsigned host, int64_t stranger_time);
    /* `bound` and `why` have GUEST_TEXT bytes. */
    int (*listen)(unsigned host, const char *url, char *bound, char *why);
    void (*accept)(unsigned host);
    int (*dial)(unsigned host, const char *url, void *tag, char *why);
    int (*send)(void *c, const struct guest_slice *slices, unsigned count);
    void (*resume)(void *c);
    void (*trust)(void *c, size_t message_max);
    void (*close)(void *c, const char *reason);
    void (*release)(void *c);
    void (*unlisten)(unsigned host);
    void (*destroy_carrier)(unsigned host);
};

struct guest_node {
    unsigned host;
    uint32_t begin; /* generations of its actors begin there: sim_world.h, design note (8) */
    const char *name, *listen, *join[GUEST_JOIN];
    unsigned join_count;
};

/* What a guest does for its host. `c` is a connection as the guest calls it; NULL: there is none yet. */
struct guest {
    uint32_t border; /* GUEST_BORDER */
    /* Called once. The guest's random numbers come from `seed`. `scene` is what the actors of all nodes share; `log`: the level of the log. */
    void (*begin)(const struct guest_world *world, uint64_t seed, struct scene *scene, int log);
    int (*start)(const struct guest_node *node);
    int (*stop)(unsigned host, int64_t deadline);
    bool (*is_at_rest)(unsigned host);
    int64_t (*next_timer)(unsigned host); /* INT64_MAX: none */
    uint32_t (*ready)(unsigned host);     /* the number of tasks that can run */
    void (*turn)(unsigned host, uint32_t prefer);
    /* `there` is the host's name of the connection. The result is the guest's name of it; NULL: no memory. */
    void *(*on_up)(unsigned host, void *there, void *dial_tag, const char *remote);
    int (*on_message)(void *c, const uint8_t *data, size_t size, size_t *left);
    int (*on_chunk)(void *c);
    void (*on_sent)(void *c, bool ok);
    void (*on_down)(unsigned host, void *c, const char *reason);
    void (*on_dial_failed)(unsigned host, void *dial_tag, const char *reason);
};

/* The only symbol of a guest. */
typedef const struct guest *guest_entry(void);
#define GUEST_ENTRY "weft_sim_guest"

#endif
