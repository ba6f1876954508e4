/* transport/store/postgres/postgres_relay.c -- see postgres_relay.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "postgres_relay.h"

/* Bytes on their way in one direction: those in between have been read, and not written yet. */
struct flow {
    int from, to;
    bool ended; /* nothing comes any more */
    size_t begin, end;
    char bytes[32 * 1024];
};

struct pq_relay {
    int server, libpq; /* our ends */
    struct flow in, out;
};

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/* ---- Sockets ---------------------------------------------------------------------------------------------------- */

static bool prepare_socket(int fd)
{
#ifdef SO_NOSIGPIPE
    if (setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int)) < 0) return false;
#endif
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* libpq keeps the number of its descriptor, which from now on is one end of the pair. */
static bool step_between(struct pq_relay *r, int fd)
{
    int pair[2];
    r->server = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (r->server < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return false;
    r->libpq = pair[0];
    bool fine = prepare_socket(pair[0]) && prepare_socket(pair[1]) && dup2(pair[1], fd) == fd && prepare_socket(fd);
    close(pair[1]);
    return fine;
}

static void close_relay(struct pq_relay *r)
{
    if (r->server >= 0) close(r->server);
    if (r->libpq >= 0) close(r->libpq);
    free(r);
}

struct pq_relay *pq_relay_new(PGconn *pg)
{
    struct pq_relay *r = malloc(sizeof *r);
    if (r == NULL) return NULL;
    r->server = r->libpq = -1;
    bool fine = step_between(r, PQsocket(pg));
    r->in.from = r->out.to = r->server;
    r->in.to = r->out.from = r->libpq;
    r->in.begin = r->in.end = r->out.begin = r->out.end = 0;
    r->in.ended = r->out.ended = false;
    if (fine) return r;
    close_relay(r);
    return NULL;
}

void pq_relay_free(struct pq_relay *r)
{
    if (r == NULL) return;
    pq_relay_send(r);
    close_relay(r);
}

/* ---- Passing on ------------------------------------------------------------------------------------------------- */

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

static bool is_empty(const struct flow *f)
{
    return f->begin == f->end;
}

/* Whether something has come. The end is passed on, too. */
static bool fill(struct flow *f, size_t *space)
{
    ssize_t got;
    if (f->ended || *space == 0) return false;
    do got = recv(f->from, f->bytes, *space < sizeof f->bytes ? *space : sizeof f->bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && would_block()) return false;
    f->ended = got <= 0;
    if (f->ended) {
        (void)shutdown(f->to, SHUT_WR);
        return false;
    }
    f->begin = 0;
    f->end = (size_t)got;
    *space -= (size_t)got;
    return true;
}

/* Whether all was written. What nobody takes any more is dropped: the end comes in the other direction. */
static bool drain(struct flow *f)
{
    while (!is_empty(f)) {
        ssize_t put = send(f->to, f->bytes + f->begin, f->end - f->begin, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && would_block()) return false;
        f->begin = put < 0 ? f->end : f->begin + (size_t)put;
    }
    return true;
}

/* Returns whether libpq, or the server, has something to take. */
static bool pass_on(struct flow *f, size_t *space)
{
    bool any = !is_empty(f);
    while (drain(f) && fill(f, space)) any = true;
    return any || f->ended;
}

void pq_relay_send(struct pq_relay *r)
{
    size_t no_limit = SIZE_MAX;
    (void)pass_on(&r->out, &no_limit);
}

void pq_relay_take(struct pq_relay *r, size_t *space)
{
    (void)pass_on(&r->in, space);
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */

/* A record of TLS may be longer than the space that libpq has for it: no descriptor shows that there is more. */
static bool consume(PGconn *pg)
{
    return PQconsumeInput(pg) != 0 && (PQsslInUse(pg) == 0 || PQisBusy(pg) == 0 || PQconsumeInput(pg) != 0);
}

static struct pollfd wait_for(int fd, bool in, bool out)
{
    return (struct pollfd){.fd = in || out ? fd : -1, .events = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0))};
}

/* The error of a call that fails is in the result that comes next. */
enum pq_waited pq_relay_wait(struct pq_relay *r, PGconn *pg, int silence, size_t *space)
{
    for (;;) {
        bool unsent = PQflush(pg) > 0;
        pq_relay_send(r);
        if (pass_on(&r->in, space) && !consume(pg)) return PQ_CAME;
        if (PQisBusy(pg) == 0 || PQsocket(pg) < 0) return PQ_CAME;
        struct pollfd on[] = {wait_for(r->server, is_empty(&r->in) && !r->in.ended, !is_empty(&r->out)),
                              wait_for(r->libpq, is_empty(&r->out) && !r->out.ended, !is_empty(&r->in)),
                              wait_for(PQsocket(pg), true, unsent)};
        int ready = poll(on, 3, silence);
        if (ready == 0) return PQ_SILENT;
        if (ready > 0 && *space == 0 && (on[0].revents & POLLIN) != 0) return PQ_TOO_MUCH;
        if (ready > 0 && (on[2].revents & ~POLLOUT) != 0 && !consume(pg)) return PQ_CAME;
    }
}
