/* actors/names/group_table.h -- the groups that one node knows, see include/weft/group.h: its own members, and copies
 * of those of other nodes. There is one lock, held during a change and the posting of its notifications.
 *
 * Design notes.
 * (1) A membership or watch is found by group and pid: in one hash table of all members of this node, one of all
 *     members on other nodes, and one of all watchers. So a change costs the same however many members a group has
 *     and however many groups an actor is in. A group's own lists are in the order of joining, for senders. */
#ifndef WF_GROUP_TABLE_H
#define WF_GROUP_TABLE_H

#include "actor.h"
#include "tables.h"

#include <weft/group.h>

/* How many members a group has on another node. */
struct wf_group_node {
    struct wf_group_node *next;
    uint64_t node;
    uint32_t count;
};

/* The members at some time, for senders: pids of this node, then other nodes. */
struct wf_group_list {
    _Atomic uint32_t refs; /* references of the group and of senders; decremented acq_rel: the last one frees it */
    uint32_t count, node_count;
    struct wf_group_node *nodes; /* behind `pids` */
    weft_pid pids[];
};

struct wf_group {
    struct wf_hashed in_table;        /* wf_groups.table */
    struct wf_list members, watchers; /* wf_group_member.in_group, of this node */
    struct wf_list copies;            /* wf_group_member.in_group: members on other nodes, by arrival */
    struct wf_group_node *nodes;      /* the nodes of the copies */
    struct wf_group_list *list;       /* NULL: not made since the last change */
    uint32_t member_count, watcher_count, copy_count, node_count;
    uint32_t size;
    char name[]; /* ends with a NUL */
};

/* An actor in a group, or watching it. */
struct wf_group_member {
    struct wf_hashed in_table; /* wf_groups.members, copies or watches; of a copy the mark is its round: copies.h */
    struct wf_list_node in_group; /* wf_group.members, copies or watchers */
    struct wf_group *group;
    weft_pid who;
};

/* A member on another node. */
struct wf_group_copy {
    struct wf_group_member member; /* first: a wf_group_end may take its place */
    struct wf_list_node in_copies; /* wf_copies.groups */
};

/* A membership or a watch of an actor of this node. */
struct wf_group_tie {
    struct wf_group_member member; /* first: a wf_group_end may take its place */
    struct wf_list_node on_actor;  /* wf_actor_more.groups; its actor's thread */
    uint64_t watch;                /* its number; 0: a membership */
};
static inline struct wf_group_tie *wf_group_tie_of(struct wf_group_member *m)
{
    return WF_CONTAINER(m, struct wf_group_tie, member);
}

/* A watch. Its number is its id in the slab of its worker. */
struct wf_group_watch {
    struct wf_slot slot;
    struct wf_group_tie tie;
};

/* A member that is gone, while there was no memory to notify watchers. It is in the memory of the member's tie or
 * copy. */
struct wf_group_end {
    struct wf_group_end *next;
    struct wf_group *group;
    weft_pid who;
    int reason;
    bool ended;
};
_Static_assert(sizeof(struct wf_group_end) <= sizeof(struct wf_group_member), "it needs no memory of its own");
_Static_assert(sizeof(struct wf_group_tie) <= 80, "docs/names-and-groups.md states the size of a membership");
_Static_assert(sizeof(struct wf_group_watch) <= 88, "and of a watch");
_Static_assert(sizeof(struct wf_group_copy) <= 72, "and of a copy of a membership");
_Static_assert(sizeof(struct wf_group) <= 104, "and of a group");

struct wf_groups {
    pf_mutex *lock;                                /* after the node's tables_lock */
    uint64_t secret;                               /* the key of its hashes */
    struct wf_hash_table table;                    /* the groups, by name */
    struct wf_hash_table members, copies, watches; /* keyed by group and pid */
    struct wf_group_end *ends;                     /* in the order of their notifications */
    bool trying;                                   /* `again` is posted or `timer` is armed, on wf_workers_own() */
    struct wf_call again;
    struct wf_timer timer;
    weft_node *node; /* set with the first of `ends` */
};

/* The groups of a node. */
enum { WF_GROUPS_SLOT = 3 };
static inline struct wf_groups *wf_groups_of(const weft_node *node)
{
    return node->slots[WF_GROUPS_SLOT];
}

static inline struct wf_groups *wf_groups_here(const struct wf_actor *self)
{
    return wf_groups_of(wf_node_of(self->task.worker));
}
static inline bool wf_group_is(const struct wf_group *g, weft_text name)
{
    return g->size == name.size && memcmp(g->name, name.data, name.size) == 0;
}

/* ---- Any thread ------------------------------------------------------------------------------------------------ */
/* `secret`: the key of its hashes. WEFT_ENOMEM. */
int wf_groups_create(struct wf_groups **out, uint64_t secret);
void wf_groups_destroy(struct wf_groups *g); /* NULL is fine */
/* Calls `see` for a part of all members, first of this node and then of others: until it has held the lock for long
 * enough, or, after `see` has returned false, to the end of a hash bucket. `see` must not call functions of groups.
 * Zero `part` at first. False: that was the last part. An actor that is a member all the time is seen once. Members
 * of one group may be spread over many parts. */
bool wf_groups_some(struct wf_groups *g, struct wf_groups_part *part,
                    bool (*see)(weft_text group, weft_pid who, void *arg), void *arg);

/* ---- Under the lock -------------------------------------------------------------------------------------------- */
struct wf_group *wf_group_find(const struct wf_groups *all, weft_text name);
struct wf_group *wf_group_find_or_make(struct wf_groups *all, weft_text name); /* NULL: no memory */
void wf_group_free_if_empty(struct wf_groups *all, struct wf_group *g);
/* Finds the actor `who` in `p`, one of the three tables of members. NULL: it is not there. */
struct wf_group_member *wf_group_place_find(const struct wf_groups *all, const struct wf_hash_table *p,
                                            const struct wf_group *g, weft_pid who);
/* Adds `m` to `p`, by its group and pid. False: no memory. */
bool wf_group_place_add(const struct wf_groups *all, struct wf_hash_table *p, struct wf_group_member *m);

int wf_group_check(const struct wf_actor *self, const char *group);

void wf_group_list_drop(struct wf_group_list *list); /* NULL is fine */
/* Under the lock: the members have changed. */
static inline void wf_group_changed(struct wf_group *g)
{
    wf_group_list_drop(g->list);
    g->list = NULL;
}

#endif
