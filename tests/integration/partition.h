/* Nodes in one process that reach each other through a proxy, so that a test can cut and heal the path between any
 * two of them. The proxy replaces the URLs that nodes announce by its own. */
#ifndef PARTITION_H
#define PARTITION_H

#include "loopback.h"
#include "transport_harness.h"

#include "base.h"

#include <pthread.h>

enum { NODES_MAX = 8, PAIRS_MAX = 64 };

struct way { /* one connection: in from the dialing node, out to the one that listens */
    int in, out;
    int from, to; /* from: -1 until its HELLO was seen */
    size_t seen;
    char head[512];
};

static struct net {
    pthread_mutex_t lock;
    pthread_t thread;
    int wake[2];
    bool over;
    int listener[NODES_MAX];
    char url[NODES_MAX][64], real[NODES_MAX][64];
    weft_node *node[NODES_MAX];
    bool cut[NODES_MAX][NODES_MAX];
    struct way way[PAIRS_MAX];
    int ways;
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void way_close(int i)
{
    close(net.way[i].in);
    close(net.way[i].out);
    net.way[i] = net.way[--net.ways];
}

/* Finds the dialling node: its name is the first text "nodeX" in its HELLO. */
static void look_at_head(struct way *w, const char *data, size_t size)
{
    size_t part = WF_MIN(size, sizeof w->head - w->seen);
    memcpy(w->head + w->seen, data, part);
    w->seen += part;
    for (size_t i = 0; i + 5 <= w->seen && w->from < 0; i++)
        if (memcmp(w->head + i, "node", 4) == 0) w->from = w->head[i + 4] - 'a';
}

/* Both ports have five digits. */
static void rewrite_urls(char *data, size_t size)
{
    for (int i = 0; i < NODES_MAX; i++) {
        size_t length = strlen(net.real[i]);
        char *at = data;
        while (length > 0 && (at = memmem(at, size - (size_t)(at - data), net.real[i], length)) != NULL)
            memcpy(at, net.url[i], length);
    }
}

/* False: the way is over. */
static bool carry(struct way *w, int from, int to)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof data);
    if (n <= 0) return false;
    if (from == w->in && w->from < 0) look_at_head(w, data, (size_t)n);
    if (w->from >= 0 && net.cut[w->from][w->to]) return false;
    rewrite_urls(data, (size_t)n);
    return loopback_write(to, data, (size_t)n);
}

static void take_connection(int to)
{
    int in = socket_accept(net.listener[to]), out = in < 0 ? -1 : loopback_connect(loopback_port(net.real[to]));
    if (out < 0 || net.ways == PAIRS_MAX) {
        if (in >= 0) close(in);
        if (out >= 0) close(out);
        return;
    }
    int on = 1;
    setsockopt(in, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    net.way[net.ways++] = (struct way){.in = in, .out = out, .from = -1, .to = to};
}

static void *run_proxy(void *arg)
{
    (void)arg;
    for (;;) {
        int fds[1 + NODES_MAX + 2 * PAIRS_MAX];
        bool ready[1 + NODES_MAX + 2 * PAIRS_MAX];
        int count = 0;
        pthread_mutex_lock(&net.lock);
        int ways = net.ways;
        fds[count++] = net.wake[0];
        for (int i = 0; i < NODES_MAX; i++) fds[count++] = net.listener[i];
        for (int i = 0; i < ways; i++) {
            fds[count++] = net.way[i].in;
            fds[count++] = net.way[i].out;
        }
        pthread_mutex_unlock(&net.lock);
        await_sockets(fds, ready, count);
        pthread_mutex_lock(&net.lock);
        char byte[64];
        if (ready[0] && read(net.wake[0], byte, sizeof byte) < 0) abort();
        if (net.over) break;
        for (int i = ways - 1; i >= 0; i--) {
            struct way *w = &net.way[i];
            const bool *both = &ready[1 + NODES_MAX + 2 * i];
            bool on = w->from < 0 || !net.cut[w->from][w->to];
            if (on && both[0]) on = carry(w, w->in, w->out);
            if (on && both[1]) on = carry(w, w->out, w->in);
            if (!on) way_close(i);
        }
        for (int i = 0; i < NODES_MAX; i++)
            if (net.listener[i] >= 0 && ready[1 + i]) take_connection(i);
        pthread_mutex_unlock(&net.lock);
    }
    pthread_mutex_unlock(&net.lock);
    return NULL;
}

static void nudge_proxy(void)
{
    ck_assert_int_eq(write(net.wake[1], "", 1), 1);
}

static void net_open(void)
{
    forget_all();
    for (int i = 0; i < NODES_MAX; i++) net.listener[i] = -1;
    memset(net.cut, 0, sizeof net.cut);
    memset(net.node, 0, sizeof net.node);
    memset(net.real, 0, sizeof net.real);
    net.ways = 0;
    net.over = false;
    ck_assert_int_eq(pipe(net.wake), 0);
    ck_assert_int_eq(pthread_create(&net.thread, NULL, run_proxy, NULL), 0);
}

/* Ends all nodes that still run, then the proxy. */
static void net_close(void)
{
    for (int i = 0; i < NODES_MAX; i++)
        if (net.node[i] != NULL) node_down(net.node[i]);
    pthread_mutex_lock(&net.lock);
    net.over = true;
    pthread_mutex_unlock(&net.lock);
    nudge_proxy();
    pthread_join(net.thread, NULL);
    while (net.ways > 0) way_close(0);
    for (int i = 0; i < NODES_MAX; i++)
        if (net.listener[i] >= 0) close(net.listener[i]);
    close(net.wake[0]);
    close(net.wake[1]);
}

/* Node "nodea" is number 0, and so on; each joins the first one. Comes back when it is there, linked or not. */
static weft_node *net_node_with(int i, weft_node_options o)
{
    char name[8] = {'n', 'o', 'd', 'e', (char)('a' + i)};
    const char *listen = "tcp://127.0.0.1:0";
    const char *seeds[] = {net.url[0], net.url[1], net.url[2]};
    weft_node *n = NULL;
    o.name = name;
    o.workers = 2;
    o.heartbeat = WEFT_MS(500);
    o.resume_window = WEFT_SEC(1);
    o.carrier = next_carrier();
    o.listen = &listen;
    o.listen_count = 1;
    o.join = seeds;
    o.join_count = (size_t)WF_MIN(i, 3);
    pthread_mutex_lock(&net.lock); /* nothing passes before the proxy knows its URL */
    int rc = weft_node_start(&n, &o);
    if (rc == WEFT_OK) snprintf(net.real[i], sizeof net.real[i], "%s", weft_node_url(n, 0));
    if (net.listener[i] < 0) net.listener[i] = loopback_listen(net.url[i]);
    net.node[i] = n;
    pthread_mutex_unlock(&net.lock);
    ck_assert_int_eq(rc, WEFT_OK);
    ck_assert_uint_eq(strlen(net.real[i]), strlen(net.url[i]));
    nudge_proxy();
    watch(n);
    return n;
}

static inline weft_node *net_node(int i)
{
    return net_node_with(i, (weft_node_options){0});
}

/* Cuts or heals the way between two nodes. */
static void net_cut(int a, int b, bool cut)
{
    pthread_mutex_lock(&net.lock);
    net.cut[a][b] = net.cut[b][a] = cut;
    pthread_mutex_unlock(&net.lock);
    nudge_proxy();
}

#endif
