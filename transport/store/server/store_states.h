/* transport/store/server/store_states.h -- the part of the store's actor for states of actors: it keeps the owner of
 * each state, makes other openings wait for the owner's end, and gathers changes into batches. */
#ifndef WF_STORE_STATES_H
#define WF_STORE_STATES_H

#include <weft/message.h>
#include <weft/monitor.h>
#include <weft/offload.h>

#include "bucket.h"
#include "list.h"
#include "node_counts.h"
#include "pending_requests.h"

enum {
    WF_OWNERS_MAX = 100 * 1000,  /* states with an owner */
    WF_OPENINGS_MAX = 10 * 1000, /* openings that wait for an owner's end, */
    WF_OPENINGS_OF_NODE = 2000,  /* and openings of one node */
    WF_OWNER_BUCKETS = 4096,
};

struct wf_store_states {
    struct wf_store_file *file;
    char (*pattern)[WF_STORE_TOPIC_MAX + 1]; /* patterns of the keys that the store accepts */
    size_t patterns;
    struct wf_pending_requests requests;                                        /* to change a state */
    struct wf_chained *by_key[WF_OWNER_BUCKETS], *by_monitor[WF_OWNER_BUCKETS]; /* owners */
    struct wf_chained *opening_by_monitor[WF_OWNER_BUCKETS], *opening_by_actor[WF_OWNER_BUCKETS];
    struct wf_node_counts openings_of_node;
    size_t owners, openings;
    struct wf_list ownerless; /* entries of owners that have left: wf_states_give_on finds the next owner */
};

/* `s` is all zero. `pattern` is taken over, for free(). */
void wf_states_init(struct wf_store_states *s, struct wf_store_file *file, struct wf_effort *effort,
                    char (*pattern)[WF_STORE_TOPIC_MAX + 1], size_t patterns);
void wf_states_free(struct wf_store_states *s); /* [A, W] */
/* Takes a WF_STORE_STATE request, or a WF_STORE_STATE_CLOSE message. Consumes it. */
void wf_states_ask(struct wf_store_states *s, weft_msg *ask);
void wf_states_close(struct wf_store_states *s, weft_msg *m);
/* A monitor has fired. False: it is not a monitor of an owner, nor of an actor whose opening waits. */
bool wf_states_down(struct wf_store_states *s, const struct weft_down *down);
/* Gives the states whose owners have left to the first openings that wait for them. To be called after each of these functions,
 * before the next one. Returns whether there was such a state: then changes may wait. [A, W] */
bool wf_states_give_on(struct wf_store_states *s);
/* Starts a job that stores the waiting changes. False: no change waits, or the job was refused. */
bool wf_states_start(struct wf_store_states *s, weft_job *job);
void wf_states_finish(struct wf_store_states *s, weft_job job);

#endif
