/* transport/store/server/append_batch.c -- see append_batch.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "append_batch.h"

struct wf_append_batch *wf_append_batch_new(struct wf_store_file *file, size_t count, size_t bytes)
{
    struct wf_append_batch *b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->item = calloc(count, sizeof *b->item);
    b->limits = calloc(count, sizeof *b->limits);
    b->count_max = count;
    b->file = wf_store_file_share(file);
    if (b->item != NULL && b->limits != NULL && wf_batch_bytes_new(&b->bytes, bytes)) return b;
    wf_append_batch_free(b);
    return NULL;
}

void wf_append_batch_free(struct wf_append_batch *b)
{
    if (b == NULL) return;
    wf_store_file_release(b->file);
    free(b->item);
    free(b->limits);
    free(b->bytes.at);
    free(b);
}

void wf_append_batch_add(struct wf_append_batch *b, const char *topic, uint32_t tag, const void *data, size_t size,
                         const struct wf_store_limits *limits)
{
    assert(b->count < b->count_max);
    b->limits[b->count] = *limits;
    struct wf_store_append *a = &b->item[b->count];
    *a = (struct wf_store_append){.tag = tag, .size = size, .limits = &b->limits[b->count]};
    a->topic = wf_batch_copy_text(&b->bytes, topic);
    a->data = wf_batch_copy(&b->bytes, data, size);
    b->count++;
}

void wf_append_batch_run(void *block)
{
    struct wf_append_batch *b = *(struct wf_append_batch **)block;
    const struct wf_store_engine *engine = b->file->store->engine;
    int64_t now = engine->clock(b->file->store);
    for (size_t i = 0; i < b->count; i++) b->item[i].time = now;
    (void)engine->append(b->file->store, b->item, b->count); /* each item has its error */
}

void wf_append_batch_drop(void *block)
{
    wf_append_batch_free(*(struct wf_append_batch **)block);
}
