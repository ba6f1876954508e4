/* bench/peers/nats_loop.h -- a connection of the NATS client that is driven as by an event loop, without threads of the
 * library. */
#ifndef NATS_LOOP_H
#define NATS_LOOP_H

#include <nats/nats.h>

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { GATHERED = 256 * 1024, PATIENCE_MS = 30 * 1000 };

static void fail(const char *what)
{
    fprintf(stderr, "nats: %s\n", what);
    _exit(1);
}

static void must(natsStatus status, const char *what)
{
    if (status == NATS_OK) return;
    fprintf(stderr, "nats: %s: %s\n", what, natsStatus_GetText(status));
    _exit(1);
}

struct loop {
    natsConnection *nc;
    int fd;
    bool must_write;
};

static natsStatus attach(void **user, void *loop, natsConnection *nc, natsSock fd)
{
    struct loop *l = loop;
    l->nc = nc, l->fd = fd, *user = l;
    return NATS_OK;
}

static natsStatus want_read(void *user, bool add)
{
    (void)user, (void)add;
    return NATS_OK;
}

static natsStatus want_write(void *user, bool add)
{
    ((struct loop *)user)->must_write = add;
    return NATS_OK;
}

static natsStatus detach(void *user)
{
    (void)user;
    return NATS_OK;
}

static void closed(natsConnection *nc, void *unused)
{
    (void)nc, (void)unused;
    fail("the server has closed a connection");
}

#endif
