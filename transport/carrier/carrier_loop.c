/* transport/carrier/carrier_loop.c -- connections on the workers' own loops, for any kind of stream (struct
 * wf_loop_io): they need no thread of their own, and no hop between the socket and the actors of its worker. */
#include "carrier_loop.h"
#include "sanitizer.h"
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tx { IDLE, WRITING, NUDGED, BLOCKED };

enum {
    BUFFER_STRANGER = 8 * 1024,
    BUFFER_TRUSTED = 64 * 1024,
    /* bytes that are read from one connection in a turn; then the worker's actors run, with these bytes still in the
     * cache */
    READ_TURN = 64 * 1024,
};
#define DIAL_TIME WEFT_SEC(2) /* as in carrier_nng_ends.c */

static struct wf_loop *carrier_of(struct wf_loop_conn *c)
{
    return (struct wf_loop *)c->base.carrier;
}

const char *wf_loop_explain(int64_t error)
{
    switch (error) {
    case WEFT_ERESET: return "connection reset";
    case WEFT_EREFUSED: return "no process listens there";
    case WEFT_EINUSE: return "the address is in use by another process";
    case WEFT_EADDRESS: return "the address does not exist here";
    case WEFT_EACCESS: return "permission denied";
    case WEFT_ENOMEM: return "out of memory";
    case WEFT_EFULL: return "no file descriptors are left: raise ulimit -n";
    case WEFT_ETIMEDOUT: return "no answer";
    default: return weft_strerror((int)error);
    }
}

/* The worker of the next connection: workers get connections in turn, but blocked workers are skipped. Called with
 * the lock held. */
static struct wf_worker *next_worker(struct wf_loop *k)
{
    struct wf_workers *set = k->options.workers;
    for (uint32_t i = 0; i < set->users; i++) {
        struct wf_worker *w = set->at[k->turn++ % set->users];
        if (!wf_stuck_at(set, w->index, NULL)) return w;
    }
    return wf_workers_own(set);
}

void wf_loop_gone(struct wf_loop *k)
{
    pf_mutex_lock(k->lock); /* when the lock is released, the carrier may be freed */
    if (--k->count == 0) k->options.env->cond_broadcast(k->options.env, k->quiet);
    pf_mutex_unlock(k->lock);
}

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

static void conn_keep(struct wf_conn *base)
{
    atomic_fetch_add_explicit(&((struct wf_loop_conn *)base)->refs, 1, memory_order_relaxed);
}

static void no_longer_stranger(struct wf_loop_conn *c)
{
    struct wf_loop *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    if (c->places != NULL) wf_places_give(c->places, c->place);
    c->places = NULL;
    pf_mutex_unlock(k->lock);
}

void wf_loop_release(struct wf_conn *base)
{
    struct wf_loop_conn *c = (struct wf_loop_conn *)base;
    if (!WF_LAST_HOLDER(&c->refs, 1)) return;
    struct wf_loop *k = carrier_of(c);
    pf_mutex_lock(k->lock);
    wf_unlink(&c->in_carrier);
    pf_mutex_unlock(k->lock);
    pf_close(c->handle);
    c->io->finish(c);
    wf_sp_finish(&c->sp);
    pf_aligned_free(c);
    wf_loop_gone(k);
}

static bool is_closed(const struct wf_loop_conn *c)
{
    return atomic_load_explicit(&c->closed, memory_order_relaxed);
}

/* Runs `e` on the owner's thread. */
static void run(struct wf_errand *e)
{
    conn_keep(&e->conn->base);
    wf_worker_post(e->conn->base.worker, &e->call.post);
}

void wf_loop_close(struct wf_conn *base, const char *reason)
{
    struct wf_loop_conn *c = (struct wf_loop_conn *)base;
    struct wf_loop *k = carrier_of(c);
    if (atomic_load_explicit(&c->closed, memory_order_relaxed)) return;
    pf_mutex_lock(k->lock);
    if (c->reason[0] == '\0') snprintf(c->reason, sizeof c->reason, "%s", reason);
    pf_mutex_unlock(k->lock);
    if (atomic_exchange_explicit(&c->closed, true, memory_order_acq_rel)) return;
    c->io->abort(c);
    run(&c->end);
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void skip_sent(struct wf_loop_conn *c, size_t count)
{
    while (c->left_first < c->left_count && count >= c->left[c->left_first].size)
        count -= c->left[c->left_first++].size;
    if (c->left_first == c->left_count) return;
    c->left[c->left_first].data = (const uint8_t *)c->left[c->left_first].data + count;
    c->left[c->left_first].size -= count;
}

/* Asks the poller to report space in the socket, unless the connection is over. */
static void ask_for_space(struct wf_loop_conn *c)
{
    struct wf_worker *w = c->base.worker;
    int rc = w->set->env->poller_arm(w->poller, c->handle, c->registered, true);
    if (rc < 0 && rc != WEFT_ECLOSED) wf_loop_close(&c->base, wf_loop_explain(rc));
}

/* The caller owns `left`, but no longer if this returns LATER. */
static enum wf_send write_left(struct wf_loop_conn *c)
{
    while (c->left_first < c->left_count) {
        int64_t n = c->io->write(c, c->left + c->left_first, c->left_count - c->left_first);
        if (n >= 0) {
            skip_sent(c, (size_t)n);
        } else if (n != PF_AGAIN || is_closed(c)) {
            wf_loop_close(&c->base, wf_loop_explain(n));
            break;
        } else {
            ask_for_space(c);
            int tx = WRITING; /* release: the next thread that writes sees `left` */
            if (atomic_compare_exchange_strong_explicit(&c->tx, &tx, BLOCKED, memory_order_acq_rel,
                                                        memory_order_acquire))
                return WF_SEND_LATER;
            /* it was NUDGED: there may be space by now */
            atomic_store_explicit(&c->tx, WRITING, memory_order_relaxed);
        }
    }
    bool ok = c->left_first == c->left_count;
    atomic_store_explicit(&c->tx, IDLE, memory_order_release);
    return ok ? WF_SEND_DONE : WF_SEND_FAILED;
}

enum wf_send wf_loop_send(struct wf_conn *base, const struct pf_slice *slices, unsigned count)
{
    struct wf_loop_conn *c = (struct wf_loop_conn *)base;
    WF_ASSERT(count > 0 && count <= WF_CARRIER_SLICES);
    int before = atomic_exchange_explicit(&c->tx, WRITING, memory_order_acquire);
    WF_ASSERT(before == IDLE);
    uint64_t total = 0;
    for (unsigned i = 0; i < count; i++) {
        total += slices[i].size;
        c->left[i + 1] = slices[i];
    }
    c->left[0] = (struct pf_slice){c->prefix, wf_sp_prefix(c->prefix, c->sp.local, total)};
    c->left_first = 0;
    c->left_count = count + 1;
    conn_keep(base); /* for `left`: from BLOCKED on another thread may write the rest before this call returns */
    enum wf_send r = write_left(c);
    if (r != WF_SEND_LATER) wf_loop_release(base);
    return r;
}

/* The owner's thread: there may be space in the socket, or it is broken. */
static void news_for_sender(struct wf_loop_conn *c)
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
    wf_loop_release(&c->base);
}

/* ---- Receiving: the owner's thread ----------------------------------------------------------------------------- */

/* Hands over the messages that have come. False: the connection is paused, or has ended. */
static bool hand_over(struct wf_loop_conn *c)
{
    const struct wf_carrier_options *o = &carrier_of(c)->options;
    enum wf_receive r = WF_RECEIVE_ON;
    while (r == WF_RECEIVE_ON && !is_closed(c)) {
        const uint8_t *data;
        size_t size, left = 0;
        char why[WF_REASON_TEXT];
        switch (wf_sp_next(&c->sp, &data, &size, &c->wanted, why, sizeof why)) {
        case WF_SP_GREETED:
            conn_keep(&c->base);
            o->user->on_up(o->owner, &c->base);
            break;
        case WF_SP_MESSAGE:
            r = o->user->on_message(o->owner, &c->base, data, size, &left);
            wf_sp_unread(&c->sp, left);
            break;
        case WF_SP_MORE:
            r = c->sp.greeted ? o->user->on_chunk(o->owner, &c->base) : WF_RECEIVE_ON;
            if (r == WF_RECEIVE_ON) return true;
            break;
        case WF_SP_BROKEN: wf_loop_close(&c->base, why); return false;
        }
    }
    if (r == WF_RECEIVE_PAUSE) c->paused = true;
    return false;
}

static void ask_for_bytes(struct wf_loop_conn *c)
{
    int rc = wf_fd_arm(c->fd, false);
    if (rc < 0) wf_loop_close(&c->base, wf_loop_explain(rc));
}

/* Reads until the socket is empty or has used up its share of the turn. */
static void receive(struct wf_loop_conn *c)
{
    for (size_t taken = 0; c->readable && !c->more && !c->paused && !is_closed(c);) {
        if (taken >= READ_TURN) {
            c->more = true;
            run(&c->again);
            return;
        }
        if (!wf_sp_reserve(&c->sp, c->wanted)) {
            wf_loop_close(&c->base, "out of memory");
            return;
        }
        size_t space = c->sp.capacity - c->sp.end;
        int64_t n = c->io->read(c, c->sp.buffer + c->sp.end, space);
        if (n == 0) n = c->fd->error;
        if (n == PF_AGAIN) {
            c->readable = false;
            c->emptied = true;
        } else if (n <= 0) {
            wf_loop_close(&c->base, n == 0 ? "closed by the other side" : wf_loop_explain(n));
        } else {
            taken += (size_t)n;
            c->sp.end += (size_t)n;
            /* fewer bytes than there was space for: the socket is empty, and the poller will report further bytes */
            c->readable = (size_t)n == space || c->fd->hangup || !c->emptied;
            if (!hand_over(c)) break;
        }
    }
    if (!c->readable && !is_closed(c)) ask_for_bytes(c);
}

static void on_again(struct wf_worker *w, struct wf_call *call)
{
    (void)w;
    struct wf_loop_conn *c = WF_CONTAINER(call, struct wf_errand, call)->conn;
    c->more = false;
    if (!c->over) receive(c);
    wf_loop_release(&c->base);
}

static void on_resume(struct wf_worker *w, struct wf_call *call)
{
    struct wf_loop_conn *c = WF_CONTAINER(call, struct wf_errand, call)->conn;
    if (!c->over) {
        if (c->trusted) wf_timer_disarm(w, &c->limit);
        c->paused = false;
        if (hand_over(c)) receive(c);
    }
    wf_loop_release(&c->base);
}

void wf_loop_resume(struct wf_conn *base)
{
    run(&((struct wf_loop_conn *)base)->resume);
}

void wf_loop_trust(struct wf_conn *base, size_t message_max)
{
    struct wf_loop_conn *c = (struct wf_loop_conn *)base;
    no_longer_stranger(c);
    c->trusted = true;
    c->sp.first_capacity = BUFFER_TRUSTED;
    c->sp.message_max = message_max;
}

/* ---- Begin and end of a connection: the owner's thread --------------------------------------------------------- */

static void out_of_time(struct wf_worker *w, struct wf_timer *t)
{
    (void)w;
    struct wf_loop_conn *c = WF_CONTAINER(t, struct wf_loop_conn, limit);
    wf_loop_close(&c->base, c->connecting ? "no answer in time" : c->sp.greeted ? "no HELLO in time" : "silent");
}

static bool set_limit(struct wf_loop_conn *c, int64_t time)
{
    struct wf_worker *w = c->base.worker;
    wf_timer_disarm(w, &c->limit);
    return wf_timer_arm(w, &c->limit, w->set->env->now(w->set->env) + time) == WEFT_OK;
}

static void greet(struct wf_loop_conn *c)
{
    struct pf_slice header = {wf_sp_header, WF_SP_HEADER};
    struct pf_address local;
    c->connecting = false;
    if (c->base.dial_tag != NULL && c->base.local[0] == '\0' && pf_local_address(c->handle, &local) == WEFT_OK)
        (void)pf_address_format(&local, c->base.local, sizeof c->base.local);
    if (!set_limit(c, wf_stranger_time(&carrier_of(c)->options))) {
        wf_loop_close(&c->base, "out of memory");
        return;
    }
    int64_t n = c->io->write(c, &header, 1); /* the buffer is empty: all bytes are taken, or none */
    if (n < 0) wf_loop_close(&c->base, wf_loop_explain(n));
    else if (n < WF_SP_HEADER) wf_loop_close(&c->base, "no memory for the greeting");
    else ask_for_bytes(c);
}

static void on_socket(void *arg, const struct pf_ready *r)
{
    struct wf_loop_conn *c = arg;
    conn_keep(&c->base);
    if (c->connecting && r->writable) {
        int rc = r->error != 0 ? r->error : pf_connect_result(c->handle);
        if (rc == WEFT_OK) greet(c);
        else if (rc == PF_AGAIN) ask_for_space(c);
        else wf_loop_close(&c->base, wf_loop_explain(rc));
    }
    if (!c->connecting) {
        c->readable |= r->readable;
        if (r->writable) news_for_sender(c);
        receive(c);
    }
    wf_loop_release(&c->base);
}

static void on_start(struct wf_worker *w, struct wf_call *call)
{
    struct wf_loop_conn *c = WF_CONTAINER(call, struct wf_errand, call)->conn;
    int rc = is_closed(c) ? WEFT_ECLOSED : wf_fd_add(w, c->handle, &c->fd);
    if (rc == WEFT_OK) {
        c->fd->watch = on_socket;
        c->fd->watch_arg = c;
        c->registered = wf_slot_id(&c->fd->slot);
        if (!c->connecting) greet(c);
        else if (!set_limit(c, DIAL_TIME)) rc = WEFT_ENOMEM;
        else ask_for_space(c);
    }
    if (rc < 0) wf_loop_close(&c->base, wf_loop_explain(rc));
    wf_loop_release(&c->base);
}

static void on_end(struct wf_worker *w, struct wf_call *call)
{
    struct wf_loop_conn *c = WF_CONTAINER(call, struct wf_errand, call)->conn;
    struct wf_loop *k = carrier_of(c);
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
    wf_loop_release(&c->base); /* the reference of the receiving side */
    wf_loop_release(&c->base); /* the reference of the call */
}

static void errand_init(struct wf_errand *e, struct wf_loop_conn *c,
                        void (*call)(struct wf_worker *, struct wf_call *))
{
    *e = (struct wf_errand){.call = {.post.kind = WF_POST_CALL, .call = call}, .conn = c};
}

int wf_loop_conn_new(struct wf_loop *k, const struct wf_loop_made *made)
{
    struct wf_loop_conn *c = pf_aligned_alloc(WF_CACHE_LINE, sizeof *c);
    struct wf_places *places = made->tag == NULL ? k->strangers[made->is_local] : NULL;
    struct pf_address from;
    if (c == NULL) return WEFT_ENOMEM;
    memset(c, 0, sizeof *c);
    c->base.carrier = &k->base;
    c->base.dial_tag = made->tag;
    c->base.form = made->form;
    c->base.same_user = made->same_user;
    snprintf(c->base.remote, sizeof c->base.remote, "%s", made->remote);
    if (made->local != NULL) snprintf(c->base.local, sizeof c->base.local, "%s", made->local);
    c->io = made->io;
    c->arg = made->arg;
    c->handle = made->handle;
    c->connecting = made->connecting;
    c->limit.fire = out_of_time;
    c->wanted = WF_SP_HEADER;
    wf_sp_init(&c->sp, made->is_local, BUFFER_STRANGER, WF_STRANGER_MESSAGE_MAX);
    errand_init(&c->start, c, on_start);
    errand_init(&c->resume, c, on_resume);
    errand_init(&c->again, c, on_again);
    errand_init(&c->end, c, on_end);
    atomic_store_explicit(&c->refs, 1, memory_order_relaxed);
    bool known = pf_address_parse(made->remote, &from) == WEFT_OK;
    pf_mutex_lock(k->lock);
    bool fits = !k->closing && (places == NULL || wf_places_take(places, known ? &from : NULL, &c->place));
    if (fits) {
        c->places = places;
        c->base.worker = made->is_control ? wf_workers_own(k->options.workers) : next_worker(k);
        wf_list_push(&k->conns, &c->in_carrier);
        k->count++;
        run(&c->start);
    }
    pf_mutex_unlock(k->lock);
    if (fits) return WEFT_OK;
    pf_aligned_free(c);
    return WEFT_ECLOSED;
}

/* ---- All connections ------------------------------------------------------------------------------------------- */

/* Returns a connection that is not being freed already, with a reference for the caller. NULL: there is none. Called
 * with the lock held. */
static struct wf_loop_conn *any_open(struct wf_loop *k)
{
    WF_LIST_EACH(at, &k->conns) {
        struct wf_loop_conn *c = WF_CONTAINER(at, struct wf_loop_conn, in_carrier);
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

void wf_loop_end(struct wf_loop *k)
{
    pf_mutex_lock(k->lock);
    k->closing = true;
    for (struct wf_loop_conn *c; (c = any_open(k)) != NULL;) {
        pf_mutex_unlock(k->lock);
        wf_loop_close(&c->base, "this node stops");
        wf_loop_release(&c->base);
        pf_mutex_lock(k->lock);
    }
    struct pf_env *env = k->options.env;
    while (k->count > 0) (void)env->cond_wait(env, k->quiet, k->lock, WEFT_FOREVER);
    pf_mutex_unlock(k->lock);
}

int wf_loop_init(struct wf_loop *k, const struct wf_carrier_options *options)
{
    k->options = *options;
    wf_list_init(&k->conns);
    int rc = pf_mutex_create(&k->lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&k->quiet);
    if (rc == WEFT_OK) rc = wf_places_new(&k->strangers[0], options->env, WF_STRANGERS_MAX, WF_STRANGERS_EACH);
    if (rc == WEFT_OK) rc = wf_places_new(&k->strangers[1], options->env, WF_STRANGERS_MAX, WF_STRANGERS_MAX);
    return rc;
}

void wf_loop_finish(struct wf_loop *k)
{
    for (int i = 0; i < 2; i++) wf_places_release(k->strangers[i]);
    pf_cond_destroy(k->quiet);
    pf_mutex_destroy(k->lock);
}
