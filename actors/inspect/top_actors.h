/* actors/inspect/top_actors.h -- some actors of a worker out of very many: those with the fullest mailboxes, say.
 * They are offered one by one; no more than `most` are kept, the least of them at the top of a heap. */
#ifndef WF_TOP_ACTORS_H
#define WF_TOP_ACTORS_H

#include "actor_list.h"
#include "node.h"

struct wf_actor;

enum wf_pick_by {
    WF_PICK_MAILBOX,  /* messages that wait for it, then those it has received */
    WF_PICK_RECEIVED, /* messages it has received, then those that wait */
    WF_PICK_DROPPED,  /* messages dropped at its mailbox, then those that wait */
};

enum { WF_PICK_FILTER = 64, WF_PICK_MOST = 5000 };

/* Which ones. */
struct wf_pick {
    enum wf_pick_by by;
    uint32_t most;               /* at most WF_PICK_MOST */
    char filter[WF_PICK_FILTER]; /* in kind, name or pid, in lower or upper case; "": all */
    bool exact;                  /* the stack of every actor is looked at: wf_tally_kind.memory */
};

struct wf_picked {
    struct wf_pick want;
    struct wf_actor_info *actors; /* in no order */
    struct wf_rank *rank;         /* of each: a heap */
    uint32_t count;
    uint64_t matched; /* how many there are with the filter */
};

/* WEFT_ENOMEM. */
int wf_picked_init(struct wf_picked *p, const struct wf_pick *want);
/* On the actor's own thread. */
void wf_picked_offer(struct wf_picked *p, const struct wf_actor *a);
/* All have been offered, those of `from` have been: takes the better ones of both, and frees `from`. */
void wf_picked_merge(struct wf_picked *p, struct wf_picked *from);
void wf_picked_free(struct wf_picked *p);

#endif
