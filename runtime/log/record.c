/* runtime/log/record.c -- reading the flight recorder; writing it is in record.h. */
#include "record.h"
#include "platform.h"
#include "slab.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wf_recorder_init(struct wf_recorder *r, size_t events)
{
    size_t capacity = 64;
    *r = (struct wf_recorder){.at = (char *)&r->none};
    if (events == 0) return WEFT_OK;
    while (capacity < events && capacity < WF_RECORD_EVENTS_MAX) capacity *= 2;
    struct wf_record *all = calloc(capacity, sizeof *all);
    if (all == NULL) return WEFT_ENOMEM;
    r->at = (char *)all;
    r->places = (capacity - 1) * sizeof *all;
    return WEFT_OK;
}

void wf_recorder_finish(struct wf_recorder *r)
{
    if (r->places > 0) free(r->at);
    r->places = 0;
}

void wf_recorder_span(const struct wf_recorder *r, uint64_t *oldest, uint64_t *next)
{
    uint64_t capacity = wf_recorder_capacity(r);
    *next = capacity == 0 ? 0 : atomic_load_explicit(&r->next, memory_order_acquire) / sizeof(struct wf_record);
    *oldest = *next > capacity ? *next - capacity : 0;
}

bool wf_recorder_get(const struct wf_recorder *r, uint64_t number, struct weft_record *out)
{
    uint64_t wanted = number * sizeof(struct wf_record);
    const struct wf_record *e = (const struct wf_record *)(const void *)(r->at + (wanted & r->places));
    uint32_t mark = atomic_load_explicit(&e->mark, memory_order_acquire);
    uint64_t at = atomic_load_explicit(&e->at, memory_order_acquire);
    uint64_t who = atomic_load_explicit(&e->who, memory_order_acquire);
    uint64_t other = atomic_load_explicit(&e->other, memory_order_acquire);
    uint32_t value = atomic_load_explicit(&e->value, memory_order_acquire);
    /* A reader that has seen a field of a later entry sees a `next` beyond it. */
    uint64_t next = atomic_load_explicit(&r->next, memory_order_relaxed);
    if ((mark ^ (uint32_t)wanted) >= sizeof *e || mark % sizeof *e == 0 || wanted + r->places + sizeof *e < next)
        return false;
    weft_record_kind kind = (weft_record_kind)(mark % WF_RECORD_REMOTE);
    *out = (struct weft_record){
        .at = (int64_t)at,
        .actor = {.node = 1, .actor = who},
        .what = kind == WEFT_RECORD_WAIT ? (const char *)(uintptr_t)other : "",
        .value = kind == WEFT_RECORD_WAKE || kind == WEFT_RECORD_EXIT ? (int32_t)value : (int64_t)value,
        .kind = kind,
        .number = number,
    };
    if (kind != WEFT_RECORD_WAIT && other != 0)
        out->other = (weft_pid){.node = (mark & WF_RECORD_REMOTE) == 0, .actor = other};
    return true;
}

/* ---- For people ------------------------------------------------------------------------------------------------ */

static const char *name_of(weft_pid p, char out[40])
{
    if (p.actor == 0) return "nobody";
    snprintf(out, 40, "%" PRIu32 ".%" PRIu32 ".%" PRIu32 "%s", wf_id_worker(p.actor), wf_id_slot(p.actor),
             wf_id_generation(p.actor), p.node == 0 ? " of another node" : "");
    return out;
}

char *wf_record_sentence(const struct weft_record *r, const struct wf_record_names *n, char *out, size_t size)
{
    switch (r->kind) {
    case WEFT_RECORD_SPAWN: snprintf(out, size, "%s spawns %s", n->actor, n->other); break;
    case WEFT_RECORD_SEND:
        if (r->other.actor == 0) snprintf(out, size, "%s publishes %s", n->actor, n->value);
        else snprintf(out, size, "%s sends %s to %s", n->actor, n->value, n->other);
        break;
    case WEFT_RECORD_RECEIVE: snprintf(out, size, "%s receives %s from %s", n->actor, n->value, n->other); break;
    case WEFT_RECORD_WAIT: snprintf(out, size, "%s waits for %s", n->actor, r->what); break;
    case WEFT_RECORD_WAKE:
        if (r->value == 0) snprintf(out, size, "%s resumes", n->actor);
        else snprintf(out, size, "%s resumes: %s", n->actor, weft_error_name((int)r->value));
        break;
    case WEFT_RECORD_EXIT: snprintf(out, size, "%s ends with reason %s", n->actor, n->value); break;
    default: snprintf(out, size, "?"); break;
    }
    return out;
}

char *weft_record_format(const struct weft_record *r, char *out)
{
    char who[40], whom[40], value[24];
    snprintf(value, sizeof value, "%" PRId64, r->value);
    return wf_record_sentence(r, &(struct wf_record_names){name_of(r->actor, who), name_of(r->other, whom), value},
                              out, WEFT_RECORD_TEXT);
}

void wf_recorder_dump(const struct wf_recorder *r, uint32_t worker, int64_t now, uint64_t most)
{
    uint64_t number, next;
    struct weft_record event;
    char line[WEFT_RECORD_TEXT + 64], text[WEFT_RECORD_TEXT];
    wf_recorder_span(r, &number, &next);
    if (next == 0) return;
    if (next - number > most) number = next - most;
    int n = snprintf(line, sizeof line, "weft: the last %" PRIu64 " events on worker %" PRIu32 ":\n", next - number,
                     worker);
    pf_stderr(line, (size_t)n);
    for (; number != next; number++) {
        if (!wf_recorder_get(r, number, &event)) continue;
        n = snprintf(line, sizeof line, "weft:   %.6f s  %s\n", (double)(event.at - now) / 1e9,
                     weft_record_format(&event, text));
        pf_stderr(line, WF_MIN((size_t)n, sizeof line - 1));
    }
}
