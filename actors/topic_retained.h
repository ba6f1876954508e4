/* actors/topic_retained.h -- the last message of each topic that a node keeps for whoever subscribes later: a table
 * by topic and, in the order in which this node has heard of them, a list. One thread at a time; topic_wide.h has the
 * lock.
 *
 * Design notes.
 * (1) All nodes keep the same: of two messages of a topic the one with the later stamp, or if these are equal that of
 *     the node with the higher incarnation. So it does not matter in which order, how often and from whom a node
 *     hears of them, and copies that were apart converge.
 * (2) A stamp is the time of the publisher's node, in microseconds, but later than every stamp it has seen: who has
 *     seen a message replaces it, whatever the clocks say (a hybrid logical clock).
 * (3) That a topic was cleared is remembered as an empty message with a stamp, so that no node that has not heard of
 *     it brings the old message back. The last 16,384 are remembered, or as many as messages may be kept.
 * (4) A copy that is newer but too much for the bounds takes the place of the older one as if it were cleared: no
 *     message is better than one that has been replaced.
 * (5) Who reads all in parts has a mark in the list: the next part begins behind it, whatever has been replaced
 *     meanwhile, and costs what it has. */
#ifndef WF_TOPIC_RETAINED_H
#define WF_TOPIC_RETAINED_H

#include "list.h"
#include "msg.h"

#include <weft/pack.h>

struct wf_retained {
    struct wf_link in_order;   /* wf_retained_table.order */
    struct wf_link in_cleared; /* wf_retained_table.cleared */
    struct wf_retained *next;  /* wf_retained_table.buckets */
    struct wf_body *body;      /* its topic inside; empty: cleared. NULL: a mark, which is in the list alone */
    uint64_t stamp;
    uint32_t hash;
};
static inline bool wf_retained_is_cleared(const struct wf_retained *r)
{
    return r->body->size == 0;
}

struct wf_retained_table {
    struct wf_list order;   /* wf_retained.in_order, by wf_body.retained, and marks */
    struct wf_list cleared; /* wf_retained.in_cleared, the same */
    struct wf_retained **buckets;
    uint32_t bucket_count; /* a power of two; 0: none yet */
    uint32_t count, count_max;
    uint32_t cleared_count; /* not in `count` nor `bytes` */
    size_t bytes, bytes_max;
    uint64_t last; /* number of the last publication */
    uint64_t last_stamp;
};

void wf_retained_init(struct wf_retained_table *t, uint32_t count_max, size_t bytes_max);
void wf_retained_finish(struct wf_retained_table *t);
/* A stamp for a message of this node, whose clock says `now`. */
uint64_t wf_retained_stamp(struct wf_retained_table *t, int64_t now);
/* Keeps a reference of `body`, which is signed, instead of what was kept of its topic, and numbers it: 1; 0: what is
 * kept is newer. An empty one clears. `*old` gets the body to be dropped, or NULL. WEFT_EFULL, WEFT_ENOMEM: nothing
 * has changed, but see note (4): `copy`. Of a copy also WEFT_EEXIST: what is kept is the same one, or a later one of
 * the same node. */
int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, uint64_t stamp, bool copy,
                    struct wf_body **old);
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
