/* transport/carrier/carrier_nng_ends.c -- listens and dials with NNG, and ends the carrier. */
#include "carrier_nng_ends.h"
#include "carrier_nng.h"
#include "carrier_nng_ws.h"
#include "carrier_tcp.h"
#include "url.h"

#include <nng/transport/ws/websocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel repeats a SYN after 1, 3 and 7 s. Dials that end before 3 s send one about each second: when a network
 * works again, most of a resume window must not pass before the next try. The slow limit leaves time for looking up a
 * name and for the TLS handshake. */
enum { DIAL_MS = 2000, DIAL_SLOW_MS = 5000, ACCEPT_PAUSE_MS = 100 };

static struct stream_end *end_new(struct nng_carrier *k, const char *url, void *tag)
{
    struct stream_end *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    e->carrier = k;
    e->tag = tag;
    e->local = wf_url_is_local(url);
    e->tls = wf_url_is_tls(url);
    e->plain_ws = strncmp(url, "ws://", 5) == 0;
    e->dialled_ws = tag != NULL && (e->plain_ws || strncmp(url, "wss://", 6) == 0);
    return e;
}

/* The file that is now at the path of a listener on a Unix socket. */
static struct pf_socket_file file_of(const struct stream_end *l)
{
    nng_sockaddr a;
    if (nng_stream_listener_get_addr(l->listener, NNG_OPT_LOCADDR, &a) != 0 || a.s_family != NNG_AF_IPC)
        return (struct pf_socket_file){0};
    return pf_socket_file_at(a.s_ipc.sa_path);
}

static bool is_replaced(const struct stream_end *l)
{
    static const struct pf_socket_file none;
    struct pf_socket_file now = file_of(l);
    if (memcmp(&l->file, &none, sizeof none) == 0 || memcmp(&now, &none, sizeof none) == 0) return false;
    return memcmp(&now, &l->file, sizeof now) != 0;
}

/* NNG removes a file by the path of the listener that it closes, even if another process listens there by then. So a
 * listener whose file was replaced stays open, where nobody finds it, until the process ends. The list shows to tools
 * that look for leaks that it is not lost. */
static void leave_open(struct stream_end *l)
{
    static _Atomic(struct stream_end *) left; /* release and relaxed: it is never read */
    l->left = atomic_load_explicit(&left, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&left, &l->left, l, memory_order_release, memory_order_relaxed)) {}
}

/* Waits until its callback has returned, so the callback must not call it. */
static void end_free(struct stream_end *e)
{
    if (e->aio != NULL) nng_aio_free(e->aio);
    e->aio = NULL;
    if (e->replaced) {
        leave_open(e);
        return;
    }
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
    for (struct wf_list_node *at; (at = wf_list_pop(&over)) != NULL;)
        end_free(WF_CONTAINER(at, struct stream_end, in_carrier));
}

static const char no_tls[] = "TLS needs a certificate: give --tls DIR, or the option tls";

/* Returns 0 or an error of NNG. */
static int use_tls(struct nng_carrier *k, const struct stream_end *e)
{
    bool server = e->listener != NULL;
    int rc = WEFT_OK;
    /* one thread at a time makes the configuration; no other lock is taken while this one is held */
    pf_mutex_lock(k->lock);
    if (k->tls[server] == NULL) rc = wf_nng_tls_open(&k->tls[server], k->options.tls, server);
    struct wf_nng_tls *t = k->tls[server];
    pf_mutex_unlock(k->lock);
    if (rc < 0) return NNG_ENOMEM;
    struct nng_tls_config *g = wf_nng_tls_config(t);
    return server ? nng_stream_listener_set_ptr(e->listener, NNG_OPT_TLS_CONFIG, g)
                  : nng_stream_dialer_set_ptr(e->dialer, NNG_OPT_TLS_CONFIG, g);
}

int wf_nng_renew_tls(struct wf_carrier *base, const struct wf_tls *tls)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    int rc = WEFT_OK;
    pf_mutex_lock(k->lock);
    for (int i = 0; i < 2 && rc == WEFT_OK; i++)
        if (k->tls[i] != NULL) rc = wf_nng_tls_renew(k->tls[i], tls);
    if (rc == WEFT_OK) k->options.tls = tls;
    pf_mutex_unlock(k->lock);
    return rc;
}

static void pause_for_a_while(struct stream_end *l)
{
    l->pausing = true;
    nng_sleep_aio(ACCEPT_PAUSE_MS, l->aio);
}

/* The last descriptors are reserved for local sockets, as operators use one of them. The thread that ends the listener
 * sets `over` and then cancels, and this one asks for `over` afterwards: at least one of them sees the other. */
static void accept_next(struct stream_end *l)
{
    if (!l->local && pf_handles_scarce()) pause_for_a_while(l);
    else nng_stream_listener_accept(l->listener, l->aio);
    if (atomic_load_explicit(&l->over, memory_order_seq_cst)) nng_aio_cancel(l->aio);
}

static void on_accept(void *arg)
{
    struct stream_end *l = arg;
    struct nng_carrier *k = l->carrier;
    int error = nng_aio_result(l->aio);
    bool slept = l->pausing;
    l->pausing = false;
    if (error == 0 && !slept) wf_nng_conn_start(k, nng_aio_get_output(l->aio, 0), l);
    pf_mutex_lock(k->lock);
    bool over = k->closing || atomic_load_explicit(&l->over, memory_order_relaxed) || error == NNG_ECLOSED ||
                error == NNG_ECANCELED;
    if (over && --k->accepting == 0) k->options.env->cond_broadcast(k->options.env, k->quiet);
    pf_mutex_unlock(k->lock);
    if (over) return;
    if (error == 0 || slept) accept_next(l);
    else pause_for_a_while(l); /* most likely no descriptors are left */
}

static void start(struct stream_end *l)
{
    pf_mutex_lock(l->carrier->lock);
    l->carrier->accepting++;
    pf_mutex_unlock(l->carrier->lock);
    nng_stream_listener_accept(l->listener, l->aio);
}

int wf_nng_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    if (wf_url_inherited(url) != NULL) { /* NNG_OPT_LISTEN_FD is younger than the versions that this is built with */
        snprintf(why, WF_REASON_TEXT, "NNG cannot take an inherited socket");
        return WEFT_ENOTSUP;
    }
    if (wf_url_path(url) != NULL && pf_is_other_file(wf_url_path(url))) { /* NNG would remove it */
        snprintf(why, WF_REASON_TEXT, "something is there that is no socket: move it away, or choose another path");
        return WEFT_EADDRESS;
    }
    struct stream_end *l = end_new(k, url, NULL);
    if (l == NULL) return WEFT_ENOMEM;
    if (l->tls && !k->has_tls) {
        snprintf(why, WF_REASON_TEXT, "%s", no_tls);
        end_free(l);
        return WEFT_EADDRESS;
    }
    char under[WF_URL_TEXT];
    bool ws = wf_nng_ws_url(url, under);
    if (ws) snprintf(l->ws, sizeof l->ws, "%s", url);
    int error = nng_stream_listener_alloc(&l->listener, ws ? under : url);
    if (error == 0 && l->tls) error = use_tls(k, l);
    if (error != 0) goto failed;
    l->control = mode == WF_CONTROL_SOCKET;
    mode &= WF_MODE_BITS;
    l->same_user = mode == WF_PRIVATE_SOCKET;
    if (mode != 0) error = nng_stream_listener_set_int(l->listener, NNG_OPT_IPC_PERMISSIONS, mode);
    /* NODELAY is off by default, here and in dial: a small batch behind another would wait for 40 ms. ipc lacks it. */
    if (error == 0) (void)nng_stream_listener_set_bool(l->listener, NNG_OPT_TCP_NODELAY, true);
    if (error == 0) error = nng_aio_alloc(&l->aio, on_accept, l);
    if (error == 0) error = nng_stream_listener_listen(l->listener);
    if (error != 0) goto failed;
    l->file = file_of(l);
    int port = 0;
    if (!l->local) error = nng_stream_listener_get_int(l->listener, NNG_OPT_TCP_BOUND_PORT, &port);
    if (error != 0 && error != NNG_ENOTSUP) goto failed; /* otherwise peers would dial port 0 */
    wf_url_with_port(url, port, bound);
    pf_mutex_lock(k->lock);
    wf_list_push(&k->listeners, &l->in_carrier);
    bool at_once = k->live;
    pf_mutex_unlock(k->lock);
    if (at_once) start(l);
    return WEFT_OK;
failed:
    snprintf(why, WF_REASON_TEXT, "%s", wf_nng_explain(error, &error));
    end_free(l);
    return error;
}

void wf_nng_accept(struct wf_carrier *base)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    pf_mutex_lock(k->lock);
    k->live = true;
    pf_mutex_unlock(k->lock);
    /* from now on only the caller of accept and unlisten listens, so the list does not change meanwhile */
    WF_LIST_EACH(at, &k->listeners) start(WF_CONTAINER(at, struct stream_end, in_carrier));
}

static void on_dial(void *arg)
{
    struct stream_end *d = arg;
    struct nng_carrier *k = d->carrier;
    int error = nng_aio_result(d->aio);
    const char *why = error == 0 ? NULL : wf_nng_explain(error, &(int){0});
    if (error == 0 && !wf_nng_conn_start(k, nng_aio_get_output(d->aio, 0), d)) why = "out of memory, or stopping";
    if (why != NULL) k->options.user->on_dial_failed(k->options.owner, d->tag, why);
    pf_mutex_lock(k->lock);
    wf_unlink(&d->in_carrier);
    wf_list_push(&k->dialled, &d->in_carrier);
    if (--k->dial_count == 0) k->options.env->cond_broadcast(k->options.env, k->quiet);
    pf_mutex_unlock(k->lock);
}

int wf_nng_dial(struct wf_carrier *base, const char *url, void *tag, char *why)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    WF_ASSERT(tag != NULL);
    free_ends(k, &k->dialled);
    struct stream_end *d = end_new(k, url, tag);
    if (d == NULL) return WEFT_ENOMEM;
    if (d->tls && !k->has_tls) {
        snprintf(why, WF_REASON_TEXT, "%s", no_tls);
        end_free(d);
        return WEFT_EADDRESS;
    }
    int error = nng_stream_dialer_alloc(&d->dialer, url);
    if (error == 0 && d->tls) error = use_tls(k, d);
    if (error == 0) (void)nng_stream_dialer_set_bool(d->dialer, NNG_OPT_TCP_NODELAY, true);
    if (error == 0 && strncmp(url, "ws", 2) == 0)
        error = nng_stream_dialer_set_string(d->dialer, NNG_OPT_WS_PROTOCOL, WF_WS_PROTOCOL);
    if (error == 0) error = nng_aio_alloc(&d->aio, on_dial, d);
    if (error != 0) {
        snprintf(why, WF_REASON_TEXT, "%s", wf_nng_explain(error, &error));
        end_free(d);
        return error;
    }
    nng_aio_set_timeout(d->aio, wf_carrier_tcp_knows(url) ? DIAL_MS : DIAL_SLOW_MS);
    pf_mutex_lock(k->lock);
    wf_list_push(&k->dials, &d->in_carrier);
    k->dial_count++;
    pf_mutex_unlock(k->lock);
    nng_stream_dialer_dial(d->dialer, d->aio);
    return WEFT_OK;
}

void wf_nng_unlisten(struct wf_carrier *base)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    WF_LIST_EACH(at, &k->listeners) {
        struct stream_end *l = WF_CONTAINER(at, struct stream_end, in_carrier);
        l->replaced = is_replaced(l);
        atomic_store_explicit(&l->over, true, memory_order_seq_cst);
        if (!l->replaced) nng_stream_listener_close(l->listener);
        nng_aio_cancel(l->aio);
    }
    pf_mutex_lock(k->lock);
    struct pf_env *env = k->options.env;
    while (k->accepting > 0) (void)env->cond_wait(env, k->quiet, k->lock, WEFT_FOREVER);
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
        wf_nng_conn_close(&open[i]->base, "this node stops");
        wf_nng_conn_release(&open[i]->base);
    }
    free(open);
}

void wf_nng_free(struct nng_carrier *k)
{
    wf_loop_finish(&k->loop);
    for (int i = 0; i < 2; i++) {
        wf_nng_tls_close(k->tls[i]);
        wf_places_release(k->strangers[i]);
    }
    pf_cond_destroy(k->quiet);
    pf_mutex_destroy(k->lock);
    free(k);
}

void wf_nng_destroy(struct wf_carrier *base)
{
    struct nng_carrier *k = (struct nng_carrier *)base;
    if (k == NULL) return;
    wf_nng_unlisten(base);
    close_all(k);
    pf_mutex_lock(k->lock);
    struct pf_env *env = k->options.env;
    while (k->conn_count > 0 || k->dial_count > 0) (void)env->cond_wait(env, k->quiet, k->lock, WEFT_FOREVER);
    pf_mutex_unlock(k->lock);
    wf_loop_end(&k->loop);
    free_ends(k, &k->dialled);
    wf_nng_free(k);
}
