/* transport/store/server/append_batch.h -- publications that are stored together, with one commit and one sync. */
#ifndef WF_APPEND_BATCH_H
#define WF_APPEND_BATCH_H

#include <weft/message.h>

#include "batch_bytes.h"
#include "store_file.h"

struct wf_append_batch {
    struct wf_store_file *file;
    struct wf_store_append *item;
    struct wf_store_limits *limits; /* the limits of each item */
    size_t count, count_max;
    struct wf_batch_bytes bytes;
};

/* A batch with space for `count` items, and for their topics, with their NULs, and bodies. NULL: no memory. */
struct wf_append_batch *wf_append_batch_new(struct wf_store_file *file, size_t count, size_t bytes);
void wf_append_batch_free(struct wf_append_batch *b);
void wf_append_batch_add(struct wf_append_batch *b, const char *topic, uint32_t tag, const void *data, size_t size,
                         const struct wf_store_limits *limits);
/* The function for weft_offload_start: the block is a pointer to the batch. */
void wf_append_batch_run(void *block);
void wf_append_batch_drop(void *block);

#endif
