/* runtime/log/log_repeats.h -- lines that come again and again are held back, and counted.
 *
 * Design notes.
 * (1) Two lines are the same if level, module, node and text are: actors that fail one after the other log the same
 *     text, each with its own pid. A line with a number that changes is a different line and is never held back: no
 *     line that occurs only once is lost.
 * (2) A line has a slot from its first occurrence to the end of the period that begins then. If all slots are taken,
 *     further lines are written as they come.
 * (3) Lines of a class differ, such as those about the children of supervisors: as many as a program has. They count together
 *     as one line, which may come WF_LOG_CLASS_TIMES as often, in a slot that other lines cannot take. Those beyond are
 *     reported by the text of the class.
 * (4) There is no timer: an idle process stays idle. The next line after the period reports the counts. */
#ifndef WF_LOG_REPEATS_H
#define WF_LOG_REPEATS_H

#include "log_levels.h"

enum { WF_LOG_CLASS_TIMES = 5 };

/* A line that may be held back, with the parts that the report repeats. */
struct wf_repeat {
    uint64_t key;  /* a hash of level, module, node and text; 0: this slot is free */
    int64_t until; /* the end of the period that began with its first occurrence */
    int written;
    uint64_t held;
    weft_log_level level;
    char module[WF_LOG_MODULE_MAX], node[80], text[160]; /* text may be cut */
};
/* Whether that line may be written at `now`; else it is counted. `node`: the field "node=a", or "". */
bool wf_log_may_repeat(const char *module, weft_log_level level, const char *node, const char *text, size_t size,
                       int64_t now);
/* The same for a line of a class, of which `text` says what the lines that are held back are. */
bool wf_log_may_class(const char *module, weft_log_level level, const char *node, const char *text, int64_t now);
/* One whose period is over at `now`, or until which lines have been held back; false: there is none. */
bool wf_log_take_repeat(int64_t now, struct wf_repeat *out);

#endif
