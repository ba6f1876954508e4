/* transport/store/server/store_batch.h -- what is stored together, with one commit and one sync. A batch owns copies of
 * all its data, because another thread stores it, perhaps after its actor has ended. */
#ifndef WF_STORE_BATCH_H
#define WF_STORE_BATCH_H

#include <weft/offload.h>

#include "store_file.h"

struct wf_store_batch {
    struct wf_store_file *file;
    void *item; /* an array of what the engine is given */
    size_t count, count_max;
    char *bytes; /* copies of texts and data */
    size_t size, size_max;
    int rc;                                      /* the engine's result */
    void (*free_items)(struct wf_store_batch *); /* NULL: the engine adds nothing that is to be freed */
};

/* A batch with space for `count` items of `item_size` bytes, and for `bytes` bytes of texts, with their NULs, and data.
 * NULL: no memory. */
struct wf_store_batch *wf_store_batch_new(struct wf_store_file *file, size_t count, size_t item_size, size_t bytes);
void wf_store_batch_free(struct wf_store_batch *b);

const char *wf_store_batch_copy(struct wf_store_batch *b, const void *data, size_t size);
/* Copies the text with its NUL. */
const char *wf_store_batch_copy_text(struct wf_store_batch *b, const char *text);

/* Starts the job that stores the batch. `run` is given a pointer to a pointer to the batch, on a thread that may
 * block. Consumes the batch. `b` NULL: returns WEFT_ENOMEM. */
int wf_store_batch_start(struct wf_store_batch *b, void (*run)(void *block), weft_job *job);
/* Takes the batch back from its job, which has ended. NULL: the job has failed. */
struct wf_store_batch *wf_store_batch_take(weft_job job);

#endif
