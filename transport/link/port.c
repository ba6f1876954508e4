/* transport/link/port.c -- a worker's ways to the peers, and the functions the actor layer calls. Everything here but
 * the posting functions runs on the worker's thread. */
#include "port.h"
#include "bulk.h"
#include "frame_parts.h"
#include "frame_tables.h"
#include "hash.h"
#include "held.h"
#include "news.h"
#include "outbox.h"
#include "publish_report.h"
#include "session.h"
#include "table_sync.h"
#include "topics.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERNS_AT_ONCE = 512, CREDITS_AT_ONCE = 1024 };

/* ---- Finding a port -------------------------------------------------------------------------------------------- */

static struct wf_ports *ports_of(struct wf_worker *w)
{
    return w->transport;
}

static uint32_t node_hash(const struct wf_ports *p, uint64_t incarnation)
{
    return (uint32_t)wf_mix(incarnation ^ p->t->node->secret);
}

static struct wf_port *find(struct wf_ports *p, uint64_t incarnation)
{
    if (p->last != NULL && p->last->incarnation == incarnation) return p->last;
    WF_HASHED_WITH(e, &p->nodes, node_hash(p, incarnation))
    {
        struct wf_port *port = WF_CONTAINER(e, struct wf_port, by_incarnation);
        if (port->incarnation == incarnation) return p->last = port;
    }
    return NULL;
}

static struct wf_port *port_of(struct wf_ports *p, const struct wf_session *s)
{
    WF_HASHED_WITH(e, &p->nodes, node_hash(p, s->incarnation))
    {
        struct wf_port *port = WF_CONTAINER(e, struct wf_port, by_incarnation);
        if (port->session == s) return port;
    }
    return NULL;
}

static uint32_t name_hash(const struct wf_ports *p, const char *name, size_t size)
{
    return wf_hash(name, size, p->t->node->secret);
}

static struct wf_port *find_name(struct wf_ports *p, const char *name, size_t size)
{
    WF_HASHED_WITH(e, &p->names, name_hash(p, name, size))
    {
        struct wf_port *port = WF_CONTAINER(e, struct wf_port, by_name);
        const char *other = port->session->name;
        if (strlen(other) == size && memcmp(other, name, size) == 0) return port;
    }
    return NULL;
}

/* No more can be sent, though $cluster has not said so yet. */
static bool is_gone(const struct wf_port *port)
{
    return port == NULL || atomic_load_explicit(&port->session->closed, memory_order_relaxed);
}

/* A posted change of one worker's ports. */
struct change {
    struct wf_call call;
    struct wf_session *session;
    struct wf_port *port;        /* of an opening */
    struct wf_list_node in_port; /* wf_port.changes */
    uint32_t op, count;          /* of a change of interest: which are still to be made, from `at` on */
    size_t size, at;
    uint8_t data[];
};

static void change_free(struct change *c)
{
    wf_session_release(c->session);
    free(c);
}

static void go_on_applying(struct wf_worker *w, struct wf_timer *t);

static void port_free(struct wf_port *port)
{
    for (struct wf_list_node *k; (k = wf_list_pop(&port->changes)) != NULL;)
        change_free(WF_CONTAINER(k, struct change, in_port));
    wf_credits_finish(&port->credits);
    wf_interest_finish(&port->interest);
    wf_session_release(port->session);
    free(port->batch);
    free(port);
}

static struct wf_port *port_new(struct wf_session *s)
{
    struct wf_port *port = calloc(1, sizeof *port);
    if (port == NULL) return NULL;
    port->session = s;
    port->incarnation = s->incarnation;
    wf_interest_init(&port->interest, s->t->node->secret);
    wf_list_init(&port->changes);
    port->more.fire = go_on_applying;
    wf_list_init(&port->waiting);
    wf_credits_init(&port->credits, wf_session_can(s, WF_CAN_CREDIT), s->t->node->secret);
    wf_session_keep(s);
    return port;
}

/* False: no memory; nothing has changed. */
static bool add_port(struct wf_ports *p, struct wf_port *port)
{
    const struct wf_session *s = port->session;
    if (!wf_hash_table_add(&p->nodes, &port->by_incarnation, node_hash(p, port->incarnation))) return false;
    if (!s->client && !wf_hash_table_add(&p->names, &port->by_name, name_hash(p, s->name, strlen(s->name)))) {
        wf_hash_table_remove(&p->nodes, &port->by_incarnation);
        return false;
    }
    wf_list_push(&p->ports, &port->in_ports);
    return true;
}

/* Nobody finds it any more. */
static void remove_port(struct wf_ports *p, struct wf_port *port)
{
    if (p->last == port) p->last = NULL;
    wf_hash_table_remove(&p->nodes, &port->by_incarnation);
    if (!port->session->client) wf_hash_table_remove(&p->names, &port->by_name);
    wf_unlink(&port->in_ports);
}

/* The worker has not been told of the link yet, though an actor here has found somebody there: see tables.c. */
static struct wf_port *open_early(struct wf_ports *p, uint64_t incarnation)
{
    struct wf_session *s = wf_tables_session(p->t, incarnation);
    if (s == NULL) return NULL;
    struct wf_port *port = port_new(s);
    if (port != NULL && !add_port(p, port)) {
        port_free(port);
        port = NULL;
    }
    wf_session_release(s);
    return port;
}

static inline struct wf_port *port_to(struct wf_ports *p, uint64_t incarnation)
{
    struct wf_port *port = find(p, incarnation);
    return WF_LIKELY(port != NULL) ? port : open_early(p, incarnation);
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static bool is_full(const struct wf_port *port)
{
    size_t here = port->batch == NULL ? 0 : port->batch->size;
    return here + atomic_load_explicit(&port->session->bytes, memory_order_relaxed) >= WF_OUTBOX_MAX;
}

void wf_port_push(struct wf_port *port)
{
    struct wf_batch *b = port->batch;
    port->batch = NULL;
    if (b != NULL) wf_session_push(port->session, b);
}

/* Room for a frame of `size` bytes in the port's batch. */
static bool reserve(struct wf_port *port, size_t size)
{
    if (port->batch != NULL && port->batch->capacity - port->batch->size < size) wf_port_push(port);
    if (port->batch == NULL) port->batch = wf_batch_new(port->session, size);
    return port->batch != NULL;
}

static void commit(struct wf_ports *p, struct wf_port *port, const weft_writer *w)
{
    WF_ASSERT(w->error == 0);
    port->batch->size += w->size;
    port->batch->frames++;
    if (!port->dirty) {
        port->dirty = true;
        port->next_dirty = p->dirty;
        p->dirty = port;
    }
    if (port->batch->size >= WF_BATCH_BYTES - WF_BATCH_BYTES / 8) wf_port_push(port);
}

struct wf_port *wf_port_find(struct wf_worker *w, uint64_t peer)
{
    return find(ports_of(w), peer);
}

bool wf_port_say_want(struct wf_ports *p, struct wf_port *port, uint64_t key, const char *name, uint32_t number)
{
    static const uint8_t none[4];
    weft_text to = weft_cstr(name);
    uint64_t here = (uint64_t)p->worker << 24 | 1; /* no actor's id, of this worker */
    if (wf_session_holds(port->session, wf_order_slot_to(key))) {
        struct wf_frame f;
        wf_frame_describe(&f, name != NULL ? (uint32_t)WF_FRAME_WANT_NAME : wf_frame_of(WF_MSG_WANT), to, number,
                          here);
        f.to = f.ref = key;
        return wf_bulk_want(port, &f);
    }
    if (!reserve(port, WF_FRAME_SPARE + to.size)) return false;
    weft_writer out = wf_batch_writer(port->batch);
    if (name != NULL) wf_put_want_name(&out, to, here, number, key);
    else wf_put_to_actor(&out, WF_MSG_WANT, key, here, number, key, none, sizeof none, 0);
    commit(p, port, &out);
    return true;
}

static uint64_t from_of(const struct wf_worker *w, weft_pid from)
{
    return from.node == wf_node_of(w)->incarnation ? from.actor : 0;
}

/* What may be sent to that actor, or name; NULL: that is not counted. */
static inline struct wf_credit *credit_of(struct wf_ports *p, struct wf_port *port, uint64_t key, const char *name)
{
    struct wf_credits *c = &port->credits;
    if (WF_UNLIKELY(!c->on)) return NULL;
    return WF_LIKELY(c->last != NULL && c->last->key == key) ? c->last : wf_credit_find(p, port, key, name);
}

static int route_send(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    struct wf_ports *p = ports_of(w);
    struct wf_port *port = port_to(p, to.node);
    if (is_gone(port)) return WEFT_ENONODE;
    unsigned kind = m->post.flags;
    bool system = kind != WF_MSG_SEND && kind != WF_MSG_CALL && kind != WF_MSG_SPAWN;
    if (!system && is_full(port)) return WEFT_EFULL;
    struct wf_credit *c = system || kind == WF_MSG_SPAWN ? NULL : credit_of(p, port, to.actor, NULL);
    if (c != NULL && c->left <= 0) return WEFT_EFULL;
    uint32_t size = m->size;
    uint64_t from = from_of(w, m->from);
    int rc = WEFT_OK;
    if (wf_goes_apart(port, from, size, m->shared) && kind != WF_MSG_GRANT) {
        rc = wf_bulk_send(port, wf_frame_of((enum wf_msg_kind)kind), weft_str("", 0), to.actor, from, m);
        if (rc < 0) return rc;
    } else {
        if (!reserve(port, WF_FRAME_SPARE + size)) return WEFT_ENOMEM;
        weft_writer out = wf_batch_writer(port->batch);
        wf_put_to_actor(&out, kind, to.actor, from, m->post.word, wf_session_ref(port->session, m), wf_msg_bytes(m),
                        size, wf_time_left(m));
        commit(p, port, &out);
    }
    if (c != NULL) wf_credit_take(p, port, c, size);
    return rc;
}

static int route_send_name(struct wf_worker *w, const char *node, size_t node_size, const char *name, weft_msg *m,
                           uint64_t *peer)
{
    struct wf_ports *p = ports_of(w);
    struct wf_port *port = find_name(p, node, node_size);
    if (is_gone(port)) return WEFT_ENONODE;
    *peer = port->incarnation;
    if (is_full(port)) return WEFT_EFULL;
    struct wf_credit *c = port->credits.on ? credit_of(p, port, wf_credit_name(name), name) : NULL;
    if (c != NULL && c->left <= 0) return WEFT_EFULL;
    weft_text to = weft_cstr(name);
    uint32_t size = m->size;
    uint64_t from = from_of(w, m->from);
    bool call = m->post.flags == WF_MSG_CALL;
    int rc = WEFT_OK;
    if (wf_goes_apart(port, from, size, m->shared)) {
        rc = wf_bulk_send(port, call ? WF_FRAME_CALL_NAME : WF_FRAME_SEND_NAME, to, wf_credit_name(name), from, m);
        if (rc < 0) return rc;
    } else {
        if (!reserve(port, WF_FRAME_SPARE + to.size + size)) return WEFT_ENOMEM;
        weft_writer out = wf_batch_writer(port->batch);
        wf_put_to_name(&out, call, to, from, m->post.word, wf_session_ref(port->session, m), wf_msg_bytes(m), size,
                       wf_time_left(m));
        commit(p, port, &out);
    }
    if (c != NULL) wf_credit_take(p, port, c, size);
    return rc;
}

static uint64_t route_find(struct wf_worker *w, const char *name, size_t size, bool *spawns)
{
    const struct wf_port *port = find_name(ports_of(w), name, size);
    if (is_gone(port)) return 0;
    *spawns = wf_session_can(port->session, WF_CAN_SPAWN);
    return port->incarnation;
}

static bool lose(struct wf_ports *p)
{
    atomic_fetch_add_explicit(&p->t->dropped_full, 1, memory_order_relaxed);
    return false;
}

static int send_body(struct wf_ports *p, struct wf_port *port, struct wf_frame *f, struct wf_body *body)
{
    if (is_full(port)) return WEFT_EFULL;
    if (wf_goes_apart(port, f->from, body->size, body)) return wf_bulk_send_body(port, f, body);
    if (!reserve(port, WF_FRAME_SPARE + f->name.size + body->size)) return WEFT_ENOMEM;
    weft_writer out = wf_batch_writer(port->batch);
    wf_put_to_all(&out, (enum wf_frame_kind)f->kind, f->name, f->from, f->tag, wf_body_bytes(body), body->size);
    commit(p, port, &out);
    return WEFT_OK;
}

struct missing {
    struct wf_ports *p;
    struct wf_port *port;
};

static bool say_one_missed(weft_text pattern, uint64_t lost, void *arg)
{
    struct wf_ports *p = ((struct missing *)arg)->p;
    struct wf_port *port = ((struct missing *)arg)->port;
    if (is_full(port) || !reserve(port, WF_FRAME_SPARE + pattern.size)) return false;
    weft_writer out = wf_batch_writer(port->batch);
    wf_put_missed(&out, pattern, lost);
    commit(p, port, &out);
    return true;
}

/* Behind what has been published before, as soon as there is room: here, or in wf_ports_room_made. */
static void say_missed(struct wf_ports *p, struct wf_port *port)
{
    struct missing missing = {p, port};
    if (!wf_interest_has_lost(&port->interest) || !wf_session_has_room(port->session, p->worker)) return;
    if (!wf_interest_take_lost(&port->interest, say_one_missed, &missing))
        (void)wf_session_has_room(port->session, p->worker);
}

/* A publication for all who are interested there is lost: they will hear how many were. */
static bool lose_plain(struct wf_ports *p, struct wf_port *port, weft_text topic)
{
    if (wf_session_shares_topics(port->session)) {
        wf_interest_lose(&port->interest, topic);
        say_missed(p, port); /* there may be room: there was no memory */
    }
    return lose(p);
}

/* For everybody who is interested there. */
static bool publish_plain(struct wf_worker *w, struct wf_port *port, weft_text topic, struct wf_body *body)
{
    struct wf_frame f;
    wf_frame_describe(&f, WF_FRAME_PUBLISH, topic, body->tag, from_of(w, body->from));
    return send_body(ports_of(w), port, &f, body) == WEFT_OK || lose_plain(ports_of(w), port, topic);
}

/* The first frame of several is that for plain subscriptions. */
static bool lose_some(struct wf_ports *p, struct wf_port *port, const struct wf_publish_to *to)
{
    return (to->flags & WF_PUBLISH_PLAIN) != 0 ? lose_plain(p, port, to->topic) : lose(p);
}

/* For queue groups that have chosen that peer, and if `plain` for all others as well. */
static bool publish_to(struct wf_worker *w, struct wf_port *port, struct wf_publish_to *to, bool plain)
{
    struct wf_ports *p = ports_of(w);
    to->node = port->incarnation;
    to->skip = 0;
    to->flags = plain ? WF_PUBLISH_PLAIN : 0;
    for (to->count = WF_PUBLISH_QUEUES; to->count == WF_PUBLISH_QUEUES;
         to->skip += to->count, to->flags = 0, to->ref = 0) {
        size_t size = wf_publish_to_size(to);
        if (to->count == 0 && to->flags == 0) break;
        if (is_full(port)) return lose_some(p, port, to);
        if (wf_goes_apart(port, to->from.actor, size, NULL)) {
            if (!wf_bulk_publish_to(port, to, size)) return lose_some(p, port, to);
            continue;
        }
        if (!reserve(port, size)) return lose_some(p, port, to);
        weft_writer out = wf_batch_writer(port->batch);
        wf_put_publish_to(&out, to);
        commit(p, port, &out);
    }
    return true;
}

static bool is_chosen(const struct wf_chosen *c, uint64_t node)
{
    while (c != NULL && c->node != node) c = c->next;
    return c != NULL;
}

static int route_publish(struct wf_worker *w, struct wf_body *body, const struct wf_chosen *chosen,
                         struct wf_reach *reach)
{
    struct wf_ports *p = ports_of(w);
    weft_text topic = weft_cstr(wf_body_topic(body));
    uint8_t trace[WF_FRAME_TRACE];
    int sent = 0;
    struct wf_publish_to to = {.topic = topic,
                               .from = {0, from_of(w, body->from)},
                               .tag = body->tag,
                               .chosen = chosen,
                               .body = wf_body_bytes(body),
                               .size = body->size,
                               .trace = wf_frame_trace_of(body, trace)};
    for (const struct wf_chosen *c = chosen; c != NULL; c = c->next)
        if (port_to(p, c->node) == NULL) (void)lose(p);
    WF_LIST_EACH(k, &p->ports) {
        struct wf_port *port = WF_CONTAINER(k, struct wf_port, in_ports);
        bool plain = port->interest.count > 0 && wf_interest_matches(&port->interest, topic);
        if (WF_UNLIKELY(body->retained != 0) && wf_session_shares_topics(port->session)) {
            sent += plain; /* it has it already */
            plain = false;
        }
        bool asks = reach != NULL && wf_session_shares_topics(port->session);
        if ((chosen != NULL && is_chosen(chosen, port->incarnation)) || (plain && asks)) {
            uint64_t ref = asks ? wf_reach_ask(reach, port->incarnation) : 0;
            to.ref = ref == 0 ? 0 : wf_seal(&port->session->seal, ref);
            bool ok = publish_to(w, port, &to, plain);
            if (!ok) wf_reach_lost(reach, ref);
            sent += ok;
        } else if (plain) {
            sent += publish_plain(w, port, topic, body);
            if (reach != NULL) reach->unasked++;
        }
    }
    return sent;
}

static const struct wf_seal *seal_for(struct wf_worker *w, uint64_t node)
{
    const struct wf_port *port = find(ports_of(w), node);
    if (node == wf_node_of(w)->incarnation) return &ports_of(w)->t->seal;
    return port == NULL ? NULL : &port->session->seal;
}

static uint64_t route_seal(struct wf_worker *w, uint64_t node, uint64_t ref)
{
    const struct wf_seal *s = seal_for(w, node);
    return s == NULL ? 0 : wf_seal(s, ref);
}

static uint64_t route_unseal(struct wf_worker *w, uint64_t node, uint64_t ref)
{
    const struct wf_seal *s = seal_for(w, node);
    return s == NULL ? 0 : wf_unseal(s, ref);
}

static uint32_t route_peers(struct wf_worker *w)
{
    return ports_of(w)->nodes.count;
}

static bool route_reaches(struct wf_worker *w, uint64_t node)
{
    const struct wf_port *port = find(ports_of(w), node);
    /* NULL: the worker has not been told of the link yet */
    return port == NULL || (!is_gone(port) && !is_full(port));
}

static int route_send_group(struct wf_worker *w, uint64_t node, weft_text group, uint32_t tag, weft_pid from,
                            struct wf_body *body)
{
    struct wf_ports *p = ports_of(w);
    struct wf_port *port = port_to(p, node);
    if (is_gone(port)) return WEFT_ENONODE;
    struct wf_frame f;
    wf_frame_describe(&f, WF_FRAME_GROUP_SEND, group, tag, from_of(w, from));
    return send_body(p, port, &f, body);
}

static void route_flush(struct wf_worker *w)
{
    struct wf_ports *p = ports_of(w);
    while (p->dirty != NULL) {
        struct wf_port *port = p->dirty;
        p->dirty = port->next_dirty;
        port->dirty = false;
        wf_port_push(port);
    }
}

static int route_wait_room(struct wf_worker *w, weft_pid to, const char *name, int64_t deadline)
{
    struct wf_port *port = find(ports_of(w), to.node);
    WF_ASSERT(port != NULL); /* it has just refused a message, and nothing has run since */
    struct wf_session *s = port->session;
    uint64_t key = name == NULL ? to.actor : wf_credit_name(name);
    struct wf_credit *c = wf_credit_known(&port->credits, key);
    if (c != NULL && c->left <= 0) return wf_credit_wait(w, port, c, deadline);
    if (wf_session_has_room(s, w->index)) return WEFT_OK;
    wf_port_push(port);
    struct wf_waiter waiter = {.task = wf_task_self()};
    wf_list_push(&port->waiting, &waiter.on_source);
    int r = wf_task_wait(deadline, "outbox");
    wf_unlink(&waiter.on_source);
    if (r < 0) wf_credit_pass_on(w, to.node, key); /* others may have waited for it to use its credit */
    return (int)wf_task_finish_wait(r);
}

static int route_watch_nodes(struct wf_worker *w, weft_pid who, bool all)
{
    struct wf_news *n = wf_news_new(WF_NEWS_WATCH, NULL, NULL, 0);
    if (n == NULL) return WEFT_ENOMEM;
    n->pid = who;
    n->number = all;
    wf_news_post(wf_transport_of(w), n);
    return WEFT_OK;
}

/* When it was $cluster, weft_node_stop goes on. */
static void route_service_ended(weft_node *node, uint64_t actor)
{
    struct wf_transport *t = node->transport;
    pf_mutex_lock(t->lock);
    if (actor == t->service.actor) {
        t->finished = true;
        t->listening = false;
        pf_cond_broadcast(t->changed);
    }
    pf_mutex_unlock(t->lock);
}

const struct wf_route wf_transport_route = {.service_ended = route_service_ended,
                                            .send = route_send,
                                            .send_name = route_send_name,
                                            .find = route_find,
                                            .publish = route_publish,
                                            .seal = route_seal,
                                            .unseal = route_unseal,
                                            .retained = wf_tables_retained,
                                            .reaches = route_reaches,
                                            .peers = route_peers,
                                            .interest = wf_topics_interest,
                                            .wait_room = route_wait_room,
                                            .granted = wf_credit_route_granted,
                                            .grants = wf_credit_route_grants,
                                            .fault = wf_credit_route_fault,
                                            .flush = route_flush,
                                            .send_group = route_send_group,
                                            .tell = wf_tables_route_tell,
                                            .watch_nodes = route_watch_nodes};

/* ---- What $cluster and the carrier tell the workers ------------------------------------------------------------ */

static void wake_all(struct wf_port *port)
{
    for (struct wf_list_node *k; (k = wf_list_pop(&port->waiting)) != NULL;)
        wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

void wf_ports_room_made(struct wf_worker *w, struct wf_call *c)
{
    struct wf_session *s = WF_CONTAINER(c, struct wf_room, call)->session;
    wf_session_room_came(s, w->index);
    struct wf_port *port = find(ports_of(w), s->incarnation);
    if (port != NULL && port->session == s) {
        wake_all(port);
        say_missed(ports_of(w), port);
    }
    wf_tables_go_on(s);
    wf_news_wake(s->t); /* $cluster may have patterns to say */
    wf_session_release(s);
}

static void apply_open(struct wf_worker *w, struct wf_call *call)
{
    struct change *c = WF_CONTAINER(call, struct change, call);
    struct wf_ports *p = ports_of(w);
    if (port_of(p, c->session) != NULL) { /* open_early */
        port_free(c->port);
    } else if (!add_port(p, c->port)) {
        port_free(c->port);
        wf_session_fail(c->session, "out of memory");
    }
    change_free(c);
}

/* A closed port's patterns go as they came, some in each turn; so does what is known of its actors. */
static void free_some(struct wf_worker *w, struct wf_port *port)
{
    bool all = wf_credits_clear(&port->credits, CREDITS_AT_ONCE);
    all = wf_interest_clear(&port->interest, PATTERNS_AT_ONCE) && all;
    if (!all && wf_timer_arm(w, &port->more, w->now) >= 0) return;
    wf_unlink(&port->in_ports);
    port_free(port);
}

static void go_on_freeing(struct wf_worker *w, struct wf_timer *t)
{
    free_some(w, WF_CONTAINER(t, struct wf_port, more));
}

static void apply_close(struct wf_worker *w, struct wf_call *call)
{
    struct wf_session *s = WF_CONTAINER(call, struct wf_room, close)->session;
    struct wf_ports *p = ports_of(w);
    struct wf_port *port = port_of(p, s);
    if (port != NULL) {
        struct wf_port **at = &p->dirty;
        while (*at != NULL && *at != port) at = &(*at)->next_dirty;
        if (port->dirty) *at = port->next_dirty;
        wf_port_push(port); /* counts them as lost */
        wf_timer_disarm(w, &port->more);
        remove_port(p, port);
        wake_all(port);
        wf_list_push(&p->closed, &port->in_ports);
        port->more.fire = go_on_freeing;
        free_some(w, port);
    }
    wf_session_release(s);
}

/* Whether the peer may have one pattern more. */
static bool has_place(const struct wf_port *port)
{
    struct wf_session *s = port->session;
    if (port->interest.count < s->t->patterns_max) return true;
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "too many topic patterns, more than --max-patterns %u of node %s", s->t->patterns_max,
             s->t->node->name);
    wf_session_fail(s, why);
    return false;
}

/* False: nothing more of the change is to be made. */
static bool apply_pattern(struct wf_port *port, const struct change *c, weft_text pattern)
{
    if (c->op == WF_INTEREST_REMOVE) {
        wf_interest_remove(&port->interest, pattern);
        return true;
    }
    if (wf_trie_find(&port->interest.trie, pattern) != NULL) return true;
    if (!has_place(port)) return false;
    if (wf_interest_add(&port->interest, pattern) >= 0) return true;
    wf_session_fail(c->session, "out of memory");
    return false;
}

/* Some of the first change's patterns: a turn of the worker is not to take long, however many are told at once. */
static void apply_some(struct wf_worker *w, struct wf_port *port)
{
    uint32_t left = PATTERNS_AT_ONCE;
    for (struct wf_list_node *k; left > 0 && (k = wf_list_first(&port->changes)) != NULL;) {
        struct change *c = WF_CONTAINER(k, struct change, in_port);
        weft_reader r = weft_reader_on(c->data + c->at, c->size - c->at);
        for (; left > 0 && c->count > 0; left--) {
            c->count--;
            if (!apply_pattern(port, c, weft_get_str(&r))) c->count = 0;
        }
        c->at = c->size - (size_t)(r.end - r.at);
        if (c->count > 0) break;
        wf_unlink(k);
        change_free(c);
    }
    bool more = !wf_list_empty(&port->changes);
    if (more && wf_timer_arm(w, &port->more, w->now) < 0) wf_session_fail(port->session, "out of memory");
}

static void go_on_applying(struct wf_worker *w, struct wf_timer *t)
{
    apply_some(w, WF_CONTAINER(t, struct wf_port, more));
}

/* Changes are made one after the other. */
static void take_interest(struct wf_worker *w, struct wf_call *call)
{
    struct change *c = WF_CONTAINER(call, struct change, call);
    struct wf_port *port = port_of(ports_of(w), c->session);
    if (port == NULL) { /* it was closed meanwhile */
        change_free(c);
        return;
    }
    bool first = wf_list_empty(&port->changes);
    wf_list_push(&port->changes, &c->in_port);
    if (first) apply_some(w, port);
}

static struct change *change_new(struct wf_session *s, void (*apply)(struct wf_worker *, struct wf_call *),
                                 size_t size)
{
    struct change *c = calloc(1, sizeof *c + size);
    if (c == NULL) return NULL;
    c->call = (struct wf_call){.post.kind = WF_POST_CALL, .call = apply};
    c->session = s;
    c->size = size;
    wf_session_keep(s);
    return c;
}

static struct wf_worker *worker_at(const struct wf_session *s, uint32_t i)
{
    return s->t->node->workers.at[i];
}

int wf_ports_open(struct wf_session *s)
{
    uint32_t count = s->t->node->workers.count;
    for (uint32_t i = 0; i < count; i++) {
        struct change *c = change_new(s, apply_open, 0);
        if (c != NULL && (c->port = port_new(s)) == NULL) {
            change_free(c);
            c = NULL;
        }
        if (c == NULL) return WEFT_ENOMEM;
        wf_worker_post(worker_at(s, i), &c->call.post);
    }
    return WEFT_OK;
}

void wf_ports_close(struct wf_session *s)
{
    for (uint32_t i = 0; i < s->t->node->workers.count; i++) {
        wf_session_keep(s);
        s->rooms[i].close = (struct wf_call){.post.kind = WF_POST_CALL, .call = apply_close};
        wf_worker_post(worker_at(s, i), &s->rooms[i].close.post);
    }
}

int wf_ports_interest(struct wf_session *s, struct wf_frame *f)
{
    const uint8_t *data = f->items.at;
    weft_reader r = f->items;
    for (uint32_t i = 0; i < f->count; i++) weft_skip(&r);
    size_t size = (size_t)(r.at - data);
    for (uint32_t i = 0; i < s->t->node->workers.count; i++) {
        struct change *c = change_new(s, take_interest, size);
        if (c == NULL) return WEFT_ENOMEM;
        c->op = (uint32_t)f->number;
        c->count = f->count;
        memcpy(c->data, data, size);
        wf_worker_post(worker_at(s, i), &c->call.post);
    }
    return WEFT_OK;
}

int wf_ports_create(struct wf_transport *t)
{
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        struct wf_ports *p = calloc(1, sizeof *p);
        if (p == NULL) return WEFT_ENOMEM;
        p->t = t;
        p->worker = i;
        wf_list_init(&p->ports);
        wf_list_init(&p->closed);
        t->node->workers.at[i]->transport = p;
    }
    return WEFT_OK;
}

void wf_ports_destroy(struct wf_transport *t)
{
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        struct wf_ports *p = t->node->workers.at[i]->transport;
        t->node->workers.at[i]->transport = NULL;
        if (p == NULL) continue;
        for (struct wf_list_node *k; (k = wf_list_pop(&p->ports)) != NULL || (k = wf_list_pop(&p->closed)) != NULL;)
            port_free(WF_CONTAINER(k, struct wf_port, in_ports));
        wf_hash_table_finish(&p->nodes);
        wf_hash_table_finish(&p->names);
        free(p);
    }
}
