/* actors/inspect/top_actors.h -- some actors of a worker out of very many: those with the fullest mailboxes, say.
 * They are offered one by one; no more than `most` are kept, the least of them at the top of a heap. */
#ifndef WF_TOP_ACTORS_H
#define WF_TOP_ACTORS_H

#include "actor_list.h"
#include "node.h"

struct wf_actor;

enum wf_top_by {
    WF_TOP_BY_MAILBOX,  /* messages that wait for it, then those it has received */
    WF_TOP_BY_RECEIVED, /* messages it has received, then those that wait */
    WF_TOP_BY_DROPPED,  /* messages dropped at its mailbox, then those that wait */
};

enum { WF_TOP_FILTER = 64, WF_TOP_MOST = 5000 };

/* Which ones. */
struct wf_top_want {
    enum wf_top_by by;
    uint32_t most;              /* at most WF_TOP_MOST */
    char filter[WF_TOP_FILTER]; /* in kind, name or pid, in lower or upper case; "": all */
    bool exact;                 /* the stack of every actor is looked at: wf_node_stats_kind.memory */
};

struct wf_top_actors {
    struct wf_top_want want;
    struct wf_actor_info *actors; /* in no order */
    struct wf_rank *rank;         /* a heap with the rank of each */
    uint32_t count;
    uint64_t matched; /* how many there are with the filter */
};

/* WEFT_ENOMEM. */
int wf_top_actors_init(struct wf_top_actors *p, const struct wf_top_want *want);
/* On the actor's own thread. */
void wf_top_actors_offer(struct wf_top_actors *p, const struct wf_actor *a);
/* All have been offered, those of `from` have been: takes the better ones of both, and frees `from`. */
void wf_top_actors_merge(struct wf_top_actors *p, struct wf_top_actors *from);
void wf_top_actors_free(struct wf_top_actors *p);

#endif
