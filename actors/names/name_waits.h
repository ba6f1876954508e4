/* actors/names/name_waits.h -- actors that wait for names.
 *
 * Design notes.
 * (1) The waits for one name are a group. When the name comes its group is due: it has the pid from then on, so nothing
 *     is looked up later, and the name may be removed again meanwhile.
 * (2) Thousands of actors may wait for one name, and so many names may come at once. So the waits of due groups are
 *     notified in parts, and the table's user decides how many of them a turn notifies.
 * All calls are made under the lock of the table of names. */
#ifndef WF_NAME_WAITS_H
#define WF_NAME_WAITS_H

#include "hash_table.h"
#include "list.h"

#include <weft/pack.h>
#include <weft/pid.h>

struct wf_name_group;

/* The caller provides the memory, which is used from wf_name_waits_add to wf_name_waits_drop. */
struct wf_name_wait {
    struct wf_list_node in_group;
    struct wf_name_group *group; /* NULL: it was notified, or waits for nothing */
    weft_pid found;              /* nobody: not yet */
    /* Called once, when `found` is set, by the worker that registers the name, with the lock held; perhaps in a later
     * turn. Must not call functions of names. */
    void (*wake)(struct wf_name_wait *wait);
};

struct wf_name_waits {
    struct wf_hash_table groups; /* wf_name_group.in_table: of names that have not come */
    struct wf_list due;          /* wf_name_group.on_due: of names that have come, the first one first */
    size_t count;                /* of all waits */
};

void wf_name_waits_init(struct wf_name_waits *w);
void wf_name_waits_finish(struct wf_name_waits *w); /* there are no more waits */
/* `hash`: of the name, the same in all calls. WEFT_ENOMEM. */
int wf_name_waits_add(struct wf_name_waits *w, weft_text name, uint32_t hash, struct wf_name_wait *wait);
/* Sets `found` if the name has come. */
void wf_name_waits_drop(struct wf_name_waits *w, struct wf_name_wait *wait);
/* A name has come, of this node or (`copy`) of another one: the waits for it are due. */
void wf_name_waits_came(struct wf_name_waits *w, weft_text name, uint32_t hash, weft_pid pid, bool copy);
/* Notifies at most `most` of the waits that are due. Returns their number. */
uint32_t wf_name_waits_notify(struct wf_name_waits *w, uint32_t most);
static inline bool wf_name_waits_are_due(const struct wf_name_waits *w)
{
    return !wf_list_empty(&w->due);
}

#endif
