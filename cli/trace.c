/* cli/trace.c -- weft trace: messages as they pass, on all nodes.
 *
 * Each node says of those it was asked for, and of all others that carry a trace id. Shown is what was asked for, and
 * what has its id: others wait here for a while, as another node may say later that theirs was asked for. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace.h"
#include "control.h"
#include "json.h"
#include "compat.h"
#include "talk.h"

enum { IDS = 4096, WAITING = 4096, NODES = 1024 };
static const size_t WAITING_BYTES = (size_t)16 << 20;

/* A row of TRACED; texts are views. */
struct passed {
    int64_t at;
    uint64_t what, tag, size;
    weft_text actor, other, trace, name, why, body;
    bool wanted, has_body;
};

/* A waiting message; its row follows. */
struct waiting {
    struct waiting *next;
    char node[65];
    size_t size;
    uint8_t row[];
};

static struct {
    struct {
        uint64_t incarnation;
        char name[65];
    } nodes[NODES];
    size_t node_count;
    char ids[IDS][WEFT_TRACE_TEXT]; /* the last ids that were asked for */
    size_t id_count;
    struct waiting *first, *last;
    size_t waiting, waiting_bytes; /* the oldest go when there are more than WAITING, or WAITING_BYTES */
    bool fresh;                    /* an id has come that others may wait for */
} seen;

static const char *const events[] = {"?", "send", "receive", "drop", "fail"};

/* ---- Names of nodes -------------------------------------------------------------------------------------------- */

static void learn(uint64_t incarnation, weft_text name)
{
    for (size_t i = 0; i < seen.node_count; i++)
        if (seen.nodes[i].incarnation == incarnation) return;
    if (seen.node_count == NODES) return;
    seen.nodes[seen.node_count].incarnation = incarnation;
    snprintf(seen.nodes[seen.node_count++].name, sizeof seen.nodes->name, "%.*s", WEFT_STR(name));
}

/* "0.17.1" of the node that says it, "0.17.1@b" of others. */
static void put_actor(weft_text pid, const char *here)
{
    const char *at = pid.size == 0 ? NULL : memchr(pid.data, '@', pid.size);
    if (at == NULL) {
        printf("%.*s", pid.size == 0 ? 6 : (int)pid.size, pid.size == 0 ? "nobody" : pid.data);
        return;
    }
    uint64_t incarnation = strtoull(at + 1, NULL, 16);
    for (size_t i = 0; i < seen.node_count; i++) {
        if (seen.nodes[i].incarnation != incarnation) continue;
        bool own = strcmp(seen.nodes[i].name, here) == 0;
        printf("%.*s%s%s", (int)(at - pid.data), pid.data, own ? "" : "@", own ? "" : seen.nodes[i].name);
        return;
    }
    printf("%.*s", WEFT_STR(pid));
}

/* ---- One message ----------------------------------------------------------------------------------------------- */

static bool read_row(weft_reader *r, struct passed *p)
{
    uint32_t count = weft_get_array(r);
    p->at = weft_get_int(r);
    p->what = weft_get_uint(r);
    p->actor = weft_get_str(r);
    p->other = weft_get_str(r);
    p->tag = weft_get_uint(r);
    p->trace = weft_get_str(r);
    p->wanted = weft_get_bool(r);
    p->name = weft_get_str(r);
    p->why = weft_get_str(r);
    p->size = weft_get_uint(r);
    p->has_body = !weft_get_nil(r);
    p->body = p->has_body ? weft_get_bin(r) : weft_str("", 0);
    if (p->what >= sizeof events / sizeof events[0]) p->what = 0;
    for (; count > 11 && r->error == 0; count--) weft_skip(r); /* a newer node says more */
    return r->error == 0 && p->trace.size == WEFT_TRACE_TEXT - 1;
}

static void print_json(const struct passed *p, const char *node)
{
    printf("{\"at_ns\": %" PRId64 ", ", p->at);
    cli_print_text("node", weft_cstr(node));
    printf(", \"event\": \"%s\", ", events[p->what]);
    cli_print_text("actor", p->actor);
    fputs(", ", stdout);
    cli_print_text("other", p->other);
    printf(", \"tag\": %" PRIu64 ", ", p->tag);
    cli_print_text("trace", p->trace);
    printf(", \"asked\": %s, ", p->wanted ? "true" : "false");
    cli_print_text("name", p->name);
    if (p->why.size > 0) {
        fputs(", ", stdout);
        cli_print_text("why", p->why);
    }
    printf(", \"bytes\": %" PRIu64, p->size);
    if (p->has_body) {
        fputs(", ", stdout);
        cli_print_json_body(p->body.data, p->body.size);
    }
    puts("}");
}

/* "10:03:47.123456 5b705eca a 0.17.1 sends 5 to 0.18.1@b [1]" */
static void print_text(const struct passed *p, const char *node)
{
    static const char *const does[] = {"?", "sends", "receives", "does not get", "cannot send"};
    bool to = p->what == 1 || p->what == 4;
    time_t seconds = (time_t)(p->at / WEFT_SEC(1));
    struct tm utc;
    cli_utc(seconds, &utc);
    printf("%02d:%02d:%02d.%06d %.8s %s ", utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(p->at % WEFT_SEC(1) / 1000),
           p->trace.data, node);
    put_actor(p->actor, node);
    printf(" %s %" PRIu64 " %s ", does[p->what], p->tag, to ? "to" : "from");
    if (!to || p->name.size == 0) put_actor(p->other, node);
    if (p->name.size > 0) printf("%s%.*s", to ? "" : " under ", WEFT_STR(p->name));
    if (p->why.size > 0) printf(": %.*s", WEFT_STR(p->why));
    if (p->has_body && p->size > 0) {
        putchar(' ');
        cli_print_body(stdout, p->body.data, p->body.size);
        if (p->size > p->body.size) printf("... %" PRIu64 " bytes", p->size);
    }
    putchar('\n');
}

static void print(const struct cli *c, const struct passed *p, const char *node)
{
    if (c->json) print_json(p, node);
    else print_text(p, node);
}

/* ---- Which are shown ------------------------------------------------------------------------------------------- */

static bool is_known(weft_text trace)
{
    size_t count = seen.id_count < IDS ? seen.id_count : IDS;
    for (size_t i = 0; i < count; i++)
        if (memcmp(seen.ids[i], trace.data, trace.size) == 0) return true;
    return false;
}

/* Unlinks the message that *at points to, and frees it. */
static void end_wait(struct waiting **at)
{
    struct waiting *w = *at;
    *at = w->next;
    seen.waiting--;
    seen.waiting_bytes -= w->size;
    if (seen.first == NULL) seen.last = NULL;
    free(w);
}

static void wait_for_more(const char *node, const uint8_t *row, size_t size)
{
    struct waiting *w = malloc(sizeof *w + size);
    if (w == NULL) return;
    w->next = NULL;
    w->size = size;
    snprintf(w->node, sizeof w->node, "%s", node);
    memcpy(w->row, row, size);
    if (seen.last == NULL) seen.first = w;
    else seen.last->next = w;
    seen.last = w;
    seen.waiting++;
    seen.waiting_bytes += size;
    while (seen.first != NULL && (seen.waiting > WAITING || seen.waiting_bytes > WAITING_BYTES))
        end_wait(&seen.first);
}

static void forget_all(void)
{
    while (seen.first != NULL) end_wait(&seen.first);
    seen.node_count = seen.id_count = 0;
}

/* Shows waiting messages whose senders were looked up meanwhile, at most `most`, and returns their number. */
static int64_t show_waiting(const struct cli *c, int64_t most)
{
    struct waiting **at = &seen.first, *last = NULL;
    int64_t shown = 0;
    while (*at != NULL && shown < most) {
        struct waiting *w = *at;
        struct passed p;
        weft_reader r = weft_reader_on(w->row, w->size);
        if (read_row(&r, &p) && !is_known(p.trace)) {
            last = w;
            at = &w->next;
            continue;
        }
        print(c, &p, w->node);
        shown++;
        end_wait(at);
    }
    if (*at == NULL) seen.last = last;
    return shown;
}

/* Returns the number of messages shown. */
static int take(const struct cli *c, const char *node, const struct passed *p, const uint8_t *row, size_t size)
{
    bool known = is_known(p->trace);
    if (!known && !p->wanted) {
        wait_for_more(node, row, size);
        return 0;
    }
    if (!known) snprintf(seen.ids[seen.id_count++ % IDS], WEFT_TRACE_TEXT, "%.*s", WEFT_STR(p->trace));
    seen.fresh = seen.fresh || !known;
    print(c, p, node);
    return 1;
}

static uint32_t read_node(weft_reader *r, char node[65])
{
    uint32_t count = weft_get_array(r);
    weft_text name = weft_get_str(r);
    uint64_t incarnation = weft_get_uint(r);
    snprintf(node, 65, "%.*s", WEFT_STR(name));
    cli_plain(node, strlen(node)); /* its name is also written to standard error */
    if (r->error == 0) learn(incarnation, name);
    return r->error == 0 ? count : 0;
}

bool cli_print_tracing(const char *what, weft_reader *r)
{
    char node[65];
    if (read_node(r, node) < 2) return false;
    fprintf(stderr, "weft trace: %s on node %s\n", what, node);
    return true;
}

int64_t cli_print_traced(const struct cli *c, weft_reader *r, int64_t most)
{
    struct passed p;
    char node[65];
    int64_t shown = 0;
    uint32_t count = read_node(r, node);
    uint64_t missed = weft_get_uint(r);
    if (r->error != 0 || count < 3) return -1;
    if (missed > 0)
        fprintf(stderr, "weft trace: %" PRIu64 " messages on node %s came too fast and were missed\n", missed, node);
    for (; count > 3 && shown < most; count--) {
        const uint8_t *row = r->at;
        if (!read_row(r, &p)) return -1;
        shown += take(c, node, &p, row, (size_t)(r->at - row));
    }
    if (seen.fresh) shown += show_waiting(c, most - shown);
    seen.fresh = false;
    return shown;
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

static int trace(struct cli_client *k)
{
    const struct cli *c = k->c;
    char request[512], what[400] = "";
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_array(&w, 4);
    if (c->has_tag) weft_put_int(&w, c->tag);
    else weft_put_nil(&w);
    weft_put_str(&w, weft_cstr(c->actor == NULL ? "" : c->actor));
    weft_put_str(&w, weft_cstr(c->topic == NULL ? "" : c->topic));
    weft_put_bool(&w, true);
    if (w.error != 0) return cli_fail(c, CLI_USAGE, "longer than any pid, name or pattern");
    snprintf(what, sizeof what, "%s%s%s", c->actor == NULL ? "all actors" : c->actor, c->topic == NULL ? "" : ", ",
             c->topic == NULL ? "" : c->topic);
    return cli_listen(k, c->no_body ? WF_CONTROL_TRACE : WF_CONTROL_TRACE_BODIES, request, w.size, what);
}

int cli_trace(const struct cli *c)
{
    int code = cli_ask_node(c, trace);
    forget_all();
    return code;
}
