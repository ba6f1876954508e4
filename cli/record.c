/* cli/record.c -- weft inspect --record: the flight recorder of a node as text, as JSON, or for a trace viewer; and
 * what weft inspect PID shows of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "control.h"
#include "record.h"

static const char *const kinds[] = {"?", "spawn", "send", "receive", "wait", "wake", "exit"};

static weft_pid get_pid(weft_reader *r)
{
    weft_text text = weft_get_str(r);
    char copy[WEFT_PID_TEXT];
    weft_pid pid = weft_nobody();
    if (text.size == 0 || text.size >= sizeof copy) return pid;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    weft_ignore(weft_pid_parse(copy, &pid)); /* what is no pid stays nobody */
    return pid;
}

static void get_event(weft_reader *r, struct cli_event *out)
{
    uint32_t count = weft_get_array(r);
    struct weft_record *e = &out->r;
    memset(out, 0, sizeof *out);
    e->at = weft_get_int(r);
    e->worker = (int)weft_get_int(r);
    e->number = weft_get_uint(r);
    e->kind = (weft_record_kind)weft_get_uint(r);
    e->actor = get_pid(r);
    e->other = get_pid(r);
    e->value = weft_get_int(r);
    weft_text what = weft_get_str(r);
    if (r->error == 0) snprintf(out->what, sizeof out->what, "%.*s", WEFT_STR(what));
    e->what = out->what;
    for (; count > 8 && r->error == 0; count--) weft_skip(r); /* a newer node says more */
}

const char *cli_event_name(const struct weft_record *e)
{
    return kinds[(unsigned)e->kind < sizeof kinds / sizeof kinds[0] ? e->kind : 0];
}

static void print_text(const struct cli_event *e, int64_t last)
{
    char text[WEFT_RECORD_TEXT];
    printf("%14.6f  %s\n", (double)(e->r.at - last) / 1e9, weft_record_format(&e->r, text));
}

static void print_json(const struct cli_event *e)
{
    char actor[WEFT_PID_TEXT], other[WEFT_PID_TEXT];
    printf("{\"at_ns\": %" PRId64 ", \"worker\": %d, \"number\": %" PRIu64 ", \"event\": \"%s\", \"actor\": \"%s\"",
           e->r.at, e->r.worker, e->r.number, cli_event_name(&e->r), weft_pid_format(e->r.actor, actor));
    if (e->r.other.actor != 0) printf(", \"other\": \"%s\"", weft_pid_format(e->r.other, other));
    printf(", \"value\": %" PRId64, e->r.value);
    if (e->what[0] != '\0') {
        fputs(", \"what\": ", stdout);
        cli_print_string(stdout, e->what, strlen(e->what));
    }
    puts("}");
}

/* Of the actor that was asked for: what it did, and what others did with it. */
static bool is_wanted(const char *whom, const struct weft_record *e)
{
    char pid[WEFT_PID_TEXT];
    if (whom == NULL) return true;
    for (int side = 0; side < 2; side++) {
        const char *text = weft_pid_format(side == 0 ? e->actor : e->other, pid);
        size_t shown = strchr(whom, '@') != NULL ? strlen(text) : strcspn(text, "@");
        if (strlen(whom) == shown && strncmp(text, whom, shown) == 0) return true;
    }
    return false;
}

static int print_all(const struct cli *c, weft_reader *r)
{
    struct cli_event e;
    uint32_t count = weft_get_array(r);
    weft_reader ahead = *r;
    for (uint32_t i = 0; i < count; i++) get_event(&ahead, &e); /* times are before the last one */
    int64_t last = count == 0 ? 0 : e.r.at;
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        get_event(r, &e);
        if (!is_wanted(c->argc == 0 ? NULL : c->argv[0], &e.r)) continue;
        if (c->json) print_json(&e);
        else print_text(&e, last);
    }
    return r->error;
}

/* Of the actors that live. Without an answer they are called by their pids. */
static void name_actors(void *to, void *arg)
{
    struct cli_client *k = arg;
    struct cli_pages p = {.verb = WF_CONTROL_PS};
    weft_msg *m;
    while (!p.last && cli_page(k, &p, &m) == CLI_OK) {
        weft_reader *r = &p.rows;
        for (; p.count > 0 && r->error == 0; p.count--) {
            uint32_t values = weft_get_array(r);
            weft_pid pid = get_pid(r);
            weft_text kind = weft_get_str(r), called = weft_get_str(r);
            if (r->error == 0) cli_record_trace_name(to, pid, kind, called);
            for (; values > 3 && r->error == 0; values--) weft_skip(r);
        }
        weft_msg_free(m);
    }
}

static int print_trace(struct cli_client *k, weft_reader *r)
{
    uint32_t all = weft_get_array(r);
    struct cli_event *events = calloc((size_t)all + 1, sizeof *events); /* of a body that was checked */
    size_t count = 0;
    if (events == NULL) return WEFT_ENOMEM;
    for (uint32_t i = 0; i < all && r->error == 0; i++) {
        get_event(r, &events[count]);
        count += r->error == 0 && is_wanted(k->c->argc == 0 ? NULL : k->c->argv[0], &events[count].r);
    }
    for (size_t i = 0; i < count; i++) events[i].r.what = events[i].what;
    bool printed = r->error == 0 && cli_print_record_trace(events, count, k->node, name_actors, k);
    free(events);
    return printed ? r->error : r->error < 0 ? r->error : WEFT_ENOMEM;
}

static int show_record(struct cli_client *k)
{
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_RECORD, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    rc = k->c->trace ? print_trace(k, &r) : print_all(k->c, &r);
    if (rc == WEFT_ENOMEM) rc = cli_fail(k->c, CLI_FAILED, "out of memory");
    else if (rc < 0) rc = cli_fail(k->c, CLI_FAILED, "%s: an answer of another form", k->node);
    weft_msg_free(m);
    return rc;
}

int cli_last_events(struct cli_client *k, const char *pid, unsigned most, int64_t *last)
{
    weft_msg *m;
    struct cli_event e;
    int rc = cli_control(k, WF_CONTROL_RECORD, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m)), again;
    uint32_t count = weft_get_array(&r), its = 0;
    int64_t now = 0;
    again = r;
    for (uint32_t i = 0; i < count && again.error == 0; i++) {
        get_event(&again, &e);
        now = e.r.at;
        its += is_wanted(pid, &e.r);
    }
    *last = -1;
    for (uint32_t i = 0; i < count && r.error == 0; i++) {
        get_event(&r, &e);
        if (!is_wanted(pid, &e.r)) continue;
        *last = now - e.r.at;
        if (its-- <= most) print_text(&e, now);
    }
    weft_msg_free(m);
    return CLI_OK;
}

int cli_inspect(const struct cli *c)
{
    return cli_ask_node(c, c->record || c->trace ? show_record : c->argc > 0 ? cli_inspect_actor : cli_inspect_waits);
}
