/* transport/wire/frame_tables.c -- the frames of the tables that nodes share: see actors/names/tables.h. */
#include "frame_tables.h"
#include "frame.h"

#include "frame_read.h"
#include "names.h"

/* Of an entry, behind operation and table. */
static uint32_t get_entry(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    f->ref = f->from = 0;
    if (f->to == WF_TABLE_QUEUES) {
        f->name = wf_read_pattern(r);
        f->body = wf_read_name(r);
        return 4;
    }
    f->name = wf_read_name(r);
    f->from = weft_get_uint(r);
    if (f->from == 0) wf_read_fault(r);
    if (f->to == WF_TABLE_NAMES && f->number != WF_TABLE_UNSET) {
        f->ref = values < 5 ? 0 : weft_get_uint(r);
        if (f->ref == 0 || f->ref > WF_STAMP_MAX) wf_read_fault(r);
        if (f->number == WF_TABLE_SET) return 5;
        f->to = values < 6 ? 0 : weft_get_uint(r);
        if (f->to == 0) wf_read_fault(r);
        return 6;
    }
    if (f->to != WF_TABLE_GROUPS || f->number != WF_TABLE_UNSET || values < 6) return 4;
    f->tag = weft_get_bool(r);
    int64_t reason = weft_get_int(r);
    if (reason < INT32_MIN || reason > INT32_MAX) wf_read_fault(r);
    f->ref = (uint64_t)reason;
    return 6;
}

/* Unknown tables and operations become WF_TABLE_NONE, and the values behind them are skipped. */
static uint32_t get_table(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    if (values == 0) wf_read_fault(r);
    f->number = weft_get_uint(r);
    f->to = f->tag = 0;
    if (f->number == WF_TABLE_BEGIN) return 1;
    bool entry = f->number == WF_TABLE_SET || f->number == WF_TABLE_UNSET || f->number == WF_TABLE_TAKEN;
    if (values >= 2) f->to = weft_get_uint(r);
    else if (entry) wf_read_fault(r);
    bool known = f->number == WF_TABLE_TAKEN ? f->to == WF_TABLE_NAMES
                                             : f->to >= WF_TABLE_NAMES && f->to <= WF_TABLE_QUEUES;
    if (values < 2 || !entry || !known) {
        f->number = WF_TABLE_NONE;
        return WF_MIN(values, 2u);
    }
    if (values < 4) wf_read_fault(r);
    return get_entry(r, values, f);
}

/* topic, node, from, tag, flags, number: PUBLISH_TO and RETAINED begin with these. */
static void get_publication(weft_reader *r, struct wf_frame *f)
{
    f->name = wf_read_topic(r);
    f->to = weft_get_uint(r);
    f->from = weft_get_uint(r);
    f->tag = wf_read_tag(r);
    f->flags = (uint32_t)weft_get_uint(r);
    f->number = weft_get_uint(r);
}

/* A publication (its number: how often it was passed on), ref, [pattern, queue, ...], body: nine values. */
static uint32_t get_publish_to(weft_reader *r, struct wf_frame *f)
{
    get_publication(r, f);
    f->ref = weft_get_uint(r);
    uint32_t values = weft_get_array(r);
    if (values % 2 != 0 || values > 2 * WF_PUBLISH_QUEUES) wf_read_fault(r);
    f->count = values / 2;
    f->items = *r;
    for (uint32_t i = 0; i < f->count && r->error == 0; i++) {
        (void)wf_read_pattern(r);
        (void)wf_read_name(r);
    }
    f->body = wf_read_body(r);
    return 9;
}

/* A publication (its number: the timestamp), body, and perhaps how long its node has been gone. */
static uint32_t get_retained(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    get_publication(r, f);
    f->body = wf_read_body(r);
    bool gone = values > 7 && wf_read_is_number(r); /* anything else, such as a trace id, is skipped */
    f->ref = gone ? weft_get_uint(r) : 0;
    if (f->to == 0 || f->number == 0 || f->number > WF_STAMP_MAX) wf_read_fault(r);
    return gone ? 8 : 7;
}

weft_text wf_frame_next_queue(struct wf_frame *f, weft_text *pattern)
{
    *pattern = weft_get_str(&f->items);
    return weft_get_str(&f->items);
}

uint32_t wf_get_tables_frame(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    switch (f->kind) {
    case WF_FRAME_TABLE: return get_table(r, values, f);
    case WF_FRAME_PUBLISH_TO: return get_publish_to(r, f);
    case WF_FRAME_RETAINED: return get_retained(r, values, f);
    case WF_FRAME_MISSED:
        f->name = wf_read_pattern(r);
        f->number = weft_get_uint(r);
        return 2;
    default: f->kind = WF_FRAME_UNKNOWN; return 0;
    }
}

struct wf_entry wf_frame_entry(const struct wf_frame *f)
{
    bool taken = f->number == WF_TABLE_TAKEN;
    return (struct wf_entry){.table = taken ? WF_TABLE_NAMES : (enum wf_table)f->to,
                             .key = f->name,
                             .queue = f->body,
                             .actor = f->from,
                             .stamp = f->ref,
                             .node = taken ? f->to : 0,
                             .ended = f->tag != 0,
                             .reason = (int)f->ref};
}

void wf_put_entry(weft_writer *w, enum wf_table_op op, const struct wf_entry *e)
{
    bool taken = op == WF_TABLE_TAKEN, stamped = taken || (e->table == WF_TABLE_NAMES && op == WF_TABLE_SET);
    bool left = e->table == WF_TABLE_GROUPS && op == WF_TABLE_UNSET;
    weft_put_array(w, taken || left ? 7
                      : stamped     ? 6
                                    : 5); /* a queue group has the queue in the place of the actor */
    weft_put_uint(w, WF_FRAME_TABLE);
    weft_put_uint(w, op);
    weft_put_uint(w, e->table);
    weft_put_str(w, e->key);
    if (e->table == WF_TABLE_QUEUES) {
        weft_put_str(w, e->queue);
        return;
    }
    weft_put_uint(w, e->actor);
    if (stamped) weft_put_uint(w, e->stamp);
    if (taken) weft_put_uint(w, e->node);
    if (left) {
        weft_put_bool(w, e->ended);
        weft_put_int(w, e->reason);
    }
}

void wf_put_missed(weft_writer *w, weft_text pattern, uint64_t count)
{
    weft_put_array(w, 3);
    weft_put_uint(w, WF_FRAME_MISSED);
    weft_put_str(w, pattern);
    weft_put_uint(w, count);
}

void wf_put_table_begin(weft_writer *w)
{
    weft_put_array(w, 2);
    weft_put_uint(w, WF_FRAME_TABLE);
    weft_put_uint(w, WF_TABLE_BEGIN);
}

/* Calls `see` for the chosen queue groups that are in this frame. */
static void each_chosen(const struct wf_publish_to *p, void (*see)(const struct wf_chosen *c, void *arg), void *arg)
{
    uint32_t at = 0;
    for (const struct wf_chosen *c = p->chosen; c != NULL; c = c->next) {
        if (c->node != p->node || at++ < p->skip) continue;
        if (at > p->skip + WF_PUBLISH_QUEUES) return;
        see(c, arg);
    }
}

struct measure {
    size_t bytes;
    uint32_t count;
};

static void measure_chosen(const struct wf_chosen *c, void *arg)
{
    struct measure *m = arg;
    m->bytes += c->pattern.size + c->queue.size + 5; /* heads: 3 bytes and 2 */
    m->count++;
}

size_t wf_publish_to_size(struct wf_publish_to *p)
{
    struct measure m = {WF_FRAME_SPARE + p->topic.size + p->size, 0};
    each_chosen(p, measure_chosen, &m);
    p->count = m.count;
    return m.bytes;
}

static void put_chosen(const struct wf_chosen *c, void *arg)
{
    weft_put_str(arg, c->pattern);
    weft_put_str(arg, c->queue);
}

void wf_put_publish_to(weft_writer *w, const struct wf_publish_to *p)
{
    weft_put_array(w, p->trace.size > 0 ? 11 : 10);
    weft_put_uint(w, WF_FRAME_PUBLISH_TO);
    weft_put_str(w, p->topic);
    weft_put_uint(w, p->from.node);
    weft_put_uint(w, p->from.actor);
    weft_put_uint(w, p->tag);
    weft_put_uint(w, p->flags);
    weft_put_uint(w, p->passed);
    weft_put_uint(w, p->ref);
    weft_put_array(w, 2 * p->count);
    each_chosen(p, put_chosen, w);
    weft_put_bin(w, p->body, p->size);
    if (p->trace.size > 0) weft_put_bin(w, p->trace.data, p->trace.size);
}

void wf_put_retained(weft_writer *w, struct wf_body *body, uint64_t stamp, bool live, uint64_t gone)
{
    weft_put_array(w, gone > 0 ? 9 : 8);
    weft_put_uint(w, WF_FRAME_RETAINED);
    weft_put_str(w, wf_body_topic_text(body));
    weft_put_uint(w, body->from.node);
    weft_put_uint(w, body->from.actor);
    weft_put_uint(w, body->tag);
    weft_put_uint(w, live ? WF_PUBLISH_PLAIN : 0);
    weft_put_uint(w, stamp);
    weft_put_bin(w, wf_body_bytes(body), body->size);
    if (gone > 0) weft_put_uint(w, gone);
}
