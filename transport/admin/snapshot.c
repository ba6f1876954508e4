/* transport/admin/snapshot.c -- see snapshot.h. */
#include "snapshot.h"

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

/* ---- Credit: each worker's way to each peer -------------------------------------------------------------------- */

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
    enum { BUCKETS = 16384 }; /* a worker with more receivers has other work to do: what is beyond is not seen */
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
static void look_at_ways(struct wf_worker *w, void *data)
{
    struct wf_ways *all = data;
    const struct wf_link_writers *p = w->transport;
    WF_LIST_EACH(k, &p->writers) {
        const struct wf_link_writer *writer = WF_CONTAINER(k, struct wf_link_writer, in_writers);
        if (all->count == WF_LINKS_SHOWN) return;
        struct way *way = &all->way[all->count++];
        way->incarnation = writer->incarnation;
        way->waiting = length(&writer->waiting);
        look_at_credits(way, &writer->credits);
    }
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

static void put_text(weft_writer *w, const char *key, const char *value)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_str(w, weft_cstr(value));
}

static void put_number(weft_writer *w, const char *key, uint64_t value)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_uint(w, value);
}

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
    put_number(w, "busy_ns", (uint64_t)pace.busy);
    put_number(w, "longest_ns", (uint64_t)pace.longest);
    weft_put_str(w, weft_cstr("answers"));
    weft_put_bool(w, k->counted);
    put_number(w, "answered_ns", (uint64_t)WF_MAX(k->answered_in, 0));
    put_number(w, "turns", k->turns);
    put_number(w, "sleeps", k->sleeps);
    put_number(w, "posts", k->posts);
    put_number(w, "timers_fired", k->timers_fired);
    put_number(w, "parked", k->parked);
    put_number(w, "runnable", k->runnable);
    put_number(w, "received", k->received);
    put_number(w, "mailbox_bytes", k->mailbox_bytes);
}

/* [below so many ns, and not below the one before: how many], those that are not empty. */
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
    put_text(w, "kind", k->kind);
    put_number(w, "actors", k->actors);
    put_number(w, "waiting", k->waiting);
    put_number(w, "deepest", k->deepest);
    put_number(w, "mailbox_bytes", k->memory.mailbox);
    put_number(w, "held", k->held);
    put_number(w, "held_bytes", k->memory.held);
    put_number(w, "stack_bytes", k->memory.stack);
    put_number(w, "heap_bytes", k->memory.heap);
    put_histogram(w, "mail_ns", &k->mail);
}

static void put_link(weft_writer *w, const struct wf_link_seen *l)
{
    weft_put_map(w, 14);
    put_text(w, "peer", l->peer);
    put_text(w, "state", l->state);
    put_number(w, "rtt_ns", (uint64_t)WF_MAX(l->round_trip, 0));
    put_number(w, "bytes_in", l->bytes_in);
    put_number(w, "bytes_out", l->bytes_out);
    put_number(w, "frames_in", l->frames_in);
    put_number(w, "frames_out", l->frames_out);
    put_number(w, "backlog", l->backlog);
    put_number(w, "unacked", l->unacked);
    put_number(w, "resumes", l->resumes);
    put_number(w, "refused", l->refused);
    put_number(w, "receivers", l->receivers);
    put_number(w, "withheld", l->withheld);
    put_number(w, "waiting", l->waiting);
}

static void put_actor(weft_writer *w, const struct wf_actor_info *a)
{
    char pid[WEFT_PID_TEXT];
    weft_put_map(w, 10);
    put_text(w, "pid", weft_pid_format(a->pid, pid));
    put_text(w, "kind", a->kind);
    put_text(w, "name", a->name);
    put_text(w, "state", a->state);
    put_text(w, "waits_for", a->waits_for);
    put_number(w, "mailbox", a->mailbox);
    put_number(w, "mailbox_max", a->mailbox_max);
    put_number(w, "received", a->received);
    put_number(w, "dropped", a->dropped);
    put_number(w, "stack_most", a->stack_most);
}

static void put_stuck(weft_writer *w, const struct wf_transport *t, const struct wf_stuck *s)
{
    char pid[WEFT_PID_TEXT], where[WF_STUCK_TEXT];
    weft_pid who = {.node = t->node->incarnation, .actor = s->actor};
    wf_stuck_where(s, where);
    weft_put_map(w, 6);
    put_number(w, "worker", s->worker);
    put_text(w, "pid", s->actor == 0 ? "" : weft_pid_format(who, pid));
    put_text(w, "kind", s->kind);
    put_text(w, "name", s->name);
    put_number(w, "ns", (uint64_t)(s->now - s->began));
    put_text(w, "where", where[0] == '\0' ? "" : where + sizeof " in " - 1);
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
        if (!wf_stuck_at(set, i, &s)) s = (struct wf_stuck){.worker = i}; /* it has just gone on */
        put_stuck(w, t, &s);
    }
}

static void put_drops(weft_writer *w, const struct wf_transport *t)
{
    struct wf_drop_count drops[WF_ALL_DROPS];
    wf_transport_drops(t, drops);
    weft_put_str(w, weft_cstr("drops"));
    weft_put_map(w, WF_ALL_DROPS);
    for (int i = 0; i < WF_ALL_DROPS; i++) put_number(w, drops[i].reason, drops[i].count);
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
    weft_put_map(w, 15);
    put_text(w, "node", n->name);
    put_text(w, "incarnation", run);
    put_text(w, "cluster", n->cluster);
    put_text(w, "state", state_of(n));
    put_number(w, "at_ns", (uint64_t)s->at);
    put_number(w, "resident_bytes", s->usage.resident);
    put_number(w, "processor_ns", (uint64_t)s->usage.processor);
    put_number(w, "actor_count", actors);
    put_number(w, "actors_matched", s->top.matched);
    put_drops(w, s->t);
    put_list(w, "workers", s->stats.workers);
    for (uint32_t i = 0; i < s->stats.workers; i++) put_worker(w, s, i);
    weft_put_str(w, weft_cstr("stuck"));
    wf_put_stuck(w, s->t, NULL);
    put_list(w, "links", s->link_count);
    for (uint32_t i = 0; i < s->link_count; i++) put_link(w, &s->link[i]);
    put_list(w, "kinds", s->stats.kinds);
    for (uint32_t i = 0; i < s->stats.kinds; i++) put_kind(w, &s->stats.kind[i]);
    put_list(w, "actors", s->top.count);
    for (uint32_t i = 0; i < s->top.count; i++) put_actor(w, &s->top.actors[i]);
}
