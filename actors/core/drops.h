/* actors/core/drops.h -- the last messages that were dropped on a worker. */
#ifndef WF_DROPS_H
#define WF_DROPS_H

#include "msg.h"

#include <weft/node.h>

struct wf_actor;

enum { WF_DROPS_KEPT = 32 };
struct wf_dropped {
    int64_t at;
    weft_pid from;
    uint64_t to;  /* an actor of this node; 0: no longer known */
    uint32_t tag; /* the tag of the message or publication */
    enum wf_drop why;
    const char *kind; /* the receiver's kind; NULL: not known */
    char name[65];    /* the first registered name of a receiver that was ending or had ended; else "" */
};
/* The actor of a worker that was the last one to give up its names at its end. */
struct wf_left {
    uint64_t actor;
    char name[65]; /* the first of them */
};
struct wf_drop_log {
    uint64_t count; /* the number of all messages ever noted here */
    struct wf_dropped last[WF_DROPS_KEPT];
};

/* As wf_count_drop, and notes the sender and receiver of the message. */
void wf_note_drop(struct wf_worker *w, enum wf_drop why, uint64_t to, weft_pid from, uint32_t tag);
/* Called before an ending actor gives up its names: messages to it that are dropped from then on can be shown with
 * its name. */
void wf_note_left(const struct wf_actor *a);
/* The sums over all workers. Any thread; approximate while workers run. */
void wf_node_drops(const weft_node *node, uint64_t out[WF_DROP_REASONS]);

#endif
