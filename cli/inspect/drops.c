/* cli/inspect/drops.c -- weft why-dropped: shows which messages a node has dropped, why, and which actors sent
 * them. */
#include <inttypes.h>
#include <string.h>

#include "drops.h"
#include "control.h"
#include "json.h"
#include "who.h"

/* A row of DROPS; texts are views. */
struct drop {
    int64_t ns;
    weft_text reason, to, from, kind, name, tag_name;
    uint64_t tag;
};

/* The reason for people; "": it is of a newer node. */
static const char *words_of(weft_text reason)
{
    static const struct {
        const char *reason, *words;
    } known[] = {{"no-actor", "the receiver had ended when it arrived"},
                 {"no-name", "no actor had the name that it was sent to"},
                 {"mailbox-full", "the receiver's mailbox was full, and the sender could not wait"},
                 {"slow-reader", "the mailbox of a subscriber was full"},
                 {"late-reply", "the caller no longer waited for this answer"},
                 {"unread-at-exit", "the receiver ended before it had read it"},
                 {"out-of-memory", "there was no memory for it"},
                 {"expired", "the caller no longer waited when its request was to be received"},
                 {"too-big", "with its topic it is larger than a message may be"},
                 {"send-queue-full", "the send queue for another node was full"},
                 {"link-lost", "the link to another node was lost before it had arrived"},
                 {"refused", "another node's role or limits do not allow it"},
                 {"unbelieved", "another node retains it with a date, or a publisher, that cannot be true"},
                 {"retained-full", "another node retains more messages than this node stores of one node"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (weft_text_equal(reason, known[i].reason)) return known[i].words;
    return "";
}

static void print_reason(const struct cli *c, weft_text reason, uint64_t count)
{
    const char *words = words_of(reason);
    if (c->json) {
        putchar('{');
        cli_print_text("reason", reason);
        printf(", \"count\": %" PRIu64 ", \"why\": \"%s\"}\n", count, words);
    } else if (count > 0) {
        printf("%12" PRIu64 "  %.*s%s%s\n", count, WEFT_STR(reason), words[0] == '\0' ? "" : ": ", words);
    }
}

static bool read_drop(weft_reader *r, struct drop *d)
{
    uint32_t fields = weft_get_array(r);
    *d = (struct drop){.ns = weft_get_int(r)};
    d->reason = weft_get_str(r);
    d->to = weft_get_str(r);
    d->from = weft_get_str(r);
    d->tag = weft_get_uint(r);
    d->kind = d->name = d->tag_name = weft_str("", 0);
    if (fields > 7) { /* an older node does not say */
        d->kind = weft_get_str(r);
        d->name = weft_get_str(r);
        d->tag_name = weft_get_str(r);
    }
    for (; fields > 8 && r->error == 0; fields--) weft_skip(r);
    return r->error == 0;
}

/* The intended receiver: its present data; if it has ended, the data recorded when the message was dropped. */
static struct cli_who receiver_of(const struct drop *d, const struct cli_whos *whos, const char *here)
{
    struct cli_who to = {.waits_ns = 0};
    const struct cli_who *w = cli_who_of(whos, d->to);
    if (w != NULL) to = *w;
    else snprintf(to.asked, sizeof to.asked, "%.*s", WEFT_STR(d->to));
    if (to.kind[0] == '\0') snprintf(to.kind, sizeof to.kind, "%.*s", WEFT_STR(d->kind));
    if (to.name[0] == '\0') snprintf(to.name, sizeof to.name, "%.*s", WEFT_STR(d->name));
    if (to.node[0] == '\0') snprintf(to.node, sizeof to.node, "%s", d->to.size > 0 ? here : "");
    return to;
}

static void print_json(const struct drop *d, const struct cli_who *to, const struct cli_who *from)
{
    printf("{\"ago_ns\": %" PRId64 ", ", d->ns);
    cli_print_text("reason", d->reason);
    printf(", \"why\": \"%s\", ", words_of(d->reason));
    cli_print_text("to", d->to);
    fputs(", ", stdout);
    cli_print_text("from", d->from);
    printf(", \"tag\": %" PRIu64 ", ", d->tag);
    cli_print_text("tag_name", d->tag_name);
    cli_who_json("to_", to);
    if (from != NULL) cli_who_json("from_", from);
    puts("}");
}

static void print_drop(const struct cli_client *k, const struct drop *d, const struct cli_whos *whos)
{
    char span[32], text[CLI_WHO_TEXT];
    const char *words = words_of(d->reason);
    struct cli_who to = receiver_of(d, whos, k->node);
    if (k->c->json) {
        print_json(d, &to, cli_who_of(whos, d->from));
        return;
    }
    printf("%12s ago  ", cli_span(d->ns, span));
    if (d->tag_name.size > 0) printf("%.*s (tag %" PRIu64 ")", WEFT_STR(d->tag_name), d->tag);
    else printf("tag %" PRIu64, d->tag);
    printf(" from %s", cli_who_text_of(whos, d->from, k->node, text));
    printf(" to %s: ", cli_who_text(&to, k->node, text));
    if (words[0] != '\0') puts(words);
    else printf("%.*s\n", WEFT_STR(d->reason));
}

/* The rows are read twice: all pids are asked for together. */
static int print_drops(struct cli_client *k, weft_reader *r)
{
    struct drop d;
    struct cli_whos whos = {.at = NULL};
    weft_reader again = *r;
    uint32_t left = weft_get_array(r);
    if (left > 0 && !k->c->json) puts("the last ones:");
    for (; left > 0 && read_drop(r, &d); left--) {
        cli_who_add(&whos, d.to);
        cli_who_add(&whos, d.from);
    }
    int rc = r->error != 0 ? CLI_OK : cli_who_ask(k, &whos);
    left = weft_get_array(&again);
    for (; rc == CLI_OK && left > 0 && read_drop(&again, &d); left--) print_drop(k, &d, &whos);
    cli_who_free(&whos);
    return rc;
}

static int show_drops(struct cli_client *k)
{
    weft_msg *m;
    uint64_t sum = 0;
    int rc = cli_control(k, WF_CONTROL_DROPS, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    (void)weft_get_array(&r);
    for (uint32_t left = weft_get_array(&r); left > 0 && r.error == 0; left--) {
        (void)weft_get_array(&r);
        weft_text reason = weft_get_str(&r);
        uint64_t count = weft_get_uint(&r);
        sum += count;
        if (r.error == 0) print_reason(k->c, reason, count);
    }
    if (sum == 0 && !k->c->json) printf("%s has dropped nothing\n", k->node);
    rc = print_drops(k, &r);
    if (rc == CLI_OK && r.error != 0) rc = cli_cannot_decode(k);
    weft_msg_free(m);
    if (rc == CLI_OK) (void)cli_print_stuck(k, "its other actors are not shown");
    return rc;
}

int cli_why_dropped(const struct cli *c)
{
    return cli_ask_node(c, show_drops);
}
