/* actors/core/route.h -- what the actor layer asks of whatever connects nodes; inbound.h is what it offers to it.
 * transport/ fills in a struct wf_route; the actor layer is complete without one (every other node is then
 * WEFT_ENONODE).
 *
 * Outbound functions run on a worker's thread, called by a running actor, and borrow the message: the caller frees it
 * afterwards. Their frames are batched per worker and peer; `flush` at the end of each turn hands the batches to the
 * carrier. Order from one actor to one other is kept. */
#ifndef WF_ROUTE_H
#define WF_ROUTE_H

#include "msg.h"
#include "task.h"

#include <weft/node.h>
#include <weft/pack.h>

struct wf_entry;
struct wf_publish_report;
struct wf_publish_count;

/* A node that is to hand a publication to one member of that queue group. */
struct wf_chosen {
    struct wf_chosen *next;
    uint64_t node;
    weft_text pattern, queue; /* behind it */
};

/* Units that may be sent to an actor of another node before its first CREDIT. Both sides have the same value. */
#define WF_CREDIT_FIRST WF_LIMIT("credit: units at first", 256, 1)
/* It has been sent, and the route has kept the message: it is the caller's no more. Only of SEND, CALL and REPLY.
 * */
enum { WF_ROUTE_KEPT = 1 };

struct wf_route {
    /* An actor of wf_node_spawn_service is over, perhaps without having run: its last act, on its worker. */
    void (*service_ended)(weft_node *node, uint64_t actor);
    /* To an actor of the peer whose incarnation is `to.node`: every wf_msg_kind but PUBLISH, SYSTEM and ROOM. 0;
     * WF_ROUTE_KEPT; WEFT_ENONODE: no such peer is connected; WEFT_EFULL: its outbox is at its bound, or the actor
     * has given no credit (only SEND and CALL are refused for that). */
    int (*send)(struct wf_worker *w, weft_pid to, weft_msg *m);
    /* To the name on the peer called `node`: as `send`. `*peer` gets its incarnation, so that a caller
     * hears when it is lost. */
    int (*send_name)(struct wf_worker *w, const char *node, size_t node_size, const char *name, weft_msg *m,
                     uint64_t *peer);
    /* The incarnation of the peer of that name; 0: none is connected. `*spawns`: it starts actors for others. */
    uint64_t (*find)(struct wf_worker *w, const char *name, size_t size, bool *spawns);
    /* What was published: one copy for each peer with a matching interest, or that is chosen; a full one drops
     * and counts. Those that keep what is retained have a body that is (`body->retained`) by the next function
     * already. `reach`: of who wants to know how many get it; may be NULL. Returns how many it went to. */
    int (*publish)(struct wf_worker *w, struct wf_body *body, const struct wf_chosen *chosen,
                   struct wf_publish_report *reach);
    /* The number of a request to that node, or of one that stays in this node, as others are told it in a probe;
     * and back. 0: there is no link with that node. */
    uint64_t (*seal)(struct wf_worker *w, uint64_t node, uint64_t ref);
    uint64_t (*unseal)(struct wf_worker *w, uint64_t node, uint64_t sealed);
    /* How many peers there are. */
    uint32_t (*peers)(struct wf_worker *w);
    /* Tells every link that shares what is retained of the one with that number, the last one: on any thread, with
     * tables_lock held (tables.h). */
    void (*retained)(weft_node *node, uint64_t number);
    /* Whether what is sent to that peer is likely to get on its way. */
    bool (*reaches)(struct wf_worker *w, uint64_t node);
    /* One copy for all members of a group on that node: as `send`. */
    int (*send_group)(struct wf_worker *w, uint64_t node, weft_text group, uint32_t tag, weft_pid from,
                      struct wf_body *body);
    /* A pattern got its first (add) or lost its last subscriber on this worker; `queue`: one of a queue group, of
     * which nodes that keep tables hear otherwise. WEFT_ENOMEM, of an `add` only: nothing has changed. */
    int (*interest)(struct wf_worker *w, const char *pattern, bool add, bool queue);
    /* Suspends the running task until the outbox of that peer may have room again, and the actor there, or the one
     * of that name, may have given credit. As wf_task_wait. */
    int (*wait_room)(struct wf_worker *w, weft_pid to, const char *name, int64_t deadline);
    /* The next three belong to actors/credit. A CREDIT has come. */
    void (*granted)(struct wf_worker *w, uint64_t peer, uint64_t key, uint32_t number, uint32_t units);
    /* How many peers there are if that one sends on credit, else 0. */
    uint32_t (*grants)(struct wf_worker *w, uint64_t peer);
    /* That peer does what it must not: its link is cut. */
    void (*fault)(struct wf_worker *w, uint64_t peer, const char *why);
    /* Step 4 of a turn. */
    void (*flush)(struct wf_worker *w);
    /* Tells every link that keeps copies of this node's tables: tables.h. On any thread, with tables_lock held. */
    void (*tell)(weft_node *node, int op /* wf_table_op */, const struct wf_entry *e);
    /* The actor `who` wants news of `all` nodes, first one NODE_UP for each peer that is up, by wf_node_tell; or
     * only of whether this node drains. WEFT_ENOMEM. */
    int (*watch_nodes)(struct wf_worker *w, weft_pid who, bool all);
};

#endif
