/* transport/store/server/batch_bytes.h -- copies of the texts and bodies of a batch, in one block whose size is known
 * before. A batch owns copies of all its data, because another thread stores it, perhaps after its actor has
 * ended. */
#ifndef WF_STORE_BATCH_BYTES_H
#define WF_STORE_BATCH_BYTES_H

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* All zero means that it has no block. */
struct wf_batch_bytes {
    char *at;
    size_t size, max;
};

/* False: no memory. */
static inline bool wf_batch_bytes_new(struct wf_batch_bytes *b, size_t max)
{
    b->at = malloc(max + 1);
    b->max = max;
    return b->at != NULL;
}

static inline const char *wf_batch_copy(struct wf_batch_bytes *b, const void *data, size_t size)
{
    assert(size <= b->max - b->size);
    char *to = b->at + b->size;
    if (size > 0) memcpy(to, data, size);
    b->size += size;
    return to;
}

/* Copies the text with its NUL. */
static inline const char *wf_batch_copy_text(struct wf_batch_bytes *b, const char *text)
{
    return wf_batch_copy(b, text, strlen(text) + 1);
}

#endif
