/* transport/metrics/text_buffer.h -- text that grows as it is written: what a node says over HTTP. */
#ifndef WF_TEXT_BUFFER_H
#define WF_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/pack.h>

/* Zeroed to begin with. */
struct wf_text_buffer {
    char *data; /* malloc'ed, NUL-terminated; NULL: nothing was written */
    size_t size, capacity;
    bool failed; /* for want of memory something is missing */
};

WEFT_PRINTF(2, 3) void wf_text_buffer_put(struct wf_text_buffer *o, const char *format, ...);
/* One value of msgpack that has been checked, as JSON. What JSON lacks becomes null; keys are text. */
void wf_text_buffer_json(struct wf_text_buffer *o, weft_reader *r);

#endif
