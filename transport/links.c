/* How a session becomes a link between two nodes, and how that ends: the state machine of $cluster. */
#include "cluster.h"

#include "actor.h"
#include "rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int phase_of(const struct wf_session *s)
{
    return atomic_load_explicit(&s->phase, memory_order_relaxed);
}

/* Release: what was written about the session before is there for the receiving side, which acquires. */
static void enter(struct wf_session *s, enum wf_phase phase)
{
    atomic_store_explicit(&s->phase, phase, memory_order_release);
}

struct wf_session *wf_links_find(struct wf_cluster *c, uint64_t incarnation)
{
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        if (s->incarnation == incarnation && phase_of(s) == WF_PHASE_UP) return s;
    }
    return NULL;
}

static struct wf_session *find_name(struct wf_cluster *c, const char *name)
{
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        if (phase_of(s) == WF_PHASE_UP && !s->client && strcmp(s->name, name) == 0) return s;
    }
    return NULL;
}

/* ---- Telling --------------------------------------------------------------------------------------------------- */

static void tell(struct wf_cluster *c, weft_pid who, uint32_t tag, const struct wf_session *s, const char *reason)
{
    struct weft_node_news news = {.incarnation = s->incarnation};
    snprintf(news.name, sizeof news.name, "%s", s->name);
    snprintf(news.reason, sizeof news.reason, "%.127s", reason);
    wf_node_tell(c->t->node, who, tag, &news);
}

static void tell_all(struct wf_cluster *c, uint32_t tag, const struct wf_session *s, const char *reason)
{
    if (s->client) return;
    for (uint32_t i = 0; i < c->watcher_count; i++) tell(c, c->watchers[i], tag, s, reason);
}

static bool is_alive(const struct wf_cluster *c, weft_pid who)
{
    uint32_t index = wf_id_worker(who.actor);
    const weft_node *n = c->t->node;
    return index < n->workers.count && wf_slab_find(&wf_actors_of(n->workers.at[index])->slab, who.actor) != NULL;
}

/* Room for one more watcher; those that have ended make it first. */
static bool watcher_room(struct wf_cluster *c)
{
    if (c->watcher_count < c->watcher_capacity) return true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (is_alive(c, c->watchers[i])) c->watchers[kept++] = c->watchers[i];
    c->watcher_count = kept;
    uint32_t wanted = WF_MAX(16u, kept * 2);
    if (wanted <= c->watcher_capacity) return true;
    weft_pid *more = realloc(c->watchers, wanted * sizeof *more);
    if (more == NULL) return kept < c->watcher_capacity;
    c->watchers = more;
    c->watcher_capacity = wanted;
    return true;
}

void wf_links_watch(struct wf_cluster *c, weft_pid who)
{
    for (uint32_t i = 0; i < c->watcher_count; i++)
        if (weft_pid_equal(c->watchers[i], who)) return;
    if (!watcher_room(c)) {
        weft_log(WEFT_ERROR, "out of memory: an actor does not hear of nodes");
        return;
    }
    c->watchers[c->watcher_count++] = who;
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        if (phase_of(s) == WF_PHASE_UP && !s->client) tell(c, who, WEFT_TAG_NODE_UP, s, "");
    }
}

/* ---- Topic interest -------------------------------------------------------------------------------------------- */

struct pattern_list {
    weft_writer w;
    uint32_t left; /* in the frame that is being written */
    size_t total;
    uint32_t skipped, skip, max;
};

static void put_pattern(weft_text pattern, uint32_t count, void *arg)
{
    (void)count;
    struct pattern_list *l = arg;
    if (l->skipped < l->skip) {
        l->skipped++;
    } else if (l->left > 0) {
        l->left--;
        weft_put_str(&l->w, pattern);
    }
}

/* All patterns of this node, some thousand to a frame. */
static void say_interest(struct wf_session *s)
{
    struct wf_transport *t = s->t;
    pf_mutex_lock(t->lock);
    uint32_t count = (uint32_t)t->interest.count;
    pf_mutex_unlock(t->lock);
    for (uint32_t done = 0; done < count;) {
        uint32_t n = WF_MIN(count - done, (uint32_t)WF_FRAME_PEERS_MAX / 4);
        struct wf_batch *b = wf_batch_new(s, 16 + n * (size_t)(WF_TOPIC_MAX + 3));
        if (b == NULL) return;
        struct pattern_list l = {.w = wf_batch_writer(b), .left = n, .skip = done};
        pf_mutex_lock(t->lock);
        n = (uint32_t)WF_MIN((size_t)n, t->interest.count - WF_MIN((size_t)done, t->interest.count));
        l.left = n;
        wf_put_interest(&l.w, WF_INTEREST_ADD, n);
        wf_interest_each(&t->interest, put_pattern, &l);
        pf_mutex_unlock(t->lock);
        wf_session_say(s, b, &l.w);
        if (n == 0) return;
        done += n;
    }
}

void wf_links_interest(struct wf_cluster *c, const char *pattern, enum wf_interest_op op)
{
    weft_text text = weft_cstr(pattern);
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        if (phase_of(s) != WF_PHASE_UP) continue;
        struct wf_batch *b = wf_batch_new(s, WF_FRAME_SPARE + text.size);
        if (b == NULL) continue;
        weft_writer w = wf_batch_writer(b);
        wf_put_interest(&w, op, 1);
        weft_put_str(&w, text);
        wf_session_say(s, b, &w);
    }
}

/* ---- Up and down ----------------------------------------------------------------------------------------------- */

static void take_down(struct wf_cluster *c, struct wf_session *s, const char *reason, bool left)
{
    enter(s, WF_PHASE_OVER);
    wf_tables_close(s);
    wf_ports_close(s);
    wf_node_lost(c->t->node, s->incarnation);
    if (s->client) return;
    wf_peers_down(c, s, reason, left);
    tell_all(c, WEFT_TAG_NODE_DOWN, s, reason);
    if (!c->leaving) weft_log(WEFT_INFO, "node %s is down: %s", s->name, reason);
}

void wf_links_end(struct wf_cluster *c, struct wf_session *s, const char *reason)
{
    if (phase_of(s) == WF_PHASE_UP) take_down(c, s, reason, strcmp(reason, "left") == 0 || c->leaving);
    else if (phase_of(s) != WF_PHASE_REFUSED) enter(s, WF_PHASE_OVER);
    wf_conn_close(s->conn, reason);
}

static void bring_up(struct wf_cluster *c, struct wf_session *s)
{
    struct wf_session *old = wf_links_find(c, s->incarnation);
    if (old != NULL) wf_links_end(c, old, "replaced by a new connection");
    enter(s, WF_PHASE_UP);
    if (wf_tables_open(s) < 0 || wf_ports_open(s) < 0) {
        wf_links_end(c, s, "out of memory");
        return;
    }
    say_interest(s);
    if (s->dialer != NULL) wf_dialers_linked(s->dialer, s->incarnation);
    if (s->client) return;
    c->ever_up = true;
    wf_peers_up(c, s);
    wf_peers_introduce(c, s);
    tell_all(c, WEFT_TAG_NODE_UP, s, "");
    if (!c->t->client) weft_log(WEFT_INFO, "linked with node %s (%s)", s->name, s->conn->remote);
}

void wf_links_say_bye(struct wf_session *s)
{
    struct wf_batch *b = wf_batch_new(s, WF_FRAME_SPARE);
    if (b == NULL) return;
    weft_writer w = wf_batch_writer(b);
    wf_put_bye(&w, "left");
    wf_session_say(s, b, &w);
}

/* One line per remote host and reason and `window`: neither a port scan nor a node that dials for ever may fill the
 * disk. */
static void log_reject(struct wf_cluster *c, const char *remote, const char *reason, int64_t window)
{
    char host[48], kind[64];
    snprintf(host, sizeof host, "%.*s", (int)strcspn(remote, ":"), remote);
    snprintf(kind, sizeof kind, "%.63s", reason);
    int64_t now = wf_transport_now(c->t);
    unsigned slot = 0;
    for (unsigned i = 0; i < WF_REJECT_SLOTS; i++) {
        if (strcmp(c->rejects[i].remote, host) == 0 && strcmp(c->rejects[i].reason, kind) == 0) {
            if (now - c->rejects[i].logged_at < window) {
                c->rejects[i].silent++;
                return;
            }
            slot = i;
            break;
        }
        if (c->rejects[i].logged_at < c->rejects[slot].logged_at) slot = i;
    }
    bool same = strcmp(c->rejects[slot].remote, host) == 0 && strcmp(c->rejects[slot].reason, kind) == 0;
    uint32_t silent = same ? c->rejects[slot].silent : 0;
    if (silent > 0)
        weft_log(WEFT_WARN, "closed a connection from %s: %s (and %u more like it)", remote, reason, silent);
    else weft_log(WEFT_WARN, "closed a connection from %s: %s", remote, reason);
    memcpy(c->rejects[slot].remote, host, sizeof host);
    memcpy(c->rejects[slot].reason, kind, sizeof kind);
    c->rejects[slot].logged_at = now;
    c->rejects[slot].silent = 0;
}

/* ---- Handshake ------------------------------------------------------------------------------------------------- */

static void refuse(struct wf_cluster *c, struct wf_session *s, enum wf_refusal code, const char *reason)
{
    enter(s, WF_PHASE_REFUSED);
    s->handshake_by = wf_transport_now(c->t) + WF_REFUSED_TIME;
    if (code != WF_REFUSED_DUPLICATE && code != WF_REFUSED_SELF) {
        bool known = s->dialer != NULL && strcmp(s->dialer->last, reason) == 0;
        if (s->dialer != NULL) snprintf(s->dialer->last, sizeof s->dialer->last, "%s", reason);
        if (!known) log_reject(c, s->conn->remote, reason, WEFT_SEC(60));
    }
    struct wf_batch *b = wf_batch_new(s, 512);
    if (b == NULL) {
        wf_conn_close(s->conn, reason);
        return;
    }
    weft_writer w = wf_batch_writer(b);
    wf_put_refused(&w, code, reason);
    wf_session_say(s, b, &w);
    /* The other side closes: if we did, with something of its unread, it might never see why. */
}

/* Who has our name, or a name that is linked already, has to give way, unless the other one turns out to be dead. */
static bool name_clashes(struct wf_cluster *c, struct wf_session *s)
{
    struct wf_transport *t = c->t;
    if (s->client) return false;
    if (!t->client && strcmp(s->name, t->node->name) == 0) return true;
    struct wf_session *old = find_name(c, s->name);
    if (old == NULL || old->incarnation == s->incarnation) return false;
    if (old->suspect_at == 0) {
        old->suspect_from = wf_transport_now(t);
        old->suspect_at = old->suspect_from + WF_SUSPECT_TIME;
        struct wf_batch *b = wf_batch_new(old, WF_FRAME_SPARE);
        if (b != NULL) {
            weft_writer w = wf_batch_writer(b);
            wf_put_ping(&w, WF_FRAME_PING, (uint64_t)old->suspect_from);
            wf_session_say(old, b, &w);
        }
    }
    return true;
}

static void say_welcome(struct wf_cluster *c, struct wf_session *s)
{
    struct wf_batch *b = wf_batch_new(s, WF_FRAME_SPARE);
    if (b == NULL) {
        wf_links_end(c, s, "out of memory");
        return;
    }
    weft_writer w = wf_batch_writer(b);
    wf_put_welcome(&w);
    wf_session_say(s, b, &w);
}

static void on_hello(struct wf_cluster *c, struct wf_session *s, const struct wf_hello *h)
{
    struct wf_transport *t = c->t;
    char why[WF_REASON_TEXT];
    snprintf(s->name, sizeof s->name, "%.*s", WEFT_STR(h->name));
    s->incarnation = h->incarnation;
    s->client = (h->flags & WF_HELLO_CLIENT) != 0;
    s->capabilities = h->capabilities;
    s->heartbeat = (int64_t)WF_MIN(WF_MAX(h->heartbeat_ms, (uint64_t)10), (uint64_t)3600000) * WEFT_MS(1);
    if (h->incarnation == t->node->incarnation) {
        if (s->dialer != NULL) s->dialer->self = true;
        refuse(c, s, WF_REFUSED_SELF, "this is the node itself");
    } else if (h->version != WF_WIRE_VERSION) {
        snprintf(why, sizeof why, "node %.40s speaks version %d of the protocol, node %.40s version %llu",
                 t->node->name, WF_WIRE_VERSION, s->name, (unsigned long long)h->version);
        refuse(c, s, WF_REFUSED_VERSION, why);
    } else if (h->cluster.size != strlen(t->node->cluster) ||
               memcmp(h->cluster.data, t->node->cluster, h->cluster.size) != 0) {
        snprintf(why, sizeof why, "node %.40s is in cluster %.30s, node %.40s in cluster %.*s", t->node->name,
                 t->node->cluster, s->name, (int)WF_MIN(h->cluster.size, (size_t)30), h->cluster.data);
        refuse(c, s, WF_REFUSED_CLUSTER, why);
    } else if (!wf_rights_admit(c, s, why)) {
        refuse(c, s, WF_REFUSED_IDENTITY, why);
    } else if (c->leaving) {
        refuse(c, s, WF_REFUSED_STOPPING, "the node is stopping");
    } else if (name_clashes(c, s)) {
        bool mine = strcmp(s->name, t->node->name) == 0;
        if (mine && s->dialer != NULL) { /* the one that was dialled says no, then we know that the name is taken */
            enter(s, WF_PHASE_HEARD);
            return;
        }
        snprintf(why, sizeof why, "there is another node named %s", s->name);
        refuse(c, s, WF_REFUSED_NAME_TAKEN, why);
    } else if (t->node->incarnation < h->incarnation && wf_links_find(c, h->incarnation) != NULL) {
        refuse(c, s, WF_REFUSED_DUPLICATE, "these nodes are linked already");
    } else {
        wf_conn_trust(s->conn, WF_BATCH_MAX);
        enter(s, WF_PHASE_HEARD);
        if (t->node->incarnation > h->incarnation) say_welcome(c, s);
    }
}

/* It said BYE on one connection while another was still in its handshake; a node does not come back with the same
 * incarnation. */
static bool has_left(struct wf_cluster *c, const struct wf_session *s)
{
    const struct wf_peer *p = wf_peers_find(c, s->incarnation);
    return p != NULL && p->left;
}

/* The node with the higher incarnation says WELCOME first: it agrees to a link. The other one's WELCOME makes this
 * connection the link. */
static void on_welcome(struct wf_cluster *c, struct wf_session *s)
{
    if (c->t->node->incarnation > s->incarnation) {
        if (!name_clashes(c, s) && !has_left(c, s)) bring_up(c, s);
        else wf_links_end(c, s, "the name was taken, or the node left, meanwhile");
    } else if (wf_links_find(c, s->incarnation) != NULL) {
        refuse(c, s, WF_REFUSED_DUPLICATE, "these nodes are linked already");
    } else if (has_left(c, s)) {
        refuse(c, s, WF_REFUSED_STOPPING, "the node has said good-bye on another connection");
    } else if (name_clashes(c, s)) {
        refuse(c, s, WF_REFUSED_NAME_TAKEN, "the name was taken meanwhile");
    } else {
        say_welcome(c, s);
        if (phase_of(s) == WF_PHASE_HEARD) bring_up(c, s);
    }
}

static void check_fatal(struct wf_cluster *c, struct wf_dialer *d, const char *reason)
{
    struct wf_transport *t = c->t;
    int64_t now = wf_transport_now(t);
    if (d->taken_since == 0) d->taken_since = now;
    if (c->ever_up || !d->seed || now - d->taken_since < WF_NAME_PATIENCE || t->fatal[0] != '\0') return;
    weft_log(WEFT_ERROR, "node %s cannot join: %s", t->node->name, reason);
    pf_mutex_lock(t->lock);
    snprintf(t->fatal, sizeof t->fatal, "%s", reason);
    void (*notify)(void *, int, const char *) = t->notify;
    void *arg = t->notify_arg;
    pf_cond_broadcast(t->changed);
    pf_mutex_unlock(t->lock);
    if (notify != NULL) notify(arg, WF_NOTIFY_FATAL, reason);
}

static void on_refused(struct wf_cluster *c, struct wf_session *s, const struct wf_frame *f)
{
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "refused by node %.40s: %.*s", s->name, (int)WF_MIN(f->name.size, (size_t)100),
             f->name.data);
    struct wf_dialer *d = s->dialer;
    if (d != NULL && f->number == WF_REFUSED_SELF) d->self = true;
    if (d != NULL && f->number == WF_REFUSED_NAME_TAKEN) check_fatal(c, d, why);
    if (d != NULL && f->number == WF_REFUSED_DUPLICATE) {
        d->incarnation = s->incarnation;
        snprintf(d->last, sizeof d->last, "%s", why); /* nothing to log: the two are linked */
    }
    if (d == NULL && f->number != WF_REFUSED_DUPLICATE && f->number != WF_REFUSED_SELF)
        weft_log(WEFT_WARN, "%s", why);
    enter(s, WF_PHASE_REFUSED);
    wf_conn_close(s->conn, why);
}

static void keep_urls(struct wf_session *s, const struct wf_hello *h)
{
    for (uint32_t i = 0; i < h->url_count; i++) snprintf(s->url[i], sizeof s->url[i], "%.*s", WEFT_STR(h->url[i]));
    s->url_count = h->url_count;
}

/* A frame of the handshake. */
static void on_handshake(struct wf_cluster *c, struct wf_session *s, struct wf_frame *f)
{
    bool heard = phase_of(s) == WF_PHASE_HEARD;
    char why[WF_REASON_TEXT];
    if (f->kind == WF_FRAME_UNKNOWN) return;
    if (f->kind == WF_FRAME_HELLO && !heard) {
        keep_urls(s, &f->hello);
        on_hello(c, s, &f->hello);
    } else if (f->kind == WF_FRAME_REFUSED) {
        on_refused(c, s, f);
    } else if (f->kind == WF_FRAME_WELCOME && heard) {
        on_welcome(c, s);
    } else if (f->kind == WF_FRAME_BYE) {
        wf_links_end(c, s, "left");
    } else {
        snprintf(why, sizeof why, "%s instead of %s", wf_frame_name(f->kind), heard ? "WELCOME" : "HELLO");
        wf_links_end(c, s, why);
    }
}

void wf_links_message(struct wf_cluster *c, struct wf_session *s, const uint8_t *data, size_t size)
{
    if (!wf_linked(&s->in_all) && phase_of(s) == WF_PHASE_NEW) {
        wf_session_keep(s);
        wf_list_push(&c->sessions, &s->in_all);
        s->handshake_by = wf_transport_now(c->t) + c->t->handshake_time;
    }
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    while (phase_of(s) == WF_PHASE_NEW || phase_of(s) == WF_PHASE_HEARD) {
        int got = wf_frame_next(&r, &f);
        if (got == 0) break;
        if (got < 0) {
            char why[WF_REASON_TEXT];
            wf_frame_fault(&r, &f, why, sizeof why);
            wf_links_end(c, s, why);
        } else {
            on_handshake(c, s, &f);
        }
    }
    if (phase_of(s) == WF_PHASE_UP) {
        wf_session_receive(s, r.at, (size_t)(r.end - r.at));
        wf_session_post(s); /* before anything that the next read brings */
    }
    wf_conn_resume(s->conn);
}

void wf_links_frame(struct wf_cluster *c, struct wf_session *s, const uint8_t *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    if (phase_of(s) != WF_PHASE_UP || wf_frame_next(&r, &f) != 1) return;
    if (f.kind == WF_FRAME_BYE) {
        wf_links_end(c, s, "left");
    } else if (f.kind == WF_FRAME_PEERS && !c->t->client && !s->client) {
        for (uint32_t i = 0; i < f.count; i++) {
            struct wf_frame_peer p;
            wf_frame_next_peer(&f, &p);
            wf_peers_heard_of(c, &p);
        }
    }
}

/* ---- Ends
 * ------------------------------------------------------------------------------------------------------------------
 */

void wf_links_down(struct wf_cluster *c, struct wf_news *n)
{
    struct wf_session *s = n->session;
    const char *reason = (const char *)n->data;
    int phase = s == NULL ? WF_PHASE_NEW : phase_of(s);
    bool was_up = s != NULL && s->rooms[0].call.call != NULL;
    if (phase == WF_PHASE_UP) {
        char why[WF_REASON_TEXT];
        snprintf(why, sizeof why, "connection lost: %.120s", reason);
        take_down(c, s, c->leaving ? "left" : why, c->leaving);
    }
    if (n->dialer != NULL) {
        if (was_up) wf_dialers_free_again(c, n->dialer);
        else
            wf_dialers_failed(c, n->dialer,
                              phase == WF_PHASE_REFUSED && n->dialer->last[0] != '\0' ? n->dialer->last : reason);
    } else if (!was_up && phase != WF_PHASE_REFUSED && !c->leaving) {
        log_reject(c, n->remote, reason, WEFT_SEC(1));
    }
    if (s == NULL || !wf_linked(&s->in_all)) return;
    wf_unlink(&s->in_all);
    wf_session_release(s);
}

/* ---- Time
 * -------------------------------------------------------------------------------------------------------------------
 */

static int64_t tick_link(struct wf_cluster *c, struct wf_session *s, int64_t now)
{
    int64_t heard = atomic_load_explicit(&s->last_heard, memory_order_relaxed);
    int64_t lost_at = heard + WF_HEARTBEATS_LOST * s->heartbeat;
    if (s->suspect_at != 0 && heard > s->suspect_from) s->suspect_at = 0;
    if (s->suspect_at != 0) lost_at = WF_MIN(lost_at, s->suspect_at);
    if (now >= lost_at) {
        char why[WF_REASON_TEXT];
        snprintf(why, sizeof why, "no heartbeat for %.1f s", (double)(now - heard) / 1e9);
        wf_links_end(c, s, why);
        return WEFT_FOREVER;
    }
    int64_t ping_at = atomic_load_explicit(&s->last_sent, memory_order_relaxed) + c->t->heartbeat;
    if (now >= ping_at && !c->leaving) {
        struct wf_batch *b = wf_batch_new(s, WF_FRAME_SPARE);
        if (b != NULL) {
            weft_writer w = wf_batch_writer(b);
            wf_put_ping(&w, WF_FRAME_PING, (uint64_t)now);
            wf_session_say(s, b, &w);
        }
        wf_tables_retry(c->t);
        ping_at = now + c->t->heartbeat;
    }
    return WF_MIN(lost_at, c->leaving ? WEFT_FOREVER : ping_at);
}

int64_t wf_links_tick(struct wf_cluster *c, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    WF_LIST_EACH(k, &c->sessions) {
        struct wf_session *s = WF_CONTAINER(k, struct wf_session, in_all);
        int phase = phase_of(s);
        if (phase == WF_PHASE_UP) {
            at = WF_MIN(at, tick_link(c, s, now));
        } else if (phase != WF_PHASE_OVER && now >= s->handshake_by) {
            s->handshake_by = WEFT_FOREVER;
            wf_links_end(c, s, phase == WF_PHASE_HEARD ? "no WELCOME in time" : "no end of the handshake in time");
        } else if (phase != WF_PHASE_OVER) {
            at = WF_MIN(at, s->handshake_by);
        }
    }
    return at;
}
