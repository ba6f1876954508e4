/* cli/inspect/record_trace.c -- weft inspect --trace: the flight recorder of a node in the form that Perfetto and
 * chrome://tracing read.
 *
 * The node is the process, each actor a thread with its name. A wait is a slice from its beginning to its end; all
 * else is a slice without length. An arrow leads from the sending of a message to its receipt, where both are
 * recorded: between the same two actors, messages of one tag arrive in the order in which they were sent. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record_trace.h"
#include "control.h"
#include "json.h"

struct track {
    weft_pid pid;
    const struct cli_event *wait; /* the wait that has not ended */
    char label[160];
};

struct trace {
    const struct cli_event *events;
    size_t count;
    struct track *tracks; /* in the order of their pids */
    size_t track_count;
    bool any; /* is printed */
};

/* ---- Actors ---------------------------------------------------------------------------------------------------- */

static int compare_pids(weft_pid a, weft_pid b)
{
    if (a.node != b.node) return a.node < b.node ? -1 : 1;
    return a.actor == b.actor ? 0 : a.actor < b.actor ? -1 : 1;
}

static int compare_tracks(const void *a, const void *b)
{
    return compare_pids(((const struct track *)a)->pid, ((const struct track *)b)->pid);
}

static struct track *track_of(const struct trace *t, weft_pid pid)
{
    struct track key = {.pid = pid};
    return bsearch(&key, t->tracks, t->track_count, sizeof *t->tracks, compare_tracks);
}

static size_t number_of(const struct trace *t, weft_pid pid)
{
    return (size_t)(track_of(t, pid) - t->tracks) + 1;
}

static bool find_tracks(struct trace *t)
{
    t->tracks = calloc(t->count + 1, sizeof *t->tracks);
    if (t->tracks == NULL) return false;
    for (size_t i = 0; i < t->count; i++) t->tracks[i].pid = t->events[i].r.actor;
    qsort(t->tracks, t->count, sizeof *t->tracks, compare_tracks);
    for (size_t i = 0; i < t->count; i++) {
        if (t->track_count > 0 && compare_tracks(&t->tracks[i], &t->tracks[t->track_count - 1]) == 0) continue;
        t->tracks[t->track_count++].pid = t->tracks[i].pid;
    }
    for (size_t i = 0; i < t->track_count; i++) {
        char pid[WEFT_PID_TEXT];
        weft_pid_format(t->tracks[i].pid, pid);
        snprintf(t->tracks[i].label, sizeof t->tracks[i].label, "%.*s", (int)strcspn(pid, "@"), pid);
    }
    return true;
}

void cli_record_trace_name(void *to, weft_pid pid, weft_text kind, weft_text name)
{
    struct track *k = track_of(to, pid);
    size_t n = k == NULL ? 0 : strcspn(k->label, " ");
    weft_text called = name.size > 0 ? name : kind;
    if (k != NULL) snprintf(k->label + n, sizeof k->label - n, " %.*s", WEFT_STR(called));
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

/* The values that each has; more may follow, and then "}". Times are since the oldest event: viewers read them as
 * floating point, which has no microseconds left of what weft_now() says. */
static void begin(struct trace *t, const char *phase, int64_t at, size_t track)
{
    printf("%s{\"ph\": \"%s\", \"ts\": %.3f, \"pid\": 1, \"tid\": %zu", t->any ? ",\n" : "", phase,
           (double)(at - t->events[0].r.at) / 1e3, track);
    t->any = true;
}

static void print_slice(struct trace *t, const struct cli_event *e, const char *name, int64_t end)
{
    char text[WEFT_RECORD_TEXT];
    begin(t, "X", e->r.at, number_of(t, e->r.actor));
    printf(", \"dur\": %.3f, \"cat\": \"%s\", \"name\": ", (double)(end - e->r.at) / 1e3,
           e->r.kind == WEFT_RECORD_WAIT ? "wait" : "event");
    cli_print_string(stdout, name, strlen(name));
    printf(", \"args\": {\"worker\": %d, \"text\": ", e->r.worker);
    weft_record_format(&e->r, text);
    cli_print_string(stdout, text, strlen(text));
    fputs("}}", stdout);
}

/* A wait whose beginning was overwritten is not shown; one that has not ended lasts until the last event. */
static void print_event(struct trace *t, const struct cli_event *e)
{
    struct track *k = track_of(t, e->r.actor);
    char name[96];
    if ((e->r.kind == WEFT_RECORD_WAKE || e->r.kind == WEFT_RECORD_WAIT || e->r.kind == WEFT_RECORD_EXIT) &&
        k->wait != NULL) {
        snprintf(name, sizeof name, "waits for %s", k->wait->what);
        print_slice(t, k->wait, name, e->r.at);
        k->wait = NULL;
    }
    if (e->r.kind == WEFT_RECORD_WAIT) k->wait = e;
    if (e->r.kind != WEFT_RECORD_WAIT && e->r.kind != WEFT_RECORD_WAKE)
        print_slice(t, e, cli_event_name(&e->r), e->r.at);
}

/* ---- Arrows ---------------------------------------------------------------------------------------------------- */

struct passing {
    weft_pid from, to;
    int64_t tag;
    size_t index; /* the index of its event */
    bool receipt;
};

static int compare_pairs(const struct passing *a, const struct passing *b)
{
    int from = compare_pids(a->from, b->from), to = compare_pids(a->to, b->to);
    return from != 0 ? from : to != 0 ? to : a->tag != b->tag ? (a->tag < b->tag ? -1 : 1) : 0;
}

static int compare_passings(const void *a, const void *b)
{
    const struct passing *p = a, *q = b;
    int pair = compare_pairs(p, q);
    if (pair != 0) return pair;
    if (p->receipt != q->receipt) return p->receipt ? 1 : -1;
    return p->index < q->index ? -1 : 1;
}

static void print_arrow(struct trace *t, const struct passing *send, const struct passing *receipt, size_t id)
{
    const struct weft_record *s = &t->events[send->index].r, *r = &t->events[receipt->index].r;
    static const char named[] = ", \"cat\": \"message\", \"name\": \"message\"";
    begin(t, "s", s->at, number_of(t, s->actor));
    printf(", \"id\": %zu%s}", id, named);
    begin(t, "f", r->at, number_of(t, r->actor));
    printf(", \"bp\": \"e\", \"id\": %zu%s}", id, named);
}

static bool print_arrows(struct trace *t)
{
    struct passing *all = calloc(t->count + 1, sizeof *all);
    size_t count = 0, arrows = 0;
    if (all == NULL) return false;
    for (size_t i = 0; i < t->count; i++) {
        const struct weft_record *r = &t->events[i].r;
        if (r->kind == WEFT_RECORD_SEND) all[count++] = (struct passing){r->actor, r->other, r->value, i, false};
        if (r->kind == WEFT_RECORD_RECEIVE) all[count++] = (struct passing){r->other, r->actor, r->value, i, true};
    }
    qsort(all, count, sizeof *all, compare_passings);
    for (size_t first = 0, next; first < count; first = next) {
        size_t receipt = first;
        for (next = first; next < count && compare_pairs(&all[first], &all[next]) == 0; next++)
            if (!all[next].receipt) receipt = next + 1;
        for (size_t send = first, end = receipt; send < end && receipt < next; receipt++) {
            /* A receipt before this send belongs to a send that was overwritten. */
            if (t->events[all[receipt].index].r.at >= t->events[all[send].index].r.at)
                print_arrow(t, &all[send++], &all[receipt], ++arrows);
        }
    }
    free(all);
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

static void print_names(struct trace *t, const char *node)
{
    begin(t, "M", 0, 0);
    fputs(", \"name\": \"process_name\", \"args\": {\"name\": ", stdout);
    cli_print_string(stdout, node, strlen(node));
    fputs("}}", stdout);
    for (size_t i = 0; i < t->track_count; i++) {
        begin(t, "M", 0, i + 1);
        fputs(", \"name\": \"thread_name\", \"args\": {\"name\": ", stdout);
        cli_print_string(stdout, t->tracks[i].label, strlen(t->tracks[i].label));
        fputs("}}", stdout);
    }
}

bool cli_print_record_trace(const struct cli_event *events, size_t count, const char *node,
                            void (*name_all)(void *to, void *arg), void *arg)
{
    struct trace t = {.events = events, .count = count};
    if (!find_tracks(&t)) return false;
    name_all(&t, arg);
    puts("[");
    print_names(&t, node);
    for (size_t i = 0; i < count; i++) print_event(&t, &events[i]);
    for (size_t i = 0; i < t.track_count; i++) {
        const struct cli_event *e = t.tracks[i].wait;
        char name[96];
        if (e == NULL) continue;
        snprintf(name, sizeof name, "waits for %s", e->what);
        print_slice(&t, e, name, events[count - 1].r.at);
    }
    bool drawn = print_arrows(&t);
    puts("\n]");
    free(t.tracks);
    return drawn;
}
