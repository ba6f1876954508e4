/* cli/inspect/record.c -- weft inspect --record: the flight recorder of a node as text, as JSON, or for a trace
 * viewer; and what weft inspect PID shows of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "control.h"
#include "inspect_actor.h"
#include "pages.h"
#include "record_trace.h"
#include "who.h"

static const char *const kinds[] = {"?", "spawn", "send", "receive", "wait", "wake", "exit"};

static weft_pid get_pid(weft_reader *r)
{
    weft_text text = weft_get_str(r);
    char copy[WEFT_PID_TEXT];
    weft_pid pid = weft_nobody();
    if (text.size == 0 || text.size >= sizeof copy) return pid;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    weft_ignore(weft_pid_parse(copy, &pid)); /* without a valid pid it stays nobody */
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
    weft_text tag = count > 8 ? weft_get_str(r) : weft_str("", 0); /* an older node does not say */
    if (r->error == 0) snprintf(out->what, sizeof out->what, "%.*s", WEFT_STR(what));
    if (r->error == 0) snprintf(out->tag_name, sizeof out->tag_name, "%.*s", WEFT_STR(tag));
    e->what = out->what;
    for (; count > 9 && r->error == 0; count--) weft_skip(r); /* a newer node says more */
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

/* Whether the event is one of the requested actor, by it or with it. */
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

/* Asks for the names of living actors. Without an answer their pids are shown. */
static void name_actors(void *to, void *arg)
{
    struct cli_client *k = arg;
    struct cli_pages p = {.verb = WF_CONTROL_PS, .silent = true};
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
    struct cli_event *events = calloc((size_t)all + 1, sizeof *events); /* the body was checked, so `all` is right */
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
    else if (rc < 0) rc = cli_cannot_decode(k);
    else cli_print_cut(m, 9, "older events");
    weft_msg_free(m);
    return rc;
}

/* ---- Of one actor, by name ------------------------------------------------------------------------------------- */

/* For another node the recorder has only its number. */
static const char *who_is(const struct cli_whos *whos, const char *here, weft_pid pid, char out[CLI_WHO_TEXT])
{
    char text[WEFT_PID_TEXT];
    if (pid.actor == 0) return "nobody";
    weft_pid_format(pid, text);
    if (pid.node != 0) return cli_who_text_of(whos, weft_cstr(text), here, out);
    snprintf(out, CLI_WHO_TEXT, "%.*s of another node", (int)strcspn(text, "@"), text);
    return out;
}

static void print_named(const struct cli_event *e, const struct cli_whos *whos, const char *here)
{
    char actor[CLI_WHO_TEXT], other[CLI_WHO_TEXT], tag[96], reason[32];
    const struct weft_record *r = &e->r;
    const char *who = who_is(whos, here, r->actor, actor), *whom = who_is(whos, here, r->other, other);
    snprintf(tag, sizeof tag, e->tag_name[0] != '\0' ? "%s (tag %" PRId64 ")" : "%stag %" PRId64, e->tag_name,
             r->value);
    switch (r->kind) {
    case WEFT_RECORD_SPAWN: printf("%s spawns %s\n", who, whom); break;
    case WEFT_RECORD_SEND:
        if (r->other.actor == 0) printf("%s publishes %s\n", who, tag);
        else printf("%s sends %s to %s\n", who, tag, whom);
        break;
    case WEFT_RECORD_RECEIVE: printf("%s receives %s from %s\n", who, tag, whom); break;
    case WEFT_RECORD_WAIT: printf("%s waits for %s\n", who, e->what); break;
    case WEFT_RECORD_WAKE:
        printf("%s resumes%s%s\n", who, r->value == 0 ? "" : ": ",
               r->value == 0 ? "" : weft_error_name((int)r->value));
        break;
    case WEFT_RECORD_EXIT: printf("%s ends with reason %s\n", who, weft_reason_text((int)r->value, reason)); break;
    default: puts("?"); break; /* a newer node has other events */
    }
}

static void add_who(struct cli_whos *whos, weft_pid pid)
{
    char text[WEFT_PID_TEXT];
    if (pid.actor != 0 && pid.node != 0) cli_who_add(whos, weft_cstr(weft_pid_format(pid, text)));
}

/* The last ones of that actor, in a ring; returns how many there were. */
static uint64_t last_of(weft_reader *r, const char *pid, struct cli_event *ring, unsigned most, int64_t *now)
{
    uint64_t its = 0;
    struct cli_event e;
    for (uint32_t left = weft_get_array(r); left > 0 && r->error == 0; left--) {
        get_event(r, &e);
        *now = e.r.at;
        if (is_wanted(pid, &e.r)) ring[its++ % most] = e;
    }
    return its;
}

int cli_last_events(struct cli_client *k, const char *pid, struct cli_whos *whos, int64_t *last)
{
    enum { MOST = 12 };
    struct cli_event ring[MOST];
    weft_msg *m;
    int64_t now = 0;
    int rc = cli_control(k, WF_CONTROL_RECORD, NULL, 0, &m);
    if (rc != CLI_OK) return rc;
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    uint64_t its = last_of(&r, pid, ring, MOST, &now), first = its < MOST ? 0 : its - MOST;
    weft_msg_free(m);
    for (uint64_t i = first; i < its; i++) {
        add_who(whos, ring[i % MOST].r.actor);
        add_who(whos, ring[i % MOST].r.other);
    }
    rc = cli_who_ask(k, whos);
    for (uint64_t i = first; i < its && rc == CLI_OK; i++) {
        printf("%14.6f  ", (double)(ring[i % MOST].r.at - now) / 1e9);
        print_named(&ring[i % MOST], whos, k->node);
    }
    *last = its == 0 ? -1 : now - ring[(its - 1) % MOST].r.at;
    return rc;
}

int cli_inspect(const struct cli *c)
{
    if (c->argc > 0 && strlen(c->argv[0]) > CLI_ACTOR_MAX)
        return cli_fail(c, CLI_USAGE, "%s is no pid and no name of an actor", CLI_QUOTE(c->argv[0]));
    return cli_ask_node(c, c->record || c->trace ? show_record : c->argc > 0 ? cli_inspect_actor : cli_inspect_waits);
}
