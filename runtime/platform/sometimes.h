/* runtime/platform/sometimes.h -- what a mark of a state does in the build of ./dev states: see WF_SOMETIMES in
 * base.h. It needs no lock, because simulations have one thread. */
#ifndef WF_SOMETIMES_H
#define WF_SOMETIMES_H

#include <stdint.h>

struct wf_mark {
    const char *name;
    uint32_t count; /* how often this process has reached it */
    const struct wf_mark *next;
};

extern const struct wf_mark *wf_marks; /* those that this process has reached, the newest first */

/* The first call adds a line to the file that WEFT_STATES names. So there is one line for each state and process, and
 * each seed runs in its own process. */
void wf_mark_reached(struct wf_mark *m);

#define WF_SOMETIMES(name, condition)                 \
    do {                                              \
        static struct wf_mark wf_mark = {name, 0, 0}; \
        if (condition) wf_mark_reached(&wf_mark);     \
    } while (0)

#endif
