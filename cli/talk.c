/* cli/talk.c -- weft publish, subscribe, send, call and spawn: messages from the command line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"
#include "control.h"
#include "pages.h"
#include "stored.h"
#include "trace.h"
#include "values.h"

static uint32_t tag_of(const struct cli *c)
{
    return (uint32_t)c->tag;
}

static int with_body(const struct cli *c, int (*work)(struct cli_client *k))
{
    struct cli_client k = {.c = c, .work = work};
    int rc = cli_body(c, 1, &k.body);
    if (rc != CLI_OK) return rc;
    rc = cli_with_node(&k);
    free(k.body.data);
    return rc;
}

/* ---- publish --------------------------------------------------------------------------------------------------- */

static void put_publish(weft_writer *w, const struct cli_client *k)
{
    weft_put_array(w, k->c->report ? 4 : 3);
    weft_put_str(w, weft_cstr(k->c->argv[0]));
    weft_put_uint(w, tag_of(k->c));
    weft_put_bin(w, k->body.data, k->body.size);
    /* The node answers before the time of the verb is over. */
    int64_t ms = (k->deadline - weft_now()) / WEFT_MS(1) * 3 / 4;
    if (k->c->report) weft_put_uint(w, ms < 1 ? 1 : ms > 60000 ? 60000 : (uint32_t)ms);
}

static void print_report(const struct cli *c, weft_reader *r)
{
    (void)weft_get_array(r);
    unsigned long long nodes = weft_get_uint(r), subscribers = weft_get_uint(r), silent = weft_get_uint(r);
    if (c->json)
        printf("{\"topic\": \"%s\", \"nodes\": %llu, \"subscribers\": %llu, \"silent\": %llu}\n", c->argv[0], nodes,
               subscribers, silent);
    else
        printf("%s: %llu subscribers on %llu nodes got it; %llu nodes have not answered\n", c->argv[0], subscribers,
               nodes, silent);
}

static int publish(struct cli_client *k)
{
    const struct cli *c = k->c;
    if (c->stored) {
        int stored = cli_publish_stored(k);
        if (stored != CLI_OK) return stored;
    }
    weft_writer measure = weft_writer_on(NULL, 0);
    put_publish(&measure, k);
    void *request = malloc(measure.size);
    if (request == NULL) return cli_fail(c, CLI_FAILED, "out of memory");
    weft_writer w = weft_writer_on(request, measure.size);
    put_publish(&w, k);
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_PUBLISH, request, w.size, &m);
    free(request);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (c->report) {
        print_report(c, &r);
        weft_msg_free(m);
        return CLI_OK;
    }
    long long handed = weft_get_int(&r);
    weft_msg_free(m);
    if (c->stored) return CLI_OK; /* where it is has been printed */
    if (c->json) printf("{\"topic\": \"%s\", \"handed\": %lld}\n", c->argv[0], handed);
    else if (handed == 0) printf("%s: no actor has subscribed to it\n", c->argv[0]);
    else printf("%s: handed to %lld (each other node counts as one)\n", c->argv[0], handed);
    return CLI_OK;
}

int cli_publish(const struct cli *c)
{
    return cli_is_topic(c, c->argv[0]) ? with_body(c, publish) : CLI_USAGE;
}

/* ---- subscribe ------------------------------------------------------------------------------------------------- */

/* Prints NEWS of docs/wire.md. False: it cannot be decoded. */
static bool print_news(const struct cli *c, const weft_msg *m)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint32_t fields = weft_get_array(&r);
    weft_text topic = weft_get_str(&r);
    uint64_t tag = weft_get_uint(&r);
    weft_text from = weft_get_str(&r), body = weft_get_bin(&r);
    if (r.error < 0 || fields < 4) return false;
    if (!c->json) {
        printf("%.*s %llu ", WEFT_STR(topic), (unsigned long long)tag);
        cli_print_body(stdout, body.data, body.size);
        putchar('\n');
    } else {
        fputs("{\"topic\": ", stdout);
        cli_print_string(stdout, topic.data, topic.size);
        printf(", \"tag\": %llu, \"from\": ", (unsigned long long)tag);
        cli_print_string(stdout, from.data, from.size);
        fputs(", ", stdout);
        cli_print_json_body(body.data, body.size);
        puts("}");
    }
    return true;
}

/* False: as above. */
static bool print_missed(const struct cli_client *k, const weft_msg *m)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint64_t missed = weft_get_uint(&r);
    if (r.error != 0) return false;
    fprintf(stderr,
            "weft %s: %" PRIu64 " messages came faster than they could be printed, and were dropped; "
            "'weft why-dropped --node %s' shows why\n",
            k->c->verb->name, missed, k->node);
    return true;
}

/* Prints what a node says while it is listened to, at most `most` messages, and counts them. False: it cannot be
 * decoded. */
static bool print_heard(struct cli_client *k, const weft_msg *m, const char *what, int64_t most, int64_t *seen)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    int64_t shown = 0;
    switch (weft_tag(m)) {
    case WF_CONTROL_NEWS: shown = print_news(k->c, m) ? 1 : -1; break;
    case WF_CONTROL_MISSED: return print_missed(k, m);
    case WF_CONTROL_TRACED: shown = cli_print_traced(k->c, &r, most); break;
    case WF_CONTROL_TRACE: return cli_print_tracing(what, &r);
    case WF_CONTROL_SUBSCRIBE: fprintf(stderr, "weft %s: %s on node %s\n", k->c->verb->name, what, k->node); break;
    default: break;
    }
    *seen += shown > 0 ? shown : 0;
    return shown >= 0;
}

/* Whether the node has accepted the request: its answer is nil. */
static bool is_accepted(const weft_msg *answer)
{
    weft_reader r = weft_reader_on(weft_data(answer), weft_size(answer));
    return weft_get_nil(&r);
}

int cli_listen(struct cli_client *k, uint32_t verb, const void *request, size_t size, const char *what)
{
    const struct cli *c = k->c;
    weft_msg *m;
    int rc = weft_watch_nodes();
    if (rc < 0) return cli_fail_with(c, rc, what);
    rc = cli_control(k, verb, request, size, &m);
    if (rc != CLI_OK) return rc;
    bool fine = is_accepted(m);
    weft_msg_free(m);
    if (!fine) return cli_cannot_decode(k);
    int64_t deadline = c->has_timeout ? k->deadline : WEFT_FOREVER;
    for (int64_t seen = 0; !c->has_count || seen < c->count;) {
        rc = weft_recv(&m, deadline);
        if (rc == WEFT_ECANCELED) return CLI_OK;
        if (rc < 0) return cli_fail_with(c, rc, what);
        uint32_t tag = weft_tag(m);
        if (tag != WEFT_TAG_NODE_DOWN) cli_plain_answer(c, m);
        if (tag == WF_CONTROL_HOLD) continue; /* kept until we end: that tells the node that we have */
        fine = print_heard(k, m, what, c->has_count ? c->count - seen : INT64_MAX, &seen);
        weft_msg_free(m);
        if (!fine) return cli_cannot_decode(k);
        if (cli_output_failed()) return CLI_OK;
        if (tag == WEFT_TAG_NODE_DOWN) return cli_node_gone(k);
    }
    return CLI_OK;
}

static int listen_to_topic(struct cli_client *k)
{
    const char *pattern = k->c->argv[0];
    char request[320];
    weft_writer w = weft_writer_on(request, sizeof request);
    weft_put_str(&w, weft_cstr(pattern));
    return cli_listen(k, WF_CONTROL_SUBSCRIBE, request, w.size, pattern);
}

int cli_subscribe(const struct cli *c)
{
    if ((c->from != NULL) + (c->cursor != NULL) + (c->shared != NULL) > 1)
        return cli_fail(c, CLI_USAGE,
                        "--from, --cursor or --shared: give one of them, as a cursor has a position of its own");
    if (!(c->from != NULL ? cli_is_topic(c, c->argv[0]) : cli_is_pattern(c, c->argv[0]))) return CLI_USAGE;
    return cli_ask_node(c, c->cursor != NULL || c->shared != NULL ? cli_follow_cursor
                           : c->from != NULL                      ? cli_subscribe_stored
                                                                  : listen_to_topic);
}

/* ---- send and call --------------------------------------------------------------------------------------------- */

/* NAME alone is on the node that was joined. */
static int receiver(const struct cli_client *k, char *out, size_t size)
{
    const char *name = k->c->argv[0], *at = strchr(name, '@');
    if (at == NULL) snprintf(out, size, "%s@%s", name, k->node);
    else snprintf(out, size, "%s", name);
    if (at != NULL && strcmp(at + 1, k->node) != 0)
        return cli_fail(k->c, CLI_USAGE, "%s is on another node than %s; choose it with --node %s", CLI_QUOTE(name),
                        k->node, at + 1);
    return CLI_OK;
}

/* Whether the node knows that name: 1 or 0; else an exit code, negative, after a message. */
static int is_known(struct cli_client *k, const char *name)
{
    char wanted[160];
    snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(name, "@"), name);
    if (wanted[0] == '$') return 1; /* weft's own */
    struct cli_pages p = {.verb = WF_CONTROL_NAMES, .prefix = wanted, .silent = true};
    while (!p.last) {
        weft_msg *m;
        int rc = cli_page(k, &p, &m);
        if (rc != CLI_OK) return -rc;
        bool found = false;
        for (uint32_t left = p.count; left > 0 && p.rows.error == 0 && !found; left--) {
            uint32_t fields = weft_get_array(&p.rows);
            weft_text one = weft_get_str(&p.rows);
            found = p.rows.error == 0 && one.size == strlen(wanted) && memcmp(one.data, wanted, one.size) == 0;
            for (; fields > 1 && p.rows.error == 0; fields--) weft_skip(&p.rows);
        }
        bool bad = p.rows.error != 0;
        weft_msg_free(m);
        if (bad) return -cli_cannot_decode(k);
        if (found) return 1;
    }
    return 0;
}

static int send_one(struct cli_client *k)
{
    char name[160];
    weft_msg *m;
    int rc = receiver(k, name, sizeof name);
    if (rc != CLI_OK) return rc;
    int known = is_known(k, name);
    if (known < 0) return -known;
    if (known == 0)
        return cli_fail(k->c, CLI_FAILED, "%s: no actor there has that name; 'weft names' lists the registered names",
                        name);
    rc = weft_send_name(name, tag_of(k->c), k->body.data, k->body.size);
    if (rc < 0) return cli_fail_with(k->c, rc, name);
    /* An answer over the same link shows that the message before has arrived. This one needs no worker of users. */
    rc = cli_control(k, WF_CONTROL_NODES, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_msg_free(m);
    if (k->c->json) printf("{\"to\": \"%s\", \"tag\": %u, \"bytes\": %zu}\n", name, tag_of(k->c), k->body.size);
    return CLI_OK;
}

int cli_send(const struct cli *c)
{
    return cli_is_actor_name(c, c->argv[0]) ? with_body(c, send_one) : CLI_USAGE;
}

static int call(struct cli_client *k)
{
    char name[160];
    weft_msg *m;
    int rc = receiver(k, name, sizeof name);
    if (rc != CLI_OK) return rc;
    rc = weft_call_name(name, tag_of(k->c), k->body.data, k->body.size, &m, k->deadline);
    if (rc == WEFT_ENONODE) return cli_node_gone(k);
    if (rc < 0) return cli_fail_with(k->c, rc, name);
    if (k->c->json) {
        printf("{\"tag\": %u, ", weft_tag(m));
        cli_print_json_body(weft_data(m), weft_size(m));
        puts("}");
    } else {
        cli_print_body(stdout, weft_data(m), weft_size(m));
        putchar('\n');
    }
    weft_msg_free(m);
    return CLI_OK;
}

int cli_call(const struct cli *c)
{
    return cli_is_actor_name(c, c->argv[0]) ? with_body(c, call) : CLI_USAGE;
}

/* ---- spawn ----------------------------------------------------------------------------------------------------- */

static int spawn(struct cli_client *k)
{
    const char *name = k->c->argv[0];
    struct weft_why why;
    weft_remote_options options = {.deadline = k->deadline, .why = &why};
    weft_pid pid;
    char text[WEFT_PID_TEXT];
    int rc = weft_spawn_packed_on(k->node, name, &pid, k->body.data, k->body.size, &options);
    if (rc < 0) return cli_fail_with(k->c, rc, why.text[0] != 0 ? why.text : name);
    if (k->c->json) printf("{\"pid\": \"%s\"}\n", weft_pid_format(pid, text));
    else printf("%s\n", weft_pid_format(pid, text));
    return CLI_OK;
}

int cli_spawn(const struct cli *c)
{
    return cli_is_actor_name(c, c->argv[0]) ? with_body(c, spawn) : CLI_USAGE;
}
