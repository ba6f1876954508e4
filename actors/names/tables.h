/* actors/names/tables.h -- the tables that nodes exchange: the holders of global names, the members of groups, and
 * the queue groups of topics.
 *
 * Design notes.
 * (1) Each node owns its entries; every other node it is linked with keeps a copy of them, which it may only read. A
 *     copy begins empty with its link, gets a snapshot, then each change, and ends with the link. So copies converge
 *     by themselves, and a conflict between two nodes is decided by a rule that depends only on the two entries
 *     (wf_name_wins).
 * (2) weft_node.tables_lock is held from before a change of an own entry until all links have been told of it, and
 *     while a snapshot is taken and sent; so each link gets each change once, in order. Take it before every other
 *     lock. Readers take only the lock of the table (names, groups, topics).
 * (3) A change is sent after everything that the same worker has sent before, and before everything that this node
 *     sends later: a peer knows a name before it gets any message that was sent because of the name. */
#ifndef WF_TABLES_H
#define WF_TABLES_H

#include "copies.h"
#include "node.h"

#include <weft/pack.h>

struct wf_inbound;

/* The position of a walk over the groups: wf_groups_some. */
struct wf_groups_part {
    uint64_t at; /* wf_hash_part */
    bool own;    /* only members of this node */
    bool copies; /* the walk over members of this node is done */
};

/* Queue groups of topics in the tables: what topics/ registers, see queue_groups.h. */
struct wf_queue_tables {
    bool (*some)(weft_node *node, uint64_t *at, bool (*see)(weft_text pattern, weft_text queue, void *arg),
                 void *arg);
    int (*put)(weft_node *node, struct wf_copies *from, weft_text pattern, weft_text queue);
    bool (*take)(weft_node *node, struct wf_copies *from, weft_text pattern, weft_text queue);
    void (*clear)(weft_node *node, struct wf_copies *from, uint32_t *work);
};

enum { WF_TABLE_ENTRIES_MAX = 1 << 20 }; /* the entries of one node, in all tables */

/* These values are sent to other nodes: append only. */
enum wf_table { WF_TABLE_NAMES = 1, WF_TABLE_GROUPS = 2, WF_TABLE_QUEUES = 3 };
enum wf_table_op {
    WF_TABLE_NONE = 0,
    WF_TABLE_SET = 1,
    WF_TABLE_UNSET = 2,
    WF_TABLE_BEGIN = 3,
    WF_TABLE_TAKEN = 4 /* in NAMES: a node that is not linked with the receiver has the name */
};

/* One entry, or a change of it. */
struct wf_entry {
    enum wf_table table;
    weft_text key;   /* the name, the group, the pattern of a queue group */
    weft_text queue; /* QUEUES: the queue */
    uint64_t actor;  /* the name's actor or the group's member; unused in QUEUES */
    uint64_t stamp;  /* NAMES, SET and TAKEN: when it was registered */
    uint64_t node;   /* NAMES, TAKEN: the node that has the name */
    bool ended;      /* GROUPS, UNSET: the member has ended, with `reason` */
    int reason;
};

/* ---- Own entries, by this layer -------------------------------------------------------------------------------- */

/* Begin and end of a change, and of a snapshot. */
static inline void wf_tables_begin(weft_node *node)
{
    pf_mutex_lock(node->tables_lock);
}
static inline void wf_tables_end(weft_node *node)
{
    pf_mutex_unlock(node->tables_lock);
}
/* Between begin and end: the monotonic time, the next stamp, and whether one more entry may be added (WEFT_EFULL if
 * not). */
int64_t wf_tables_now(weft_node *node);
uint64_t wf_tables_stamp(weft_node *node);
int wf_tables_check_space(weft_node *node);
/* Between begin and end, on any thread: sends a change to all links. Entries that are set are counted. */
void wf_tables_tell(weft_node *node, enum wf_table_op op, const struct wf_entry *e);

/* ---- For transport, with tables_lock held ---------------------------------------------------------------------- */

/* The position of a walk over all entries of this node, in parts, between which entries may change. Zero it first. */
struct wf_tables_part {
    enum wf_tables_next { WF_PART_NAMES, WF_PART_GROUPS, WF_PART_QUEUES, WF_PART_NONE } next;
    uint64_t names, queues;
    struct wf_groups_part groups;
};
/* Calls `see` for the next part of the entries. `see` must not call functions of tables. `part->next` is WF_PART_NONE
 * after the last part. An entry that exists all the time is seen, perhaps twice. */
void wf_tables_some(weft_node *node, struct wf_tables_part *part, void (*see)(const struct wf_entry *e, void *arg),
                    void *arg);
/* Applies a change of an entry of the node of `from`. `*more` becomes 1, 0 or -1, the change of the number of its
 * entries. WEFT_ENOMEM: nothing has changed. Notifications for actors are sent through `in`, after the messages that
 * it holds already. */
int wf_tables_apply(weft_node *node, struct wf_inbound *in, struct wf_copies *from, enum wf_table_op op,
                    const struct wf_entry *e, int *more);
/* Removes some outdated copies: about `work`, or fewer if actors have to be notified. False: those were the last
 * ones. */
#define WF_TABLES_AT_ONCE WF_LIMIT("tables: entries cleared in a turn", 1024, 1)
bool wf_tables_clear(weft_node *node, struct wf_copies *from, uint32_t work);

#endif
