/* Sends numbered messages between all nodes, for tests/faults/run.py:
 *     weft run faults_traffic.so --name nI ... -- FILE NODES I RUN COUNT BURST PAUSE_MS
 * Node nI sends COUNT messages to each other node nJ, BURST of them at once, and checks the messages that it
 * receives; the test can pause the sending. A node that is restarted has the next RUN, and begins again. A node keeps
 * its counts in FILE, which is mapped, so they survive if the process is killed. */
#include "shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NODES = 8, RUNS = 256, HELLO = 1, DATA = 2 };

/* Counts of one run of another node; counts of sending are in that of its first run. run.py knows the order. One
 * actor writes each count and another process reads it: relaxed. */
struct counts {
    _Atomic uint64_t sent;     /* that weft_send has taken */
    _Atomic uint64_t received; /* each number once */
    _Atomic uint64_t doubled, reordered, wrong;
    _Atomic uint64_t next;   /* the number that comes next */
    _Atomic uint64_t downs;  /* news of that node */
    _Atomic uint64_t bad_at; /* CLOCK_MONOTONIC of the first bad news since the test made it 0 */
    _Atomic uint64_t pause;  /* of this node itself: the test wants it to send nothing */
};

struct body {
    uint32_t number, from, run, check;
};

static struct counts (*counts)[RUNS]; /* of each node, of each of its runs */
static int nodes, self, run;
static uint32_t count, burst;
static int64_t pause_time;

#define ADD(field, n) atomic_fetch_add_explicit(&(field), (n), memory_order_relaxed)
#define SET(field, n) atomic_store_explicit(&(field), (n), memory_order_relaxed)
#define GET(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* Returns what Python's time.monotonic() returns; weft's clock has another beginning. */
static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t check_of(const struct body *b, int to)
{
    return (b->number * 2654435761u) ^ b->from << 8 ^ b->run ^ (uint32_t)to << 16;
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

struct from {
    int node;
    uint32_t run;
    bool met;
    uint8_t *seen; /* a bit for each number */
};

static void take(struct from *f, const weft_msg *m)
{
    struct body b = {0};
    struct counts *c = &counts[f->node][f->run];
    if (weft_size(m) == sizeof b) memcpy(&b, weft_data(m), sizeof b);
    if (b.check != check_of(&b, self) || (int)b.from != f->node || b.run != f->run || b.number >= count) {
        ADD(c->wrong, 1);
        weft_log(WEFT_ERROR, "wrong: number %u of run %u of n%u, and not %llu of run %u of n%d", b.number, b.run,
                 b.from, (unsigned long long)GET(c->next), f->run, f->node);
        return;
    }
    uint64_t next = GET(c->next);
    uint8_t bit = (uint8_t)(1u << b.number % 8);
    if (f->seen[b.number / 8] & bit) {
        ADD(c->doubled, 1);
        return;
    }
    f->seen[b.number / 8] |= bit;
    ADD(c->received, 1);
    if (b.number < next) {
        ADD(c->reordered, 1);
        return;
    }
    SET(c->next, b.number + 1);
}

/* A sender says where it goes on. */
static void greet(struct from *f, const weft_msg *m)
{
    struct body b;
    if (weft_size(m) != sizeof b) return;
    memcpy(&b, weft_data(m), sizeof b);
    if (b.run >= RUNS) return;
    if (!f->met || b.run != f->run) {
        f->met = true;
        f->run = b.run;
        memset(f->seen, 0, count / 8 + 1);
        SET(counts[f->node][f->run].next, b.number);
    }
    (void)weft_reply(m, HELLO, NULL, 0);
}

static void receiver(const void *arg, size_t size)
{
    struct from f = {.seen = calloc(1, count / 8 + 1)};
    char name[16];
    memcpy(&f.node, arg, size);
    snprintf(name, sizeof name, "from-n%d", f.node);
    weft_require(f.seen != NULL && weft_register(name) == WEFT_OK);
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) == DATA) take(&f, m);
        else if (weft_tag(m) == HELLO) greet(&f, m);
    }
    free(f.seen);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void hear(int to, bool *lost)
{
    struct weft_node_news news;
    char name[16];
    weft_msg *m;
    snprintf(name, sizeof name, "n%d", to);
    for (; weft_recv(&m, WEFT_NOW) == WEFT_OK; weft_msg_free(m)) {
        if (weft_node_news_read(m, &news) < 0 || strcmp(news.name, name) != 0) continue;
        *lost |= weft_tag(m) != WEFT_TAG_NODE_SUSPECT;
    }
}

/* Whether the receiver is there and knows which number comes next. From then on messages go to itself: a send by name
 * that waits for space while the node ends may reach the next one of that name, which knows of nothing. */
static bool meet(const char *name, const struct body *b, weft_pid *receiver)
{
    weft_msg *answer = NULL;
    int rc = weft_call_name(name, HELLO, b, sizeof *b, &answer, weft_after(WEFT_SEC(60)));
    if (rc == WEFT_OK) *receiver = weft_from(answer);
    weft_msg_free(answer);
    return rc == WEFT_OK;
}

static void sender(const void *arg, size_t size)
{
    int to;
    memcpy(&to, arg, size);
    char name[32];
    snprintf(name, sizeof name, "from-n%d@n%d", self, to);
    weft_watch_nodes();
    struct body b = {.from = (uint32_t)self, .run = (uint32_t)run};
    bool lost = true; /* or not found yet */
    weft_pid receiver = {0};
    for (;;) {
        if (weft_sleep(weft_after(pause_time)) < 0) return;
        hear(to, &lost);
        if (b.number >= count || GET(counts[self][0].pause)) continue;
        if (lost) lost = !meet(name, &b, &receiver);
        for (uint32_t i = 0; !lost && i < burst && b.number < count; i++) {
            b.check = check_of(&b, to);
            int rc = weft_send(receiver, DATA, &b, sizeof b);
            if (rc == WEFT_ECANCELED) return;
            if (rc == WEFT_OK) SET(counts[to][0].sent, ++b.number);
            else if (rc != WEFT_EFULL) lost = true;
        }
    }
}

/* ---- News ------------------------------------------------------------------------------------------------------ */

static void watcher(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_watch_nodes();
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        struct weft_node_news news;
        int i = weft_node_news_read(m, &news) == WEFT_OK && news.name[0] == 'n' ? atoi(news.name + 1) : nodes;
        if (i >= nodes) continue;
        struct counts *c = &counts[i][0];
        if (weft_tag(m) == WEFT_TAG_NODE_DOWN) ADD(c->downs, 1);
        if (weft_tag(m) != WEFT_TAG_NODE_UP && GET(c->bad_at) == 0) SET(c->bad_at, monotonic());
    }
}

static void first(const void *arg, size_t size)
{
    (void)size;
    const struct weft_args *a = arg;
    weft_require(a->argc == 8);
    nodes = atoi(a->argv[2]), self = atoi(a->argv[3]), run = atoi(a->argv[4]);
    count = (uint32_t)atoi(a->argv[5]), burst = (uint32_t)atoi(a->argv[6]), pause_time = WEFT_MS(atoi(a->argv[7]));
    weft_require(nodes <= NODES && run < RUNS);
    counts = map_shared(a->argv[1], NODES * sizeof *counts);
    for (int i = 0; i < nodes; i++)
        if (i != self) weft_require(weft_spawn(NULL, receiver, &i, sizeof i, NULL) == WEFT_OK);
    for (int i = 0; i < nodes; i++)
        if (i != self) weft_require(weft_spawn(NULL, sender, &i, sizeof i, NULL) == WEFT_OK);
    watcher(NULL, 0);
}

WEFT_MODULE(first)
