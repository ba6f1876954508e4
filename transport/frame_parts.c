/* Frames of messages whose bodies are sent from where they are: what goes before a body, or a part of it, and what
 * goes behind. */
#include "frame.h"

bool wf_frame_has_body(uint32_t kind)
{
    return wf_frame_message(kind) >= 0 || kind == WF_FRAME_SEND_NAME || kind == WF_FRAME_CALL_NAME ||
           kind == WF_FRAME_PUBLISH || kind == WF_FRAME_GROUP_SEND;
}

static bool is_timed(const struct wf_frame *f)
{
    bool call = f->kind == WF_FRAME_CALL_NAME || f->kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL;
    return call && f->number != WF_FRAME_NO_DEADLINE;
}

/* With 32 bits of length, whatever it is. */
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
                 f->kind == WF_FRAME_WANT_NAME;
    weft_put_array(w, topic ? 5 : is_timed(f) ? 7 : 6);
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
