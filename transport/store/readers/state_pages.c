/* transport/store/readers/state_pages.c -- see state_pages.h. */
#include <stdlib.h>
#include <string.h>

#include "state_pages.h"
#include "store_listing.h"
#include "store_messages.h"
#include "store_reader.h"

/* ---- A page of one state --------------------------------------------------------------------------------------- */

/* A page owns all memory that its job uses. */
struct page {
    struct wf_store_file *file;
    char key[WF_STORE_TOPIC_MAX + 1];
    uint64_t owner, from;
    int rc;
    struct store_item row[WF_STORE_PAGE_ITEMS];
    size_t at[WF_STORE_PAGE_ITEMS]; /* where the body of each row is in `body` */
    size_t rows;
    char *body;
    size_t size, capacity;
};

static void free_page(void *block)
{
    struct page *p = *(struct page **)block;
    wf_store_file_release(p->file);
    free(p->body);
    free(p);
}

static bool add_row(void *arg, const struct wf_store_item *item)
{
    struct page *p = arg;
    if (p->size + item->size > p->capacity) {
        size_t capacity = (p->size + item->size) * 2;
        char *body = realloc(p->body, capacity);
        if (body == NULL) p->rc = WEFT_ENOMEM;
        if (body == NULL) return false;
        p->body = body;
        p->capacity = capacity;
    }
    if (item->size > 0) memcpy(p->body + p->size, item->data, item->size);
    p->at[p->rows] = p->size;
    p->row[p->rows++] = (struct store_item){.is_snapshot = item->is_snapshot,
                                            .number = item->number,
                                            .time = item->time,
                                            .tag = item->tag,
                                            .version = item->version,
                                            .body = {.size = item->size}};
    p->size += item->size;
    return true;
}

static void read_page(void *block)
{
    struct page *p = *(struct page **)block;
    int rc = p->file->store->engine->read_state(p->file->store, p->key, p->owner, p->from, WF_STORE_PAGE_ITEMS,
                                                WF_STORE_PAGE_BYTES, add_row, p);
    if (p->rc == WEFT_OK || p->rows > 0) p->rc = rc < 0 ? rc : WEFT_OK;
}

static int read_request(struct page *p, const weft_msg *ask)
{
    struct store_state_from in;
    int rc = weft_typed_read(store_state_from_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    p->owner = in.owner;
    p->from = in.from;
    return weft_text_copy(in.key, p->key, sizeof p->key) ? WEFT_OK : WEFT_EINVAL;
}

static void answer_page(const weft_msg *ask, struct page *p, int rc)
{
    struct store_items out = {.error = rc};
    if (rc == WEFT_OK) {
        for (size_t i = 0; i < p->rows; i++) p->row[i].body.data = p->body == NULL ? "" : p->body + p->at[i];
        out = (struct store_items){.error = p->rc, .items = store_item_list(p->row, p->rows)};
    }
    wf_store_answer(ask, store_items_type(), &out);
}

static void read_for(struct wf_store_file *file, const weft_msg *ask)
{
    struct page *p = calloc(1, sizeof *p);
    int rc = p == NULL ? WEFT_ENOMEM : read_request(p, ask);
    if (rc < 0) {
        answer_page(ask, NULL, rc);
        free(p);
        return;
    }
    p->file = wf_store_file_share(file);
    rc = wf_reader_run(ask, read_page, free_page, &p);
    answer_page(ask, p, rc);
    if (rc == WEFT_OK) free_page(&p);
}

/* ---- Lists of states ------------------------------------------------------------------------------------------- */

struct states {
    struct wf_listing is;
    struct wf_store_state state[WF_STORE_PAGE_LOGS];
    struct store_state row[WF_STORE_PAGE_LOGS];
};

static bool add_state(void *arg, const struct wf_store_state *state)
{
    struct states *l = arg;
    if (l->is.count == l->is.max) return false;
    struct wf_store_state *at = &l->state[l->is.count];
    *at = *state;
    l->row[l->is.count++] = (struct store_state){weft_cstr(at->key), at->opening,      at->first, at->last,
                                                 at->bytes,          at->has_snapshot, at->size};
    return true;
}

static int list_states(struct wf_listing *l)
{
    return l->file->store->engine->states(l->file->store, l->after, add_state, l);
}

static void answer_states(const weft_msg *ask, const struct wf_listing *l, int error)
{
    struct store_states out = {.error = error};
    if (l != NULL) out.states = store_state_list(((const struct states *)l)->row, l->count);
    wf_store_answer(ask, store_states_type(), &out);
}

static const struct wf_listing_kind states_kind = {sizeof(struct states), wf_listing_ask, list_states, answer_states};

void wf_state_page_for(struct wf_store_file *file, const weft_msg *ask)
{
    if (weft_tag(ask) == WF_STORE_STATE_READ) read_for(file, ask);
    else wf_listing_for(file, ask, &states_kind);
}
