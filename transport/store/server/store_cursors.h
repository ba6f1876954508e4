/* transport/store/server/store_cursors.h -- the part of the store's actor that gathers advances of cursors into
 * batches. */
#ifndef WF_STORE_CURSORS_H
#define WF_STORE_CURSORS_H

#include <weft/offload.h>

#include "pending_requests.h"
#include "store_shares.h"

struct wf_store_cursors {
    struct wf_store_file *file;
    struct wf_store_shares *shares;      /* they look at the records behind a cursor that was removed */
    struct wf_pending_requests requests; /* to advance */
};

void wf_cursors_init(struct wf_store_cursors *c, struct wf_store_file *file, struct wf_store_shares *shares,
                     struct wf_effort *effort);
/* Takes a request to advance; it is answered when its batch is on disk. */
void wf_cursors_advance(struct wf_store_cursors *c, weft_msg *ask);
/* Starts a job that stores the waiting advances. Returns false if no advance waits. */
bool wf_cursors_start(struct wf_store_cursors *c, weft_job *job);
void wf_cursors_finish(struct wf_store_cursors *c, weft_job job); /* the job has ended */

#endif
