/* transport/metrics/text_buffer.h -- a text buffer that grows, for the bodies of HTTP answers. */
#ifndef WF_TEXT_BUFFER_H
#define WF_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/pack.h>

/* Zeroed to begin with. */
struct wf_text_buffer {
    char *data; /* malloc'ed, NUL-terminated; NULL: nothing was written */
    size_t size, capacity;
    bool failed; /* a part is missing for lack of memory */
};

WEFT_PRINTF(2, 3) void wf_text_buffer_put(struct wf_text_buffer *o, const char *format, ...);
/* Writes one checked value of msgpack as JSON. Types that JSON lacks become null; keys are text. */
void wf_text_buffer_json(struct wf_text_buffer *o, weft_reader *r);

#endif
