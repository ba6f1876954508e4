/* cli/inspect/inspect_actor.c -- weft inspect [PID]: what an actor does, and the chain of actors that wait. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inspect_actor.h"
#include "carriers.h"
#include "chain.h"
#include "control.h"
#include "json.h"
#include "compat.h"
#include "record.h"
#include "source_line.h"

/* A line for each, the first one behind the title. */
static void print_pids(const struct cli_client *k, const char *title, weft_reader *r, const struct cli_whos *whos)
{
    char who[CLI_WHO_TEXT];
    uint32_t count = weft_get_array(r);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        weft_text pid = weft_get_str(r);
        printf("%-12s%s\n", i == 0 ? title : "",
               pid.size == 0 ? "a name on another node" : cli_who_text_of(whos, pid, k->node, who));
    }
}

/* Lines of sources are only those of a node on this machine: elsewhere the file may be another one. */
static void print_callers(const struct cli_client *k, weft_reader *r)
{
    char file[PATH_MAX], line[PATH_MAX + 256];
    uint32_t count = weft_get_array(r);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        uint32_t fields = weft_get_array(r);
        weft_text path = weft_get_str(r);
        uint64_t offset = weft_get_uint(r);
        weft_text symbol = weft_get_str(r);
        uint64_t symbol_offset = weft_get_uint(r);
        for (; fields > 4 && r->error == 0; fields--) weft_skip(r);
        snprintf(file, sizeof file, "%.*s", WEFT_STR(path));
        printf("%-12s", i == 0 ? "in" : "called by");
        if (cli_is_local(k) && cli_source_line(file, offset, line, sizeof line)) puts(line);
        else if (symbol.size > 0)
            printf("%.*s+0x%" PRIx64 " of %s+0x%" PRIx64 "\n", WEFT_STR(symbol), symbol_offset, file, offset);
        else printf("%s+0x%" PRIx64 "\n", file, offset);
    }
}

static void print_known(const struct cli_client *k, const char *key, weft_reader *r, const struct cli_whos *whos,
                        weft_text *pid)
{
    static const struct {
        const char *key, *title;
        enum { TEXT, NUMBER, AGO, SPAN, PIDS, MORE, CALLERS } kind;
    } known[] = {{"pid", "pid", TEXT},
                 {"kind", "kind", TEXT},
                 {"name", "name", TEXT},
                 {"state", "state", TEXT},
                 {"waits_for", "waits for", TEXT},
                 {"waits_ns", "since", AGO},
                 {"mailbox", "mailbox", NUMBER},
                 {"mailbox_max", "at most", NUMBER},
                 {"mailbox_p50_ns", "mailbox p50", SPAN},
                 {"mailbox_p99_ns", "mailbox p99", SPAN},
                 {"received", "received", NUMBER},
                 {"dropped", "dropped", NUMBER},
                 {"stack_most", "stack", NUMBER},
                 {"held", "held", NUMBER},
                 {"held_bytes", "held bytes", NUMBER},
                 {"mailbox_bytes", "mbox bytes", NUMBER},
                 {"stack_bytes", "stack now", NUMBER},
                 {"heap_bytes", "heap", NUMBER},
                 {"asks", "answer of", PIDS},
                 {"links", "links", PIDS},
                 {"links_more", "", MORE},
                 {"monitors", "monitors", PIDS},
                 {"monitors_more", "", MORE},
                 {"watchers", "watched by", PIDS},
                 {"watchers_more", "", MORE},
                 {"callers", "", CALLERS}};
    char span[32];
    size_t i = 0, count = sizeof known / sizeof known[0];
    while (i < count && strcmp(known[i].key, key) != 0) i++;
    if (i == count) {
        weft_skip(r); /* a newer node says more */
    } else if (known[i].kind == TEXT) {
        weft_text text = weft_get_str(r);
        if (i == 0) *pid = text;
        if (text.size > 0) printf("%-12s%.*s\n", known[i].title, WEFT_STR(text));
    } else if (known[i].kind == CALLERS) {
        print_callers(k, r);
    } else if (known[i].kind == PIDS) {
        print_pids(k, known[i].title, r, whos);
    } else {
        uint64_t n = weft_get_uint(r);
        if (known[i].kind == MORE) printf("%-12sand %" PRIu64 " more\n", "", n);
        else if (known[i].kind == NUMBER) printf("%-12s%" PRIu64 "\n", known[i].title, n);
        else if (known[i].kind == SPAN) printf("%-12s%s\n", known[i].title, cli_span((int64_t)n, span));
        else if (n > 0) printf("%-12s%s ago\n", known[i].title, cli_span((int64_t)n, span));
    }
}

/* ---- The chain ------------------------------------------------------------------------------------------------- */

struct asking {
    struct cli_client *k;
    struct cli_whos *whos;
};

static int ask_for_one(const char *asked, struct cli_who *out, void *arg)
{
    struct asking *a = arg;
    cli_who_add(a->whos, weft_cstr(asked));
    int rc = cli_who_ask(a->k, a->whos);
    const struct cli_who *w = cli_who_of(a->whos, weft_cstr(asked));
    *out = (struct cli_who){.waits_ns = 0};
    if (w != NULL) *out = *w;
    else snprintf(out->asked, sizeof out->asked, "%s", asked);
    return rc;
}

/* The members of a circle, each once. */
static void print_circle(const struct cli_chain *c, const char *here)
{
    char who[CLI_WHO_TEXT];
    fputs(c->deadlock ? "deadlock: " : "", stdout);
    for (uint32_t i = c->circle; i < c->count; i++)
        printf("%s%s", i == c->circle ? "" : i + 1 == c->count ? " and " : ", ", cli_who_text(&c->of[i], here, who));
    puts(c->count - c->circle == 1 ? " waits for itself"
         : c->deadlock             ? " wait in a circle"
                                   : " wait in a circle, but not each of them for this answer alone");
}

static void print_last(const struct cli_chain *c, const struct cli_who *w, const char *here)
{
    char who[CLI_WHO_TEXT];
    switch (c->end) {
    case CLI_CHAIN_WORKS:
        if (strcmp(w->state, "waiting") == 0 || strcmp(w->state, "parked") == 0)
            printf(", which waits for %s\n", w->waits_for);
        else printf(", which is %s\n", w->state);
        break;
    case CLI_CHAIN_UNKNOWN: puts(w->why[0] != '\0' ? "" : ", of which nothing more is known"); break;
    case CLI_CHAIN_HIDDEN: puts(", which waits for an answer of an unknown actor"); break;
    case CLI_CHAIN_CIRCLE:
        printf(", which waits for an answer of %s: it waits in a circle\n",
               cli_who_text(&c->of[c->circle], here, who));
        print_circle(c, here);
        break;
    case CLI_CHAIN_LONG:
        printf(", which waits for another one: the chain is longer than %d actors\n", CLI_CHAIN_MAX);
        break;
    }
}

static void print_chain(const struct cli_chain *c, const char *here)
{
    char who[CLI_WHO_TEXT], span[32];
    if (c->count < 2 && c->end != CLI_CHAIN_CIRCLE) return;
    puts("actors that wait for each other:");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct cli_who *w = &c->of[i];
        printf("%*s%s", (int)(2 * i) + 2, "", cli_who_text(w, here, who));
        if (i + 1 == c->count) {
            print_last(c, w, here);
            return;
        }
        printf(" has waited %s", cli_span(w->waits_ns, span));
        if (w->asks > 1) printf(" for an answer of %" PRIu64 " others and of\n", w->asks - 1);
        else puts(" for an answer of");
    }
}

static void print_chain_json(const struct cli_chain *c)
{
    printf(", \"chain\": [");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct cli_who *w = &c->of[i];
        fputs(i == 0 ? "{" : ", {", stdout);
        cli_print_text("pid", weft_cstr(w->pid));
        cli_who_json("", w);
        fputs(", ", stdout);
        cli_print_text("asked", weft_cstr(w->asked));
        fputs(", ", stdout);
        cli_print_text("state", weft_cstr(w->state));
        fputs(", ", stdout);
        cli_print_text("waits_for", weft_cstr(w->waits_for));
        printf(", \"waits_ns\": %" PRId64 ", \"asks\": %" PRIu64 ", ", w->waits_ns, w->asks);
        cli_print_text("why", weft_cstr(w->why));
        putchar('}');
    }
    printf("], \"chain_end\": \"%s\"", cli_chain_end_name(c->end));
    if (c->end == CLI_CHAIN_CIRCLE)
        printf(", \"circle\": %" PRIu32 ", \"deadlock\": %s", c->circle, c->deadlock ? "true" : "false");
}

/* ---- One actor ------------------------------------------------------------------------------------------------- */

static bool is_key(weft_text key, const char *word)
{
    return key.size == strlen(word) && memcmp(key.data, word, key.size) == 0;
}

/* Notes all pids of other actors in an answer, and the pid of the actor that it describes. */
static void collect(weft_reader r, struct cli_whos *whos, weft_text *pid)
{
    *pid = weft_str("", 0);
    for (uint32_t left = weft_get_map(&r); left > 0 && r.error == 0; left--) {
        weft_text key = weft_get_str(&r);
        if (is_key(key, "pid")) {
            *pid = weft_get_str(&r);
        } else if (is_key(key, "asks") || is_key(key, "links") || is_key(key, "monitors") ||
                   is_key(key, "watchers")) {
            for (uint32_t i = weft_get_array(&r); i > 0 && r.error == 0; i--) cli_who_add(whos, weft_get_str(&r));
        } else {
            weft_skip(&r);
        }
    }
}

/* Prints the node's answer, the names of other actors in it, and the chain. */
static int print_actor_json(struct cli_client *k, weft_reader *r, const struct cli_whos *whos,
                            const struct cli_chain *c)
{
    putchar('{');
    uint32_t count = weft_get_map(r);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        weft_text key = weft_get_str(r);
        const uint8_t *start = r->at;
        weft_skip(r);
        if (r->error < 0) break; /* the key is no text */
        cli_print_string(stdout, key.data, key.size);
        fputs(": ", stdout);
        cli_print_json(stdout, start, (size_t)(r->at - start));
        fputs(", ", stdout);
    }
    fputs("\"names\": {", stdout);
    for (size_t i = 0; i < whos->count; i++) {
        const struct cli_who *w = &whos->at[i];
        if (i > 0) fputs(", ", stdout);
        cli_print_string(stdout, w->asked, strlen(w->asked));
        fputs(": {", stdout);
        cli_print_text("pid", weft_cstr(w->pid));
        cli_who_json("", w);
        putchar('}');
    }
    putchar('}');
    print_chain_json(c);
    int rc = cli_print_carriers(k, whos);
    puts("}");
    return rc;
}

static int print_actor(struct cli_client *k, weft_reader *r, struct cli_whos *whos, const struct cli_chain *c)
{
    weft_text pid = weft_str("", 0);
    char key[32], full[WEFT_PID_TEXT], span[32];
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text name = weft_get_str(r);
        snprintf(key, sizeof key, "%.*s", WEFT_STR(name));
        print_known(k, key, r, whos, &pid);
    }
    if (r->error < 0 || pid.size >= sizeof full) return cli_cannot_decode(k);
    snprintf(full, sizeof full, "%.*s", WEFT_STR(pid));
    int rc = cli_print_carriers(k, whos);
    if (rc != CLI_OK) return rc;
    print_chain(c, k->node);
    puts("last events, seconds before the node's last one:");
    fflush(stdout);
    int64_t last;
    rc = cli_last_events(k, full, whos, &last);
    if (rc != CLI_OK) return rc;
    if (last < 0) puts("  none in the flight recorder: the actor has done nothing for long");
    else printf("its last event was %s before the node's\n", cli_span(last, span));
    return CLI_OK;
}

int cli_inspect_actor(struct cli_client *k)
{
    char request[160];
    weft_msg *m;
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_str(&w, weft_cstr(k->c->argv[0]));
    int rc = cli_control(k, WF_CONTROL_INSPECT, request, w.size, &m);
    if (rc != CLI_OK) return rc;
    struct cli_whos whos = {.at = NULL};
    struct asking asking = {k, &whos};
    struct cli_chain *chain = malloc(sizeof *chain);
    if (chain == NULL) {
        weft_msg_free(m);
        return cli_fail(k->c, CLI_FAILED, "out of memory");
    }
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    weft_text pid;
    collect(r, &whos, &pid);
    char self[CLI_WHO_ASKED];
    snprintf(self, sizeof self, "%.*s", WEFT_STR(pid));
    rc = weft_peek_type(&r) == WEFT_MAP ? cli_who_ask(k, &whos) : cli_cannot_decode(k);
    if (rc == CLI_OK) rc = cli_chain_follow(chain, self, ask_for_one, &asking);
    if (rc == CLI_OK && k->c->json) rc = print_actor_json(k, &r, &whos, chain);
    else if (rc == CLI_OK) rc = print_actor(k, &r, &whos, chain);
    free(chain);
    cli_who_free(&whos);
    weft_msg_free(m);
    return rc;
}

/* ---- Who waits for whom ---------------------------------------------------------------------------------------- */

void cli_print_cut(const weft_msg *m, uint32_t columns, const char *what)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    /* No row was left out, or the node has an older version. */
    if (weft_get_array(&r) == 0 || weft_get_array(&r) <= columns) return;
    for (uint32_t i = 0; i < columns; i++) weft_skip(&r);
    uint64_t more = weft_get_uint(&r);
    if (r.error == 0 && more > 0) fprintf(stderr, "weft: %" PRIu64 " %s are not shown\n", more, what);
}

/* Calls `see` for each row; the error is the reader's. */
static void each_wait(weft_reader r, void (*see)(weft_text who, weft_text whom, int64_t ns, void *arg), void *arg)
{
    for (uint32_t left = weft_get_array(&r); left > 0; left--) {
        uint32_t fields = weft_get_array(&r);
        weft_text who = weft_get_str(&r), whom = weft_get_str(&r);
        int64_t ns = weft_get_int(&r);
        for (; fields > 3 && r.error == 0; fields--) weft_skip(&r);
        if (r.error < 0) return;
        see(who, whom, ns, arg);
    }
}

static void add_both(weft_text who, weft_text whom, int64_t ns, void *arg)
{
    struct asking *a = arg;
    (void)ns;
    cli_who_add(a->whos, who);
    cli_who_add(a->whos, whom);
}

/* The name that was called, which the caller reports. */
static weft_text name_of(const struct cli_whos *whos, weft_text who, weft_text whom)
{
    const struct cli_who *w = whom.size > 0 ? NULL : cli_who_of(whos, who);
    return w == NULL ? whom : weft_cstr(w->ask);
}

static void add_name(weft_text who, weft_text whom, int64_t ns, void *arg)
{
    struct asking *a = arg;
    (void)ns;
    char name[CLI_WHO_ASKED]; /* adding may move what it is in */
    snprintf(name, sizeof name, "%.*s", WEFT_STR(name_of(a->whos, who, whom)));
    cli_who_add(a->whos, weft_cstr(name));
}

static void print_wait_json(const struct cli_whos *whos, weft_text who, weft_text whom, weft_text name, int64_t ns)
{
    const struct cli_who *w = cli_who_of(whos, who), *of = cli_who_of(whos, name);
    putchar('{');
    cli_print_text("pid", who);
    fputs(", ", stdout);
    cli_print_text("waits_for", whom);
    printf(", \"ns\": %" PRId64, ns);
    if (w != NULL) cli_who_json("", w);
    if (of != NULL) cli_who_json("waits_for_", of);
    puts("}");
}

static void print_wait(weft_text who, weft_text whom, int64_t ns, void *arg)
{
    struct asking *a = arg;
    char text[CLI_WHO_TEXT], span[32];
    weft_text name = name_of(a->whos, who, whom);
    if (a->k->c->json) {
        print_wait_json(a->whos, who, whom, name, ns);
        return;
    }
    printf("%s waits for ", cli_who_text_of(a->whos, who, a->k->node, text));
    fputs(name.size == 0 ? "a name on another node" : cli_who_text_of(a->whos, name, a->k->node, text), stdout);
    printf(" for %s\n", cli_span(ns, span));
}

int cli_inspect_waits(struct cli_client *k)
{
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_WAITS, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m)), whole = r;
    weft_skip(&whole);
    struct cli_whos whos = {.at = NULL};
    struct asking asking = {k, &whos};
    if (weft_peek_type(&r) != WEFT_ARRAY || whole.error != 0) rc = cli_cannot_decode(k);
    if (rc == CLI_OK) {
        each_wait(r, add_both, &asking);
        rc = cli_who_ask(k, &whos);
        each_wait(r, add_name, &asking);
    }
    if (rc == CLI_OK) rc = cli_who_ask(k, &whos);
    if (rc == CLI_OK && whos.count == 0 && !k->c->json) puts("no actor waits for an answer");
    if (rc == CLI_OK) each_wait(r, print_wait, &asking);
    if (rc == CLI_OK) cli_print_cut(m, 3, "other calls");
    cli_who_free(&whos);
    weft_msg_free(m);
    if (rc == CLI_OK) (void)cli_print_stuck(k, "its other actors are not shown");
    return rc;
}
