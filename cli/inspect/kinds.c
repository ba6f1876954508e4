/* cli/inspect/kinds.c -- weft ps --by-kind: what the actors of each kind take together. The node counts, a part of
 * its actors at a time, so that its answer is of one size however many they are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "control.h"

enum { KINDS = 256 }; /* a node of this version tells 64 */

enum { ACTORS, MAILBOX, MAILBOX_BYTES, HELD, HELD_BYTES, STACK_BYTES, HEAP_BYTES, FIGURES };

/* As TOP of docs/wire.md calls a figure, and as it is called here. */
static const struct {
    const char *key, *name;
} figures[FIGURES] = {{"actors", "actors"},
                      {"waiting", "mailbox"},
                      {"mailbox_bytes", "mailbox_bytes"},
                      {"held", "held"},
                      {"held_bytes", "held_bytes"},
                      {"stack_bytes", "stack_bytes"},
                      {"heap_bytes", "heap_bytes"}};

struct kind {
    weft_text name; /* a view of the answer */
    uint64_t figure[FIGURES];
    unsigned known_figures; /* a bit for each figure */
};

struct kinds {
    uint32_t count;
    int64_t silent; /* the number of a worker that has not answered; -1: all have */
    struct kind of[KINDS];
};

static void read_kind(weft_reader *r, struct kind *k)
{
    *k = (struct kind){.known_figures = 0};
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text key = weft_get_str(r);
        unsigned i = 0;
        while (i < FIGURES && !weft_text_equal(key, figures[i].key)) i++;
        if (weft_text_equal(key, "kind")) k->name = weft_get_str(r);
        else if (i == FIGURES) weft_skip(r);
        else k->figure[i] = weft_get_uint(r);
        if (i < FIGURES) k->known_figures |= 1u << i;
    }
}

static bool worker_answers(weft_reader *r)
{
    bool answers = true;
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        if (weft_text_equal(weft_get_str(r), "answers")) answers = weft_get_bool(r);
        else weft_skip(r);
    }
    return answers;
}

/* Reads the map of one node. A kind without actors is left out. */
static void read_kinds(weft_reader *r, struct kinds *all)
{
    *all = (struct kinds){.silent = -1};
    (void)weft_get_array(r);
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text key = weft_get_str(r);
        bool workers = weft_text_equal(key, "workers");
        if (!workers && !weft_text_equal(key, "kinds")) {
            weft_skip(r);
            continue;
        }
        uint32_t count = weft_get_array(r);
        for (uint32_t i = 0; i < count && r->error == 0; i++) {
            struct kind k;
            if (!workers) read_kind(r, &k);
            else if (!worker_answers(r)) all->silent = i;
            if (!workers && k.figure[ACTORS] > 0 && all->count < KINDS) all->of[all->count++] = k;
        }
    }
}

static uint64_t bytes_of(const struct kind *k)
{
    return k->figure[MAILBOX_BYTES] + k->figure[HELD_BYTES] + k->figure[STACK_BYTES] + k->figure[HEAP_BYTES];
}

static int most_first(const void *x, const void *y)
{
    const struct kind *a = x, *b = y;
    if (bytes_of(a) != bytes_of(b)) return bytes_of(a) > bytes_of(b) ? -1 : 1;
    size_t size = a->name.size < b->name.size ? a->name.size : b->name.size;
    int order = size == 0 ? 0 : memcmp(a->name.data, b->name.data, size);
    return order != 0 ? order : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

static void print_json(const struct kind *k)
{
    fputs("{\"kind\": ", stdout);
    cli_print_string(stdout, k->name.data, k->name.size);
    for (int i = 0; i < FIGURES; i++) printf(", \"%s\": %" PRIu64, figures[i].name, k->figure[i]);
    puts("}");
}

static void print_text(const struct kind *k)
{
    printf("%-20.*s", WEFT_STR(k->name));
    for (int i = 0; i < FIGURES; i++) printf(i == ACTORS || i == HELD ? " %9" PRIu64 : " %12" PRIu64, k->figure[i]);
    putchar('\n');
}

static void print_kinds(const struct cli *c, struct kinds *all)
{
    struct kind sum = {.name = weft_cstr("all of them")};
    if (all->count > 1) qsort(all->of, all->count, sizeof all->of[0], most_first);
    if (!c->json)
        puts("KIND                    ACTORS      MAILBOX   MBOX-BYTES      HELD   HELD-BYTES        STACK         "
             "HEAP");
    int64_t printed = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct kind *k = &all->of[i];
        if (c->kind != NULL && !weft_text_equal(k->name, c->kind)) continue;
        for (int f = 0; f < FIGURES; f++) sum.figure[f] += k->figure[f];
        if (c->limit != 0 && printed++ >= c->limit) continue;
        if (c->json) print_json(k);
        else print_text(k);
    }
    if (!c->json && c->kind == NULL) print_text(&sum);
}

int cli_actors_by_kind(struct cli_client *k)
{
    uint8_t request[32];
    weft_msg *m;
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 5);
    weft_put_str(&w, weft_cstr("mailbox"));
    weft_put_uint(&w, 0); /* no single actors */
    weft_put_str(&w, weft_cstr(""));
    weft_put_bool(&w, false);
    weft_put_bool(&w, true); /* the stack of each actor */
    int rc = cli_control(k, WF_CONTROL_TOP, request, w.size, &m);
    if (rc != CLI_OK) return rc;
    struct kinds *all = calloc(1, sizeof *all);
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (all != NULL) read_kinds(&r, all);
    if (all == NULL) rc = cli_fail(k->c, CLI_FAILED, "out of memory");
    else if (r.error != 0) rc = cli_cannot_decode(k);
    else if (all->silent >= 0)
        rc = cli_fail(k->c, CLI_DEADLINE,
                      "%s: its worker %" PRId64 " does not answer, so not all actors were counted", k->node,
                      all->silent);
    else if (all->count > 0 && all->of[0].known_figures != (1u << FIGURES) - 1)
        rc = cli_fail(k->c, CLI_FAILED, "%s is of a version that does not count by kind", k->node);
    else print_kinds(k->c, all);
    free(all);
    weft_msg_free(m);
    return rc;
}
