/* transport/burst.c -- see burst.h. */
#include "burst.h"

#include "base.h"

#include <weft/log.h>
#include <weft/time.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void end(struct wf_burst *b)
{
    if (b->held == 1) weft_log(WEFT_WARN, "%s", b->last);
    else if (b->held > 1) weft_log(WEFT_WARN, "%s (and %u more like it)", b->last, b->held - 1);
    b->until = 0;
    b->lines = b->held = 0;
}

int64_t wf_bursts_tick(struct wf_bursts *all, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    for (int i = 0; i < WF_BURST_KINDS; i++) {
        struct wf_burst *b = &all->at[i];
        if (now >= b->until) end(b);
        else if (b->held > 0) at = WF_MIN(at, b->until);
    }
    return at;
}

/* The burst of that kind, or one that begins. */
static struct wf_burst *burst_of(struct wf_bursts *all, int64_t now, const char *kind)
{
    struct wf_burst *oldest = &all->at[0];
    for (int i = 0; i < WF_BURST_KINDS; i++) {
        struct wf_burst *b = &all->at[i];
        if (b->until != 0 && strncmp(b->kind, kind, sizeof b->kind - 1) == 0) return b;
        if (b->until < oldest->until) oldest = b;
    }
    end(oldest);
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
    weft_log(WEFT_WARN, "%s", b->last);
}
