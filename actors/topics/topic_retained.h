/* actors/topics/topic_retained.h -- the last message of each topic, which a node keeps for later subscribers: a hash
 * table by topic and a list in the order in which this node has got the messages. One thread at a time;
 * queue_groups.h has the lock.
 *
 * Design notes.
 * (1) All nodes keep the same message of a topic: the one with the latest stamp, and of equal stamps the one whose
 *     publisher's node has the higher incarnation. So it does not matter in which order, how often and from which
 *     node a node gets messages, and copies that were apart converge.
 * (2) A stamp is the time of the publisher's node, in microseconds, but later than every stamp that node has
 *     believed: so a publication replaces every message that its node has seen, whatever the clocks say (a hybrid
 *     logical clock). Messages are compared by rank. The rank is the stamp, unless the stamp is more than
 *     WF_STAMP_AHEAD ahead of this node's clock. Then the publisher's clock is wrong, or the publisher lies: a live
 *     message gets the rank of a message published WF_STAMP_APART before it came; a message that is not live gets
 *     rank 0, and is kept only if there is no other one. So the next publication of any node replaces it everywhere,
 *     and a node whose clock is wrong still replaces what it or other nodes have published before. Messages of one
 *     node are always in the order of that node's stamps.
 * (3) A cleared topic is kept as an empty message with a stamp, so that a node that does not know of the clearing
 *     cannot bring the old message back. For each node, the last 16,384 cleared topics are kept, or fewer if its
 *     limit of messages is lower.
 * (4) A copy that is newer, but does not fit the bounds, still removes the older message: no message is better than
 *     one that has been replaced.
 * (5) A reader that reads all messages in parts has a mark in the list. The next part begins behind the mark, even if
 *     messages were replaced meanwhile, and costs time only for what is in it.
 * (6) Each message belongs to a source. Messages of this node, and messages that a linked node sends of its own,
 *     belong to that node's source and count for that node's quota only. All other messages are from nodes that are
 *     gone, as far as this node knows: those of links that have ended, and those received from a node other than the
 *     publisher. They share one bound: beyond it, the source that has been gone for the longest time loses messages
 *     first. Each source ends `keep` after its node has gone. Nodes send with a message how long ago that was, so all
 *     nodes forget it at the same time, also nodes started since. If the publisher's node comes back and sends the
 *     message again, it is kept. */
#ifndef WF_TOPIC_RETAINED_H
#define WF_TOPIC_RETAINED_H

#include "hash_table.h"
#include "heap.h"
#include "list.h"
#include "msg.h"
#include "names.h"

#include <weft/pack.h>

struct wf_retained_source;

struct wf_retained {
    struct wf_list_node in_order;  /* wf_retained_table.order */
    struct wf_list_node in_source; /* wf_retained_source.all */
    struct wf_hashed in_table;     /* wf_retained_table.topics */
    struct wf_body *body;          /* contains the topic; empty: cleared. NULL: a mark, which is only in `order` */
    struct wf_retained_source *source;
    uint64_t stamp, rank; /* the publisher's stamp, and the rank here: note (2) */
};
static inline bool wf_retained_is_cleared(const struct wf_retained *r)
{
    return r->body->size == 0;
}

/* Microseconds. Synchronized clocks differ by milliseconds. Kerberos, too, allows five minutes: with more, a clock is
 * wrong. */
#define WF_STAMP_AHEAD (UINT64_C(300) * 1000000)
#define WF_STAMP_APART (UINT64_C(1) * 1000000)

enum wf_retained_kind { WF_RETAINED_KEPT, WF_RETAINED_CLEARED, WF_RETAINED_KINDS };

/* The messages of one node and one kind. Freed when it has no holder and no message. */
struct wf_retained_source {
    struct wf_list all; /* wf_retained.in_source, the oldest first */
    uint32_t count;
    size_t bytes;
    uint64_t node;
    bool reported; /* the messages came from a node other than the publisher */
    bool gone;
    int64_t gone_at;       /* if `gone`: when, on the monotonic clock */
    struct wf_timer until; /* in wf_retained_pool.sources */
    uint32_t holders;
    enum wf_retained_kind kind;
};

/* All messages of one kind, and the bounds: for each node, and for all gone nodes together. */
struct wf_retained_pool {
    uint32_t count_max;
    size_t bytes_max;
    struct wf_retained_source own;       /* not in `sources` */
    struct wf_heap sources;              /* wf_retained_source.until; sources of linked nodes come last */
    struct wf_retained_source *reported; /* the last `reported` source that was made, or NULL */
    uint32_t gone_count;
    size_t gone_bytes;
};

struct wf_retained_table {
    struct wf_list order; /* wf_retained.in_order, sorted by wf_body.retained, and marks */
    struct wf_hash_table topics;
    uint64_t secret; /* the key of its hashes */
    uint32_t count, cleared_count;
    struct wf_retained_pool pool[WF_RETAINED_KINDS];
    int64_t keep;
    uint64_t last;       /* number of the last publication */
    uint64_t last_stamp; /* the highest rank there has been */
};

/* The clocks of this node, in nanoseconds: wall clock and monotonic clock. */
struct wf_retained_now {
    int64_t wall, time;
};

/* A retained message that another node has sent. */
struct wf_retained_copy {
    struct wf_body *body; /* signed by its publisher */
    uint64_t stamp;
    /* the publisher's sources (wf_retained_open), if its own node sent it; NULL, or two NULLs: another node did */
    struct wf_retained_source *const *by;
    bool live;    /* it was published just now, not sent as a copy of older messages */
    int64_t gone; /* if another node sent it: for how long, in ns, the publisher's node has been gone there */
};

/* `count_max`, `bytes_max`: see note (6). `keep`: how long to keep a message after its node has gone; WEFT_FOREVER:
 * until the bound is reached. */
void wf_retained_init(struct wf_retained_table *t, uint64_t secret, uint32_t count_max, size_t bytes_max,
                      int64_t keep);
/* All links must have been closed. */
void wf_retained_finish(struct wf_retained_table *t);
/* A node is linked: makes its sources, one of each kind. WEFT_ENOMEM. Close: the link ends; sets `by` to NULLs, and
 * may be called if they are NULL already. */
int wf_retained_open(struct wf_retained_table *t, uint64_t node, struct wf_retained_source *by[WF_RETAINED_KINDS]);
void wf_retained_close(struct wf_retained_table *t, struct wf_retained_source *by[WF_RETAINED_KINDS], int64_t time);
/* After a close: forgets messages of gone nodes that are over the bound, at most `most`. False: none are left. */
bool wf_retained_trim(struct wf_retained_table *t, uint32_t most);
/* Keeps a reference of `body`, which is signed, instead of the topic's older message, with a stamp of this node, and
 * numbers it: returns 1. An empty body clears the topic. `*old` gets the older body, which the caller drops, or NULL.
 * WEFT_EFULL, WEFT_ENOMEM: nothing has changed. */
int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, const struct wf_retained_now *now,
                    struct wf_body **old);
/* The same for a copy. 0: the kept message is newer, or the time of this one is over; WEFT_EEXIST: the kept message
 * is the same one, or a later one of the same node; WEFT_EFULL: see note (4); WEFT_ENOMEM. */
int wf_retained_put_copy(struct wf_retained_table *t, const struct wf_retained_copy *c,
                         const struct wf_retained_now *now, struct wf_body **old);
static inline bool wf_stamp_is_believed(uint64_t stamp, int64_t wall)
{
    return stamp <= wf_stamp_of(wall) + WF_STAMP_AHEAD;
}
/* Forgets messages whose time is over, at most `most`. Returns when to call it again: a time in the past if more are
 * due. */
int64_t wf_retained_expire(struct wf_retained_table *t, int64_t time, uint32_t most);
/* Removes the message of that topic without noting that it was cleared, and returns it. NULL: there is none. */
struct wf_body *wf_retained_take(struct wf_retained_table *t, weft_text topic);
/* The message kept for that topic, or NULL. */
const struct wf_retained *wf_retained_find(const struct wf_retained_table *t, weft_text topic);
/* Puts a mark, zeroed by the caller, before all messages. Remove it with wf_unlink of its `in_order` before the table
 * ends. */
void wf_retained_mark(struct wf_retained_table *t, struct wf_retained *mark);
/* Calls `see` for the messages behind the mark, cleared or not, in order, until it returns false. */
void wf_retained_after(const struct wf_retained_table *t, const struct wf_retained *mark,
                       bool (*see)(const struct wf_retained *r, void *arg), void *arg);
/* Moves the mark behind all messages with that number or a lower one. */
void wf_retained_pass(const struct wf_retained_table *t, struct wf_retained *mark, uint64_t number);
/* Calls `see` for the messages of topics that match the pattern (checked before), the oldest first, until it returns
 * false. */
void wf_retained_each(const struct wf_retained_table *t, weft_text pattern,
                      bool (*see)(const struct wf_retained *r, void *arg), void *arg);

#endif
