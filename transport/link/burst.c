/* transport/link/burst.c -- see burst.h. */
#include "burst.h"

#include "base.h"

#include <weft/log.h>
#include <weft/time.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- The rate of lines ----------------------------------------------------------------------------------------- */

/* The bucket gains `rate` tokens per second and holds `most`: `full_at` is at most the time for `most` tokens ahead of
 * `now`. False: there is no token; the line is counted. */
static bool take_token(struct wf_bucket *b, int64_t now, int64_t most, int64_t rate)
{
    int64_t each = WEFT_SEC(1) / rate;
    now = WF_MIN(now, WEFT_FOREVER / 2); /* the end of a node passes WEFT_FOREVER, which would overflow */
    int64_t full_at = atomic_load_explicit(&b->full_at, memory_order_relaxed), after;
    do {
        after = WF_MAX(full_at, now) + each;
        if (after - now <= most * each) continue;
        atomic_fetch_add_explicit(&b->held, 1, memory_order_relaxed);
        return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->full_at, &full_at, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void wf_peer_log(struct wf_bursts *all, int64_t now, weft_log_level level, const char *format, ...)
{
    char text[WF_BURST_TEXT];
    va_list words;
    bool may = level >= WEFT_WARN ? take_token(&all->warnings, now, WF_PEER_WARNINGS, WF_PEER_WARNINGS_RATE)
                                  : take_token(&all->lines, now, WF_PEER_LINES, WF_PEER_LINES_RATE);
    if (!may) return;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    weft_log(level, "%s", text);
}

static void log_held(struct wf_bucket *b, const char *what, int rate)
{
    uint64_t held = atomic_exchange_explicit(&b->held, 0, memory_order_relaxed);
    if (held > 0)
        weft_log(WEFT_WARN, "%" PRIu64 " %s about other nodes were left out, as there were more than %d in a second",
                 held, what, rate);
}

/* Returns when to log the lines that were held back; WEFT_FOREVER: there are none. */
static int64_t log_all_held(struct wf_bursts *all, int64_t now)
{
    bool any = atomic_load_explicit(&all->warnings.held, memory_order_relaxed) > 0 ||
               atomic_load_explicit(&all->lines.held, memory_order_relaxed) > 0;
    if (!any) return WEFT_FOREVER;
    if (all->report_at == 0) all->report_at = now + WF_MIN(WF_PEER_LINES_TOLD, WEFT_FOREVER - now);
    if (now < all->report_at) return all->report_at;
    all->report_at = 0;
    log_held(&all->warnings, "warnings", WF_PEER_WARNINGS_RATE);
    log_held(&all->lines, "lines", WF_PEER_LINES_RATE);
    return WEFT_FOREVER;
}

/* ---- Bursts of a kind ------------------------------------------------------------------------------------------ */

static void end(struct wf_bursts *all, int64_t now, struct wf_burst *b)
{
    if (b->held == 1) wf_peer_log(all, now, WEFT_WARN, "%s", b->last);
    else if (b->held > 1) wf_peer_log(all, now, WEFT_WARN, "%s (and %u more like it)", b->last, b->held - 1);
    b->until = 0;
    b->lines = b->held = 0;
}

int64_t wf_bursts_tick(struct wf_bursts *all, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    for (int i = 0; i < WF_BURST_KINDS; i++) {
        struct wf_burst *b = &all->at[i];
        if (now >= b->until) end(all, now, b);
        else if (b->held > 0) at = WF_MIN(at, b->until);
    }
    return WF_MIN(at, log_all_held(all, now));
}

/* The burst of that kind, or a new one. */
static struct wf_burst *burst_of(struct wf_bursts *all, int64_t now, const char *kind)
{
    struct wf_burst *oldest = &all->at[0];
    for (int i = 0; i < WF_BURST_KINDS; i++) {
        struct wf_burst *b = &all->at[i];
        if (b->until != 0 && strncmp(b->kind, kind, sizeof b->kind - 1) == 0) return b;
        if (b->until < oldest->until) oldest = b;
    }
    end(all, now, oldest);
    oldest->until = now + WF_BURST_TIME;
    snprintf(oldest->kind, sizeof oldest->kind, "%s", kind);
    return oldest;
}

void wf_burst_warn(struct wf_bursts *all, int64_t now, const char *kind, const char *format, ...)
{
    va_list words;
    (void)wf_bursts_tick(all, now);
    struct wf_burst *b = burst_of(all, now, kind);
    va_start(words, format);
    vsnprintf(b->last, sizeof b->last, format, words);
    va_end(words);
    if (b->lines == WF_BURST_LINES) {
        b->held++;
        return;
    }
    b->lines++;
    wf_peer_log(all, now, WEFT_WARN, "%s", b->last);
}
