/* actors/core/remains.h -- large messages that were in the mailbox of an actor when it ended. Their memory is given
 * back in parts, one in each turn of the worker: the system takes the pages of a large block back one by one, and a
 * mailbox may hold a GiB of them. */
#ifndef WF_REMAINS_H
#define WF_REMAINS_H

#include "msg.h"
#include "post.h"

/* Of a worker. It is a part of the node, because `again` may be in the worker's inbox when its actors have gone. */
struct wf_remains {
    weft_msg *first;      /* to be freed; linked by post.next */
    struct wf_call again; /* posted while there are any */
};

/* Whether `m`, which nobody gets any more, may wait for a later turn. */
bool wf_remains_may_take(const struct wf_worker *w, const weft_msg *m);
void wf_remains_take(struct wf_worker *w, weft_msg *m);
/* The worker ends: frees all. */
void wf_remains_finish(struct wf_worker *w);

#endif
