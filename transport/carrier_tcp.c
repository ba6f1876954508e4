/* The carrier on this runtime's own reactor: plain TCP, no thread of its own and no hop between the socket and the
 * actors of its worker.
 *
 * Design notes.
 * (1) Each connection belongs to one worker from birth to end, in turn. That worker's thread alone reads from it and
 *     runs its callbacks, in step 5 of its turn (or 2, for what did not fit into the one before). A worker that an
 *     actor holds up gets no new one; if all are, the worker of weft's own actors does, which also accepts: so a node
 *     answers over TCP, too, while its users' actors do not wait.
 * (2) Any thread sends: it writes to the socket there and then. What the kernel does not take waits in `left`, and
 *     the worker writes it when the poller says so. `tx` says who has `left`: IDLE nobody, WRITING (or NUDGED) the
 *     thread in write_left, BLOCKED whoever comes first with news of the socket. News that comes while somebody
 *     writes makes it NUDGED: that thread looks once more before it lets go.
 * (3) Everything else reaches the worker as a posted call: start, resume, end. Closing from any thread shuts the
 *     socket down at once, which fails all reads and writes; its descriptor is closed by the last reference, so no
 *     thread ever uses a number that is somebody else's by then.
 * (4) References: one for the receiving side from birth to on_down, one for the owner since on_up, one for each call
 *     under way, one while `left` holds something.
 * (5) Names are not looked up here, that would block: carrier.c gives such URLs to NNG. */
#include "carrier_tcp.h"
#include "sanitizer.h"
#include "sp.h"
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tx { IDLE, WRITING, NUDGED, BLOCKED };

enum {
    BUFFER_STRANGER = 8 * 1024,
    BUFFER_TRUSTED = 64 * 1024,
    READ_TURN = 64 * 1024, /* bytes of one connection in one turn; then the worker's actors run, on a warm cache */
};
/* The kernel asks again after 1, 3 and 7 s. Dials that end before the 3 ask once a second: when a network is whole
 * again, most of a resume window must not go by before anybody asks. */
#define DIAL_TIME WEFT_SEC(2)
static const char prefix_of_urls[] = "tcp://";

/* Who calls on the owner's thread; one at a time under way for each. */
struct errand {
    struct wf_call call;
    struct tcp_conn *conn;
};

struct tcp_conn {
    struct wf_conn base;
    struct wf_list_node in_carrier;
    pf_handle handle;
    _Atomic uint32_t refs; /* acq_rel on decrement: the last one sees what all others did */
    _Atomic bool closed;   /* acq_rel on the exchange of the one who closes; read relaxed, as a hint */
    struct errand start, resume, again, end;
    char reason[WF_REASON_TEXT]; /* under carrier->lock; the first one given */
    bool counted;                /* under carrier->lock: among its strangers, at this place */
    uint32_t place;
    bool trusted; /* written while paused, before the call that resumes; read by the owner's thread */
    /* The owner's thread only. */
    struct wf_fd *fd;
    struct wf_timer limit; /* of connecting, and of a stranger's time */
    struct wf_sp sp;
    size_t wanted;       /* bytes of the next message in all */
    uint64_t registered; /* the poller's tag; from `start` on nobody changes it */
    bool connecting, readable, paused, over;
    bool more; /* `again` is under way: it reads on */
    /* The sender's, see note (2). */
    alignas(WF_CACHE_LINE) _Atomic int tx; /* enum tx; acquire by who takes `left`, release by who lets go */
    struct pf_slice left[WF_CARRIER_SLICES + 1];
    unsigned left_first, left_count;
    uint8_t prefix[WF_SP_PREFIX_MAX];
};

static struct tcp_carrier *carrier_of(struct tcp_conn *c)
{
    return (struct tcp_carrier *)c->base.carrier;
}

const char *wf_tcp_explain(int64_t error)
{
    switch (error) {
    case WEFT_ERESET: return "connection reset";
    case WEFT_EREFUSED: return "nobody listens there";
    case WEFT_EINUSE: return "the address is in use by another process";
    case WEFT_EADDRESS: return "the address does not exist here";
    case WEFT_EACCESS: return "permission denied";
    case WEFT_ENOMEM: return "out of memory";
    case WEFT_EFULL: return "no file descriptors are left: raise ulimit -n";
    case WEFT_ETIMEDOUT: return "no answer";
    default: return weft_strerror((int)error);
    }
}

bool wf_tcp_parse(const char *url, struct pf_address *out)
{
    size_t n = sizeof prefix_of_urls - 1;
    return strncmp(url, prefix_of_urls, n) == 0 && pf_address_parse(url + n, out) == WEFT_OK;
}

bool wf_carrier_tcp_knows(const char *url)
{
    struct pf_address a;
    return wf_tcp_parse(url, &a);
}

struct wf_worker *wf_tcp_next_worker(struct tcp_carrier *k)
{
    struct wf_workers *set = k->options.workers;
    for (uint32_t i = 0; i < set->users; i++) {
        struct wf_worker *w = set->at[k->turn++ % set->users];
        if (!wf_stuck_at(set, w->index, NULL)) return w;
    }
    return wf_workers_own(set);
}

void wf_tcp_gone(struct tcp_carrier *k)
{
    pf_mutex_lock(k->lock); /* after it the carrier may go */
    if (--k->count == 0) k->options.env->cond_broadcast(k->options.env, k->quiet);
    pf_mutex_unlock(k->lock);
}

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

static void conn_keep(struct wf_conn *base)
{
    atomic_fetch_add_explicit(&((struct tcp_conn *)base)->refs, 1, memory_order_relaxed);
}

static void no_longer_stranger(struct tcp_conn *c)
{
    struct tcp_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    if (c->counted) wf_places_give(k->strangers, c->place);
    c->counted = false;
    pf_mutex_unlock(k->lock);
}

static void conn_release(struct wf_conn *base)
{
    struct tcp_conn *c = (struct tcp_conn *)base;
    if (!WF_LAST_HOLDER(&c->refs, 1)) return;
    struct tcp_carrier *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    wf_unlink(&c->in_carrier);
    pf_mutex_unlock(k->lock);
    pf_close(c->handle);
    wf_sp_finish(&c->sp);
    pf_aligned_free(c);
    wf_tcp_gone(k);
}

/* Runs `e` on the owner's thread. */
static void run(struct errand *e)
{
    conn_keep(&e->conn->base);
    wf_worker_post(e->conn->base.worker, &e->call.post);
}

static void conn_close(struct wf_conn *base, const char *reason)
{
    struct tcp_conn *c = (struct tcp_conn *)base;
    struct tcp_carrier *k = carrier_of(c);
    if (atomic_load_explicit(&c->closed, memory_order_relaxed)) return;
    pf_mutex_lock(k->lock);
    if (c->reason[0] == '\0') snprintf(c->reason, sizeof c->reason, "%s", reason);
    pf_mutex_unlock(k->lock);
    if (atomic_exchange_explicit(&c->closed, true, memory_order_acq_rel)) return;
    pf_abort(c->handle);
    run(&c->end);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void skip_sent(struct tcp_conn *c, size_t count)
{
    while (c->left_first < c->left_count && count >= c->left[c->left_first].size)
        count -= c->left[c->left_first++].size;
    if (c->left_first == c->left_count) return;
    c->left[c->left_first].data = (const uint8_t *)c->left[c->left_first].data + count;
    c->left[c->left_first].size -= count;
}

/* An entry must come when there is room. Once it is over there is no need. */
static void ask_for_room(struct tcp_conn *c)
{
    struct wf_worker *w = c->base.worker;
    int rc = w->set->env->poller_arm(w->poller, c->handle, c->registered, true);
    if (rc < 0 && rc != WEFT_ECLOSED) conn_close(&c->base, wf_tcp_explain(rc));
}

/* The caller has `left`, and no longer if it returns LATER. */
static enum wf_send write_left(struct tcp_conn *c)
{
    while (c->left_first < c->left_count) {
        int64_t n = pf_write(c->handle, c->left + c->left_first, (int)(c->left_count - c->left_first));
        if (n >= 0) {
            skip_sent(c, (size_t)n);
        } else if (n != PF_AGAIN) {
            conn_close(&c->base, wf_tcp_explain(n));
            break;
        } else {
            ask_for_room(c);
            int tx = WRITING; /* release: the next writer sees `left` */
            if (atomic_compare_exchange_strong_explicit(&c->tx, &tx, BLOCKED, memory_order_acq_rel,
                                                        memory_order_acquire))
                return WF_SEND_LATER;
            atomic_store_explicit(&c->tx, WRITING, memory_order_relaxed); /* NUDGED: there may be room by now */
        }
    }
    bool ok = c->left_first == c->left_count;
    atomic_store_explicit(&c->tx, IDLE, memory_order_release);
    return ok ? WF_SEND_DONE : WF_SEND_FAILED;
}

static enum wf_send conn_send(struct wf_conn *base, const struct pf_slice *slices, unsigned count)
{
    struct tcp_conn *c = (struct tcp_conn *)base;
    WF_ASSERT(count > 0 && count <= WF_CARRIER_SLICES);
    int before = atomic_exchange_explicit(&c->tx, WRITING, memory_order_acquire);
    WF_ASSERT(before == IDLE);
    uint64_t total = 0;
    for (unsigned i = 0; i < count; i++) {
        total += slices[i].size;
        c->left[i + 1] = slices[i];
    }
    c->left[0] = (struct pf_slice){c->prefix, wf_sp_prefix(c->prefix, false, total)};
    c->left_first = 0;
    c->left_count = count + 1;
    conn_keep(base); /* of `left`: from BLOCKED on whoever writes the rest may be done before we return */
    enum wf_send r = write_left(c);
    if (r != WF_SEND_LATER) conn_release(base);
    return r;
}

/* The owner's thread: there may be room in the socket, or it is broken. */
static void news_for_sender(struct tcp_conn *c)
{
    int tx = atomic_load_explicit(&c->tx, memory_order_relaxed);
    for (;;) {
        int to = tx == BLOCKED ? WRITING : NUDGED;
        if (tx == IDLE || tx == NUDGED) return;
        if (atomic_compare_exchange_weak_explicit(&c->tx, &tx, to, memory_order_acq_rel, memory_order_relaxed)) break;
    }
    if (tx != BLOCKED) return;
    enum wf_send r = write_left(c);
    if (r == WF_SEND_LATER) return;
    const struct wf_carrier_options *o = &carrier_of(c)->options;
    o->user->on_sent(o->owner, &c->base, r == WF_SEND_DONE);
    conn_release(&c->base);
}

/* ---- Receiving: the owner's thread ----------------------------------------------------------------------------- */

static bool is_closed(const struct tcp_conn *c)
{
    return atomic_load_explicit(&c->closed, memory_order_relaxed);
}

/* Hands over what has come. False: paused, or over. */
static bool hand_over(struct tcp_conn *c)
{
    const struct wf_carrier_options *o = &carrier_of(c)->options;
    enum wf_receive r = WF_RECEIVE_ON;
    while (r == WF_RECEIVE_ON && !is_closed(c)) {
        const uint8_t *data;
        size_t size;
        char why[WF_REASON_TEXT];
        switch (wf_sp_next(&c->sp, &data, &size, &c->wanted, why, sizeof why)) {
        case WF_SP_GREETED:
            conn_keep(&c->base);
            o->user->on_up(o->owner, &c->base);
            break;
        case WF_SP_MESSAGE: r = o->user->on_message(o->owner, &c->base, data, size); break;
        case WF_SP_MORE:
            r = c->sp.greeted ? o->user->on_chunk(o->owner, &c->base) : WF_RECEIVE_ON;
            if (r == WF_RECEIVE_ON) return true;
            break;
        case WF_SP_BROKEN: conn_close(&c->base, why); return false;
        }
    }
    if (r == WF_RECEIVE_PAUSE) c->paused = true;
    return false;
}

static void ask_for_bytes(struct tcp_conn *c)
{
    int rc = wf_fd_arm(c->fd, false);
    if (rc < 0) conn_close(&c->base, wf_tcp_explain(rc));
}

/* Reads until the socket is empty or the turn is over for it. */
static void receive(struct tcp_conn *c)
{
    for (size_t taken = 0; c->readable && !c->more && !c->paused && !is_closed(c);) {
        if (taken >= READ_TURN) {
            c->more = true;
            run(&c->again);
            return;
        }
        if (!wf_sp_room(&c->sp, c->wanted)) {
            conn_close(&c->base, "out of memory");
            return;
        }
        size_t room = c->sp.capacity - c->sp.end;
        int64_t n = pf_read(c->handle, c->sp.buffer + c->sp.end, room);
        if (n == 0) n = c->fd->error;
        if (n == PF_AGAIN) {
            c->readable = false;
        } else if (n <= 0) {
            conn_close(&c->base, n == 0 ? "closed by the other side" : wf_tcp_explain(n));
        } else {
            taken += (size_t)n;
            c->sp.end += (size_t)n;
            c->readable = (size_t)n == room || c->fd->hangup; /* less: empty, and an edge will come */
            if (!hand_over(c)) break;
        }
    }
    if (!c->readable && !is_closed(c)) ask_for_bytes(c);
}

static void on_again(struct wf_worker *w, struct wf_call *call)
{
    (void)w;
    struct tcp_conn *c = WF_CONTAINER(call, struct errand, call)->conn;
    c->more = false;
    if (!c->over) receive(c);
    conn_release(&c->base);
}

static void on_resume(struct wf_worker *w, struct wf_call *call)
{
    struct tcp_conn *c = WF_CONTAINER(call, struct errand, call)->conn;
    if (!c->over) {
        if (c->trusted) wf_timer_disarm(w, &c->limit);
        c->paused = false;
        if (hand_over(c)) receive(c);
    }
    conn_release(&c->base);
}

static void conn_resume(struct wf_conn *base)
{
    run(&((struct tcp_conn *)base)->resume);
}

static void conn_trust(struct wf_conn *base, size_t message_max)
{
    struct tcp_conn *c = (struct tcp_conn *)base;
    no_longer_stranger(c);
    c->trusted = true;
    c->sp.first_capacity = BUFFER_TRUSTED;
    c->sp.message_max = message_max;
}

/* ---- From birth to end: the owner's thread --------------------------------------------------------------------- */

static void out_of_time(struct wf_worker *w, struct wf_timer *t)
{
    (void)w;
    struct tcp_conn *c = WF_CONTAINER(t, struct tcp_conn, limit);
    conn_close(&c->base, c->connecting ? "no answer in time" : c->sp.greeted ? "no HELLO in time" : "silent");
}

static bool set_limit(struct tcp_conn *c, int64_t time)
{
    struct wf_worker *w = c->base.worker;
    wf_timer_disarm(w, &c->limit);
    return wf_timer_arm(w, &c->limit, w->set->env->now(w->set->env) + time) == WEFT_OK;
}

static void greet(struct tcp_conn *c)
{
    struct pf_slice header = {wf_sp_header, WF_SP_HEADER};
    struct pf_address local;
    c->connecting = false;
    if (c->base.dial_tag != NULL && pf_local_address(c->handle, &local) == WEFT_OK)
        (void)pf_address_format(&local, c->base.local, sizeof c->base.local);
    if (!set_limit(c, wf_stranger_time(&carrier_of(c)->options))) {
        conn_close(&c->base, "out of memory");
        return;
    }
    int64_t n = pf_write(c->handle, &header, 1); /* into an empty buffer: all or nothing */
    if (n < 0) conn_close(&c->base, wf_tcp_explain(n));
    else if (n < WF_SP_HEADER) conn_close(&c->base, "no room for the greeting");
    else ask_for_bytes(c);
}

static void on_socket(void *arg, const struct pf_ready *r)
{
    struct tcp_conn *c = arg;
    conn_keep(&c->base);
    if (c->connecting && r->writable) {
        int rc = r->error != 0 ? r->error : pf_connect_result(c->handle);
        if (rc == WEFT_OK) greet(c);
        else if (rc == PF_AGAIN) ask_for_room(c);
        else conn_close(&c->base, wf_tcp_explain(rc));
    }
    if (!c->connecting) {
        c->readable |= r->readable;
        if (r->writable) news_for_sender(c);
        receive(c);
    }
    conn_release(&c->base);
}

static void on_start(struct wf_worker *w, struct wf_call *call)
{
    struct tcp_conn *c = WF_CONTAINER(call, struct errand, call)->conn;
    int rc = is_closed(c) ? WEFT_ECLOSED : wf_fd_add(w, c->handle, &c->fd);
    if (rc == WEFT_OK) {
        c->fd->watch = on_socket;
        c->fd->watch_arg = c;
        c->registered = wf_id_make(&c->fd->slot, w->index);
        if (!c->connecting) greet(c);
        else if (!set_limit(c, DIAL_TIME)) rc = WEFT_ENOMEM;
        else ask_for_room(c);
    }
    if (rc < 0) conn_close(&c->base, wf_tcp_explain(rc));
    conn_release(&c->base);
}

static void on_end(struct wf_worker *w, struct wf_call *call)
{
    struct tcp_conn *c = WF_CONTAINER(call, struct errand, call)->conn;
    struct tcp_carrier *k = carrier_of(c);
    const struct wf_carrier_options *o = &k->options;
    char reason[WF_REASON_TEXT];
    c->over = true;
    wf_timer_disarm(w, &c->limit);
    if (c->fd != NULL) wf_fd_remove(c->fd);
    no_longer_stranger(c);
    news_for_sender(c);
    pf_mutex_lock(k->lock);
    memcpy(reason, c->reason, sizeof reason);
    pf_mutex_unlock(k->lock);
    if (c->connecting) o->user->on_dial_failed(o->owner, c->base.dial_tag, reason);
    else o->user->on_down(o->owner, &c->base, reason);
    conn_release(&c->base); /* of the receiving side */
    conn_release(&c->base); /* of the call */
}

static void errand_init(struct errand *e, struct tcp_conn *c, void (*call)(struct wf_worker *, struct wf_call *))
{
    *e = (struct errand){.call = {.post.kind = WF_POST_CALL, .call = call}, .conn = c};
}

int wf_tcp_conn_new(struct tcp_carrier *k, pf_handle h, void *tag, const struct pf_address *to, bool connecting)
{
    struct tcp_conn *c = pf_aligned_alloc(WF_CACHE_LINE, sizeof *c);
    struct pf_address remote;
    if (c == NULL) {
        pf_close(h);
        return WEFT_ENOMEM;
    }
    memset(c, 0, sizeof *c);
    c->base.carrier = &k->base;
    c->base.dial_tag = tag;
    c->handle = h;
    c->connecting = connecting;
    c->limit.fire = out_of_time;
    c->wanted = WF_SP_HEADER;
    wf_sp_init(&c->sp, false, BUFFER_STRANGER, WF_STRANGER_MESSAGE_MAX);
    errand_init(&c->start, c, on_start);
    errand_init(&c->resume, c, on_resume);
    errand_init(&c->again, c, on_again);
    errand_init(&c->end, c, on_end);
    bool known = to != NULL || pf_peer_address(h, &remote) == WEFT_OK;
    if (!known || pf_address_format(to != NULL ? to : &remote, c->base.remote, sizeof c->base.remote) < 0)
        snprintf(c->base.remote, sizeof c->base.remote, "unknown");
    atomic_store_explicit(&c->refs, 1, memory_order_relaxed);
    pf_mutex_lock(k->lock);
    bool fits = !k->closing && (tag != NULL || wf_places_take(k->strangers, known ? &remote : NULL, &c->place));
    if (fits) {
        c->counted = tag == NULL;
        c->base.worker = wf_tcp_next_worker(k);
        wf_list_push(&k->conns, &c->in_carrier);
        k->count++;
        run(&c->start);
    }
    pf_mutex_unlock(k->lock);
    if (fits) return WEFT_OK;
    pf_close(h);
    pf_aligned_free(c);
    return WEFT_ECLOSED;
}

/* ---- The carrier ----------------------------------------------------------------------------------------------- */

static int carrier_dial(struct wf_carrier *base, const char *url, void *tag, char *why)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    WF_ASSERT(tag != NULL);
    struct pf_address to;
    pf_handle h;
    if (!wf_tcp_parse(url, &to)) {
        snprintf(why, WF_REASON_TEXT, "not a URL to dial");
        return WEFT_EADDRESS;
    }
    int rc = pf_connect(&h, &to);
    if (rc == WEFT_OK || rc == PF_AGAIN) rc = wf_tcp_conn_new(k, h, tag, &to, rc == PF_AGAIN);
    if (rc < 0) snprintf(why, WF_REASON_TEXT, "%s", rc == WEFT_ECLOSED ? "stopping" : wf_tcp_explain(rc));
    return rc;
}

/* A connection that is not being freed already; the caller gets a reference. NULL: there is none. Lock held. */
static struct tcp_conn *any_open(struct tcp_carrier *k)
{
    WF_LIST_EACH(at, &k->conns) {
        struct tcp_conn *c = WF_CONTAINER(at, struct tcp_conn, in_carrier);
        uint32_t refs = atomic_load_explicit(&c->refs, memory_order_relaxed);
        if (is_closed(c)) continue;
        while (refs > 0) {
            if (atomic_compare_exchange_weak_explicit(&c->refs, &refs, refs + 1, memory_order_relaxed,
                                                      memory_order_relaxed))
                return c;
        }
    }
    return NULL;
}

static void carrier_destroy(struct wf_carrier *base)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    if (k == NULL) return;
    wf_tcp_unlisten(base);
    pf_mutex_lock(k->lock);
    k->closing = true;
    for (struct tcp_conn *c; (c = any_open(k)) != NULL;) {
        pf_mutex_unlock(k->lock);
        conn_close(&c->base, "this node stops");
        conn_release(&c->base);
        pf_mutex_lock(k->lock);
    }
    struct pf_env *env = k->options.env;
    while (k->count > 0) (void)env->cond_wait(env, k->quiet, k->lock, WEFT_FOREVER);
    pf_mutex_unlock(k->lock);
    pf_cond_destroy(k->quiet);
    pf_mutex_destroy(k->lock);
    wf_places_release(k->strangers);
    free(k);
}

static const struct wf_carrier_ops ops = {wf_tcp_listen,   wf_tcp_accept,   carrier_dial, conn_send,
                                          conn_resume,     conn_trust,      conn_close,   conn_release,
                                          wf_tcp_unlisten, carrier_destroy, NULL};

struct wf_carrier *wf_carrier_tcp(const struct wf_carrier_options *options)
{
    struct tcp_carrier *k = calloc(1, sizeof *k);
    if (k == NULL) return NULL;
    k->base.ops = &ops;
    k->options = *options;
    wf_list_init(&k->conns);
    wf_list_init(&k->listeners);
    int rc = pf_mutex_create(&k->lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&k->quiet);
    if (rc == WEFT_OK) rc = wf_places_new(&k->strangers, options->env, WF_STRANGERS_MAX, WF_STRANGERS_EACH);
    if (rc == WEFT_OK) return &k->base;
    pf_cond_destroy(k->quiet);
    pf_mutex_destroy(k->lock);
    free(k);
    return NULL;
}
