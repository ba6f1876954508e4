/* transport/carrier/carrier_nng.c -- the carrier on NNG's byte streams, with callbacks on NNG's threads: TLS,
 * WebSockets, and all others of which no descriptor is found (carrier_nng_loop.c has those). Only the files
 * carrier_nng* include NNG's headers.
 *
 * Design notes.
 * (1) Streams carry the SP wire format of PAIR (sp.h), so that any SP implementation can connect to a node.
 * (2) One receive aio and one send aio per stream: several receives would be completed out of order. NNG writes
 *     partially, so sends are repeated until the last byte is sent. The first try uses an aio without a callback, on
 *     the calling thread; the rest uses one with a callback. There is no such first try under TLS and on NNG's own
 *     WebSockets, where cancelling a send breaks the connection, nor on Windows, where a cancelled send may have been
 *     sent in part.
 * (3) References: one for the receiving side until on_down, one for a send in flight, one for the owner since on_up.
 *     The last release frees, perhaps inside a callback; so aios are given to NNG's reaper, never freed here.
 * (4) Pausing: `gate` is OPEN, PAUSED (the receiving side has stopped; the thread that opens the gate runs it), RESUMED
 *     (opened before it stopped) or CLOSED.
 * (5) NNG must not be used in a forked child. Nothing here is initialised before the first carrier is made. */
#include "carrier_nng.h"
#include "carrier_nng_ends.h"
#include "carrier_nng_loop.h"
#include "carrier_nng_ws.h"
#include "sanitizer.h"
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gate { OPEN, PAUSED, RESUMED, CLOSED };

enum {
    BUFFER_STRANGER = 8 * 1024,
    BUFFER_TRUSTED = 128 * 1024,
};

static const struct {
    int nng, weft;
    const char *text;
} errors[] = {
    {NNG_ECONNSHUT, WEFT_ERESET, "closed by the other side"},
    {NNG_ECLOSED, WEFT_ECLOSED, "closed by the other side"},
    {NNG_ECONNRESET, WEFT_ERESET, "connection reset"},
    {NNG_ECONNREFUSED, WEFT_EREFUSED, "no process listens there"},
    {NNG_EADDRINUSE, WEFT_EINUSE, "the address is in use by another process"},
    {NNG_EADDRINVAL, WEFT_EADDRESS, "the address does not exist here"},
    {NNG_ENOENT, WEFT_EADDRESS, "no such file"},
    {NNG_EINVAL, WEFT_EADDRESS, "not a URL to listen on or dial"},
    {NNG_ENOTSUP, WEFT_EADDRESS, "not a URL to listen on or dial"},
    {NNG_EPERM, WEFT_EACCESS, "permission denied"},
    {NNG_ENOMEM, WEFT_ENOMEM, "out of memory"},
    {NNG_ENOFILES, WEFT_EFULL, "no file descriptors are left: raise ulimit -n"},
};

const char *wf_nng_explain(int nng_error, int *code)
{
    *code = WEFT_ESYSTEM;
    for (size_t i = 0; i < WF_COUNT(errors); i++) {
        if (errors[i].nng != nng_error) continue;
        *code = errors[i].weft;
        return errors[i].text;
    }
    return nng_strerror(nng_error);
}

void wf_nng_describe(nng_stream *s, const char *which, char *out, size_t size)
{
    nng_sockaddr a;
    if (nng_stream_get_addr(s, which, &a) != 0) snprintf(out, size, "unknown");
    else if (a.s_family == NNG_AF_INET) wf_address_text(&a.s_in.sa_addr, 4, &a.s_in.sa_port, out, size);
    else if (a.s_family == NNG_AF_INET6) wf_address_text(a.s_in6.sa_addr, 16, &a.s_in6.sa_port, out, size);
    else snprintf(out, size, "%s", WF_REMOTE_LOCAL);
}

static void conn_keep(struct wf_conn *base)
{
    atomic_fetch_add_explicit(&((struct stream_conn *)base)->refs, 1, memory_order_relaxed);
}

/* Called with the lock held. */
static void no_longer_stranger(struct stream_conn *c)
{
    c->stranger = false;
    if (c->places != NULL) wf_places_give(c->places, c->place);
    c->places = NULL;
}

static void conn_free(struct stream_conn *c)
{
    if (c->rx != NULL) nng_aio_reap(c->rx);
    if (c->tx != NULL) nng_aio_reap(c->tx);
    if (c->now != NULL) nng_aio_reap(c->now);
    if (c->limit != NULL) nng_aio_reap(c->limit);
    nng_stream_free(c->stream);
    wf_sp_finish(&c->sp);
    free(c->record);
    free(c->ws);
    free(c);
}

void wf_nng_conn_release(struct wf_conn *base)
{
    struct stream_conn *c = (struct stream_conn *)base;
    if (!WF_LAST_HOLDER(&c->refs, 1)) return;
    struct nng_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    no_longer_stranger(c);
    wf_unlink(&c->in_carrier);
    pf_mutex_unlock(k->lock);
    conn_free(c);
    pf_mutex_lock(k->lock); /* the lock is taken only now: when it is released, the carrier may be freed */
    if (--k->conn_count == 0) k->options.env->cond_broadcast(k->options.env, k->quiet);
    pf_mutex_unlock(k->lock);
}

static void end_receiving(struct stream_conn *c)
{
    struct nng_carrier *k = carrier_of(c);
    char reason[WF_REASON_TEXT];
    pf_mutex_lock(k->lock);
    no_longer_stranger(c);
    memcpy(reason, c->reason, sizeof reason);
    pf_mutex_unlock(k->lock);
    k->options.user->on_down(k->options.owner, &c->base, reason);
    wf_nng_conn_release(&c->base);
}

void wf_nng_conn_close(struct wf_conn *base, const char *reason)
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
        if (c->limit != NULL) nng_aio_cancel(c->limit);
    }
    if (before == PAUSED) end_receiving(c);
    wf_nng_conn_release(base);
}

/* Closes the connection for a network error. TLS may have a better reason. */
static void conn_broken(struct stream_conn *c, const char *reason)
{
    struct wf_nng_tls_peer peer = {.known = true};
    char why[WF_REASON_TEXT];
    if (c->tls) wf_nng_tls_ask(c->stream, &peer);
    if (peer.why[0] != '\0') snprintf(why, sizeof why, "%s", peer.why);
    else snprintf(why, sizeof why, "%.100s%s", reason, peer.known ? "" : ", before the TLS handshake was over");
    wf_nng_conn_close(&c->base, why);
}

/* NNG 1.5 never completes an operation that was begun on a closed stream. So the thread that closes cancels, and the
 * thread that begins an operation checks `gate` again afterwards: at least one of them sees the other. NNG itself also
 * closes a WebSocket, when it reads that the other side has ended it: has_met_its_end. The caller has a reference. */
static void submitted(struct stream_conn *c, nng_aio *aio)
{
    if (atomic_load_explicit(&c->gate, memory_order_seq_cst) == CLOSED) nng_aio_cancel(aio);
    wf_nng_conn_release(&c->base);
}

static void begin_send(struct stream_conn *c, nng_aio *aio)
{
    nng_iov of_frame[WF_NNG_SLICES];
    nng_iov *iov = c->iov + c->iov_first;
    unsigned count = c->iov_count - c->iov_first;
    if (c->ws != NULL && !c->greeting) count = wf_nng_ws_slices(c, iov = of_frame);
    nng_aio_set_iov(aio, count, iov);
    nng_stream_send(c->stream, aio);
}

static void submit_send(struct stream_conn *c)
{
    conn_keep(&c->base);
    begin_send(c, c->tx);
    submitted(c, c->tx);
}

/* NNG's TLS takes one slice at a time and makes a record of it, with a callback for each. So the small slices at the
 * beginning are merged into one. */
static void gather(struct stream_conn *c)
{
    size_t used = 0;
    unsigned i = 0;
    while (i < c->iov_count && used < WF_NNG_TLS_RECORD) {
        nng_iov *v = &c->iov[i];
        size_t n = WF_MIN(v->iov_len, WF_NNG_TLS_RECORD - used);
        memcpy(c->record + used, v->iov_buf, n);
        used += n;
        v->iov_buf = (uint8_t *)v->iov_buf + n;
        v->iov_len -= n;
        if (v->iov_len == 0) i++;
    }
    c->iov_first = i - 1; /* the record has the whole first slice, so its place in the array is free */
    c->iov[c->iov_first] = (nng_iov){c->record, used};
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

/* `count` bytes have been sent, including those of a WebSocket's frame. */
static bool sent(struct stream_conn *c, size_t count)
{
    return skip_sent(c, c->ws != NULL && !c->greeting ? wf_nng_ws_sent(c, count) : count);
}

/* Sends the bytes that can be sent now; the rest is sent with a callback, which then has the caller's reference. */
static enum wf_send send_now(struct stream_conn *c)
{
    int64_t n;
    int error;
    do {
        begin_send(c, c->now);
        n = wf_nng_outcome(c->now, &error);
    } while (n > 0 && sent(c, (size_t)n));
    if (n == PF_AGAIN) {
        submit_send(c);
        return WF_SEND_LATER;
    }
    if (n < 0) conn_broken(c, wf_nng_explain(error, &(int){0}));
    wf_nng_conn_release(&c->base);
    return n > 0 ? WF_SEND_DONE : WF_SEND_FAILED;
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
    if (c->tls) gather(c);
    conn_keep(base);
    if (c->now != NULL) return send_now(c);
    submit_send(c);
    return WF_SEND_LATER;
}

static void receive(struct stream_conn *c);

static void on_tx(void *arg)
{
    struct stream_conn *c = arg;
    struct nng_carrier *k = carrier_of(c);
    int error = nng_aio_result(c->tx);
    if (error == 0 && sent(c, nng_aio_count(c->tx))) {
        submit_send(c);
        return;
    }
    if (error != 0) conn_broken(c, wf_nng_explain(error, &(int){0}));
    if (c->greeting) {
        c->greeting = false;
        if (c->ws != NULL && c->ws->refused) wf_nng_conn_close(&c->base, c->ws->why);
        receive(c);
    } else {
        k->options.user->on_sent(k->options.owner, &c->base, error == 0);
    }
    wf_nng_conn_release(&c->base);
}

/* The greeting came through TLS, so the handshake is over. */
static bool know_peer(struct stream_conn *c)
{
    struct wf_nng_tls_peer peer;
    wf_nng_tls_ask(c->stream, &peer);
    if (!peer.known) {
        conn_broken(c, "unknown");
        return false;
    }
    c->who = peer.who;
    c->base.who = &c->who;
    return true;
}

/* Hands over the messages that have come; on WF_RECEIVE_ON `*wanted` is how many bytes the next message needs. */
static enum wf_receive hand_over(struct stream_conn *c, size_t *wanted)
{
    const struct wf_carrier_options *o = &carrier_of(c)->options;
    for (;;) {
        const uint8_t *data;
        size_t size, left = 0;
        char why[WF_REASON_TEXT];
        switch (wf_sp_next(&c->sp, &data, &size, wanted, why, sizeof why)) {
        case WF_SP_GREETED:
            if (c->tls && !know_peer(c)) return WF_RECEIVE_END;
            conn_keep(&c->base);
            o->user->on_up(o->owner, &c->base);
            break;
        case WF_SP_MESSAGE: {
            enum wf_receive r = o->user->on_message(o->owner, &c->base, data, size, &left);
            wf_sp_unread(&c->sp, left);
            if (r != WF_RECEIVE_ON) return r;
            break;
        }
        case WF_SP_MORE: return c->sp.greeted ? o->user->on_chunk(o->owner, &c->base) : WF_RECEIVE_ON;
        case WF_SP_BROKEN: wf_nng_conn_close(&c->base, why); return WF_RECEIVE_END;
        }
    }
}

/* Whether a WebSocket that NNG itself reads has ended: then NNG answers no question about it. */
static bool has_met_its_end(struct stream_conn *c)
{
    nng_sockaddr a;
    return c->dialled_ws && nng_stream_get_addr(c->stream, NNG_OPT_REMADDR, &a) == NNG_ECLOSED;
}

static void submit_receive(struct stream_conn *c)
{
    nng_duration limit = NNG_DURATION_INFINITE;
    if (c->stranger && !c->tls) {
        struct pf_env *env = carrier_of(c)->options.env;
        int64_t left = (c->trust_by - env->now(env)) / WEFT_MS(1);
        limit = (nng_duration)WF_MAX(left, 1);
    }
    nng_iov iov = {c->sp.buffer + c->sp.end, c->sp.capacity - c->sp.end};
    nng_aio_set_timeout(c->rx, limit);
    nng_aio_set_iov(c->rx, 1, &iov);
    conn_keep(&c->base);
    nng_stream_recv(c->stream, c->rx);
    if (has_met_its_end(c)) nng_aio_abort(c->rx, NNG_ECLOSED); /* NNG ignores this if bytes have come */
    submitted(c, c->rx);
}

/* Whether this thread continues to receive. False: another thread runs the receiving side now, or it has ended. */
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

/* Runs the receiving side until the next read is submitted, or until it pauses or ends. One thread at a time runs
 * it. */
static void receive(struct stream_conn *c)
{
    for (;;) {
        size_t wanted;
        enum wf_receive r = hand_over(c, &wanted);
        if (!pass_gate(c, r)) return;
        if (r == WF_RECEIVE_PAUSE) continue;
        bool over = c->ws != NULL && c->ws->over != NULL;
        if (!over && wf_sp_reserve(&c->sp, wanted)) break;
        wf_nng_conn_close(&c->base, over ? c->ws->over : "out of memory");
    }
    submit_receive(c);
}

/* The bytes may still belong to a WebSocket's request, whose answer is sent like the greeting. */
static void take_read(struct stream_conn *c, size_t size)
{
    bool more = false;
    if (c->ws == NULL) c->sp.end += size;
    if (c->ws == NULL || wf_nng_ws_received(c, size, &more)) {
        receive(c);
    } else if (more) {
        submit_receive(c);
    } else {
        conn_keep(&c->base);
        submit_send(c);
    }
}

static void on_rx(void *arg)
{
    struct stream_conn *c = arg;
    int error = nng_aio_result(c->rx);
    if (error == NNG_ETIMEDOUT) {
        bool asks = c->ws != NULL && !c->ws->asked;
        wf_nng_conn_close(&c->base, asks            ? "no whole request in time"
                                    : c->sp.greeted ? "no HELLO in time"
                                                    : "silent");
    } else if (error != 0) {
        conn_broken(c, wf_nng_explain(error, &(int){0}));
    } else if (nng_aio_count(c->rx) == 0) {
        conn_broken(c, "closed by the other side");
    } else {
        take_read(c, nng_aio_count(c->rx));
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
    no_longer_stranger(c);
    pf_mutex_unlock(k->lock);
    if (c->limit != NULL) nng_aio_cancel(c->limit);
    c->sp.first_capacity = BUFFER_TRUSTED;
    c->sp.message_max = message_max;
}

static void on_limit(void *arg)
{
    struct stream_conn *c = arg;
    struct nng_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    bool late = c->stranger && nng_aio_result(c->limit) == 0;
    pf_mutex_unlock(k->lock);
    if (late) conn_broken(c, "no HELLO in time");
    wf_nng_conn_release(&c->base);
}

static bool tls_parts(struct stream_conn *c)
{
    c->record = malloc(WF_NNG_TLS_RECORD);
    return c->record != NULL && nng_aio_alloc(&c->limit, on_limit, c) == 0;
}

static struct stream_conn *conn_new(struct nng_carrier *k, nng_stream *s, const struct stream_end *from)
{
    struct stream_conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        nng_stream_free(s);
        return NULL;
    }
    c->base.carrier = &k->base;
    c->base.dial_tag = from->tag;
    c->stream = s;
    c->base.same_user = from->same_user;
    c->tls = from->tls;
    c->base.plain_ws = from->plain_ws;
    c->base.form = c->tls ? "nng tls" : "nng callbacks";
    wf_sp_init(&c->sp, from->local, BUFFER_STRANGER, WF_STRANGER_MESSAGE_MAX);
    c->stranger = c->greeting = true;
    struct pf_env *env = k->options.env;
    c->trust_by = env->now(env) + wf_stranger_time(&k->options);
    wf_nng_describe(s, NNG_OPT_REMADDR, c->base.remote, sizeof c->base.remote);
    if (from->tag != NULL) wf_nng_describe(s, NNG_OPT_LOCADDR, c->base.local, sizeof c->base.local);
    bool asks = from->ws[0] != '\0';
    c->dialled_ws = from->dialled_ws;
    if (asks) c->ws = wf_nng_ws_new(from->ws);
    /* One reference is for the receiving side, one for our SP header in flight; the answer to a WebSocket's request
     * includes the header. */
    atomic_store_explicit(&c->refs, asks ? 1 : 2, memory_order_relaxed);
    bool at_once = WF_NNG_CANCELS_SENDS && !c->tls && (asks || !c->base.plain_ws);
    bool ok = (!asks || c->ws != NULL) && (!at_once || nng_aio_alloc(&c->now, NULL, NULL) == 0) &&
              nng_aio_alloc(&c->rx, on_rx, c) == 0 && nng_aio_alloc(&c->tx, on_tx, c) == 0 &&
              (!c->tls || tls_parts(c)) && wf_sp_reserve(&c->sp, 0);
    if (ok) return c;
    conn_free(c);
    return NULL;
}

static void start_limit(struct stream_conn *c)
{
    struct pf_env *env = carrier_of(c)->options.env;
    int64_t left = (c->trust_by - env->now(env)) / WEFT_MS(1);
    conn_keep(&c->base); /* the reference of on_limit */
    conn_keep(&c->base);
    nng_sleep_aio((nng_duration)WF_MAX(left, 1), c->limit);
    submitted(c, c->limit);
}

static bool has_a_place(struct nng_carrier *k, struct stream_conn *c, bool local)
{
    struct pf_address from;
    bool known = pf_address_parse(c->base.remote, &from) == WEFT_OK;
    if (!wf_places_take(k->strangers[local], known ? &from : NULL, &c->place)) return false;
    c->places = k->strangers[local];
    return true;
}

bool wf_nng_conn_start(struct nng_carrier *k, nng_stream *s, const struct stream_end *from)
{
    const void *tag = from->tag;
    int rc = wf_nng_loop_start(k, s, from);
    if (rc != PF_AGAIN) return rc == WEFT_OK;
    struct stream_conn *c = conn_new(k, s, from);
    if (c == NULL) return false;
    pf_mutex_lock(k->lock);
    bool fits = !k->closing && (tag != NULL || has_a_place(k, c, from->local));
    if (fits) {
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
    if (c->tls) start_limit(c);
    if (c->ws != NULL) submit_receive(c);
    else submit_send(c);
    return true;
}

static const struct wf_carrier_ops ops = {wf_nng_listen,   wf_nng_accept,  wf_nng_dial,       conn_send,
                                          conn_resume,     conn_trust,     wf_nng_conn_close, wf_nng_conn_release,
                                          wf_nng_unlisten, wf_nng_destroy, wf_nng_renew_tls};

struct wf_carrier *wf_carrier_nng(const struct wf_carrier_options *options)
{
    struct nng_carrier *k = calloc(1, sizeof *k);
    if (k == NULL) return NULL;
    k->base.ops = &ops;
    k->options = *options;
    k->has_tls = options->tls != NULL;
    struct wf_list *const lists[] = {&k->conns, &k->listeners, &k->dials, &k->dialled};
    for (size_t i = 0; i < WF_COUNT(lists); i++) wf_list_init(lists[i]);
    int rc = pf_mutex_create(&k->lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&k->quiet);
    if (rc == WEFT_OK) rc = wf_places_new(&k->strangers[0], options->env, WF_STRANGERS_MAX, WF_STRANGERS_EACH);
    if (rc == WEFT_OK) rc = wf_places_new(&k->strangers[1], options->env, WF_STRANGERS_MAX, WF_STRANGERS_MAX);
    if (rc == WEFT_OK) rc = wf_nng_loop_init(k);
    if (rc == WEFT_OK) return &k->base;
    wf_nng_free(k);
    return NULL;
}
