/* transport/link/patterns.c -- see patterns.h. */
#include "patterns.h"

#include "hash.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 3 /* of a text in msgpack */ };

struct wf_pattern {
    struct wf_pattern_place place;
    struct wf_list_node on_gone; /* wf_patterns.gone */
    struct wf_hashed in_table;   /* wf_patterns.table, while `count` is not 0 */
    uint32_t count;              /* subscribers; 0: its removal is being sent */
    uint8_t size;
    char text[];
};

static struct wf_pattern *pattern_at(struct wf_list_node *k)
{
    return WF_CONTAINER(WF_CONTAINER(k, struct wf_pattern_place, on_list), struct wf_pattern, place);
}

static bool is_mark(const struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct wf_pattern_place, on_list)->number == 0;
}

void wf_patterns_init(struct wf_patterns *p, uint64_t secret)
{
    *p = (struct wf_patterns){.secret = secret};
    wf_list_init(&p->places);
    wf_list_init(&p->gone);
    wf_list_init(&p->marks);
}

void wf_patterns_finish(struct wf_patterns *p)
{
    WF_ASSERT(wf_list_empty(&p->marks));
    for (struct wf_list_node *k; (k = wf_list_pop(&p->places)) != NULL;) free(pattern_at(k));
    wf_hash_table_finish(&p->table);
    wf_patterns_init(p, p->secret);
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

static struct wf_pattern *find(const struct wf_patterns *p, weft_text text, uint32_t hash)
{
    WF_HASHED_WITH(k, &p->table, hash)
    {
        struct wf_pattern *e = WF_CONTAINER(k, struct wf_pattern, in_table);
        if (e->size == text.size && memcmp(e->text, text.data, text.size) == 0) return e;
    }
    return NULL;
}

static void put_last(struct wf_patterns *p, struct wf_pattern *e)
{
    e->place.number = ++p->last;
    wf_list_push(&p->places, &e->place.on_list);
}

int wf_patterns_add(struct wf_patterns *p, weft_text pattern)
{
    WF_ASSERT(pattern.size <= UINT8_MAX);
    uint32_t hash = wf_hash(pattern.data, pattern.size, p->secret);
    struct wf_pattern *e = find(p, pattern, hash);
    if (e != NULL) {
        e->count++;
        return 0;
    }
    e = calloc(1, sizeof *e + pattern.size);
    if (e == NULL || !wf_hash_table_add(&p->table, &e->in_table, hash)) {
        free(e);
        return WEFT_ENOMEM;
    }
    e->count = 1;
    e->size = (uint8_t)pattern.size;
    memcpy(e->text, pattern.data, pattern.size);
    put_last(p, e);
    return 1;
}

static void drop(struct wf_pattern *e)
{
    wf_unlink(&e->place.on_list);
    wf_unlink(&e->on_gone);
    free(e);
}

bool wf_patterns_remove(struct wf_patterns *p, weft_text pattern)
{
    struct wf_pattern *e = find(p, pattern, wf_hash(pattern.data, pattern.size, p->secret));
    WF_ASSERT(e == NULL || e->count > 0);
    if (e == NULL || --e->count > 0) return false;
    wf_hash_table_remove(&p->table, &e->in_table);
    WF_SOMETIMES("topics: a pattern is removed before it was sent to any peer",
                 !wf_list_empty(&p->marks) && e->place.number > p->most_sent_to);
    WF_SOMETIMES("topics: a pattern that was sent to peers is removed",
                 !wf_list_empty(&p->marks) && e->place.number <= p->most_sent_to);
    if (wf_list_empty(&p->marks) || e->place.number > p->most_sent_to) {
        drop(e);
        return true;
    }
    wf_unlink(&e->place.on_list);
    put_last(p, e);
    wf_list_push(&p->gone, &e->on_gone);
    return true;
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

/* Frees the removed patterns that all marks have passed. */
static void sweep(struct wf_patterns *p)
{
    uint64_t least = UINT64_MAX;
    if (wf_list_empty(&p->gone)) return;
    WF_LIST_EACH(k, &p->marks) least = WF_MIN(least, WF_CONTAINER(k, struct wf_pattern_mark, on_table)->sent_to);
    WF_LIST_EACH(k, &p->gone) {
        struct wf_pattern *e = WF_CONTAINER(k, struct wf_pattern, on_gone);
        if (e->place.number > least) return;
        drop(e);
    }
}

void wf_patterns_begin(struct wf_patterns *p, struct wf_pattern_mark *m, uint32_t most)
{
    WF_ASSERT(!wf_linked(&m->on_table) && most > 0);
    *m = (struct wf_pattern_mark){.most = most, .begun = p->last};
    wf_list_push_front(&p->places, &m->place.on_list);
    wf_list_push(&p->marks, &m->on_table);
}

void wf_patterns_end(struct wf_patterns *p, struct wf_pattern_mark *m)
{
    if (!wf_linked(&m->on_table)) return;
    wf_unlink(&m->place.on_list);
    wf_unlink(&m->on_table);
    sweep(p);
}

/* The first pattern behind a place; NULL: there is none. */
static struct wf_pattern *pattern_after(const struct wf_patterns *p, const struct wf_list_node *k)
{
    struct wf_list_node *next = k->next;
    while (next != &p->places.head && is_mark(next)) next = next->next;
    return next == &p->places.head ? NULL : pattern_at(next);
}

bool wf_patterns_behind(const struct wf_patterns *p, const struct wf_pattern_mark *m)
{
    return wf_linked(&m->on_table) && pattern_after(p, &m->place.on_list) != NULL;
}

static void pass(struct wf_patterns *p, struct wf_pattern_mark *m, struct wf_pattern *e)
{
    WF_ASSERT(m->sent_to < e->place.number); /* a mark only moves forwards */
    m->sent_to = e->place.number;
    p->most_sent_to = WF_MAX(p->most_sent_to, m->sent_to);
    wf_unlink(&m->place.on_list);
    wf_list_insert_before(e->place.on_list.next, &m->place.on_list);
}

/* The next pattern to be sent. Passes patterns that were removed before the mark began: the peer never had them. */
static struct wf_pattern *next_to_tell(struct wf_patterns *p, struct wf_pattern_mark *m)
{
    struct wf_pattern *e = wf_linked(&m->on_table) ? pattern_after(p, &m->place.on_list) : NULL;
    bool passed = false;
    for (; e != NULL && e->count == 0 && e->place.number <= m->begun; e = pattern_after(p, &m->place.on_list)) {
        WF_SOMETIMES("topics: a removed pattern is not sent to a new peer", true);
        pass(p, m, e);
        passed = true;
    }
    if (passed) sweep(p);
    return e;
}

struct wf_pattern_part wf_patterns_next(struct wf_patterns *p, struct wf_pattern_mark *m, uint32_t count,
                                        size_t bytes)
{
    struct wf_pattern *e = next_to_tell(p, m);
    struct wf_pattern_part part = {.add = e != NULL && e->count > 0};
    if (part.add && m->sent + 1 >= m->most)
        return (struct wf_pattern_part){.add = true, .count = 1, .bytes = HEAD_BYTES + 1, .all = true};
    if (part.add) count = WF_MIN(count, m->most - 1 - m->sent);
    while (e != NULL && (e->count > 0) == part.add && part.count < count && part.bytes < bytes) {
        part.count++;
        part.bytes += HEAD_BYTES + e->size;
        e = pattern_after(p, &e->place.on_list);
    }
    return part;
}

void wf_patterns_put(struct wf_patterns *p, struct wf_pattern_mark *m, const struct wf_pattern_part *part,
                     weft_writer *w)
{
    if (part->all) {
        weft_put_str(w, weft_cstr(">"));
        wf_patterns_end(p, m);
        return;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        struct wf_pattern *e = pattern_after(p, &m->place.on_list);
        WF_ASSERT(e != NULL && (e->count > 0) == part->add);
        weft_put_str(w, weft_str(e->text, e->size));
        pass(p, m, e);
    }
    if (part->add) m->sent += part->count;
    else m->sent -= WF_MIN(m->sent, part->count);
    sweep(p);
}
