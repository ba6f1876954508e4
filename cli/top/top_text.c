/* cli/top/top_text.c -- see top.h: snapshots as lines. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/pack.h>

#include "top_text.h"

void top_lines_clear(struct top_lines *l)
{
    free(l->line);
    *l = (struct top_lines){.width = l->width};
}

/* Lines fit into 80 columns; a name has this much more than then. */
static int spare(const struct top_lines *l, int most)
{
    return l->width <= 80 ? 0 : l->width - 80 < most ? l->width - 80 : most;
}

/* NULL: there is no memory. */
static char *add(struct top_lines *l, enum top_look look)
{
    if (l->count == l->capacity) {
        uint32_t capacity = l->capacity * 2 + 32;
        void *all = realloc(l->line, capacity * sizeof *l->line);
        l->failed = l->failed || all == NULL;
        if (all == NULL) return NULL;
        l->line = all;
        l->capacity = capacity;
    }
    l->line[l->count].look = look;
    return l->line[l->count++].text;
}

WEFT_PRINTF(3, 4) static void put(struct top_lines *l, enum top_look look, const char *format, ...)
{
    char *text = add(l, look);
    va_list args;
    if (text == NULL) return;
    va_start(args, format);
    vsnprintf(text, TOP_LINE, format, args);
    va_end(args);
}

/* The number of `all` lines that are shown if there is space for `most`: if only one is left out, it is shown,
 * because the line that reports it would take as much space. */
static uint32_t fitting(uint32_t all, uint32_t most)
{
    return all == most + 1 ? all : most;
}

static void put_left_out(struct top_lines *l, uint32_t all, uint32_t shown, const char *what)
{
    if (all > shown) put(l, TOP_FAINT, "... and %" PRIu32 " more %s", all - shown, what);
}

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

/* `fine`: the digits behind the point below ten; one less from there on. */
static const char *scaled(double value, double step, int fine, const char *const units[5], char out[16])
{
    int unit = 0;
    for (; value >= step - 0.5 && unit < 4; unit++) value /= step;
    int digits = value >= 99.5 ? fine - 2 : value >= 9.95 ? fine - 1 : fine;
    snprintf(out, 16, "%.*f%s", unit == 0 || digits < 0 ? 0 : digits, value, units[unit]);
    return out;
}

const char *top_number(double value, char out[16])
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    if (value >= 9999.5) return scaled(value, 1000, 2, units, out);
    if (value < 0) snprintf(out, 16, "-"); /* not known */
    else snprintf(out, 16, "%.0f", value);
    return out;
}

const char *top_bytes(double value, char out[16])
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    if (value >= 0) return scaled(value, 1024, 1, units, out);
    snprintf(out, 16, "-");
    return out;
}

const char *top_span(double ns, char out[16])
{
    const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
    double value = ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9;
    snprintf(out, 16, "%.*f %s", ns < 1e3 || value >= 100 ? 0 : value >= 10 ? 1 : 2, value, unit);
    return out;
}

/* A span that may not be known. */
static const char *span_or_not(double ns, char out[16])
{
    if (ns >= 0) return top_span(ns, out);
    snprintf(out, 16, "-");
    return out;
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

/* Whether something was dropped since the last look. */
static double drop_rate(const struct top_node *n)
{
    double sum = -1;
    for (uint32_t i = 0; i < n->drop_count; i++) {
        if (n->drops[i].rate >= 0) sum = (sum < 0 ? 0 : sum) + n->drops[i].rate;
    }
    return sum;
}

enum { SLOW_TURN = 100 * 1000 * 1000 }; /* ns: whose actors wait for so long has a reason to be looked at */

static void put_node(struct top_lines *l, const struct top_node *n)
{
    char rate[16], waiting[16], memory[16], processor[16] = "-", actors[16], drops[16], longest[16], busy[16] = "-";
    uint64_t mail = 0, slowest = 0;
    uint32_t users = 0;
    double busiest = -1;
    int wide = 10 + spare(l, 20);
    if (n->error[0] != '\0') {
        put(l, TOP_ALARM, "%-*.*s %s", wide, wide, n->name, n->error);
        return;
    }
    for (uint32_t i = 0; i < n->kind_count; i++) mail += n->kinds[i].waiting;
    for (uint32_t i = 0; i < n->worker_count; i++) {
        const struct top_worker *w = &n->workers[i];
        slowest = w->longest_ns > slowest ? w->longest_ns : slowest;
        busiest = w->busy > busiest ? w->busy : busiest;
        users += !w->own;
    }
    if (busiest >= 0) snprintf(busy, sizeof busy, "%.0f%%", (busiest > 1 ? 1 : busiest) * 100);
    if (n->processor >= 0) snprintf(processor, sizeof processor, "%.0f%%", n->processor * 100);
    bool loses = drop_rate(n) > 0, up = strcmp(n->state, "up") == 0;
    put(l,
        n->stuck_count > 0                     ? TOP_ALARM
        : loses || !up || slowest >= SLOW_TURN ? TOP_WARN
                                               : TOP_PLAIN,
        "%-*.*s %-8s %2" PRIu32 " %6s %6s %7s %7s %4s %8s %4s %7s", wide, wide, n->name, n->state, users,
        top_number((double)n->actor_count, actors), top_number(n->rate, rate), top_number((double)mail, waiting),
        slowest == 0 ? "-" : top_span((double)slowest, longest), busy,
        n->resident_bytes == 0 ? "-" : top_bytes((double)n->resident_bytes, memory), processor,
        top_number(drop_rate(n), drops));
}

/* Below the nodes: what names an actor that holds its worker up comes first, as lines may be cut. */
static void put_stuck(struct top_lines *l, const struct top_snapshot *s)
{
    char who[160], held[16];
    for (uint32_t i = 0; i < s->node_count; i++) {
        for (uint32_t k = 0; k < s->nodes[i].stuck_count; k++) {
            const struct top_stuck *one = &s->nodes[i].stucks[k];
            bool named = one->name[0] != '\0';
            if (one->pid[0] == '\0') snprintf(who, sizeof who, "a timer or a delivery");
            else
                snprintf(who, sizeof who, "%s%s%s %.*s%s", one->name, named ? " (" : "", one->kind,
                         (int)strcspn(one->pid, "@"), one->pid, named ? ")" : "");
            put(l, TOP_ALARM, "HOLD-UP %.*s: %.*s%s%.*s, %s", 10 + spare(l, 20), s->nodes[i].name, l->width - 40, who,
                one->where[0] == '\0' ? "" : " in ", spare(l, 100), one->where, top_span((double)one->ns, held));
        }
    }
}

static void put_workers(struct top_lines *l, const struct top_node *n, uint32_t most)
{
    char rate[16], turns[16], longest[16], bytes[16], busy[16], index[16];
    most = fitting(n->worker_count, most);
    put(l, TOP_HEAD, "%-11s %9s %9s %8s %9s %5s %9s", "WORKER", "MSG/S", "TURNS/S", "RUNNABLE", "LONGEST", "BUSY",
        "MAILBOXES");
    for (uint32_t i = 0; i < n->worker_count && i < most; i++) {
        const struct top_worker *w = &n->workers[i];
        snprintf(index, sizeof index, "%" PRIu32 "%s", w->index, w->own ? " (weft)" : "");
        snprintf(busy, sizeof busy, "-");
        if (w->busy >= 0) snprintf(busy, sizeof busy, "%.0f%%", (w->busy > 1 ? 1 : w->busy) * 100);
        snprintf(longest, sizeof longest, "-");
        if (w->longest_ns > 0) (void)top_span((double)w->longest_ns, longest);
        if (!w->answers) {
            put(l, TOP_ALARM, "%-11s %9s %9s %8s %9s %5s has not answered: held up, or no time", index, "-", "-", "-",
                longest, busy);
            continue;
        }
        put(l, w->longest_ns >= SLOW_TURN ? TOP_WARN : TOP_PLAIN, "%-11s %9s %9s %8" PRIu64 " %9s %5s %9s", index,
            top_number(w->rate, rate), top_number(w->turn_rate, turns), w->runnable, longest, busy,
            top_bytes((double)w->mailbox_bytes, bytes));
    }
    put_left_out(l, n->worker_count, most, "workers");
}

/* Which one of all kinds is to be shown behind `last`, of node `*node`, and of which node it is; NULL: the first of
 * them, or that there is no more. */
static const struct top_kind *kind_after(const struct top_snapshot *s, const struct top_kind *last, uint32_t *node)
{
    const struct top_kind *best = NULL;
    uint32_t of_last = *node;
    for (uint32_t i = 0; i < s->node_count; i++) {
        for (uint32_t k = 0; k < s->nodes[i].kind_count; k++) {
            const struct top_kind *one = &s->nodes[i].kinds[k];
            int c = last == NULL ? 1 : top_compare_kinds(one, last);
            if (c < 0 || (c == 0 && i <= of_last)) continue;
            if (best != NULL && top_compare_kinds(one, best) >= 0) continue;
            best = one;
            *node = i;
        }
    }
    return best;
}

static void put_kinds(struct top_lines *l, const struct top_snapshot *s, uint32_t most)
{
    char which[140], actors[16], waiting[16], deepest[16], p50[16], p99[16];
    uint32_t all = 0, shown = 0, node = 0;
    int wide = 11 + spare(l, 20);
    for (uint32_t i = 0; i < s->node_count; i++) all += s->nodes[i].kind_count;
    if (all == 0) return;
    most = fitting(all, most);
    put(l, TOP_HEAD, "%-*s %8s %8s %8s %9s %9s", wide, "KIND", "ACTORS", "WAITING", "DEEPEST", "MBOX-P50",
        "MBOX-P99");
    const struct top_kind *n = NULL;
    for (; shown < most && (n = kind_after(s, n, &node)) != NULL; shown++) {
        if (s->node_count == 1) snprintf(which, sizeof which, "%s", n->kind);
        else snprintf(which, sizeof which, "%.*s>%.*s", wide / 2, s->nodes[node].name, wide / 2, n->kind);
        put(l, TOP_PLAIN, "%-*.*s %8s %8s %8s %9s %9s", wide, wide, which, top_number((double)n->actors, actors),
            top_number((double)n->waiting, waiting), top_number((double)n->deepest, deepest),
            span_or_not(n->p50_ns, p50), span_or_not(n->p99_ns, p99));
    }
    put_left_out(l, all, shown, "kinds");
}

static void put_links(struct top_lines *l, const struct top_snapshot *s, uint32_t most)
{
    char ways[140], rtt[16], in[16], out[16], backlog[16], credit[40];
    uint32_t all = 0;
    int wide = 11 + spare(l, 20);
    for (uint32_t i = 0; i < s->node_count; i++) all += s->nodes[i].link_count;
    if (all == 0) return;
    most = fitting(all, most);
    put(l, TOP_HEAD, "%-*s %-9s %7s %8s %8s %8s %7s %7s %7s", wide, "LINK", "STATE", "RTT", "IN/S", "OUT/S",
        "BACKLOG", "UNACKED", "CREDIT", "WAITING");
    uint32_t shown = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        for (uint32_t k = 0; k < s->nodes[i].link_count && shown < most; k++, shown++) {
            const struct top_link *n = &s->nodes[i].links[k];
            bool up = strcmp(n->state, "up") == 0;
            if (s->node_count == 1) snprintf(ways, sizeof ways, "%s", n->peer);
            else snprintf(ways, sizeof ways, "%.*s>%.*s", wide / 2, s->nodes[i].name, wide / 2, n->peer);
            snprintf(credit, sizeof credit, "%" PRIu64 "/%" PRIu64, n->receivers - n->withheld, n->receivers);
            put(l,
                !up                                 ? TOP_ALARM
                : n->waiting > 0 || n->withheld > 0 ? TOP_WARN
                                                    : TOP_PLAIN,
                "%-*.*s %-9s %7s %8s %8s %8s %7" PRIu64 " %7s %7" PRIu64, wide, wide, ways, n->state,
                n->rtt_ns == 0 ? "-" : top_span((double)n->rtt_ns, rtt), top_bytes(n->rate_in, in),
                top_bytes(n->rate_out, out), top_bytes((double)n->backlog, backlog), n->unacked, credit, n->waiting);
        }
    }
    put_left_out(l, all, shown, "links");
}

/* Queues of stores. Those with dead jobs are marked. */
static void put_queues(struct top_lines *l, const struct top_snapshot *s, uint32_t most)
{
    char which[200], ready[16], delayed[16], leased[16], dead[16];
    uint32_t all = 0, shown = 0;
    int wide = 31 + spare(l, 30);
    for (uint32_t i = 0; i < s->node_count; i++) all += s->nodes[i].queue_count;
    if (all == 0) return;
    most = fitting(all, most);
    put(l, TOP_HEAD, "%-*s %9s %9s %9s %9s", wide, "QUEUE", "READY", "DELAYED", "LEASED", "DEAD");
    for (uint32_t i = 0; i < s->node_count; i++) {
        for (uint32_t k = 0; k < s->nodes[i].queue_count && shown < most; k++, shown++) {
            const struct top_queue *q = &s->nodes[i].queues[k];
            if (s->node_count == 1) snprintf(which, sizeof which, "%s", q->queue);
            else snprintf(which, sizeof which, "%.*s>%s", wide / 3, s->nodes[i].name, q->queue);
            put(l, q->dead > 0 ? TOP_WARN : TOP_PLAIN, "%-*.*s %9s %9s %9s %9s", wide, wide, which,
                top_number((double)q->ready, ready), top_number((double)q->delayed, delayed),
                top_number((double)q->leased, leased), top_number((double)q->dead, dead));
        }
    }
    put_left_out(l, all, shown, "queues");
}

/* Shows dropped messages by reason, summed over all nodes. */
static void put_drops(struct top_lines *l, const struct top_snapshot *s)
{
    char text[TOP_LINE] = "dropped:", one[16], rate[16];
    bool any = false, now = false;
    const struct top_node *first = &s->nodes[0];
    for (uint32_t k = 0; k < first->drop_count; k++) {
        uint64_t count = 0;
        double a_second = -1;
        for (uint32_t i = 0; i < s->node_count; i++) {
            for (uint32_t j = 0; j < s->nodes[i].drop_count; j++) {
                const struct top_drop *d = &s->nodes[i].drops[j];
                if (strcmp(d->reason, first->drops[k].reason) != 0) continue;
                count += d->count;
                if (d->rate >= 0) a_second = (a_second < 0 ? 0 : a_second) + d->rate;
            }
        }
        if (count == 0) continue;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s %s %s", any ? "," : "", first->drops[k].reason,
                 top_number((double)count, one));
        used = strlen(text);
        if (a_second > 0) snprintf(text + used, sizeof text - used, " (%s/s)", top_number(a_second, rate));
        any = true;
        now = now || a_second > 0;
    }
    put(l, now ? TOP_WARN : TOP_PLAIN, "%s", any ? text : "dropped: nothing");
}

void top_put_nodes(struct top_lines *l, const struct top_snapshot *s, uint32_t most)
{
    put(l, TOP_HEAD, "%-*s %-8s %2s %6s %6s %7s %7s %4s %8s %4s %7s", 10 + spare(l, 20), "NODE", "STATE", "W",
        "ACTORS", "MSG/S", "WAITING", "LONGEST", "BUSY", "MEMORY", "CPU", "DROPS/S");
    uint32_t shown = fitting(s->node_count, most);
    for (uint32_t i = 0; i < s->node_count && i < shown; i++) put_node(l, &s->nodes[i]);
    put_left_out(l, s->node_count, shown, "nodes");
    put_stuck(l, s);
    if (s->node_count == 1) put_workers(l, &s->nodes[0], most);
    put_kinds(l, s, most);
    put_links(l, s, most);
    put_queues(l, s, most);
    put_drops(l, s);
}

/* ---- Actors ---------------------------------------------------------------------------------------------------- */

static const char *head(enum top_by by, enum top_by column, const char *name, char out[20])
{
    snprintf(out, 20, "%s%s", by == column ? "*" : "", name);
    return out;
}

/* The widths of columns with long texts. They share the space beyond 80 columns with the nodes, if there are several,
 * and with the times of an actor's kind, if these fit. Nodes first take the place of the stack. */
struct widths {
    int node, pid, kind, name, doing;
    bool stack, times;
};

enum { NODE_WIDE = 9, TIMES_WIDE = 20 };

static struct widths widths_of(const struct top_lines *l, const struct top_snapshot *s)
{
    bool nodes = s->node_count > 1;
    int left = spare(l, 60 + NODE_WIDE + TIMES_WIDE);
    bool stack = !nodes || left >= NODE_WIDE;
    if (nodes && stack) left -= NODE_WIDE;
    bool times = left >= TIMES_WIDE;
    if (times) left -= TIMES_WIDE;
    int more = left / (nodes ? 5 : 4), some = more < 6 ? more : 6;
    return (struct widths){nodes ? NODE_WIDE - 1 + some : 0, 9 + some, 9 + more, 9 + more, 10 + some, stack, times};
}

static void put_actor(struct top_lines *l, const struct top_snapshot *s, const struct top_actor *a)
{
    struct widths wide = widths_of(l, s);
    char mail[48], doing[40], rate[16], received[16], dropped[16], bytes[16];
    char node[20] = "", stack[20] = "", times[48] = "";
    snprintf(mail, sizeof mail, "%" PRIu64 "/%" PRIu64, a->mailbox, a->mailbox_max);
    bool waits = a->waits_for[0] != '\0';
    snprintf(doing, sizeof doing, "%s%s", waits ? "on " : "", waits ? a->waits_for : a->state);
    if (wide.node > 0) snprintf(node, sizeof node, "%-*.*s ", wide.node, wide.node, s->nodes[a->node].name);
    if (wide.stack) snprintf(stack, sizeof stack, " %8s", top_bytes((double)a->stack_most, bytes));
    if (wide.times) {
        const struct top_kind *k = top_kind_of(s, a);
        char p50[16], p99[16];
        snprintf(times, sizeof times, " %9s %9s", span_or_not(k == NULL ? -1 : k->p50_ns, p50),
                 span_or_not(k == NULL ? -1 : k->p99_ns, p99));
    }
    bool full = a->mailbox_max > 0 && a->mailbox >= a->mailbox_max;
    bool fills = a->mailbox_max > 0 && a->mailbox * 2 >= a->mailbox_max;
    put(l,
        full    ? TOP_ALARM
        : fills ? TOP_WARN
                : TOP_PLAIN,
        "%s%-*.*s %-*.*s %-*.*s %-*.*s %9s %6s %6s %6s%s%s", node, wide.pid, (int)strcspn(a->pid, "@"), a->pid,
        wide.kind, wide.kind, a->kind, wide.name, wide.name, a->name, wide.doing, wide.doing, doing, mail,
        top_number(a->rate, rate), top_number((double)a->received, received), top_number((double)a->dropped, dropped),
        stack, times);
}

void top_put_actors(struct top_lines *l, const struct top_snapshot *s, uint32_t first, uint32_t count, enum top_by by)
{
    char t[9][20], node[20] = "", stack[24] = "";
    struct widths wide = widths_of(l, s);
    if (wide.node > 0) snprintf(node, sizeof node, "%-*s ", wide.node, "NODE");
    if (wide.stack) snprintf(stack, sizeof stack, " %8s", head(by, TOP_STACK, "STACK", t[8]));
    put(l, TOP_HEAD, "%s%-*s %-*s %-*s %-*s %9s %6s %6s %6s%s%s", node, wide.pid, head(by, TOP_PID, "PID", t[0]),
        wide.kind, head(by, TOP_KIND, "KIND", t[1]), wide.name, head(by, TOP_NAME, "NAME", t[2]), wide.doing,
        head(by, TOP_STATE, "STATE", t[3]), head(by, TOP_MAILBOX, "MAILBOX", t[4]), head(by, TOP_RATE, "MSG/S", t[5]),
        head(by, TOP_RECEIVED, "RECVD", t[6]), head(by, TOP_DROPPED, "DROPS", t[7]), stack,
        wide.times ? "  MBOX-P50  MBOX-P99" : "");
    for (uint32_t i = first; i < s->actor_count && i - first < count; i++) put_actor(l, s, &s->actors[i]);
}

/* ---- One actor ------------------------------------------------------------------------------------------------- */

/* Appends to a line; text that does not fit is cut. */
WEFT_PRINTF(2, 3) static void append(char *line, const char *format, ...)
{
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, TOP_LINE - used, format, args);
    va_end(args);
}

/* Prints an entry of "callers": the name of the file, and the offset in it. `weft inspect` shows the line. */
static void put_caller(char *line, weft_reader *r)
{
    char file[TOP_LINE];
    uint32_t fields = weft_get_array(r);
    weft_text path = weft_get_str(r);
    snprintf(file, sizeof file, "%.*s", WEFT_STR(path));
    uint64_t offset = weft_get_uint(r);
    for (; fields > 2 && r->error == 0; fields--) weft_skip(r);
    const char *slash = strrchr(file, '/');
    append(line, "  %s+0x%" PRIx64, slash == NULL ? file : slash + 1, offset);
}

static void put_number(char *line, weft_text key, uint64_t number)
{
    char span[16];
    bool ns = key.size > 3 && memcmp(key.data + key.size - 3, "_ns", 3) == 0;
    if (ns) append(line, "  %s", top_span((double)number, span));
    else append(line, "  %" PRIu64, number);
}

static void put_text(char *line, weft_reader *r)
{
    weft_text text = weft_get_str(r);
    append(line, "  %.*s", WEFT_STR(text));
}

static void put_value(struct top_lines *l, weft_text key, weft_reader *r)
{
    char lost[TOP_LINE], *line = add(l, TOP_PLAIN);
    if (line == NULL) line = lost;
    snprintf(line, TOP_LINE, "%-12.*s", WEFT_STR(key));
    switch (weft_peek_type(r)) {
    case WEFT_TEXT: put_text(line, r); break;
    case WEFT_INT:
    case WEFT_UINT: put_number(line, key, weft_get_uint(r)); break;
    case WEFT_ARRAY:
        for (uint32_t left = weft_get_array(r); left > 0 && r->error == 0; left--) {
            if (weft_peek_type(r) == WEFT_ARRAY) put_caller(line, r);
            else put_text(line, r);
        }
        break;
    default: weft_skip(r); /* a newer node says more */
    }
}

bool top_put_detail(struct top_lines *l, const void *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    for (uint32_t left = weft_get_map(&r); left > 0 && r.error == 0; left--) {
        weft_text key = weft_get_str(&r);
        if (r.error == 0) put_value(l, key, &r);
    }
    for (uint32_t i = 0; i < l->count; i++) {
        for (char *c = l->line[i].text; *c != '\0'; c++) *c = *c >= ' ' && *c <= '~' ? *c : '?';
    }
    return r.error == 0;
}
