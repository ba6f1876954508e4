/* actors/names/group_table.h -- what the files of groups share: group_table.c (the tables), group.c (joining,
 * leaving, watching), group_news.c, group_send.c (members, sending) and group_copy.c (members on other nodes).
 *
 * Design notes.
 * (1) Who is in which group is found by the group and the pid, in a table of all members of this node, in one of all
 *     members on other nodes, and in one of all watchers: so a change costs the same however many members a group
 *     has and however many groups an actor is in. A group's own lists are in the order of joining, for senders. */
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

/* Of the members of a moment, for senders: pids of this node, then nodes. */
struct wf_group_list {
    _Atomic uint32_t
        refs; /* the group's and senders'; acq_rel on the way down: the last one frees what others read */
    uint32_t count, node_count;
    struct wf_group_node *nodes; /* behind `pids` */
    weft_pid pids[];
};

struct wf_group {
    struct wf_hashed in_table;        /* wf_groups.table */
    struct wf_list members, watchers; /* wf_group_member.in_group, of this node */
    struct wf_list copies;            /* the same: members on other nodes, as they were heard of */
    struct wf_group_node *nodes;      /* of the copies */
    struct wf_group_list *list;       /* NULL: not made since the last change */
    uint32_t member_count, watcher_count, copy_count, node_count;
    uint32_t size;
    char name[]; /* and a NUL */
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
    struct wf_group_member member; /* first: wf_group_end lies where it did */
    struct wf_list_node in_copies; /* wf_copies.groups */
};

/* A membership or a watch of an actor of this node. */
struct wf_group_tie {
    struct wf_group_member member; /* first: wf_group_end lies where it did */
    struct wf_list_node on_actor;  /* wf_actor_more.groups; its actor's thread */
    uint64_t watch;                /* its number; 0: a membership */
};
static inline struct wf_group_tie *wf_group_tie_of(struct wf_group_member *m)
{
    return WF_CONTAINER(m, struct wf_group_tie, member);
}

/* A watch: its number is its place in the slab of its worker. */
struct wf_group_watch {
    struct wf_slot slot;
    struct wf_group_tie tie;
};

/* Of a member that is gone, and nobody could be told for want of memory. It lies where its tie or copy did. */
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
    uint64_t secret;                               /* of its hashes */
    struct wf_hash_table table;                    /* of groups, by name */
    struct wf_hash_table members, copies, watches; /* by group and pid */
    struct wf_group_end *ends;                     /* in the order they have to be told */
    bool trying;                                   /* `again` or `timer` is on its way, on worker 0 */
    struct wf_call again;
    struct wf_timer timer;
    weft_node *node; /* once there have been ends */
};

static inline struct wf_groups *wf_groups_here(const struct wf_actor *self)
{
    return wf_groups_of(wf_node_of(self->task.worker));
}
static inline bool wf_group_is(const struct wf_group *g, weft_text name)
{
    return g->size == name.size && memcmp(g->name, name.data, name.size) == 0;
}

/* ---- group_table.c, under the lock ----------------------------------------------------------------------------- */
struct wf_group *wf_group_find(const struct wf_groups *all, weft_text name);
struct wf_group *wf_group_find_or_make(struct wf_groups *all, weft_text name); /* NULL: no memory */
void wf_group_free_if_empty(struct wf_groups *all, struct wf_group *g);
/* In `p`, one of the three tables of members. NULL: that actor is not in it. */
struct wf_group_member *wf_group_place_find(const struct wf_groups *all, const struct wf_hash_table *p,
                                            const struct wf_group *g, weft_pid who);
/* By its group and pid. False: no memory. */
bool wf_group_place_add(const struct wf_groups *all, struct wf_hash_table *p, struct wf_group_member *m);

/* ---- group.c --------------------------------------------------------------------------------------------------- */
int wf_group_check(const struct wf_actor *self, const char *group);

/* ---- group_news.c: under the lock, too ------------------------------------------------------------------------- */
/* Who makes and posts news: worker `w`, or who has the receiving side `in`, for then `w` may be NULL. */
struct wf_group_voice {
    weft_node *node;
    struct wf_worker *w;
    struct wf_inbound *in;
};
static inline struct wf_group_voice wf_group_voice_of(const struct wf_actor *a)
{
    return (struct wf_group_voice){wf_node_of(a->task.worker), a->task.worker, NULL};
}
/* Messages that are made but not sent: by post.next. */
void wf_group_news_free(struct wf_worker *w, weft_msg *first);
/* News of one member for each watcher, in the order of the watchers; `*made` says how many there was memory for. */
weft_msg *wf_group_news_of(const struct wf_group_voice *v, const struct wf_group *g, uint32_t tag, weft_pid who,
                           bool ended, int reason, uint32_t *made);
/* `first` was made of the group's watchers of this moment, in their order. Some may be missing. */
void wf_group_news_send(const struct wf_group_voice *v, const struct wf_group *g, weft_msg *first);
/* A member is gone, which cannot be undone: watchers are told now, or when there is memory. `block` is what `malloc`
 * gave for its tie or copy; consumed. */
void wf_group_end_tell(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group *g, weft_pid who,
                       bool ended, int reason, void *block);
/* Tries to tell what could not be told. True: nothing is left, so news of now are in order. */
bool wf_group_ends_told(struct wf_groups *all, const struct wf_group_voice *v);
/* Its last watcher is gone. */
void wf_group_ends_forget(struct wf_groups *all, const struct wf_group *g);
/* Who is there, for a new watch, in the order they joined. NULL with `*failed`: no memory. */
weft_msg *wf_group_news_of_members(struct wf_worker *w, const struct wf_group *g, const struct wf_group_tie *watch,
                                   bool *failed);

/* ---- group_send.c ---------------------------------------------------------------------------------------------- */
void wf_group_list_drop(struct wf_group_list *list); /* NULL is fine */
/* Under the lock: the members have changed. */
static inline void wf_group_changed(struct wf_group *g)
{
    wf_group_list_drop(g->list);
    g->list = NULL;
}

#endif
