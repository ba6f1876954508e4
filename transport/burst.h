/* transport/burst.h -- warnings that come once for each of many nodes, as when a cluster starts or falls apart: of
 * each kind the first few are written, the others are counted, and one line says how many there were. By $cluster
 * alone. */
#ifndef WF_BURST_H
#define WF_BURST_H

#include <stdint.h>

enum {
    WF_BURST_LINES = 4, /* of a burst that are written one by one */
    WF_BURST_KINDS = 8, /* at a time; one more ends the oldest burst */
    WF_BURST_KIND = 64,
    WF_BURST_TEXT = 512,
};
#define WF_BURST_TIME WEFT_SEC(2) /* of a burst, from its first line */

struct wf_bursts {
    struct wf_burst {
        int64_t until; /* 0: there is none */
        uint32_t lines, held;
        char kind[WF_BURST_KIND];
        char last[WF_BURST_TEXT]; /* that was held back */
    } at[WF_BURST_KINDS];
};

/* `kind`: what lines of one kind have in common; of a longer one the beginning counts. */
__attribute__((format(printf, 4, 5))) void wf_burst_warn(struct wf_bursts *all, int64_t now, const char *kind,
                                                         const char *format, ...);
/* Says what was held back in bursts that are over; returns when to look again. */
int64_t wf_bursts_tick(struct wf_bursts *all, int64_t now);

#endif
