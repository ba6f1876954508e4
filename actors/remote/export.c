/* actors/remote/export.c -- the actors that this process exports: a list that only grows. */
#include "export.h"

#include "names.h"

#include <weft/log.h>

#include <stdatomic.h>

/* Release by the thread that adds an entry, acquire by readers. */
static _Atomic(struct weft_export *) exported;

static const struct weft_export *find(const struct weft_export *e, weft_text name)
{
    while (e != NULL && (strlen(e->name) != name.size || memcmp(e->name, name.data, name.size) != 0)) e = e->next;
    return e;
}

const struct weft_export *wf_export_find(weft_text name)
{
    return find(atomic_load_explicit(&exported, memory_order_acquire), name);
}

/* ---- Of a module that is loaded in place of another ------------------------------------------------------------ */

static _Thread_local struct weft_export **collected; /* a list by `next`; NULL: exports are valid at once */

void wf_exports_collect(struct weft_export **list)
{
    collected = list;
}

static int collect(struct weft_export *e)
{
    e->next = *collected;
    *collected = e;
    return WEFT_OK;
}

/* Adds it before the entries that it replaces. Those stay in the list, as a reader may be at one of them. */
void wf_exports_replace(struct weft_export *list)
{
    struct weft_export *last = list;
    if (list == NULL) return;
    while (last->next != NULL) last = last->next;
    last->next = atomic_load_explicit(&exported, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&exported, &last->next, list, memory_order_acq_rel,
                                                  memory_order_acquire)) {}
}

/* ---------------------------------------------------------------------------------------------------------------- */

int weft_export_actor(struct weft_export *e)
{
    if (e == NULL || e->name == NULL || e->body == NULL || wf_name_check(weft_cstr(e->name)) < 0) {
        weft_log(WEFT_ERROR, "an actor is not exported: its name or its body is missing, or the name is malformed");
        return WEFT_EINVAL;
    }
    if (e->options.kind == NULL) e->options.kind = e->name;
    if (collected != NULL) return collect(e);
    struct weft_export *first = atomic_load_explicit(&exported, memory_order_acquire);
    do {
        const struct weft_export *other = find(first, weft_cstr(e->name));
        if (other == e) return WEFT_OK;
        if (other != NULL) {
            weft_log(WEFT_ERROR, "actor %s is exported twice: the first one counts", e->name);
            return WEFT_EEXIST;
        }
        e->next = first;
    } while (
        !atomic_compare_exchange_weak_explicit(&exported, &first, e, memory_order_acq_rel, memory_order_acquire));
    return WEFT_OK;
}
