/* transport/cluster/links.c -- the links of this node: which actors are notified of them, what is sent when one comes
 * up, and how a link is lost, resumed and ended. handshake.c has the handshake before that. */
#include "links.h"
#include "cluster.h"

#include "actor.h"
#include "channel.h"
#include "clocks.h"
#include "gossip.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "peers.h"
#include "link_writer.h"
#include "inbound.h"
#include "queue_groups.h"
#include "stuck.h"
#include "typed.h"
#include "requests.h"
#include "peer_link.h"
#include "table_sync.h"
#include "topics.h"
#include "transport.h"
#include "trim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_link *wf_links_find(struct wf_cluster *c, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &c->links, wf_cluster_hash(c, incarnation))
    {
        struct wf_link *l = WF_CONTAINER(e, struct wf_link, by_incarnation);
        if (l->incarnation == incarnation) return l;
    }
    return NULL;
}

static uint32_t name_hash(const struct wf_cluster *c, weft_text name)
{
    return wf_cluster_hash(c, wf_hash(name.data, name.size, (uint32_t)c->t->node->secret));
}

struct wf_link *wf_links_named(struct wf_cluster *c, weft_text name)
{
    WF_HASHED_WITH(e, &c->link_names, name_hash(c, name))
    {
        struct wf_link *l = WF_CONTAINER(e, struct wf_link, by_name);
        if (wf_text_equal(weft_cstr(l->name), name)) return l;
    }
    return NULL;
}

static bool put_in(struct wf_cluster *c, struct wf_link *l)
{
    if (!wf_hash_table_add(&c->links, &l->by_incarnation, wf_cluster_hash(c, l->incarnation))) return false;
    if (!l->client && !wf_hash_table_add(&c->link_names, &l->by_name, name_hash(c, weft_cstr(l->name)))) {
        wf_hash_table_remove(&c->links, &l->by_incarnation);
        return false;
    }
    wf_list_push(&c->live_links, &l->in_all);
    return true;
}

static void take_out(struct wf_cluster *c, struct wf_link *l)
{
    wf_unlink(&l->in_all);
    wf_hash_table_remove(&c->links, &l->by_incarnation);
    if (!l->client) wf_hash_table_remove(&c->link_names, &l->by_name);
}

bool wf_links_is_up(struct wf_cluster *c, uint64_t incarnation)
{
    const struct wf_link *l = wf_links_find(c, incarnation);
    return l != NULL && l->state == WF_STATE_UP;
}

/* ---- Notifying actors ------------------------------------------------------------------------------------------ */

static struct weft_node_news news_of(uint64_t incarnation, const char *name, const char *reason)
{
    struct weft_node_news news = {.incarnation = incarnation};
    snprintf(news.name, sizeof news.name, "%s", name);
    snprintf(news.reason, sizeof news.reason, "%.127s", reason);
    return news;
}

static void notify(struct wf_cluster *c, weft_pid who, uint32_t tag, struct weft_node_news news)
{
    wf_node_tell(c->t->node, who, tag, &news);
}

static void notify_all(struct wf_cluster *c, uint32_t tag, struct weft_node_news news)
{
    bool all = tag != WEFT_TAG_DRAIN && tag != WEFT_TAG_UNDRAIN;
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (c->watchers[i].all || !all) notify(c, c->watchers[i].pid, tag, news);
}

void wf_links_notify(struct wf_cluster *c, uint32_t tag, const struct wf_link *l, const char *reason)
{
    notify_all(c, tag, news_of(l->incarnation, l->name, reason));
}

void wf_links_notify_self(struct wf_cluster *c, uint32_t tag, const char *reason)
{
    notify_all(c, tag, news_of(c->t->node->incarnation, c->t->node->name, reason));
}

static bool is_alive(const struct wf_cluster *c, weft_pid who)
{
    const struct wf_worker *w = c->t->node->workers.at[wf_id_worker(who.actor)];
    return wf_slab_find(&wf_actors_of(w)->slab, who.actor) != NULL;
}

/* Makes space for one more watcher; first it takes out watchers that have ended. */
static bool reserve_watcher(struct wf_cluster *c)
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

static void notify_present(struct wf_cluster *c, weft_pid who)
{
    WF_LIST_EACH(k, &c->live_links) {
        struct wf_link *l = WF_CONTAINER(k, struct wf_link, in_all);
        if (l->client) continue;
        notify(c, who, WEFT_TAG_NODE_UP, news_of(l->incarnation, l->name, ""));
        const struct wf_peer *p = wf_peers_find(c, l->incarnation);
        if (p != NULL && p->state == WF_PEER_SUSPECT)
            notify(c, who, WEFT_TAG_NODE_SUSPECT, news_of(l->incarnation, l->name, p->reason));
    }
    const weft_node *own = c->t->node;
    if (c->partition.few) notify(c, who, WEFT_TAG_MINORITY, news_of(own->incarnation, own->name, c->partition.text));
}

/* NULL: there is no memory. */
static struct wf_watcher *watcher_of(struct wf_cluster *c, weft_pid who, bool *known)
{
    *known = true;
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (weft_pid_equal(c->watchers[i].pid, who)) return &c->watchers[i];
    *known = false;
    if (!reserve_watcher(c)) return NULL;
    struct wf_watcher *w = &c->watchers[c->watcher_count++];
    *w = (struct wf_watcher){.pid = who};
    return w;
}

void wf_links_watch(struct wf_cluster *c, weft_pid who, bool all)
{
    bool known;
    struct wf_watcher *w = watcher_of(c, who, &known);
    if (w == NULL) {
        weft_log(WEFT_ERROR, "out of memory: an actor is not notified of a change of nodes");
        return;
    }
    if (all && !w->all) notify_present(c, who);
    w->all = w->all || all;
    if (!known && c->draining) notify(c, who, WEFT_TAG_DRAIN, news_of(c->t->node->incarnation, c->t->node->name, ""));
}

/* Several changes may have been made since the last call; only the result counts. */
void wf_links_drain(struct wf_cluster *c)
{
    bool draining = wf_node_is_draining(c->t->node);
    wf_gossip_describe(c);
    if (draining == c->draining) return;
    c->draining = draining;
    weft_log(WEFT_INFO, "node %s %s", c->t->node->name,
             draining ? "drains: it takes no new work" : "drains no longer");
    wf_links_notify_self(c, draining ? WEFT_TAG_DRAIN : WEFT_TAG_UNDRAIN, "");
}

/* Acquire: pairs with the release of wf_link_fail. */
static bool has_failed(struct wf_link *l)
{
    return atomic_load_explicit(&l->failed, memory_order_acquire);
}

/* ---- Up and down ----------------------------------------------------------------------------------------------- */

static void drop_pending(struct wf_link *l, const char *reason)
{
    struct wf_channel *ch = l->pending;
    l->pending = NULL;
    if (ch == NULL) return;
    wf_channel_end(ch, reason);
    wf_channel_release(ch);
}

static void close_channel(struct wf_link *l, const char *reason)
{
    struct wf_channel *ch = l->channel;
    if (ch == NULL) return;
    wf_channel_end(ch, reason);
    wf_link_detach(l);
}

static void worker_knows(struct wf_lost_node *lost)
{
    wf_link_release(WF_CONTAINER(lost, struct wf_link_calls, lost)->link);
}

static void notify_lost(struct wf_link *l)
{
    const struct wf_workers *workers = &l->t->node->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        wf_link_keep(l);
        l->calls[i].lost = (struct wf_lost_node){.peer = l->incarnation, .done = worker_knows};
        wf_node_lost(workers->at[i], &l->calls[i].lost);
    }
}

void wf_links_bye(struct wf_cluster *c, struct wf_link *l, const char *reason)
{
    struct wf_peer *p = wf_peers_find(c, l->incarnation);
    if (p != NULL && !l->client) p->said_bye = true;
    wf_links_end(c, l, reason);
}

void wf_links_end(struct wf_cluster *c, struct wf_link *l, const char *reason)
{
    bool left = c->leaving || strcmp(reason, WF_LEFT) == 0 || strcmp(reason, WF_LEFT_UNDRAINED) == 0;
    l->state = WF_STATE_OVER;
    WF_SOMETIMES("link: it ends within a message in chunks", l->arrival_left > 0);
    WF_SOMETIMES("link: it ends while its next connection waits", l->pending != NULL);
    WF_SOMETIMES("link: it ends for lack of memory",
                 has_failed(l) && strncmp(l->why_failed, "out of memory", 13) == 0);
    wf_trim_ended(c, l);
    wf_topics_close(l);
    wf_tables_close(l);
    drop_pending(l, reason);
    wf_link_discard(l);
    close_channel(l, reason);
    wf_link_end_receiving(l);
    wf_link_writers_close(l);
    notify_lost(l);
    take_out(c, l);
    wf_clocks_review(c);
    if (!l->client) {
        wf_peers_down(c, l, reason, left);
        wf_gossip_ended(c, l, left);
        wf_links_notify(c, WEFT_TAG_NODE_DOWN, l, reason);
        if (!c->leaving)
            wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO, "node %s is down: %s", l->name, reason);
    }
    wf_link_release(l);
}

/* Both sides have agreed: the channel carries the link from now on. */
static void attach(struct wf_channel *ch, struct wf_link *l, uint64_t peer_received)
{
    ch->placed = l->number == 0;
    l->state = WF_STATE_UP;
    l->suspect_at = 0;
    atomic_store_explicit(&l->last_heard, wf_transport_now(ch->t), memory_order_relaxed);
    wf_channel_enter(ch, WF_PHASE_UP);
    wf_link_attach(l, ch, peer_received);
}

static void set_link(struct wf_channel *ch, struct wf_link *l)
{
    wf_link_keep(l);
    atomic_fetch_add_explicit(&l->receivers, 1, memory_order_relaxed);
    pf_mutex_lock(ch->t->lock);
    ch->link = l;
    pf_mutex_unlock(ch->t->lock);
}

void wf_links_bring_up(struct wf_cluster *c, struct wf_channel *ch, uint64_t number)
{
    struct wf_link *l = wf_link_new(ch, number, wf_link_writers_on_space);
    if (l == NULL || !put_in(c, l)) {
        if (l != NULL) wf_link_release(l);
        wf_channel_end(ch, "out of memory");
        return;
    }
    wf_clocks_review(c);
    set_link(ch, l);
    /* The patterns go first: if a worker's message makes the peer publish an answer, the peer knows the subscribers. */
    wf_topics_open(l);
    int rc = wf_link_writers_open(l);
    attach(ch, l, 0);
    if (rc < 0 || wf_tables_open(l) < 0) {
        wf_links_end(c, l, "out of memory");
        return;
    }
    if (l->client) return;
    c->ever_up = true;
    wf_peers_up(c, l);
    wf_peers_introduce(c, l);
    wf_links_notify(c, WEFT_TAG_NODE_UP, l, "");
    wf_gossip_linked(c, l);
    if (!c->t->client)
        wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO, "linked with node %s (%s)", l->name,
                    ch->conn->remote);
}

/* The previous channel has ended: the link goes on with the channel that has been waiting for this. */
static void take_pending(struct wf_cluster *c, struct wf_link *l)
{
    struct wf_channel *ch = l->pending;
    WF_ASSERT(ch != NULL && !l->client); /* a tool's link ends with its connection */
    WF_SOMETIMES("link: it is resumed within a message in chunks", l->arrival_left > 0);
    WF_SOMETIMES("link: it is resumed a second time", l->resumes > 0);
    l->pending = NULL;
    l->clock_ahead = ch->clock_ahead;
    wf_clocks_review(c);
    attach(ch, l, ch->peer_received);
    atomic_fetch_add_explicit(&l->resumes, 1, memory_order_relaxed);
    wf_peers_review(c, l, "");
    wf_gossip_linked(c, l);
    wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO, "the link with node %s is resumed (%s)", l->name,
                ch->conn->remote);
    wf_conn_resume(ch->conn);
    wf_channel_release(ch);
}

void wf_links_resume(struct wf_link *l, struct wf_channel *ch, uint64_t peer_received)
{
    WF_SOMETIMES("handshake: a connection replaces one that waits to resume the link", l->pending != NULL);
    WF_SOMETIMES("handshake: a connection replaces one that is still up", l->channel != NULL);
    drop_pending(l, "replaced by a new connection");
    wf_channel_keep(ch);
    l->pending = ch;
    ch->peer_received = peer_received;
    wf_channel_enter(ch, WF_PHASE_PENDING);
    set_link(ch, l);
    struct wf_channel *old = l->channel;
    if (old == NULL) return; /* handshake.c calls wf_links_go_on when it has handled the whole message */
    wf_channel_end(old, "replaced by a new connection");
}

void wf_links_go_on(struct wf_cluster *c, struct wf_link *l)
{
    if (l->state == WF_STATE_BROKEN) take_pending(c, l);
}

/* The link has lost its channel: waits for another one, or takes the one that is waiting. */
static void break_off(struct wf_cluster *c, struct wf_link *l, const char *reason)
{
    wf_link_detach(l);
    l->state = WF_STATE_BROKEN;
    l->resume_by = wf_transport_now(c->t) + c->t->resume_window;
    snprintf(l->reason, sizeof l->reason, "%s", reason);
    if (l->pending != NULL) {
        take_pending(c, l);
        return;
    }
    wf_peers_broken(c, l, reason);
    if (!c->leaving) /* logged last: when the line is written, actors have been notified */
        wf_peer_log(&c->t->bursts, wf_transport_now(c->t), WEFT_INFO,
                    "the connection to node %s is lost: %s; resuming", l->name, reason);
}

void wf_links_lost(struct wf_cluster *c, struct wf_link *l, const char *reason)
{
    char why[WF_REASON_TEXT];
    bool resume = l->number != 0 && !has_failed(l) && !(c->leaving && wf_link_drained(l));
    if (resume) {
        break_off(c, l, reason);
        return;
    }
    snprintf(why, sizeof why, "connection lost: %.120s", reason);
    wf_links_end(c, l, c->leaving ? WF_LEFT : why);
}

void wf_links_has_left(const struct wf_cluster *c, struct wf_link *l)
{
    if (l->state != WF_STATE_BROKEN) return;
    l->resume_by = WF_MIN(l->resume_by, wf_transport_now(c->t) + WF_LEAVE_TIME);
}

void wf_links_send_bye(struct wf_link *l)
{
    struct wf_batch *b = wf_batch_new(l, WF_FRAME_SPARE);
    if (b == NULL) return;
    weft_writer w = wf_batch_writer(b);
    wf_put_bye(&w, l->t->undrained ? WF_LEFT_UNDRAINED : WF_LEFT); /* written before `stopping`, under the lock */
    wf_link_acknowledge(l); /* otherwise the other side would count received frames as lost */
    wf_link_send_in_order(l, b, &w);
}

static bool is_text(weft_text t, const char *what)
{
    return t.size == strlen(what) && memcmp(t.data, what, t.size) == 0;
}

void wf_links_frame(struct wf_cluster *c, struct wf_channel *ch, const struct wf_cluster_event *e)
{
    struct wf_link *l = ch->link;
    WF_ASSERT(l != NULL); /* the channel has been up */
    if (l->state == WF_STATE_OVER) return;
    if (e->number == WF_FRAME_BYE) {
        weft_reader r = weft_reader_on(e->data, e->size);
        struct wf_frame f;
        (void)wf_frame_next(&r, &f);
        WF_SOMETIMES("link: the other node sends BYE", true);
        wf_link_acknowledge(l);
        wf_links_bye(c, l, is_text(f.name, WF_LEFT_UNDRAINED) ? WF_LEFT_UNDRAINED : WF_LEFT);
    } else if (e->number != WF_FRAME_PEERS) {
        wf_gossip_frame(c, l, e->data, e->size);
    } else if (!c->t->client && !l->client) {
        weft_reader r = weft_reader_on(e->data, e->size);
        struct wf_frame f;
        (void)wf_frame_next(&r, &f);
        for (uint32_t i = 0; i < f.count; i++) {
            struct wf_frame_peer p;
            wf_frame_next_peer(&f, &p);
            wf_peers_heard_of(c, l, &p);
        }
    }
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

static void silent(struct wf_cluster *c, struct wf_link *l, int64_t silence)
{
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "no heartbeat for %.1f s", (double)silence / 1e9);
    WF_SOMETIMES("link: the other side is silent for too long", true);
    if (l->number == 0 || c->leaving) {
        wf_links_end(c, l, why);
        return;
    }
    wf_channel_end(l->channel, why); /* wf_links_lost follows when it has ended */
}

/* Bytes that this node has not read yet, because an actor blocks the worker or reading is paused, are not silence of
 * the other side. */
int64_t wf_links_heard_until(const struct wf_link *l, int64_t now)
{
    const struct wf_channel *ch = l->channel;
    if (ch == NULL) return now;
    int64_t held = atomic_load_explicit(&ch->held_at, memory_order_relaxed);
    if (held != 0) now = WF_MIN(now, held);
    return ch->conn->worker == NULL ? now : wf_pace_read_until(ch->conn->worker, now);
}

/* Returns when a link that was last heard at `heard` counts as lost, or when it has to be looked at before that. A link is
 * found silent first, and lost after the rest of the time. This process may look late, because it was stopped or got no
 * processor; then that rest is the time to read what the other side has sent meanwhile. */
static int64_t lost_when(struct wf_link *l, int64_t heard, int64_t until, int64_t now)
{
    int64_t most = l->t->heartbeats_lost * l->heartbeat, quiet = WF_MIN(WF_QUIET_BEATS * l->heartbeat, most / 2);
    if (l->silent_at <= heard) {
        if (until < heard + quiet) return heard + quiet;
        l->silent_at = now;
    }
    return WF_MAX(heard, l->silent_at - quiet) + most;
}

static int64_t tick_up(struct wf_cluster *c, struct wf_link *l, int64_t now)
{
    if (wf_channel_phase(l->channel) != WF_PHASE_UP) return WEFT_FOREVER; /* it is being closed */
    int64_t heard = atomic_load_explicit(&l->last_heard, memory_order_relaxed);
    int64_t until = wf_links_heard_until(l, now), lost_at = lost_when(l, heard, until, now);
    if (l->suspect_at != 0 && heard > l->suspect_from) l->suspect_at = 0;
    if (l->suspect_at != 0) lost_at = WF_MIN(lost_at, l->suspect_at);
    if (until >= lost_at) {
        silent(c, l, until - heard);
        return WEFT_FOREVER;
    }
    if (now >= lost_at) lost_at = now + c->t->heartbeat; /* nothing was read meanwhile: look again later */
    if (until - heard > WF_QUIET_BEATS * l->heartbeat) wf_gossip_silent(c, l);
    wf_link_rest(l);
    if (c->leaving) return lost_at;
    wf_gossip_look(c, l);
    /* One side sends PING; the PONG of the other side is a heartbeat, too. */
    int64_t grace = c->t->node->incarnation < l->incarnation ? 0 : c->t->heartbeat / 8;
    int64_t ping_at = atomic_load_explicit(&l->last_sent, memory_order_relaxed) + c->t->heartbeat + grace;
    ping_at = WF_MIN(ping_at, l->pinged_at + WF_PING_BEATS * c->t->heartbeat);
    if (now >= ping_at) {
        wf_link_ping(l, (uint64_t)now);
        l->pinged_at = now;
        ping_at = now + c->t->heartbeat;
    }
    return WF_MIN(lost_at, ping_at);
}

static int64_t tick_broken(struct wf_cluster *c, struct wf_link *l, int64_t now)
{
    if (now < l->resume_by && !has_failed(l)) return l->resume_by;
    char why[WF_REASON_TEXT];
    if (has_failed(l)) snprintf(why, sizeof why, "connection lost: %.120s", l->why_failed);
    else if (wf_gossip_has_left(c, l)) snprintf(why, sizeof why, "%s", WF_LEFT);
    else
        snprintf(why, sizeof why, "connection lost: %.90s; not resumed within %.1f s", l->reason,
                 (double)c->t->resume_window / 1e9);
    WF_SOMETIMES("link: it is not resumed in time", !has_failed(l));
    wf_links_end(c, l, why);
    return WEFT_FOREVER;
}

int64_t wf_links_tick(struct wf_cluster *c, int64_t now)
{
    int64_t at = wf_topics_expire(wf_topics_of(c->t->node), now);
    if (now >= c->tables_at) { /* each link has us come by that often, also one that needs no PING */
        c->tables_at = now + c->t->heartbeat;
        wf_tables_retry(c->t);
    }
    WF_LIST_EACH(k, &c->live_links) {
        struct wf_link *l = WF_CONTAINER(k, struct wf_link, in_all);
        int64_t again = l->state == WF_STATE_UP ? tick_up(c, l, now) : tick_broken(c, l, now);
        at = WF_MIN(at, again);
    }
    return at;
}
