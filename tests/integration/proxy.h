/* A TCP proxy in the test's own process that breaks connections in the ways in which a network does. */
#ifndef PROXY_H
#define PROXY_H

#include "loopback.h"

#include <pthread.h>
#include <stdint.h>

enum { PAIRS = 64 };

/* A pair of connections and its faults. Index 0 is the dialling side, index 1 goes to the target. */
struct pair {
    int fd[2];
    bool eof[2];     /* that side has sent its last byte */
    bool hung;       /* nothing is read or written any more, and no side is told */
    bool deaf[2];    /* bytes from that side are thrown away */
    bool gentle;     /* when it is cut, what was passed on still arrives */
    uint64_t passed; /* bytes */
    uint64_t cut_at; /* 0: never */
};

struct proxy {
    int listener, wake[2];
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock; /* of all below, held by the thread but in poll */
    struct pair pair[PAIRS];
    int target;                  /* port */
    bool closed, ended;          /* takes no connections: closes them at once; the thread ends */
    uint64_t upward, upward_max; /* bytes that came from dialling sides; so many are passed on, 0: all */
    uint64_t cut_every; /* each connection is cut after up to so many bytes, 0: never; each second one gently:
                                  * a reset takes from a node what it has not read yet, and a node that is slower than
                                  * the resets gets no further */
    uint64_t seed, cuts, taken;
};

static uint64_t proxy_random(struct proxy *p)
{
    p->seed ^= p->seed << 13, p->seed ^= p->seed >> 7, p->seed ^= p->seed << 17;
    return p->seed;
}

static void proxy_close(struct pair *k)
{
    for (int i = 0; i < 2; i++) {
        if (k->fd[i] >= 0) close(k->fd[i]);
        k->fd[i] = -1;
    }
}

static void proxy_accept(struct proxy *p)
{
    int in = socket_accept(p->listener);
    if (in < 0) return;
    struct pair *k = NULL;
    for (int i = 0; i < PAIRS && k == NULL; i++)
        if (p->pair[i].fd[0] < 0 && p->pair[i].fd[1] < 0) k = &p->pair[i];
    if (p->closed || k == NULL) {
        close(in);
        return;
    }
    int out = loopback_connect(p->target);
    if (out < 0) {
        close(in);
        return;
    }
    *k = (struct pair){.fd = {in, out}};
    if (p->cut_every > 0) k->cut_at = 1 + proxy_random(p) % p->cut_every;
    k->gentle = p->taken++ % 2 == 1;
}

/* The connection has passed on as much as it may. */
static void proxy_cut_pair(struct proxy *p, struct pair *k)
{
    p->cuts++;
    k->cut_at = 0;
    if (!k->gentle) {
        proxy_close(k);
        return;
    }
    for (int i = 0; i < 2; i++) {
        k->deaf[i] = true;
        shutdown(k->fd[i], SHUT_WR);
    }
}

/* Passes on what has come from side `i`. */
static void proxy_pass(struct proxy *p, struct pair *k, int i)
{
    char data[65536];
    size_t most = sizeof data;
    if (k->cut_at > 0 && k->cut_at - k->passed < most) most = (size_t)(k->cut_at - k->passed);
    if (i == 0 && p->upward_max > 0 && p->upward_max - p->upward < most) most = (size_t)(p->upward_max - p->upward);
    if (most == 0) return;
    ssize_t n = recv(k->fd[i], data, most, MSG_DONTWAIT);
    if (n == 0) {
        k->eof[i] = true;
        shutdown(k->fd[1 - i], SHUT_WR);
        if (k->eof[1 - i]) proxy_close(k);
        return;
    }
    if (n < 0) {
        proxy_close(k);
        return;
    }
    if (!k->deaf[i] && !loopback_write(k->fd[1 - i], data, (size_t)n)) {
        proxy_close(k);
        return;
    }
    k->passed += (uint64_t)n;
    if (i == 0) p->upward += (uint64_t)n;
    if (k->cut_at > 0 && k->passed >= k->cut_at) proxy_cut_pair(p, k);
}

static void *proxy_main(void *arg)
{
    struct proxy *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->ended) {
        int fds[2 * PAIRS + 2];
        bool ready[2 * PAIRS + 2];
        fds[2 * PAIRS] = p->wake[0], fds[2 * PAIRS + 1] = p->listener;
        for (int i = 0; i < 2 * PAIRS; i++) {
            const struct pair *k = &p->pair[i / 2];
            bool held = i % 2 == 0 && p->upward_max > 0 && p->upward >= p->upward_max;
            fds[i] = k->hung || k->eof[i % 2] || held ? -1 : k->fd[i % 2];
        }
        pthread_mutex_unlock(&p->lock);
        await_sockets(fds, ready, 2 * PAIRS + 2);
        pthread_mutex_lock(&p->lock);
        char byte[64];
        if (ready[2 * PAIRS] && read(p->wake[0], byte, sizeof byte) < 0) break;
        for (int i = 0; i < 2 * PAIRS; i++)
            if (ready[i] && p->pair[i / 2].fd[i % 2] == fds[i] && !p->pair[i / 2].hung)
                proxy_pass(p, &p->pair[i / 2], i % 2);
        if (ready[2 * PAIRS + 1]) proxy_accept(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void proxy_wake(struct proxy *p)
{
    ck_assert_int_eq(write(p->wake[1], "x", 1), 1);
}

static void proxy_start(struct proxy *p, const char *target, uint64_t seed)
{
    *p = (struct proxy){.target = loopback_port(target), .seed = seed};
    for (int i = 0; i < PAIRS; i++) p->pair[i].fd[0] = p->pair[i].fd[1] = -1;
    p->listener = loopback_listen(p->url);
    /* A connection may be gone before it is accepted, and then the thread would wait while it has the lock. */
    socket_never_waits(p->listener);
    ck_assert_int_eq(pipe(p->wake), 0);
    pthread_mutex_init(&p->lock, NULL);
    ck_assert_int_eq(pthread_create(&p->thread, NULL, proxy_main, p), 0);
}

static void proxy_end(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_mutex_unlock(&p->lock);
    proxy_wake(p);
    pthread_join(p->thread, NULL);
    for (int i = 0; i < PAIRS; i++) proxy_close(&p->pair[i]);
    close(p->listener), close(p->wake[0]), close(p->wake[1]);
    pthread_mutex_destroy(&p->lock);
}

enum proxy_fault {
    PROXY_CUT,       /* both connections are closed */
    PROXY_HANG,      /* they stay and carry nothing any more */
    PROXY_DEAF_UP,   /* what the dialling side sends is lost, the other way is fine */
    PROXY_DEAF_DOWN, /* the reverse */
    PROXY_HALF_UP,   /* the dialled side is told that the other one has said its last byte */
    PROXY_HALF_DOWN,
};

/* Applies to all present connections; later ones have no fault. */
static void proxy_do(struct proxy *p, enum proxy_fault what)
{
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < PAIRS; i++) {
        struct pair *k = &p->pair[i];
        if (k->fd[0] < 0) continue;
        if (what == PROXY_CUT) proxy_close(k);
        if (what == PROXY_HANG) k->hung = true;
        if (what == PROXY_DEAF_UP || what == PROXY_DEAF_DOWN) k->deaf[what == PROXY_DEAF_DOWN] = true;
        if (what == PROXY_HALF_UP) shutdown(k->fd[1], SHUT_WR);
        if (what == PROXY_HALF_DOWN) shutdown(k->fd[0], SHUT_WR);
    }
    pthread_mutex_unlock(&p->lock);
    proxy_wake(p);
}

/* Takes no connections, or takes them again to `target`. */
__attribute__((unused)) static void proxy_close_to_all(struct proxy *p, bool closed, const char *target)
{
    pthread_mutex_lock(&p->lock);
    p->closed = closed;
    if (target != NULL) p->target = loopback_port(target);
    pthread_mutex_unlock(&p->lock);
}

static void proxy_cut_every(struct proxy *p, uint64_t bytes)
{
    pthread_mutex_lock(&p->lock);
    p->cut_every = bytes;
    pthread_mutex_unlock(&p->lock);
}

/* This many more bytes of dialling sides are passed on (UINT64_MAX: all); further ones stay with their senders. */
__attribute__((unused)) static void proxy_allow(struct proxy *p, uint64_t bytes)
{
    pthread_mutex_lock(&p->lock);
    p->upward_max = bytes == UINT64_MAX ? 0 : p->upward + bytes;
    pthread_mutex_unlock(&p->lock);
    proxy_wake(p);
}

__attribute__((unused)) static uint64_t proxy_taken(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t n = p->taken;
    pthread_mutex_unlock(&p->lock);
    return n;
}

#endif
