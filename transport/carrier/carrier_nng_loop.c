/* transport/carrier/carrier_nng_loop.c -- NNG's plain streams on the workers' own loops: NNG reads and writes, the
 * worker's poller says when to try again.
 *
 * Design notes.
 * (1) nng_stream_recv and _send try at once, on the calling thread. If their aio has no callback, that thread has the
 *     result, and no other thread is woken. An operation that cannot be done now is cancelled, and tried again when the
 *     poller reports an event: it watches a duplicate of the stream's descriptor, which pf_find_stream finds by its two
 *     addresses. If it finds none, the stream uses callbacks: carrier_nng.c.
 * (2) The result is read before the aio is cancelled, because NNG 1.12 overwrites the result of a finished aio when
 *     it is cancelled. If NNG's own poller finishes it between the two, the aio's count, which stays, shows that.
 * (3) NNG tells its own poller of what cannot be done now, and is woken for it. So an operation that is likely to
 *     find nothing, because the previous one was cut short or filled its buffer exactly, is not tried before the
 *     system has been asked.
 * (4) NNG watches each stream for errors without end until its poller has had one event for it, and would turn
 *     without a pause when the peer is gone. So each stream is read once until it is empty: see wf_loop_conn.emptied.
 *     For the same reason the descriptor is never shut down here; nng_stream_close takes it off that poller.
 * (5) NNG never finishes an operation on a closed stream. That does no harm, as all that would wait is cancelled at
 *     once.
 * (6) NNG has one mutex for both directions of a stream. */
#include "carrier_nng_loop.h"
#include "carrier_nng.h"

#include <stdio.h>
#include <stdlib.h>

/* What belongs to one connection. */
struct on_loop {
    nng_stream *stream;
    nng_aio *rx, *tx;
    /* the last read filled its buffer, so there may be no further bytes. Only the owner's thread uses it */
    bool filled;
    bool cut; /* the last write was cut short, so there is no space. Only the sending side uses it */
};

static struct on_loop *on_loop_of(struct wf_loop_conn *c)
{
    return c->arg;
}

int64_t wf_nng_outcome(nng_aio *aio, int *nng_error)
{
    int code;
    if (nng_aio_result(aio) == 0 && nng_aio_count(aio) == 0) nng_aio_cancel(aio);
    nng_aio_wait(aio); /* waits for NNG's poller if it has finished the aio first; it never waits for the network */
    size_t count = nng_aio_count(aio);
    *nng_error = nng_aio_result(aio);
    if (count > 0) return (int64_t)count;
    if (*nng_error == NNG_ECANCELED || *nng_error == 0) return PF_AGAIN;
    (void)wf_nng_explain(*nng_error, &code);
    return *nng_error == NNG_ECLOSED ? WEFT_ERESET : code;
}

static int64_t stream_read(struct wf_loop_conn *c, void *buffer, size_t size)
{
    struct on_loop *s = on_loop_of(c);
    nng_iov iov = {buffer, size};
    int error;
    if (s->filled && c->emptied && pf_is_ready(c->handle, false) == 0) {
        s->filled = false;
        return PF_AGAIN;
    }
    nng_aio_set_iov(s->rx, 1, &iov);
    nng_stream_recv(s->stream, s->rx);
    int64_t n = wf_nng_outcome(s->rx, &error);
    s->filled = n == (int64_t)size;
    return error == NNG_ECONNSHUT ? 0 : n;
}

static int64_t stream_write(struct wf_loop_conn *c, const struct pf_slice *slices, unsigned count)
{
    struct on_loop *s = on_loop_of(c);
    nng_iov iov[WF_NNG_SLICES];
    int64_t total = 0;
    WF_ASSERT(count <= WF_NNG_SLICES);
    if (s->cut && pf_is_ready(c->handle, true) == 0) return PF_AGAIN;
    for (unsigned i = 0; i < count; i++) {
        iov[i] = (nng_iov){(void *)(uintptr_t)slices[i].data, slices[i].size};
        total += (int64_t)slices[i].size;
    }
    nng_aio_set_iov(s->tx, count, iov);
    nng_stream_send(s->stream, s->tx);
    int64_t n = wf_nng_outcome(s->tx, &(int){0});
    s->cut = n < total;
    return n;
}

static void stream_abort(struct wf_loop_conn *c)
{
    nng_stream_close(on_loop_of(c)->stream);
}

static void on_loop_free(struct on_loop *s)
{
    if (s->rx != NULL) nng_aio_reap(s->rx);
    if (s->tx != NULL) nng_aio_reap(s->tx);
    free(s);
}

static void stream_finish(struct wf_loop_conn *c)
{
    nng_stream_free(on_loop_of(c)->stream);
    on_loop_free(on_loop_of(c));
}

static const struct wf_loop_io streams = {stream_read, stream_write, stream_abort, stream_finish};

/* A duplicate of the stream's descriptor; PF_NO_HANDLE: it was not found. */
static pf_handle find_handle(nng_stream *s, const struct stream_end *from, const char *remote, const char *local)
{
    struct pf_address to, here;
    nng_sockaddr a;
    pf_handle h;
    char path[sizeof "unix:" + sizeof a.s_ipc.sa_path];
    if (!from->local) {
        bool known = pf_address_parse(remote, &to) == WEFT_OK && pf_address_parse(local, &here) == WEFT_OK;
        return known && pf_find_stream(&here, &to, &h) == WEFT_OK ? h : PF_NO_HANDLE;
    }
    /* NNG returns the listener's address for both ends. */
    if (nng_stream_get_addr(s, NNG_OPT_LOCADDR, &a) != 0 || a.s_family != NNG_AF_IPC) return PF_NO_HANDLE;
    snprintf(path, sizeof path, "unix:%s", a.s_ipc.sa_path);
    if (pf_address_parse(path, &here) < 0) return PF_NO_HANDLE;
    int rc = from->tag != NULL ? pf_find_stream(NULL, &here, &h) : pf_find_stream(&here, NULL, &h);
    return rc == WEFT_OK ? h : PF_NO_HANDLE;
}

int wf_nng_loop_start(struct nng_carrier *k, nng_stream *s, const struct stream_end *from)
{
    char remote[128], local[64];
    if (from->tls || from->plain_ws || k->options.workers == NULL) return PF_AGAIN;
    wf_nng_describe(s, NNG_OPT_REMADDR, remote, sizeof remote);
    wf_nng_describe(s, NNG_OPT_LOCADDR, local, sizeof local);
    pf_handle h = find_handle(s, from, remote, local);
    if (h == PF_NO_HANDLE) return PF_AGAIN;
    struct on_loop *l = calloc(1, sizeof *l);
    int rc = WEFT_ENOMEM;
    if (l == NULL) goto failed;
    l->stream = s;
    if (nng_aio_alloc(&l->rx, NULL, NULL) != 0 || nng_aio_alloc(&l->tx, NULL, NULL) != 0) goto failed;
    rc = wf_loop_conn_new(&k->loop, &(struct wf_loop_made){.io = &streams,
                                                           .arg = l,
                                                           .handle = h,
                                                           .tag = from->tag,
                                                           .remote = remote,
                                                           .local = local,
                                                           .form = "nng",
                                                           .is_local = from->local,
                                                           .same_user = from->same_user,
                                                           .is_control = from->control});
    if (rc == WEFT_OK) return WEFT_OK;
failed:
    pf_close(h);
    if (l != NULL) on_loop_free(l);
    nng_stream_free(s);
    return rc;
}

static const struct wf_carrier_ops ops = {.send = wf_loop_send,
                                          .resume = wf_loop_resume,
                                          .trust = wf_loop_trust,
                                          .close = wf_loop_close,
                                          .release = wf_loop_release};

int wf_nng_loop_init(struct nng_carrier *k)
{
    k->loop.base.ops = &ops;
    return wf_loop_init(&k->loop, &k->options);
}
