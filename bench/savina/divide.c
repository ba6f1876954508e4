/* bench/savina/divide.c -- divide and conquer: an actor for each part. */
#include "savina.h"

enum { RESULT = 1 };

/* ---- quicksort: the parts are sent, and come back sorted ------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* A message that holds the numbers of `from` that are smaller than (-1), equal to (0), larger than (1) the pivot. */
static weft_msg *part_of(const long *from, size_t count, long pivot, int which)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += (from[i] > pivot) - (from[i] < pivot) == which;
    weft_msg *m = weft_msg_new(RESULT, found * sizeof(long));
    if (m == NULL) fail("out of memory");
    long *out = weft_msg_body(m);
    for (size_t i = 0; i < count; i++)
        if ((from[i] > pivot) - (from[i] < pivot) == which) *out++ = from[i];
    return m;
}

static void sorter(const void *parent, size_t size);

/* Sorts what the message holds and gives a message with the sorted numbers. */
static weft_msg *sorted(weft_msg *given)
{
    size_t count = weft_size(given) / sizeof(long), filled = 0;
    const long *in = weft_data(given);
    weft_msg *out;
    if (count <= (size_t)savina.b || count < 2) {
        out = weft_msg_new(RESULT, weft_size(given));
        if (out == NULL) fail("out of memory");
        if (count > 0) memcpy(weft_msg_body(out), in, weft_size(given));
        qsort(weft_msg_body(out), count, sizeof(long), by_value);
        weft_msg_free(given);
        return out;
    }
    long pivot = in[count / 2];
    weft_pid self = weft_self(), low = fork_actor("sorter", sorter, &self, sizeof self),
             high = fork_actor("sorter", sorter, &self, sizeof self);
    must(weft_send_msg(low, part_of(in, count, pivot, -1)), "part");
    must(weft_send_msg(high, part_of(in, count, pivot, 1)), "part");
    weft_msg *parts[3] = {NULL, part_of(in, count, pivot, 0), NULL};
    weft_msg_free(given);
    for (int i = 0; i < 2; i++) {
        weft_msg *m = receive();
        parts[weft_pid_equal(weft_from(m), low) ? 0 : 2] = m;
    }
    out = weft_msg_new(RESULT, count * sizeof(long));
    if (out == NULL) fail("out of memory");
    for (int i = 0; i < 3; i++) {
        const void *from = i == 1 ? weft_msg_body(parts[i]) : weft_data(parts[i]);
        size_t bytes = weft_size(parts[i]);
        if (bytes > 0) memcpy((char *)weft_msg_body(out) + filled, from, bytes);
        filled += bytes;
        weft_msg_free(parts[i]);
    }
    check(filled == count * sizeof(long), "quicksort: numbers were lost");
    return out;
}

static void sorter(const void *parent, size_t size)
{
    weft_pid to;
    (void)size;
    memcpy(&to, parent, sizeof to);
    must(weft_send_msg(to, sorted(receive())), "sorted");
}

long quicksort(void)
{
    weft_msg *m = weft_msg_new(RESULT, (size_t)savina.a * sizeof(long));
    check(m != NULL, "quicksort: out of memory");
    long *numbers = weft_msg_body(m), sum = 0;
    uint32_t random = 1729;
    for (long i = 0; i < savina.a; i++) sum += numbers[i] = (long)next_random(&random);
    clock_starts();
    weft_pid self = weft_self(), root = fork_actor("sorter", sorter, &self, sizeof self);
    must(weft_send_msg(root, m), "numbers");
    m = receive();
    clock_ends();
    check(weft_size(m) == (size_t)savina.a * sizeof(long), "quicksort: numbers were lost");
    const long *out = weft_data(m);
    for (long i = 0; i < savina.a; i++) {
        check(i == 0 || out[i - 1] <= out[i], "quicksort: out of order");
        sum -= out[i];
    }
    check(sum == 0, "quicksort: other numbers came back");
    weft_msg_free(m);
    return savina.a;
}

/* ---- N queens: an actor for each board with less than `cutoff` queens ------------------------------------------ */

struct board {
    weft_pid parent;
    uint32_t columns, left, right; /* attacked squares of the next row */
    long row;
};

static long solve(uint32_t columns, uint32_t left, uint32_t right)
{
    uint32_t all = (1u << savina.a) - 1, free_squares = all & ~(columns | left | right);
    long found = columns == all;
    while (free_squares != 0) {
        uint32_t one = free_squares & -free_squares;
        free_squares ^= one;
        found += solve(columns | one, (left | one) << 1, (right | one) >> 1);
    }
    return found;
}

static void queen(const void *given, size_t size)
{
    struct board b;
    (void)size;
    memcpy(&b, given, sizeof b);
    long found[2] = {0, 1}, part[2]; /* solutions, actors */
    if (b.row >= savina.b || b.row == savina.a) {
        found[0] = solve(b.columns, b.left, b.right);
    } else {
        uint32_t free_squares = ((1u << savina.a) - 1) & ~(b.columns | b.left | b.right);
        int children = 0;
        for (; free_squares != 0; free_squares &= free_squares - 1, children++) {
            uint32_t one = free_squares & -free_squares;
            struct board next = {weft_self(), b.columns | one, (b.left | one) << 1, (b.right | one) >> 1, b.row + 1};
            fork_actor("queen", queen, &next, sizeof next);
        }
        for (; children > 0; children--) {
            take(part, sizeof part, NULL);
            found[0] += part[0], found[1] += part[1];
        }
    }
    give(b.parent, RESULT, found, sizeof found);
}

long queens(void)
{
    static const long solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184};
    check(savina.a < (long)(sizeof solutions / sizeof *solutions), "queens: a board of at most 15");
    struct board b = {.parent = weft_self()};
    long found[2];
    fork_actor("queen", queen, &b, sizeof b);
    take(found, sizeof found, NULL);
    check(found[0] == solutions[savina.a], "queens: a wrong number of solutions");
    return found[1];
}

/* ---- recursive matrix multiplication: eight products of quarters ----------------------------------------------- */

struct block {
    weft_pid parent;
    long size, row, column, inner; /* C[row.., column..] += A[row.., inner..] * B[inner.., column..] */
};
static double *A, *B, *C;

static void multiply(const struct block *b)
{
    for (long i = b->row; i < b->row + b->size; i++)
        for (long k = b->inner; k < b->inner + b->size; k++)
            for (long j = b->column; j < b->column + b->size; j++)
                C[i * savina.a + j] += A[i * savina.a + k] * B[k * savina.a + j];
}

/* The two products that go to the same quarter follow each other; four quarters at a time are independent. */
static void multiplier(const void *given, size_t size)
{
    struct block b, part;
    (void)size;
    memcpy(&b, given, sizeof b);
    long actors = 1, sum;
    if (b.size <= savina.b) {
        multiply(&b);
    } else {
        long half = b.size / 2;
        for (int inner = 0; inner < 2; inner++) {
            for (int quarter = 0; quarter < 4; quarter++) {
                part = (struct block){weft_self(), half, b.row + (quarter / 2) * half,
                                      b.column + (quarter % 2) * half, b.inner + inner * half};
                fork_actor("multiplier", multiplier, &part, sizeof part);
            }
            for (int quarter = 0; quarter < 4; quarter++) take(&sum, sizeof sum, NULL), actors += sum;
        }
    }
    give(b.parent, RESULT, &actors, sizeof actors);
}

long matrix(void)
{
    long n = savina.a, actors;
    check((n & (n - 1)) == 0, "matrix: its size is a power of two");
    A = grab((size_t)(n * n), sizeof *A);
    B = grab((size_t)(n * n), sizeof *B);
    C = grab((size_t)(n * n), sizeof *C);
    for (long i = 0; i < n * n; i++) A[i] = (double)(i / n), B[i] = (double)(i % n + 1);
    struct block b = {weft_self(), n, 0, 0, 0};
    fork_actor("multiplier", multiplier, &b, sizeof b);
    take(&actors, sizeof actors, NULL);
    clock_ends();
    for (long i = 0; i < n * n; i++) check(C[i] == (double)(n * (i / n) * (i % n + 1)), "matrix: a wrong product");
    free(A), free(B), free(C);
    return actors;
}

/* ---- unbalanced cobwebbed tree: each node has as many children as its own hash says ---------------------------- */

struct tree_node {
    weft_pid parent;
    uint64_t hash;
    long budget; /* nodes of this subtree, itself included */
};

static uint64_t hashed(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 29;
}

static void tree_actor(const void *given, size_t size)
{
    struct tree_node me, child;
    (void)size;
    memcpy(&me, given, sizeof me);
    long nodes = 1, left = me.budget - 1, children = 0, part;
    while (left > 0) {
        uint64_t hash = hashed(me.hash + (uint64_t)children + 1);
        long share = hash % 4 == 0 ? left : 1 + (long)(hash >> 8) % left;
        child = (struct tree_node){weft_self(), hash, share};
        fork_actor("node", tree_actor, &child, sizeof child);
        left -= share;
        children++;
    }
    for (; children > 0; children--) take(&part, sizeof part, NULL), nodes += part;
    give(me.parent, RESULT, &nodes, sizeof nodes);
}

long cobwebbed_tree(void)
{
    struct tree_node root = {weft_self(), 7, savina.a};
    long nodes;
    fork_actor("node", tree_actor, &root, sizeof root);
    take(&nodes, sizeof nodes, NULL);
    check(nodes == savina.a, "tree: nodes are missing");
    return nodes;
}
