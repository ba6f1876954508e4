/* transport/cluster/links.c -- the links of this node: which actors hear of them, what is sent when one comes up, and
 * how it is lost, resumed and ended. handshake.c says how one begins. */
#include "links.h"
#include "cluster.h"

#include "actor.h"
#include "channel.h"
#include "clocks.h"
#include "gossip.h"
#include "news.h"
#include "outbox.h"
#include "peers.h"
#include "port.h"
#include "queue_groups.h"
#include "stuck.h"
#include "typed.h"
#include "requests.h"
#include "session.h"
#include "table_sync.h"
#include "transport.h"
#include "trim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_session *wf_links_find(struct wf_cluster *c, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &c->links, wf_cluster_hash(c, incarnation))
    {
        struct wf_session *s = WF_CONTAINER(e, struct wf_session, by_incarnation);
        if (s->incarnation == incarnation) return s;
    }
    return NULL;
}

static uint32_t name_hash(const struct wf_cluster *c, weft_text name)
{
    return wf_cluster_hash(c, wf_hash(name.data, name.size, (uint32_t)c->t->node->secret));
}

struct wf_session *wf_links_named(struct wf_cluster *c, weft_text name)
{
    WF_HASHED_WITH(e, &c->link_names, name_hash(c, name))
    {
        struct wf_session *s = WF_CONTAINER(e, struct wf_session, by_name);
        if (wf_text_equal(weft_cstr(s->name), name)) return s;
    }
    return NULL;
}

static bool put_in(struct wf_cluster *c, struct wf_session *s)
{
    if (!wf_hash_table_add(&c->links, &s->by_incarnation, wf_cluster_hash(c, s->incarnation))) return false;
    if (!s->client && !wf_hash_table_add(&c->link_names, &s->by_name, name_hash(c, weft_cstr(s->name)))) {
        wf_hash_table_remove(&c->links, &s->by_incarnation);
        return false;
    }
    wf_list_push(&c->sessions, &s->in_all);
    return true;
}

static void take_out(struct wf_cluster *c, struct wf_session *s)
{
    wf_unlink(&s->in_all);
    wf_hash_table_remove(&c->links, &s->by_incarnation);
    if (!s->client) wf_hash_table_remove(&c->link_names, &s->by_name);
}

bool wf_links_is_up(struct wf_cluster *c, uint64_t incarnation)
{
    const struct wf_session *s = wf_links_find(c, incarnation);
    return s != NULL && s->state == WF_STATE_UP;
}

/* ---- Telling --------------------------------------------------------------------------------------------------- */

static struct weft_node_news news_of(uint64_t incarnation, const char *name, const char *reason)
{
    struct weft_node_news news = {.incarnation = incarnation};
    snprintf(news.name, sizeof news.name, "%s", name);
    snprintf(news.reason, sizeof news.reason, "%.127s", reason);
    return news;
}

static void tell(struct wf_cluster *c, weft_pid who, uint32_t tag, struct weft_node_news news)
{
    wf_node_tell(c->t->node, who, tag, &news);
}

static void tell_all(struct wf_cluster *c, uint32_t tag, struct weft_node_news news)
{
    bool all = tag != WEFT_TAG_DRAIN && tag != WEFT_TAG_UNDRAIN;
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (c->watchers[i].all || !all) tell(c, c->watchers[i].pid, tag, news);
}

void wf_links_tell(struct wf_cluster *c, uint32_t tag, const struct wf_session *s, const char *reason)
{
    tell_all(c, tag, news_of(s->incarnation, s->name, reason));
}

void wf_links_tell_self(struct wf_cluster *c, uint32_t tag, const char *reason)
{
    tell_all(c, tag, news_of(c->t->node->incarnation, c->t->node->name, reason));
}

static bool is_alive(const struct wf_cluster *c, weft_pid who)
{
    const struct wf_worker *w = c->t->node->workers.at[wf_id_worker(who.actor)];
    return wf_slab_find(&wf_actors_of(w)->slab, who.actor) != NULL;
}

/* Room for one more watcher; those that have ended make it first. */
static bool watcher_room(struct wf_cluster *c)
{
    if (c->watcher_count < c->watcher_capacity) return true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (is_alive(c, c->watchers[i].pid)) c->watchers[kept++] = c->watchers[i];
    c->watcher_count = kept;
    uint32_t wanted = WF_MAX(16u, kept * 2);
    if (wanted <= c->watcher_capacity) return true;
    struct wf_watcher *more = realloc(c->watchers, wanted * sizeof *more);
    if (more == NULL) return kept < c->watcher_capacity;
    c->watchers = more;
    c->watcher_capacity = wanted;
    return true;
}

static void tell_present(struct wf_cluster *c, weft_pid who)
{
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        if (s->client) continue;
        tell(c, who, WEFT_TAG_NODE_UP, news_of(s->incarnation, s->name, ""));
        const struct wf_peer *p = wf_peers_find(c, s->incarnation);
        if (p != NULL && p->state == WF_PEER_SUSPECT)
            tell(c, who, WEFT_TAG_NODE_SUSPECT, news_of(s->incarnation, s->name, p->reason));
    }
    const weft_node *own = c->t->node;
    if (c->partition.few) tell(c, who, WEFT_TAG_MINORITY, news_of(own->incarnation, own->name, c->partition.text));
}

/* NULL: there is no memory. */
static struct wf_watcher *watcher_of(struct wf_cluster *c, weft_pid who, bool *known)
{
    *known = true;
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (weft_pid_equal(c->watchers[i].pid, who)) return &c->watchers[i];
    *known = false;
    if (!watcher_room(c)) return NULL;
    struct wf_watcher *w = &c->watchers[c->watcher_count++];
    *w = (struct wf_watcher){.pid = who};
    return w;
}

void wf_links_watch(struct wf_cluster *c, weft_pid who, bool all)
{
    bool known;
    struct wf_watcher *w = watcher_of(c, who, &known);
    if (w == NULL) {
        weft_log(WEFT_ERROR, "out of memory: an actor does not hear of nodes");
        return;
    }
    if (all && !w->all) tell_present(c, who);
    w->all = w->all || all;
    if (!known && c->draining) tell(c, who, WEFT_TAG_DRAIN, news_of(c->t->node->incarnation, c->t->node->name, ""));
}

/* Several changes may have come to one. */
void wf_links_drain(struct wf_cluster *c)
{
    bool draining = wf_node_is_draining(c->t->node);
    wf_gossip_describe(c);
    if (draining == c->draining) return;
    c->draining = draining;
    weft_log(WEFT_INFO, "node %s %s", c->t->node->name,
             draining ? "drains: it takes no new work" : "drains no longer");
    wf_links_tell_self(c, draining ? WEFT_TAG_DRAIN : WEFT_TAG_UNDRAIN, "");
}

/* ---- Topic interest -------------------------------------------------------------------------------------------- */

enum {
    PATTERNS_IN_FRAME = 1024,
    PATTERN_FRAMES = 4 /* for a link at a time: then the worker's other actors have their turn */
};

/* One frame with patterns that the link has not been told of. NULL: there are none, or there is no memory. */
static struct wf_batch *next_patterns(struct wf_session *s)
{
    struct wf_patterns *p = wf_session_patterns(s);
    struct wf_batch *b = NULL;
    pf_mutex_lock(s->t->lock);
    struct wf_pattern_part part = wf_patterns_next(p, &s->mark, PATTERNS_IN_FRAME, WF_BATCH_BYTES);
    if (part.count > 0) b = wf_batch_new(s, WF_FRAME_SPARE + part.bytes);
    if (b != NULL) {
        weft_writer w = wf_batch_writer(b);
        wf_put_interest(&w, part.add ? WF_INTEREST_ADD : WF_INTEREST_REMOVE, part.count);
        wf_patterns_put(p, &s->mark, &part, &w);
        WF_ASSERT(w.error == 0);
        b->size += w.size;
        b->frames++;
    }
    pf_mutex_unlock(s->t->lock);
    return b;
}

static bool has_patterns_to_say(const struct wf_session *s)
{
    pf_mutex_lock(s->t->lock);
    bool behind = wf_patterns_behind(wf_session_patterns(s), &s->mark);
    pf_mutex_unlock(s->t->lock);
    return behind;
}

/* Of one link; see wf_links_say_patterns. */
static bool say_patterns(struct wf_session *s)
{
    for (int i = 0; has_patterns_to_say(s); i++) {
        if (i == PATTERN_FRAMES) return true;
        struct wf_batch *b = wf_session_has_room(s, wf_here->index) ? next_patterns(s) : NULL;
        if (b == NULL) return false;
        wf_session_push(s, b);
    }
    return false;
}

bool wf_links_say_patterns(struct wf_cluster *c)
{
    bool more = false;
    WF_LIST_EACH(k, &c->sessions) more |= say_patterns(WF_CONTAINER(k, struct wf_session, in_all));
    return more;
}

/* A node of an older version closes a link with more than it takes; a tool is not sent what it has no use for. */
static void begin_patterns(struct wf_session *s)
{
    uint32_t most = s->client ? WF_PATTERNS_TOOL : wf_session_can(s, WF_CAN_PATTERNS) ? UINT32_MAX : WF_PATTERNS_OLD;
    pf_mutex_lock(s->t->lock);
    wf_patterns_begin(wf_session_patterns(s), &s->mark, most);
    pf_mutex_unlock(s->t->lock);
    (void)say_patterns(s);
}

static void end_patterns(struct wf_session *s)
{
    pf_mutex_lock(s->t->lock);
    wf_patterns_end(wf_session_patterns(s), &s->mark);
    pf_mutex_unlock(s->t->lock);
}

/* Acquire: pairs with the release of wf_session_fail. */
static bool has_failed(struct wf_session *s)
{
    return atomic_load_explicit(&s->failed, memory_order_acquire);
}

/* ---- Up and down ----------------------------------------------------------------------------------------------- */

static void drop_pending(struct wf_session *s, const char *reason)
{
    struct wf_channel *ch = s->pending;
    s->pending = NULL;
    if (ch == NULL) return;
    wf_channel_end(ch, reason);
    wf_channel_release(ch);
}

static void close_channel(struct wf_session *s, const char *reason)
{
    struct wf_channel *ch = s->channel;
    if (ch == NULL) return;
    wf_channel_end(ch, reason);
    wf_session_detach(s);
}

static void told_lost(struct wf_lost_node *lost)
{
    wf_session_release(WF_CONTAINER(lost, struct wf_room, lost)->session);
}

static void tell_lost(struct wf_session *s)
{
    const struct wf_workers *workers = &s->t->node->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        wf_session_keep(s);
        s->rooms[i].lost = (struct wf_lost_node){.peer = s->incarnation, .done = told_lost};
        wf_node_lost(workers->at[i], &s->rooms[i].lost);
    }
}

void wf_links_end(struct wf_cluster *c, struct wf_session *s, const char *reason)
{
    bool left = c->leaving || strcmp(reason, WF_LEFT) == 0 || strcmp(reason, WF_LEFT_UNDRAINED) == 0;
    s->state = WF_STATE_OVER;
    wf_trim_ended(c, s);
    end_patterns(s);
    wf_tables_close(s);
    drop_pending(s, reason);
    wf_session_discard(s);
    close_channel(s, reason);
    wf_session_receives_no_more(s);
    wf_ports_close(s);
    tell_lost(s);
    take_out(c, s);
    wf_clocks_review(c);
    if (!s->client) {
        wf_peers_down(c, s, reason, left);
        wf_gossip_ended(c, s, left);
        wf_links_tell(c, WEFT_TAG_NODE_DOWN, s, reason);
        if (!c->leaving)
            wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO, "node %s is down: %s", s->name, reason);
    }
    wf_session_release(s);
}

/* The channel is agreed: it carries the session from now on. */
static void attach(struct wf_channel *ch, struct wf_session *s, uint64_t heard)
{
    ch->placed = s->number == 0;
    s->state = WF_STATE_UP;
    s->suspect_at = 0;
    atomic_store_explicit(&s->last_heard, wf_transport_now(ch->t), memory_order_relaxed);
    wf_channel_enter(ch, WF_PHASE_UP);
    wf_session_attach(s, ch, heard);
}

static void set_session(struct wf_channel *ch, struct wf_session *s)
{
    wf_session_keep(s);
    atomic_fetch_add_explicit(&s->receivers, 1, memory_order_relaxed);
    pf_mutex_lock(ch->t->lock);
    ch->session = s;
    pf_mutex_unlock(ch->t->lock);
}

void wf_links_bring_up(struct wf_cluster *c, struct wf_channel *ch, uint64_t number)
{
    struct wf_session *s = wf_session_new(ch, number, wf_ports_room_made);
    if (s == NULL || !put_in(c, s)) {
        if (s != NULL) wf_session_release(s);
        wf_channel_end(ch, "out of memory");
        return;
    }
    wf_clocks_review(c);
    set_session(ch, s);
    attach(ch, s, 0);
    if (wf_tables_open(s) < 0 || wf_ports_open(s) < 0) {
        wf_links_end(c, s, "out of memory");
        return;
    }
    begin_patterns(s);
    if (s->client) return;
    c->ever_up = true;
    wf_peers_up(c, s);
    wf_peers_introduce(c, s);
    wf_links_tell(c, WEFT_TAG_NODE_UP, s, "");
    wf_gossip_linked(c, s);
    if (!c->t->client)
        wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO, "linked with node %s (%s)", s->name,
                    ch->conn->remote);
}

/* Whether the channel that has been waiting for the end of the one before could be taken. */
static void take_pending(struct wf_cluster *c, struct wf_session *s)
{
    struct wf_channel *ch = s->pending;
    WF_ASSERT(ch != NULL && !s->client); /* a tool's link is over with its connection */
    s->pending = NULL;
    s->clock_ahead = ch->clock_ahead;
    wf_clocks_review(c);
    attach(ch, s, ch->heard);
    atomic_fetch_add_explicit(&s->resumes, 1, memory_order_relaxed);
    wf_peers_review(c, s, "");
    wf_gossip_linked(c, s);
    wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO, "the link with node %s goes on (%s)", s->name,
                ch->conn->remote);
    wf_conn_resume(ch->conn);
    wf_channel_release(ch);
}

void wf_links_resume(struct wf_session *s, struct wf_channel *ch, uint64_t heard)
{
    drop_pending(s, "replaced by a new connection");
    wf_channel_keep(ch);
    s->pending = ch;
    ch->heard = heard;
    wf_channel_enter(ch, WF_PHASE_PENDING);
    set_session(ch, s);
    struct wf_channel *old = s->channel;
    if (old == NULL) return; /* wf_links_go_on when the message is done */
    wf_channel_end(old, "replaced by a new connection");
}

void wf_links_go_on(struct wf_cluster *c, struct wf_session *s)
{
    if (s->state == WF_STATE_BROKEN) take_pending(c, s);
}

/* It has lost its channel. */
static void break_off(struct wf_cluster *c, struct wf_session *s, const char *reason)
{
    wf_session_detach(s);
    s->state = WF_STATE_BROKEN;
    s->resume_by = wf_transport_now(c->t) + c->t->resume_window;
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    if (s->pending != NULL) {
        take_pending(c, s);
        return;
    }
    if (!c->leaving)
        wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO,
                    "the connection to node %s is lost: %s; resuming", s->name, reason);
    wf_peers_broken(c, s, reason);
}

void wf_links_lost(struct wf_cluster *c, struct wf_session *s, const char *reason)
{
    char why[WF_REASON_TEXT];
    bool resume = s->number != 0 && !has_failed(s) && !(c->leaving && wf_session_drained(s));
    if (resume) {
        break_off(c, s, reason);
        return;
    }
    snprintf(why, sizeof why, "connection lost: %.120s", reason);
    wf_links_end(c, s, c->leaving ? WF_LEFT : why);
}

void wf_links_say_bye(struct wf_session *s)
{
    struct wf_batch *b = wf_batch_new(s, WF_FRAME_SPARE);
    if (b == NULL) return;
    weft_writer w = wf_batch_writer(b);
    wf_put_bye(&w, s->t->undrained ? WF_LEFT_UNDRAINED : WF_LEFT); /* written before `stopping`, under the lock */
    wf_session_acknowledge(s); /* what the other side would have to count as lost */
    wf_session_say_in_order(s, b, &w);
}

static bool is_text(weft_text t, const char *what)
{
    return t.size == strlen(what) && memcmp(t.data, what, t.size) == 0;
}

void wf_links_frame(struct wf_cluster *c, struct wf_channel *ch, const struct wf_news *n)
{
    struct wf_session *s = ch->session;
    WF_ASSERT(s != NULL); /* it has been up */
    if (s->state == WF_STATE_OVER) return;
    if (n->number == WF_FRAME_BYE) {
        weft_reader r = weft_reader_on(n->data, n->size);
        struct wf_frame f;
        (void)wf_frame_next(&r, &f);
        wf_session_acknowledge(s);
        wf_links_end(c, s, is_text(f.name, WF_LEFT_UNDRAINED) ? WF_LEFT_UNDRAINED : WF_LEFT);
    } else if (n->number != WF_FRAME_PEERS) {
        wf_gossip_frame(c, s, n->data, n->size);
    } else if (!c->t->client && !s->client) {
        weft_reader r = weft_reader_on(n->data, n->size);
        struct wf_frame f;
        (void)wf_frame_next(&r, &f);
        for (uint32_t i = 0; i < f.count; i++) {
            struct wf_frame_peer p;
            wf_frame_next_peer(&f, &p);
            wf_peers_heard_of(c, s, &p);
        }
    }
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

static void silent(struct wf_cluster *c, struct wf_session *s, int64_t silence)
{
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "no heartbeat for %.1f s", (double)silence / 1e9);
    if (s->number == 0 || c->leaving) {
        wf_links_end(c, s, why);
        return;
    }
    wf_channel_end(s->channel, why); /* its end breaks the link */
}

/* Until when this node can know whether the other side was silent. What this node has not read yet, because an actor
 * holds the worker up or because what came before has not been taken, is not the other side's silence. */
int64_t wf_links_heard_until(const struct wf_session *s, int64_t now)
{
    const struct wf_channel *ch = s->channel;
    if (ch == NULL) return now;
    int64_t held = atomic_load_explicit(&ch->held_at, memory_order_relaxed);
    if (held != 0) now = WF_MIN(now, held);
    return ch->conn->worker == NULL ? now : wf_pace_read_until(ch->conn->worker, now);
}

static int64_t tick_up(struct wf_cluster *c, struct wf_session *s, int64_t now)
{
    if (wf_channel_phase(s->channel) != WF_PHASE_UP) return WEFT_FOREVER; /* it is being closed */
    int64_t heard = atomic_load_explicit(&s->last_heard, memory_order_relaxed);
    int64_t lost_at = heard + c->t->heartbeats_lost * s->heartbeat;
    if (s->suspect_at != 0 && heard > s->suspect_from) s->suspect_at = 0;
    if (s->suspect_at != 0) lost_at = WF_MIN(lost_at, s->suspect_at);
    int64_t until = wf_links_heard_until(s, now);
    if (until >= lost_at) {
        silent(c, s, until - heard);
        return WEFT_FOREVER;
    }
    if (now >= lost_at) lost_at = now + c->t->heartbeat; /* it has not been read since */
    if (until - heard > WF_QUIET_BEATS * s->heartbeat) wf_gossip_silent(c, s);
    wf_session_rest(s);
    if (c->leaving) return lost_at;
    wf_gossip_look(c, s);
    /* One of the two says PING, the other one's PONG is a heartbeat as well. */
    int64_t grace = c->t->node->incarnation < s->incarnation ? 0 : c->t->heartbeat / 8;
    int64_t ping_at = atomic_load_explicit(&s->last_sent, memory_order_relaxed) + c->t->heartbeat + grace;
    ping_at = WF_MIN(ping_at, s->pinged_at + WF_PING_BEATS * c->t->heartbeat);
    if (now >= ping_at) {
        wf_session_ping(s, (uint64_t)now);
        s->pinged_at = now;
        ping_at = now + c->t->heartbeat;
    }
    return WF_MIN(lost_at, ping_at);
}

static int64_t tick_broken(struct wf_cluster *c, struct wf_session *s, int64_t now)
{
    if (now < s->resume_by && !has_failed(s)) return s->resume_by;
    char why[WF_REASON_TEXT];
    if (has_failed(s)) snprintf(why, sizeof why, "connection lost: %.120s", s->why_failed);
    else
        snprintf(why, sizeof why, "connection lost: %.90s; not resumed within %.1f s", s->reason,
                 (double)c->t->resume_window / 1e9);
    wf_links_end(c, s, why);
    return WEFT_FOREVER;
}

int64_t wf_links_tick(struct wf_cluster *c, int64_t now)
{
    int64_t at = wf_topics_expire(c->t->node->topics, now);
    if (now >= c->tables_at) { /* each link has us come by that often, also one that needs no PING */
        c->tables_at = now + c->t->heartbeat;
        wf_tables_retry(c->t);
    }
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        int64_t again = s->state == WF_STATE_UP ? tick_up(c, s, now) : tick_broken(c, s, now);
        at = WF_MIN(at, again);
    }
    return at;
}
