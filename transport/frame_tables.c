/* transport/frame_tables.c -- the frames of names and groups that all nodes know: see actors/tables.h. */
#include "frame.h"

#include "frame_read.h"

/* Of an entry, behind operation and table. */
static uint32_t get_entry(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    f->name = wf_read_name(r);
    f->from = weft_get_uint(r);
    if (f->from == 0) wf_read_fault(r);
    if (f->to == WF_TABLE_NAMES && f->number == WF_TABLE_SET) {
        f->ref = values < 5 ? 0 : weft_get_uint(r);
        if (f->ref == 0 || f->ref > WF_STAMP_MAX) wf_read_fault(r);
        return 5;
    }
    if (f->to != WF_TABLE_GROUPS || f->number != WF_TABLE_UNSET || values < 6) return 4;
    f->tag = weft_get_bool(r);
    int64_t reason = weft_get_int(r);
    if (reason < INT32_MIN || reason > INT32_MAX) wf_read_fault(r);
    f->ref = (uint64_t)reason;
    return 6;
}

/* Unknown tables and operations become WF_TABLE_NONE, and what is behind them is skipped. */
static uint32_t get_table(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    if (values == 0) wf_read_fault(r);
    f->number = weft_get_uint(r);
    f->to = f->tag = 0;
    if (f->number == WF_TABLE_BEGIN || values < 2) return 1;
    f->to = weft_get_uint(r);
    bool known = (f->number == WF_TABLE_SET || f->number == WF_TABLE_UNSET) &&
                 (f->to == WF_TABLE_NAMES || f->to == WF_TABLE_GROUPS);
    if (!known) {
        f->number = WF_TABLE_NONE;
        return 2;
    }
    if (values < 4) wf_read_fault(r);
    return get_entry(r, values, f);
}

/* group, from, tag, body: four values. */
static uint32_t get_group_send(weft_reader *r, struct wf_frame *f)
{
    f->name = wf_read_name(r);
    f->from = weft_get_uint(r);
    uint64_t tag = weft_get_uint(r);
    f->tag = (uint32_t)tag;
    f->body = weft_get_bin(r);
    if (tag >= WEFT_TAG_SYSTEM || f->body.size > WEFT_MESSAGE_MAX) wf_read_fault(r);
    return 4;
}

uint32_t wf_get_tables_frame(weft_reader *r, uint32_t values, struct wf_frame *f)
{
    switch (f->kind) {
    case WF_FRAME_TABLE: return get_table(r, values, f);
    case WF_FRAME_GROUP_SEND: return get_group_send(r, f);
    default: f->kind = WF_FRAME_UNKNOWN; return 0;
    }
}

struct wf_entry wf_frame_entry(const struct wf_frame *f)
{
    return (struct wf_entry){.table = (enum wf_table)f->to,
                             .key = f->name,
                             .actor = f->from,
                             .stamp = f->ref,
                             .ended = f->tag != 0,
                             .reason = (int)f->ref};
}

void wf_put_entry(weft_writer *w, enum wf_table_op op, const struct wf_entry *e)
{
    bool stamped = e->table == WF_TABLE_NAMES && op == WF_TABLE_SET;
    bool left = e->table == WF_TABLE_GROUPS && op == WF_TABLE_UNSET;
    weft_put_array(w, stamped ? 6 : left ? 7 : 5);
    weft_put_uint(w, WF_FRAME_TABLE);
    weft_put_uint(w, op);
    weft_put_uint(w, e->table);
    weft_put_str(w, e->key);
    weft_put_uint(w, e->actor);
    if (stamped) weft_put_uint(w, e->stamp);
    if (left) {
        weft_put_bool(w, e->ended);
        weft_put_int(w, e->reason);
    }
}

void wf_put_table_begin(weft_writer *w)
{
    weft_put_array(w, 2);
    weft_put_uint(w, WF_FRAME_TABLE);
    weft_put_uint(w, WF_TABLE_BEGIN);
}

void wf_put_group_send(weft_writer *w, weft_text group, uint64_t from, uint32_t tag, const void *body, size_t size)
{
    weft_put_array(w, 5);
    weft_put_uint(w, WF_FRAME_GROUP_SEND);
    weft_put_str(w, group);
    weft_put_uint(w, from);
    weft_put_uint(w, tag);
    weft_put_bin(w, body, size);
}
