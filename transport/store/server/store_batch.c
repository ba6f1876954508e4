/* transport/store/server/store_batch.c -- see store_batch.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store_batch.h"

struct wf_store_batch *wf_store_batch_new(struct wf_store_file *file, size_t count, size_t item_size, size_t bytes)
{
    struct wf_store_batch *b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->item = calloc(count, item_size);
    b->count_max = count;
    b->bytes = malloc(bytes + 1);
    b->size_max = bytes;
    b->file = wf_store_file_share(file);
    if (b->item != NULL && b->bytes != NULL) return b;
    wf_store_batch_free(b);
    return NULL;
}

void wf_store_batch_free(struct wf_store_batch *b)
{
    if (b == NULL) return;
    if (b->free_items != NULL) b->free_items(b);
    wf_store_file_release(b->file);
    free(b->item);
    free(b->bytes);
    free(b);
}

const char *wf_store_batch_copy(struct wf_store_batch *b, const void *data, size_t size)
{
    assert(size <= b->size_max - b->size);
    char *to = b->bytes + b->size;
    if (size > 0) memcpy(to, data, size);
    b->size += size;
    return to;
}

const char *wf_store_batch_copy_text(struct wf_store_batch *b, const char *text)
{
    return wf_store_batch_copy(b, text, strlen(text) + 1);
}

static void drop_batch(void *block)
{
    wf_store_batch_free(*(struct wf_store_batch **)block);
}

int wf_store_batch_start(struct wf_store_batch *b, void (*run)(void *block), weft_job *job)
{
    if (b == NULL) return WEFT_ENOMEM;
    int rc = weft_offload_start(job, run, drop_batch, &b, sizeof(void *), WEFT_FOREVER);
    if (rc < 0) wf_store_batch_free(b);
    return rc;
}

struct wf_store_batch *wf_store_batch_take(weft_job job)
{
    struct wf_store_batch *b = NULL;
    return weft_offload_take(job, &b, sizeof(void *), WEFT_FOREVER) == WEFT_OK ? b : NULL;
}
