/* actors/topics/topic_retained.h -- the last message of each topic that a node keeps for later subscribers: a table
 * by topic and, in the order in which this node has heard of them, a list. One thread at a time; queue_groups.h has
 * the lock.
 *
 * Design notes.
 * (1) All nodes keep the same: of two messages of a topic the one with the later stamp, or if these are equal that of
 *     the node with the higher incarnation. So it does not matter in which order, how often and from whom a node
 *     hears of them, and copies that were apart converge.
 * (2) A stamp is the time of the publisher's node, in microseconds, but later than every stamp it has believed: who
 *     has seen a message replaces it, whatever the clocks say (a hybrid logical clock). What counts here is the rank.
 *     It is the stamp, unless that is more than WF_STAMP_AHEAD ahead of this node's clock. Then the publisher's clock
 *     is broken, or it lies: what it publishes now counts as published WF_STAMP_APART before it came; what is told
 *     later has rank 0, and holds only where there is nothing else. So the next publication of any node replaces it
 *     everywhere, and a node whose clock is broken still replaces what was published before, by itself or by others.
 *     Messages of one node are always in the order of that node's stamps.
 * (3) That a topic was cleared is remembered as an empty message with a stamp, so that no node that has not heard of
 *     it brings the old message back. The last 16,384 of each node are remembered, or as many as it may keep
 *     messages.
 * (4) A copy that is newer but too much for the bounds takes the place of the older one as if it were cleared: no
 *     message is better than one that has been replaced.
 * (5) Who reads all in parts has a mark in the list: the next part begins behind it, whatever has been replaced
 *     meanwhile, and costs what it has.
 * (6) Each message belongs to a source. What this node has published, and what a linked node says of its own,
 *     belongs to that node, and counts for its quota and no other's. All the rest is of nodes that are gone, as
 *     far as this one knows: that of links that have ended, and what others than the publisher tell. It has one
 *     bound together, at which the source that has been gone for longest gives way, and each source ends `keep`
 *     after its node has gone. How long that is ago nodes tell each other with the message, so all forget it at
 *     the same time, also those that have started since. Whose node comes back, and says it again, keeps it. */
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
    struct wf_body *body;          /* its topic inside; empty: cleared. NULL: a mark, which is in `order` alone */
    struct wf_retained_source *source;
    uint64_t stamp, rank; /* as its publisher says, and what counts here: note (2) */
};
static inline bool wf_retained_is_cleared(const struct wf_retained *r)
{
    return r->body->size == 0;
}

/* Microseconds. Clocks that a time service sets differ by milliseconds. Five minutes are what Kerberos allows, too:
 * more is no difference of clocks. */
#define WF_STAMP_AHEAD (UINT64_C(300) * 1000000)
#define WF_STAMP_APART (UINT64_C(1) * 1000000)

enum wf_retained_kind { WF_RETAINED_KEPT, WF_RETAINED_CLEARED, WF_RETAINED_KINDS };

/* Of one node and one kind. Freed when nobody holds it and it has no message. */
struct wf_retained_source {
    struct wf_list all; /* wf_retained.in_source, the oldest first */
    uint32_t count;
    size_t bytes;
    uint64_t node;
    bool reported; /* by another than the node */
    bool gone;
    int64_t gone_at;       /* if it is, on the monotonic clock */
    struct wf_timer until; /* in wf_retained_pool.sources */
    uint32_t holders;
    enum wf_retained_kind kind;
};

/* All of one kind, and its bounds: of each node, and of all that are gone together. */
struct wf_retained_pool {
    uint32_t count_max;
    size_t bytes_max;
    struct wf_retained_source own;       /* not in `sources` */
    struct wf_heap sources;              /* wf_retained_source.until; those of linked nodes come last */
    struct wf_retained_source *reported; /* the last one that was made for what somebody else has told; NULL */
    uint32_t gone_count;
    size_t gone_bytes;
};

struct wf_retained_table {
    struct wf_list order; /* wf_retained.in_order, by wf_body.retained, and marks */
    struct wf_hash_table topics;
    uint64_t secret; /* of its hashes */
    uint32_t count, cleared_count;
    struct wf_retained_pool pool[WF_RETAINED_KINDS];
    int64_t keep;
    uint64_t last;       /* number of the last publication */
    uint64_t last_stamp; /* the highest rank there has been */
};

/* The clocks of this node, in nanoseconds: that of the wall, and the monotonic one. */
struct wf_retained_now {
    int64_t wall, time;
};

/* What another node says is retained. */
struct wf_retained_copy {
    struct wf_body *body; /* signed by its publisher */
    uint64_t stamp;
    /* the publisher's, if it says so itself: wf_retained_open; NULL, or two NULLs: somebody else does */
    struct wf_retained_source *const *by;
    bool live;    /* it is published now */
    int64_t gone; /* if somebody else does: for so long, ns, the publisher's node has been gone there */
};

/* `count_max`, `bytes_max`: see note (6); `keep`: how long after its node has gone, WEFT_FOREVER: until it has to
 * give way. */
void wf_retained_init(struct wf_retained_table *t, uint64_t secret, uint32_t count_max, size_t bytes_max,
                      int64_t keep);
/* All links have been closed. */
void wf_retained_finish(struct wf_retained_table *t);
/* A node is linked: its sources, one of each kind. WEFT_ENOMEM. And is no more: `by` becomes NULLs; fine if it is. */
int wf_retained_open(struct wf_retained_table *t, uint64_t node, struct wf_retained_source *by[WF_RETAINED_KINDS]);
void wf_retained_close(struct wf_retained_table *t, struct wf_retained_source *by[WF_RETAINED_KINDS], int64_t time);
/* After that: forgets what is too much of nodes that are gone, at most `most` messages. False: nothing more is. */
bool wf_retained_trim(struct wf_retained_table *t, uint32_t most);
/* Keeps a reference of `body`, which is signed, instead of what was kept of its topic, with a stamp of this node, and
 * numbers it: 1. An empty one clears. `*old` gets the body to be dropped, or NULL. WEFT_EFULL, WEFT_ENOMEM: nothing
 * has changed. */
int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, const struct wf_retained_now *now,
                    struct wf_body **old);
/* The same of a copy. 0: what is kept is newer, or this one's time is over; WEFT_EEXIST: it is the same one, or a
 * later one of the same node; WEFT_EFULL, WEFT_ENOMEM: see note (4). */
int wf_retained_put_copy(struct wf_retained_table *t, const struct wf_retained_copy *c,
                         const struct wf_retained_now *now, struct wf_body **old);
static inline bool wf_stamp_is_believed(uint64_t stamp, int64_t wall)
{
    return stamp <= wf_stamp_of(wall) + WF_STAMP_AHEAD;
}
/* Forgets what is due, at most `most` messages; returns when to come again, a time that has passed if there is
 * more. */
int64_t wf_retained_expire(struct wf_retained_table *t, int64_t time, uint32_t most);
/* Takes out what is kept of that topic, without a trace; NULL: nothing. */
struct wf_body *wf_retained_take(struct wf_retained_table *t, weft_text topic);
/* What is kept of that topic; NULL: nothing. */
const struct wf_retained *wf_retained_find(const struct wf_retained_table *t, weft_text topic);
/* A mark, zero, before all there is. It ends by wf_unlink of its `in_order`, before the table does. */
void wf_retained_mark(struct wf_retained_table *t, struct wf_retained *mark);
/* What is behind the mark, cleared or not, in order; until `see` returns false. */
void wf_retained_after(const struct wf_retained_table *t, const struct wf_retained *mark,
                       bool (*see)(const struct wf_retained *r, void *arg), void *arg);
/* The mark goes behind what has that number, or a lower one. */
void wf_retained_pass(const struct wf_retained_table *t, struct wf_retained *mark, uint64_t number);
/* What is kept of topics that the pattern (checked) means, the oldest first; until `see` returns false. */
void wf_retained_each(const struct wf_retained_table *t, weft_text pattern,
                      bool (*see)(const struct wf_retained *r, void *arg), void *arg);

#endif
