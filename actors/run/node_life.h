/* actors/run/node_life.h -- a node without its network: how it starts and ends.
 *
 * wf_node_create ... wf_node_destroy make a complete node without network. transport/start.c wraps them into the
 * public weft_node_start and weft_node_stop: create, register its route, start; stop: drain actors, then links, then
 * finish. */
#ifndef WF_NODE_LIFE_H
#define WF_NODE_LIFE_H

#include "node.h"

/* Checks options (logging what is wrong), picks a name and an incarnation, and makes the workers, but does not start
 * them. `env` NULL: the native one. */
int wf_node_make(weft_node **out, const weft_node_options *options, struct pf_env *env,
                 const struct wf_feature *const *features);
int wf_node_run(weft_node *node); /* starts the workers' threads; an embedded node has none */
/* Asks every user actor to stop and waits; kills the rest at the deadline. WEFT_OK or WEFT_ETIMEDOUT. */
int wf_node_drain(weft_node *node, int64_t deadline);
/* Ends service actors (options of wf_node_spawn_service) and workers; frees. */
void wf_node_finish_actors(weft_node *node);
void wf_node_destroy(weft_node *node);

/* Starts an actor of weft's own. It is not a user actor; the node stops it after the user actors. An actor, here or
 * on another node, that stops it, kills it or links with it is told that there is no such actor. */
int wf_node_spawn_service(weft_node *node, weft_pid *out, weft_actor *body, const void *arg, size_t size,
                          const char *kind);

#endif
