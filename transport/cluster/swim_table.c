/* transport/cluster/swim_table.c -- the table of members: finding them, the order in which they are probed, and the
 * updates that are sent about them. */
#include "swim_table.h"
#include "swim.h"

#include "hash.h"
#include "typed.h"

#include <weft/pool.h>

#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 16, FORGOTTEN_AT_ONCE = 1024 };
#define UPDATES WF_LIMIT("gossip: updates in a message", WF_SWIM_UPDATES, 1)

/* ---- Random numbers -------------------------------------------------------------------------------------------- */

uint64_t wf_swim_random(struct wf_swim *s)
{
    return wf_mix(s->random += UINT64_C(0x9E3779B97F4A7C15));
}

uint32_t wf_swim_below(struct wf_swim *s, uint32_t bound)
{
    return (uint32_t)((wf_swim_random(s) >> 32) * bound >> 32);
}

uint32_t wf_swim_logarithm(uint32_t n)
{
    static const uint32_t powers[] = {3, 8, 21, 55, 149, 404, 1097, 2981, 8104}; /* powers of e, rounded up */
    uint32_t log = 1;
    while (log < WF_COUNT(powers) && n >= powers[log - 1]) log++;
    return log;
}

/* ---- Indexes --------------------------------------------------------------------------------------------------- */

static uint32_t node_hash(const struct wf_swim *s, uint64_t node)
{
    return (uint32_t)wf_mix(node ^ s->secret);
}

static uint32_t name_hash(const struct wf_swim *s, weft_text name)
{
    return wf_hash(name.data, name.size, s->secret);
}

struct wf_swim_member *wf_swim_find(const struct wf_swim *s, uint64_t node)
{
    WF_HASHED_WITH(e, &s->nodes, node_hash(s, node))
    {
        struct wf_swim_member *m = WF_CONTAINER(e, struct wf_swim_member, by_node);
        if (m->node == node) return m;
    }
    return NULL;
}

static struct wf_swim_member *newest_named(const struct wf_swim *s, weft_text name)
{
    WF_HASHED_WITH(e, &s->names, name_hash(s, name))
    {
        struct wf_swim_member *m = WF_CONTAINER(e, struct wf_swim_member, by_name);
        if (wf_text_equal(m->name, name)) return m;
    }
    return NULL;
}

struct wf_swim_member *wf_swim_named(const struct wf_swim *s, weft_text name)
{
    struct wf_swim_member *m = newest_named(s, name);
    return m != NULL && wf_swim_present(m) ? m : NULL;
}

static void take_name(struct wf_swim *s, struct wf_swim_member *m)
{
    if (m->newest) wf_hash_table_remove(&s->names, &m->by_name);
    m->newest = false;
}

/* False: no memory; it is found by no name. */
static bool give_name(struct wf_swim *s, struct wf_swim_member *m, weft_text name)
{
    struct wf_swim_member *before = newest_named(s, name);
    take_name(s, m);
    if (!wf_hash_table_add(&s->names, &m->by_name, name_hash(s, name))) return false;
    m->newest = true;
    if (before != NULL) take_name(s, before);
    return true;
}

/* False: no memory; it is in neither table. */
static bool put_in(struct wf_swim *s, struct wf_swim_member *m)
{
    if (!wf_hash_table_add(&s->nodes, &m->by_node, node_hash(s, m->node))) return false;
    if (give_name(s, m, m->name)) return true;
    wf_hash_table_remove(&s->nodes, &m->by_node);
    return false;
}

/* ---- Members --------------------------------------------------------------------------------------------------- */

static bool grow(struct wf_swim *s)
{
    if (s->count < s->capacity) return true;
    uint32_t wanted = WF_MAX(s->capacity * 2, (uint32_t)TABLE_FIRST);
    struct wf_swim_member **more = realloc(s->at, wanted * sizeof(struct wf_swim_member *));
    if (more == NULL) return false;
    s->at = more;
    s->capacity = wanted;
    return true;
}

/* Only present members count, with state and number: members forget those that are gone at different times. */
static uint64_t digest_of(const struct wf_swim_member *m)
{
    return wf_swim_present(m) ? wf_mix(wf_mix(m->node) ^ (m->number * 2 + (m->state == WF_SWIM_SUSPECT) + 1)) : 0;
}

int wf_swim_set_record(struct wf_swim *s, struct wf_swim_member *m, weft_text record)
{
    const char *had = m->record.data;
    if (had != NULL && m->record.size == record.size && memcmp(had, record.data, record.size) == 0) return WEFT_OK;
    weft_text name = wf_swim_record_of(record).name;
    bool renamed = m->record.size > 0 && !wf_text_equal(m->name, name);
    char *copy = malloc(record.size);
    if (copy == NULL || (renamed && !give_name(s, m, name))) {
        free(copy);
        return WEFT_ENOMEM;
    }
    memcpy(copy, record.data, record.size);
    free((char *)m->record.data);
    m->record = (weft_text){copy, record.size};
    m->own = false; /* wf_swim_receive knows whether it is the member that speaks */
    m->name = wf_swim_record_of(m->record).name;
    return WEFT_OK;
}

static void swap(struct wf_swim *s, uint32_t a, uint32_t b)
{
    struct wf_swim_member *m = s->at[a];
    s->at[a] = s->at[b];
    s->at[b] = m;
    s->at[a]->place = a;
    s->at[b]->place = b;
}

struct wf_swim_member *wf_swim_add(struct wf_swim *s, uint64_t node, uint64_t number, weft_text record, int64_t now)
{
    if (s->count >= WF_SWIM_MEMBERS_MAX || !grow(s)) return NULL;
    struct wf_swim_member *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->node = node;
    m->number = number;
    m->state = WF_SWIM_ALIVE;
    m->since = now;
    if (wf_swim_set_record(s, m, record) < 0 || !put_in(s, m)) {
        free((char *)m->record.data);
        free(m);
        return NULL;
    }
    m->place = s->count;
    s->at[s->count++] = m;
    swap(s, m->place, wf_swim_below(s, s->count));
    s->present++;
    s->digest ^= digest_of(m);
    return m;
}

static void forget(struct wf_swim *s, struct wf_swim_member *m)
{
    WF_ASSERT(m != s->self);
    if (s->target == m) s->target = NULL;
    if (wf_linked(&m->in_updates)) s->update_count--;
    wf_unlink(&m->in_updates);
    wf_unlink(&m->in_state);
    wf_unlink(&m->in_rechecks);
    s->digest ^= digest_of(m);
    if (wf_swim_present(m)) s->present--;
    wf_unlink(&m->in_changed);
    wf_hash_table_remove(&s->nodes, &m->by_node);
    take_name(s, m);
    swap(s, m->place, s->count - 1);
    s->count--;
    free((char *)m->record.data);
    free(m);
}

void wf_swim_forget_old(struct wf_swim *s, int64_t now)
{
    struct wf_list_node *k;
    for (int i = 0; i < FORGOTTEN_AT_ONCE && (k = wf_list_first(&s->gone)) != NULL; i++) {
        struct wf_swim_member *m = WF_CONTAINER(k, struct wf_swim_member, in_state);
        if (now - m->since < s->o.keep) return;
        forget(s, m);
    }
}

static bool is_hearsay(const struct wf_swim *s, const struct wf_swim_member *m)
{
    bool heard = s->user->heard != NULL && s->user->heard(s->arg, m->node);
    return m != s->self && !m->own && !heard;
}

void wf_swim_make_room(struct wf_swim *s)
{
    if (s->count < WF_SWIM_MEMBERS_MAX) return;
    struct wf_list_node *k = wf_list_first(&s->gone);
    struct wf_swim_member *m = k == NULL ? NULL : WF_CONTAINER(k, struct wf_swim_member, in_state);
    for (uint32_t i = 0; m == NULL && i < s->count; i++) m = is_hearsay(s, s->at[i]) ? s->at[i] : NULL;
    if (m != NULL) forget(s, m);
}

void wf_swim_enter(struct wf_swim *s, struct wf_swim_member *m, enum wf_swim_state state, uint64_t number,
                   int64_t now)
{
    enum wf_swim_state before = m->state;
    s->digest ^= digest_of(m);
    s->present += (uint32_t)(state <= WF_SWIM_SUSPECT) - (uint32_t)wf_swim_present(m);
    m->number = number;
    if (state != before) {
        m->state = state;
        m->since = now;
        wf_unlink(&m->in_state);
        if (state == WF_SWIM_SUSPECT) wf_list_push(&s->suspects, &m->in_state);
        if (state >= WF_SWIM_DOWN && m != s->self) wf_list_push(&s->gone, &m->in_state);
    }
    if (state == WF_SWIM_ALIVE) m->accuser_count = 0;
    if (state != WF_SWIM_SUSPECT) wf_unlink(&m->in_rechecks);
    if (state != WF_SWIM_SUSPECT) m->recheck = false;
    if (state >= WF_SWIM_DOWN && s->target == m) s->target = NULL;
    s->digest ^= digest_of(m);
    s->user->changed(s->arg, m, before);
}

void wf_swim_shuffle(struct wf_swim *s)
{
    for (uint32_t i = s->count; i > 1; i--) swap(s, i - 1, wf_swim_below(s, i));
}

/* ---- Updates --------------------------------------------------------------------------------------------------- */

void wf_swim_update(struct wf_swim *s, struct wf_swim_member *m)
{
    if (!wf_linked(&m->in_updates)) s->update_count++;
    s->period_end = WF_MIN(s->period_end, s->ordinary_end); /* a quiet period ends */
    wf_unlink(&m->in_updates);
    m->sends = 0;
    wf_list_push_front(&s->updates[0],
                       &m->in_updates); /* at the front, as it may be about the member that is answered just now */
}

struct wf_swim_update wf_swim_entry(const struct wf_swim_member *m)
{
    struct wf_swim_update u = {.node = m->node, .state = m->state, .number = m->number};
    if (m->state == WF_SWIM_SUSPECT && m->accuser_count > 0) u.by = m->by[m->accuser_count - 1];
    if (m->state == WF_SWIM_DOWN) u.by = m->by[0];
    if (wf_swim_present(m)) u.record = m->record;
    return u;
}

size_t wf_swim_entry_size(const struct wf_swim_member *m)
{
    return 32 + m->record.size;
}

static void was_sent(struct wf_swim *s, struct wf_swim_member *m, uint32_t limit)
{
    if (!wf_linked(&m->in_updates)) return;
    wf_unlink(&m->in_updates);
    if (++m->sends < limit) wf_list_push(&s->updates[m->sends], &m->in_updates);
    else s->update_count--;
}

uint32_t wf_swim_pick(struct wf_swim *s, struct wf_swim_member *first, struct wf_swim_member **out, size_t space)
{
    uint32_t count = 0, limit = WF_MIN(s->o.spread * wf_swim_logarithm(s->present), (uint32_t)WF_SWIM_SENDS_MAX);
    if (first != NULL) {
        space -= wf_swim_entry_size(first);
        out[count++] = first;
    }
    for (uint32_t i = 0, seen = 0; i <= WF_SWIM_SENDS_MAX && seen < s->update_count; i++) {
        WF_LIST_EACH(k, &s->updates[i]) {
            struct wf_swim_member *m = WF_CONTAINER(k, struct wf_swim_member, in_updates);
            seen++;
            if (m == first) continue;
            if (count >= UPDATES || wf_swim_entry_size(m) > space) goto full;
            space -= wf_swim_entry_size(m);
            out[count++] = m;
        }
    }
full:
    for (uint32_t i = 0; i < count; i++) was_sent(s, out[i], limit);
    return count;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

bool wf_swim_table_init(struct wf_swim *s)
{
    for (size_t i = 0; i < WF_COUNT(s->updates); i++) wf_list_init(&s->updates[i]);
    wf_list_init(&s->suspects);
    wf_list_init(&s->gone);
    wf_list_init(&s->rechecks);
    return grow(s);
}

void wf_swim_table_finish(struct wf_swim *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        free((char *)s->at[i]->record.data);
        free(s->at[i]);
    }
    free(s->at);
    wf_hash_table_finish(&s->nodes);
    wf_hash_table_finish(&s->names);
}
