/* runtime/memory/list.h -- intrusive doubly linked circular list. A link field's comment says which list it is on. */
#ifndef WF_LIST_H
#define WF_LIST_H

#include "base.h"

struct wf_list_node {
    struct wf_list_node *next, *prev; /* both NULL: on no list */
};

struct wf_list {
    struct wf_list_node head; /* head.next: first; head.prev: last */
};

static inline void wf_list_init(struct wf_list *l)
{
    l->head.next = l->head.prev = &l->head;
}

static inline bool wf_list_empty(const struct wf_list *l)
{
    return l->head.next == &l->head;
}

static inline bool wf_linked(const struct wf_list_node *k)
{
    return k->next != NULL;
}

static inline void wf_list_insert_before(struct wf_list_node *place, struct wf_list_node *k)
{
    WF_ASSERT(!wf_linked(k));
    k->prev = place->prev;
    k->next = place;
    place->prev->next = k;
    place->prev = k;
}

static inline void wf_list_push(struct wf_list *l, struct wf_list_node *k)
{
    wf_list_insert_before(&l->head, k);
}

static inline void wf_list_push_front(struct wf_list *l, struct wf_list_node *k)
{
    wf_list_insert_before(l->head.next, k);
}

/* Removes a node from its list; does nothing if it is on no list. */
static inline void wf_unlink(struct wf_list_node *k)
{
    if (k->next == NULL) return;
    k->prev->next = k->next;
    k->next->prev = k->prev;
    k->next = k->prev = NULL;
}

static inline struct wf_list_node *wf_list_first(const struct wf_list *l)
{
    return wf_list_empty(l) ? NULL : l->head.next;
}

static inline struct wf_list_node *wf_list_pop(struct wf_list *l)
{
    struct wf_list_node *k = wf_list_first(l);
    if (k != NULL) wf_unlink(k);
    return k;
}

/* Moves everything from `from` to the end of `to`. */
static inline void wf_list_append(struct wf_list *to, struct wf_list *from)
{
    if (wf_list_empty(from)) return;
    from->head.next->prev = to->head.prev;
    to->head.prev->next = from->head.next;
    from->head.prev->next = &to->head;
    to->head.prev = from->head.prev;
    wf_list_init(from);
}

/* The body may unlink `k` itself, nothing else. */
#define WF_LIST_EACH(k, l)                                                              \
    for (struct wf_list_node *k = (l)->head.next, *k##_next = k->next; k != &(l)->head; \
         k = k##_next, k##_next = k->next)

#endif
