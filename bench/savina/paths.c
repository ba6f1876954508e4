/* bench/savina/paths.c -- graphs: all-pairs shortest paths in blocks, and A* on a grid. */
#include "savina.h"

enum { ROW = 1, DONE, WORK, STOP };
static const long FAR = 1000000;

/* ---- all-pairs shortest path (Floyd, Warshall): each actor has some rows and sends row k to all in step k ---- */

struct rows {
    weft_pid boss;
    long index;
};
static weft_pid *blocks;
static long block_count;

static long weight(long from, long to)
{
    uint32_t random = (uint32_t)(from * 31 + to * 17 + 3);
    if (from == to) return 0;
    uint32_t r = next_random(&random) % 100;
    return r < 30 ? (long)r + 1 : FAR;
}

static void relax(long *row, const long *through, long k)
{
    for (long j = 0; j < savina.a; j++)
        if (row[k] + through[j] < row[j]) row[j] = row[k] + through[j];
}

/* Row k is wanted in step k, whenever it comes: its number is the message's tag above ROW. */
static void rows_actor(const void *given, size_t size)
{
    struct rows me;
    (void)size;
    memcpy(&me, given, sizeof me);
    long n = savina.a, first = me.index * savina.b, count = n - first < savina.b ? n - first : savina.b;
    size_t bytes = (size_t)n * sizeof(long);
    long *mine = grab((size_t)count, bytes);
    for (long i = 0; i < count; i++)
        for (long j = 0; j < n; j++) mine[i * n + j] = weight(first + i, j);
    signal_from(NULL); /* all blocks are there */
    for (long k = 0; k < n; k++) {
        weft_msg *m = NULL;
        const long *through = &mine[(k - first) * n];
        if (k >= first && k < first + count) {
            for (long b = 0; b < block_count; b++)
                if (b != me.index) give(blocks[b], ROW + 16 + (uint32_t)k, through, bytes);
        } else {
            must(weft_recv_tag(&m, ROW + 16 + (uint32_t)k, WEFT_FOREVER), "row");
            through = weft_data(m);
        }
        for (long i = 0; i < count; i++) relax(&mine[i * n], through, k);
        weft_msg_free(m);
    }
    for (long i = 0; i < count; i++) give(me.boss, 16 + (uint32_t)(first + i), &mine[i * n], bytes);
    free(mine);
}

long shortest_paths(void)
{
    long n = savina.a;
    long *wanted = grab((size_t)(n * n), sizeof *wanted);
    for (long i = 0; i < n * n; i++) wanted[i] = weight(i / n, i % n);
    for (long k = 0; k < n; k++)
        for (long i = 0; i < n; i++) relax(&wanted[i * n], &wanted[k * n], k);
    clock_starts();
    block_count = (n + savina.b - 1) / savina.b;
    blocks = grab((size_t)block_count, sizeof *blocks);
    struct rows r = {weft_self(), 0};
    for (; r.index < block_count; r.index++) blocks[r.index] = start("rows", rows_actor, &r, sizeof r);
    for (long i = 0; i < block_count; i++) tell(blocks[i], WORK);
    for (long i = 0; i < n; i++) {
        weft_msg *m = receive();
        check(weft_size(m) == (size_t)n * sizeof(long), "paths: no row");
        check(memcmp(weft_data(m), &wanted[(weft_tag(m) - 16) * n], weft_size(m)) == 0, "paths: a wrong distance");
        weft_msg_free(m);
    }
    free(wanted), free(blocks);
    return n * (block_count - 1) + n;
}

/* ---- A*: the boss keeps the open cells by estimate, the actors look at the neighbours of the best ones --------- */
/* Cells are expanded again when a shorter way to them is found later, so the answer does not depend on the speed of
 * actors. */

struct cell {
    long at, cost;
};
struct found {
    struct cell cells[4];
    long count;
};

static long toll(long cell)
{
    uint32_t random = (uint32_t)cell * 2654435761u >> 3;
    return 1 + (long)(next_random(&random) % 9);
}

static void neighbours_of(struct cell c, struct found *out)
{
    static const int step[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    out->count = 0;
    for (int i = 0; i < 4; i++) {
        long x = c.at % savina.a + step[i][0], y = c.at / savina.a + step[i][1];
        if (x < 0 || y < 0 || x >= savina.a || y >= savina.a) continue;
        out->cells[out->count++] = (struct cell){y * savina.a + x, c.cost + toll(y * savina.a + x)};
    }
}

static void searcher(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    struct cell c;
    struct found out;
    weft_pid from;
    while (take(&c, sizeof c, &from) == WORK) {
        neighbours_of(c, &out);
        give(from, DONE, &out, sizeof out);
    }
}

/* A binary heap by cost and the least that is left to the far corner. */
struct open {
    struct cell *cells;
    long count, capacity;
};

static long estimate(struct cell c)
{
    return c.cost + (savina.a - 1 - c.at % savina.a) + (savina.a - 1 - c.at / savina.a);
}

static void push(struct open *o, struct cell c)
{
    if (o->count == o->capacity) {
        o->capacity = o->capacity * 2 + 64;
        o->cells = realloc(o->cells, (size_t)o->capacity * sizeof *o->cells);
        if (o->cells == NULL) fail("out of memory");
    }
    long i = o->count++;
    for (; i > 0 && estimate(o->cells[(i - 1) / 2]) > estimate(c); i = (i - 1) / 2)
        o->cells[i] = o->cells[(i - 1) / 2];
    o->cells[i] = c;
}

static struct cell pop(struct open *o)
{
    struct cell best = o->cells[0], last = o->cells[--o->count];
    long i = 0;
    for (long child; (child = 2 * i + 1) < o->count; i = child) {
        if (child + 1 < o->count && estimate(o->cells[child + 1]) < estimate(o->cells[child])) child++;
        if (estimate(o->cells[child]) >= estimate(last)) break;
        o->cells[i] = o->cells[child];
    }
    o->cells[i] = last;
    return best;
}

/* Takes over what is a shorter way than any known, and not longer than the one to the goal. */
static void learn(struct open *o, long *cost, const struct found *f)
{
    long goal = savina.a * savina.a - 1;
    for (long i = 0; i < f->count; i++) {
        struct cell c = f->cells[i];
        if (c.cost >= cost[c.at] || estimate(c) >= cost[goal]) continue;
        cost[c.at] = c.cost;
        if (c.at != goal) push(o, c);
    }
}

static long shortest_alone(void)
{
    long cells = savina.a * savina.a, *cost = grab((size_t)cells, sizeof *cost);
    struct open o = {0};
    struct found f;
    for (long i = 1; i < cells; i++) cost[i] = FAR * FAR;
    push(&o, (struct cell){0, 0});
    while (o.count > 0) {
        struct cell c = pop(&o);
        if (c.cost > cost[c.at]) continue;
        neighbours_of(c, &f);
        learn(&o, cost, &f);
    }
    long answer = cost[cells - 1];
    free(cost), free(o.cells);
    return answer;
}

long a_star(void)
{
    long cells = savina.a * savina.a, *cost = grab((size_t)cells, sizeof *cost), idle = 0, messages = 0;
    weft_pid *waiting = grab((size_t)savina.b, sizeof *waiting), from;
    struct open o = {0};
    struct cell c = {0, 0};
    struct found f;
    for (; idle < savina.b; idle++) waiting[idle] = start("searcher", searcher, NULL, 0);
    for (long i = 1; i < cells; i++) cost[i] = FAR * FAR;
    push(&o, c);
    while (o.count > 0 || idle < savina.b) {
        while (o.count > 0 && idle > 0) {
            c = pop(&o);
            if (c.cost > cost[c.at] || estimate(c) >= cost[cells - 1]) continue;
            give(waiting[--idle], WORK, &c, sizeof c);
            messages += 2;
        }
        if (idle == savina.b) continue;
        take(&f, sizeof f, &from);
        waiting[idle++] = from;
        learn(&o, cost, &f);
    }
    for (long i = 0; i < savina.b; i++) give(waiting[i], STOP, &c, sizeof c);
    clock_ends();
    check(cost[cells - 1] == shortest_alone(), "astar: not the shortest path");
    free(cost), free(waiting), free(o.cells);
    return messages;
}
