/* actors/inspect/record_merge.h -- the events of all recorders of a node in one order, the newest first. A recorder has
 * the events of its worker in the order of their times, so the newest of all is the newest of one of them. Any thread; the
 * workers may go on recording meanwhile. */
#ifndef WF_RECORD_MERGE_H
#define WF_RECORD_MERGE_H

#include "node.h"

/* The events of one worker that have not been given. */
struct wf_record_rest {
    uint64_t oldest, next; /* the numbers of those that have not been read */
    bool has;
    struct weft_record newest; /* if `has`: read, and not given yet */
};

struct wf_record_merge {
    weft_node *node;
    struct wf_record_rest of[WF_WORKERS_MAX];
};

void wf_record_merge_init(struct wf_record_merge *m, weft_node *node);
/* How many it can give at most: some may be overwritten before they are read. */
size_t wf_record_merge_left(const struct wf_record_merge *m);
/* Gives the newest event that it has not given. False: there is none. */
bool wf_record_merge_next(struct wf_record_merge *m, struct weft_record *out);

#endif
