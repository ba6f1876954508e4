/* transport/admin/snapshot.c -- see snapshot.h. */
#include "snapshot.h"

#include "pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "inspect_worker.h"
#include "peers.h"
#include "link_writer.h"
#include "peer_link.h"
#include "stuck.h"
#include "transport.h"

#define LOOK_WITHIN WEFT_SEC(2)
#define LOOK_AT_ALL_WITHIN WEFT_SEC(4)

/* ---- Links ----------------------------------------------------------------------------------------------------- */

static uint64_t count(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void describe(struct wf_link_seen *l, const struct wf_peer *p)
{
    struct wf_link *s = p->link;
    *l = (struct wf_link_seen){.incarnation = p->incarnation, .linked = s != NULL};
    l->state = wf_peer_state_text(p);
    snprintf(l->peer, sizeof l->peer, "%s", p->name);
    if (s == NULL) return;
    l->round_trip = atomic_load_explicit(&s->rtt, memory_order_relaxed);
    l->bytes_in = count(&s->bytes_in);
    l->bytes_out = count(&s->bytes_out);
    l->frames_in = count(&s->frames_in);
    l->frames_out = count(&s->frames_out);
    l->resumes = count(&s->resumes);
    l->refused = count(&s->refused);
    l->backlog = atomic_load_explicit(&s->bytes, memory_order_relaxed) +
                 atomic_load_explicit(&s->chunk_bytes, memory_order_relaxed);
    l->unacked = wf_link_unacked(s);
}

uint32_t wf_links_seen(const struct wf_transport *t, struct wf_link_seen *links, uint64_t states[WF_PEER_STATES])
{
    uint32_t n = 0;
    for (int i = 0; i < WF_PEER_STATES; i++) states[i] = 0;
    pf_mutex_lock(t->lock);
    WF_LIST_EACH(k, &t->cluster->peers) {
        const struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
        states[wf_peer_shown(p)]++;
        if (n < WF_LINKS_SHOWN) describe(&links[n++], p);
    }
    pf_mutex_unlock(t->lock);
    return n;
}

/* ---- Credit: each worker's link writer for each peer ----------------------------------------------------------- */

struct wf_ways {
    uint32_t count;
    struct way {
        uint64_t incarnation, receivers, withheld, waiting;
    } way[WF_LINKS_SHOWN];
};

static uint64_t length(const struct wf_list *l)
{
    uint64_t n = 0;
    WF_LIST_EACH(k, l) n++;
    return n;
}

static void look_at_credits(struct way *way, const struct wf_credits *c)
{
    enum { BUCKETS = 16384 }; /* bounds the work: receivers in further buckets are not looked at */
    way->receivers += c->table.count;
    for (uint32_t i = 0; i < WF_MIN(c->table.bucket_count, BUCKETS); i++) {
        WF_HASHED_IN(k, &c->table, i)
        {
            const struct wf_credit *e = WF_CONTAINER(k, struct wf_credit, in_table);
            way->withheld += e->left <= 0;
            way->waiting += length(&e->waiting);
        }
    }
}

/* For wf_worker_inspect. */
static bool look_at_ways(struct wf_worker *w, void *data)
{
    struct wf_ways *all = data;
    const struct wf_link_writers *p = w->transport;
    WF_LIST_EACH(k, &p->writers) {
        const struct wf_link_writer *writer = WF_CONTAINER(k, struct wf_link_writer, in_writers);
        if (all->count == WF_LINKS_SHOWN) break;
        struct way *way = &all->way[all->count++];
        way->incarnation = writer->incarnation;
        way->waiting = length(&writer->waiting);
        look_at_credits(way, &writer->credits);
    }
    return false;
}

static void add_ways(struct wf_snapshot *s, const struct wf_ways *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const struct way *way = &all->way[i];
        for (uint32_t k = 0; k < s->link_count; k++) {
            if (s->link[k].incarnation != way->incarnation) continue;
            s->link[k].receivers += way->receivers;
            s->link[k].withheld += way->withheld;
            s->link[k].waiting += way->waiting;
        }
    }
}

static int look_at_workers(struct wf_snapshot *s)
{
    int rc = WEFT_OK;
    if (s->link_count == 0) return rc;
    s->ways = malloc(sizeof *s->ways);
    if (s->ways == NULL) return WEFT_ENOMEM;
    for (uint32_t i = 0; i < s->stats.workers && rc == WEFT_OK; i++) {
        if (!s->stats.worker[i].counted) continue;
        memset(s->ways, 0, sizeof *s->ways);
        rc = wf_worker_inspect(s->t->node, i, look_at_ways, s->ways, sizeof *s->ways, weft_after(LOOK_WITHIN));
        if (rc == WEFT_OK) add_ways(s, s->ways);
        else if (rc == WEFT_ETIMEDOUT) rc = WEFT_OK; /* it has become busy: its part is missing */
    }
    return rc;
}

int wf_snapshot_take(struct wf_snapshot *s, struct wf_transport *t, const struct wf_top_want *want)
{
    uint64_t states[WF_PEER_STATES];
    s->t = t;
    int rc = wf_top_actors_init(&s->top, want);
    if (rc == WEFT_OK)
        rc = wf_node_stats_top(t->node, &s->stats, &s->top,
                               weft_after(want->exact ? LOOK_AT_ALL_WITHIN : LOOK_WITHIN));
    if (rc < 0 && rc != WEFT_ETIMEDOUT) return rc;
    s->at = weft_now();
    pf_usage(&s->usage);
    s->link_count = wf_links_seen(t, s->link, states);
    return look_at_workers(s);
}

void wf_snapshot_clear(void *snapshot)
{
    struct wf_snapshot *s = snapshot;
    wf_top_actors_free(&s->top);
    free(s->ways);
    s->ways = NULL;
}

/* ---- As msgpack ------------------------------------------------------------------------------------------------ */

static void put_list(weft_writer *w, const char *key, uint32_t values)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_array(w, values);
}

static void put_worker(weft_writer *w, const struct wf_snapshot *s, uint32_t i)
{
    const struct wf_node_stats_worker *k = &s->stats.worker[i];
    const struct wf_workers *set = &s->t->node->workers;
    struct wf_pace_seen pace;
    wf_pace_see(set->at[i], s->at, &pace);
    weft_put_map(w, 13);
    weft_put_str(w, weft_cstr("own"));
    weft_put_bool(w, i >= set->users);
    wf_put_number_of(w, "busy_ns", (uint64_t)pace.busy);
    wf_put_number_of(w, "longest_ns", (uint64_t)pace.longest);
    weft_put_str(w, weft_cstr("answers"));
    weft_put_bool(w, k->counted);
    wf_put_number_of(w, "answered_ns", (uint64_t)WF_MAX(k->answered_in, 0));
    wf_put_number_of(w, "turns", k->turns);
    wf_put_number_of(w, "sleeps", k->sleeps);
    wf_put_number_of(w, "posts", k->posts);
    wf_put_number_of(w, "timers_fired", k->timers_fired);
    wf_put_number_of(w, "parked", k->parked);
    wf_put_number_of(w, "runnable", k->runnable);
    wf_put_number_of(w, "received", k->received);
    wf_put_number_of(w, "mailbox_bytes", k->mailbox_bytes);
}

/* Pairs of an upper bound in ns and the count of values between the previous bound and it; empty ones are left out. */
static void put_histogram(weft_writer *w, const char *key, const struct wf_histogram *h)
{
    uint32_t filled = 0;
    for (int i = 0; i < WF_SPAN_BUCKETS; i++) filled += h->bucket[i] > 0;
    put_list(w, key, filled);
    for (int i = 0; i < WF_SPAN_BUCKETS; i++) {
        if (h->bucket[i] == 0) continue;
        weft_put_array(w, 2);
        weft_put_uint(w, (uint64_t)wf_histogram_bound(i));
        weft_put_uint(w, h->bucket[i]);
    }
}

static void put_kind(weft_writer *w, const struct wf_node_stats_kind *k)
{
    weft_put_map(w, 10);
    wf_put_text_of(w, "kind", k->kind);
    wf_put_number_of(w, "actors", k->actors);
    wf_put_number_of(w, "waiting", k->waiting);
    wf_put_number_of(w, "deepest", k->deepest);
    wf_put_number_of(w, "mailbox_bytes", k->memory.mailbox);
    wf_put_number_of(w, "held", k->held);
    wf_put_number_of(w, "held_bytes", k->memory.held);
    wf_put_number_of(w, "stack_bytes", k->memory.stack);
    wf_put_number_of(w, "heap_bytes", k->memory.heap);
    put_histogram(w, "mailbox_ns", &k->mail);
}

static void put_link(weft_writer *w, const struct wf_link_seen *l)
{
    weft_put_map(w, 14);
    wf_put_text_of(w, "peer", l->peer);
    wf_put_text_of(w, "state", l->state);
    wf_put_number_of(w, "rtt_ns", (uint64_t)WF_MAX(l->round_trip, 0));
    wf_put_number_of(w, "bytes_in", l->bytes_in);
    wf_put_number_of(w, "bytes_out", l->bytes_out);
    wf_put_number_of(w, "frames_in", l->frames_in);
    wf_put_number_of(w, "frames_out", l->frames_out);
    wf_put_number_of(w, "backlog", l->backlog);
    wf_put_number_of(w, "unacked", l->unacked);
    wf_put_number_of(w, "resumes", l->resumes);
    wf_put_number_of(w, "refused", l->refused);
    wf_put_number_of(w, "receivers", l->receivers);
    wf_put_number_of(w, "withheld", l->withheld);
    wf_put_number_of(w, "waiting", l->waiting);
}

static void put_actor(weft_writer *w, const struct wf_actor_info *a)
{
    char pid[WEFT_PID_TEXT];
    weft_put_map(w, 10);
    wf_put_text_of(w, "pid", weft_pid_format(a->pid, pid));
    wf_put_text_of(w, "kind", a->kind);
    wf_put_text_of(w, "name", a->name);
    wf_put_text_of(w, "state", a->state);
    wf_put_text_of(w, "waits_for", a->waits_for);
    wf_put_number_of(w, "mailbox", a->mailbox);
    wf_put_number_of(w, "mailbox_max", a->mailbox_max);
    wf_put_number_of(w, "received", a->received);
    wf_put_number_of(w, "dropped", a->dropped);
    wf_put_number_of(w, "stack_most", a->stack_most);
}

static void put_stuck(weft_writer *w, const struct wf_transport *t, const struct wf_stuck *s)
{
    char pid[WEFT_PID_TEXT], where[WF_STUCK_TEXT];
    weft_pid who = {.node = t->node->incarnation, .actor = s->actor};
    wf_stuck_where(s, where);
    weft_put_map(w, 6);
    wf_put_number_of(w, "worker", s->worker);
    wf_put_text_of(w, "pid", s->actor == 0 ? "" : weft_pid_format(who, pid));
    wf_put_text_of(w, "kind", s->kind);
    wf_put_text_of(w, "name", s->name);
    wf_put_number_of(w, "ns", (uint64_t)(s->now - s->began));
    wf_put_text_of(w, "where", where[0] == '\0' ? "" : where + sizeof " in " - 1);
}

void wf_put_stuck(weft_writer *w, const struct wf_transport *t, const void *data)
{
    struct wf_workers *set = &t->node->workers;
    struct wf_stuck s;
    uint64_t held_up = 0;
    (void)data;
    for (uint32_t i = 0; i < set->users; i++) held_up |= (uint64_t)wf_stuck_at(set, i, NULL) << i;
    weft_put_array(w, (uint32_t)__builtin_popcountll(held_up));
    for (uint32_t i = 0; i < set->users; i++) {
        if ((held_up >> i & 1) == 0) continue;
        if (!wf_stuck_at(set, i, &s)) s = (struct wf_stuck){.worker = i}; /* the worker is no longer blocked */
        put_stuck(w, t, &s);
    }
}

static void put_drops(weft_writer *w, const struct wf_transport *t)
{
    struct wf_drop_count drops[WF_ALL_DROPS];
    wf_transport_drops(t, drops);
    weft_put_str(w, weft_cstr("drops"));
    weft_put_map(w, WF_ALL_DROPS);
    for (int i = 0; i < WF_ALL_DROPS; i++) wf_put_number_of(w, drops[i].reason, drops[i].count);
}

static void put_queues(weft_writer *w, const weft_msg *queues)
{
    weft_put_str(w, weft_cstr("queues"));
    wf_pack_raw(w, weft_data(queues), weft_size(queues));
}

static const char *state_of(const weft_node *n)
{
    if (atomic_load_explicit(&n->stopping, memory_order_relaxed) || wf_node_is_draining(n)) return "draining";
    return wf_node_in_minority(n) ? "minority" : "up";
}

void wf_snapshot_put(weft_writer *w, const struct wf_snapshot *s)
{
    const weft_node *n = s->t->node;
    char run[24];
    uint64_t actors = 0;
    for (uint32_t i = 0; i < s->stats.kinds; i++) actors += s->stats.kind[i].actors;
    snprintf(run, sizeof run, "%016llx", (unsigned long long)n->incarnation);
    weft_put_map(w, s->queues == NULL ? 15 : 16);
    wf_put_text_of(w, "node", n->name);
    wf_put_text_of(w, "incarnation", run);
    wf_put_text_of(w, "cluster", n->cluster);
    wf_put_text_of(w, "state", state_of(n));
    wf_put_number_of(w, "at_ns", (uint64_t)s->at);
    wf_put_number_of(w, "resident_bytes", s->usage.resident);
    wf_put_number_of(w, "processor_ns", (uint64_t)s->usage.processor);
    wf_put_number_of(w, "actor_count", actors);
    wf_put_number_of(w, "actors_matched", s->top.matched);
    put_drops(w, s->t);
    put_list(w, "workers", s->stats.workers);
    for (uint32_t i = 0; i < s->stats.workers; i++) put_worker(w, s, i);
    weft_put_str(w, weft_cstr("stuck"));
    wf_put_stuck(w, s->t, NULL);
    put_list(w, "links", s->link_count);
    for (uint32_t i = 0; i < s->link_count; i++) put_link(w, &s->link[i]);
    if (s->queues != NULL) put_queues(w, s->queues);
    put_list(w, "kinds", s->stats.kinds);
    for (uint32_t i = 0; i < s->stats.kinds; i++) put_kind(w, &s->stats.kind[i]);
    put_list(w, "actors", s->top.count);
    for (uint32_t i = 0; i < s->top.count; i++) put_actor(w, &s->top.actors[i]);
}
