/* The carrier on NNG's byte streams; the only file that includes NNG's headers.
 *
 * Design notes.
 * (1) On each stream we speak the SP wire format of PAIR (sp.h), so that any SP implementation can connect to us.
 * (2) One receive aio and one send aio per stream: several receives would be completed out of order. NNG writes
 *     partially, so the send goes on until the last byte is gone.
 * (3) References: one for the receiving side from birth to on_down, one for a send in flight, one for the owner since
 *     on_up. The last one frees, perhaps inside a callback; so aios are given to NNG's reaper, never freed here.
 * (4) Pausing: `gate` is OPEN, PAUSED (the receiving side has stopped; whoever opens the gate runs it), RESUMED
 *     (opened before it stopped) or CLOSED.
 * (5) NNG must not be used in a forked child. Nothing here is initialised before the first carrier is made. */
#include "carrier.h"
#include "list.h"
#include "sp.h"

#include <nng/nng.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gate { OPEN, PAUSED, RESUMED, CLOSED };

enum {
    BUFFER_STRANGER = 8 * 1024,
    BUFFER_TRUSTED = 128 * 1024,
    DIAL_MS = 5000,
    ACCEPT_PAUSE_MS = 100,
};

struct nng_carrier {
    struct wf_carrier base;
    struct wf_carrier_options options;
    pf_mutex *lock;
    pf_cond *quiet;           /* conns, dials or listeners became 0 */
    struct wf_list conns;     /* stream_conn.in_carrier */
    struct wf_list listeners; /* stream_end.in_carrier */
    struct wf_list dials;     /* stream_end.in_carrier: under way */
    struct wf_list dialled;   /* stream_end.in_carrier: over, to be freed */
    uint32_t conn_count, dial_count, accepting, strangers;
    bool closing;
};

struct stream_conn {
    struct wf_conn base;
    struct wf_link in_carrier;
    nng_stream *stream;
    nng_aio *rx, *tx;
    _Atomic uint32_t refs; /* acq_rel on decrement: the last one sees what all others did */
    _Atomic int gate;      /* enum gate; acquire and release hand the receiving side over */
    bool greeting;         /* our SP header is being sent */
    bool stranger;
    int64_t trust_by;
    struct wf_sp sp;
    nng_iov iov[WF_CARRIER_SLICES + 1]; /* what is left to send */
    unsigned iov_first, iov_count;
    uint8_t prefix[WF_SP_PREFIX_MAX];
    char reason[WF_REASON_TEXT]; /* under carrier->lock; the first one given */
};

/* A listener, or a dial under way. */
struct stream_end {
    struct wf_link in_carrier;
    struct nng_carrier *carrier;
    nng_stream_listener *listener;
    nng_stream_dialer *dialer;
    nng_aio *aio;
    void *tag; /* of a dial */
    bool local, pausing;
};

static struct nng_carrier *carrier_of(struct stream_conn *c)
{
    return (struct nng_carrier *)c->base.carrier;
}

static const struct {
    int nng, weft;
    const char *text;
} errors[] = {
    {NNG_ECONNSHUT, WEFT_ERESET, "closed by the other side"},
    {NNG_ECLOSED, WEFT_ECLOSED, "closed by the other side"},
    {NNG_ECONNRESET, WEFT_ERESET, "connection reset"},
    {NNG_ECONNREFUSED, WEFT_EREFUSED, "nobody listens there"},
    {NNG_EADDRINUSE, WEFT_EINUSE, "the address is in use by another process"},
    {NNG_EADDRINVAL, WEFT_EADDRESS, "the address does not exist here"},
    {NNG_ENOENT, WEFT_EADDRESS, "no such file"},
    {NNG_EINVAL, WEFT_EADDRESS, "not a URL to listen on or dial"},
    {NNG_ENOTSUP, WEFT_EADDRESS, "not a URL to listen on or dial"},
    {NNG_EPERM, WEFT_EACCESS, "permission denied"},
    {NNG_ENOMEM, WEFT_ENOMEM, "out of memory"},
};

static const char *explain(int nng_error, int *code)
{
    *code = WEFT_ESYSTEM;
    for (size_t i = 0; i < WF_COUNT(errors); i++) {
        if (errors[i].nng != nng_error) continue;
        *code = errors[i].weft;
        return errors[i].text;
    }
    return nng_strerror(nng_error);
}

static void describe_remote(nng_stream *s, char *out, size_t size)
{
    nng_sockaddr a;
    if (nng_stream_get_addr(s, NNG_OPT_REMADDR, &a) != 0) snprintf(out, size, "unknown");
    else if (a.s_family == NNG_AF_INET) wf_address_text(&a.s_in.sa_addr, 4, &a.s_in.sa_port, out, size);
    else if (a.s_family == NNG_AF_INET6) wf_address_text(a.s_in6.sa_addr, 16, &a.s_in6.sa_port, out, size);
    else snprintf(out, size, "local socket");
}

static void conn_keep(struct wf_conn *base)
{
    atomic_fetch_add_explicit(&((struct stream_conn *)base)->refs, 1, memory_order_relaxed);
}

static void no_longer_stranger(struct nng_carrier *k, struct stream_conn *c)
{
    if (!c->stranger) return;
    c->stranger = false;
    if (c->base.dial_tag == NULL) k->strangers--;
}

static void conn_free(struct stream_conn *c)
{
    if (c->rx != NULL) nng_aio_reap(c->rx);
    if (c->tx != NULL) nng_aio_reap(c->tx);
    nng_stream_free(c->stream);
    wf_sp_finish(&c->sp);
    free(c);
}

static void conn_release(struct wf_conn *base)
{
    struct stream_conn *c = (struct stream_conn *)base;
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    struct nng_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    no_longer_stranger(k, c);
    wf_unlink(&c->in_carrier);
    pf_mutex_unlock(k->lock);
    conn_free(c);
    pf_mutex_lock(k->lock); /* only now: then the carrier may go */
    if (--k->conn_count == 0) pf_cond_broadcast(k->quiet);
    pf_mutex_unlock(k->lock);
}

static void end_receiving(struct stream_conn *c)
{
    struct nng_carrier *k = carrier_of(c);
    char reason[WF_REASON_TEXT];
    pf_mutex_lock(k->lock);
    no_longer_stranger(k, c);
    memcpy(reason, c->reason, sizeof reason);
    pf_mutex_unlock(k->lock);
    k->options.user->on_down(k->options.owner, &c->base, reason);
    conn_release(&c->base);
}

static void conn_close(struct wf_conn *base, const char *reason)
{
    struct stream_conn *c = (struct stream_conn *)base;
    struct nng_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    if (c->reason[0] == '\0') snprintf(c->reason, sizeof c->reason, "%s", reason);
    pf_mutex_unlock(k->lock);
    conn_keep(base);
    int before = atomic_exchange_explicit(&c->gate, CLOSED, memory_order_seq_cst); /* pairs with submitted() */
    if (before != CLOSED) {
        nng_stream_close(c->stream);
        nng_aio_cancel(c->rx);
        nng_aio_cancel(c->tx);
    }
    if (before == PAUSED) end_receiving(c);
    conn_release(base);
}

/* NNG 1.5 leaves an operation that was begun on a closed stream pending for ever. So whoever closes cancels, and
 * whoever begins looks again afterwards: at least one of them sees the other. The caller has kept the connection. */
static void submitted(struct stream_conn *c, nng_aio *aio)
{
    if (atomic_load_explicit(&c->gate, memory_order_seq_cst) == CLOSED) nng_aio_cancel(aio);
    conn_release(&c->base);
}

static void submit_send(struct stream_conn *c)
{
    conn_keep(&c->base);
    nng_aio_set_iov(c->tx, c->iov_count - c->iov_first, c->iov + c->iov_first);
    nng_stream_send(c->stream, c->tx);
    submitted(c, c->tx);
}

static enum wf_send conn_send(struct wf_conn *base, const struct pf_slice *slices, unsigned count)
{
    struct stream_conn *c = (struct stream_conn *)base;
    WF_ASSERT(count > 0 && count <= WF_CARRIER_SLICES);
    uint64_t total = 0;
    for (unsigned i = 0; i < count; i++) {
        total += slices[i].size;
        c->iov[i + 1] = (nng_iov){(void *)(uintptr_t)slices[i].data, slices[i].size};
    }
    c->iov[0] = (nng_iov){c->prefix, wf_sp_prefix(c->prefix, c->sp.local, total)};
    c->iov_first = 0;
    c->iov_count = count + 1;
    conn_keep(base);
    submit_send(c);
    return WF_SEND_LATER;
}

/* Whether bytes are left to send. */
static bool skip_sent(struct stream_conn *c, size_t count)
{
    while (c->iov_first < c->iov_count && count >= c->iov[c->iov_first].iov_len)
        count -= c->iov[c->iov_first++].iov_len;
    if (c->iov_first == c->iov_count) return false;
    c->iov[c->iov_first].iov_buf = (uint8_t *)c->iov[c->iov_first].iov_buf + count;
    c->iov[c->iov_first].iov_len -= count;
    return true;
}

static void receive(struct stream_conn *c);

static void on_tx(void *arg)
{
    struct stream_conn *c = arg;
    struct nng_carrier *k = carrier_of(c);
    int error = nng_aio_result(c->tx);
    if (error == 0 && skip_sent(c, nng_aio_count(c->tx))) {
        submit_send(c);
        return;
    }
    if (error != 0) conn_close(&c->base, explain(error, &(int){0}));
    if (c->greeting) {
        c->greeting = false;
        receive(c);
    } else {
        k->options.user->on_sent(k->options.owner, &c->base, error == 0);
    }
    conn_release(&c->base);
}

/* Hands over what has come; on WF_RECEIVE_ON `*wanted` says how many bytes the next message needs in all. */
static enum wf_receive hand_over(struct stream_conn *c, size_t *wanted)
{
    const struct wf_carrier_options *o = &carrier_of(c)->options;
    for (;;) {
        const uint8_t *data;
        size_t size;
        char why[WF_REASON_TEXT];
        switch (wf_sp_next(&c->sp, &data, &size, wanted, why, sizeof why)) {
        case WF_SP_GREETED:
            conn_keep(&c->base);
            o->user->on_up(o->owner, &c->base);
            break;
        case WF_SP_MESSAGE: {
            enum wf_receive r = o->user->on_message(o->owner, &c->base, data, size);
            if (r != WF_RECEIVE_ON) return r;
            break;
        }
        case WF_SP_MORE: return c->sp.greeted ? o->user->on_chunk(o->owner, &c->base) : WF_RECEIVE_ON;
        case WF_SP_BROKEN: conn_close(&c->base, why); return WF_RECEIVE_END;
        }
    }
}

static void submit_receive(struct stream_conn *c)
{
    nng_duration limit = NNG_DURATION_INFINITE;
    if (c->stranger) {
        struct pf_env *env = carrier_of(c)->options.env;
        int64_t left = (c->trust_by - env->now(env)) / WEFT_MS(1);
        limit = (nng_duration)WF_MAX(left, 1);
    }
    nng_iov iov = {c->sp.buffer + c->sp.end, c->sp.capacity - c->sp.end};
    nng_aio_set_timeout(c->rx, limit);
    nng_aio_set_iov(c->rx, 1, &iov);
    conn_keep(&c->base);
    nng_stream_recv(c->stream, c->rx);
    submitted(c, c->rx);
}

/* Whether the receiving side goes on; if not, somebody else has it now, or it is over. */
static bool pass_gate(struct stream_conn *c, enum wf_receive r)
{
    int gate = OPEN;
    if (r == WF_RECEIVE_PAUSE) {
        if (atomic_compare_exchange_strong_explicit(&c->gate, &gate, PAUSED, memory_order_acq_rel,
                                                    memory_order_acquire))
            return false;
        if (gate == RESUMED && atomic_compare_exchange_strong_explicit(&c->gate, &gate, OPEN, memory_order_acq_rel,
                                                                       memory_order_acquire))
            return true;
    } else if (atomic_load_explicit(&c->gate, memory_order_acquire) != CLOSED) {
        return true;
    }
    end_receiving(c);
    return false;
}

/* The receiving side: from here until the next read is submitted, or it pauses, or ends. Runs on one thread at a
 * time. */
static void receive(struct stream_conn *c)
{
    for (;;) {
        size_t wanted;
        enum wf_receive r = hand_over(c, &wanted);
        if (!pass_gate(c, r)) return;
        if (r == WF_RECEIVE_PAUSE) continue;
        if (wf_sp_room(&c->sp, wanted)) break;
        conn_close(&c->base, "out of memory");
    }
    submit_receive(c);
}

static void on_rx(void *arg)
{
    struct stream_conn *c = arg;
    int error = nng_aio_result(c->rx);
    if (error == NNG_ETIMEDOUT) {
        conn_close(&c->base, c->sp.greeted ? "no HELLO in time" : "silent");
    } else if (error != 0) {
        conn_close(&c->base, explain(error, &(int){0}));
    } else if (nng_aio_count(c->rx) == 0) {
        conn_close(&c->base, "closed by the other side");
    } else {
        c->sp.end += nng_aio_count(c->rx);
        receive(c);
        return;
    }
    end_receiving(c);
}

static void conn_resume(struct wf_conn *base)
{
    struct stream_conn *c = (struct stream_conn *)base;
    int gate = PAUSED;
    if (atomic_compare_exchange_strong_explicit(&c->gate, &gate, OPEN, memory_order_acq_rel, memory_order_acquire)) {
        receive(c);
        return;
    }
    if (gate != OPEN) return;
    if (atomic_compare_exchange_strong_explicit(&c->gate, &gate, RESUMED, memory_order_acq_rel, memory_order_acquire))
        return;
    if (gate == PAUSED) conn_resume(base);
}

static void conn_trust(struct wf_conn *base, size_t message_max)
{
    struct stream_conn *c = (struct stream_conn *)base;
    struct nng_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    no_longer_stranger(k, c);
    pf_mutex_unlock(k->lock);
    c->sp.first_capacity = BUFFER_TRUSTED;
    c->sp.message_max = message_max;
}

static struct stream_conn *conn_new(struct nng_carrier *k, nng_stream *s, bool local, void *tag)
{
    struct stream_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        nng_stream_free(s);
        return NULL;
    }
    c->base.carrier = &k->base;
    c->base.dial_tag = tag;
    c->stream = s;
    wf_sp_init(&c->sp, local, BUFFER_STRANGER, WF_STRANGER_MESSAGE_MAX);
    c->stranger = c->greeting = true;
    struct pf_env *env = k->options.env;
    c->trust_by = env->now(env) + (k->options.stranger_time > 0 ? k->options.stranger_time : WEFT_SEC(5));
    describe_remote(s, c->base.remote, sizeof c->base.remote);
    atomic_store_explicit(&c->refs, 2, memory_order_relaxed); /* the receiving side, our SP header in flight */
    bool ok = nng_aio_alloc(&c->rx, on_rx, c) == 0 && nng_aio_alloc(&c->tx, on_tx, c) == 0 && wf_sp_room(&c->sp, 0);
    if (ok) return c;
    conn_free(c);
    return NULL;
}

/* Takes the stream over. False: it was refused and freed. */
static bool conn_start(struct nng_carrier *k, nng_stream *s, bool local, void *tag)
{
    struct stream_conn *c = conn_new(k, s, local, tag);
    if (c == NULL) return false;
    pf_mutex_lock(k->lock);
    bool fits = !k->closing && (tag != NULL || k->strangers < WF_STRANGERS_MAX);
    if (fits) {
        if (tag == NULL) k->strangers++;
        wf_list_push(&k->conns, &c->in_carrier);
        k->conn_count++;
    }
    pf_mutex_unlock(k->lock);
    if (!fits) {
        conn_free(c);
        return false;
    }
    c->iov[0] = (nng_iov){(void *)(uintptr_t)wf_sp_header, WF_SP_HEADER};
    c->iov_count = 1;
    submit_send(c);
    return true;
}

static struct stream_end *end_new(struct nng_carrier *k, const char *url, void *tag)
{
    struct stream_end *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    e->carrier = k;
    e->tag = tag;
    e->local = wf_url_is_local(url);
    return e;
}

/* Waits until its callback is over: not to be called from there. */
static void end_free(struct stream_end *e)
{
    if (e->aio != NULL) nng_aio_free(e->aio);
    if (e->listener != NULL) nng_stream_listener_free(e->listener);
    if (e->dialer != NULL) nng_stream_dialer_free(e->dialer);
    free(e);
}

static void free_ends(struct nng_carrier *k, struct wf_list *ends)
{
    struct wf_list over;
    wf_list_init(&over);
    pf_mutex_lock(k->lock);
    wf_list_append(&over, ends);
    pf_mutex_unlock(k->lock);
    for (struct wf_link *at; (at = wf_list_pop(&over)) != NULL;)
        end_free(WF_CONTAINER(at, struct stream_end, in_carrier));
}

static void on_accept(void *arg)
{
    struct stream_end *l = arg;
    struct nng_carrier *k = l->carrier;
    int error = nng_aio_result(l->aio);
    bool slept = l->pausing;
    l->pausing = false;
    if (error == 0 && !slept) conn_start(k, nng_aio_get_output(l->aio, 0), l->local, NULL);
    pf_mutex_lock(k->lock);
    bool over = k->closing || error == NNG_ECLOSED || error == NNG_ECANCELED;
    if (over && --k->accepting == 0) pf_cond_broadcast(k->quiet);
    pf_mutex_unlock(k->lock);
    if (over) return;
    if (error == 0 || slept) {
        nng_stream_listener_accept(l->listener, l->aio);
    } else { /* most likely out of descriptors: look again later instead of spinning */
        l->pausing = true;
        nng_sleep_aio(ACCEPT_PAUSE_MS, l->aio);
    }
}

static int carrier_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    struct stream_end *l = end_new(k, url, NULL);
    if (l == NULL) return WEFT_ENOMEM;
    int error = nng_stream_listener_alloc(&l->listener, url);
    if (error != 0) goto failed;
    if (mode != 0) error = nng_stream_listener_set_int(l->listener, NNG_OPT_IPC_PERMISSIONS, mode);
    if (error == 0) error = nng_aio_alloc(&l->aio, on_accept, l);
    if (error == 0) error = nng_stream_listener_listen(l->listener);
    if (error != 0) goto failed;
    int port = 0;
    if (!l->local && nng_stream_listener_get_int(l->listener, NNG_OPT_TCP_BOUND_PORT, &port) != 0) port = 0;
    wf_url_with_port(url, port, bound);
    pf_mutex_lock(k->lock);
    wf_list_push(&k->listeners, &l->in_carrier);
    pf_mutex_unlock(k->lock);
    return WEFT_OK;
failed:
    snprintf(why, WF_REASON_TEXT, "%s", explain(error, &error));
    end_free(l);
    return error;
}

static void carrier_accept(struct wf_carrier *base)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    WF_LIST_EACH(at, &k->listeners) /* the list does not change once accepting has begun */ {
        struct stream_end *l = WF_CONTAINER(at, struct stream_end, in_carrier);
        pf_mutex_lock(k->lock);
        k->accepting++;
        pf_mutex_unlock(k->lock);
        nng_stream_listener_accept(l->listener, l->aio);
    }
}

static void on_dial(void *arg)
{
    struct stream_end *d = arg;
    struct nng_carrier *k = d->carrier;
    int error = nng_aio_result(d->aio);
    const char *why = error == 0 ? NULL : explain(error, &(int){0});
    if (error == 0 && !conn_start(k, nng_aio_get_output(d->aio, 0), d->local, d->tag))
        why = "out of memory, or stopping";
    if (why != NULL) k->options.user->on_dial_failed(k->options.owner, d->tag, why);
    pf_mutex_lock(k->lock);
    wf_unlink(&d->in_carrier);
    wf_list_push(&k->dialled, &d->in_carrier);
    if (--k->dial_count == 0) pf_cond_broadcast(k->quiet);
    pf_mutex_unlock(k->lock);
}

static int carrier_dial(struct wf_carrier *base, const char *url, void *tag, char *why)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    WF_ASSERT(tag != NULL);
    free_ends(k, &k->dialled);
    struct stream_end *d = end_new(k, url, tag);
    if (d == NULL) return WEFT_ENOMEM;
    int error = nng_stream_dialer_alloc(&d->dialer, url);
    if (error == 0) error = nng_aio_alloc(&d->aio, on_dial, d);
    if (error != 0) {
        snprintf(why, WF_REASON_TEXT, "%s", explain(error, &error));
        end_free(d);
        return error;
    }
    nng_aio_set_timeout(d->aio, DIAL_MS);
    pf_mutex_lock(k->lock);
    wf_list_push(&k->dials, &d->in_carrier);
    k->dial_count++;
    pf_mutex_unlock(k->lock);
    nng_stream_dialer_dial(d->dialer, d->aio);
    return WEFT_OK;
}

static void carrier_unlisten(struct wf_carrier *base)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    WF_LIST_EACH(at, &k->listeners) {
        struct stream_end *l = WF_CONTAINER(at, struct stream_end, in_carrier);
        nng_stream_listener_close(l->listener);
        nng_aio_cancel(l->aio);
    }
    pf_mutex_lock(k->lock);
    while (k->accepting > 0) pf_cond_wait(k->quiet, k->lock, WEFT_FOREVER);
    pf_mutex_unlock(k->lock);
    free_ends(k, &k->listeners);
}

static void close_all(struct nng_carrier *k)
{
    pf_mutex_lock(k->lock);
    k->closing = true;
    WF_LIST_EACH(at, &k->dials) nng_aio_cancel(WF_CONTAINER(at, struct stream_end, in_carrier)->aio);
    struct stream_conn **open = calloc(k->conn_count + 1, sizeof *open);
    uint32_t count = 0;
    WF_LIST_EACH(at, &k->conns) {
        struct stream_conn *c = WF_CONTAINER(at, struct stream_conn, in_carrier);
        uint32_t refs = atomic_load_explicit(&c->refs, memory_order_relaxed);
        while (refs > 0 && !atomic_compare_exchange_weak_explicit(&c->refs, &refs, refs + 1, memory_order_relaxed,
                                                                  memory_order_relaxed)) {}
        if (refs > 0 && open != NULL) open[count++] = c;
    }
    pf_mutex_unlock(k->lock);
    for (uint32_t i = 0; i < count; i++) {
        conn_close(&open[i]->base, "this node stops");
        conn_release(&open[i]->base);
    }
    free(open);
}

static void carrier_destroy(struct wf_carrier *base)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    if (k == NULL) return;
    carrier_unlisten(base);
    close_all(k);
    pf_mutex_lock(k->lock);
    while (k->conn_count > 0 || k->dial_count > 0) pf_cond_wait(k->quiet, k->lock, WEFT_FOREVER);
    pf_mutex_unlock(k->lock);
    free_ends(k, &k->dialled);
    pf_cond_destroy(k->quiet);
    pf_mutex_destroy(k->lock);
    free(k);
}

static const struct wf_carrier_ops ops = {carrier_listen, carrier_accept,   carrier_dial,   conn_send,
                                          conn_resume,    conn_trust,       conn_close,     conn_keep,
                                          conn_release,   carrier_unlisten, carrier_destroy};

struct wf_carrier *wf_carrier_nng(const struct wf_carrier_options *options)
{
    struct nng_carrier *k = calloc(1, sizeof *k);
    if (k == NULL) return NULL;
    k->base.ops = &ops;
    k->options = *options;
    struct wf_list *const lists[] = {&k->conns, &k->listeners, &k->dials, &k->dialled};
    for (size_t i = 0; i < WF_COUNT(lists); i++) wf_list_init(lists[i]);
    if (pf_mutex_create(&k->lock) == WEFT_OK && pf_cond_create(&k->quiet) == WEFT_OK) return &k->base;
    pf_mutex_destroy(k->lock);
    free(k);
    return NULL;
}
