/* transport/store/common/bucket.h -- the buckets of the store's hash tables: chains whose head is one pointer, NULL
 * at first. An element is removed in one step. list.h has lists that also know their end. */
#ifndef WF_STORE_BUCKET_H
#define WF_STORE_BUCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"

struct wf_chained {
    struct wf_chained *next, **at; /* `at`: the pointer that points to this element; NULL: it is in no bucket */
};

static inline void wf_chained_push(struct wf_chained **first, struct wf_chained *c)
{
    c->next = *first;
    c->at = first;
    if (c->next != NULL) c->next->at = &c->next;
    *first = c;
}

static inline void wf_chained_remove(struct wf_chained *c)
{
    if (c->at == NULL) return;
    *c->at = c->next;
    if (c->next != NULL) c->next->at = c->at;
    *c = (struct wf_chained){0};
}

#endif
