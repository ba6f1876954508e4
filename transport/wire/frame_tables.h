/* transport/wire/frame_tables.h -- frames of tables, and of publications for some subscribers: kinds 54 to 59. */
#ifndef WF_FRAME_TABLES_H
#define WF_FRAME_TABLES_H

#include "frame.h"

/* Reads a frame with `values` values behind its kind; returns how many it has read. TABLE: `number` is a wf_table_op
 * (WF_TABLE_NONE: skip it), the rest is read by wf_frame_entry (of TAKEN `to` is the node). GROUP_SEND: `name` is the
 * group. PUBLISH_TO: `to` is the node of `from`; 0: the node that sends the frame. RETAINED: the same, but never 0;
 * `number` is the timestamp, `ref` says for how many milliseconds that node has been gone. */
uint32_t wf_get_tables_frame(weft_reader *r, uint32_t values, struct wf_frame *f);
struct wf_entry wf_frame_entry(const struct wf_frame *f);
/* At most WF_FRAME_SPARE bytes and the key. */
void wf_put_entry(weft_writer *w, enum wf_table_op op, const struct wf_entry *e);
void wf_put_table_begin(weft_writer *w);

enum wf_publish_flag { WF_PUBLISH_PLAIN = 1 /* for subscribers without a queue, even if a newer one is retained */ };
enum { WF_PUBLISH_QUEUES = 32, /* in one frame */ WF_PUBLISH_PASSED_MAX = 2 };
/* A publication for one member of each of some queue groups. */
struct wf_publish_to {
    weft_text topic;
    weft_pid from; /* .node 0: the node that sends the frame */
    uint32_t tag, flags, passed;
    uint64_t ref; /* request of the publisher for the number of receivers; 0: none */
    const struct wf_chosen *chosen;
    uint64_t node;  /* only the chosen of this node go into the frame, */
    uint32_t skip;  /* without the first `skip`, which are in other frames */
    uint32_t count; /* how many are in this frame: set by wf_publish_to_size */
    const void *body;
    size_t size;
    weft_text trace; /* see wf_frame.trace */
};
/* The most bytes that the frame can have. Call it before wf_put_publish_to. */
size_t wf_publish_to_size(struct wf_publish_to *p);
void wf_put_publish_to(weft_writer *w, const struct wf_publish_to *p);
weft_text wf_frame_next_queue(struct wf_frame *f, weft_text *pattern);
/* A retained message; `live`: it is published now; `gone`: for how many milliseconds its publisher's node has been
 * gone. At most WF_FRAME_SPARE bytes, the topic and the body. */
void wf_put_retained(weft_writer *w, struct wf_body *body, uint64_t stamp, bool live, uint64_t gone);
/* MISSED: `count` publications for that pattern were lost. At most WF_FRAME_SPARE bytes and the pattern. */
void wf_put_missed(weft_writer *w, weft_text pattern, uint64_t count);

#endif
