/* tests/sim/scene.h -- the scenario of sim_mixed (mixed.c): what the actors of each node do. It is compiled into the
 * program and into each guest (guest.h), with the headers of each version. Its actors share a struct scene: integers
 * only, since it crosses the border. */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCENE_NODES = 5, SCENE_STREAMS = 256 };

/* Messages from an actor of one node to an actor of another one, until one of the two has ended. */
struct scene_stream {
    uint32_t sent, came; /* numbers, from 1 */
    bool missing;        /* some that came before others */
    bool told;           /* the sender, that the sink has ended */
    bool over;           /* the sender has ended */
};

struct scene_pid {
    uint64_t node, actor; /* 0: nobody */
};

struct scene {
    uint32_t nodes;
    int64_t calm_at; /* from then on actors keep the name; WEFT_FOREVER: never yet */
    void (*fail)(const char *what);
    struct scene_stream stream[SCENE_NODES][SCENE_NODES][SCENE_STREAMS]; /* from, to */
    uint32_t opened[SCENE_NODES][SCENE_NODES], poured[SCENE_NODES][SCENE_NODES];
    uint32_t run[SCENE_NODES], published[SCENE_NODES]; /* by a node, as if it had a disk */
    uint32_t heard[SCENE_NODES][SCENE_NODES];          /* by a node, of the last version of another */
    uint32_t kept[SCENE_NODES][SCENE_NODES];           /* what a new subscriber there got */
    struct scene_pid holder[SCENE_NODES];              /* the actor of a node that believes that it has the name */
    struct scene_pid found[SCENE_NODES];               /* what a look-up there says, */
    int64_t found_at[SCENE_NODES];                     /* and when */
};

void scene_begin(struct scene *shared);
/* The first actor of each node. */
void scene_first(const void *arg, size_t size);

#endif
