/* actors/core/route.h -- what the actor layer needs from the layer that connects nodes; inbound.h is what it offers
 * to that layer. transport/ fills in a struct wf_route. The actor layer works without one: a send to another node is
 * then WEFT_ENONODE.
 *
 * Outbound functions run on a worker's thread, called by a running actor, and borrow the message: the caller frees it
 * afterwards. Their frames are batched per worker and peer; `flush` at the end of each turn hands the batches to the
 * carrier. Messages from one actor to another keep their order. */
#ifndef WF_ROUTE_H
#define WF_ROUTE_H

#include "msg.h"
#include "task.h"

#include <weft/node.h>
#include <weft/pack.h>

struct wf_entry;
struct wf_publish_report;
struct wf_publish_count;

/* A node that has to hand a publication to one member of that queue group. */
struct wf_chosen {
    struct wf_chosen *next;
    uint64_t node;
    weft_text pattern, queue; /* the bytes stand behind this struct */
};

/* Units that may be sent to an actor of another node before its first CREDIT. Both sides have the same value. */
#define WF_CREDIT_FIRST WF_LIMIT("credit: units at first", 256, 1)
/* It has been sent, and the route has kept the message, so the caller must not use it. Only for SEND, CALL and
 * REPLY. */
enum { WF_ROUTE_KEPT = 1 };

struct wf_route {
    /* An actor of wf_node_spawn_service has ended, perhaps without having run. Called on its worker, as its last
     * step. */
    void (*service_ended)(weft_node *node, uint64_t actor);
    /* Sends to an actor of the peer whose incarnation is `to.node`: every wf_msg_kind but PUBLISH, SYSTEM and SPACE.
     * Returns 0; WF_ROUTE_KEPT; WEFT_ENONODE: no such peer is connected; WEFT_EFULL: the peer's outbox is at its
     * bound, or there is no credit for the actor (only SEND and CALL need credit). */
    int (*send)(struct wf_worker *w, weft_pid to, weft_msg *m);
    /* As `send`, to the name on the peer called `node`. `*peer` gets the peer's incarnation, so that a call fails
     * when the peer is lost. */
    int (*send_name)(struct wf_worker *w, const char *node, size_t node_size, const char *name, weft_msg *m,
                     uint64_t *peer);
    /* The incarnation of the peer of that name; 0: none is connected. `*spawns`: whether it starts actors for other
     * nodes. */
    uint64_t (*find)(struct wf_worker *w, const char *name, size_t size, bool *spawns);
    /* Sends a publication, one copy for each peer with a matching interest or in `chosen`; a full peer drops it,
     * which is counted. Peers that keep retained messages get a retained body (`body->retained`) by `retained` below
     * instead. `topic` is a number that no other topic of this worker ever has, 0: the topic has none. `reach` counts
     * the subscribers that get it; may be NULL. Returns the number of peers it went to. */
    int (*publish)(struct wf_worker *w, struct wf_body *body, uint64_t topic, const struct wf_chosen *chosen,
                   struct wf_publish_report *reach);
    /* Encodes the number of a request to that node, or of one inside this node, for a probe that other nodes see; and
     * decodes it. 0: there is no link with that node. */
    uint64_t (*seal)(struct wf_worker *w, uint64_t node, uint64_t ref);
    uint64_t (*unseal)(struct wf_worker *w, uint64_t node, uint64_t sealed);
    /* How many peers there are. */
    uint32_t (*peers)(struct wf_worker *w);
    /* Tells every link that shares retained messages of the last one, which has that number. Any thread, with
     * tables_lock held (tables.h). */
    void (*retained)(weft_node *node, uint64_t number);
    /* Whether a message to that peer can probably be sent at once. */
    bool (*reaches)(struct wf_worker *w, uint64_t node);
    /* As `send`, one copy for all members of a group on that node. */
    int (*send_group)(struct wf_worker *w, uint64_t node, weft_text group, uint32_t tag, weft_pid from,
                      struct wf_body *body);
    /* A pattern got its first (add) or lost its last subscriber on this worker; `queue`: a subscriber of a queue
     * group; nodes that keep tables learn of it from those. WEFT_ENOMEM, only for an `add`: nothing has changed. */
    int (*interest)(struct wf_worker *w, const char *pattern, bool add, bool queue);
    /* Suspends the running task until the outbox of that peer may have space again and the actor `to`, or the one of
     * that name, may have given credit. Returns as wf_task_wait. */
    int (*wait_space)(struct wf_worker *w, weft_pid to, const char *name, int64_t deadline);
    /* The next three are for actors/credit. `granted`: a CREDIT has come. */
    void (*granted)(struct wf_worker *w, uint64_t peer, uint64_t key, uint32_t number, uint32_t units);
    /* The number of peers if that peer sends on credit, else 0. */
    uint32_t (*grants)(struct wf_worker *w, uint64_t peer);
    /* That peer has broken the protocol: cuts its link. */
    void (*fault)(struct wf_worker *w, uint64_t peer, const char *why);
    /* Sends the batches of this worker: step 4 of a turn. */
    void (*flush)(struct wf_worker *w);
    /* Tells every link that keeps copies of this node's tables: tables.h. On any thread, with tables_lock held. */
    void (*tell)(weft_node *node, int op /* wf_table_op */, const struct wf_entry *e);
    /* Registers the actor `who` for events of nodes, by wf_node_tell. `all`: all events, and first one NODE_UP for
     * each peer that is up; else only whether this node drains. WEFT_ENOMEM. */
    int (*watch_nodes)(struct wf_worker *w, weft_pid who, bool all);
};

#endif
