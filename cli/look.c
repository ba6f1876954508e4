/* cli/look.c -- weft inspect PID, weft inspect, weft why-dropped: what an actor does, who waits for whom, what was
 * lost. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "control.h"
#include "lacks.h"

enum { EVENTS_SHOWN = 12 };

static const char *within(int64_t ns, char out[32])
{
    if (ns < WEFT_MS(1)) snprintf(out, 32, "%.1f us", (double)ns / 1e3);
    else if (ns < WEFT_SEC(1)) snprintf(out, 32, "%.1f ms", (double)ns / 1e6);
    else snprintf(out, 32, "%.1f s", (double)ns / 1e9);
    return out;
}

static int other_form(const struct cli_client *k)
{
    return cli_fail(k->c, CLI_FAILED, "%s: an answer of another form", k->node);
}

/* Without the part behind '@' if it is the node's own. */
static void print_pid(weft_text pid, weft_text own)
{
    const char *at = memchr(pid.data, '@', pid.size), *mine = own.size == 0 ? NULL : memchr(own.data, '@', own.size);
    size_t tail = at == NULL ? 0 : pid.size - (size_t)(at - pid.data);
    bool same = at != NULL && mine != NULL && own.size - (size_t)(mine - own.data) == tail &&
                memcmp(at, mine, tail) == 0;
    printf("%.*s", (int)(same ? pid.size - tail : pid.size), pid.data);
}

static void print_pids(const char *title, weft_reader *r, weft_text own)
{
    uint32_t count = weft_get_array(r);
    if (count > 0) printf("%-12s", title);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        if (i > 0) fputs(", ", stdout);
        print_pid(weft_get_str(r), own);
    }
    if (count > 0) putchar('\n');
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

static void print_known(const struct cli_client *k, const char *key, weft_reader *r, weft_text *pid)
{
    static const struct {
        const char *key, *title;
        enum { TEXT, NUMBER, AGO, SPAN, PIDS, CALLERS } kind;
    } known[] = {{"pid", "pid", TEXT},
                 {"kind", "kind", TEXT},
                 {"name", "name", TEXT},
                 {"state", "state", TEXT},
                 {"waits_for", "waits for", TEXT},
                 {"waits_ns", "since", AGO},
                 {"mailbox", "mailbox", NUMBER},
                 {"mailbox_max", "at most", NUMBER},
                 {"mail_p50_ns", "mail p50", SPAN},
                 {"mail_p99_ns", "mail p99", SPAN},
                 {"received", "received", NUMBER},
                 {"dropped", "dropped", NUMBER},
                 {"stack_most", "stack", NUMBER},
                 {"held", "held", NUMBER},
                 {"held_bytes", "held bytes", NUMBER},
                 {"asks", "answer of", PIDS},
                 {"links", "links", PIDS},
                 {"monitors", "monitors", PIDS},
                 {"watchers", "watched by", PIDS},
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
        print_pids(known[i].title, r, *pid);
    } else {
        uint64_t n = weft_get_uint(r);
        if (known[i].kind == NUMBER) printf("%-12s%" PRIu64 "\n", known[i].title, n);
        else if (known[i].kind == SPAN) printf("%-12s%s\n", known[i].title, within((int64_t)n, span));
        else if (n > 0) printf("%-12s%s ago\n", known[i].title, within((int64_t)n, span));
    }
}

static int print_actor(struct cli_client *k, weft_reader *r)
{
    weft_text pid = weft_str("", 0);
    char key[32], full[WEFT_PID_TEXT], span[32];
    for (uint32_t left = weft_get_map(r); left > 0 && r->error == 0; left--) {
        weft_text name = weft_get_str(r);
        snprintf(key, sizeof key, "%.*s", WEFT_STR(name));
        print_known(k, key, r, &pid);
    }
    if (r->error < 0 || pid.size >= sizeof full) return other_form(k);
    snprintf(full, sizeof full, "%.*s", WEFT_STR(pid));
    puts("last events, seconds before the node's last one:");
    fflush(stdout);
    int64_t last;
    int rc = cli_last_events(k, full, EVENTS_SHOWN, &last);
    if (rc != CLI_OK) return rc;
    if (last < 0) puts("  none that the recorder still has: it has done nothing for long");
    else printf("its last event was %s before the node's\n", within(last, span));
    return CLI_OK;
}

int cli_inspect_actor(struct cli_client *k)
{
    char request[160];
    weft_msg *m;
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_str(&w, weft_cstr(k->c->argv[0]));
    if (w.error != 0) return cli_fail(k->c, CLI_USAGE, "'%s' is longer than any name", k->c->argv[0]);
    int rc = cli_control(k, WF_CONTROL_INSPECT, request, w.size, &m);
    if (rc != CLI_OK) return rc;
    if (k->c->json) {
        cli_print_json(stdout, weft_data(m), weft_size(m));
        putchar('\n');
    } else {
        weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
        rc = print_actor(k, &r);
    }
    weft_msg_free(m);
    return rc;
}

/* ---- Who waits for whom ---------------------------------------------------------------------------------------- */

int cli_inspect_waits(struct cli_client *k)
{
    weft_msg *m;
    char span[32];
    int rc = cli_control(k, WF_CONTROL_WAITS, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t count = weft_get_array(&r);
    if (count == 0 && !k->c->json) puts("nobody waits for an answer");
    for (uint32_t i = 0; i < count && r.error == 0; i++) {
        uint32_t fields = weft_get_array(&r);
        weft_text who = weft_get_str(&r), whom = weft_get_str(&r);
        int64_t ns = weft_get_int(&r);
        for (; fields > 3 && r.error == 0; fields--) weft_skip(&r);
        if (r.error < 0) break;
        if (k->c->json) {
            printf("{\"pid\": \"%.*s\", \"waits_for\": \"%.*s\", \"ns\": %" PRId64 "}\n", WEFT_STR(who),
                   WEFT_STR(whom), ns);
            continue;
        }
        print_pid(who, who);
        fputs(" waits for ", stdout);
        if (whom.size == 0) fputs("a name on another node", stdout);
        else print_pid(whom, who);
        printf(" for %s\n", within(ns, span));
    }
    rc = r.error == 0 ? CLI_OK : other_form(k);
    weft_msg_free(m);
    return rc;
}

/* ---- What was dropped ------------------------------------------------------------------------------------------ */

static void print_reason(const struct cli *c, weft_text reason, uint64_t count)
{
    if (c->json) printf("{\"reason\": \"%.*s\", \"count\": %" PRIu64 "}\n", WEFT_STR(reason), count);
    else if (count > 0) printf("%12" PRIu64 "  %.*s\n", count, WEFT_STR(reason));
}

static void print_drop(const struct cli *c, weft_reader *r)
{
    char span[32];
    uint32_t fields = weft_get_array(r);
    int64_t ns = weft_get_int(r);
    weft_text reason = weft_get_str(r), to = weft_get_str(r), from = weft_get_str(r);
    uint64_t tag = weft_get_uint(r);
    for (; fields > 5 && r->error == 0; fields--) weft_skip(r);
    if (r->error < 0) return;
    if (c->json) {
        printf("{\"ago_ns\": %" PRId64
               ", \"reason\": \"%.*s\", \"to\": \"%.*s\", \"from\": \"%.*s\", \"tag\": %" PRIu64 "}\n",
               ns, WEFT_STR(reason), WEFT_STR(to), WEFT_STR(from), tag);
        return;
    }
    printf("%12s ago  tag %" PRIu64 " from ", within(ns, span), tag);
    if (from.size == 0) fputs("nobody known", stdout);
    else print_pid(from, to);
    fputs(" to ", stdout);
    if (to.size == 0) fputs("nobody known", stdout);
    else print_pid(to, to);
    printf(": %.*s\n", WEFT_STR(reason));
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
    uint32_t left = weft_get_array(&r);
    if (left > 0 && !k->c->json) puts("the last ones:");
    for (; left > 0 && r.error == 0; left--) print_drop(k->c, &r);
    rc = r.error == 0 ? CLI_OK : other_form(k);
    weft_msg_free(m);
    return rc;
}

int cli_why_dropped(const struct cli *c)
{
    return cli_ask_node(c, show_drops);
}
