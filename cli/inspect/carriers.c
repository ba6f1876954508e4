/* cli/inspect/carriers.c -- see carriers.h. */
#include <stdio.h>
#include <string.h>

#include "carriers.h"
#include "control.h"

enum { NAME_FIELD = 0, CARRIER_FIELD = 17 }; /* places in a row of NODES */

static bool are_there(const struct cli_whos *all, weft_text node)
{
    for (size_t i = 0; i < all->count; i++)
        if (weft_text_equal(node, all->at[i].node)) return true;
    return false;
}

static bool are_elsewhere(const struct cli_whos *all, const char *here)
{
    for (size_t i = 0; i < all->count; i++) {
        const char *node = all->at[i].node;
        if (node[0] != '\0' && node[0] != '(' && strcmp(node, here) != 0) return true;
    }
    return false;
}

/* Reads one node's row. */
static void read_row(weft_reader *r, weft_text *name, weft_text *carrier)
{
    uint32_t count = weft_get_array(r);
    *name = *carrier = weft_str("", 0);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        if (i == NAME_FIELD) *name = weft_get_str(r);
        else if (i == CARRIER_FIELD) *carrier = weft_get_str(r);
        else weft_skip(r);
    }
}

static void print_one(const struct cli *c, weft_text node, weft_text carrier, uint32_t before)
{
    if (!c->json) {
        printf("%-12s%.*s to node %.*s\n", before == 0 ? "over" : "", WEFT_STR(carrier), WEFT_STR(node));
        return;
    }
    fputs(before == 0 ? "" : ", ", stdout);
    cli_print_string(stdout, node.data, node.size);
    fputs(": ", stdout);
    cli_print_string(stdout, carrier.data, carrier.size);
}

int cli_print_carriers(struct cli_client *k, const struct cli_whos *all)
{
    weft_msg *m = NULL;
    weft_reader r = weft_reader_on("\x90", 1); /* no rows */
    if (are_elsewhere(all, k->node)) {
        int rc = cli_control(k, WF_CONTROL_NODES, NULL, 0, &m);
        if (rc != CLI_OK) return rc;
        r = weft_reader_on(weft_data(m), weft_size(m));
    }
    uint32_t printed = 0;
    if (k->c->json) fputs(", \"carriers\": {", stdout);
    for (uint32_t left = weft_get_array(&r); left > 0 && r.error == 0; left--) {
        weft_text node, carrier;
        read_row(&r, &node, &carrier);
        if (carrier.size > 0 && are_there(all, node)) print_one(k->c, node, carrier, printed++);
    }
    if (k->c->json) putchar('}');
    bool bad = r.error != 0;
    weft_msg_free(m);
    return bad ? cli_cannot_decode(k) : CLI_OK;
}
