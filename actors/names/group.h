/* actors/names/group.h -- the groups that one node knows, see include/weft/group.h: its own members, and copies of
 * those of other nodes. Any thread; one lock, held for the length of a change and its news. */
#ifndef WF_GROUP_H
#define WF_GROUP_H

#include "node.h"

#include <weft/pack.h>
#include <weft/pid.h>

struct wf_groups; /* opaque */
struct wf_copies;
struct wf_inbound;
struct wf_body;

/* Those of a node. */
enum { WF_GROUPS_SLOT = 3 };
static inline struct wf_groups *wf_groups_of(const weft_node *node)
{
    return node->slots[WF_GROUPS_SLOT];
}

/* `secret`: of its hashes. WEFT_ENOMEM. */
int wf_groups_create(struct wf_groups **out, uint64_t secret);
void wf_groups_destroy(struct wf_groups *g); /* NULL is fine */
size_t wf_groups_count(struct wf_groups *g); /* that have members here or watchers */
/* Calls `see` for each member of a part of the groups, of this node and then of others, until the lock has been held
 * for long enough or `see` has said false; then perhaps for some more. It must not come back here. Zero `part` at
 * first. False: that was the last part. Who is a member all the time is seen once. Members of one group may be in
 * many parts, between those of others. */
struct wf_groups_part {
    uint64_t at; /* wf_hash_part */
    bool own;    /* only members of this node */
    bool copies; /* those of this node have been seen */
};
bool wf_groups_some(struct wf_groups *g, struct wf_groups_part *part,
                    bool (*see)(weft_text group, weft_pid who, void *arg), void *arg);

/* ---- Copies: group_copy.c, with tables_lock held --------------------------------------------------------------- */
/* That actor of the node of `from` has joined. 1; 0: it was a member; WEFT_ENOMEM. News go by `in`, like all that
 * follow. */
int wf_groups_put_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                       uint64_t actor);
/* It has left, or ended. Whether it was a member. */
bool wf_groups_take_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                         uint64_t actor, bool ended, int reason);
/* Takes out those that are over, as if their node were lost: one, and news of it, for each of `*work`, which becomes
 * less. */
void wf_groups_clear_copies(weft_node *node, struct wf_inbound *in, struct wf_copies *from, uint32_t *work);
/* A message to a group has come from another node, for the members here; consumes one reference of `body`. */
void wf_groups_arrived(weft_node *node, struct wf_inbound *in, weft_text group, uint32_t tag, weft_pid from,
                       struct wf_body *body);

#endif
