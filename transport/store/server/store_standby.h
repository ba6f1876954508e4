/* transport/store/server/store_standby.h -- a store that stands by: it serves when no other store of the cluster
 * does. */
#ifndef WF_STORE_STANDBY_H
#define WF_STORE_STANDBY_H

#include <stddef.h>

#include <weft/actor.h>

/* The name on its node that this actor has while it waits for its turn. */
#define WF_STORE_STANDBY_NAME "weft.store.standby"

/* A weft_actor; its argument is a packed struct store_config. It answers WF_STORE_STATUS when it has opened the store, stands
 * by, or has failed to; then it ends. When it ends, so does the store that it has opened. */
void wf_store_standby(const void *config, size_t size);
extern const weft_spawn_options wf_store_standby_options;

#endif
