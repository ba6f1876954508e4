/* transport/store/store_actor.h -- the actor of a store: it has the global name WEFT_STORE_NAME, gathers publications
 * into batches, forwards requests to read to its readers, and keeps the requests that wait for the next record. */
#ifndef WF_STORE_ACTOR_H
#define WF_STORE_ACTOR_H

#include <stddef.h>

/* A weft_actor; its argument is a packed struct store_config. It answers WF_STORE_STATUS when it has opened its file,
 * or has failed to; then it ends. */
void wf_store_actor(const void *config, size_t size);

#endif
