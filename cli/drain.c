/* cli/drain.c -- weft drain: a node takes no new work, and takes some again. */
#include <string.h>

#include "drain.h"
#include "control.h"
#include "pages.h"

enum { SHOWN = 32 };

/* Global names that actors of the node have: how many, and the first ones. */
struct held {
    unsigned long long count;
    char names[SHOWN][65];
};

static void see_row(const struct cli_client *k, struct held *h, weft_reader *r)
{
    uint32_t fields = weft_get_array(r);
    weft_text name = weft_get_str(r);
    weft_skip(r); /* its actor */
    weft_text node = weft_get_str(r);
    bool global = weft_get_bool(r), holds = weft_get_bool(r);
    for (; fields > 5 && r->error == 0; fields--) weft_skip(r);
    if (r->error < 0 || !global || !holds || !weft_text_equal(node, k->node)) return;
    if (h->count < SHOWN) snprintf(h->names[h->count], sizeof h->names[0], "%.*s", WEFT_STR(name));
    h->count++;
}

static int list_names(struct cli_client *k, struct held *h)
{
    struct cli_pages p = {.verb = WF_CONTROL_NAMES, .silent = true};
    while (!p.last) {
        weft_msg *m;
        int rc = cli_page(k, &p, &m);
        if (rc != CLI_OK) return rc;
        for (; p.count > 0 && p.rows.error == 0; p.count--) see_row(k, h, &p.rows);
        bool bad = p.rows.error != 0;
        weft_msg_free(m);
        if (bad) return cli_cannot_decode(k);
    }
    return CLI_OK;
}

static void print_json(const struct cli_client *k, const struct held *h)
{
    printf("{\"node\": \"%s\", \"draining\": %s, \"global_names\": %llu, \"names\": [", k->node,
           k->c->undo ? "false" : "true", h->count);
    for (unsigned i = 0; i < SHOWN && i < h->count; i++) {
        if (i > 0) fputs(", ", stdout);
        cli_print_string(stdout, h->names[i], strlen(h->names[i]));
    }
    puts("]}");
}

static void print_text(const struct cli_client *k, const struct held *h)
{
    if (k->c->undo) {
        printf("%s takes new work\n", k->node);
        return;
    }
    printf("%s takes no new work", k->node);
    if (h->count > 0) printf("; its actors have %llu global names:", h->count);
    for (unsigned i = 0; i < SHOWN && i < h->count; i++) printf(" %s", h->names[i]);
    puts(h->count > SHOWN ? " ..." : "");
}

static int drain(struct cli_client *k)
{
    uint8_t body[4];
    weft_msg *m;
    struct held h = {.count = 0};
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_put_bool(&w, !k->c->undo);
    int rc = cli_control(k, WF_CONTROL_DRAIN, body, w.size, &m);
    if (rc != CLI_OK) return rc;
    weft_msg_free(m);
    rc = list_names(k, &h);
    if (rc != CLI_OK) return rc;
    if (k->c->json) print_json(k, &h);
    else print_text(k, &h);
    return CLI_OK;
}

int cli_drain(const struct cli *c)
{
    return cli_ask_node(c, drain);
}
