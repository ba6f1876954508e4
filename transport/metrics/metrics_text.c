/* transport/metrics/metrics_text.c -- the text that Prometheus reads. Labels are bounded: workers, reasons, states,
 * 64 kinds of actors, 100 peers. */
#include "metrics_text.h"
#include "answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_buffer.h"
#include "peers.h"
#include "snapshot.h"
#include "stuck.h"
#include "transport.h"

enum { LABEL = 80 };
/* Of histograms, powers of two in nanoseconds: 131 us to 4.3 s, and 1 us to 17 s. */
enum { ANSWER_BITS_MIN = 17, ANSWER_BITS_MAX = 32, MAILBOX_BITS_MIN = 10, MAILBOX_BITS_MAX = 34 };

static void head(struct wf_text_buffer *t, const char *name, const char *type, const char *help)
{
    wf_text_buffer_put(t, "# HELP weft_%s %s\n# TYPE weft_%s %s\n", name, help, name, type);
}

static void single(struct wf_text_buffer *t, const char *name, const char *type, const char *help, uint64_t value)
{
    head(t, name, type, help);
    wf_text_buffer_put(t, "weft_%s %" PRIu64 "\n", name, value);
}

/* Names come from users and from other nodes: characters that could end a label, or are not ASCII, become '_'. */
static const char *label(char out[LABEL], const char *value)
{
    size_t n = 0;
    for (; value[n] != '\0' && n < LABEL - 1; n++) {
        bool plain = value[n] >= ' ' && value[n] <= '~' && value[n] != '"' && value[n] != '\\';
        out[n] = value[n];
        if (!plain) out[n] = '_';
    }
    out[n] = '\0';
    return out;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* `labels`: "", or of the form 'kind="a",'. */
static void put_histogram(struct wf_text_buffer *t, const char *name, const char *labels,
                          const struct wf_histogram *h, int bits_min, int bits_max)
{
    int only = WF_MAX((int)strlen(labels) - 1, 0); /* without the comma */
    uint64_t all = wf_histogram_count(h);
    for (int bits = bits_min; bits <= bits_max; bits++)
        wf_text_buffer_put(t, "weft_%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, labels, seconds(INT64_C(1) << bits),
                           wf_histogram_below(h, bits));
    wf_text_buffer_put(t, "weft_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, all);
    const char *open = only > 0 ? "{" : "", *close = only > 0 ? "}" : "";
    wf_text_buffer_put(t, "weft_%s_sum%s%.*s%s %.9f\n", name, open, only, labels, close, h->sum / 1e9);
    wf_text_buffer_put(t, "weft_%s_count%s%.*s%s %" PRIu64 "\n", name, open, only, labels, close, all);
}

/* ---- Workers --------------------------------------------------------------------------------------------------- */

/* The last one may be that of weft's own actors. */
static const char *worker_label(char out[LABEL], const struct wf_workers *set, uint32_t i)
{
    if (i < set->users) snprintf(out, LABEL, "%u", (unsigned)i);
    else snprintf(out, LABEL, "own");
    return out;
}

static void put_each_worker(struct wf_text_buffer *t, const struct wf_workers *set, const struct wf_node_stats *stats,
                            const char *name, const char *type, const char *help, size_t field)
{
    head(t, name, type, help);
    for (uint32_t i = 0; i < stats->workers; i++) {
        const struct wf_node_stats_worker *w = &stats->worker[i];
        if (!w->counted) continue;
        char worker[LABEL];
        uint64_t value;
        memcpy(&value, (const char *)w + field, sizeof value);
        wf_text_buffer_put(t, "weft_%s{worker=\"%s\"} %" PRIu64 "\n", name, worker_label(worker, set, i), value);
    }
}

/* Of all workers, whether they answer or not. */
static void put_turns(struct wf_text_buffer *t, const struct wf_workers *set)
{
    head(t, "worker_turn_seconds", "histogram", "How long turns of the worker's loop take.");
    for (uint32_t i = 0; i < set->count; i++) {
        const struct wf_pace *p = &set->at[i]->pace;
        uint64_t below = 0;
        char worker[LABEL];
        (void)worker_label(worker, set, i);
        for (int bits = WF_TURN_BITS_MIN; bits <= WF_TURN_BITS_MAX + 1; bits++) {
            below += atomic_load_explicit(&p->turns[bits - WF_TURN_BITS_MIN], memory_order_relaxed);
            if (bits > WF_TURN_BITS_MAX) break;
            wf_text_buffer_put(t, "weft_worker_turn_seconds_bucket{worker=\"%s\",le=\"%g\"} %" PRIu64 "\n", worker,
                               seconds(INT64_C(1) << bits), below);
        }
        wf_text_buffer_put(t, "weft_worker_turn_seconds_bucket{worker=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", worker,
                           below);
        wf_text_buffer_put(t, "weft_worker_turn_seconds_sum{worker=\"%s\"} %.9f\n", worker,
                           seconds(atomic_load_explicit(&p->busy, memory_order_relaxed)));
        wf_text_buffer_put(t, "weft_worker_turn_seconds_count{worker=\"%s\"} %" PRIu64 "\n", worker, below);
    }
    head(t, "worker_held_up_seconds", "gauge",
         "How long an actor has held the worker up without waiting; 0 if none does.");
    for (uint32_t i = 0; i < set->users; i++) {
        struct wf_stuck s;
        int64_t ns = wf_stuck_at((struct wf_workers *)(uintptr_t)set, i, &s) ? s.now - s.began : 0;
        wf_text_buffer_put(t, "weft_worker_held_up_seconds{worker=\"%u\"} %.3f\n", (unsigned)i, seconds(ns));
    }
}

static void put_workers(struct wf_text_buffer *t, const struct wf_workers *set, const struct wf_node_stats *stats)
{
    uint64_t received = 0, bytes = 0;
    for (uint32_t i = 0; i < stats->workers; i++) {
        received += stats->worker[i].received;
        bytes += stats->worker[i].mailbox_bytes;
    }
    single(t, "workers", "gauge", "Worker threads of users' actors.", set->users);
#define EACH(name, type, help, field) \
    put_each_worker(t, set, stats, name, type, help, offsetof(struct wf_node_stats_worker, field))
    EACH("worker_turns_total", "counter", "Turns of the worker's loop.", turns);
    EACH("worker_sleeps_total", "counter", "How often the worker slept because it had nothing to do.", sleeps);
    EACH("worker_posts_total", "counter", "Posts from other threads to the worker.", posts);
    EACH("worker_timers_fired_total", "counter", "Timers that were due.", timers_fired);
    EACH("worker_parked_total", "counter", "How often the stack of an idle actor was parked.", parked);
    EACH("worker_runnable_actors", "gauge", "Actors that are ready to run.", runnable);
#undef EACH
    single(t, "messages_received_total", "counter", "Messages that actors have received.", received);
    single(t, "mailbox_bytes", "gauge", "Bytes of the messages in all mailboxes.", bytes);
}

/* ---- Actors ---------------------------------------------------------------------------------------------------- */

static uint64_t actors(const struct wf_node_stats_kind *k)
{
    return k->actors;
}
static uint64_t waiting(const struct wf_node_stats_kind *k)
{
    return k->waiting;
}
static uint64_t deepest(const struct wf_node_stats_kind *k)
{
    return k->deepest;
}
static uint64_t mailbox_bytes(const struct wf_node_stats_kind *k)
{
    return k->memory.mailbox;
}
static uint64_t held(const struct wf_node_stats_kind *k)
{
    return k->held;
}
static uint64_t held_bytes(const struct wf_node_stats_kind *k)
{
    return k->memory.held;
}
static uint64_t stack_bytes(const struct wf_node_stats_kind *k)
{
    return k->memory.stack;
}
static uint64_t heap_bytes(const struct wf_node_stats_kind *k)
{
    return k->memory.heap;
}

static void put_each_kind(struct wf_text_buffer *t, const struct wf_node_stats *stats, const char *name,
                          const char *help, uint64_t (*value)(const struct wf_node_stats_kind *k))
{
    char kind[LABEL];
    head(t, name, "gauge", help);
    for (uint32_t i = 0; i < stats->kinds; i++) {
        const struct wf_node_stats_kind *k = &stats->kind[i];
        wf_text_buffer_put(t, "weft_%s{kind=\"%s\"} %" PRIu64 "\n", name, label(kind, k->kind), value(k));
    }
}

static void put_mailbox_times(struct wf_text_buffer *t, const struct wf_node_stats *stats)
{
    char kind[LABEL], labels[LABEL + 16];
    head(t, "mailbox_seconds", "histogram", "How long messages waited in mailboxes, estimated from a sample.");
    for (uint32_t i = 0; i < stats->kinds; i++) {
        const struct wf_node_stats_kind *k = &stats->kind[i];
        if (wf_histogram_count(&k->mail) == 0) continue;
        snprintf(labels, sizeof labels, "kind=\"%s\",", label(kind, k->kind));
        put_histogram(t, "mailbox_seconds", labels, &k->mail, MAILBOX_BITS_MIN, MAILBOX_BITS_MAX);
    }
}

static void put_actors(struct wf_text_buffer *t, const struct wf_node_stats *stats)
{
    put_each_kind(t, stats, "actors", "Actors that are alive.", actors);
    put_each_kind(t, stats, "mailbox_messages", "Messages in the mailboxes of all actors of a kind.", waiting);
    put_each_kind(t, stats, "mailbox_deepest_messages", "Messages in the fullest mailbox of a kind.", deepest);
    put_each_kind(t, stats, "actors_mailbox_bytes", "Bytes of the messages in the mailboxes of a kind.",
                  mailbox_bytes);
    put_each_kind(t, stats, "actors_held_messages", "Messages that actors have received or made and have not freed.",
                  held);
    put_each_kind(t, stats, "actors_held_bytes", "Bytes of the messages that actors hold, estimated.", held_bytes);
    put_each_kind(t, stats, "actors_stack_bytes", "Memory of the stacks of a kind.", stack_bytes);
    put_each_kind(t, stats, "actors_heap_bytes", "Heap memory that the runtime uses for the actors of a kind.",
                  heap_bytes);
    put_mailbox_times(t, stats);
}

static void put_drops(struct wf_text_buffer *t, const struct wf_transport *tr)
{
    struct wf_drop_count drops[WF_ALL_DROPS];
    wf_transport_drops(tr, drops);
    head(t, "messages_dropped_total", "counter", "Messages and frames that did not reach an actor.");
    for (int i = 0; i < WF_ALL_DROPS; i++)
        wf_text_buffer_put(t, "weft_messages_dropped_total{reason=\"%s\"} %" PRIu64 "\n", drops[i].reason,
                           drops[i].count);
}

/* ---- Links ----------------------------------------------------------------------------------------------------- */

static void put_each_link(struct wf_text_buffer *t, const struct wf_link_seen *links, uint32_t n, const char *name,
                          const char *type, const char *help, size_t field)
{
    head(t, name, type, help);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t value;
        char peer[LABEL];
        if (!links[i].linked) continue;
        memcpy(&value, (const char *)&links[i] + field, sizeof value);
        wf_text_buffer_put(t, "weft_%s{peer=\"%s\"} %" PRIu64 "\n", name, label(peer, links[i].peer), value);
    }
}

static void put_links(struct wf_text_buffer *t, const struct wf_transport *tr)
{
    uint64_t states[WF_PEER_STATES];
    char peer[LABEL];
    struct wf_link_seen *links = calloc(WF_LINKS_SHOWN, sizeof *links);
    t->failed = t->failed || links == NULL;
    if (links == NULL) return;
    uint32_t n = wf_links_seen(tr, links, states);
    head(t, "peers", "gauge", "Other nodes that this one knows.");
    for (int i = 0; i < WF_PEER_STATES; i++)
        wf_text_buffer_put(t, "weft_peers{state=\"%s\"} %" PRIu64 "\n", wf_peer_state_names[i], states[i]);
    head(t, "link_round_trip_seconds", "gauge", "Round trip of the last heartbeat.");
    for (uint32_t i = 0; i < n; i++) {
        if (!links[i].linked) continue;
        wf_text_buffer_put(t, "weft_link_round_trip_seconds{peer=\"%s\"} %.9f\n", label(peer, links[i].peer),
                           seconds(links[i].round_trip));
    }
#define EACH(name, type, help, field) \
    put_each_link(t, links, n, name, type, help, offsetof(struct wf_link_seen, field))
    EACH("link_received_bytes_total", "counter", "Bytes received from the peer.", bytes_in);
    EACH("link_sent_bytes_total", "counter", "Bytes sent to the peer.", bytes_out);
    EACH("link_received_frames_total", "counter", "Frames received from the peer.", frames_in);
    EACH("link_sent_frames_total", "counter", "Frames sent to the peer.", frames_out);
    EACH("link_resumes_total", "counter", "How often the link was resumed over a new connection.", resumes);
    EACH("link_refused_frames_total", "counter",
         "Frames of the peer that were refused because of its role or limits.", refused);
    EACH("link_backlog_bytes", "gauge", "Bytes for the peer that are queued or not yet acknowledged.", backlog);
    EACH("link_unacknowledged_frames", "gauge", "Frames that the peer has not acknowledged.", unacked);
#undef EACH
    free(links);
}

/* ---- The node -------------------------------------------------------------------------------------------------- */

static void put_node(struct wf_text_buffer *t, const struct wf_transport *tr)
{
    char name[LABEL], cluster[LABEL];
    struct pf_usage used;
    head(t, "node_info", "gauge", "Which node this is; always 1.");
    wf_text_buffer_put(t, "weft_node_info{node=\"%s\",cluster=\"%s\",incarnation=\"%016" PRIx64 "\"} 1\n",
                       label(name, tr->node->name), label(cluster, tr->node->cluster), tr->node->incarnation);
    single(t, "in_minority", "gauge", "1 if the node is in a minority of its cluster, else 0.",
           wf_node_in_minority(tr->node));
    pf_usage(&used);
    wf_text_buffer_put(
        t,
        "# HELP process_cpu_seconds_total Processor time of the process.\n# TYPE process_cpu_seconds_total counter\n"
        "process_cpu_seconds_total %.6f\n",
        seconds(used.processor));
    if (used.resident > 0)
        wf_text_buffer_put(t,
                           "# HELP process_resident_memory_bytes Memory of the process.\n"
                           "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %" PRIu64 "\n",
                           used.resident);
}

int wf_metrics_text(const struct wf_transport *tr, const struct wf_node_stats *stats,
                    const struct wf_histogram *answers, char **out)
{
    struct wf_text_buffer t = {.data = NULL};
    put_node(&t, tr);
    put_workers(&t, &tr->node->workers, stats);
    put_turns(&t, &tr->node->workers);
    head(&t, "worker_response_seconds", "histogram", "How long it took until a worker handled a scrape or a probe.");
    put_histogram(&t, "worker_response_seconds", "", answers, ANSWER_BITS_MIN, ANSWER_BITS_MAX);
    put_actors(&t, stats);
    put_drops(&t, tr);
    put_links(&t, tr);
    if (t.failed) {
        free(t.data);
        return WEFT_ENOMEM;
    }
    *out = t.data;
    return WEFT_OK;
}
