/* transport/link/burst.h -- log lines about other nodes, which others can cause.
 *
 * (1) Warnings that come once for each of many nodes, as when a cluster starts or falls apart: of each kind the first
 *     few are written, the others are counted, and one line says how many there were. By $cluster alone.
 * (2) All lines about other nodes pass a token bucket, one for warnings and one for the rest: so many may be written
 *     at once, then so many a second. The others are counted, and said as one number, at most every ten seconds. */
#ifndef WF_BURST_H
#define WF_BURST_H

#include <stdatomic.h>
#include <stdint.h>

#include <weft/log.h>

enum {
    WF_BURST_LINES = 4, /* of a burst that are written one by one */
    WF_BURST_KINDS = 8, /* at a time; one more ends the oldest burst */
    WF_BURST_KIND = 64,
    WF_BURST_TEXT = 512,
    WF_PEER_WARNINGS = 200, /* at once, of one node about all others; then each second: */
    WF_PEER_WARNINGS_RATE = 10,
    WF_PEER_LINES = 1000, /* the same of other lines */
    WF_PEER_LINES_RATE = 20,
};
#define WF_BURST_TIME WEFT_SEC(2)       /* of a burst, from its first line */
#define WF_PEER_LINES_TOLD WEFT_SEC(10) /* from the first that is held back to the line that says how many were */

struct wf_bursts {
    /* Any thread: */
    struct wf_bucket {
        _Atomic int64_t full_at; /* relaxed, it guards nothing: when the bucket is full again */
        _Atomic uint64_t held;   /* relaxed: lines that were not written and not told of yet */
    } warnings, lines;
    /* $cluster only: */
    int64_t report_at; /* when it is said how many were held back; 0: none, as far as is known */
    struct wf_burst {
        int64_t until; /* 0: there is none */
        uint32_t lines, held;
        char kind[WF_BURST_KIND];
        char last[WF_BURST_TEXT]; /* that was held back */
    } at[WF_BURST_KINDS];
};

/* `kind`: what lines of one kind have in common; of a longer one the beginning counts. */
WEFT_PRINTF(4, 5) void wf_burst_warn(struct wf_bursts *all, int64_t now, const char *kind, const char *format, ...);
/* A line about another node, as weft_log writes it. Any thread. */
WEFT_PRINTF(4, 5) void wf_peer_log(struct wf_bursts *all, int64_t now, weft_log_level level, const char *format, ...);
/* Says what was held back in bursts that are over; returns when to look again. */
int64_t wf_bursts_tick(struct wf_bursts *all, int64_t now);

#endif
