/* transport/link/topics.c -- sends the patterns of this node to its peers, and receives publications: see topics.h. */
#include "topics.h"
#include "channel.h"
#include "frame_tables.h"
#include "inbound_topics.h"
#include "publish_report.h"
#include "topic.h"
#include "transport.h"
#include "names.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "queue_groups.h"
#include "peer_link.h"
#include "table_sync.h"

#include <stdlib.h>
#include <string.h>

/* ---- The patterns of this node --------------------------------------------------------------------------------- */

/* Adds it to all tables that need it, or to none (error). Returns 1 if it is new to one, so that it must be sent. */
static int add_pattern(struct wf_transport *t, weft_text pattern, bool queue)
{
    struct wf_patterns *all = &t->patterns[WF_INTEREST_ALL];
    int of_all = wf_patterns_add(all, pattern);
    int plain = queue || of_all < 0 ? 0 : wf_patterns_add(&t->patterns[WF_INTEREST_PLAIN], pattern);
    if (of_all == 1 && all->table.count > t->patterns_max) plain = plain < 0 ? plain : WEFT_EFULL;
    if (plain == WEFT_EFULL && !queue) (void)wf_patterns_remove(&t->patterns[WF_INTEREST_PLAIN], pattern);
    if (plain < 0) (void)wf_patterns_remove(all, pattern);
    return of_all < 0 ? of_all : plain < 0 ? plain : of_all | plain;
}

static bool remove_pattern(struct wf_transport *t, weft_text pattern, bool queue)
{
    bool of_all = wf_patterns_remove(&t->patterns[WF_INTEREST_ALL], pattern);
    return (!queue && wf_patterns_remove(&t->patterns[WF_INTEREST_PLAIN], pattern)) || of_all;
}

/* ---- Sending them: note (3) ------------------------------------------------------------------------------------ */

/* Per link at a time; then the worker's actors run. */
#define PATTERN_FRAMES WF_LIMIT("topics: frames of patterns in a turn", 4, 1)

/* One frame with patterns that the link has not been sent. NULL: there are none, or there is no memory. */
static struct wf_batch *next_patterns(struct wf_link *l)
{
    struct wf_patterns *p = wf_link_patterns(l);
    struct wf_batch *b = NULL;
    pf_mutex_lock(l->t->lock);
    struct wf_pattern_part part = wf_patterns_next(p, &l->mark, WF_PATTERNS_IN_FRAME, WF_BATCH_BYTES);
    if (part.count > 0) b = wf_batch_new(l, WF_FRAME_SPARE + part.bytes);
    if (b != NULL) {
        weft_writer w = wf_batch_writer(b);
        wf_put_interest(&w, part.add ? WF_INTEREST_ADD : WF_INTEREST_REMOVE, part.count);
        wf_patterns_put(p, &l->mark, &part, &w);
        WF_ASSERT(w.error == 0);
        b->size += w.size;
        b->frames++;
    }
    pf_mutex_unlock(l->t->lock);
    return b;
}

static bool has_patterns_to_send(const struct wf_link *l)
{
    pf_mutex_lock(l->t->lock);
    bool behind = wf_patterns_behind(wf_link_patterns(l), &l->mark);
    pf_mutex_unlock(l->t->lock);
    return behind;
}

enum progress { ALL_SENT, HAS_MORE, MUST_WAIT /* for space or memory */ };

/* With patterns_turn held. */
static enum progress send_some(struct wf_link *l, uint32_t worker)
{
    for (int i = 0; has_patterns_to_send(l); i++) {
        if (i == PATTERN_FRAMES) return HAS_MORE;
        struct wf_batch *b = wf_link_has_space(l, worker) ? next_patterns(l) : NULL;
        WF_SOMETIMES("topics: patterns wait for space in the link", b == NULL);
        if (b == NULL) return MUST_WAIT;
        wf_link_push(l, b);
    }
    return ALL_SENT;
}

static void send_changed(struct wf_worker *w);

bool wf_topics_send_patterns(struct wf_worker *w)
{
    struct wf_transport *t = wf_transport_of(w);
    bool more = false, waits = false;
    pf_mutex_lock(t->patterns_turn);
    for (size_t kind = 0; kind < WF_COUNT(t->patterns); kind++) {
        WF_LIST_EACH(k, &t->patterns[kind].marks) {
            struct wf_pattern_mark *m = WF_CONTAINER(k, struct wf_pattern_mark, on_table);
            enum progress p = send_some(WF_CONTAINER(m, struct wf_link, mark), w->index);
            more = more || p == HAS_MORE;
            waits = waits || p == MUST_WAIT;
        }
    }
    pf_mutex_unlock(t->patterns_turn);
    if (more || waits) w->before_batches = send_changed; /* the rest is sent before any later batch */
    return more;
}

static void send_changed(struct wf_worker *w)
{
    if (wf_topics_send_patterns(w)) wf_cluster_wake(wf_transport_of(w)); /* $cluster sends the rest */
}

/* `most`: a node of an older version closes a link with more patterns than it accepts, and a tool needs few. */
void wf_topics_open(struct wf_link *l)
{
    uint32_t most = l->client ? WF_PATTERNS_TOOL : wf_link_can(l, WF_CAN_PATTERNS) ? UINT32_MAX : WF_PATTERNS_OLD;
    WF_ASSERT(wf_is_cluster(l->t));
    pf_mutex_lock(l->t->patterns_turn);
    pf_mutex_lock(l->t->lock);
    wf_patterns_begin(wf_link_patterns(l), &l->mark, most);
    pf_mutex_unlock(l->t->lock);
    (void)send_some(l, wf_here->index); /* $cluster sends the rest */
    pf_mutex_unlock(l->t->patterns_turn);
}

void wf_topics_close(struct wf_link *l)
{
    pf_mutex_lock(l->t->patterns_turn);
    pf_mutex_lock(l->t->lock);
    wf_patterns_end(wf_link_patterns(l), &l->mark);
    pf_mutex_unlock(l->t->lock);
    pf_mutex_unlock(l->t->patterns_turn);
}

int wf_topics_interest(struct wf_worker *w, const char *pattern, bool add, bool queue)
{
    struct wf_transport *t = wf_transport_of(w);
    weft_text text = weft_cstr(pattern);
    pf_mutex_lock(t->lock);
    int rc = add ? add_pattern(t, text, queue) : (int)remove_pattern(t, text, queue);
    bool told = !wf_list_empty(&t->patterns[0].marks) || !wf_list_empty(&t->patterns[1].marks);
    pf_mutex_unlock(t->lock);
    if (rc > 0 && told) w->before_batches = send_changed;
    return rc < 0 ? rc : WEFT_OK;
}

/* ---- Receiving publications ------------------------------------------------------------------------------------ */

static weft_pid publisher(const struct wf_channel *ch, const struct wf_frame *f)
{
    if (f->from == 0 && f->kind != WF_FRAME_RETAINED) return weft_nobody();
    return (weft_pid){f->to == 0 || f->kind == WF_FRAME_PUBLISH ? ch->incarnation : f->to, f->from};
}

static void pass_on(struct wf_channel *ch, const struct wf_frame *f, uint64_t node, weft_text pattern,
                    weft_text queue)
{
    struct wf_link *l = wf_tables_link(ch->t, node);
    struct wf_chosen chosen = {NULL, node, pattern, queue};
    struct wf_publish_to to = {.topic = f->name,
                               .from = publisher(ch, f),
                               .tag = f->tag,
                               .passed = (uint32_t)f->number + 1,
                               .chosen = &chosen,
                               .node = node,
                               .body = f->body.data,
                               .size = f->body.size,
                               .trace = f->trace};
    size_t size = wf_publish_to_size(&to);
    bool has_space = l != NULL && atomic_load_explicit(&l->bytes, memory_order_relaxed) < WF_SEND_QUEUE_MAX;
    struct wf_batch *b = has_space ? wf_batch_new(l, size) : NULL;
    if (b != NULL) {
        weft_writer w = wf_batch_writer(b);
        wf_put_publish_to(&w, &to);
        wf_link_send(l, b, &w);
    } else {
        wf_link_lost(ch);
    }
    if (l != NULL) wf_link_release(l);
}

/* Returns how many members get the message. */
static uint32_t receive_queues(struct wf_channel *ch, struct wf_frame *f, struct wf_body *body)
{
    uint32_t count = 0;
    bool pass = f->number < WF_PUBLISH_PASSED_MAX;
    for (uint32_t i = 0; i < f->count; i++) {
        weft_text pattern, queue = wf_frame_next_queue(f, &pattern);
        bool taken = false;
        uint64_t next = wf_inbound_queue(ch->t->node, &ch->in, body, pattern, queue, ch->incarnation, pass, &taken);
        if (next != 0) pass_on(ch, f, next, pattern, queue);
        count += taken || next != 0; /* a node to which it is passed on reports nothing, so it counts as one member */
    }
    return count;
}

/* Sends the count to the publisher, if the receiving side is the last to finish counting. */
static void answer(struct wf_channel *ch, struct wf_publish_count *t)
{
    WF_ASSERT(t->to.node == ch->incarnation);
    uint8_t body[4];
    wf_put_u32(body, atomic_load_explicit(&t->count, memory_order_relaxed));
    struct wf_batch *b = wf_batch_new(ch->link, WF_FRAME_SPARE + sizeof body);
    if (b != NULL) {
        weft_writer w = wf_batch_writer(b);
        wf_put_to_actor(&w, WF_MSG_REPLY, t->to.actor, 0, 0, t->ref, body, sizeof body, 0);
        wf_link_send(ch->link, b, &w);
    }
    free(t);
}

static void receive_to(struct wf_channel *ch, struct wf_frame *f, struct wf_body *body)
{
    bool asked = f->ref != 0 && f->from != 0 && f->to == 0 && f->number == 0;
    struct wf_publish_count *t = asked ? wf_publish_count_new((weft_pid){ch->incarnation, f->from}, f->ref) : NULL;
    if ((f->flags & WF_PUBLISH_PLAIN) != 0) wf_inbound_publish(ch->t->node, &ch->in, body, false, t);
    uint32_t count = receive_queues(ch, f, body);
    if (t != NULL && wf_publish_count_done(t, count)) answer(ch, t);
}

/* Warns once per link of a timestamp in the future. */
static void doubt(struct wf_channel *ch, uint64_t stamp, int64_t wall)
{
    if (!ch->link->warned_of_stamp)
        wf_peer_log(
            &ch->t->bursts, wf_transport_now(ch->t), WEFT_WARN,
            "node %s has published with a timestamp that is %.0f s ahead of this node's clock: one of the two "
            "clocks is wrong, and its retained messages may be dropped; from now on they are only counted "
            "(unbelieved)",
            ch->name, (double)(stamp - WF_MIN(stamp, wf_stamp_of(wall))) / 1e6);
    ch->link->warned_of_stamp = true;
}

/* Returns what wf_topics_retain_copy returns. */
static int retain_copy(struct wf_channel *ch, const struct wf_frame *f, struct wf_body *body)
{
    struct wf_transport *t = ch->t;
    const struct wf_retained_now now = {.wall = wf_node_wall(t->node), .time = wf_transport_now(t)};
    const struct wf_retained_copy c = {.body = body,
                                       .stamp = f->number,
                                       .by = f->to == ch->incarnation ? ch->link->retained : NULL,
                                       .live = (f->flags & WF_PUBLISH_PLAIN) != 0,
                                       .gone = (int64_t)WF_MIN(f->ref, (uint64_t)(INT64_MAX / WEFT_MS(2))) *
                                               WEFT_MS(1)};
    int rc = wf_topics_retain_copy(wf_topics_of(t->node), &c, &now);
    bool believed = wf_stamp_is_believed(c.stamp, now.wall);
    if (!believed) doubt(ch, c.stamp, now.wall);
    WF_SOMETIMES("retained: a timestamp is in the future", !believed);
    if (!believed && rc == 0) atomic_fetch_add_explicit(&t->dropped_unbelieved, 1, memory_order_relaxed);
    if (rc == WEFT_EFULL) atomic_fetch_add_explicit(&t->dropped_quota, 1, memory_order_relaxed);
    return rc;
}

/* Subscribers get the message if it replaces the retained one here, and also if it does not but is published now.
 * They do not get it if it has come by way of another node already, as can happen when a link is resumed (EEXIST): then
 * they got it at that time, or even a later message of the same publisher. */
static void receive_retained(struct wf_channel *ch, const struct wf_frame *f, struct wf_body *body)
{
    if (f->to == ch->t->node->incarnation) { /* this node keeps its own messages itself */
        atomic_fetch_add_explicit(&ch->t->dropped_unbelieved, 1, memory_order_relaxed);
        return;
    }
    int rc = retain_copy(ch, f, body);
    bool live = (f->flags & WF_PUBLISH_PLAIN) != 0;
    if (rc == WEFT_ENOMEM) { /* the next link sends it again */
        wf_link_fail(ch->link, "out of memory");
        return;
    }
    WF_SOMETIMES("retained: an older message is published live", live && rc == 0);
    bool replaces = rc > 0;
    bool again = rc == WEFT_EEXIST;
    if ((live && !again) || (replaces && body->size > 0)) wf_inbound_publish(ch->t->node, &ch->in, body, false, NULL);
}

void wf_topics_published(struct wf_channel *ch, uint32_t tag, weft_pid from, struct wf_body *body)
{
    WF_ASSERT(body != NULL);
    wf_inbound_sign(&ch->in, tag, from, body);
    wf_inbound_publish(ch->t->node, &ch->in, body, !wf_link_shares_topics(ch->link), NULL);
    if (wf_inbound_is_local(&ch->in)) wf_body_drop_unshared(ch->in.here, body);
    else wf_body_drop(NULL, body);
}

void wf_topics_receive(struct wf_channel *ch, struct wf_frame *f)
{
    struct wf_body *body = wf_link_body(ch, f, f->name, f->body.size);
    if (body == NULL) {
        if (f->kind == WF_FRAME_RETAINED) wf_link_fail(ch->link, "out of memory");
        wf_link_lost(ch);
        return;
    }
    memcpy(wf_body_bytes(body), f->body.data, f->body.size);
    if (WF_LIKELY(f->kind == WF_FRAME_PUBLISH)) {
        wf_topics_published(ch, f->tag, publisher(ch, f), body);
        return;
    }
    WF_ASSERT(f->kind == WF_FRAME_PUBLISH_TO || f->kind == WF_FRAME_RETAINED);
    wf_inbound_sign(&ch->in, f->tag, publisher(ch, f), body);
    if (f->kind == WF_FRAME_RETAINED) {
        receive_retained(ch, f, body);
    } else {
        receive_to(ch, f, body);
    }
    wf_body_drop(NULL, body);
}
