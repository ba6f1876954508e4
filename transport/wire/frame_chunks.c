/* transport/wire/frame_chunks.c -- frames of messages whose bodies are sent from where they are: the bytes before a
 * body, or a part of it, and the bytes behind it. */
#include "frame_chunks.h"
#include "frame.h"
#include "trace.h"

bool wf_frame_has_body(uint32_t kind)
{
    return wf_frame_message(kind) >= 0 || kind == WF_FRAME_SEND_NAME || kind == WF_FRAME_CALL_NAME ||
           kind == WF_FRAME_PUBLISH || kind == WF_FRAME_GROUP_SEND;
}

/* A trace id stands behind the time, so a frame with a trace id must have the time, too. */
static bool is_timed(const struct wf_frame *f)
{
    bool call = f->kind == WF_FRAME_CALL_NAME || f->kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL;
    return call && (f->number != WF_FRAME_NO_DEADLINE || f->trace.size > 0);
}

/* Always with a length of 32 bits, so that the heads of all bodies have the same size. msgpack-c's packer writes a
 * length in as few bytes as possible: this head is the only msgpack that weft writes itself. */
static void put_bin_head(weft_writer *w, size_t size)
{
    if (w->error != 0) return;
    if (size > UINT32_MAX || w->end - w->at < 5) {
        w->error = WEFT_ETOOBIG;
        return;
    }
    *w->at++ = 0xC6;
    for (int shift = 24; shift >= 0; shift -= 8) *w->at++ = (uint8_t)(size >> shift);
    w->size += 5;
}

void wf_put_before_body(weft_writer *w, const struct wf_frame *f, size_t size)
{
    bool topic = f->kind == WF_FRAME_PUBLISH || f->kind == WF_FRAME_GROUP_SEND;
    bool named = topic || f->kind == WF_FRAME_SEND_NAME || f->kind == WF_FRAME_CALL_NAME ||
                 f->kind == WF_FRAME_CREDIT_REQUEST_NAME;
    weft_put_array(w, (topic ? 5U : is_timed(f) ? 7U : 6U) + (f->trace.size > 0));
    weft_put_uint(w, f->kind);
    if (named) weft_put_str(w, f->name);
    else weft_put_uint(w, f->to);
    weft_put_uint(w, f->from);
    weft_put_uint(w, f->tag);
    if (!topic) weft_put_uint(w, f->ref);
    put_bin_head(w, size);
}

void wf_put_behind_body(weft_writer *w, const struct wf_frame *f)
{
    if (is_timed(f)) weft_put_uint(w, f->number);
    if (f->trace.size > 0) weft_put_bin(w, f->trace.data, f->trace.size);
}

static void put_number(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(value >> (56 - 8 * i));
}

static uint64_t get_number(const char *in)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | (uint8_t)in[i];
    return value;
}

weft_text wf_frame_trace_of(const struct wf_body *b, uint8_t out[WF_FRAME_TRACE])
{
    if (b == NULL || !b->traced) return weft_str("", 0);
    const struct wf_trace *t = wf_trace_of(b);
    put_number(out, t->id.high);
    put_number(out + 8, t->id.low);
    out[16] = (uint8_t)t->flags;
    return weft_str((const char *)out, WF_FRAME_TRACE);
}

bool wf_frame_trace(const struct wf_frame *f, struct wf_trace *out)
{
    if (f->trace.size < WF_FRAME_TRACE) return false;
    *out = (struct wf_trace){.id = {get_number(f->trace.data), get_number(f->trace.data + 8)},
                             .flags = (uint8_t)f->trace.data[16]};
    return out->id.high != 0 || out->id.low != 0;
}

void wf_put_first_chunk(weft_writer *w, size_t whole)
{
    weft_put_array(w, 3);
    weft_put_uint(w, WF_FRAME_CHUNK);
    weft_put_uint(w, whole);
}

void wf_put_next_chunk(weft_writer *w, size_t size)
{
    weft_put_array(w, 2);
    weft_put_uint(w, WF_FRAME_CHUNK);
    put_bin_head(w, size);
}
