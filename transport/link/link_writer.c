/* transport/link/link_writer.c -- a worker's link writers, and the route functions that the actor layer calls.
 * Everything here but the posting functions runs on the worker's thread. */
#include "link_writer.h"
#include "large_message.h"
#include "frame_chunks.h"
#include "fatal.h"
#include "frame_tables.h"
#include "hash.h"
#include "held_batches.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "publish_report.h"
#include "peer_link.h"
#include "table_sync.h"
#include "topics.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

#define CREDITS_AT_ONCE WF_LIMIT("credit: entries cleared in a turn", 1024, 1)

/* ---- Finding a writer ------------------------------------------------------------------------------------------ */

static struct wf_link_writers *writers_of(struct wf_worker *w)
{
    return w->transport;
}

static uint32_t node_hash(const struct wf_link_writers *all, uint64_t incarnation)
{
    return (uint32_t)wf_mix(incarnation ^ all->t->node->secret);
}

static struct wf_link_writer *find(struct wf_link_writers *all, uint64_t incarnation)
{
    if (all->last != NULL && all->last->incarnation == incarnation) return all->last;
    WF_HASHED_WITH(e, &all->nodes, node_hash(all, incarnation))
    {
        struct wf_link_writer *writer = WF_CONTAINER(e, struct wf_link_writer, by_incarnation);
        if (writer->incarnation == incarnation) return all->last = writer;
    }
    return NULL;
}

static struct wf_link_writer *writer_of(struct wf_link_writers *all, const struct wf_link *l)
{
    WF_HASHED_WITH(e, &all->nodes, node_hash(all, l->incarnation))
    {
        struct wf_link_writer *writer = WF_CONTAINER(e, struct wf_link_writer, by_incarnation);
        if (writer->link == l) return writer;
    }
    return NULL;
}

static uint32_t name_hash(const struct wf_link_writers *all, const char *name, size_t size)
{
    return wf_hash(name, size, all->t->node->secret);
}

static struct wf_link_writer *find_name(struct wf_link_writers *all, const char *name, size_t size)
{
    WF_HASHED_WITH(e, &all->names, name_hash(all, name, size))
    {
        struct wf_link_writer *writer = WF_CONTAINER(e, struct wf_link_writer, by_name);
        const char *other = writer->link->name;
        if (strlen(other) == size && memcmp(other, name, size) == 0) return writer;
    }
    return NULL;
}

/* Whether there is no writer, or its link has ended and the worker has not been notified yet. */
static bool is_gone(const struct wf_link_writer *writer)
{
    return writer == NULL || atomic_load_explicit(&writer->link->closed, memory_order_relaxed);
}

/* Posted to a worker: it opens this writer. */
struct opening {
    struct wf_call call;
    struct wf_link *link;
    struct wf_link_writer *writer;
};

static void writer_free(struct wf_link_writer *writer)
{
    WF_ASSERT(!wf_linked(&writer->in_writers) && wf_list_empty(&writer->waiting));
    for (struct wf_list_node *k; (k = wf_list_pop(&writer->changes)) != NULL;)
        wf_interest_change_free(WF_CONTAINER(k, struct wf_interest_change, in_list));
    wf_credits_finish(&writer->credits);
    wf_interest_finish(&writer->interest);
    wf_link_release(writer->link);
    free(writer->batch);
    free(writer);
}

static struct wf_link_writer *writer_new(struct wf_link *l)
{
    struct wf_link_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return NULL;
    writer->link = l;
    writer->incarnation = l->incarnation;
    wf_interest_init(&writer->interest, l->t->node->secret);
    wf_list_init(&writer->changes);
    wf_list_init(&writer->waiting);
    wf_credits_init(&writer->credits, wf_link_can(l, WF_CAN_CREDIT), l->t->node->secret);
    wf_link_keep(l);
    return writer;
}

/* False: no memory; nothing has changed. */
static bool add_writer(struct wf_link_writers *all, struct wf_link_writer *writer)
{
    const struct wf_link *l = writer->link;
    WF_ASSERT(writer_of(all, l) == NULL);
    if (!wf_hash_table_add(&all->nodes, &writer->by_incarnation, node_hash(all, writer->incarnation))) return false;
    if (!l->client && !wf_hash_table_add(&all->names, &writer->by_name, name_hash(all, l->name, strlen(l->name)))) {
        wf_hash_table_remove(&all->nodes, &writer->by_incarnation);
        return false;
    }
    wf_list_push(&all->writers, &writer->in_writers);
    return true;
}

/* Takes the writer out of the tables and the list. */
static void remove_writer(struct wf_link_writers *all, struct wf_link_writer *writer)
{
    WF_ASSERT(wf_linked(&writer->in_writers));
    if (all->last == writer) all->last = NULL;
    wf_hash_table_remove(&all->nodes, &writer->by_incarnation);
    if (!writer->link->client) wf_hash_table_remove(&all->names, &writer->by_name);
    wf_unlink(&writer->in_writers);
}

/* An actor here has found an actor of the peer before this worker was told of the link: table_sync.h (6). */
static struct wf_link_writer *open_early(struct wf_link_writers *all, uint64_t incarnation)
{
    struct wf_link *l = wf_tables_link(all->t, incarnation);
    if (l == NULL) return NULL;
    WF_SOMETIMES("link: an actor sends before its worker has opened a writer", true);
    struct wf_link_writer *writer = writer_new(l);
    if (writer != NULL && !add_writer(all, writer)) {
        writer_free(writer);
        writer = NULL;
    }
    wf_link_release(l);
    return writer;
}

static inline struct wf_link_writer *writer_to(struct wf_link_writers *all, uint64_t incarnation)
{
    struct wf_link_writer *writer = find(all, incarnation);
    return WF_LIKELY(writer != NULL) ? writer : open_early(all, incarnation);
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static bool is_full(const struct wf_link_writer *writer)
{
    size_t here = writer->batch == NULL ? 0 : writer->batch->size;
    return here + atomic_load_explicit(&writer->link->bytes, memory_order_relaxed) >= WF_SEND_QUEUE_MAX;
}

void wf_link_writer_push(struct wf_link_writer *writer)
{
    wf_worker_before_batches(wf_here);
    struct wf_batch *b = writer->batch;
    writer->batch = NULL;
    if (b != NULL) wf_link_push(writer->link, b);
}

/* Makes space for a frame of `size` bytes in the writer's batch. False: no memory. */
static bool reserve(struct wf_link_writer *writer, size_t size)
{
    if (writer->batch != NULL && writer->batch->capacity - writer->batch->size < size) wf_link_writer_push(writer);
    if (writer->batch == NULL) writer->batch = wf_batch_new(writer->link, size);
    return writer->batch != NULL;
}

static void commit(struct wf_link_writers *all, struct wf_link_writer *writer, const weft_writer *w)
{
    WF_ASSERT(w->error == 0);
    writer->batch->size += w->size;
    writer->batch->frames++;
    if (!writer->dirty) {
        writer->dirty = true;
        writer->next_dirty = all->dirty;
        all->dirty = writer;
    }
    if (writer->batch->size >= WF_BATCH_BYTES - WF_BATCH_BYTES / 8) wf_link_writer_push(writer);
}

struct wf_link_writer *wf_link_writer_find(struct wf_worker *w, uint64_t peer)
{
    return find(writers_of(w), peer);
}

struct wf_link_writer *wf_link_writer_of(struct wf_worker *w, const struct wf_link *l)
{
    return writer_of(writers_of(w), l);
}

bool wf_link_writer_request_credit(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key,
                                   const char *name, uint32_t number)
{
    static const uint8_t none[4];
    weft_text to = weft_cstr(name);
    uint64_t here = (uint64_t)all->worker << 24 | 1; /* stands for this worker; no actor has this id */
    if (wf_link_holds(writer->link, wf_order_slot_to(key))) {
        struct wf_frame f;
        wf_frame_describe(&f,
                          name != NULL ? (uint32_t)WF_FRAME_CREDIT_REQUEST_NAME : wf_frame_of(WF_MSG_CREDIT_REQUEST),
                          to, number, here);
        f.to = f.ref = key;
        return wf_large_message_request_credit(writer, &f);
    }
    if (!reserve(writer, WF_FRAME_SPARE + to.size)) return false;
    weft_writer out = wf_batch_writer(writer->batch);
    if (name != NULL) wf_put_credit_request_name(&out, to, here, number, key);
    else wf_put_to_actor(&out, WF_MSG_CREDIT_REQUEST, key, here, number, key, none, sizeof none, 0);
    commit(all, writer, &out);
    return true;
}

static uint64_t from_of(const struct wf_worker *w, weft_pid from)
{
    return from.node == wf_node_of(w)->incarnation ? from.actor : 0;
}

/* The credit for that actor, or name; NULL: the peer grants none, so nothing is counted. */
static inline struct wf_credit *credit_of(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key,
                                          const char *name)
{
    struct wf_credits *c = &writer->credits;
    if (WF_UNLIKELY(!c->on)) return NULL;
    return WF_LIKELY(c->last != NULL && c->last->key == key) ? c->last : wf_credit_find(all, writer, key, name);
}

static int route_send(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    struct wf_link_writers *all = writers_of(w);
    struct wf_link_writer *writer = writer_to(all, to.node);
    if (is_gone(writer)) return WEFT_ENONODE;
    unsigned kind = m->post.flags;
    bool system = kind != WF_MSG_SEND && kind != WF_MSG_CALL && kind != WF_MSG_SPAWN;
    if (!system && is_full(writer)) return WEFT_EFULL;
    struct wf_credit *c = system || kind == WF_MSG_SPAWN ? NULL : credit_of(all, writer, to.actor, NULL);
    if (c != NULL && c->left <= 0) return WEFT_EFULL;
    uint32_t size = m->size;
    uint64_t from = from_of(w, m->from);
    int rc = WEFT_OK;
    if (wf_goes_apart(writer, from, size, m->shared) && kind != WF_MSG_CREDIT) {
        rc = wf_large_message_send(writer, wf_frame_of((enum wf_msg_kind)kind), weft_str("", 0), to.actor, from, m);
        if (rc < 0) return rc;
    } else {
        if (!reserve(writer, WF_FRAME_SPARE + size)) return WEFT_ENOMEM;
        weft_writer out = wf_batch_writer(writer->batch);
        wf_put_to_actor(&out, kind, to.actor, from, m->post.word, wf_link_ref(writer->link, m), wf_msg_bytes(m), size,
                        wf_time_left(m));
        commit(all, writer, &out);
    }
    if (c != NULL) wf_credit_take(all, writer, c, size);
    return rc;
}

static int route_send_name(struct wf_worker *w, const char *node, size_t node_size, const char *name, weft_msg *m,
                           uint64_t *peer)
{
    struct wf_link_writers *all = writers_of(w);
    struct wf_link_writer *writer = find_name(all, node, node_size);
    if (is_gone(writer)) return WEFT_ENONODE;
    *peer = writer->incarnation;
    if (is_full(writer)) return WEFT_EFULL;
    struct wf_credit *c = writer->credits.on ? credit_of(all, writer, wf_credit_name(name), name) : NULL;
    if (c != NULL && c->left <= 0) return WEFT_EFULL;
    weft_text to = weft_cstr(name);
    uint32_t size = m->size;
    uint64_t from = from_of(w, m->from);
    bool call = m->post.flags == WF_MSG_CALL;
    int rc = WEFT_OK;
    if (wf_goes_apart(writer, from, size, m->shared)) {
        rc = wf_large_message_send(writer, call ? WF_FRAME_CALL_NAME : WF_FRAME_SEND_NAME, to, wf_credit_name(name),
                                   from, m);
        if (rc < 0) return rc;
    } else {
        if (!reserve(writer, WF_FRAME_SPARE + to.size + size)) return WEFT_ENOMEM;
        weft_writer out = wf_batch_writer(writer->batch);
        wf_put_to_name(&out, call, to, from, m->post.word, wf_link_ref(writer->link, m), wf_msg_bytes(m), size,
                       wf_time_left(m));
        commit(all, writer, &out);
    }
    if (c != NULL) wf_credit_take(all, writer, c, size);
    return rc;
}

static uint64_t route_find(struct wf_worker *w, const char *name, size_t size, bool *spawns)
{
    const struct wf_link_writer *writer = find_name(writers_of(w), name, size);
    if (is_gone(writer)) return 0;
    *spawns = wf_link_can(writer->link, WF_CAN_SPAWN);
    return writer->incarnation;
}

static bool lose(struct wf_link_writers *all)
{
    atomic_fetch_add_explicit(&all->t->dropped_full, 1, memory_order_relaxed);
    return false;
}

static __attribute__((noinline)) int send_body_apart(struct wf_link_writer *writer, enum wf_frame_kind kind,
                                                     weft_text name, uint64_t from, uint32_t tag,
                                                     struct wf_body *body)
{
    struct wf_frame f;
    wf_frame_describe(&f, kind, name, tag, from);
    return wf_large_message_send_body(writer, &f, body);
}

static inline int send_body(struct wf_link_writers *all, struct wf_link_writer *writer, enum wf_frame_kind kind,
                            weft_text name, uint64_t from, uint32_t tag, struct wf_body *body)
{
    if (is_full(writer)) return WEFT_EFULL;
    if (wf_goes_apart(writer, from, body->size, body)) return send_body_apart(writer, kind, name, from, tag, body);
    if (!reserve(writer, WF_FRAME_SPARE + name.size + body->size)) return WEFT_ENOMEM;
    weft_writer out = wf_batch_writer(writer->batch);
    wf_put_to_all(&out, kind, name, from, tag, wf_body_bytes(body), body->size);
    commit(all, writer, &out);
    return WEFT_OK;
}

struct missing {
    struct wf_link_writers *all;
    struct wf_link_writer *writer;
};

static bool send_one_missed(weft_text pattern, uint64_t lost, void *arg)
{
    struct wf_link_writers *all = ((struct missing *)arg)->all;
    struct wf_link_writer *writer = ((struct missing *)arg)->writer;
    if (is_full(writer) || !reserve(writer, WF_FRAME_SPARE + pattern.size)) return false;
    weft_writer out = wf_batch_writer(writer->batch);
    WF_SOMETIMES("topics: subscribers on another node are notified of lost publications", true);
    wf_put_missed(&out, pattern, lost);
    commit(all, writer, &out);
    return true;
}

/* Sends MISSED behind the earlier publications, as soon as there is space: now, or in wf_link_writers_on_space. */
static void send_missed(struct wf_link_writers *all, struct wf_link_writer *writer)
{
    struct missing missing = {all, writer};
    if (!wf_interest_has_lost(&writer->interest) || !wf_link_has_space(writer->link, all->worker)) return;
    if (!wf_interest_take_lost(&writer->interest, send_one_missed, &missing))
        (void)wf_link_has_space(writer->link, all->worker);
}

/* A publication to all subscribers of the peer is lost; they will be told how many were. */
static bool lose_plain(struct wf_link_writers *all, struct wf_link_writer *writer, weft_text topic)
{
    if (wf_link_shares_topics(writer->link)) {
        WF_SOMETIMES("topics: a publication is lost because the link is full", is_full(writer));
        wf_interest_lose(&writer->interest, topic);
        send_missed(all, writer); /* there may be space: perhaps only memory was missing */
    }
    return lose(all);
}

/* To all subscribers of the peer. */
static inline bool publish_plain(struct wf_worker *w, struct wf_link_writer *writer, weft_text topic,
                                 struct wf_body *body)
{
    struct wf_link_writers *all = writers_of(w);
    int rc = send_body(all, writer, WF_FRAME_PUBLISH, topic, from_of(w, body->from), body->tag, body);
    return WF_LIKELY(rc == WEFT_OK) || lose_plain(all, writer, topic);
}

/* Only the first of several frames is for plain subscriptions, too. */
static bool lose_some(struct wf_link_writers *all, struct wf_link_writer *writer, const struct wf_publish_to *to)
{
    return (to->flags & WF_PUBLISH_PLAIN) != 0 ? lose_plain(all, writer, to->topic) : lose(all);
}

/* To the queue groups for which this peer was chosen, and if `plain`, to all plain subscribers there as well. */
static bool publish_to(struct wf_worker *w, struct wf_link_writer *writer, struct wf_publish_to *to, bool plain)
{
    struct wf_link_writers *all = writers_of(w);
    to->node = writer->incarnation;
    to->skip = 0;
    to->flags = plain ? WF_PUBLISH_PLAIN : 0;
    for (to->count = WF_PUBLISH_QUEUES; to->count == WF_PUBLISH_QUEUES;
         to->skip += to->count, to->flags = 0, to->ref = 0) {
        size_t size = wf_publish_to_size(to);
        WF_ASSERT(to->count <= WF_PUBLISH_QUEUES);
        if (to->count == 0 && to->flags == 0) break;
        if (is_full(writer)) return lose_some(all, writer, to);
        if (wf_goes_apart(writer, to->from.actor, size, NULL)) {
            if (!wf_large_message_publish_to(writer, to, size)) return lose_some(all, writer, to);
            continue;
        }
        if (!reserve(writer, size)) return lose_some(all, writer, to);
        weft_writer out = wf_batch_writer(writer->batch);
        wf_put_publish_to(&out, to);
        commit(all, writer, &out);
    }
    return true;
}

static bool is_chosen(const struct wf_chosen *c, uint64_t node)
{
    while (c != NULL && c->node != node) c = c->next;
    return c != NULL;
}

/* Whether subscribers of the peer, other than queue groups, must be sent it. Adds the peer to `*sent` if it was sent it
 * as a retained message. */
static inline bool wants_plain(struct wf_link_writer *writer, const struct wf_body *body, uint64_t topic, int *sent)
{
    bool plain = writer->interest.count > 0 &&
                 wf_interest_matches_topic(&writer->interest, wf_body_topic_text(body), topic);
    if (WF_LIKELY(body->retained == 0 || !wf_link_shares_topics(writer->link))) return plain;
    *sent += plain;
    return false;
}

/* With queue groups for which peers were chosen, or for a publisher that wants a report. */
static int publish_to_some(struct wf_worker *w, struct wf_body *body, uint64_t number, const struct wf_chosen *chosen,
                           struct wf_publish_report *reach)
{
    struct wf_link_writers *all = writers_of(w);
    weft_text topic = wf_body_topic_text(body);
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
        if (writer_to(all, c->node) == NULL) (void)lose(all);
    WF_LIST_EACH(k, &all->writers) {
        struct wf_link_writer *writer = WF_CONTAINER(k, struct wf_link_writer, in_writers);
        bool plain = wants_plain(writer, body, number, &sent);
        bool asks = reach != NULL && wf_link_shares_topics(writer->link);
        if ((chosen != NULL && is_chosen(chosen, writer->incarnation)) || (plain && asks)) {
            uint64_t ref = asks ? wf_publish_report_ask(reach, writer->incarnation) : 0;
            to.ref = ref == 0 ? 0 : wf_seal(&writer->link->seal, ref);
            bool ok = publish_to(w, writer, &to, plain);
            if (!ok) wf_publish_report_lost(reach, ref);
            sent += ok;
        } else if (plain) {
            sent += publish_plain(w, writer, topic, body);
            if (reach != NULL) reach->unasked++;
        }
    }
    return sent;
}

static int route_publish(struct wf_worker *w, struct wf_body *body, uint64_t topic, const struct wf_chosen *chosen,
                         struct wf_publish_report *reach)
{
    if (WF_UNLIKELY(chosen != NULL || reach != NULL)) return publish_to_some(w, body, topic, chosen, reach);
    int sent = 0;
    WF_LIST_EACH(k, &writers_of(w)->writers) {
        struct wf_link_writer *writer = WF_CONTAINER(k, struct wf_link_writer, in_writers);
        if (wants_plain(writer, body, topic, &sent)) sent += publish_plain(w, writer, wf_body_topic_text(body), body);
    }
    return sent;
}

static const struct wf_seal *seal_for(struct wf_worker *w, uint64_t node)
{
    const struct wf_link_writer *writer = find(writers_of(w), node);
    if (node == wf_node_of(w)->incarnation) return &writers_of(w)->t->seal;
    return writer == NULL ? NULL : &writer->link->seal;
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
    return writers_of(w)->nodes.count;
}

static bool route_reaches(struct wf_worker *w, uint64_t node)
{
    const struct wf_link_writer *writer = find(writers_of(w), node);
    /* NULL: the worker has not been told of the link yet */
    return writer == NULL || (!is_gone(writer) && !is_full(writer));
}

static int route_send_group(struct wf_worker *w, uint64_t node, weft_text group, uint32_t tag, weft_pid from,
                            struct wf_body *body)
{
    struct wf_link_writers *all = writers_of(w);
    struct wf_link_writer *writer = writer_to(all, node);
    if (is_gone(writer)) return WEFT_ENONODE;
    return send_body(all, writer, WF_FRAME_GROUP_SEND, group, from_of(w, from), tag, body);
}

static void route_flush(struct wf_worker *w)
{
    struct wf_link_writers *all = writers_of(w);
    wf_worker_before_batches(w);
    while (all->dirty != NULL) {
        struct wf_link_writer *writer = all->dirty;
        WF_ASSERT(writer->dirty);
        all->dirty = writer->next_dirty;
        writer->dirty = false;
        wf_link_writer_push(writer);
    }
}

static int route_wait_space(struct wf_worker *w, weft_pid to, const char *name, int64_t deadline)
{
    struct wf_link_writer *writer = find(writers_of(w), to.node);
    WF_ASSERT(writer != NULL); /* the writer has just refused a message, and nothing has run since */
    struct wf_link *l = writer->link;
    uint64_t key = name == NULL ? to.actor : wf_credit_name(name);
    struct wf_credit *c = wf_credit_known(&writer->credits, key);
    if (c != NULL && c->left <= 0) return wf_credit_wait(w, writer, c, deadline);
    if (wf_link_has_space(l, w->index)) return WEFT_OK;
    wf_link_writer_push(writer);
    WF_SOMETIMES("link: a sender waits for space", true);
    WF_SOMETIMES("link: a sender waits for space while there is no connection", l->channel == NULL);
    struct wf_waiter waiter = {.task = wf_task_self()};
    wf_list_push(&writer->waiting, &waiter.on_source);
    int r = wf_task_wait(deadline, "space in a send queue");
    wf_unlink(&waiter.on_source);
    WF_SOMETIMES("link: a sender gives up waiting for space", r < 0);
    if (r < 0) wf_credit_pass_on(w, to.node, key); /* other senders may wait until this one has used its credit */
    return (int)wf_task_finish_wait(r);
}

static int route_watch_nodes(struct wf_worker *w, weft_pid who, bool all)
{
    struct wf_cluster_event *e = wf_cluster_event_new(WF_CLUSTER_EVENT_WATCH, NULL, NULL, 0);
    if (e == NULL) return WEFT_ENOMEM;
    e->pid = who;
    e->number = all;
    wf_cluster_event_post(wf_transport_of(w), e);
    return WEFT_OK;
}

/* When $cluster has ended, weft_node_stop continues. Before that, neither it nor $node ends but for a lack of memory, for its
 * stack at first: then no tool, or no node, would reach this node, although its actors live. */
static void route_service_ended(weft_node *node, uint64_t actor)
{
    struct wf_transport *t = node->transport;
    pf_mutex_lock(t->lock);
    const bool is_cluster = actor == t->service.actor, is_early = !t->stopping;
    const bool is_needed = is_cluster || actor == t->control.actor;
    if (is_cluster) {
        t->finished = true;
        t->listening = false;
        pf_cond_broadcast(t->changed);
    }
    pf_mutex_unlock(t->lock);
    if (is_needed && is_early)
        wf_cluster_fail(t, "ends",
                        is_cluster ? "its actor $cluster has ended, without which no node reaches it"
                                   : "its actor $node has ended, without which no tool reaches it");
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
                                            .wait_space = route_wait_space,
                                            .granted = wf_credit_route_granted,
                                            .grants = wf_credit_route_grants,
                                            .fault = wf_credit_route_fault,
                                            .flush = route_flush,
                                            .send_group = route_send_group,
                                            .tell = wf_tables_route_tell,
                                            .watch_nodes = route_watch_nodes};

/* ---- Calls that $cluster and the receiving side post to the workers -------------------------------------------- */

/* At most so many, the oldest first. */
static void wake_waiting(struct wf_link_writer *writer, uint32_t most)
{
    for (; most > 0 && !wf_list_empty(&writer->waiting); most--)
        wf_task_wake(WF_CONTAINER(wf_list_pop(&writer->waiting), struct wf_waiter, on_source)->task);
}

void wf_link_writers_on_space(struct wf_worker *w, struct wf_call *c)
{
    WF_ASSERT(w == wf_here);
    struct wf_link *l = WF_CONTAINER(c, struct wf_link_calls, space)->link;
    wf_link_space_taken(l, w->index);
    struct wf_link_writer *writer = find(writers_of(w), l->incarnation);
    if (writer != NULL && writer->link == l) {
        wake_waiting(writer, WF_SPACE_PART);
        send_missed(writers_of(w), writer);
        /* In the next turn, or when there is space again, as those that were woken have perhaps used it up. */
        if (!wf_list_empty(&writer->waiting) && wf_link_has_space(l, w->index)) wf_link_make_turn(l, w->index);
    }
    wf_tables_go_on(l);
    wf_cluster_wake(l->t); /* $cluster may have patterns to send */
    wf_link_release(l);
}

static void opening_free(struct opening *o)
{
    wf_link_release(o->link);
    free(o);
}

static void apply_open(struct wf_worker *w, struct wf_call *call)
{
    struct opening *o = WF_CONTAINER(call, struct opening, call);
    struct wf_link_writers *all = writers_of(w);
    WF_ASSERT(w == wf_here && o->writer->link == o->link);
    if (writer_of(all, o->link) != NULL) { /* open_early */
        writer_free(o->writer);
    } else if (!add_writer(all, o->writer)) {
        writer_free(o->writer);
        wf_link_fail(o->link, "out of memory");
    }
    opening_free(o);
}

/* Wakes some of the tasks that wait at a closed writer, and frees some of its patterns and credit entries, in each
 * turn. */
static void free_some(struct wf_worker *w, struct wf_link_writer *writer)
{
    WF_ASSERT(writer->batch == NULL); /* it is in no table, so it is not used */
    wake_waiting(writer, WF_SPACE_PART);
    bool all = wf_list_empty(&writer->waiting);
    all = wf_credits_clear(&writer->credits, CREDITS_AT_ONCE) && all;
    all = wf_interest_clear(&writer->interest, WF_PATTERNS_AT_ONCE) && all;
    if (!all && wf_timer_arm(w, &writer->more, w->now) >= 0) return;
    wake_waiting(writer, UINT32_MAX); /* none is left, unless there was no memory for the timer */
    wf_unlink(&writer->in_writers);
    writer_free(writer);
}

static void go_on_freeing(struct wf_worker *w, struct wf_timer *t)
{
    free_some(w, WF_CONTAINER(t, struct wf_link_writer, more));
}

static void apply_close(struct wf_worker *w, struct wf_call *call)
{
    struct wf_link *l = WF_CONTAINER(call, struct wf_link_calls, close)->link;
    WF_ASSERT(w == wf_here);
    struct wf_link_writers *all = writers_of(w);
    struct wf_link_writer *writer = writer_of(all, l);
    if (writer != NULL) {
        struct wf_link_writer **at = &all->dirty;
        while (*at != NULL && *at != writer) at = &(*at)->next_dirty;
        if (writer->dirty) *at = writer->next_dirty;
        wf_link_writer_push(writer); /* counts its frames as lost */
        WF_SOMETIMES("link: it ends while senders wait for space", !wf_list_empty(&writer->waiting));
        wf_timer_disarm(w, &writer->more);
        remove_writer(all, writer);
        wf_list_push(&all->closed, &writer->in_writers);
        writer->more.fire = go_on_freeing;
        free_some(w, writer);
    }
    wf_link_release(l);
}

static struct wf_worker *worker_at(const struct wf_link *l, uint32_t i)
{
    return l->t->node->workers.at[i];
}

int wf_link_writers_open(struct wf_link *l)
{
    WF_ASSERT(wf_is_cluster(l->t));
    uint32_t count = l->t->node->workers.count;
    for (uint32_t i = 0; i < count; i++) {
        struct opening *o = calloc(1, sizeof *o);
        if (o == NULL || (o->writer = writer_new(l)) == NULL) {
            free(o);
            return WEFT_ENOMEM;
        }
        o->call = (struct wf_call){.post.kind = WF_POST_CALL, .call = apply_open};
        o->link = l;
        wf_link_keep(l);
        wf_worker_post(worker_at(l, i), &o->call.post);
    }
    return WEFT_OK;
}

void wf_link_writers_close(struct wf_link *l)
{
    WF_ASSERT(wf_is_cluster(l->t));
    for (uint32_t i = 0; i < l->t->node->workers.count; i++) {
        wf_link_keep(l);
        l->calls[i].close = (struct wf_call){.post.kind = WF_POST_CALL, .call = apply_close};
        wf_worker_post(worker_at(l, i), &l->calls[i].close.post);
    }
}

int wf_link_writers_create(struct wf_transport *t)
{
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        struct wf_link_writers *all = calloc(1, sizeof *all);
        if (all == NULL) return WEFT_ENOMEM;
        all->t = t;
        all->worker = i;
        WF_ASSERT(t->node->workers.at[i]->transport == NULL);
        wf_list_init(&all->writers);
        wf_list_init(&all->closed);
        t->node->workers.at[i]->transport = all;
    }
    return WEFT_OK;
}

void wf_link_writers_destroy(struct wf_transport *t)
{
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        struct wf_link_writers *all = t->node->workers.at[i]->transport;
        t->node->workers.at[i]->transport = NULL;
        if (all == NULL) continue;
        for (struct wf_list_node *k;
             (k = wf_list_pop(&all->writers)) != NULL || (k = wf_list_pop(&all->closed)) != NULL;)
            writer_free(WF_CONTAINER(k, struct wf_link_writer, in_writers));
        wf_hash_table_finish(&all->nodes);
        wf_hash_table_finish(&all->names);
        free(all);
    }
}
