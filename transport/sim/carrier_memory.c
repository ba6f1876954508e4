/* transport/sim/carrier_memory.c -- the carrier of a simulated world: see sim_world.h. */
#include "carrier_memory.h"
#include "sim_world.h"

#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW WF_LIMIT("carrier: bytes on the way", 256 * 1024, 512)
enum { TO_BE_SENT_LATER = 8 }; /* one send in 8 completes later, also if it could complete at once */
#define DIAL_TIME WEFT_SEC(2)  /* as in carrier_tcp.c */

enum kind { UP, DATA, FIN, RESET };

struct packet {
    struct wf_list_node link;
    enum kind kind;
    int64_t at;
    size_t size, taken; /* bytes; `taken` of them have been handed over */
    bool read;          /* a part or all was read, so it is not in the socket any more */
    uint8_t data[];
};

struct wf_memory_carrier {
    struct wf_carrier base;
    struct wf_carrier_options options;
    struct wf_sim_world *world;
    unsigned host;
    bool listening, accepting;
    struct wf_list conns;
};

struct memory_conn {
    struct wf_conn base;
    struct wf_list_node in_carrier;
    struct memory_conn *other; /* NULL: not connected yet, or not any more */
    unsigned refs, peer;       /* `peer` is the host of the other end */
    bool dialing, closed, paused;
    bool sending; /* on_sent will be called */
    bool stalled; /* on_sent waits until the other end has read some bytes */
    char reason[WF_REASON_TEXT], url[WF_URL_TEXT];
    size_t message_max;
    struct wf_list in;
    size_t in_bytes;
    int64_t last_at; /* when the last packet arrives */
    int64_t again;   /* how long dialling has waited for an answer */
    struct wf_timer connect, arrive, sent, resume, down, limit;
};

static struct wf_memory_carrier *carrier_of(struct memory_conn *c)
{
    return (struct wf_memory_carrier *)c->base.carrier;
}

static struct wf_sim_world *world_of(struct memory_conn *c)
{
    return carrier_of(c)->world;
}

static const struct wf_sim_host *host_of(struct memory_conn *c)
{
    return &world_of(c)->host[carrier_of(c)->host];
}

static void arm(struct memory_conn *c, struct wf_timer *t, int64_t at)
{
    struct wf_sim_world *w = world_of(c);
    wf_heap_remove(&w->events, t);
    t->deadline = WF_MAX(at, wf_sim_now(w));
    bool was = wf_sim_scarcity(w, false);
    WF_ASSERT(wf_heap_add(&w->events, t) == WEFT_OK);
    (void)wf_sim_scarcity(w, was);
}

/* Events of a frozen host are delayed until it runs again. */
static bool is_early(struct memory_conn *c, struct wf_timer *t)
{
    if (wf_sim_now(world_of(c)) >= host_of(c)->frozen_by) return false;
    arm(c, t, host_of(c)->frozen_by);
    return true;
}

/* Prepares the call of a callback of the owner. */
static const struct wf_carrier_options *enter(struct memory_conn *c, unsigned what, size_t size)
{
    struct wf_memory_carrier *k = carrier_of(c);
    wf_sim_note(k->world, (uint64_t)(what << 8 | k->host << 4 | c->peer), size);
    wf_sim_enter(k->world, k->host);
    if (wf_here != NULL) wf_here->now = wf_sim_now(k->world); /* NULL: the worker is a guest's */
    return &k->options;
}

static void leave(struct memory_conn *c)
{
    world_of(c)->host[carrier_of(c)->host].poked = true;
    wf_sim_leave(world_of(c), carrier_of(c)->host);
}

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

static void drop_packets(struct memory_conn *c)
{
    for (struct wf_list_node *k; (k = wf_list_pop(&c->in)) != NULL;) free(WF_CONTAINER(k, struct packet, link));
    c->in_bytes = 0;
    wf_heap_remove(&world_of(c)->events, &c->arrive);
}

static void conn_release(struct wf_conn *base)
{
    struct memory_conn *c = (struct memory_conn *)base;
    if (--c->refs > 0) return;
    struct wf_timer *const timers[] = {&c->connect, &c->arrive, &c->sent, &c->resume, &c->down, &c->limit};
    for (size_t i = 0; i < WF_COUNT(timers); i++) wf_heap_remove(&world_of(c)->events, timers[i]);
    drop_packets(c);
    if (c->other != NULL) c->other->other = NULL;
    wf_unlink(&c->in_carrier);
    free(c);
}

static void push(struct memory_conn *to, struct packet *p)
{
    struct wf_sim_world *w = world_of(to);
    p->at = to->last_at = WF_MAX(to->last_at, wf_sim_now(w) + wf_sim_delay(w));
    if (wf_list_empty(&to->in) && !to->paused) arm(to, &to->arrive, p->at);
    wf_list_push(&to->in, &p->link);
    to->in_bytes += p->size;
}

static void push_word(struct memory_conn *to, enum kind kind)
{
    bool was = wf_sim_scarcity(world_of(to), false);
    struct packet *p = calloc(1, sizeof *p);
    (void)wf_sim_scarcity(world_of(to), was);
    WF_ASSERT(p != NULL);
    p->kind = kind;
    push(to, p);
}

static void conn_close(struct wf_conn *base, const char *reason)
{
    struct memory_conn *c = (struct memory_conn *)base;
    if (c->closed) return;
    c->closed = true;
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    bool unread = c->in_bytes > 0;
    drop_packets(c);
    arm(c, &c->down, wf_sim_now(world_of(c)));
    if (c->other == NULL || c->other->closed || host_of(c)->isolated) return;
    if (unread && pf_sim_random(&world_of(c)->sim) % 2 == 0) drop_packets(c->other);
    push_word(c->other, unread ? RESET : FIN);
}

static void on_down(struct wf_worker *none, struct wf_timer *t)
{
    struct memory_conn *c = WF_CONTAINER(t, struct memory_conn, down);
    (void)none;
    if (is_early(c, t)) return;
    bool sending = c->sending;
    c->sending = c->stalled = false;
    wf_heap_remove(&world_of(c)->events, &c->sent); /* on_sent is called here, and only once */
    const struct wf_carrier_options *o = enter(c, 'd', 0);
    if (sending) o->user->on_sent(o->owner, &c->base, false);
    if (c->dialing) o->user->on_dial_failed(o->owner, c->base.dial_tag, c->reason);
    else o->user->on_down(o->owner, &c->base, c->reason);
    leave(c);
    if (sending) conn_release(&c->base);
    conn_release(&c->base);
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

/* Hands one packet to the owner; sets `paused` if the next one must wait. Frees the packet, unless a part of it is
 * left. */
static void take(struct memory_conn *c, struct packet *p)
{
    char why[WF_REASON_TEXT];
    if (p->kind == FIN || p->kind == RESET) {
        conn_close(&c->base, p->kind == FIN ? "closed by the other side" : "connection reset");
        free(p);
        return;
    }
    if (p->size > c->message_max) {
        snprintf(why, sizeof why, "a message of %zu bytes, at most %zu are allowed", p->size, c->message_max);
        conn_close(&c->base, why);
        free(p);
        return;
    }
    const struct wf_carrier_options *o = enter(c, 'm', p->size - p->taken);
    enum wf_receive r = WF_RECEIVE_ON;
    size_t left = 0;
    if (p->kind == UP) {
        c->refs++;
        o->user->on_up(o->owner, &c->base);
    } else {
        r = o->user->on_message(o->owner, &c->base, p->data + p->taken, p->size - p->taken, &left);
        if (r == WF_RECEIVE_ON) r = o->user->on_chunk(o->owner, &c->base);
    }
    leave(c);
    c->paused = r == WF_RECEIVE_PAUSE;
    if (c->paused && left > 0) {
        p->taken = p->size - left;
        wf_list_push_front(&c->in, &p->link);
    } else {
        free(p);
    }
}

static void await_next(struct memory_conn *c)
{
    struct wf_list_node *first = wf_list_first(&c->in);
    if (!c->paused && first != NULL) arm(c, &c->arrive, WF_CONTAINER(first, struct packet, link)->at);
}

static void on_arrive(struct wf_worker *none, struct wf_timer *t)
{
    struct memory_conn *c = WF_CONTAINER(t, struct memory_conn, arrive);
    struct wf_sim_world *w = world_of(c);
    (void)none;
    int64_t cut_by = w->host[c->peer].cut_by[carrier_of(c)->host];
    if (is_early(c, t)) return;
    if (wf_sim_now(w) < cut_by) {
        arm(c, t, cut_by + wf_sim_delay(w));
        return;
    }
    struct packet *p = WF_CONTAINER(wf_list_pop(&c->in), struct packet, link);
    c->in_bytes -= p->read ? 0 : p->size;
    p->read = true;
    c->refs++;
    take(c, p);
    struct memory_conn *other = c->other;
    if (other != NULL && other->stalled && c->in_bytes <= WINDOW) {
        other->stalled = false;
        arm(other, &other->sent, wf_sim_now(w) + wf_sim_delay(w));
    }
    await_next(c);
    conn_release(&c->base);
}

/* Whether the worker has posts that were made before this moment. */
static bool has_posts(const struct wf_worker *w)
{
    return w != NULL && (w->undrained != NULL || atomic_load_explicit(&w->inbox, memory_order_relaxed) != NULL);
}

/* A real carrier posts to the worker that reading goes on. So the worker takes all earlier posts first: for example that
 * the link has ended which this connection replaces. */
static void on_resume(struct wf_worker *none, struct wf_timer *t)
{
    struct memory_conn *c = WF_CONTAINER(t, struct memory_conn, resume);
    (void)none;
    if (has_posts(host_of(c)->worker)) {
        arm(c, t, wf_sim_now(world_of(c)) + WEFT_US(10));
        return;
    }
    c->paused = false;
    await_next(c);
}

static void conn_resume(struct wf_conn *base)
{
    struct memory_conn *c = (struct memory_conn *)base;
    arm(c, &c->resume, wf_sim_now(world_of(c)));
}

static void conn_trust(struct wf_conn *base, size_t message_max)
{
    struct memory_conn *c = (struct memory_conn *)base;
    c->message_max = message_max;
    wf_heap_remove(&world_of(c)->events, &c->limit);
}

static void on_limit(struct wf_worker *none, struct wf_timer *t)
{
    struct memory_conn *c = WF_CONTAINER(t, struct memory_conn, limit);
    (void)none;
    if (!is_early(c, t)) conn_close(&c->base, c->dialing ? "no answer" : "no HELLO in time");
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void on_sent(struct wf_worker *none, struct wf_timer *t)
{
    struct memory_conn *c = WF_CONTAINER(t, struct memory_conn, sent);
    (void)none;
    if (is_early(c, t)) return;
    c->sending = false;
    const struct wf_carrier_options *o = enter(c, 's', 0);
    o->user->on_sent(o->owner, &c->base, !c->closed);
    leave(c);
    conn_release(&c->base);
}

static enum wf_send conn_send(struct wf_conn *base, const struct pf_slice *slices, unsigned count)
{
    struct memory_conn *c = (struct memory_conn *)base;
    struct wf_sim_world *w = world_of(c);
    size_t size = 0;
    WF_ASSERT(count > 0 && count <= WF_CARRIER_SLICES && !c->sending);
    if (c->closed) return WF_SEND_FAILED;
    for (unsigned i = 0; i < count; i++) size += slices[i].size;
    struct packet *p = malloc(sizeof *p + size);
    if (p == NULL) {
        conn_close(base, "out of memory");
        return WF_SEND_FAILED;
    }
    *p = (struct packet){.kind = DATA, .size = size};
    uint8_t *at = p->data;
    for (unsigned i = 0; i < count; at += slices[i++].size) memcpy(at, slices[i].data, slices[i].size);
    bool lost = c->other == NULL || c->other->closed || host_of(c)->isolated;
    if (lost) free(p);
    else push(c->other, p);
    c->stalled = !lost && c->other->in_bytes > WINDOW;
    bool later = !c->stalled && pf_sim_random(&w->sim) % TO_BE_SENT_LATER == 0;
    if (!c->stalled && !later) return WF_SEND_DONE;
    c->sending = true;
    c->refs++;
    if (later) arm(c, &c->sent, wf_sim_now(w) + wf_sim_delay(w));
    return WF_SEND_LATER;
}

/* ---- Connecting ------------------------------------------------------------------------------------------------ */

static void on_connect(struct wf_worker *none, struct wf_timer *t);

static struct memory_conn *conn_new(struct wf_memory_carrier *k, void *tag, unsigned peer)
{
    struct memory_conn *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->base.carrier = &k->base;
    c->base.dial_tag = tag;
    if (k->options.workers != NULL) c->base.worker = k->options.workers->at[0];
    c->base.form = "memory";
    snprintf(c->base.remote, sizeof c->base.remote, "127.0.0.%u:4000", peer + 1);
    c->peer = peer;
    c->refs = 1;
    c->message_max = WF_STRANGER_MESSAGE_MAX;
    wf_list_init(&c->in);
    c->connect.fire = on_connect;
    c->arrive.fire = on_arrive;
    c->sent.fire = on_sent;
    c->resume.fire = on_resume;
    c->down.fire = on_down;
    c->limit.fire = on_limit;
    wf_list_push(&k->conns, &c->in_carrier);
    arm(c, &c->limit, wf_sim_now(k->world) + (tag == NULL ? wf_stranger_time(&k->options) : DIAL_TIME));
    return c;
}

static struct wf_memory_carrier *listener_of(const struct wf_sim_world *w, const char *url, unsigned *peer)
{
    char its[WF_URL_TEXT];
    for (*peer = 0; *peer < WF_SIM_HOSTS; ++*peer) {
        wf_sim_url(*peer, its);
        if (strcmp(its, url) != 0) continue;
        const struct wf_sim_host *h = &w->host[*peer];
        bool open = h->carrier != NULL && !h->isolated && h->carrier->accepting && h->carrier->listening;
        return open ? h->carrier : NULL;
    }
    *peer = 0;
    return NULL;
}

static bool is_cut(const struct wf_sim_world *w, unsigned a, unsigned b)
{
    return wf_sim_now(w) < WF_MAX(w->host[a].cut_by[b], w->host[b].cut_by[a]) || w->host[a].isolated ||
           w->host[b].isolated;
}

static void on_connect(struct wf_worker *none, struct wf_timer *t)
{
    struct memory_conn *c = WF_CONTAINER(t, struct memory_conn, connect), *other;
    struct wf_sim_world *w = world_of(c);
    (void)none;
    if (is_early(c, t) || c->closed) return;
    struct wf_memory_carrier *to = listener_of(w, c->url, &c->peer);
    if (is_cut(w, carrier_of(c)->host, c->peer)) { /* as TCP: repeats after 1, 2, 4 s */
        c->again = c->again == 0 ? WEFT_SEC(1) : 2 * c->again;
        arm(c, t, wf_sim_now(w) + c->again);
    } else if (to == NULL || (other = conn_new(to, NULL, carrier_of(c)->host)) == NULL) {
        conn_close(&c->base, "no process listens there");
    } else {
        c->dialing = false;
        c->other = other;
        other->other = c;
        arm(c, &c->limit, wf_sim_now(w) + wf_stranger_time(&carrier_of(c)->options));
        push_word(other, UP);
        push_word(c, UP);
    }
}

static int carrier_dial(struct wf_carrier *base, const char *url, void *tag, char *why)
{
    struct wf_memory_carrier *k = (struct wf_memory_carrier *)base;
    unsigned peer;
    (void)listener_of(k->world, url, &peer);
    struct memory_conn *c = conn_new(k, tag, peer);
    if (c == NULL || strlen(url) >= sizeof c->url) {
        snprintf(why, WF_REASON_TEXT, "out of memory");
        if (c != NULL) conn_release(&c->base);
        return WEFT_ENOMEM;
    }
    snprintf(c->url, sizeof c->url, "%s", url);
    c->dialing = true;
    arm(c, &c->connect, wf_sim_now(k->world) + wf_sim_delay(k->world));
    return WEFT_OK;
}

static int carrier_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why)
{
    struct wf_memory_carrier *k = (struct wf_memory_carrier *)base;
    char own[WF_URL_TEXT];
    (void)mode;
    wf_sim_url(k->host, own);
    if (strcmp(url, own) != 0 || k->listening) {
        snprintf(why, WF_REASON_TEXT, "this host has %.60s alone", own);
        return WEFT_EADDRESS;
    }
    k->listening = true;
    snprintf(bound, WF_URL_TEXT, "%s", url);
    return WEFT_OK;
}

static void carrier_accept(struct wf_carrier *base)
{
    ((struct wf_memory_carrier *)base)->accepting = true;
}

static void carrier_unlisten(struct wf_carrier *base)
{
    ((struct wf_memory_carrier *)base)->listening = false;
}

static void carrier_destroy(struct wf_carrier *base)
{
    struct wf_memory_carrier *k = (struct wf_memory_carrier *)base;
    if (k == NULL) return;
    k->listening = false;
    WF_LIST_EACH(at, &k->conns)
        conn_close(&WF_CONTAINER(at, struct memory_conn, in_carrier)->base, "this node stops");
    while (!wf_list_empty(&k->conns)) WF_ASSERT(k->world->sim.go_on(&k->world->sim, WEFT_FOREVER));
    if (k->world->host[k->host].carrier == k) k->world->host[k->host].carrier = NULL;
    free(k);
}

void wf_carrier_memory_reset(struct wf_memory_carrier *k, unsigned peer)
{
    WF_LIST_EACH(at, &k->conns) {
        struct memory_conn *c = WF_CONTAINER(at, struct memory_conn, in_carrier);
        if (c->other == NULL || c->closed || (peer != WF_SIM_HOSTS && c->peer != peer)) continue;
        if (!c->other->closed) push_word(c->other, RESET);
        push_word(c, RESET);
        c->other->other = NULL;
        c->other = NULL;
    }
}

static const struct wf_carrier_ops ops = {carrier_listen,   carrier_accept,  carrier_dial, conn_send,
                                          conn_resume,      conn_trust,      conn_close,   conn_release,
                                          carrier_unlisten, carrier_destroy, NULL};

struct wf_carrier *wf_carrier_memory(struct wf_sim_world *w, unsigned host, const struct wf_carrier_options *options)
{
    struct wf_memory_carrier *k = calloc(1, sizeof *k);
    if (k == NULL) return NULL;
    k->base.ops = &ops;
    k->options = *options;
    k->world = w;
    k->host = host;
    wf_list_init(&k->conns);
    return &k->base;
}
