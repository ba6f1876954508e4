/* transport/link/credit.h -- how much a worker may still send to an actor of another node before that actor has said
 * that there is room.
 *
 * Design notes.
 * (1) A message takes units: one, and one more for each KiB of its body. For each actor that this worker sends to
 *     there is an entry with the units that are left. A new one begins with WF_CREDIT_FIRST. When half is spent a
 *     CREDIT_REQUEST goes behind the last message; the answer, a CREDIT, says how much may be sent after that
 *     CREDIT_REQUEST. An actor with a full mailbox answers when there is room again, in turn with the senders of its
 *     own node
 *     (actors/core/backpressure.c). So the normal path counts on this side only, and the other side keeps nothing but
 *     CREDIT_REQUESTs it has not answered.
 * (2) With nothing left a sender waits, first come, first served: one is woken, and each that has sent wakes the
 *     next.
 * (3) No grant is lost: CREDIT_REQUEST and CREDIT are frames of a link that loses and reorders nothing.
 *     CREDIT_REQUEST travels behind the messages it counts, so when it is answered they are in the mailbox. There is
 *     at most one for an entry; whoever finds nothing left finds one under way, or sends it. The other side answers
 *     each: at once, when room comes, when the actor ends (with 0 units), and when there is no such actor. A
 *     CREDIT_REQUEST that finds no memory here is tried again by the next sender, a CREDIT there by a timer.
 *     models/credit.pml
 * (4) When the link ends so do all entries. A CREDIT_REQUEST that the old link left parked is thrown away there; a
 *     CREDIT with another number than that of the last CREDIT_REQUEST is not for us.
 * (5) An entry is forgotten when nothing of it is spent. With each new entry a hand moves on over a few entries of
 *     the table. An entry of which something is spent then asks for credit, so that it can go when the hand comes
 *     again, unless it is used meanwhile. */
#ifndef WF_CREDIT_H
#define WF_CREDIT_H

#include "route.h"
#include "hash_table.h"
#include "list.h"
#include "task.h"

enum {
    WF_CREDIT_KIB = 10,              /* bytes of a body >> this */
    WF_CREDIT_ENTRIES_MAX = 1 << 20, /* of one worker for one peer; beyond it nothing is counted */
    WF_CREDIT_UNITS_MAX = 1 << 20,   /* of one grant */
};

struct wf_link_writers;
struct wf_link_writer;

struct wf_credit {
    struct wf_hashed in_table;
    uint64_t key;           /* the actor, or wf_credit_name */
    char *name;             /* the name that is sent to; NULL: an actor */
    int32_t left;           /* units; a large message may make it negative */
    int32_t low;            /* from here down wf_credit_review has something to do */
    int32_t given;          /* by the last grant */
    int32_t asked_at;       /* `left` when the CREDIT_REQUEST was sent */
    uint32_t number;        /* of the CREDIT_REQUEST under way; 0: there is none */
    struct wf_list waiting; /* wf_waiter.on_source */
};

/* Of a writer. */
struct wf_credits {
    bool on;                    /* the peer grants */
    struct wf_credit *last;     /* found last; NULL */
    struct wf_hash_table table; /* actors are chosen by peers: with the node's secret */
    uint64_t secret;
    uint32_t hand; /* the next bucket that is looked at */
    uint32_t last_number;
    struct wf_credit spill; /* counts nothing: for want of memory */
};

void wf_credits_init(struct wf_credits *c, bool on, uint64_t secret);
/* Wakes all who wait. */
void wf_credits_finish(struct wf_credits *c);
/* The same in parts: frees about `most` entries, and the rest of the last bucket. True: the table is empty. */
bool wf_credits_clear(struct wf_credits *c, uint32_t most);

/* A key for a name. */
uint64_t wf_credit_name(const char *name);
struct wf_credit *wf_credit_find(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key,
                                 const char *name);
/* After a take, or a grant: what is to be done at `low`. */
void wf_credit_review(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *c);

static inline void wf_credit_take(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *c,
                                  size_t size)
{
    c->left -= 1 + (int32_t)(size >> WF_CREDIT_KIB);
    if (WF_UNLIKELY(c->left <= c->low)) wf_credit_review(all, writer, c);
}

/* The running task waits until there may be something left. As wf_task_wait. */
int wf_credit_wait(struct wf_worker *w, struct wf_link_writer *writer, struct wf_credit *c, int64_t deadline);
/* NULL: there is no such entry. */
struct wf_credit *wf_credit_known(const struct wf_credits *c, uint64_t key);
/* Who was to use it does not: the next one is woken. */
void wf_credit_pass_on(struct wf_worker *w, uint64_t peer, uint64_t key);
/* A CREDIT: `units` 0: the actor is gone. */
void wf_credit_granted(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key, uint32_t number,
                       uint32_t units);

/* Of wf_route: granted, grants, fault. */
void wf_credit_route_granted(struct wf_worker *w, uint64_t peer, uint64_t key, uint32_t number, uint32_t units);
uint32_t wf_credit_route_grants(struct wf_worker *w, uint64_t peer);
void wf_credit_route_fault(struct wf_worker *w, uint64_t peer, const char *why);

#endif
