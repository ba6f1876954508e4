/* transport/store/server/store_actor.h -- the actor of a store: it has the global name WEFT_STORE_NAME, gathers
 * publications into batches, forwards requests to read to its readers, and keeps the requests that wait for the next
 * record. */
#ifndef WF_STORE_ACTOR_H
#define WF_STORE_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <weft/actor.h>

/* [A, W] Starts an actor that opens a store, wf_store_actor or wf_store_standby, and waits until it has. Returns 0; or its
 * error, and it has been asked to end. `config` is a packed struct store_config. */
WEFT_CHECKED int wf_store_start(weft_pid *out, weft_actor *body, const void *config, size_t size,
                                const weft_spawn_options *options, int64_t deadline);
/* [A, W] Answers the request of wf_store_start with an error. */
void wf_store_report(int rc);

/* A weft_actor; its argument is a packed struct store_config. It answers WF_STORE_STATUS when it has opened its file,
 * or has failed to; then it ends. */
void wf_store_actor(const void *config, size_t size);
extern const weft_spawn_options wf_store_actor_options;

#endif
