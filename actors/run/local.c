/* actors/run/local.c -- memory that ends with its actor. An actor has few keyed blocks, so searching a list is
 * faster than a table. */
#include "local.h"

#include "ending.h"

#include <stdlib.h>

/* In front of each block. */
struct header {
    struct wf_list_node on_actor; /* wf_locals.keyed or .blocks */
    struct wf_locals *set;        /* the blocks of the actor it belongs to; NULL once its destructor has begun */
    uintptr_t key_or_size;        /* the address of the key of a keyed block; twice the size plus 1 of another one */
};
_Static_assert(sizeof(struct header) % alignof(max_align_t) == 0, "what follows is aligned for any type");

struct wf_locals {
    struct wf_list keyed, blocks; /* header.on_actor, first made first */
    size_t bytes;                 /* the bytes of all blocks, headers included */
};

static struct header *header_of(struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct header, on_actor);
}

/* NULL: it is not a keyed block. */
static const weft_local_key *key_of(const struct header *h)
{
    return h->key_or_size % 2 != 0 ? NULL : (const weft_local_key *)h->key_or_size;
}

static size_t bytes_of(const struct header *h)
{
    const weft_local_key *key = key_of(h);
    return sizeof *h + (key != NULL ? key->size : h->key_or_size / 2);
}

static struct wf_locals *locals_of(struct wf_actor *a)
{
    struct wf_actor_more *more = wf_actor_more(a);
    if (more == NULL || more->locals != NULL) return more == NULL ? NULL : more->locals;
    struct wf_locals *set = malloc(sizeof *set);
    if (set == NULL) return NULL;
    wf_list_init(&set->keyed);
    wf_list_init(&set->blocks);
    set->bytes = 0;
    more->locals = set;
    return set;
}

static struct header *new_block(struct wf_actor *a, size_t size, const weft_local_key *key)
{
    struct wf_locals *set = size > PTRDIFF_MAX - sizeof(struct header) ? NULL : locals_of(a);
    struct header *h = set == NULL ? NULL : calloc(1, sizeof *h + size);
    if (h == NULL) return NULL;
    h->set = set;
    h->key_or_size = key != NULL ? (uintptr_t)key : 2 * (uintptr_t)size + 1;
    set->bytes += bytes_of(h);
    wf_list_push(key == NULL ? &set->blocks : &set->keyed, &h->on_actor);
    return h;
}

static void free_block(struct wf_locals *set, struct header *h)
{
    WF_ASSERT(set->bytes >= bytes_of(h));
    set->bytes -= bytes_of(h);
    wf_unlink(&h->on_actor);
    free(h);
}

void *weft_alloc(size_t size)
{
    struct wf_actor *self = wf_actor_self();
    struct header *h = self == NULL ? NULL : new_block(self, size, NULL);
    return h == NULL ? NULL : h + 1;
}

int weft_release(void *block)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    if (block == NULL) return WEFT_OK;
    struct header *h = (struct header *)block - 1;
    if (self->more == NULL || h->set != self->more->locals || key_of(h) != NULL) return WEFT_EINVAL;
    free_block(h->set, h);
    return WEFT_OK;
}

void *wf_local_find(const struct wf_actor *a, const weft_local_key *key)
{
    if (a->more == NULL || a->more->locals == NULL) return NULL;
    WF_LIST_EACH(k, &a->more->locals->keyed) {
        if (key_of(header_of(k)) == key) return header_of(k) + 1;
    }
    return NULL;
}

size_t wf_locals_bytes(const struct wf_actor *a)
{
    const struct wf_locals *set = a->more == NULL ? NULL : a->more->locals;
    return set == NULL ? 0 : sizeof *set + set->bytes;
}

void *weft_local(const weft_local_key *key)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL || key == NULL || key->size == 0) return NULL;
    void *block = wf_local_find(self, key);
    if (block != NULL) return block;
    if (key->drop != NULL && WF_UNLIKELY(wf_actor_is_overdue(self))) return NULL;
    struct header *h = new_block(self, key->size, key);
    return h == NULL ? NULL : h + 1;
}

void wf_locals_finish(struct wf_actor *a)
{
    struct wf_locals *set = a->more == NULL ? NULL : a->more->locals;
    if (set == NULL) return;
    /* A destructor may still ask for its own block, and make others: those are then at the end of the list. */
    while (!wf_list_empty(&set->keyed)) {
        struct header *h = header_of(set->keyed.head.prev);
        /* If it is false, its destructor has called weft_exit, and this is the rest of the end. */
        bool fresh = h->set != NULL;
        h->set = NULL;
        if (fresh && key_of(h)->drop != NULL) key_of(h)->drop(h + 1);
        free_block(set, h);
        wf_actor_end_part(a, 1);
    }
    for (struct wf_list_node *k; (k = wf_list_first(&set->blocks)) != NULL; wf_actor_end_part(a, 1))
        free_block(set, header_of(k));
    WF_ASSERT(set->bytes == 0);
    a->more->locals = NULL;
    free(set);
}
