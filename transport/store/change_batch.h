/* transport/store/change_batch.h -- changes of queues that are stored together: one commit, one sync. */
#ifndef WF_CHANGE_BATCH_H
#define WF_CHANGE_BATCH_H

#include "store_file.h"

/* A batch owns copies of everything, as it is stored on another thread, also after its actor has ended. */
struct wf_change_batch {
    struct wf_store_file *file;
    struct wf_store_change *item;
    size_t count, count_max;
    char *bytes;
    size_t size, size_max;
    int rc;
};

/* A batch for so many changes with so many bytes of names, keys, their NULs and bodies in all. NULL: no memory. */
struct wf_change_batch *wf_change_batch_new(struct wf_store_file *file, size_t count, size_t bytes);
void wf_change_batch_free(struct wf_change_batch *b);
void wf_change_batch_add(struct wf_change_batch *b, const struct wf_store_change *x);
/* For weft_offload_start: the block is a pointer to the batch. */
void wf_change_batch_run(void *block);
void wf_change_batch_drop(void *block);

#endif
