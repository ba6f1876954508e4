/* actors/names/names.h -- the registered names that one node knows: name -> pid. Any thread; there is one lock, held
 * during a look-up.
 *
 * A name of this node belongs to a chain, which its actor keeps and which starts as NULL: an actor that ends gives up
 * its whole chain at once, and no actor can remove the name of another. A chain is used by one thread at a time.
 *
 * A global name has a stamp, and other nodes keep copies of it, as this node keeps copies of theirs. If two nodes
 * claim a global name, wf_name_wins decides, on all nodes alike, unless one of them cannot have had it first: names.c
 * (6). Global names are added and removed with the node's tables_lock held (tables.h). */
#ifndef WF_NAMES_H
#define WF_NAMES_H

#include "base.h"
#include "copies.h"
#include "list.h"
#include "name_waits.h"
#include "node.h"
#include "text.h"

#include <weft/pack.h>
#include <weft/pid.h>

#define WF_STAMP_MAX (UINT64_MAX >> 1) /* the largest timestamp of a name or a retained message, in microseconds */
static inline uint64_t wf_stamp_of(int64_t wall)
{
    return wall > 0 ? (uint64_t)wall / 1000 : 0;
}
/* The next stamp of a node with the wall clock `wall`: later than `last`, the latest one it has seen. */
static inline uint64_t wf_stamp_after(uint64_t last, int64_t wall)
{
    return WF_MIN(WF_MAX(last + 1, wf_stamp_of(wall)), WF_STAMP_MAX);
}

/* Of two registrations of one global name: whether the first one wins. */
static inline bool wf_name_wins(uint64_t stamp, uint64_t node, uint64_t other_stamp, uint64_t other_node)
{
    return stamp != other_stamp ? stamp < other_stamp : node < other_node;
}

struct wf_names; /* opaque */
struct wf_name;  /* opaque: one entry, the head of a chain */

/* The names of a node. */
enum { WF_NAMES_SLOT = 2 };
static inline struct wf_names *wf_names_of(const weft_node *node)
{
    return node->slots[WF_NAMES_SLOT];
}

/* `secret`: the key of its hashes. WEFT_ENOMEM. */
int wf_names_create(struct wf_names **out, uint64_t secret);
void wf_names_destroy(struct wf_names *n); /* NULL is fine; entries left in it are freed, their chains dangle */

/* 0: a name is 1 to WF_NAME_MAX letters, digits, '.', '_', '-' and '$'. WEFT_ETOOBIG: longer; WEFT_EINVAL. */
int wf_name_check(weft_text name);

/* WEFT_EINVAL, WEFT_ETOOBIG, WEFT_EEXIST (also when it is this actor's own), WEFT_ENOMEM. */
int wf_names_add(struct wf_names *n, weft_text name, weft_pid pid, struct wf_name **chain);
/* The same with a stamp > 0. WEFT_EEXIST also for a global name of another node. */
int wf_names_add_global(struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, int64_t now,
                        struct wf_name **chain);
/* A name of this node. WEFT_ENOACTOR; then `*out` is untouched. */
int wf_names_find(struct wf_names *n, weft_text name, weft_pid *out);
/* The same; if this node has no such name, the actor of another node with that global name. */
int wf_names_find_any(struct wf_names *n, weft_text name, weft_pid *out);
/* As wf_names_find_any, but on WEFT_ENOACTOR `wait`, whose `wake` the caller has set, waits for the name, until
 * wf_names_forget. WEFT_ENOMEM. */
int wf_names_await(struct wf_names *n, weft_text name, struct wf_name_wait *wait, weft_pid *out);
/* May be called if `wait` was notified. Sets `found` if the name has come. */
void wf_names_forget(struct wf_names *n, struct wf_name_wait *wait);
/* Removes a name of `chain`. WEFT_ENOACTOR: the chain has no such name. */
int wf_names_remove(struct wf_names *n, weft_text name, struct wf_name **chain);
/* Removes every name of the chain; `*chain` is NULL afterwards. */
void wf_names_remove_all(struct wf_names *n, struct wf_name **chain);
/* Removes the newest `most` names of the chain. False: there are no more. */
bool wf_names_remove_some(struct wf_names *n, uint32_t most, struct wf_name **chain);
/* Takes that name off the chain; it stays registered, and is a chain of its own. NULL: the chain has no such name. */
struct wf_name *wf_names_set_aside(struct wf_names *n, const char *name, struct wf_name **chain);
/* Sets the function that removals from chains call for each global name, with tables_lock held. Call it before other
 * threads use the table. */
void wf_names_on_removal(struct wf_names *n, void (*gone)(weft_text name, weft_pid pid, void *arg), void *arg);
/* Whether the newest `most` names of the chain are global, or this one: then removals need tables_lock. */
bool wf_names_global(const struct wf_name *chain, uint32_t most);
bool wf_names_has_global(struct wf_names *n, weft_text name, const struct wf_name *chain);
/* The text of the oldest name in a chain, NUL-terminated; "" if it is empty. Only for the chain's user. */
const char *wf_names_first(const struct wf_name *chain);
/* The i-th name, the oldest first; NULL past the last. */
const char *wf_names_at(const struct wf_name *chain, size_t i);

/* ---- Copies of other nodes' ------------------------------------------------------------------------------------ */

/* The effect of a copy on a global name of this node. */
struct wf_name_clash {
    weft_pid loser;    /* the actor of this node that lost the name; else nobody */
    weft_pid defender; /* the actor that keeps it, with the new `stamp`, which must be announced; else nobody */
    uint64_t stamp;
};
/* The node of `from` has registered the name for `pid`. 1; 0: that node had the name before, perhaps for another
 * actor; WEFT_ENOMEM. */
int wf_names_put_copy(struct wf_names *n, struct wf_copies *from, weft_text name, weft_pid pid, uint64_t stamp,
                      int64_t now, struct wf_name_clash *clash);
/* Another node has registered the name with that stamp, with or without a copy of it here. True: a global name of
 * this node has lost against it and is removed; `*loser` gets its actor. */
bool wf_names_give_way(struct wf_names *n, weft_text name, uint64_t node, uint64_t stamp, weft_pid *loser);
/* wf_names_copy_of: the registration of that node. wf_names_claims: how many other nodes have registered the name. */
struct wf_name_claim {
    weft_pid pid;
    uint64_t stamp;
    uint8_t doubt; /* the claim with less doubt wins */
};
static inline bool wf_claim_wins(const struct wf_name_claim *a, const struct wf_name_claim *b)
{
    return a->doubt != b->doubt ? a->doubt < b->doubt : wf_name_wins(a->stamp, a->pid.node, b->stamp, b->pid.node);
}
bool wf_names_copy_of(struct wf_names *n, weft_text name, uint64_t node, struct wf_name_claim *out);
size_t wf_names_claims(struct wf_names *n, weft_text name);
/* Returns whether that node had the name. */
bool wf_names_take_copy(struct wf_names *n, struct wf_copies *from, weft_text name);
/* Removes outdated copies. Each subtracts one from `*work`; stops at 0. */
void wf_names_clear_copies(struct wf_names *n, struct wf_copies *from, uint32_t *work);

size_t wf_names_count(struct wf_names *n); /* names of this node */
size_t wf_names_waits(struct wf_names *n); /* how many actors wait for a name */
/* Calls `see` for a part of the entries, including copies, in no order, with the lock held: `see` must not call
 * functions of names. `name` is NUL-terminated; `stamp` 0: the name is not global; `holds`: a look-up finds this
 * entry. The part begins at `*at`, 0 at first, and ends when the lock has been held for long enough, or, after `see`
 * has returned false, with the hash bucket. `*at` becomes the begin of the next part. False: that was the last part.
 * A name that exists all the time is in one part. */
bool wf_names_some(struct wf_names *n, uint64_t *at,
                   bool (*see)(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg), void *arg);

#endif
