/* actors/names/names.h -- the registered names that one node knows: name -> pid. Any thread; one lock, held for the
 * length of a look-up.
 *
 * A name of this node belongs to a chain, which its actor keeps and starts as NULL: who ends gives its whole chain
 * back at once, and nobody can take away the name of another. A chain is used by one thread at a time.
 *
 * A global name has a stamp, and other nodes keep copies of it; here are the copies of theirs. Who of two nodes has a
 * global name is decided by wf_name_wins, everywhere alike, unless one of them cannot have had it first: names.c
 * (6). Global names are added and removed with the node's tables_lock held (tables.h). */
#ifndef WF_NAMES_H
#define WF_NAMES_H

#include "base.h"
#include "copies.h"
#include "list.h"
#include "node.h"
#include "text.h"

#include <weft/pack.h>
#include <weft/pid.h>

#define WF_STAMP_MAX (UINT64_MAX >> 1) /* of a name, and of what is retained: microseconds */
static inline uint64_t wf_stamp_of(int64_t wall)
{
    return wall > 0 ? (uint64_t)wall / 1000 : 0;
}
/* The next one of a node whose clock says `wall`: later than all it has seen. */
static inline uint64_t wf_stamp_after(uint64_t last, int64_t wall)
{
    return WF_MIN(WF_MAX(last + 1, wf_stamp_of(wall)), WF_STAMP_MAX);
}

/* Of two registrations of one global name: whether the first is the one that holds. */
static inline bool wf_name_wins(uint64_t stamp, uint64_t node, uint64_t other_stamp, uint64_t other_node)
{
    return stamp != other_stamp ? stamp < other_stamp : node < other_node;
}

struct wf_names; /* opaque */
struct wf_name;  /* opaque: one entry, the head of a chain */

/* Those of a node. */
enum { WF_NAMES_SLOT = 2 };
static inline struct wf_names *wf_names_of(const weft_node *node)
{
    return node->slots[WF_NAMES_SLOT];
}

/* `secret`: of its hashes. WEFT_ENOMEM. */
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
/* The same, or else the one who has that global name. */
int wf_names_find_any(struct wf_names *n, weft_text name, weft_pid *out);
/* Somebody who waits for a name: lives where its waiter likes, and is on the table from wf_names_await to
 * wf_names_forget. */
struct wf_name_wait {
    struct wf_list_node on_names;
    weft_pid found; /* nobody: not yet */
    /* With the lock held, from the registering thread, once: `found` is filled in. It must not come back here. */
    void (*wake)(struct wf_name_wait *wait);
    uint32_t hash, size;
    char text[WF_NAME_MAX];
};
/* As wf_names_find_any, but with WEFT_ENOACTOR `wait` (whose `wake` is filled in) is on the table. */
int wf_names_await(struct wf_names *n, weft_text name, struct wf_name_wait *wait, weft_pid *out);
/* Fine when it is not on the table any more. */
void wf_names_forget(struct wf_names *n, struct wf_name_wait *wait);
/* Only looks in `chain`. WEFT_ENOACTOR. */
int wf_names_remove(struct wf_names *n, weft_text name, struct wf_name **chain);
/* Every name of the chain; `*chain` is NULL afterwards. */
void wf_names_remove_all(struct wf_names *n, struct wf_name **chain);
/* Every name of the chain but that one, if it is there. */
void wf_names_remove_others(struct wf_names *n, const char *name, struct wf_name **chain);
/* What the next removals from chains tell of each global name, with tables_lock held. Before others use the table. */
void wf_names_on_removal(struct wf_names *n, void (*gone)(weft_text name, weft_pid pid, void *arg), void *arg);
/* Whether there are global names in the chain, or this one is in it: then tables_lock is to be held for removals. */
bool wf_names_global(const struct wf_name *chain);
bool wf_names_has_global(struct wf_names *n, weft_text name, const struct wf_name *chain);
/* The text of the oldest name in a chain, NUL-terminated; "" if it is empty. By the chain's user. */
const char *wf_names_first(const struct wf_name *chain);
/* The i-th, oldest first; NULL past the last. */
const char *wf_names_at(const struct wf_name *chain, size_t i);

/* ---- Copies of other nodes' ------------------------------------------------------------------------------------ */

/* What a copy does to a global name of this node. */
struct wf_name_clash {
    weft_pid loser;    /* who had it: it is taken, and no more; nobody */
    weft_pid defender; /* who keeps it, with this stamp from now on, which all are to be told; nobody */
    uint64_t stamp;
};
/* The node of `from` has given the name to `pid`. 1; 0: it had it before, another actor perhaps; WEFT_ENOMEM. */
int wf_names_put_copy(struct wf_names *n, struct wf_copies *from, weft_text name, weft_pid pid, uint64_t stamp,
                      int64_t now, struct wf_name_clash *clash);
/* Another node has registered the name with that stamp, whether or not there is a copy of it here. True: a global
 * name of this node gives way, and is no more; `*loser` gets who had it. */
bool wf_names_give_way(struct wf_names *n, weft_text name, uint64_t node, uint64_t stamp, weft_pid *loser);
/* What that node has registered, and how many nodes have registered the name, this one not counted. */
struct wf_name_claim {
    weft_pid pid;
    uint64_t stamp;
    uint8_t doubt; /* the one with less holds */
};
static inline bool wf_claim_wins(const struct wf_name_claim *a, const struct wf_name_claim *b)
{
    return a->doubt != b->doubt ? a->doubt < b->doubt : wf_name_wins(a->stamp, a->pid.node, b->stamp, b->pid.node);
}
bool wf_names_copy_of(struct wf_names *n, weft_text name, uint64_t node, struct wf_name_claim *out);
size_t wf_names_claims(struct wf_names *n, weft_text name);
/* Whether that node had it. */
bool wf_names_take_copy(struct wf_names *n, struct wf_copies *from, weft_text name);
/* Takes out those that are over, one for each of `*work`, which becomes less. */
void wf_names_clear_copies(struct wf_names *n, struct wf_copies *from, uint32_t *work);

size_t wf_names_count(struct wf_names *n); /* of this node */
size_t wf_names_waits(struct wf_names *n); /* how many wait */
/* Calls `see` for entries, copies and all, in no order, with the lock held: it must not come back here. `name` is
 * NUL-terminated; `stamp` 0: of this node only; `holds`: this is the one that a look-up finds. It is a part of them:
 * from `*at`, 0 at first, on, until `see` says false (then the names that share its place follow) or the lock has
 * been held for long enough. `*at` becomes where the next part begins. False: that was the last one. A name that is
 * there all the time is in one part. */
bool wf_names_some(struct wf_names *n, uint64_t *at,
                   bool (*see)(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg), void *arg);

#endif
