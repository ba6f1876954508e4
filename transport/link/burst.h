/* transport/link/burst.h -- limits for log lines about other nodes, which those nodes can cause.
 *
 * (1) When a cluster starts or falls apart, the same warning comes for each of many nodes. The first few of each kind
 *     are written, the others are counted, and one line gives their number. Only $cluster calls this.
 * (2) All lines about other nodes pass a token bucket, one for warnings and one for other lines. Lines for which there
 *     is no token are counted, and their number is logged, at most every ten seconds. */
#ifndef WF_BURST_H
#define WF_BURST_H

#include <stdatomic.h>
#include <stdint.h>

#include <weft/log.h>

enum {
    WF_BURST_LINES = 4, /* the first lines of a burst, which are written one by one */
    WF_BURST_KINDS = 8, /* bursts at a time; one more ends the oldest */
    WF_BURST_KIND = 64,
    WF_BURST_TEXT = 512,
    WF_PEER_WARNINGS = 200,     /* tokens of a full bucket */
    WF_PEER_WARNINGS_RATE = 10, /* tokens per second */
    WF_PEER_LINES = 1000,       /* the same for other lines */
    WF_PEER_LINES_RATE = 20,
};
#define WF_BURST_TIME WEFT_SEC(2)       /* the length of a burst, from its first line */
#define WF_PEER_LINES_TOLD WEFT_SEC(10) /* from the first line that is held back to the line with their number */

struct wf_bursts {
    /* Any thread: */
    struct wf_bucket {
        _Atomic int64_t full_at; /* relaxed, it guards nothing: when the bucket is full again */
        _Atomic uint64_t held;   /* relaxed: lines that were held back since their number was logged last */
    } warnings, lines;
    /* $cluster only: */
    int64_t report_at; /* when the number of held lines is logged; 0: no line is held */
    struct wf_burst {
        int64_t until; /* 0: this entry is free */
        uint32_t lines, held;
        char kind[WF_BURST_KIND];
        char last[WF_BURST_TEXT]; /* the last line */
    } at[WF_BURST_KINDS];
};

/* Logs a warning as part of a burst. `kind` names the burst; only its first WF_BURST_KIND - 1 bytes count. */
WEFT_PRINTF(4, 5) void wf_burst_warn(struct wf_bursts *all, int64_t now, const char *kind, const char *format, ...);
/* A line about another node, as weft_log writes it. Any thread. */
WEFT_PRINTF(4, 5) void wf_peer_log(struct wf_bursts *all, int64_t now, weft_log_level level, const char *format, ...);
/* Logs what was held back in bursts that are over; returns when to call it again. */
int64_t wf_bursts_tick(struct wf_bursts *all, int64_t now);

#endif
