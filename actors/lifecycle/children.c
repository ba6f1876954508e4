/* actors/lifecycle/children.c -- see children.h. */
#include "children.h"

#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wf_children_init(struct wf_children *all)
{
    *all = (struct wf_children){0};
    wf_list_init(&all->all);
}

void wf_children_finish(struct wf_children *all)
{
    wf_hash_table_finish(&all->names);
    wf_hash_table_finish(&all->pids);
    for (int q = 0; q < WF_CHILD_QUEUES; q++) free(all->queues[q].at);
}

/* ---- By name and pid ------------------------------------------------------------------------------------------- */

static uint32_t name_hash(const char *name)
{
    return wf_hash(name, strlen(name), 0);
}

static uint32_t pid_hash(weft_pid pid)
{
    return (uint32_t)wf_mix(pid.actor);
}

struct wf_child *wf_children_named(const struct wf_children *all, const char *name)
{
    WF_HASHED_WITH(e, &all->names, name_hash(name))
    {
        struct wf_child *c = WF_CONTAINER(e, struct wf_child, in_names);
        if (strcmp(c->charge.name, name) == 0) return c;
    }
    return NULL;
}

struct wf_child *wf_children_find(const struct wf_children *all, weft_pid pid)
{
    WF_HASHED_WITH(e, &all->pids, pid_hash(pid))
    {
        struct wf_child *c = WF_CONTAINER(e, struct wf_child, in_pids);
        if (e != &all->always && weft_pid_equal(c->pid, pid)) return c;
    }
    return NULL;
}

static void set_pid(struct wf_children *all, struct wf_child *c, bool up)
{
    if (c->has_pid && up && c->in_pids.hash == pid_hash(c->pid)) return;
    if (c->has_pid) wf_hash_table_remove(&all->pids, &c->in_pids);
    c->has_pid = up;
    if (!up) return;
    const bool added = wf_hash_table_add(&all->pids, &c->in_pids, pid_hash(c->pid));
    WF_ASSERT(added); /* `always` is in it */
}

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

/* They are not heaps of runtime/memory/heap.h: that one keeps timers in the order of a deadline and, of equal ones, of
 * their arming, while each queue here has an order of its own, of which a part is the place in the list; and it gives
 * memory back when timers leave, so that the next one may find none, while a change of a child must not fail. A timer
 * takes 24 bytes in its owner and 28 in its heap, so the four queues would take 208 bytes of each child; they take 48. */

static bool is_before(const struct wf_children *all, enum wf_child_queue q, const struct wf_child *a,
                      const struct wf_child *b)
{
    if (q == WF_STOPS) return a->serial > b->serial;
    if (q == WF_CLOCK && a->deadline != b->deadline) return a->deadline < b->deadline;
    if (q == WF_DOWNS && all->free_order && a->not_before != b->not_before) return a->not_before < b->not_before;
    return a->serial < b->serial;
}

static void put(struct wf_children *all, enum wf_child_queue q, uint32_t at, struct wf_child *c)
{
    all->queues[q].at[at] = c;
    c->place[q] = at + 1;
}

/* Puts `c` at its place, which is at `at` or before or behind it. */
static void settle(struct wf_children *all, enum wf_child_queue q, uint32_t at, struct wf_child *c)
{
    struct wf_child **heap = all->queues[q].at;
    for (; at > 0 && is_before(all, q, c, heap[(at - 1) / 2]); at = (at - 1) / 2) put(all, q, at, heap[(at - 1) / 2]);
    for (uint32_t next; (next = 2 * at + 1) < all->queues[q].count; at = next) {
        if (next + 1 < all->queues[q].count && is_before(all, q, heap[next + 1], heap[next])) next++;
        if (!is_before(all, q, heap[next], c)) break;
        put(all, q, at, heap[next]);
    }
    put(all, q, at, c);
}

static void set_queue(struct wf_children *all, enum wf_child_queue q, struct wf_child *c, bool in)
{
    if (in) {
        if (c->place[q] == 0) c->place[q] = ++all->queues[q].count;
        WF_ASSERT(all->queues[q].count <= all->capacity);
        settle(all, q, c->place[q] - 1, c);
        return;
    }
    if (c->place[q] == 0) return;
    const uint32_t at = c->place[q] - 1;
    struct wf_child *last = all->queues[q].at[--all->queues[q].count];
    c->place[q] = 0;
    if (last != c) settle(all, q, at, last);
}

struct wf_child *wf_children_first(const struct wf_children *all, enum wf_child_queue queue)
{
    return all->queues[queue].count == 0 ? NULL : all->queues[queue].at[0];
}

void wf_children_free_order(struct wf_children *all)
{
    WF_ASSERT(all->queues[WF_DOWNS].count == 0);
    all->free_order = true;
}

void wf_children_changed(struct wf_children *all, struct wf_child *c)
{
    const bool down = c->state == WF_DOWN;
    set_pid(all, c, !down && !weft_pid_is_nobody(c->pid));
    set_queue(all, WF_STOPS, c, c->must_stop);
    set_queue(all, WF_DOWNS, c, !c->must_stop && down && c->wanted);
    set_queue(all, WF_STARTS, c, c->state == WF_STARTING);
    set_queue(all, WF_CLOCK, c, c->state == WF_STARTING || c->state == WF_STOPPING);
}

/* ---- Coming and going ------------------------------------------------------------------------------------------ */

static int grow(struct wf_children *all)
{
    if (all->pids.count == 0 && !wf_hash_table_add(&all->pids, &all->always, 0)) return WEFT_ENOMEM;
    if (all->count < all->capacity) return WEFT_OK;
    size_t capacity = all->capacity == 0 ? 8 : 2 * all->capacity;
    for (int q = 0; q < WF_CHILD_QUEUES; q++) {
        struct wf_child **at = realloc(all->queues[q].at, capacity * sizeof(struct wf_child *));
        if (at == NULL) return WEFT_ENOMEM;
        all->queues[q].at = at;
    }
    all->capacity = capacity;
    return WEFT_OK;
}

int wf_children_add(struct wf_children *all, const weft_child_spec *spec, const char *name, const void *arg,
                    struct wf_child **out)
{
    if (all->count == WEFT_CHILDREN_MAX) return WEFT_EFULL;
    if (grow(all) < 0) return WEFT_ENOMEM;
    struct wf_child *c = malloc(sizeof *c + spec->arg_size);
    if (c == NULL) return WEFT_ENOMEM;
    *c = (struct wf_child){.spec = *spec, .wanted = true};
    if (!wf_hash_table_add(&all->names, &c->in_names, name_hash(name))) {
        free(c);
        return WEFT_ENOMEM;
    }
    c->serial = ++all->last_serial;
    c->charge = (struct wf_charge){weft_self(), spec->body, spec->await_ready, spec->unregistered, {0}};
    snprintf(c->charge.name, sizeof c->charge.name, "%s", name);
    if (spec->arg_size > 0) memcpy(&c->charge + 1, arg, spec->arg_size);
    if (c->spec.start_timeout == 0) c->spec.start_timeout = WEFT_SEC(30);
    c->spec.options.link = !spec->keep_mailbox;
    wf_list_push(&all->all, &c->on_all);
    all->count++;
    wf_children_changed(all, c);
    *out = c;
    return WEFT_OK;
}

void wf_children_remove(struct wf_children *all, struct wf_child *c)
{
    for (int q = 0; q < WF_CHILD_QUEUES; q++) set_queue(all, (enum wf_child_queue)q, c, false);
    set_pid(all, c, false);
    wf_hash_table_remove(&all->names, &c->in_names);
    wf_unlink(&c->on_all);
    all->count--;
}
