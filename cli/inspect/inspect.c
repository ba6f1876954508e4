/* cli/inspect/inspect.c -- weft ps, nodes, names and groups: what a node says of itself, as a table or as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "control.h"
#include "kinds.h"
#include "pages.h"

/* An incarnation has 64 bits, and many JSON readers represent numbers exactly only up to 2^53: so it is text, as in
 * the table and in pids. */
static void print_value(const char *key, const uint8_t *start, size_t size)
{
    weft_reader r = weft_reader_on(start, size);
    uint64_t incarnation = strcmp(key, "incarnation") == 0 ? weft_get_uint(&r) : 0;
    if (incarnation != 0) printf("\"%016" PRIx64 "\"", incarnation);
    else cli_print_json(stdout, start, size);
}

/* Prints one object a line; `keys` are the names of the row's values, in order. */
static void print_object(weft_reader *r, const char *const *keys, uint32_t key_count)
{
    uint32_t count = weft_get_array(r);
    putchar('{');
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *start = r->at;
        weft_skip(r);
        if (i >= key_count || r->error != 0) continue; /* a newer node says more */
        printf("%s\"%s\": ", i > 0 ? ", " : "", keys[i]);
        print_value(keys[i], start, (size_t)(r->at - start));
    }
    puts("}");
}

static void skip_rest(weft_reader *r, uint32_t left)
{
    while (left-- > 0 && r->error == 0) weft_skip(r);
}

static void read_typed(weft_reader *r, char type)
{
    switch (type) {
    case 't': (void)weft_get_str(r); break;
    case 'u': (void)weft_get_uint(r); break;
    case 'i': (void)weft_get_int(r); break;
    case 'b': (void)weft_get_bool(r); break;
    case 'a':
        for (uint32_t left = weft_get_array(r); left > 0 && r->error == 0; left--) (void)weft_get_str(r);
        break;
    case 'm':
        for (uint64_t left = 2 * (uint64_t)weft_get_map(r); left > 0 && r->error == 0; left--) (void)weft_get_str(r);
        break;
    default: weft_skip(r); break;
    }
}

/* Whether a row has the values that `types` lists: text, uint, int, bool, array of texts, map of texts, or any value (.).
 * An older node does not say those behind the bar. */
static bool has_types(weft_reader r, const char *types)
{
    uint32_t left = weft_get_array(&r);
    for (; *types != '\0' && *types != '|' && r.error == 0; types++) {
        if (left-- == 0) return false;
        read_typed(&r, *types);
    }
    for (types += *types == '|'; *types != '\0' && left > 0 && r.error == 0; types++, left--) read_typed(&r, *types);
    skip_rest(&r, left); /* a newer node says more */
    return r.error == 0;
}

static void print_actor(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text pid = weft_get_str(r), kind = weft_get_str(r), name = weft_get_str(r), state = weft_get_str(r),
              waits = weft_get_str(r);
    uint64_t mailbox = weft_get_uint(r), max = weft_get_uint(r), received = weft_get_uint(r),
             dropped = weft_get_uint(r);
    uint64_t stack = count > 9 ? weft_get_uint(r) : 0; /* an older node does not say */
    uint64_t held = count > 10 ? weft_get_uint(r) : 0;
    if (count > 11) skip_rest(r, count - 11);
    /* The part behind '@' is the node, the same for all. */
    const char *at = memchr(pid.data, '@', pid.size);
    int shown = at == NULL ? (int)pid.size : (int)(at - pid.data);
    char doing[64], mail[48];
    snprintf(doing, sizeof doing, "%.*s%s%.*s", WEFT_STR(state), waits.size > 0 ? ": " : "", WEFT_STR(waits));
    snprintf(mail, sizeof mail, "%" PRIu64 "/%" PRIu64, mailbox, max);
    printf("%-14.*s %-14.*s %-14.*s %-24s %12s %12" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", shown,
           pid.data, WEFT_STR(kind), WEFT_STR(name), doing, mail, received, dropped, stack, held);
}

/* Behind the metadata. An older node does not say it. */
static weft_text carrier_of(const weft_reader *at_meta, uint32_t count)
{
    weft_reader ahead = *at_meta;
    if (count < 18) return weft_str("", 0);
    weft_skip(&ahead);
    return weft_get_str(&ahead);
}

static void print_node(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text name = weft_get_str(r);
    uint64_t incarnation = weft_get_uint(r);
    weft_text state = weft_get_str(r), reason = weft_get_str(r), url = weft_str("", 0);
    for (uint32_t i = 0, urls = weft_get_array(r); i < urls; i++) {
        weft_text u = weft_get_str(r);
        if (i == 0) url = u;
    }
    int64_t rtt = weft_get_int(r);
    uint64_t in = weft_get_uint(r), out = weft_get_uint(r);
    if (count > 12) skip_rest(r, 4);
    int64_t slowed = count > 12 ? weft_get_int(r) : 0; /* an older node does not say */
    uint64_t refused = count > 13 ? weft_get_uint(r) : 0, resumes = 0, unacked = 0;
    if (count > 15) {
        resumes = weft_get_uint(r);
        unacked = weft_get_uint(r);
    } else {
        skip_rest(r, count > 14 ? count - 14 : count > 12 || count < 8 ? 0 : count - 8);
    }
    weft_text carrier = carrier_of(r, count);
    char took[24] = "", limits[64] = "";
    if (slowed > 0 || refused > 0)
        snprintf(limits, sizeof limits, "  slowed %.1f s, %" PRIu64 " refused", (double)slowed / 1e9, refused);
    if (rtt > 0) snprintf(took, sizeof took, "%.2f ms", (double)rtt / 1e6);
    printf("%-16.*s %016" PRIx64 " %-10.*s %-13.*s %10s %12" PRIu64 " %12" PRIu64 " %7" PRIu64 " %7" PRIu64
           " %.*s%s%.*s%s",
           WEFT_STR(name), incarnation, WEFT_STR(state), WEFT_STR(carrier), took, in, out, resumes, unacked,
           WEFT_STR(url), reason.size > 0 && url.size > 0 ? "  " : "", WEFT_STR(reason), limits);
    uint32_t meta = count > 16 ? weft_get_map(r) : 0; /* an older node does not say */
    for (uint32_t i = 0; i < meta; i++) {
        weft_text key = weft_get_str(r), value = weft_get_str(r);
        printf("  %.*s=%.*s", WEFT_STR(key), WEFT_STR(value));
    }
    if (count > 17) skip_rest(r, count - 17);
    putchar('\n');
}

/* The list of a verb. */
struct list {
    uint32_t verb;
    const char *head;
    void (*print)(weft_reader *r);
    const char *const *keys;
    uint32_t key_count;
    uint32_t text_column; /* which --prefix is about */
    const char *types;    /* of has_types */
};

static bool has_text(const uint8_t *row, size_t size, uint32_t column, const char *wanted, bool whole)
{
    weft_reader r = weft_reader_on(row, size);
    (void)weft_get_array(&r);
    skip_rest(&r, column);
    weft_text text = weft_get_str(&r);
    size_t n = strlen(wanted);
    return text.size >= n && memcmp(text.data, wanted, n) == 0 && (!whole || text.size == n);
}

/* An older node has sent all there is. */
static bool is_wanted(const struct cli *c, const struct list *l, const uint8_t *row, size_t size)
{
    if (c->kind != NULL && l->verb == WF_CONTROL_PS && !has_text(row, size, 1, c->kind, true)) return false;
    return c->prefix == NULL || l->verb == WF_CONTROL_PS || has_text(row, size, l->text_column, c->prefix, false);
}

static void print_row(const struct cli *c, const struct list *l, const uint8_t *row, size_t size)
{
    weft_reader r = weft_reader_on(row, size);
    if (c->json) print_object(&r, l->keys, l->key_count);
    else l->print(&r);
}

struct page_row {
    const uint8_t *at;
    size_t size;
};

static weft_text first_text(const struct page_row *row)
{
    weft_reader r = weft_reader_on(row->at, row->size);
    (void)weft_get_array(&r);
    return weft_get_str(&r);
}

static int by_first_text(const void *x, const void *y)
{
    const struct page_row *one = x, *other = y;
    weft_text a = first_text(one), b = first_text(other);
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    if (order == 0 && a.size != b.size) order = a.size < b.size ? -1 : 1;
    return order != 0 ? order : one->at < other->at ? -1 : 1;
}

/* The rows of a page that are wanted, names and groups in order. NULL: no memory; else to be freed. Those behind a row
 * that cannot be decoded are left out, and p->rows has an error then. */
static struct page_row *rows_of(const struct cli *c, const struct list *l, struct cli_pages *p, size_t *count)
{
    struct page_row *rows = malloc((p->count + (size_t)1) * sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; rows != NULL && i < p->count && p->rows.error == 0; i++) {
        const uint8_t *at = p->rows.at;
        weft_skip(&p->rows);
        size_t size = (size_t)(p->rows.at - at);
        if (p->rows.error == 0 && !has_types(weft_reader_on(at, size), l->types)) p->rows.error = WEFT_EFORMAT;
        if (p->rows.error == 0 && is_wanted(c, l, at, size)) rows[(*count)++] = (struct page_row){at, size};
    }
    if (l->verb != WF_CONTROL_PS && *count > 1) qsort(rows, *count, sizeof *rows, by_first_text);
    return rows;
}

static bool is_sorted(const struct cli *c)
{
    return c->order != NULL && strcmp(c->order, "pid") != 0;
}

/* A page of actors needs no more rows than are shown. Rows of names and groups are sorted within their page. */
static uint32_t rows_needed(const struct cli *c, const struct list *l)
{
    bool all = c->limit == 0 || c->limit > UINT32_MAX || l->verb != WF_CONTROL_PS || is_sorted(c);
    return all ? 0 : (uint32_t)c->limit;
}

static void print_head(const struct cli *c, const struct list *l)
{
    if (!c->json) puts(l->head);
}

/* Calls `see` for each row that is wanted, until it says false. The head stands before the first row, and not before a
 * message about a node that does not answer. */
static int each_row(struct cli_client *k, const struct list *l,
                    bool (*see)(const struct cli *c, const struct list *l, const uint8_t *row, size_t size,
                                void *arg),
                    void *arg)
{
    struct cli_pages p = {.verb = l->verb,
                          .kind = k->c->kind,
                          .prefix = k->c->prefix,
                          .most = rows_needed(k->c, l),
                          .silent = is_sorted(k->c)};
    bool more = true, is_first = true;
    while (more && !p.last) {
        weft_msg *m;
        int rc = cli_page(k, &p, &m);
        if (rc != CLI_OK) return rc;
        if (is_first && !is_sorted(k->c)) print_head(k->c, l);
        is_first = false;
        size_t count;
        struct page_row *rows = rows_of(k->c, l, &p, &count);
        for (size_t i = 0; more && i < count; i++) more = see(k->c, l, rows[i].at, rows[i].size, arg);
        bool bad = p.rows.error != 0, none = rows == NULL;
        free(rows);
        weft_msg_free(m);
        if (none) return cli_fail(k->c, CLI_FAILED, "out of memory");
        if (bad) return cli_cannot_decode(k);
        if (cli_output_failed()) return CLI_OK;
    }
    if (l->verb == WF_CONTROL_PS) (void)cli_print_stuck(k, "its other actors are not shown");
    return CLI_OK;
}

static bool print_and_count(const struct cli *c, const struct list *l, const uint8_t *row, size_t size, void *arg)
{
    int64_t *printed = arg;
    print_row(c, l, row, size);
    return ++*printed < c->limit || c->limit == 0;
}

/* ---- Sorted ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t column;
    bool number;
} orders[] = {{"kind", 1, false},    {"name", 2, false},   {"state", 3, false}, {"mailbox", 5, true},
              {"received", 7, true}, {"dropped", 8, true}, {"stack", 9, true}};

struct row {
    uint64_t number; /* rows are sorted by this number, the highest first */
    char *text;      /* or by this text, which is behind the row */
    uint64_t place;  /* then in the order of the pages */
    size_t size;
    uint8_t *data;
};

#define KEPT_BYTES ((size_t)256 << 20) /* of all rows; with --limit only the first ones stay */
static const char TOO_MANY[] = "its rows take more than 256 MiB: choose with --kind KIND or a small --limit N";

struct rows {
    struct row *at;
    size_t count, capacity, bytes;
    size_t order; /* in `orders` */
    uint64_t seen;
    const char *failed;
};

static bool fail_rows(struct rows *all, const char *why)
{
    all->failed = why;
    return false;
}

static int by_order(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->number != b->number) return a->number > b->number ? -1 : 1;
    int texts = strcmp(a->text, b->text);
    return texts != 0 ? texts : a->place < b->place ? -1 : 1;
}

static void sort_rows(struct rows *all)
{
    if (all->count > 1) qsort(all->at, all->count, sizeof *all->at, by_order);
}

static size_t bytes_of(const struct row *r)
{
    return sizeof *r + r->size + strlen(r->text) + 1;
}

/* Leaves only the first rows, which are shown. False: they take more than half of the space. Then all rows would be sorted
 * again after few new ones. */
static bool keep_first(const struct cli *c, struct rows *all)
{
    sort_rows(all);
    while (c->limit > 0 && all->count > (uint64_t)c->limit) {
        const struct row *last = &all->at[--all->count];
        all->bytes -= bytes_of(last);
        free(last->data);
    }
    return all->bytes <= KEPT_BYTES / 2;
}

static bool keep_row(const struct cli *c, const struct list *l, const uint8_t *row, size_t size, void *arg)
{
    struct rows *all = arg;
    (void)l;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 1024 : 2 * all->capacity;
        struct row *more = realloc(all->at, capacity * sizeof *more);
        if (more == NULL) return fail_rows(all, "out of memory");
        all->at = more;
        all->capacity = capacity;
    }
    weft_reader r = weft_reader_on(row, size);
    uint32_t columns = weft_get_array(&r);
    uint32_t column = orders[all->order].column;
    if (column < columns) skip_rest(&r, column);
    bool number = orders[all->order].number;
    uint64_t n = number && column < columns ? weft_get_uint(&r) : 0;
    weft_text text = number ? weft_str("", 0) : weft_get_str(&r);
    uint8_t *data = malloc(size + text.size + 1);
    if (data == NULL) return fail_rows(all, "out of memory");
    memcpy(data, row, size);
    memcpy(data + size, text.data, text.size);
    data[size + text.size] = '\0';
    all->at[all->count] = (struct row){n, (char *)data + size, all->seen++, size, data};
    all->bytes += bytes_of(&all->at[all->count++]);
    if (all->bytes <= KEPT_BYTES || keep_first(c, all)) return true;
    return fail_rows(all, TOO_MANY);
}

static int show_sorted(struct cli_client *k, const struct list *l, const char *order)
{
    struct rows all = {.at = NULL};
    while (strcmp(orders[all.order].name, order) != 0) all.order++;
    int rc = each_row(k, l, keep_row, &all);
    if (all.failed != NULL) rc = cli_fail(k->c, CLI_FAILED, "%s", all.failed);
    if (rc == CLI_OK) sort_rows(&all);
    int64_t printed = 0;
    bool more = rc == CLI_OK;
    if (more) print_head(k->c, l);
    for (size_t i = 0; i < all.count; i++) {
        if (more) more = print_and_count(k->c, l, all.at[i].data, all.at[i].size, &printed);
        free(all.at[i].data);
    }
    free(all.at);
    return rc;
}

static int show(struct cli_client *k, const struct list *l)
{
    int64_t printed = 0;
    if (is_sorted(k->c)) return show_sorted(k, l, k->c->order);
    return each_row(k, l, print_and_count, &printed);
}

static int show_actors(struct cli_client *k)
{
    static const char *const keys[] = {"pid",     "kind",        "name",          "state",       "waits_for",
                                       "mailbox", "mailbox_max", "received",      "dropped",     "stack_most",
                                       "held",    "held_bytes",  "mailbox_bytes", "stack_bytes", "heap_bytes"};
    static const struct list list = {WF_CONTROL_PS,
                                     "PID            KIND           NAME           STATE                         "
                                     "MAILBOX     RECEIVED  DROPPED    STACK     HELD",
                                     print_actor,
                                     keys,
                                     15,
                                     2,
                                     "tttttuuuu|uu"};
    if (k->c->by_kind) return cli_actors_by_kind(k);
    return show(k, &list);
}

static int show_nodes(struct cli_client *k)
{
    static const char *const keys[] = {"name",        "incarnation", "state",     "reason",    "urls",
                                       "rtt_ns",      "bytes_in",    "bytes_out", "frames_in", "frames_out",
                                       "frames_lost", "seconds",     "slowed_ns", "refused",   "resumes",
                                       "unacked",     "meta",        "carrier"};
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_NODES, NULL, 0, &m); /* they are few: WF_PEERS_MAX */
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (!k->c->json)
        puts("NAME             INCARNATION      STATE      CARRIER              RTT     BYTES IN    BYTES OUT "
             "RESUMES UNACKED "
             "URL, REASON, METADATA");
    for (uint32_t left = weft_get_array(&r); left > 0 && r.error == 0; left--) {
        if (!has_types(r, "tuttaiuu|....iuuumt")) r.error = WEFT_EFORMAT;
        else if (k->c->json) print_object(&r, keys, 18);
        else print_node(&r);
    }
    rc = r.error == 0 ? CLI_OK : cli_cannot_decode(k);
    weft_msg_free(m);
    return rc;
}

static void print_name(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text name = weft_get_str(r), pid = weft_get_str(r), node = weft_get_str(r);
    bool global = weft_get_bool(r), holds = weft_get_bool(r);
    if (count > 5) skip_rest(r, count - 5);
    printf("%-32.*s %-8s %-16.*s %.*s\n", WEFT_STR(name),
           !global ? "node"
           : holds ? "cluster"
                   : "loses",
           WEFT_STR(node), WEFT_STR(pid));
}

static void print_member(weft_reader *r)
{
    uint32_t count = weft_get_array(r);
    weft_text group = weft_get_str(r), pid = weft_get_str(r), node = weft_get_str(r);
    if (count > 3) skip_rest(r, count - 3);
    printf("%-32.*s %-16.*s %.*s\n", WEFT_STR(group), WEFT_STR(node), WEFT_STR(pid));
}

static int show_names(struct cli_client *k)
{
    static const char *const keys[] = {"name", "pid", "node", "global", "holds"};
    static const struct list list = {
        WF_CONTROL_NAMES, "NAME                             SCOPE    NODE             PID", print_name, keys, 5, 0,
        "tttbb"};
    return show(k, &list);
}

static int show_groups(struct cli_client *k)
{
    static const char *const keys[] = {"group", "pid", "node"};
    static const struct list list = {WF_CONTROL_GROUPS,
                                     "GROUP                            NODE             MEMBER",
                                     print_member,
                                     keys,
                                     3,
                                     0,
                                     "ttt"};
    return show(k, &list);
}

int cli_names(const struct cli *c)
{
    return cli_ask_node(c, show_names);
}

int cli_groups(const struct cli *c)
{
    return cli_ask_node(c, show_groups);
}

int cli_ps(const struct cli *c)
{
    if (c->by_kind && is_sorted(c))
        return cli_fail(c, CLI_USAGE, "--sort is for single actors: --by-kind shows what takes most bytes first");
    return cli_ask_node(c, show_actors);
}

int cli_nodes(const struct cli *c)
{
    return cli_ask_node(c, show_nodes);
}
