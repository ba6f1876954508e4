/* actors/names/name_waits.c -- see name_waits.h. */
#include "name_waits.h"

#include <stdlib.h>
#include <string.h>

struct wf_name_group {
    struct wf_hashed in_table;
    struct wf_list_node on_due; /* linked: its name has come, and `pid` and `copy` are set */
    struct wf_list waits;       /* wf_name_wait.in_group, the oldest first */
    weft_pid pid;
    bool copy;
    uint32_t size;
    char name[];
};

void wf_name_waits_init(struct wf_name_waits *w)
{
    *w = (struct wf_name_waits){.count = 0};
    wf_list_init(&w->due);
}

void wf_name_waits_finish(struct wf_name_waits *w)
{
    WF_ASSERT(w->count == 0 && w->groups.count == 0);
    wf_hash_table_finish(&w->groups);
}

static struct wf_name_group *find(const struct wf_name_waits *w, weft_text name, uint32_t hash)
{
    WF_HASHED_WITH(e, &w->groups, hash)
    {
        struct wf_name_group *g = WF_CONTAINER(e, struct wf_name_group, in_table);
        if (g->size == name.size && memcmp(g->name, name.data, name.size) == 0) return g;
    }
    return NULL;
}

static struct wf_name_group *add_group(struct wf_name_waits *w, weft_text name, uint32_t hash)
{
    struct wf_name_group *g = calloc(1, sizeof *g + name.size);
    if (g == NULL) return NULL;
    if (!wf_hash_table_add(&w->groups, &g->in_table, hash)) {
        free(g);
        return NULL;
    }
    wf_list_init(&g->waits);
    g->size = (uint32_t)name.size;
    memcpy(g->name, name.data, name.size);
    return g;
}

int wf_name_waits_add(struct wf_name_waits *w, weft_text name, uint32_t hash, struct wf_name_wait *wait)
{
    struct wf_name_group *g = find(w, name, hash);
    if (g == NULL) g = add_group(w, name, hash);
    if (g == NULL) return WEFT_ENOMEM;
    wait->group = g;
    wait->in_group = (struct wf_list_node){NULL, NULL};
    wf_list_push(&g->waits, &wait->in_group);
    w->count++;
    return WEFT_OK;
}

static bool is_due(const struct wf_name_group *g)
{
    return wf_linked(&g->on_due);
}

/* Takes a wait out of its group, which is freed with its last wait. */
static void take_out(struct wf_name_waits *w, struct wf_name_wait *wait)
{
    struct wf_name_group *g = wait->group;
    if (is_due(g)) wait->found = g->pid;
    wait->group = NULL;
    wf_unlink(&wait->in_group);
    w->count--;
    if (!wf_list_empty(&g->waits)) return;
    if (is_due(g)) wf_unlink(&g->on_due);
    else wf_hash_table_remove(&w->groups, &g->in_table);
    free(g);
}

void wf_name_waits_drop(struct wf_name_waits *w, struct wf_name_wait *wait)
{
    if (wait->group != NULL) take_out(w, wait);
}

void wf_name_waits_came(struct wf_name_waits *w, weft_text name, uint32_t hash, weft_pid pid, bool copy)
{
    struct wf_name_group *g = find(w, name, hash);
    if (g == NULL) return;
    g->pid = pid;
    g->copy = copy;
    wf_hash_table_remove(&w->groups, &g->in_table);
    wf_list_push(&w->due, &g->on_due);
}

uint32_t wf_name_waits_notify(struct wf_name_waits *w, uint32_t most)
{
    uint32_t notified = 0;
    for (; notified < most && wf_name_waits_are_due(w); notified++) {
        const struct wf_name_group *g = WF_CONTAINER(wf_list_first(&w->due), struct wf_name_group, on_due);
        struct wf_name_wait *wait = WF_CONTAINER(wf_list_first(&g->waits), struct wf_name_wait, in_group);
        WF_SOMETIMES("names: a waiting actor is notified of a name of this node", !g->copy);
        WF_SOMETIMES("names: a waiting actor is notified of a name of another node", g->copy);
        take_out(w, wait);
        wait->wake(wait);
    }
    return notified;
}
