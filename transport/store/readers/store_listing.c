/* transport/store/readers/store_listing.c -- see store_listing.h. */
#include <stdlib.h>

#include "store_listing.h"
#include "store_messages.h"
#include "store_reader.h"

size_t wf_listing_max(uint64_t asked)
{
    return asked < WF_STORE_PAGE_LOGS ? (size_t)asked : WF_STORE_PAGE_LOGS;
}

int wf_listing_ask(struct wf_listing *l, const weft_msg *ask)
{
    struct store_list in;
    int rc = weft_typed_read(store_list_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    l->max = wf_listing_max(in.count);
    return weft_text_copy(in.after, l->after, sizeof l->after) ? WEFT_OK : WEFT_EINVAL;
}

static void list(void *block)
{
    struct wf_listing *l = *(struct wf_listing **)block;
    l->rc = l->kind->list(l);
}

static void free_listing(void *block)
{
    struct wf_listing *l = *(struct wf_listing **)block;
    wf_store_file_release(l->file);
    free(l);
}

void wf_listing_for(struct wf_store_file *file, const weft_msg *ask, const struct wf_listing_kind *kind)
{
    struct wf_listing *l = calloc(1, kind->size);
    int rc = l == NULL ? WEFT_ENOMEM : kind->ask(l, ask);
    if (rc < 0) {
        kind->answer(ask, NULL, rc);
        free(l);
        return;
    }
    l->kind = kind;
    l->file = wf_store_file_share(file);
    rc = wf_reader_run(ask, list, free_listing, &l);
    kind->answer(ask, rc < 0 ? NULL : l, rc < 0 ? rc : l->rc);
    if (rc == WEFT_OK) free_listing(&l);
}
