/* transport/store/server/change_batch.c -- see change_batch.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "change_batch.h"

struct wf_change_batch *wf_change_batch_new(struct wf_store_file *file, size_t count, size_t bytes)
{
    struct wf_change_batch *b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->item = calloc(count, sizeof *b->item);
    b->count_max = count;
    b->file = wf_store_file_share(file);
    if (b->item != NULL && wf_batch_bytes_new(&b->bytes, bytes)) return b;
    wf_change_batch_free(b);
    return NULL;
}

void wf_change_batch_free(struct wf_change_batch *b)
{
    if (b == NULL) return;
    wf_store_file_release(b->file);
    for (size_t i = 0; i < b->count; i++) free(b->item[i].body);
    free(b->item);
    free(b->bytes.at);
    free(b);
}

void wf_change_batch_add(struct wf_change_batch *b, const struct wf_store_change *x)
{
    assert(b->count < b->count_max);
    struct wf_store_change *to = &b->item[b->count++];
    *to = *x;
    to->queue = wf_batch_copy_text(&b->bytes, x->queue);
    if (x->key != NULL) to->key = wf_batch_copy_text(&b->bytes, x->key);
    if (x->topic != NULL) to->topic = wf_batch_copy_text(&b->bytes, x->topic);
    to->data = wf_batch_copy(&b->bytes, x->data, x->size);
}

void wf_change_batch_run(void *block)
{
    struct wf_change_batch *b = *(struct wf_change_batch **)block;
    const struct wf_store_engine *engine = b->file->store->engine;
    int64_t now = engine->clock(b->file->store);
    for (size_t i = 0; i < b->count; i++) b->item[i].now = now;
    b->rc = engine->change(b->file->store, b->item, b->count);
}

void wf_change_batch_drop(void *block)
{
    wf_change_batch_free(*(struct wf_change_batch **)block);
}
