/* transport/store/chain.h -- intrusive lists from which an element is removed in one step, wherever it stands. They
 * are headers alone, as libweft-store sees no library of the rooms. A field's comment says which list it is on. */
#ifndef WF_STORE_CHAIN_H
#define WF_STORE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"

struct wf_chained {
    struct wf_chained *next, **at; /* `at`: the pointer to this one; NULL: it is on no list */
};

/* A list without an end, such as a bucket of a table. */
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

/* A list with an end: first in, first out. */
struct wf_chain {
    struct wf_chained *first, **end;
};

static inline void wf_chain_init(struct wf_chain *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static inline void wf_chain_add(struct wf_chain *l, struct wf_chained *c)
{
    c->next = NULL;
    c->at = l->end;
    *l->end = c;
    l->end = &c->next;
}

static inline void wf_chain_add_front(struct wf_chain *l, struct wf_chained *c)
{
    if (l->first == NULL) wf_chain_add(l, c);
    else wf_chained_push(&l->first, c);
}

/* It must be on this list. */
static inline void wf_chain_remove(struct wf_chain *l, struct wf_chained *c)
{
    if (c->next == NULL) l->end = c->at;
    wf_chained_remove(c);
}

#endif
