/* tests/history/linearize.c -- see linearize.h. */
#include "linearize.h"

#include "hash.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 5 * 1000 * 1000, SHOWN_BEFORE = 6 };

#define NONE SIZE_MAX

static void *allocate(size_t count, size_t size)
{
    void *block = calloc(count + 1, size);
    if (block == NULL) abort();
    return block;
}

/* ---- Recording ------------------------------------------------------------------------------------------------- */

void lin_add(struct lin_history *h, struct lin_op op)
{
    if (h->count == h->capacity) {
        h->capacity = h->capacity == 0 ? 64 : h->capacity * 2;
        h->op = realloc(h->op, h->capacity * sizeof *h->op);
        if (h->op == NULL) abort();
    }
    h->op[h->count++] = op;
}

static int64_t next_time(struct lin_history *h, int64_t now)
{
    h->last = now > h->last ? now : h->last + 1;
    return h->last;
}

size_t lin_begin(struct lin_history *h, int64_t now, struct lin_op op)
{
    op.begin = next_time(h, now);
    op.end = INT64_MAX;
    op.status = LIN_UNKNOWN;
    lin_add(h, op);
    return h->count - 1;
}

void lin_end(struct lin_history *h, size_t number, int64_t now, enum lin_status status, uint64_t out)
{
    struct lin_op *op = &h->op[number];
    op->end = status == LIN_UNKNOWN ? INT64_MAX : next_time(h, now);
    op->status = status;
    op->out = out;
}

void lin_free(struct lin_history *h)
{
    free(h->op);
    *h = (struct lin_history){0};
}

/* ---- Configurations that were seen ----------------------------------------------------------------------------- */

/* A set of byte strings of one size: which operations are placed, and the state. */
struct seen {
    uint8_t *bytes; /* `capacity` slots of a byte that says whether it is used, and `size` bytes */
    size_t size, capacity, count;
};

static uint8_t *slot(const struct seen *s, size_t i)
{
    return s->bytes + (i & (s->capacity - 1)) * (s->size + 1);
}

/* False: it is there already. */
static bool seen_put(struct seen *s, const uint8_t *bytes)
{
    size_t i = wf_hash((const char *)bytes, s->size, 0);
    while (slot(s, i)[0] != 0) {
        if (memcmp(slot(s, i) + 1, bytes, s->size) == 0) return false;
        i++;
    }
    slot(s, i)[0] = 1;
    memcpy(slot(s, i) + 1, bytes, s->size);
    s->count++;
    return true;
}

static bool seen_add(struct seen *s, const uint8_t *bytes)
{
    if (s->count * 2 >= s->capacity) {
        struct seen grown = {.size = s->size, .capacity = s->capacity == 0 ? 256 : s->capacity * 2};
        grown.bytes = allocate(grown.capacity, s->size + 1);
        for (size_t i = 0; i < s->capacity; i++)
            if (slot(s, i)[0] != 0) seen_put(&grown, slot(s, i) + 1);
        free(s->bytes);
        *s = grown;
    }
    return seen_put(s, bytes);
}

/* ---- The search ------------------------------------------------------------------------------------------------ */

/* An operation that was placed. */
struct placed {
    size_t op;
    bool forced; /* there is nothing else to try in its place */
};

struct search {
    const struct lin_model *model;
    const struct lin_op *op; /* by begin; none has failed */
    size_t count, left;      /* left: how many have a known result and are not placed */
    uint8_t *now;            /* the configuration: a bit for each operation that is placed, then the state */
    size_t bits;             /* bytes of the former */
    struct placed *stack;
    uint8_t *before; /* the state before each of the stack */
    size_t depth;
    size_t least;      /* the least `left` so far, */
    uint8_t *furthest; /* and the configuration then */
    struct seen seen;
    uint64_t steps;
};

static bool is_placed(const uint8_t *bits, size_t i)
{
    return (bits[i / 8] >> (i % 8) & 1) != 0;
}

static void flip(struct search *s, size_t i)
{
    s->now[i / 8] ^= (uint8_t)(1u << (i % 8));
    if (s->op[i].status == LIN_OK) s->left += is_placed(s->now, i) ? (size_t)-1 : 1;
}

/* What begins after this cannot be next: something has ended before, and is not placed. */
static int64_t barrier(const struct search *s)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < s->count && s->op[i].begin < at; i++)
        if (!is_placed(s->now, i) && s->op[i].status == LIN_OK && s->op[i].end < at) at = s->op[i].end;
    return at;
}

static void push(struct search *s, size_t i, bool forced, const uint8_t *before)
{
    memcpy(s->before + s->depth * s->model->state_size, before, s->model->state_size);
    s->stack[s->depth++] = (struct placed){i, forced};
    flip(s, i);
    if (s->left >= s->least) return;
    s->least = s->left;
    memcpy(s->furthest, s->now, s->bits + s->model->state_size);
}

/* Places the operation if the state allows it, and the result is another configuration than all before. */
static bool place(struct search *s, size_t i, bool forced)
{
    uint8_t before[LIN_STATE_MAX], *state = s->now + s->bits;
    size_t size = s->model->state_size;
    memcpy(before, state, size);
    s->steps++;
    bool fits = s->model->step(state, &s->op[i]);
    if (fits) {
        push(s, i, forced, before);
        if (forced || seen_add(&s->seen, s->now)) return true;
        s->depth--;
        flip(s, i);
    }
    memcpy(state, before, size);
    return false;
}

static void place_reads(struct search *s)
{
    int64_t until = barrier(s);
    for (size_t i = 0; i < s->count && s->op[i].begin <= until; i++) {
        if (is_placed(s->now, i) || s->op[i].status != LIN_OK || !s->model->is_read(&s->op[i])) continue;
        if (place(s, i, true)) until = barrier(s);
    }
}

/* The next one that can be tried, from `from` on: first those whose result is known. */
static size_t candidate(const struct search *s, size_t from)
{
    int64_t until = barrier(s);
    for (size_t k = from; k < 2 * s->count; k++) {
        size_t i = k % s->count;
        enum lin_status wanted = k < s->count ? LIN_OK : LIN_UNKNOWN;
        if (!is_placed(s->now, i) && s->op[i].status == wanted && s->op[i].begin <= until) return k;
    }
    return NONE;
}

/* Takes back the last choice. Returns where to go on, or NONE: there was none. */
static size_t back(struct search *s)
{
    while (s->depth > 0) {
        const struct placed *p = &s->stack[--s->depth];
        flip(s, p->op);
        memcpy(s->now + s->bits, s->before + s->depth * s->model->state_size, s->model->state_size);
        if (!p->forced) return p->op + 1 + (s->op[p->op].status == LIN_UNKNOWN ? s->count : 0);
    }
    return NONE;
}

static enum lin_verdict search(struct search *s)
{
    size_t from = 0;
    place_reads(s);
    while (s->left > 0) {
        if (s->steps > STEPS_MAX) return LIN_NOT_DECIDED;
        size_t k = candidate(s, from);
        if (k == NONE) {
            from = back(s);
            if (from == NONE) return LIN_NOT_LINEARIZABLE;
        } else if (place(s, k % s->count, false)) {
            place_reads(s);
            from = 0;
        } else {
            from = k + 1;
        }
    }
    return LIN_LINEARIZABLE;
}

static enum lin_verdict begin_search(struct search *s, const struct lin_model *model, const struct lin_op *op,
                                     size_t count)
{
    *s = (struct search){.model = model, .op = op, .count = count, .bits = count / 8 + 1};
    s->now = allocate(s->bits + model->state_size, 1);
    s->furthest = allocate(s->bits + model->state_size, 1);
    s->stack = allocate(count, sizeof *s->stack);
    s->before = allocate(count, model->state_size);
    s->seen.size = s->bits + model->state_size;
    model->init(s->now + s->bits);
    memcpy(s->furthest + s->bits, s->now + s->bits, model->state_size);
    for (size_t i = 0; i < count; i++) s->left += op[i].status == LIN_OK;
    s->least = s->left;
    return search(s);
}

static void end_search(struct search *s)
{
    free(s->now);
    free(s->furthest);
    free(s->stack);
    free(s->before);
    free(s->seen.bytes);
}

/* `least` (may be NULL): how many with a known result are left when as many as possible are placed. */
static enum lin_verdict judge(const struct lin_model *model, const struct lin_op *op, size_t count, size_t *least)
{
    struct search s;
    enum lin_verdict verdict = begin_search(&s, model, op, count);
    if (least != NULL) *least = s.least;
    end_search(&s);
    return verdict;
}

/* ---- The smallest part ----------------------------------------------------------------------------------------- */

/* The history as it was at that time: what ended later is not known yet. Returns the number of operations. */
static size_t until(int64_t time, const struct lin_op *op, size_t count, struct lin_op *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (op[i].begin > time) continue;
        out[n] = op[i];
        if (out[n].end > time) out[n].status = LIN_UNKNOWN;
        n++;
    }
    return n;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* What begins a history that is linearizable is linearizable. So there is a first end after which it is not. */
static int64_t first_bad(const struct lin_model *model, const struct lin_op *op, size_t count)
{
    int64_t *end = allocate(count, sizeof *end);
    struct lin_op *some = allocate(count, sizeof *some);
    size_t ends = 0, low = 0;
    for (size_t i = 0; i < count; i++)
        if (op[i].status == LIN_OK) end[ends++] = op[i].end;
    qsort(end, ends, sizeof *end, by_time);
    for (size_t high = ends - 1; low < high;) {
        size_t middle = (low + high) / 2;
        bool bad = judge(model, some, until(end[middle], op, count, some), NULL) == LIN_NOT_LINEARIZABLE;
        if (bad) high = middle;
        else low = middle + 1;
    }
    int64_t first = end[low];
    free(end);
    free(some);
    return first;
}

/* A history that is linearizable stays so without a read. So a read can be left out if the rest is not linearizable
 * either. A write cannot, because a read might then have a value that no operation has written. A write whose result is
 * not known can be left out if as many other operations are placed without it. */
static size_t leave_out(const struct lin_model *model, struct lin_op *op, size_t count)
{
    size_t least, without;
    (void)judge(model, op, count, &least);
    for (size_t i = count; i-- > 0;) {
        struct lin_op out = op[i];
        bool is_read = model->is_read(&out);
        if (!is_read && out.status == LIN_OK) continue;
        memmove(&op[i], &op[i + 1], (count - i - 1) * sizeof *op);
        if (judge(model, op, count - 1, &without) == LIN_NOT_LINEARIZABLE && (is_read || without <= least)) {
            least = without;
            count--;
            continue;
        }
        memmove(&op[i + 1], &op[i], (count - i - 1) * sizeof *op);
        op[i] = out;
    }
    return count;
}

/* ---- The report ------------------------------------------------------------------------------------------------ */

static void show(FILE *report, const struct lin_model *model, const struct lin_op *op)
{
    char text[LIN_TEXT], end[40] = "?";
    model->describe(text, op);
    if (op->status != LIN_UNKNOWN) snprintf(end, sizeof end, "%.9f", (double)op->end / 1e9);
    fprintf(report, "  %16.9f - %-16s  %u: %s%s\n", (double)op->begin / 1e9, end, op->who, text,
            op->status == LIN_UNKNOWN ? ", result not known" : "");
}

static void show_all(FILE *report, const struct lin_model *model, const struct lin_op *op, size_t count)
{
    struct search s;
    char state[LIN_TEXT];
    (void)begin_search(&s, model, op, count);
    size_t placed = 0, skipped = 0;
    for (size_t i = 0; i < count; i++) placed += is_placed(s.furthest, i);
    model->describe_state(state, s.furthest + s.bits);
    fprintf(report, "not linearizable: key %llx\n", (unsigned long long)(count > 0 ? op[0].key : 0));
    for (size_t i = 0; i < count; i++) {
        if (!is_placed(s.furthest, i)) continue;
        if (skipped + SHOWN_BEFORE < placed) skipped++;
        else show(report, model, &op[i]);
    }
    fprintf(report, "These%s can be put into an order that leads to: %s. Then none of these can be next:\n",
            skipped > 0 ? ", and those before," : "", state);
    for (size_t i = 0; i < count; i++)
        if (!is_placed(s.furthest, i)) show(report, model, &op[i]);
    end_search(&s);
}

/* `op` are those of one key. */
static void explain(FILE *report, const struct lin_model *model, const struct lin_op *op, size_t count)
{
    struct lin_op *some = allocate(count, sizeof *some);
    size_t n = until(first_bad(model, op, count), op, count, some);
    n = leave_out(model, some, n);
    show_all(report, model, some, n);
    free(some);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static int by_key_and_begin(const void *a, const void *b)
{
    const struct lin_op *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

enum lin_verdict lin_check(const struct lin_history *h, const struct lin_model *model, FILE *report)
{
    struct lin_op *op = allocate(h->count, sizeof *op);
    enum lin_verdict verdict = LIN_LINEARIZABLE;
    size_t count = 0;
    if (model->state_size > LIN_STATE_MAX) abort();
    for (size_t i = 0; i < h->count; i++) {
        bool says_nothing = h->op[i].status == LIN_UNKNOWN && model->is_read(&h->op[i]);
        if (h->op[i].status != LIN_FAIL && !says_nothing) op[count++] = h->op[i];
    }
    qsort(op, count, sizeof *op, by_key_and_begin);
    for (size_t from = 0, to; from < count && verdict == LIN_LINEARIZABLE; from = to) {
        for (to = from; to < count && op[to].key == op[from].key;) to++;
        verdict = judge(model, op + from, to - from, NULL);
        if (verdict == LIN_NOT_LINEARIZABLE && report != NULL) explain(report, model, op + from, to - from);
        if (verdict == LIN_NOT_DECIDED && report != NULL)
            fprintf(report, "key %llx: %zu operations take more than %d steps\n", (unsigned long long)op[from].key,
                    to - from, STEPS_MAX);
    }
    free(op);
    return verdict;
}
