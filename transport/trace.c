/* transport/trace.c -- messages as they pass, for tools: what the flight recorder notes, read again and again while
 * somebody looks, so that it costs actors nothing.
 *
 * As in relay.c an actor reads and sends, and its guard stops it when the tool is gone. Between two looks a worker
 * may note more than its recorder holds: then the tool is told how many events were missed. */
#include "control.h"

#include "cluster.h"

#include <weft/record.h>

#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY WEFT_MS(50)
enum { TRACED_AT_ONCE = 200 };

struct trace {
    weft_pid tool;
    uint64_t actor; /* 0: all */
    uint32_t tag;
    bool has_tag;
};

static bool is_wanted(const struct trace *t, const struct weft_record *r)
{
    bool message = r->kind == WEFT_RECORD_SEND || r->kind == WEFT_RECORD_RECEIVE;
    bool its = t->actor == 0 || r->actor.actor == t->actor || r->other.actor == t->actor;
    bool own = r->actor.actor == weft_self().actor; /* what the tool is sent is no news */
    return message && its && !own && (!t->has_tag || (uint64_t)r->value == t->tag);
}

static void put(weft_writer *w, struct weft_record *const *rows, uint32_t count, uint64_t missed)
{
    weft_put_array(w, count + 1);
    weft_put_uint(w, missed);
    for (uint32_t i = 0; i < count; i++) wf_put_record(w, rows[i]);
}

/* False: the tool is gone. */
static bool hand_on(weft_pid tool, struct weft_record *const *rows, uint32_t count, uint64_t missed)
{
    weft_writer measure = weft_writer_on(NULL, 0);
    put(&measure, rows, count, missed);
    weft_msg *m = weft_msg_new(WF_CONTROL_TRACED, measure.size);
    if (m == NULL) return true; /* these are lost to the tool */
    weft_writer w = weft_writer_on(weft_msg_body(m), measure.size);
    put(&w, rows, count, missed);
    return weft_try_send_msg(tool, m) != WEFT_ENONODE;
}

/* What is new since the last look; `next` has the number that each worker's next event will have. */
static bool look(const struct trace *t, uint64_t next[WF_WORKERS_MAX], bool first)
{
    struct weft_record *all, *rows[TRACED_AT_ONCE];
    int64_t count = weft_record_read(weft_here(), &all);
    uint64_t missed = 0;
    uint32_t found = 0;
    bool there = true;
    for (int64_t i = 0; i < count; i++) {
        struct weft_record *r = &all[i];
        if (r->number < next[r->worker]) continue;
        if (!first) missed += r->number - next[r->worker];
        next[r->worker] = r->number + 1;
        if (first || !is_wanted(t, r)) continue;
        if (found == TRACED_AT_ONCE) {
            there = there && hand_on(t->tool, rows, found, 0);
            found = 0;
        }
        rows[found++] = r;
    }
    if (found > 0 || missed > 0) there = there && hand_on(t->tool, rows, found, missed);
    if (count >= 0) free(all);
    return there;
}

static void tracer_main(const void *arg, size_t size)
{
    struct trace t;
    uint64_t next[WF_WORKERS_MAX] = {0};
    memcpy(&t, arg, size);
    bool there = wf_guard_begin(t.tool) == WEFT_OK && look(&t, next, true);
    if (there) there = weft_send(t.tool, WF_CONTROL_TRACE, NULL, 0) == WEFT_OK;
    while (there && weft_sleep(weft_after(LOOK_EVERY)) == WEFT_OK) there = look(&t, next, false);
}

const char *wf_trace_begin(const weft_msg *ask)
{
    struct trace t = {.tool = weft_from(ask)};
    weft_reader in = weft_reader_on(weft_data(ask), weft_size(ask));
    uint32_t fields = weft_get_array(&in);
    t.has_tag = !weft_get_nil(&in);
    uint64_t tag = t.has_tag ? weft_get_uint(&in) : 0;
    weft_text actor = weft_get_str(&in);
    if (in.error < 0 || fields != 2 || tag > UINT32_MAX) return "the request to trace is malformed";
    weft_pid whom = weft_nobody();
    if (actor.size > 0 && !wf_read_pid(actor, &whom)) return "that is no pid";
    t.actor = whom.actor;
    t.tag = (uint32_t)tag;
    weft_spawn_options quiet = {.kind = "$trace"};
    int rc = weft_spawn(NULL, tracer_main, &t, sizeof t, &quiet);
    return rc < 0 ? weft_strerror(rc) : NULL;
}
