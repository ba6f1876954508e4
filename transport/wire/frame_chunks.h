/* transport/wire/frame_chunks.h -- messages whose body stays where it is, or is traced. */
#ifndef WF_FRAME_CHUNKS_H
#define WF_FRAME_CHUNKS_H

#include "frame.h"

struct wf_trace;

/* The trace of a body as a frame has it, in `out`; empty if it has none. */
weft_text wf_frame_trace_of(const struct wf_body *b, uint8_t out[WF_FRAME_TRACE]);
/* And back. False: the frame has none. */
bool wf_frame_trace(const struct wf_frame *f, struct wf_trace *out);
/* What all of them have. */
static inline void wf_frame_describe(struct wf_frame *f, uint32_t kind, weft_text name, uint32_t tag, uint64_t from)
{
    f->kind = kind;
    f->name = name;
    f->tag = tag;
    f->from = from;
    f->number = 0;
    f->trace.size = 0;
}
/* Whether it is a message with a body: what may come in chunks. */
bool wf_frame_has_body(uint32_t kind);
/* What goes before `size` bytes of the body of `f`, all fields of which are set but `body`, and what goes behind. At
 * most WF_FRAME_SPARE and the name, together. */
void wf_put_before_body(weft_writer *w, const struct wf_frame *f, size_t size);
void wf_put_behind_body(weft_writer *w, const struct wf_frame *f);
/* The head of the first CHUNK of a body of `whole` bytes: a frame with its first part follows. At most 16 bytes. */
void wf_put_first_chunk(weft_writer *w, size_t whole);
/* Of another one: `size` bytes of the body follow. At most 16 bytes. */
void wf_put_next_chunk(weft_writer *w, size_t size);

#endif
