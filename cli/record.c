/* cli/record.c -- weft inspect --record: the flight recorder of a node as text, as JSON, or for a trace viewer; and
 * what weft inspect PID shows of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "control.h"

static const char *const kinds[] = {"?", "spawn", "send", "receive", "wait", "wake", "exit"};

struct event {
    struct weft_record r;
    char what[64];
};

static weft_pid get_pid(weft_reader *r)
{
    weft_text text = weft_get_str(r);
    char copy[WEFT_PID_TEXT];
    weft_pid pid = weft_nobody();
    if (text.size == 0 || text.size >= sizeof copy) return pid;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    (void)weft_pid_parse(copy, &pid);
    return pid;
}

static void get_event(weft_reader *r, struct event *out)
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

static const char *kind_of(const struct weft_record *e)
{
    return kinds[(unsigned)e->kind < sizeof kinds / sizeof kinds[0] ? e->kind : 0];
}

static void print_text(const struct event *e, int64_t last)
{
    char text[WEFT_RECORD_TEXT];
    printf("%14.6f  %s\n", (double)(e->r.at - last) / 1e9, weft_record_format(&e->r, text));
}

static void print_json(const struct event *e)
{
    char actor[WEFT_PID_TEXT], other[WEFT_PID_TEXT];
    printf("{\"at_ns\": %" PRId64 ", \"worker\": %d, \"number\": %" PRIu64 ", \"event\": \"%s\", \"actor\": \"%s\"",
           e->r.at, e->r.worker, e->r.number, kind_of(&e->r), weft_pid_format(e->r.actor, actor));
    if (e->r.other.actor != 0) printf(", \"other\": \"%s\"", weft_pid_format(e->r.other, other));
    printf(", \"value\": %" PRId64, e->r.value);
    if (e->what[0] != '\0') {
        fputs(", \"what\": ", stdout);
        cli_print_string(stdout, e->what, strlen(e->what));
    }
    puts("}");
}

/* The form that Perfetto and chrome://tracing read: a worker is a thread, a wait lasts from its beginning to its end,
 * all else is a moment. */
static void print_trace(const struct event *e, bool first)
{
    char text[WEFT_RECORD_TEXT], pid[WEFT_PID_TEXT];
    const char *phase = e->r.kind == WEFT_RECORD_WAIT ? "b" : e->r.kind == WEFT_RECORD_WAKE ? "e" : "i";
    bool wait = phase[0] != 'i';
    printf("%s{\"ph\": \"%s\", \"ts\": %.3f, \"pid\": 1, \"tid\": %d, \"cat\": \"%s\", ", first ? "" : ",\n", phase,
           (double)e->r.at / 1e3, e->r.worker, wait ? "wait" : "event");
    if (wait) printf("\"id\": \"%s\", \"name\": \"waits\", ", weft_pid_format(e->r.actor, pid));
    else printf("\"s\": \"t\", \"name\": \"%s\", ", kind_of(&e->r));
    fputs("\"args\": {\"text\": ", stdout);
    weft_record_format(&e->r, text);
    cli_print_string(stdout, text, strlen(text));
    fputs("}}", stdout);
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
    struct event e;
    uint32_t count = weft_get_array(r);
    weft_reader ahead = *r;
    bool first = true;
    for (uint32_t i = 0; i < count; i++) get_event(&ahead, &e); /* times are before the last one */
    int64_t last = count == 0 ? 0 : e.r.at;
    if (c->trace) puts("[");
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        get_event(r, &e);
        if (!is_wanted(c->argc == 0 ? NULL : c->argv[0], &e.r)) continue;
        if (c->trace) print_trace(&e, first);
        else if (c->json) print_json(&e);
        else print_text(&e, last);
        first = false;
    }
    if (c->trace) puts("\n]");
    return r->error;
}

static int show_record(struct cli_client *k)
{
    weft_msg *m;
    int rc = cli_control(k, WF_CONTROL_RECORD, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    rc = print_all(k->c, &r) == 0 ? CLI_OK : cli_fail(k->c, CLI_FAILED, "%s: an answer of another form", k->node);
    weft_msg_free(m);
    return rc;
}

int cli_last_events(struct cli_client *k, const char *pid, unsigned most, int64_t *last)
{
    weft_msg *m;
    struct event e;
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
