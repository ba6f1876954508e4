/* transport/wire/frame_chunks.h -- frames of messages whose body is sent from where it is, or that are traced. */
#ifndef WF_FRAME_CHUNKS_H
#define WF_FRAME_CHUNKS_H

#include "frame.h"

struct wf_trace;

/* Encodes the trace of a body into `out`; empty if it has none. */
weft_text wf_frame_trace_of(const struct wf_body *b, uint8_t out[WF_FRAME_TRACE]);
/* Decodes the trace of a frame. False: the frame has none. */
bool wf_frame_trace(const struct wf_frame *f, struct wf_trace *out);
/* Sets the fields that all these frames have; the others are 0. */
static inline void wf_frame_describe(struct wf_frame *f, uint32_t kind, weft_text name, uint32_t tag, uint64_t from)
{
    f->kind = kind;
    f->name = name;
    f->tag = tag;
    f->from = from;
    f->number = 0;
    f->trace.size = 0;
}
/* Whether it is a message with a body, which may come in chunks. */
bool wf_frame_has_body(uint32_t kind);
/* Write the bytes before and behind `size` bytes of the body of `f`; all fields of `f` but `body` are set. Together at
 * most WF_FRAME_SPARE bytes and the name. */
void wf_put_before_body(weft_writer *w, const struct wf_frame *f, size_t size);
void wf_put_behind_body(weft_writer *w, const struct wf_frame *f);
/* The head of the first CHUNK of a body of `whole` bytes: a frame with its first part follows. At most 16 bytes. */
void wf_put_first_chunk(weft_writer *w, size_t whole);
/* The head of a later CHUNK: `size` bytes of the body follow. At most 16 bytes. */
void wf_put_next_chunk(weft_writer *w, size_t size);

#endif
