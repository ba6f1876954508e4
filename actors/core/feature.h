/* actors/core/feature.h -- what a feature of actors (calls, names, topics, pools, ...) adds to every node, worker and
 * actor. core/ runs these rows and knows none of the features: actors/all_features.c lists them.
 *
 * Design notes.
 * (1) A function that a feature does not need is NULL. Rows run in the order of the list.
 * (2) The kinds of messages that core/ delivers itself are SEND, CALL, RETAINED, SYSTEM and CONTROL: those that wait
 *     in a mailbox. Each other kind belongs to one feature, whose row is found by the kind as an index: it costs what
 *     the switch did. core/ has two features of its own, in the same list: stopping and backpressure.
 * (3) What most actors go through (spawn, send, receive, end) runs no row: only an actor that has wf_actor_more,
 *     which any feature makes at its first use, is offered to `actor_leave` and `actor_end`. */
#ifndef WF_FEATURE_H
#define WF_FEATURE_H

#include "msg.h"

#include <weft/actor.h>
#include <weft/pack.h>

struct wf_actor;
struct wf_actors;
struct wf_room;
struct wf_wait_kind;
typedef struct weft_node weft_node;

/* What a feature does with the messages of one kind. */
struct wf_message_row {
    enum wf_msg_kind kind;
    /* One has come to the worker of `a`; a PUBLISH, which is for no actor, with NULL. Consumes. */
    void (*deliver)(struct wf_worker *w, struct wf_actor *a, weft_msg *m);
    /* There is no such actor. Consumes. NULL: it is counted as dropped. */
    void (*drop)(struct wf_worker *w, weft_msg *m, enum wf_drop why);
    /* It waits for room in the mailbox of `a` (wf_on_space_asked) and gets its share of what there is; NULL: `a` ends
     * and nobody will tell it any more. Consumes. */
    void (*room)(struct wf_actor *a, weft_msg *m, struct wf_room *room);
    /* It leaves the mailbox of `a`, received or not. */
    void (*leave)(struct wf_actor *a, weft_msg *m);
    /* The node ends before it has come; the caller frees it. Any thread. */
    void (*discard)(weft_msg *m);
};

/* What a feature keeps for a node and for each worker: core/ has a place for it (weft_node.slots, wf_actors.slots) that
 * only the feature knows the meaning of. Each feature has a number of its own, beside its code; 0: it keeps nothing. */
enum { WF_FEATURE_SLOTS = 16 };

struct wf_feature {
    const char *name;
    uint8_t slot;
    size_t
        worker_bytes; /* in wf_actors.slots, zeroed, from before worker_init until after worker_finish; 0: nothing */
    int (*node_init)(weft_node *n);
    void (*node_finish)(weft_node *n); /* also after a node_init that failed, or was not called */
    int (*worker_init)(struct wf_actors *wa);
    void (*worker_stop)(struct wf_worker *w);   /* it runs no more: no timer of the feature is armed from then on */
    void (*worker_finish)(struct wf_worker *w); /* as node_finish, but not where there was no memory for the slot */
    /* A new actor, before it runs, whose options ask for a monitor or a link by its parent. */
    int (*actor_birth)(struct wf_actor *a, const weft_spawn_options *o);
    /* Its clean-ups have run: it gives back what it has. */
    void (*actor_leave)(struct wf_actor *a);
    /* The last thing it does. `last`: no other life follows. */
    void (*actor_end)(struct wf_actor *a, bool last);
    /* It has handed over (wf_actor.handing): returns when what follows has returned. */
    void (*actor_goes_on)(struct wf_actor *a);
    /* Whether another actor stops it in order when the node ends. */
    bool (*actor_is_stopped_by_other)(const struct wf_actor *a);
    /* Whether it takes a WF_MSG_CONTROL with that tag. */
    bool (*takes_control)(const struct wf_actor *a, uint32_t tag);
    /* A message of another node finds the mailbox full: whether it is taken all the same. */
    bool (*takes_past_bound)(struct wf_actor *a, const weft_msg *m);
    /* The actor lets go of a message that it was given as work (WF_POST_WORK). */
    void (*work_let_go)(struct wf_actor *a, weft_msg *m);
    /* The link to that node is gone for good. */
    void (*node_lost)(struct wf_worker *w, uint64_t peer);
    const struct wf_wait_kind *wait_kind; /* that can be waited for; NULL: none */
    const struct wf_message_row *messages;
    size_t message_count;
};

/* Names of actors, if the node has any: weft_node.naming. */
struct wf_naming {
    /* As wf_names_find; `any`: or wf_names_find_any. */
    int (*find)(weft_node *n, weft_text name, bool any, weft_pid *out);
    const char *(*first)(const struct wf_actor *a); /* "": it has none */
    /* Any thread: the same of an id. */
    void (*of_id)(weft_node *n, uint64_t id, char *out, size_t size);
};

/* Trace ids, if the node carries any: weft_node.tracing. Called where the worker is `tracing`, or the message has an
 * id. */
struct wf_tracing {
    /* `self` (NULL: no actor) is about to send `m` to an actor, or to a name on another node: gives it an id if it
     * should have one. Returns it, or the envelope that has taken its place. */
    weft_msg *(*out)(struct wf_worker *w, struct wf_actor *self, weft_pid to, const char *name, weft_msg *m);
    /* It was not sent after all, as `error` says. */
    void (*failed)(struct wf_worker *w, const struct wf_actor *self, weft_pid to, const char *name, const weft_msg *m,
                   int error);
    void (*took)(struct wf_actor *a, const weft_msg *m); /* out of its mailbox */
    void (*dropped)(struct wf_worker *w, const weft_msg *m, enum wf_drop why);
    /* As `out`, of a message that has come from another node. Any thread. */
    weft_msg *(*in)(weft_node *node, struct wf_worker *w, weft_msg *m);
    /* " trace=..." of the running actor, for a log line; "": it handles nothing that is traced. */
    void (*text)(char *out, size_t size);
};

enum { WF_FEATURES_MAX = 16 };
/* The rows of a node, by what they are for: made once, before its workers. */
struct wf_features {
    const struct wf_feature *all[WF_FEATURES_MAX + 1]; /* the last is NULL */
    void (*leave[WF_FEATURES_MAX + 1])(struct wf_actor *a);
    void (*end[WF_FEATURES_MAX + 1])(struct wf_actor *a, bool last);
    const struct wf_wait_kind *wait_kinds[WF_FEATURES_MAX + 2]; /* of mailboxes, then of features */
    void (*work_let_go)(struct wf_actor *a, weft_msg *m);
    void (*goes_on)(struct wf_actor *a);
    struct wf_message_row messages[WF_MSG_KINDS];
};
#define WF_FEATURES_EACH(f, node) for (const struct wf_feature *const *f = (node)->features.all; *f != NULL; f++)

/* Sorts the rows of `list`, whose last is NULL. */
void wf_features_init(struct wf_features *f, const struct wf_feature *const *list);

#endif
