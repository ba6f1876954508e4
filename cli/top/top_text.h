/* cli/top/top_text.h -- what top_model.h knows, as lines. */
#ifndef CLI_TOP_TEXT_H
#define CLI_TOP_TEXT_H

#include "top_model.h"

enum { TOP_LINE = 512 };
/* The style of a line. */
enum top_look { TOP_PLAIN, TOP_HEAD, TOP_WARN, TOP_ALARM, TOP_FAINT };

struct top_lines {
    struct top_text_line {
        char text[TOP_LINE];
        enum top_look look;
    } * line;
    uint32_t count, capacity;
    bool failed; /* some lines are missing for lack of memory */
    int width;   /* columns there are for a line; it may be longer */
};
void top_lines_clear(struct top_lines *l); /* removes all lines and frees their memory */

/* Makes the lines of nodes; workers, if there is one node; kinds of actors; links; dropped messages. Each has at most
 * `most` lines, and a count of the rest. */
void top_put_nodes(struct top_lines *l, const struct top_snapshot *s, uint32_t most);
/* A head, then `count` actors from `first` on. `nodes`: also on which one each is. `by` is marked in the head. */
void top_put_actors(struct top_lines *l, const struct top_snapshot *s, uint32_t first, uint32_t count,
                    enum top_by by);
/* Adds the lines of an INSPECT answer. False: the answer has another form. */
bool top_put_detail(struct top_lines *l, const void *data, size_t size);

/* "1234", "12.3k", "4.56M"; for bytes "12 KiB". At most 9 bytes and a NUL. */
const char *top_number(double value, char out[16]);
const char *top_bytes(double value, char out[16]);
/* "850 ns", "12.3 us", "4.00 ms", "2.5 s" */
const char *top_span(double ns, char out[16]);

#endif
