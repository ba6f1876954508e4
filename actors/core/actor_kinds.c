/* actors/core/actor_kinds.c -- see actor_kinds.h. */
#include "actor_kinds.h"

#include "actor.h"

#include <stdlib.h>

enum { KINDS_MAX = 4096 }; /* further kinds have no statistics */

/* The entry of that kind, or the free entry where it belongs. */
static struct wf_kind *place_of(const struct wf_kinds *k, const char *kind)
{
    WF_ASSERT(k->places > 0 && (k->places & (k->places - 1)) == 0);
    uint32_t i = (uint32_t)((uintptr_t)kind * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    while (k->at[i & (k->places - 1)].kind != NULL && k->at[i & (k->places - 1)].kind != kind) i++;
    return &k->at[i & (k->places - 1)];
}

static bool make_place(struct wf_kinds *k)
{
    if (2 * k->count < k->places) return true;
    if (k->count == KINDS_MAX) return false;
    struct wf_kinds more = {.count = k->count, .places = WF_MAX(16, 2 * k->places)};
    more.at = calloc(more.places, sizeof *more.at);
    if (more.at == NULL) return false; /* no statistics then */
    for (uint32_t i = 0; i < k->places; i++) {
        if (k->at[i].kind != NULL) *place_of(&more, k->at[i].kind) = k->at[i];
    }
    free(k->at);
    *k = more;
    return true;
}

const struct wf_kind *wf_kind_find(const struct wf_kinds *k, const char *kind)
{
    const struct wf_kind *at = k->places == 0 ? NULL : place_of(k, kind);
    return at == NULL || at->kind == NULL ? NULL : at;
}

struct wf_kind *wf_kind_noted(struct wf_kinds *k, const char *kind)
{
    struct wf_kind *at = k->places == 0 ? NULL : place_of(k, kind);
    if (at != NULL && at->kind != NULL) return at;
    if (!make_place(k)) return NULL;
    at = place_of(k, kind);
    WF_ASSERT(at->kind == NULL && k->count < k->places);
    at->kind = kind;
    k->count++;
    return at;
}

void wf_kinds_finish(struct wf_kinds *k)
{
    for (uint32_t i = 0; i < k->places; i++) free(k->at[i].mail);
    free(k->at);
    *k = (struct wf_kinds){.count = 0};
}

void wf_actor_stack_used(struct wf_task *t, size_t used)
{
    struct wf_kind *k = wf_kind_noted(&wf_actors_of(t->worker)->kinds, wf_actor_of(t)->kind);
    if (k != NULL) k->stack_most = WF_MAX(k->stack_most, used);
}
