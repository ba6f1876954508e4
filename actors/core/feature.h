/* actors/core/feature.h -- what a feature of actors (calls, names, topics, pools, ...) adds to every node, worker and
 * actor. mailbox/ and run/ call these functions and do not know the features: actors/all_features.c lists them.
 *
 * Design notes.
 * (1) A function that a feature does not need is NULL. Features are called in the order of the list.
 * (2) The kinds of messages that mailbox/ delivers itself are SEND, CALL, RETAINED, SYSTEM and CONTROL: those that
 *     wait in a mailbox. Each other kind belongs to one feature, whose row is found with the kind as an index: that
 *     costs no more than a switch. These two rooms have three features, in the same list: mailbox, backpressure and
 *     stopping.
 * (3) Spawn, send, receive and end of most actors call no feature: `actor_leave` and `actor_end` are called only for
 *     an actor that has wf_actor_more, which a feature allocates at its first use. */
#ifndef WF_FEATURE_H
#define WF_FEATURE_H

#include "msg.h"

#include <weft/actor.h>
#include <weft/pack.h>

struct wf_actor;
struct wf_actors;
struct wf_space;
struct wf_wait_kind;
typedef struct weft_node weft_node;

/* What a feature does with the messages of one kind. */
struct wf_message_row {
    enum wf_msg_kind kind;
    /* A message has come to the worker of `a`. `a` is NULL for a PUBLISH, which is for no single actor. Consumes. */
    void (*deliver)(struct wf_worker *w, struct wf_actor *a, weft_msg *m);
    /* There is no such actor. Consumes. NULL: it is counted as dropped. */
    void (*drop)(struct wf_worker *w, weft_msg *m, enum wf_drop why);
    /* `m` has waited for space in the mailbox of `a` (wf_on_space_asked) and now gets its share of `space`. NULL: `a`
     * ends, and this is the last notification. Consumes. */
    void (*space)(struct wf_actor *a, weft_msg *m, struct wf_space *space);
    /* The message leaves the mailbox of `a`: it was received, or dropped. */
    void (*leave)(struct wf_actor *a, weft_msg *m, bool dropped);
    /* The node ends before the message was delivered; the caller frees it. Any thread. */
    void (*discard)(weft_msg *m);
};

/* Slots for the data of a feature in a node and in each worker (weft_node.slots, wf_actors.slots). Only the feature
 * knows what is in its slot. Each has a number of its own, defined beside its code; 0: it has no slot. */
enum { WF_FEATURE_SLOTS = 16 };

struct wf_feature {
    const char *name;
    uint8_t slot;
    /* in wf_actors.slots, zeroed, from before worker_init until after worker_finish; 0: nothing */
    size_t worker_bytes;
    int (*node_init)(weft_node *n);
    void (*node_finish)(weft_node *n); /* runs also after a node_init that failed, or was not called */
    int (*worker_init)(struct wf_actors *wa);
    void (*worker_stop)(struct wf_worker *w);   /* the worker has stopped: no timer of the feature stays armed */
    void (*worker_finish)(struct wf_worker *w); /* like node_finish, but not if there was no memory for the slot */
    /* For a new actor, before it runs, if its options ask for a monitor or a link by its parent. */
    int (*actor_birth)(struct wf_actor *a, const weft_spawn_options *o);
    /* The actor's clean-ups have run: the feature takes back what it has given to the actor. */
    void (*actor_leave)(struct wf_actor *a);
    /* The actor has left, and its mail is gone; messages still come to it. What `actor_end` would do for very many
     * others is done here, in parts: wf_actor_end_part. Not called if the actor has no stack of its own to wait on. */
    void (*actor_end_early)(struct wf_actor *a, bool last);
    /* The last step of the actor's end. `last`: no other life follows. */
    void (*actor_end)(struct wf_actor *a, bool last);
    /* The actor continues with other code (wf_actor.handing): runs that code, and returns when it has returned. */
    void (*actor_goes_on)(struct wf_actor *a);
    /* Whether another actor (its supervisor) stops it in the right order when the node ends. */
    bool (*actor_is_stopped_by_other)(const struct wf_actor *a);
    /* Whether the actor takes a WF_MSG_CONTROL with that tag. */
    bool (*takes_control)(const struct wf_actor *a, uint32_t tag);
    /* A message of another node finds the mailbox full: whether the mailbox takes it nevertheless. */
    bool (*takes_past_bound)(struct wf_actor *a, const weft_msg *m);
    /* The actor lets go of a message that it was given as work (WF_POST_WORK). */
    void (*work_let_go)(struct wf_actor *a, weft_msg *m);
    /* The link to that node is gone for good. True: there is more to do, and it is called again, in the next turn or, if
     * this node stops, at once; `*at` is 0 at first, and then what it has left there. */
    bool (*node_lost)(struct wf_worker *w, uint64_t peer, uint64_t *at);
    const struct wf_wait_kind *wait_kind; /* a source that actors can wait for; NULL: none */
    const struct wf_message_row *messages;
    size_t message_count;
};

/* Names of actors, if the node has any: weft_node.naming. */
struct wf_naming {
    /* As wf_names_find; with `any` as wf_names_find_any. */
    int (*find)(weft_node *n, weft_text name, bool any, weft_pid *out);
    const char *(*first)(const struct wf_actor *a); /* the first name; "": none */
    /* Any thread: the first name of the actor with that id. */
    void (*of_id)(weft_node *n, uint64_t id, char *out, size_t size);
};

/* Trace ids, if the node supports them: weft_node.tracing. Called if wf_actors.tracing is set, or the message has an
 * id. */
struct wf_tracing {
    /* `self` (NULL: no actor) is about to send `m` to an actor, or to a name on another node: gives the message an id
     * if it should have one. Returns the message, or a new envelope that replaces it. */
    weft_msg *(*out)(struct wf_worker *w, struct wf_actor *self, weft_pid to, const char *name, weft_msg *m);
    /* The message was not sent; `error` says why. */
    void (*failed)(struct wf_worker *w, const struct wf_actor *self, weft_pid to, const char *name, const weft_msg *m,
                   int error);
    void (*took)(struct wf_actor *a, const weft_msg *m); /* `a` took `m` out of its mailbox */
    void (*dropped)(struct wf_worker *w, const weft_msg *m, enum wf_drop why);
    /* As `out`, for a message from another node. Any thread. */
    weft_msg *(*in)(weft_node *node, struct wf_worker *w, weft_msg *m);
    /* " trace=..." for a log line of the running actor; "" if it handles no traced message. */
    void (*text)(char *out, size_t size);
};

enum { WF_FEATURES_MAX = 24 };
/* The features of a node, sorted by purpose: made once, before its workers. */
struct wf_features {
    const struct wf_feature *all[WF_FEATURES_MAX + 1]; /* the last is NULL */
    void (*leave[WF_FEATURES_MAX + 1])(struct wf_actor *a);
    void (*end_early[WF_FEATURES_MAX + 1])(struct wf_actor *a, bool last);
    void (*end[WF_FEATURES_MAX + 1])(struct wf_actor *a, bool last);
    const struct wf_wait_kind *wait_kinds[WF_FEATURES_MAX + 1];
    void (*work_let_go)(struct wf_actor *a, weft_msg *m);
    void (*goes_on)(struct wf_actor *a);
    struct wf_message_row messages[WF_MSG_KINDS];
};
#define WF_FEATURES_EACH(f, node) for (const struct wf_feature *const *f = (node)->features.all; *f != NULL; f++)

/* Fills `f` from `list`, which ends with NULL. */
void wf_features_init(struct wf_features *f, const struct wf_feature *const *list);

#endif
