/* actors/core/drops.h -- the last messages that were dropped on a worker. */
#ifndef WF_DROPS_H
#define WF_DROPS_H

#include "msg.h"

#include <weft/node.h>

struct wf_actor;

/* The last messages that were dropped on a worker. */
enum { WF_DROPS_KEPT = 32 };
struct wf_dropped {
    int64_t at;
    weft_pid from;
    uint64_t to;  /* an actor of this node; 0: no longer known */
    uint32_t tag; /* of a publication, its own */
    enum wf_drop why;
    const char *kind; /* of the receiver; NULL: not known */
    char name[65];    /* of a receiver that was ending, or had: its first registered name; else "" */
};
/* The last actor of a worker that gave its names back at its end. */
struct wf_left {
    uint64_t actor;
    char name[65]; /* the first of them */
};
struct wf_drop_log {
    uint64_t count; /* of those that were ever put here */
    struct wf_dropped last[WF_DROPS_KEPT];
};

/* wf_count_drop, and notes whose message it was. */
void wf_note_drop(struct wf_worker *w, enum wf_drop why, uint64_t to, weft_pid from, uint32_t tag);
/* Its names, if it has any, are about to be given back: what is dropped from then on for want of it can be told
 * by name. */
void wf_note_left(const struct wf_actor *a);
/* Of all workers together; any thread, approximate while they run. */
void wf_node_drops(const weft_node *node, uint64_t out[WF_DROP_REASONS]);

#endif
