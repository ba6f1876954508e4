/* Measures when a node knows all others, their names, groups and topics. For tests/faults/nodes.py:
 *     weft run faults_converge.so --name nI ... -- FILE NODES I
 * It writes the times to FILE, which is mapped. */
#include "shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MEMBERS, NAMES, GROUP, TOPIC, KINDS, NODES = 64 };

static int nodes;
static bool up[NODES];

static void hear(void)
{
    weft_msg *m;
    for (; weft_recv(&m, WEFT_NOW) == WEFT_OK; weft_msg_free(m)) {
        struct weft_node_news news;
        if (weft_tag(m) != WEFT_TAG_NODE_UP || weft_node_news_read(m, &news) < 0) continue;
        int i = news.name[0] == 'n' ? atoi(news.name + 1) : NODES;
        if (i < NODES) up[i] = true;
    }
}

static int count_up(void)
{
    int n = 1;
    for (int i = 0; i < NODES; i++) n += up[i];
    return n;
}

static int count_names(void)
{
    int n = 0;
    for (int i = 0; i < nodes; i++) {
        weft_pid pid;
        char name[16];
        snprintf(name, sizeof name, "name-%d", i);
        n += weft_whereis(name, &pid) == WEFT_OK;
    }
    return n;
}

/* Returns the machine's clock, and not weft's, because the test is another process. */
static int64_t machine_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return WEFT_SEC(t.tv_sec) + t.tv_nsec;
}

static void first(const void *arg, size_t size)
{
    (void)size;
    const struct weft_args *a = arg;
    weft_require(a->argc == 4);
    char name[16];
    weft_pid members[NODES];
    _Atomic int64_t *at = map_shared(a->argv[1], 4096);
    nodes = atoi(a->argv[2]);
    weft_require(nodes <= NODES);
    snprintf(name, sizeof name, "name-%s", a->argv[3]);
    weft_require(weft_watch_nodes() == WEFT_OK && weft_register_global(name) == WEFT_OK);
    weft_require(weft_group_join("all") == WEFT_OK && weft_subscribe("news.>", NULL) == WEFT_OK);
    for (int left = KINDS; left > 0;) {
        if (weft_sleep(weft_after(WEFT_MS(10))) < 0) return;
        hear();
        for (int kind = 0; kind < KINDS; kind++) {
            if (atomic_load_explicit(&at[kind], memory_order_relaxed) != 0) continue;
            int n = kind == MEMBERS ? count_up()
                    : kind == NAMES ? count_names()
                    : kind == GROUP ? weft_group_members("all", members, NODES)
                                    : weft_publish("news.one", 1, NULL, 0);
            if (n < nodes) continue;
            atomic_store_explicit(&at[kind], machine_now(), memory_order_relaxed);
            left--;
        }
    }
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

WEFT_MODULE(first)
