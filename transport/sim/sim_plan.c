/* transport/sim/sim_plan.c -- see sim_plan.h. */
#include "sim_plan.h"

#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include <weft/time.h>

const char *const wf_sim_fault_names[WF_SIM_KINDS] = {"reset", "cut",  "oneway", "split", "freeze", "crash",
                                                      "power", "late", "clock",  "slow",  "memory"};

uint32_t wf_sim_split_last(const struct wf_sim_fault *f, uint32_t nodes)
{
    return f->a == nodes - 1 ? 0 : f->a;
}

int64_t wf_sim_clock_step(const struct wf_sim_fault *f)
{
    return f->span % 2 == 0 ? f->span * 1000 : -f->span * 1000;
}

/* ---- From a seed ----------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return wf_mix(*state) % below;
}

/* Draws a span from 20 ms up to 20 ms * 2^doublings; each doubling is equally likely, so short spans are as frequent
 * as long ones. */
static int64_t draw_span(uint64_t *state, uint64_t doublings)
{
    int64_t span = WEFT_MS(20) << draw(state, doublings);
    return span + (int64_t)draw(state, (uint64_t)span);
}

static int by_time(const void *x, const void *y)
{
    const struct wf_sim_fault *a = x, *b = y;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The requested kinds that are possible with this number of nodes. */
static uint32_t possible_kinds(const struct wf_sim_origin *from)
{
    uint32_t kinds = 0;
    for (uint32_t k = 0; k < WF_SIM_KINDS; k++)
        if (from->nodes > 1 || k == WF_SIM_FREEZE || k >= WF_SIM_CRASH) kinds |= from->kinds & 1u << k;
    return kinds;
}

/* Draws each kind with one chance in three, but at least one kind. */
static uint32_t draw_some(uint64_t *state, uint32_t kinds)
{
    uint32_t some = 0;
    while (some == 0)
        for (uint32_t k = 0; k < WF_SIM_KINDS; k++)
            if (draw(state, 3) == 0) some |= kinds & 1u << k;
    return some;
}

static uint8_t draw_kind(uint64_t *state, uint32_t kinds)
{
    uint32_t k = (uint32_t)draw(state, (uint64_t)__builtin_popcount(kinds));
    for (; k > 0; k--) kinds &= kinds - 1;
    return (uint8_t)__builtin_ctz(kinds);
}

static void draw_pair(uint64_t *state, const struct wf_sim_origin *from, struct wf_sim_fault *f)
{
    f->a = (uint8_t)draw(state, from->nodes);
    f->b = (uint8_t)((f->a + 1 + draw(state, WF_MAX(from->nodes, 2) - 1)) % from->nodes);
}

/* Faults of a seed have something in common, as faults in a data centre do, and seeds differ in that. So rare
 * combinations are frequent in some seeds. */
enum style {
    ANY,   /* few faults, at any time, of any kind */
    SOME,  /* more faults, of some kinds only */
    BURST, /* several faults within a second */
    ROW,   /* between the same two nodes, one soon after the other */
    STYLES
};

/* In a third of the seeds one mild fault does not end: checks with `eventually` must become true in spite of it. */
static void add_lasting(uint64_t *state, const struct wf_sim_origin *from, struct wf_sim_plan *out)
{
    uint32_t mild = possible_kinds(from) & (1u << WF_SIM_LATE | 1u << WF_SIM_SLOW);
    if (mild == 0 || draw(state, 3) > 0) return;
    WF_ASSERT(out->fault_count < WF_SIM_FAULTS);
    struct wf_sim_fault *f = &out->fault[out->fault_count++];
    f->kind = draw_kind(state, mild);
    f->at = (int64_t)draw(state, (uint64_t)from->time);
    f->a = (uint8_t)draw(state, from->nodes);
    f->lasts = true;
}

enum { FAULTS_FEW = 6, FAULTS_MANY = 9, SPAN_ANY = 10 /* up to 20 s */, SPAN_IN_ROW = 8 /* up to 5 s */ };
#define BURST_TIME WEFT_SEC(1)
#define ROW_STEP WEFT_SEC(2)

static void draw_faults(const struct wf_sim_origin *from, struct wf_sim_plan *out)
{
    uint64_t state = wf_mix(from->seed ^ UINT64_C(0x66617561746C7473));
    uint32_t kinds = possible_kinds(from);
    struct wf_sim_fault first = {.lasts = false};
    if (kinds == 0) return;
    enum style style = (enum style)draw(&state, STYLES);
    if (style == SOME || style == ROW) kinds = draw_some(&state, kinds);
    out->fault_count = 1 + (uint32_t)draw(&state, style == ANY ? FAULTS_FEW : FAULTS_MANY);
    first.at = (int64_t)draw(&state, (uint64_t)from->time);
    draw_pair(&state, from, &first);
    for (uint32_t i = 0; i < out->fault_count; i++) {
        struct wf_sim_fault *f = &out->fault[i];
        *f = first;
        f->kind = draw_kind(&state, kinds);
        f->span = draw_span(&state, style == ROW ? SPAN_IN_ROW : SPAN_ANY);
        if (style != ROW) draw_pair(&state, from, f);
        if (style == ANY || style == SOME) f->at = (int64_t)draw(&state, (uint64_t)from->time);
        else f->at += (int64_t)draw(&state, (uint64_t)(style == BURST ? BURST_TIME : ROW_STEP));
        if (f->at >= from->time) f->at = first.at;
        if (style == ROW) first.at = WF_MIN(f->at + f->span, from->time - 1);
    }
    add_lasting(&state, from, out);
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

enum change { MOVE, SPAN, NODES, KIND, ADD, REMOVE, TWICE, SCHEDULE, LIMITS, CHANGES };
#define NEAR WEFT_SEC(2)
#define SPAN_MOST WEFT_SEC(40)

static int64_t within(int64_t at, const struct wf_sim_origin *from)
{
    return WF_MAX(0, WF_MIN(at, from->time - 1));
}

/* Draws a new time for a fault: in half of the cases near the old one, else any time. */
static int64_t draw_move(uint64_t *state, const struct wf_sim_origin *from, int64_t at)
{
    if (draw(state, 2) == 0) return (int64_t)draw(state, (uint64_t)from->time);
    return within(at - NEAR + (int64_t)draw(state, 2 * (uint64_t)NEAR), from);
}

static struct wf_sim_fault *put_in(struct wf_sim_plan *out, const struct wf_sim_fault *f)
{
    if (out->fault_count == WF_SIM_FAULTS) return NULL;
    out->fault[out->fault_count] = *f;
    return &out->fault[out->fault_count++];
}

static void add(uint64_t *state, const struct wf_sim_origin *from, struct wf_sim_plan *out, uint32_t kinds)
{
    int64_t near = out->fault_count == 0 ? 0 : out->fault[draw(state, out->fault_count)].at;
    struct wf_sim_fault f = {.kind = draw_kind(state, kinds), .span = draw_span(state, SPAN_ANY)};
    f.at = draw_move(state, from, near);
    draw_pair(state, from, &f);
    (void)put_in(out, &f);
}

static void change_span(uint64_t *state, struct wf_sim_fault *f)
{
    uint64_t how = draw(state, 3);
    f->span = how == 0 ? f->span / 2 : how == 1 ? WF_MIN(f->span * 2, SPAN_MOST) : draw_span(state, SPAN_ANY);
    f->span = WF_MAX(f->span, WEFT_MS(1));
}

static void twice(uint64_t *state, const struct wf_sim_origin *from, struct wf_sim_plan *out,
                  const struct wf_sim_fault *f)
{
    struct wf_sim_fault *copy = put_in(out, f);
    if (copy != NULL) copy->at = within(copy->at + (int64_t)draw(state, (uint64_t)NEAR), from);
}

static void change_once(uint64_t *state, const struct wf_sim_origin *from, struct wf_sim_plan *out)
{
    enum change change = (enum change)draw(state, CHANGES);
    uint32_t kinds = possible_kinds(from);
    bool of_fault = change != SCHEDULE && change != LIMITS;
    if (of_fault && kinds == 0) change = SCHEDULE;
    else if (of_fault && out->fault_count == 0) change = ADD;
    struct wf_sim_fault *f = out->fault_count == 0 ? NULL : &out->fault[draw(state, out->fault_count)];
    if (f != NULL && f->lasts && of_fault && change != ADD && change != REMOVE) change = MOVE;
    switch (change) {
    case MOVE: f->at = draw_move(state, from, f->at); break;
    case SPAN: change_span(state, f); break;
    case NODES: draw_pair(state, from, f); break;
    case KIND: f->kind = draw_kind(state, kinds); break;
    case ADD: add(state, from, out, kinds); break;
    case REMOVE: *f = out->fault[--out->fault_count]; break;
    case TWICE: twice(state, from, out, f); break;
    case SCHEDULE: out->schedule = draw(state, UINT64_MAX); break;
    case LIMITS: out->limits = draw(state, UINT64_MAX); break;
    case CHANGES: break;
    }
}

static void change_plan(uint32_t number, const struct wf_sim_origin *from, struct wf_sim_plan *out)
{
    uint64_t state = wf_mix(number ^ UINT64_C(0x6368616E6765));
    for (uint64_t left = 1 + draw(&state, 3); left > 0; left--) change_once(&state, from, out);
}

static void sort(struct wf_sim_plan *out)
{
    qsort(out->fault, out->fault_count, sizeof out->fault[0], by_time);
}

void wf_sim_draw_plan(const struct wf_sim_origin *from, struct wf_sim_plan *out)
{
    WF_ASSERT(from->change_count <= WF_SIM_CHANGES);
    memset(out, 0, sizeof *out);
    out->schedule = out->limits = from->seed;
    draw_faults(from, out);
    sort(out);
    for (uint32_t i = 0; i < from->change_count; i++) {
        change_plan(from->change[i], from, out);
        sort(out);
    }
}
