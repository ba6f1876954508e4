/* actors/lifecycle/children.c -- see children.h. */
#include "children.h"

#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wf_children_init(struct wf_children *all)
{
    *all = (struct wf_children){0};
    wf_list_init(&all->stops);
    wf_list_init(&all->downs);
    wf_list_init(&all->clock);
}

void wf_children_finish(struct wf_children *all)
{
    free(all->at);
    free(all->keys);
}

size_t wf_children_index(const struct wf_children *all, const struct wf_child *c)
{
    size_t from = 0, to = all->count;
    while (to - from > 1) {
        size_t middle = (from + to) / 2;
        if (all->at[middle]->serial <= c->serial) from = middle;
        else to = middle;
    }
    WF_ASSERT(all->at[from] == c);
    return from;
}

struct wf_child *wf_children_named(const struct wf_children *all, const char *name)
{
    uint32_t hash = wf_hash(name, strlen(name), 0);
    for (size_t i = 0; i < all->count; i++) {
        if (all->keys[i].hash == hash && strcmp(all->at[i]->charge.name, name) == 0) return all->at[i];
    }
    return NULL;
}

/* Searches from the end: the youngest children are looked up most often. */
struct wf_child *wf_children_find(const struct wf_children *all, weft_pid pid)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->keys[i].actor == pid.actor && weft_pid_equal(all->at[i]->pid, pid)) return all->at[i];
    }
    return NULL;
}

/* Inserts it in order: usually at the end, or, when a group stops, at the front. */
static void insert(struct wf_list *turn, struct wf_child *c)
{
    struct wf_list_node *before = &turn->head;
    if (!wf_list_empty(turn) && wf_child_on_turn(before->next)->serial > c->serial) before = before->next;
    else
        while (before->prev != &turn->head && wf_child_on_turn(before->prev)->serial > c->serial)
            before = before->prev;
    wf_list_insert_before(before, &c->on_turn);
}

void wf_children_changed(struct wf_children *all, struct wf_child *c)
{
    bool down = c->state == WF_DOWN, timed = c->state == WF_STARTING || c->state == WF_STOPPING;
    struct wf_list *turn = c->must_stop ? &all->stops : down && c->wanted ? &all->downs : NULL;
    all->keys[wf_children_index(all, c)].actor = down ? 0 : c->pid.actor;
    if (turn != c->turn) {
        wf_unlink(&c->on_turn);
        c->turn = turn;
        if (turn != NULL) insert(turn, c);
    }
    if (timed != wf_linked(&c->on_clock)) {
        if (timed) wf_list_push(&all->clock, &c->on_clock);
        else wf_unlink(&c->on_clock);
    }
}

static int grow(struct wf_children *all)
{
    if (all->count < all->capacity) return WEFT_OK;
    size_t capacity = all->capacity == 0 ? 8 : 2 * all->capacity;
    struct wf_child **at = realloc(all->at, capacity * sizeof(struct wf_child *));
    if (at != NULL) all->at = at;
    struct wf_child_key *keys = realloc(all->keys, capacity * sizeof *keys);
    if (keys != NULL) all->keys = keys;
    if (at == NULL || keys == NULL) return WEFT_ENOMEM;
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
    *c = (struct wf_child){.spec = *spec, .wanted = true, .serial = ++all->last_serial};
    c->charge = (struct wf_charge){weft_self(), spec->body, spec->await_ready, spec->unregistered, {0}};
    snprintf(c->charge.name, sizeof c->charge.name, "%s", name);
    if (spec->arg_size > 0) memcpy(&c->charge + 1, arg, spec->arg_size);
    if (c->spec.start_timeout == 0) c->spec.start_timeout = WEFT_SEC(30);
    c->spec.options.link = !spec->keep_mailbox;
    all->keys[all->count].hash = wf_hash(name, strlen(name), 0);
    all->at[all->count++] = c;
    wf_children_changed(all, c);
    *out = c;
    return WEFT_OK;
}

void wf_children_remove(struct wf_children *all, struct wf_child *c)
{
    size_t i = wf_children_index(all, c), behind = --all->count - i;
    memmove(&all->at[i], &all->at[i + 1], behind * sizeof(struct wf_child *));
    memmove(&all->keys[i], &all->keys[i + 1], behind * sizeof(struct wf_child_key));
    wf_unlink(&c->on_turn);
    wf_unlink(&c->on_clock);
}
