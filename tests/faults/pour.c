/* Sends 100 MB a second to each of two nodes, for tests/faults/memory_test.py:
 *     weft run faults_pour.so --name r ... -- FILE take
 *     weft run faults_pour.so --name s ... -- FILE pour r o
 * One actor sends to each named node and waits when there is no space; another one tries to send to the first node,
 * and does not wait. Their counts are in FILE, which is mapped. */
#include "shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { STREAMS = 4, SIZE = 65536, PER_PAUSE = 16, TRIER = 2, HELLO = 1, DATA = 2 };
#define PAUSE WEFT_MS(10) /* 16 times 64 KiB in 10 ms */

/* Each is written by one actor; relaxed. memory_test.py knows the order. */
static struct shared {
    _Atomic uint64_t stop; /* by the test: no more is sent */
    struct {
        _Atomic uint64_t sent, refused, received, wrong;
    } stream[STREAMS];
} * shared;

#define ADD(field) atomic_fetch_add_explicit(&(field), 1, memory_order_relaxed)
#define GET(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* ---- Taking ---------------------------------------------------------------------------------------------------- */

static void takes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_require(weft_register("sink") == WEFT_OK);
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) == HELLO) {
            (void)weft_reply(m, HELLO, NULL, 0);
            continue;
        }
        uint64_t head[2] = {STREAMS, 0}; /* the stream, and its number */
        if (weft_size(m) == SIZE) memcpy(head, weft_data(m), sizeof head);
        size_t s = head[0] < STREAMS ? (size_t)head[0] : 0;
        if (head[0] >= STREAMS || head[1] != GET(shared->stream[s].received)) ADD(shared->stream[s].wrong);
        ADD(shared->stream[s].received);
    }
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

struct stream {
    uint64_t number;
    char node[16];
};

static weft_pid find(const char *node)
{
    char name[32];
    weft_msg *m = NULL;
    snprintf(name, sizeof name, "sink@%s", node);
    while (weft_call_name(name, HELLO, NULL, 0, &m, weft_after(WEFT_SEC(60))) != WEFT_OK)
        if (weft_sleep(weft_after(PAUSE)) < 0) return weft_nobody();
    weft_pid p = weft_from(m);
    weft_msg_free(m);
    return p;
}

static void pours(const void *arg, size_t size)
{
    struct stream s;
    static _Thread_local uint8_t body[SIZE];
    memcpy(&s, arg, size);
    weft_pid to = find(s.node);
    uint64_t head[2] = {s.number, 0};
    while (weft_sleep(weft_after(PAUSE)) == WEFT_OK && GET(shared->stop) == 0) {
        for (int i = 0; i < PER_PAUSE; i++) {
            memcpy(body, head, sizeof head);
            bool tries = s.number == TRIER;
            int rc = tries ? weft_try_send(to, DATA, body, SIZE) : weft_send(to, DATA, body, SIZE);
            if (rc == WEFT_OK) head[1]++, ADD(shared->stream[s.number].sent);
            else ADD(shared->stream[s.number].refused);
            if (rc != WEFT_OK) break;
        }
    }
}

static void first(const void *arg, size_t size)
{
    (void)size;
    const struct weft_args *a = arg;
    weft_require(a->argc >= 3);
    shared = map_shared(a->argv[1], sizeof *shared);
    weft_spawn_options never_suspends = {.policy = WEFT_FULL_FAIL}; /* so that the link's bound is what holds */
    if (a->argc == 3) weft_require(weft_spawn(NULL, takes, NULL, 0, &never_suspends) == WEFT_OK);
    for (int i = 3; i < a->argc + (a->argc > 3); i++) {
        struct stream s = {.number = (uint64_t)(i - 3)};
        snprintf(s.node, sizeof s.node, "%s", a->argv[i < a->argc ? i : 3]);
        weft_require(weft_spawn(NULL, pours, &s, sizeof s, NULL) == WEFT_OK);
    }
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

WEFT_MODULE(first)
