/* Many members in one process: a network in memory and in virtual time, with loss, delay, cuts and crashes. The
 * frames are those that travel between real nodes. Used by swim_net_test.c and bench/swim.c. */
#ifndef SWIM_NET_H
#define SWIM_NET_H

#include "swim.h"
#include "swim_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct swim_event {
    int64_t at;
    uint64_t serial;
    uint32_t to, from; /* from == to: its tick */
    uint32_t size;
    uint8_t *frame;
};

struct swim_node {
    struct swim_net *net;
    struct wf_swim *swim; /* NULL: never started */
    bool up;
    bool stopped;    /* neither reads nor ticks, and comes back */
    uint32_t side;   /* members of different sides do not hear each other */
    int64_t tick_at; /* of its only good tick event */
    uint64_t node_id;
    uint64_t sent, bytes_sent;
};

struct swim_net {
    struct swim_node *node;
    uint32_t count;
    struct swim_event *heap;
    size_t heap_size, heap_capacity;
    uint64_t serial, random;
    int64_t now;
    double loss; /* of each message */
    int64_t delay_min, delay_max;
    struct wf_swim_options options;
    void (*changed)(struct swim_net *net, uint32_t observer, const struct wf_swim_member *m,
                    enum wf_swim_state before);
    uint64_t sent, lost;
    void *arg;
};

static inline uint64_t net_random(struct swim_net *n)
{
    uint64_t x = n->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline double net_chance(struct swim_net *n)
{
    return (double)(net_random(n) >> 11) / 9007199254740992.0;
}

/* Member ids are their index + 1 in the low half, so that an observer finds who is meant. */
static inline uint32_t net_index(uint64_t node_id)
{
    return (uint32_t)(node_id & 0xFFFFFF) - 1;
}

static inline bool net_sooner(const struct swim_event *a, const struct swim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->serial < b->serial;
}

static inline void net_push(struct swim_net *n, struct swim_event e)
{
    if (n->heap_size == n->heap_capacity) {
        n->heap_capacity = n->heap_capacity == 0 ? 1024 : n->heap_capacity * 2;
        n->heap = realloc(n->heap, n->heap_capacity * sizeof *n->heap);
        if (n->heap == NULL) abort();
    }
    e.serial = n->serial++;
    size_t i = n->heap_size++;
    for (; i > 0 && net_sooner(&e, &n->heap[(i - 1) / 2]); i = (i - 1) / 2) n->heap[i] = n->heap[(i - 1) / 2];
    n->heap[i] = e;
}

static inline struct swim_event net_pop(struct swim_net *n)
{
    struct swim_event first = n->heap[0], last = n->heap[--n->heap_size];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n->heap_size) break;
        if (child + 1 < n->heap_size && net_sooner(&n->heap[child + 1], &n->heap[child])) child++;
        if (!net_sooner(&n->heap[child], &last)) break;
        n->heap[i] = n->heap[child];
        i = child;
    }
    n->heap[i] = last;
    return first;
}

static inline bool net_on_send(void *arg, uint64_t to, const void *frame, size_t size)
{
    struct swim_node *from = arg;
    struct swim_net *n = from->net;
    uint32_t index = net_index(to);
    n->sent++;
    from->sent++;
    from->bytes_sent += size;
    if (index >= n->count || n->node[index].node_id != to || n->node[index].side != from->side ||
        net_chance(n) < n->loss) {
        n->lost++;
        return true; /* a datagram: nobody says that it was lost */
    }
    int64_t delay = n->delay_min + (int64_t)(net_chance(n) * (double)(n->delay_max - n->delay_min));
    struct swim_event e = {.at = n->now + delay, .to = index, .from = (uint32_t)(from - n->node)};
    e.size = (uint32_t)size;
    if ((e.frame = malloc(size)) == NULL) abort();
    memcpy(e.frame, frame, size);
    net_push(n, e);
    return true;
}

static inline void net_on_changed(void *arg, const struct wf_swim_member *m, enum wf_swim_state before)
{
    struct swim_node *node = arg;
    struct swim_net *n = node->net;
    if (n->changed != NULL) n->changed(n, (uint32_t)(node - n->node), m, before);
}

static const struct wf_swim_user net_user = {.send = net_on_send, .changed = net_on_changed};

static inline void net_tick(struct swim_net *n, uint32_t i)
{
    struct swim_node *node = &n->node[i];
    if (!node->up || node->stopped) return;
    int64_t at = wf_swim_tick(node->swim, n->now);
    if (at == node->tick_at || at == WEFT_FOREVER) return;
    node->tick_at = at;
    net_push(n, (struct swim_event){.at = at, .to = i, .from = i});
}

static inline struct wf_swim_update net_entry(const struct swim_node *node, char name[16], uint8_t record[64])
{
    snprintf(name, 16, "n%u", net_index(node->node_id));
    struct wf_swim_record r = {.name = weft_cstr(name)};
    weft_writer w = weft_writer_on(record, 64);
    wf_put_swim_record(&w, &r);
    return (struct wf_swim_update){.node = node->node_id, .record = {(const char *)record, w.size}};
}

/* A new process of that index: another id each time. */
static inline void net_start(struct swim_net *n, uint32_t i)
{
    struct swim_node *node = &n->node[i];
    char name[16];
    uint8_t record[64];
    wf_swim_free(node->swim);
    node->net = n;
    node->node_id = ((net_random(n) | 1) << 24) | (i + 1);
    node->up = true;
    node->tick_at = 0;
    struct wf_swim_options o = n->options;
    o.seed = net_random(n);
    struct wf_swim_update u = net_entry(node, name, record);
    node->swim = wf_swim_new(&o, &net_user, node, node->node_id, u.record, n->now);
    if (node->swim == NULL) abort();
    net_tick(n, i);
}

static inline struct swim_net *net_new(uint32_t count, uint64_t seed)
{
    struct swim_net *n = calloc(1, sizeof *n);
    if (n == NULL || (n->node = calloc(count, sizeof *n->node)) == NULL) abort();
    n->count = count;
    n->random = seed;
    n->now = WEFT_SEC(1);
    n->delay_min = WEFT_MS(1);
    n->delay_max = WEFT_MS(5);
    return n;
}

static inline void net_free(struct swim_net *n)
{
    for (size_t i = 0; i < n->heap_size; i++) free(n->heap[i].frame);
    for (uint32_t i = 0; i < n->count; i++) wf_swim_free(n->node[i].swim);
    free(n->heap);
    free(n->node);
    free(n);
}

/* Everybody starts, and knows everybody. */
static inline void net_start_full(struct swim_net *n)
{
    char name[16];
    uint8_t record[64];
    for (uint32_t i = 0; i < n->count; i++) net_start(n, i);
    for (uint32_t j = 0; j < n->count; j++) {
        struct wf_swim_update u = net_entry(&n->node[j], name, record);
        for (uint32_t i = 0; i < n->count; i++)
            if (i != j) wf_swim_learn(n->node[i].swim, &u, n->now);
    }
    /* Nothing of that is news. */
    for (uint32_t i = 0; i < n->count; i++) {
        struct wf_swim *s = n->node[i].swim;
        for (size_t k = 0; k < WF_COUNT(s->updates); k++)
            WF_LIST_EACH(link, &s->updates[k]) wf_unlink(link);
        s->update_count = 0;
        net_tick(n, i);
    }
}

static inline void net_crash(struct swim_net *n, uint32_t i)
{
    n->node[i].up = false;
}

static inline void net_greet(struct swim_net *n, uint32_t i, uint32_t other)
{
    wf_swim_greet(n->node[i].swim, n->node[other].node_id);
    wf_swim_greet(n->node[other].swim, n->node[i].node_id);
    net_tick(n, i);
    net_tick(n, other);
}

/* Handles one event, if it is due by `until`. */
static inline bool net_step(struct swim_net *n, int64_t until)
{
    if (n->heap_size == 0 || n->heap[0].at > until) {
        n->now = until;
        return false;
    }
    struct swim_event e = net_pop(n);
    struct swim_node *node = &n->node[e.to];
    n->now = e.at;
    if (e.frame == NULL) {
        if (e.at == node->tick_at) {
            node->tick_at = 0;
            net_tick(n, e.to);
        }
        return true;
    }
    if (node->stopped) { /* it lies in the socket until the process goes on */
        e.at += WEFT_MS(50);
        net_push(n, e);
        return true;
    }
    if (node->up && wf_swim_receive(node->swim, n->node[e.from].node_id, e.frame, e.size, n->now) < 0) abort();
    if (node->up) net_tick(n, e.to);
    free(e.frame);
    return true;
}

static inline void net_run(struct swim_net *n, int64_t until)
{
    while (net_step(n, until)) {}
}

/* How many of those that are up hold `i` for `state` (not known counts as LEFT). */
static inline uint32_t net_holding(const struct swim_net *n, uint32_t i, uint64_t node_id, enum wf_swim_state state)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < n->count; k++) {
        if (!n->node[k].up || k == i) continue;
        const struct wf_swim_member *m = wf_swim_find(n->node[k].swim, node_id);
        count += (m == NULL ? WF_SWIM_LEFT : m->state) == state;
    }
    return count;
}

/* Everybody who is up knows everybody who is up, alive, and nobody else. */
static inline bool net_converged(const struct swim_net *n)
{
    uint32_t up = 0;
    uint64_t digest = 0;
    bool first = true;
    for (uint32_t i = 0; i < n->count; i++) up += n->node[i].up;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct wf_swim *s = n->node[i].swim;
        if (!n->node[i].up) continue;
        if (s->present != up || !wf_list_empty(&s->suspects)) return false;
        if (!first && s->digest != digest) return false;
        digest = s->digest;
        first = false;
    }
    return true;
}

#endif
