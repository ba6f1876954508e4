/* transport/link/credit.h -- how much a worker may still send to an actor of another node until that actor grants more
 * credit.
 *
 * Design notes.
 * (1) A message costs units: one, plus one for each KiB of its body. For each actor that this worker sends to there is
 *     an entry with the units that are left. A new entry has WF_CREDIT_FIRST units. When half is spent, a
 *     CREDIT_REQUEST is sent behind the last message; the answer, a CREDIT, says how many units may be sent after that
 *     CREDIT_REQUEST. An actor with a full mailbox answers when there is space again, in turn with the senders of its
 *     own node (actors/mailbox/backpressure.c). So the normal path counts on this side only, and the other side stores
 *     only the CREDIT_REQUESTs that it has not answered yet.
 * (2) A sender that finds no units left waits. Waiting senders are served in the order of arrival: one is woken, and
 *     each that has sent wakes the next.
 * (3) No grant is lost: CREDIT_REQUEST and CREDIT are frames of a link, which loses and reorders nothing. A
 *     CREDIT_REQUEST travels behind the messages it counts, so when it is answered they are in the mailbox. An entry
 *     has at most one outstanding; a sender that finds no units left finds one outstanding, or sends it. The other
 *     side answers each: at once, or when there is space, or with 0 units when the actor ends or does not exist. If
 *     there is no memory for a CREDIT_REQUEST, the next sender tries again; for a CREDIT, a timer of the other side
 *     does. models/credit.pml
 * (4) All entries end with the link. The other side throws away the CREDIT_REQUESTs of the old link that are still
 *     waiting there. A CREDIT whose number is not that of the last CREDIT_REQUEST is ignored.
 * (5) An entry is freed when none of its units are spent. With each new entry a clock hand moves over a few entries of
 *     the table. An entry with spent units then asks for credit, so that the hand can free it on its next pass,
 *     unless the entry is used meanwhile. */
#ifndef WF_CREDIT_H
#define WF_CREDIT_H

#include "route.h"
#include "hash_table.h"
#include "list.h"
#include "task.h"

enum {
    WF_CREDIT_KIB = 10, /* a body costs its bytes >> this number */
    /* entries of one worker for one peer; messages to further actors are not counted */
    WF_CREDIT_ENTRIES_MAX = 1 << 20,
    WF_CREDIT_UNITS_MAX = 1 << 20, /* units in one grant */
};

struct wf_link_writers;
struct wf_link_writer;

struct wf_credit {
    struct wf_hashed in_table;
    uint64_t key;           /* the actor, or wf_credit_name */
    char *name;             /* the name, if messages are sent to a name; NULL: an actor */
    int32_t left;           /* units; a large message may make it negative */
    int32_t low;            /* when `left` is not above it, wf_credit_review has something to do */
    int32_t given;          /* units of the last grant */
    int32_t asked_at;       /* `left` when the CREDIT_REQUEST was sent */
    uint32_t number;        /* the number of the outstanding CREDIT_REQUEST; 0: there is none */
    struct wf_list waiting; /* wf_waiter.on_source */
};

/* The credit of one writer. */
struct wf_credits {
    bool on;                    /* the peer takes part in credit */
    struct wf_credit *last;     /* the entry that was found last; may be NULL */
    struct wf_hash_table table; /* hashed with the node's secret, as peers choose the keys */
    uint64_t secret;
    uint32_t hand; /* the next bucket that the hand visits */
    uint32_t last_number;
    struct wf_credit spill; /* counts nothing: is used when there is no memory for an entry, or there are too many */
};

void wf_credits_init(struct wf_credits *c, bool on, uint64_t secret);
/* Frees all entries, and wakes all tasks that wait. */
void wf_credits_finish(struct wf_credits *c);
/* The same in parts: frees about `most` entries, and the rest of the last bucket. True: the table is empty. */
bool wf_credits_clear(struct wf_credits *c, uint32_t most);

/* A key for a name. */
uint64_t wf_credit_name(const char *name);
struct wf_credit *wf_credit_find(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key,
                                 const char *name);
/* Is called after a take that reaches `low`, and after a grant: asks for credit, wakes the next sender. */
void wf_credit_review(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *c);

static inline void wf_credit_take(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *c,
                                  size_t size)
{
    c->left -= 1 + (int32_t)(size >> WF_CREDIT_KIB);
    if (WF_UNLIKELY(c->left <= c->low)) wf_credit_review(all, writer, c);
}

/* The running task waits until there may be units left. Returns what wf_task_wait returns, or WEFT_ENOMEM. */
int wf_credit_wait(struct wf_worker *w, struct wf_link_writer *writer, struct wf_credit *c, int64_t deadline);
/* NULL: there is no such entry. */
struct wf_credit *wf_credit_known(const struct wf_credits *c, uint64_t key);
/* Wakes the next sender, because the one that was woken does not use the credit. */
void wf_credit_pass_on(struct wf_worker *w, uint64_t peer, uint64_t key);
/* The functions `granted`, `grants` and `fault` of wf_route. */
void wf_credit_route_granted(struct wf_worker *w, uint64_t peer, uint64_t key, uint32_t number, uint32_t units);
uint32_t wf_credit_route_grants(struct wf_worker *w, uint64_t peer);
void wf_credit_route_fault(struct wf_worker *w, uint64_t peer, const char *why);

#endif
