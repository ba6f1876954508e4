/* actors/core/actor_more.h -- what few actors ever have, and what few mailboxes need: made at the first use. */
#ifndef WF_ACTOR_MORE_H
#define WF_ACTOR_MORE_H

#include "lane.h"
#include "list.h"
#include "text.h"

struct wf_actor;
struct wf_charge;
struct wf_cycle;
struct wf_defer;
struct wf_kept_actor;
struct wf_locals;
struct wf_name;

/* What few mailboxes need: wf_actor_more.backlog. */
struct wf_backlog {
    struct wf_lane room;          /* WF_MSG_SPACE requests of senders that wait for room here */
    struct wf_list_node on_short; /* wf_actors.short_of_bytes */
    struct wf_actor *actor;
    weft_msg *mark;    /* a signal, not the first: mail_order.h; NULL: none */
    weft_msg *scanned; /* weft_recv_match: the last message it has seen */
    uint32_t skipped;  /* and how much mail it has skipped */
    uint32_t skipped_max;
    uint32_t promised;     /* senders of this worker that were told of room and have not used it yet: it is theirs; */
    size_t promised_bytes; /* so much of it */
};

/* Monitors and links of one actor with those of one node: lifecycle/ties.h. */
struct wf_tie_set {
    struct wf_list monitors; /* wf_monitor.on_set: of others, by this actor; the newest first */
    weft_msg *ends;          /* a wf_chain of WATCH and of EXIT messages to be; `from` is the other */
};
struct wf_remote_ties;
struct wf_ties {
    struct wf_tie_set here;     /* with actors of this node */
    struct wf_remote_ties *far; /* with those of others */
};

/* What a struct wf_kept_actor begins with (lifecycle/kept_actor.c). */
struct wf_kept_actor_head {
    char name[WF_NAME_MAX + 1]; /* that stays; "": none */
};

/* What few actors ever have, made at the first use and kept until the end of the actor: wf_actor_more(). What
 * features keep for an actor is here by name, and not in numbered slots as for a node or a worker: it costs the
 * same, 128 bytes have no place for a slot of each, and core/ does not look behind these pointers. */
struct wf_actor_more {
    struct wf_ties ties;                /* monitors and links: ties.h */
    struct wf_list_node *subscriptions; /* a ring of wf_subscription.on_actor, the oldest; NULL: none */
    uint32_t subscription_count;        /* of them */
    uint32_t awaited_count;             /* and of those whose publishers wait */
    struct wf_name *names;              /* chain of actors/names/names.h */
    struct wf_list_node *groups;        /* a ring of wf_group_tie.on_actor: watches, memberships; NULL: none */
    struct wf_defer *defers;            /* last first */
    struct wf_locals *locals;           /* local.h */
    int64_t latest;                     /* while clean-ups run: the end of the grace period */
    struct wf_kept_actor *keep;         /* of its supervisor, which keeps its mailbox from life to life */
    const struct wf_charge *charge;     /* of a supervised child while its body runs */
    struct wf_body *end;                /* reason and text, if there is a text: wf_end_body */
    struct wf_cycle *cycle;             /* weft_call_cycle */
    struct wf_backlog *backlog;         /* wf_backlog() */
};

_Static_assert(sizeof(struct wf_actor_more) <= 128 && sizeof(struct wf_backlog) <= 128, "docs/memory.md states them");

/* What few actors have, made if there is none yet. Blocks come from worker `w`, that of the calling thread; NULL:
 * malloc. NULL: no memory; the actor is as it was. */
struct wf_actor_more *wf_actor_more_from(struct wf_actor *a, struct wf_worker *w);
struct wf_backlog *wf_backlog_from(struct wf_actor *a, struct wf_worker *w);
/* Of an actor that has it, at its end. */
void wf_actor_more_free(struct wf_actor *a, struct wf_worker *w);

#endif
