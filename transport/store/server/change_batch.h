/* transport/store/server/change_batch.h -- changes of queues that are stored together, with one commit and one sync. */
#ifndef WF_CHANGE_BATCH_H
#define WF_CHANGE_BATCH_H

#include "batch_bytes.h"
#include "store_file.h"

struct wf_change_batch {
    struct wf_store_file *file;
    struct wf_store_change *item;
    size_t count, count_max;
    struct wf_batch_bytes bytes;
    int rc;
};

/* A batch with space for `count` changes, and for their names and keys, with their NULs, and bodies. NULL: no memory. */
struct wf_change_batch *wf_change_batch_new(struct wf_store_file *file, size_t count, size_t bytes);
void wf_change_batch_free(struct wf_change_batch *b);
void wf_change_batch_add(struct wf_change_batch *b, const struct wf_store_change *x);
/* The function for weft_offload_start: the block is a pointer to the batch. */
void wf_change_batch_run(void *block);
void wf_change_batch_drop(void *block);

#endif
