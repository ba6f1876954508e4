/* actors/topic_retained.h -- the last message of each topic that a node keeps for whoever subscribes later: a table
 * by topic and, in the order of their publication, a list. One thread at a time; topic_wide.h has the lock. */
#ifndef WF_TOPIC_RETAINED_H
#define WF_TOPIC_RETAINED_H

#include "list.h"
#include "msg.h"

#include <weft/pack.h>

struct wf_retained {
    struct wf_link in_order;  /* wf_retained_table.order */
    struct wf_retained *next; /* wf_retained_table.buckets */
    struct wf_body *body;     /* its topic inside */
    weft_pid from;
    uint32_t tag;
    uint32_t hash;
};

struct wf_retained_table {
    struct wf_list order; /* wf_retained.in_order, the oldest publication first */
    struct wf_retained **buckets;
    uint32_t bucket_count; /* a power of two; 0: none yet */
    uint32_t count, count_max;
    size_t bytes, bytes_max;
    uint64_t last; /* number of the last publication */
};

void wf_retained_init(struct wf_retained_table *t, uint32_t count_max, size_t bytes_max);
void wf_retained_finish(struct wf_retained_table *t);
/* Keeps a reference of `body`, instead of what was kept of its topic, and numbers it. An empty one is numbered and
 * not kept. `*old` gets the body to be dropped, or NULL. WEFT_EFULL, WEFT_ENOMEM: nothing has changed. */
int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, uint32_t tag, weft_pid from,
                    struct wf_body **old);
/* Takes out what is kept of that topic; NULL: nothing. */
struct wf_body *wf_retained_clear(struct wf_retained_table *t, weft_text topic);
/* What is kept of topics that the pattern (checked) means, the oldest first; until `see` returns false. */
void wf_retained_each(const struct wf_retained_table *t, weft_text pattern,
                      bool (*see)(const struct wf_retained *r, void *arg), void *arg);

#endif
