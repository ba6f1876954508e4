/* actors/core/actor_more.h -- data that few actors and few mailboxes need: it is allocated at the first use. */
#ifndef WF_ACTOR_MORE_H
#define WF_ACTOR_MORE_H

#include "lane.h"
#include "list.h"
#include "text.h"

struct wf_actor;
struct wf_charge;
struct wf_cycle;
struct wf_defer;
struct wf_ending;
struct wf_kept_actor;
struct wf_locals;
struct wf_name;

/* Data that few mailboxes need: wf_actor_more.backlog. */
struct wf_backlog {
    struct wf_lane space;         /* WF_MSG_SPACE requests of senders that wait for space here */
    struct wf_list_node on_short; /* wf_actors.short_of_bytes */
    struct wf_actor *actor;
    weft_msg *mark;    /* a signal that is not the first one, or NULL: mail_order.h */
    weft_msg *scanned; /* weft_recv_match: the last message it has looked at */
    uint32_t skipped;  /* weft_recv_match: how many messages it has skipped */
    uint32_t skipped_max;
    uint32_t promised;          /* senders of this worker for which space is reserved: told of it, but not used yet */
    size_t promised_bytes;      /* how many bytes are reserved */
    struct wf_list evict_marks; /* wf_evict_mark.on_marks */
};

/* Where the last search for the oldest message of a subscription ended: wf_mailbox_evict begins there. The subscription
 * counts neither the message `at`, which may be a published block, nor any message ahead of it. `ahead` includes
 * wf_actor.gone, so it stays the same when the oldest mail leaves. */
struct wf_evict_mark {
    struct wf_list_node on_marks; /* wf_backlog.evict_marks; on no list: the search begins with the oldest mail */
    weft_msg *at;
    uint64_t ahead; /* how many messages are ahead of it, plus wf_actor.gone */
};

/* Monitors and links of one actor with those of one node: lifecycle/ties.h. */
struct wf_tie_set {
    struct wf_list monitors; /* wf_monitor.on_set: other actors that this one monitors, the newest first */
    weft_msg *ends;          /* a wf_chain of WATCH and of prepared EXIT messages; `from` is the other actor */
};
struct wf_remote_ties;
struct wf_ties {
    struct wf_tie_set here;     /* ties with actors of this node */
    struct wf_remote_ties *far; /* ties with actors of other nodes */
};

/* The first member of struct wf_kept_actor (lifecycle/kept_actor.c). */
struct wf_kept_actor_head {
    char name[WF_NAME_MAX + 1]; /* it keeps this name from life to life; "": none */
};

/* Data that few actors need, allocated at the first use and kept until the end of the actor: wf_actor_more().
 * Features have named members here, not numbered slots as in a node or a worker: that costs the same, 128 bytes
 * cannot hold a slot for each feature, and core/, mailbox/ and run/ do not dereference them. */
struct wf_actor_more {
    struct wf_ties ties;                /* monitors and links: ties.h */
    struct wf_list_node *subscriptions; /* the oldest in a ring of wf_subscription.on_actor; NULL: none */
    uint32_t subscription_count : 31;   /* how many subscriptions */
    uint32_t unties : 1;                /* its monitors and links are being ended: it gets no new ones */
    uint32_t awaited_count;             /* how many of them have publishers that wait */
    struct wf_name *names;              /* chain of actors/names/names.h */
    struct wf_list_node *groups;        /* a ring of wf_group_tie.on_actor: watches, memberships; NULL: none */
    struct wf_defer *defers;            /* the last one comes first */
    struct wf_locals *locals;           /* local.h */
    struct wf_ending *ending;           /* set while its clean-ups run: ending.h */
    struct wf_kept_actor *keep;         /* set if its supervisor keeps its mailbox from life to life */
    const struct wf_charge *charge;     /* set for a supervised child while its body runs */
    struct wf_body *end;                /* why it ends, if there is a text: wf_end_body */
    struct wf_cycle *cycle;             /* weft_call_cycle */
    struct wf_backlog *backlog;         /* wf_backlog() */
};

_Static_assert(sizeof(struct wf_actor_more) <= 128 && sizeof(struct wf_backlog) <= 128, "docs/memory.md states them");

/* Both return the actor's block, allocated if there is none yet; NULL: no memory, and the actor is unchanged. Blocks
 * come from the pool of `w`, the calling thread's worker, or from malloc if `w` is NULL. */
struct wf_actor_more *wf_actor_more_from(struct wf_actor *a, struct wf_worker *w);
struct wf_backlog *wf_backlog_from(struct wf_actor *a, struct wf_worker *w);
/* At the end of an actor whose `more` is not NULL. */
void wf_actor_more_free(struct wf_actor *a, struct wf_worker *w);

#endif
