/* transport/store/postgres/postgres_relay.c -- see postgres_relay.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "postgres_relay.h"

/* The messages in a flow of bytes: each has a type, four bytes of its length, which counts itself, and the rest. */
struct messages {
    bool are_read;         /* they are not with TLS */
    unsigned char head[5]; /* of the one that comes; `got` bytes of it have come */
    size_t got;
    size_t left;     /* bytes of it that are still to come, behind its head */
    size_t settings; /* bytes of all that say the value of a setting: libpq keeps them as long as the connection */
};

/* Bytes on their way in one direction: those in between have been read, and not written yet. */
struct flow {
    int from, to;
    bool ended; /* nothing comes any more */
    struct messages seen;
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
    r->in.seen = (struct messages){.are_read = PQsslInUse(pg) == 0 && PQgssEncInUse(pg) == 0};
    r->out.seen = (struct messages){.are_read = false};
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

/* ---- Messages --------------------------------------------------------------------------------------------------- */

static void read_head(struct messages *m, char byte)
{
    enum { LENGTH = 4 };
    m->head[m->got++] = (unsigned char)byte;
    if (m->got < sizeof m->head) return;
    size_t size = (size_t)m->head[1] << 24 | (size_t)m->head[2] << 16 | (size_t)m->head[3] << 8 | m->head[4];
    m->got = 0;
    m->left = size < LENGTH ? 0 : size - LENGTH;
}

static void read_messages(struct messages *m, const char *bytes, size_t size)
{
    static const unsigned char parameter_status = 'S';
    for (size_t part; m->are_read && size > 0; bytes += part, size -= part) {
        part = m->left == 0 ? 1 : m->left < size ? m->left : size;
        if (m->left > 0) m->left -= part;
        else read_head(m, *bytes);
        if (m->got == 0 && m->head[0] == parameter_status) m->settings += part;
    }
}

static bool has_too_many_settings(const struct flow *f)
{
    return f->seen.settings > PQ_SETTINGS_MAX;
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
    if (f->ended || *space == 0 || has_too_many_settings(f)) return false;
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
    read_messages(&f->seen, f->bytes, f->end);
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

bool pq_relay_take(struct pq_relay *r, size_t *space)
{
    (void)pass_on(&r->in, space);
    return !has_too_many_settings(&r->in);
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
        if (has_too_many_settings(&r->in)) return PQ_SETTINGS;
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
