/* cli/top/top_model.c -- see top.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <weft/error.h>
#include <weft/pack.h>

#include "top_model.h"

/* ---- Reading: maps into structs, by the names of their keys ---------------------------------------------------- */

enum kind { TEXT, NUMBER, TRUTH, TIMES };

struct field {
    const char *key;
    enum kind kind;
    size_t at, size; /* size: of a text */
};

#define FIELD(type, key, kind, name)                                           \
    {                                                                          \
        key, kind, offsetof(struct type, name), sizeof((struct type *)0)->name \
    }
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct field actor_fields[] = {
    FIELD(top_actor, "pid", TEXT, pid),
    FIELD(top_actor, "kind", TEXT, kind),
    FIELD(top_actor, "name", TEXT, name),
    FIELD(top_actor, "state", TEXT, state),
    FIELD(top_actor, "waits_for", TEXT, waits_for),
    FIELD(top_actor, "mailbox", NUMBER, mailbox),
    FIELD(top_actor, "mailbox_max", NUMBER, mailbox_max),
    FIELD(top_actor, "received", NUMBER, received),
    FIELD(top_actor, "dropped", NUMBER, dropped),
    FIELD(top_actor, "stack_most", NUMBER, stack_most),
};

static const struct field worker_fields[] = {
    FIELD(top_worker, "answers", TRUTH, answers),
    FIELD(top_worker, "own", TRUTH, own),
    FIELD(top_worker, "busy_ns", NUMBER, busy_ns),
    FIELD(top_worker, "longest_ns", NUMBER, longest_ns),
    FIELD(top_worker, "turns", NUMBER, turns),
    FIELD(top_worker, "sleeps", NUMBER, sleeps),
    FIELD(top_worker, "runnable", NUMBER, runnable),
    FIELD(top_worker, "received", NUMBER, received),
    FIELD(top_worker, "mailbox_bytes", NUMBER, mailbox_bytes),
};

static const struct field stuck_fields[] = {
    FIELD(top_stuck, "worker", NUMBER, worker), FIELD(top_stuck, "ns", NUMBER, ns),
    FIELD(top_stuck, "pid", TEXT, pid),         FIELD(top_stuck, "kind", TEXT, kind),
    FIELD(top_stuck, "name", TEXT, name),       FIELD(top_stuck, "where", TEXT, where),
};

static const struct field link_fields[] = {
    FIELD(top_link, "peer", TEXT, peer),
    FIELD(top_link, "state", TEXT, state),
    FIELD(top_link, "rtt_ns", NUMBER, rtt_ns),
    FIELD(top_link, "bytes_in", NUMBER, bytes_in),
    FIELD(top_link, "bytes_out", NUMBER, bytes_out),
    FIELD(top_link, "backlog", NUMBER, backlog),
    FIELD(top_link, "unacked", NUMBER, unacked),
    FIELD(top_link, "resumes", NUMBER, resumes),
    FIELD(top_link, "receivers", NUMBER, receivers),
    FIELD(top_link, "withheld", NUMBER, withheld),
    FIELD(top_link, "waiting", NUMBER, waiting),
};

static const struct field queue_fields[] = {
    FIELD(top_queue, "queue", TEXT, queue),       FIELD(top_queue, "ready", NUMBER, ready),
    FIELD(top_queue, "delayed", NUMBER, delayed), FIELD(top_queue, "leased", NUMBER, leased),
    FIELD(top_queue, "dead", NUMBER, dead),
};

static const struct field kind_fields[] = {
    FIELD(top_kind, "kind", TEXT, kind),         FIELD(top_kind, "actors", NUMBER, actors),
    FIELD(top_kind, "waiting", NUMBER, waiting), FIELD(top_kind, "deepest", NUMBER, deepest),
    FIELD(top_kind, "mailbox_ns", TIMES, mail),
};

static const struct field node_fields[] = {
    FIELD(top_node, "node", TEXT, name),
    FIELD(top_node, "error", TEXT, error),
    FIELD(top_node, "incarnation", TEXT, incarnation),
    FIELD(top_node, "cluster", TEXT, cluster),
    FIELD(top_node, "state", TEXT, state),
    FIELD(top_node, "at_ns", NUMBER, at_ns),
    FIELD(top_node, "resident_bytes", NUMBER, resident_bytes),
    FIELD(top_node, "processor_ns", NUMBER, processor_ns),
    FIELD(top_node, "actor_count", NUMBER, actor_count),
    FIELD(top_node, "actors_matched", NUMBER, actors_matched),
};

/* Copies a text for the terminal, without characters that could move its cursor. */
static void copy_text(char *out, size_t size, weft_text text)
{
    size_t n = text.size < size - 1 ? text.size : size - 1;
    for (size_t i = 0; i < n; i++) out[i] = '?';
    for (size_t i = 0; i < n; i++)
        if (text.data[i] >= ' ' && text.data[i] <= '~') out[i] = text.data[i];
    out[n] = '\0';
}

/* A key that comes twice is an error: what it was before would be lost. */
static void read_times(weft_reader *r, struct top_times *out)
{
    uint32_t rows = weft_get_array(r);
    if (rows == 0 || r->error != 0) return;
    if (out->row == NULL) out->row = calloc(rows, sizeof *out->row);
    else r->error = WEFT_EINVAL;
    if (out->row == NULL) r->error = WEFT_ENOMEM;
    for (; rows > 0 && r->error == 0; rows--) {
        uint32_t fields = weft_get_array(r);
        if (fields < 2) r->error = WEFT_EINVAL;
        out->row[out->count].below_ns = weft_get_uint(r);
        out->row[out->count++].count = weft_get_uint(r);
        for (; fields > 2 && r->error == 0; fields--) weft_skip(r);
    }
}

static void read_field(weft_reader *r, const struct field *f, void *out)
{
    char *at = (char *)out + f->at;
    switch (f->kind) {
    case TEXT: copy_text(at, f->size, weft_get_str(r)); break;
    case NUMBER: {
        uint64_t n = weft_get_uint(r);
        memcpy(at, &n, sizeof n);
        break;
    }
    case TRUTH: {
        bool yes = weft_get_bool(r);
        memcpy(at, &yes, sizeof yes);
        break;
    }
    case TIMES: read_times(r, (struct top_times *)(void *)at); break;
    }
}

/* The value of `key`, if it is one of them; a newer node says more. */
static bool read_known(weft_reader *r, weft_text key, const struct field *fields, size_t count, void *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!weft_text_equal(key, fields[i].key)) continue;
        read_field(r, &fields[i], out);
        return true;
    }
    return false;
}

static void read_map(weft_reader *r, const struct field *fields, size_t count, void *out)
{
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text key = weft_get_str(r);
        if (!read_known(r, key, fields, count, out)) weft_skip(r);
    }
}

/* Reads an array of maps; the result is from calloc; NULL: there is none. */
static void *read_rows(weft_reader *r, const struct field *fields, size_t field_count, size_t size, uint32_t *count)
{
    uint32_t rows = weft_get_array(r);
    char *all = rows == 0 || r->error != 0 ? NULL : calloc(rows, size);
    if (all == NULL && rows > 0 && r->error == 0) r->error = WEFT_ENOMEM;
    for (*count = 0; all != NULL && *count < rows && r->error == 0; ++*count)
        read_map(r, fields, field_count, all + *count * size);
    return all;
}

static struct top_drop *read_drops(weft_reader *r, uint32_t *count)
{
    uint32_t rows = weft_get_map(r);
    struct top_drop *all = rows == 0 || r->error != 0 ? NULL : calloc(rows, sizeof *all);
    if (all == NULL && rows > 0 && r->error == 0) r->error = WEFT_ENOMEM;
    for (*count = 0; all != NULL && *count < rows && r->error == 0; ++*count) {
        copy_text(all[*count].reason, sizeof all[*count].reason, weft_get_str(r));
        all[*count].count = weft_get_uint(r);
    }
    return all;
}

/* Behind those of the other nodes. */
static void read_actors(weft_reader *r, struct top_snapshot *s, uint32_t node)
{
    uint32_t rows = weft_get_array(r);
    if (rows == 0 || r->error != 0) return;
    struct top_actor *all = realloc(s->actors, (s->actor_count + (size_t)rows) * sizeof *all);
    if (all == NULL) {
        r->error = WEFT_ENOMEM;
        return;
    }
    s->actors = all;
    for (; rows > 0 && r->error == 0; rows--) {
        struct top_actor *a = &all[s->actor_count++];
        *a = (struct top_actor){.node = node};
        read_map(r, actor_fields, COUNT(actor_fields), a);
    }
}

/* A key that comes twice is an error: what it was before would be lost. */
#define ROWS(list, fields, type)                         \
    (n->list##s != NULL ? (void)(r->error = WEFT_EINVAL) \
                        : (void)(n->list##s = read_rows(r, fields, COUNT(fields), sizeof(type), &n->list##_count)))

static void read_node(weft_reader *r, struct top_snapshot *s)
{
    uint32_t index = s->node_count++;
    struct top_node *n = &s->nodes[index];
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text key = weft_get_str(r);
        if (r->error != 0) return;
        if (weft_text_equal(key, "workers")) ROWS(worker, worker_fields, struct top_worker);
        else if (weft_text_equal(key, "stuck")) ROWS(stuck, stuck_fields, struct top_stuck);
        else if (weft_text_equal(key, "links")) ROWS(link, link_fields, struct top_link);
        else if (weft_text_equal(key, "kinds")) ROWS(kind, kind_fields, struct top_kind);
        else if (weft_text_equal(key, "queues")) ROWS(queue, queue_fields, struct top_queue);
        else if (weft_text_equal(key, "drops") && n->drops == NULL) n->drops = read_drops(r, &n->drop_count);
        else if (weft_text_equal(key, "actors")) read_actors(r, s, index);
        else if (!read_known(r, key, node_fields, COUNT(node_fields), n)) weft_skip(r);
    }
}

static int links_by_peer(const void *a, const void *b)
{
    return strcmp(((const struct top_link *)a)->peer, ((const struct top_link *)b)->peer);
}

static int workers_by_turn(const void *a, const void *b)
{
    const struct top_worker *x = a, *y = b;
    if (x->longest_ns != y->longest_ns) return x->longest_ns > y->longest_ns ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int queues_by_ready(const void *a, const void *b)
{
    const struct top_queue *x = a, *y = b;
    if (x->ready != y->ready) return x->ready > y->ready ? -1 : 1;
    return strcmp(x->queue, y->queue);
}

static int nodes_by_name(const void *a, const void *b)
{
    return strcmp(((const struct top_node *)a)->name, ((const struct top_node *)b)->name);
}

/* Nodes come as they answer, and links as they were made; here each has its place: the node that was asked is the
 * first. WEFT_ENOMEM, and they are as they came. */
static int sort_nodes(struct top_snapshot *s)
{
    uint32_t *places = calloc(s->node_count, sizeof *places);
    if (places == NULL) return WEFT_ENOMEM;
    for (uint32_t i = 0; i < s->node_count; i++) {
        struct top_node *n = &s->nodes[i];
        n->place = i;
        for (uint32_t k = 0; k < n->worker_count; k++) n->workers[k].index = k;
        if (n->worker_count > 1) qsort(n->workers, n->worker_count, sizeof *n->workers, workers_by_turn);
        if (n->queue_count > 1) qsort(n->queues, n->queue_count, sizeof *n->queues, queues_by_ready);
        if (n->link_count > 1) qsort(n->links, n->link_count, sizeof *n->links, links_by_peer);
    }
    if (s->node_count > 2) qsort(s->nodes + 1, s->node_count - 1, sizeof *s->nodes, nodes_by_name);
    for (uint32_t i = 0; i < s->node_count; i++) places[s->nodes[i].place] = i;
    for (uint32_t i = 0; i < s->actor_count; i++) s->actors[i].node = places[s->actors[i].node];
    free(places);
    return WEFT_OK;
}

struct top_snapshot *top_read(const void *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    uint32_t nodes = weft_get_array(&r);
    struct top_snapshot *s = calloc(1, sizeof *s);
    if (s == NULL || r.error != 0 || nodes == 0) {
        free(s);
        return NULL;
    }
    s->nodes = calloc(nodes, sizeof *s->nodes);
    if (s->nodes == NULL) r.error = WEFT_ENOMEM;
    for (uint32_t i = 0; i < nodes && r.error == 0; i++) read_node(&r, s);
    if (r.error == 0) r.error = sort_nodes(s);
    if (r.error == 0) {
        top_compare(s, NULL);
        return s;
    }
    top_free(s);
    return NULL;
}

void top_free(struct top_snapshot *s)
{
    if (s == NULL) return;
    for (uint32_t i = 0; i < s->node_count; i++) {
        free(s->nodes[i].workers);
        free(s->nodes[i].stucks);
        free(s->nodes[i].links);
        free(s->nodes[i].drops);
        free(s->nodes[i].queues);
        for (uint32_t k = 0; k < s->nodes[i].kind_count; k++) free(s->nodes[i].kinds[k].mail.row);
        free(s->nodes[i].kinds);
    }
    free(s->nodes);
    free(s->actors);
    free(s);
}

/* ---- Rates ----------------------------------------------------------------------------------------------------- */

/* After a restart of the node the counters may be smaller. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    if (seconds <= 0) return -1;
    return now < before ? 0 : (double)(now - before) / seconds;
}

static const struct top_node *same_node(const struct top_snapshot *s, const struct top_node *n)
{
    for (uint32_t i = 0; s != NULL && i < s->node_count; i++) {
        const struct top_node *o = &s->nodes[i];
        if (o->error[0] == '\0' && strcmp(o->incarnation, n->incarnation) == 0 && strcmp(o->name, n->name) == 0)
            return o;
    }
    return NULL;
}

static const struct top_worker none;

static const struct top_worker *same_worker(const struct top_node *o, uint32_t index)
{
    for (uint32_t i = 0; i < o->worker_count; i++)
        if (o->workers[i].index == index) return &o->workers[i];
    return &none;
}

static void compare_workers(struct top_node *n, const struct top_node *o, double seconds)
{
    uint64_t now = 0, before = 0;
    bool whole = true;
    for (uint32_t i = 0; i < n->worker_count; i++) {
        struct top_worker *w = &n->workers[i];
        const struct top_worker *x = o == NULL ? &none : same_worker(o, w->index);
        bool both = w->answers && x->answers;
        w->rate = rate(w->received, x->received, both ? seconds : 0);
        w->turn_rate = rate(w->turns, x->turns, both ? seconds : 0);
        w->busy = rate(w->busy_ns, x->busy_ns, x == &none ? 0 : seconds * 1e9);
        now += w->received;
        before += x->received;
        whole = whole && both;
    }
    n->rate = rate(now, before, whole ? seconds : 0);
}

static void compare_links(struct top_node *n, const struct top_node *o, double seconds)
{
    for (uint32_t i = 0; i < n->link_count; i++) {
        struct top_link *l = &n->links[i];
        const struct top_link *x = NULL;
        for (uint32_t k = 0; o != NULL && k < o->link_count; k++)
            if (strcmp(o->links[k].peer, l->peer) == 0) x = &o->links[k];
        l->rate_in = rate(l->bytes_in, x == NULL ? 0 : x->bytes_in, x == NULL ? 0 : seconds);
        l->rate_out = rate(l->bytes_out, x == NULL ? 0 : x->bytes_out, x == NULL ? 0 : seconds);
    }
}

static void compare_drops(struct top_node *n, const struct top_node *o, double seconds)
{
    for (uint32_t i = 0; i < n->drop_count; i++) {
        struct top_drop *d = &n->drops[i];
        d->rate = -1;
        for (uint32_t k = 0; o != NULL && k < o->drop_count; k++)
            if (strcmp(o->drops[k].reason, d->reason) == 0) d->rate = rate(d->count, o->drops[k].count, seconds);
    }
}

/* The earlier count of a row. */
static uint64_t times_before(const struct top_times *old, uint64_t below_ns)
{
    for (uint32_t i = 0; old != NULL && i < old->count; i++)
        if (old->row[i].below_ns == below_ns) return old->row[i].count;
    return 0;
}

/* The value below which this part of the times since `old` lies; -1: there were no times. */
static double quantile(const struct top_times *now, const struct top_times *old, double part)
{
    double all = 0, up_to = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < now->count; i++) {
            uint64_t count = now->row[i].count, before = times_before(old, now->row[i].below_ns);
            double fresh = count > before ? (double)(count - before) : 0;
            if (pass == 0) all += fresh;
            else up_to += fresh;
            if (pass == 1 && fresh > 0 && up_to >= part * all) return (double)now->row[i].below_ns;
        }
    }
    return -1;
}

int top_compare_kinds(const struct top_kind *a, const struct top_kind *b)
{
    if (a->p99_ns != b->p99_ns) return a->p99_ns > b->p99_ns ? -1 : 1;
    if (a->waiting != b->waiting) return a->waiting > b->waiting ? -1 : 1;
    return strcmp(a->kind, b->kind);
}

static void compare_kinds(struct top_node *n, const struct top_node *o, double seconds)
{
    for (uint32_t i = 0; i < n->kind_count; i++) {
        struct top_kind *k = &n->kinds[i];
        const struct top_times *old = NULL;
        for (uint32_t j = 0; o != NULL && j < o->kind_count; j++)
            if (strcmp(o->kinds[j].kind, k->kind) == 0) old = &o->kinds[j].mail;
        k->p50_ns = seconds <= 0 ? -1 : quantile(&k->mail, old, 0.5);
        k->p99_ns = seconds <= 0 ? -1 : quantile(&k->mail, old, 0.99);
    }
}

const struct top_kind *top_kind_of(const struct top_snapshot *s, const struct top_actor *a)
{
    const struct top_node *n = &s->nodes[a->node];
    for (uint32_t i = 0; i < n->kind_count; i++)
        if (strcmp(n->kinds[i].kind, a->kind) == 0) return &n->kinds[i];
    return NULL;
}

static int by_pid(const void *a, const void *b)
{
    return strcmp((*(const struct top_actor *const *)a)->pid, (*(const struct top_actor *const *)b)->pid);
}

/* A pid says which life of which node. */
static void compare_actors(struct top_snapshot *now, const struct top_snapshot *before)
{
    uint32_t count = before == NULL ? 0 : before->actor_count;
    const struct top_actor **sorted = count == 0 ? NULL : calloc(count, sizeof *sorted);
    for (uint32_t i = 0; sorted != NULL && i < count; i++) sorted[i] = &before->actors[i];
    if (sorted != NULL) qsort(sorted, count, sizeof *sorted, by_pid);
    for (uint32_t i = 0; i < now->actor_count; i++) {
        struct top_actor *a = &now->actors[i];
        const struct top_actor *key = a;
        const struct top_actor *const *o = sorted == NULL ? NULL
                                                          : bsearch(&key, sorted, count, sizeof *sorted, by_pid);
        a->rate = o == NULL ? -1 : rate(a->received, (*o)->received, now->nodes[a->node].seconds);
    }
    free(sorted);
}

void top_compare(struct top_snapshot *now, const struct top_snapshot *before)
{
    for (uint32_t i = 0; i < now->node_count; i++) {
        struct top_node *n = &now->nodes[i];
        const struct top_node *o = same_node(before, n);
        n->seconds = o == NULL || o->at_ns >= n->at_ns ? 0 : (double)(n->at_ns - o->at_ns) / 1e9;
        n->processor = rate(n->processor_ns, o == NULL ? 0 : o->processor_ns, n->seconds * 1e9);
        compare_workers(n, o, n->seconds);
        compare_links(n, o, n->seconds);
        compare_drops(n, o, n->seconds);
        compare_kinds(n, o, n->seconds);
    }
    compare_actors(now, before);
}

/* ---- Order ----------------------------------------------------------------------------------------------------- */

const char *const top_by_names[TOP_BYS] = {"mailbox", "rate", "received", "dropped", "stack",
                                           "name",    "kind", "state",    "pid"};

const char *top_choice(enum top_by by)
{
    return by == TOP_RATE || by == TOP_RECEIVED ? "received" : by == TOP_DROPPED ? "dropped" : "mailbox";
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (part[i] != '\0' && lower(text[i]) == lower(part[i])) i++;
        if (part[i] == '\0') return true;
    }
    return part[0] == '\0';
}

static bool matches(const struct top_snapshot *s, const struct top_actor *a, const char *text)
{
    return contains(a->kind, text) || contains(a->name, text) || contains(a->pid, text) ||
           contains(s->nodes[a->node].name, text);
}

static int more(double a, double b)
{
    return a > b ? -1 : a < b ? 1 : 0;
}

static int compare(enum top_by by, const struct top_actor *a, const struct top_actor *b)
{
    switch (by) {
    case TOP_RATE: return more(a->rate, b->rate);
    case TOP_RECEIVED: return more((double)a->received, (double)b->received);
    case TOP_DROPPED: return more((double)a->dropped, (double)b->dropped);
    case TOP_STACK: return more((double)a->stack_most, (double)b->stack_most);
    case TOP_NAME: /* actors without a name come last */
        if ((a->name[0] == '\0') != (b->name[0] == '\0')) return a->name[0] == '\0' ? 1 : -1;
        return strcmp(a->name, b->name);
    case TOP_KIND: return strcmp(a->kind, b->kind);
    case TOP_STATE: return strcmp(a->state, b->state);
    case TOP_PID:
    case TOP_BYS: return 0;
    case TOP_MAILBOX: break;
    }
    int c = more((double)a->mailbox, (double)b->mailbox);
    return c != 0 ? c : more((double)a->received, (double)b->received);
}

/* The order for qsort; only one thread sorts. */
static struct {
    enum top_by by;
    bool reverse;
} order;

/* Worker, slot and generation, as numbers. */
static int compare_pids(const char *a, const char *b)
{
    for (int i = 0; i < 3; i++) {
        char *end_a, *end_b;
        unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
        if (x != y) return x < y ? -1 : 1;
        a = *end_a == '.' ? end_a + 1 : end_a;
        b = *end_b == '.' ? end_b + 1 : end_b;
    }
    return strcmp(a, b);
}

static int by_order(const void *one, const void *other)
{
    const struct top_actor *a = one, *b = other;
    int c = compare(order.by, a, b);
    if (c == 0 && a->node != b->node) c = a->node < b->node ? -1 : 1;
    if (c == 0) c = compare_pids(a->pid, b->pid);
    return order.reverse ? -c : c;
}

uint32_t top_arrange(struct top_snapshot *s, enum top_by by, bool reverse, const char *filter)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->actor_count; i++) {
        if (!matches(s, &s->actors[i], filter)) continue;
        struct top_actor a = s->actors[i];
        s->actors[i] = s->actors[kept];
        s->actors[kept++] = a;
    }
    order.by = by;
    order.reverse = reverse;
    if (kept > 1) qsort(s->actors, kept, sizeof *s->actors, by_order);
    return kept;
}

uint32_t top_search(const struct top_snapshot *s, uint32_t count, uint32_t from, const char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (from + i) % count;
        if (matches(s, &s->actors[at], text)) return at;
    }
    return UINT32_MAX;
}
