/* transport/cluster/handshake.c -- how a connection becomes the channel of a new link, or of one that is resumed:
 * HELLO, WELCOME, REFUSED. The state machine is drawn in docs/wire.md. */
#include "handshake.h"
#include "admission.h"
#include "channel.h"
#include "clocks.h"
#include "cluster.h"
#include "fatal.h"
#include "links.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "dialers.h"
#include "peers.h"
#include "requests.h"
#include "peer_link.h"
#include "transport.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Logs one line per remote host, reason and `window`: neither a port scan nor a node that keeps dialling may fill the
 * disk. `what` is the kind of the line, the same for many hosts: see wf_burst_warn. */
static void log_reject(struct wf_cluster *c, const char *remote, const char *what, const char *reason, int64_t window)
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
        wf_burst_warn(&c->t->bursts, now, what, "closed a connection from %s: %s (and %u more like it)", remote,
                      reason, silent);
    else wf_burst_warn(&c->t->bursts, now, what, "closed a connection from %s: %s", remote, reason);
    memcpy(c->rejects[slot].remote, host, sizeof host);
    memcpy(c->rejects[slot].reason, kind, sizeof kind);
    c->rejects[slot].logged_at = now;
    c->rejects[slot].silent = 0;
}

/* ---- HELLO ----------------------------------------------------------------------------------------------------- */

static const char *const refusals[] = {
    [WF_REFUSED_VERSION] = "refused: version",   [WF_REFUSED_CLUSTER] = "refused: cluster",
    [WF_REFUSED_NAME_TAKEN] = "refused: name",   [WF_REFUSED_DUPLICATE] = "refused: duplicate",
    [WF_REFUSED_SELF] = "refused: itself",       [WF_REFUSED_STOPPING] = "refused: stopping",
    [WF_REFUSED_IDENTITY] = "refused: identity", [WF_REFUSED_FAULT] = "refused: a fault"};

static void refuse(struct wf_cluster *c, struct wf_channel *ch, enum wf_refusal code, const char *reason)
{
    uint8_t frame[512];
    weft_writer w = weft_writer_on(frame, sizeof frame);
    wf_channel_enter(ch, WF_PHASE_REFUSED);
    ch->handshake_by = wf_transport_now(c->t) + WF_REFUSED_TIME;
    if (code != WF_REFUSED_DUPLICATE && code != WF_REFUSED_SELF) {
        bool known = ch->dialer != NULL && strcmp(ch->dialer->last, reason) == 0;
        if (ch->dialer != NULL) snprintf(ch->dialer->last, sizeof ch->dialer->last, "%s", reason);
        if (!known) log_reject(c, ch->conn->remote, refusals[code], reason, WEFT_SEC(60));
    }
    wf_put_refused(&w, code, reason);
    WF_ASSERT(w.error == 0);
    (void)wf_channel_send(ch, frame, w.size);
    /* The other side closes. If this side did with received bytes unread, the other might never get REFUSED. */
}

/* A peer with our name, or with the name of a linked node, is refused unless that node turns out to be dead. */
static bool name_clashes(struct wf_cluster *c, struct wf_channel *ch)
{
    struct wf_transport *t = c->t;
    if (ch->client) return false;
    if (!t->client && strcmp(ch->name, t->node->name) == 0) return true;
    struct wf_link *old = wf_links_named(c, weft_cstr(ch->name));
    if (old == NULL || old->incarnation == ch->incarnation) return false;
    WF_SOMETIMES("handshake: a node has restarted, and its old link is broken", old->state == WF_STATE_BROKEN);
    WF_SOMETIMES("handshake: a node has restarted, and its old link still seems to be up",
                 old->state != WF_STATE_BROKEN);
    if (old->state == WF_STATE_BROKEN) {
        wf_links_end(c, old, "connection lost, and another node has its name now");
        return false;
    }
    if (old->suspect_at == 0) {
        old->suspect_from = wf_transport_now(t);
        old->suspect_at = old->suspect_from + WF_SUSPECT_TIME;
        wf_link_ping(old, (uint64_t)old->suspect_from);
    }
    return true;
}

static bool resumable(const struct wf_channel *ch)
{
    return (ch->capabilities & WF_CAN_RESUME) != 0;
}

/* Its link with this node. A tool may be linked with the incarnation of a node: that link is not the node's. */
static struct wf_link *link_of(struct wf_cluster *c, const struct wf_channel *ch)
{
    struct wf_link *l = wf_links_find(c, ch->incarnation);
    return l != NULL && l->client == ch->client ? l : NULL;
}

static void send_welcome(struct wf_channel *ch, uint64_t number, uint64_t received, enum wf_welcome_state state)
{
    uint8_t frame[WF_FRAME_SPARE];
    weft_writer w = weft_writer_on(frame, sizeof frame);
    if (resumable(ch)) wf_put_welcome_link(&w, number, received, state);
    else wf_put_welcome(&w);
    if (!wf_channel_send(ch, frame, w.size)) wf_channel_enter(ch, WF_PHASE_OVER);
}

/* The first WELCOME describes the last link with that node, as far as this node knows it. */
static void send_welcome_first(struct wf_cluster *c, struct wf_channel *ch)
{
    const struct wf_link *l = link_of(c, ch);
    const struct wf_peer *p = wf_peers_find(c, ch->incarnation);
    if (l != NULL)
        send_welcome(ch, l->number, atomic_load_explicit(&l->received, memory_order_relaxed),
                     l->state == WF_STATE_UP ? WF_LINK_UP : WF_LINK_BROKEN);
    else send_welcome(ch, p == NULL ? 0 : p->last_number, 0, WF_LINK_OVER);
}

static void keep_hello(struct wf_channel *ch, const struct wf_hello *h)
{
    const struct wf_transport *t = ch->t;
    snprintf(ch->name, sizeof ch->name, "%.*s", WEFT_STR(h->name));
    ch->incarnation = h->incarnation;
    ch->client = (h->flags & WF_HELLO_CLIENT) != 0;
    ch->capabilities = t->capabilities & h->capabilities;
    /* A tool's link is short and is not remembered, so it cannot be resumed. */
    if (ch->client || t->client) ch->capabilities &= ~(uint64_t)WF_CAN_RESUME;
    ch->clock_ahead = wf_clock_ahead(t, h->clock);
    /* Each side sends PING at its own heartbeat, and announces it here. It is bounded, so that a peer cannot choose
     * alone how long it may be silent. */
    int64_t most = WF_MAX(WF_HEARTBEAT_MAX, t->heartbeat);
    ch->heartbeat = (int64_t)WF_MIN(WF_MAX(h->heartbeat_ms, (uint64_t)10), (uint64_t)most / WEFT_MS(1)) * WEFT_MS(1);
    for (uint32_t i = 0; i < h->url_count; i++) snprintf(ch->url[i], sizeof ch->url[i], "%.*s", WEFT_STR(h->url[i]));
    ch->url_count = h->url_count;
}

/* Whether the connection is refused before any WELCOME, because the two are linked and cannot resume. */
static bool is_duplicate(struct wf_cluster *c, const struct wf_channel *ch)
{
    return c->t->node->incarnation < ch->incarnation && !resumable(ch) && link_of(c, ch) != NULL;
}

/* Whether the peer comes back too soon: its links failed through its own faults. The text is the same each time, so
 * that it is logged once. */
static bool is_held(struct wf_cluster *c, const struct wf_channel *ch, char *why)
{
    const struct wf_peer *p = wf_peers_find(c, ch->incarnation);
    if (p == NULL || wf_transport_now(c->t) >= p->held_until) return false;
    snprintf(why, WF_REASON_TEXT, "%s", p->reason);
    return true;
}

static void on_hello(struct wf_cluster *c, struct wf_channel *ch, const struct wf_hello *h)
{
    struct wf_transport *t = c->t;
    char why[WF_REASON_TEXT];
    keep_hello(ch, h);
    if (h->incarnation == t->node->incarnation) {
        if (ch->dialer != NULL) ch->dialer->self = true;
        refuse(c, ch, WF_REFUSED_SELF, "this is the node itself");
    } else if (h->version > t->wire_version || h->newest < WF_WIRE_OLDEST) {
        snprintf(why, sizeof why, "node %.40s speaks version %llu of the protocol, node %.40s version %llu",
                 t->node->name, (unsigned long long)t->wire_version, ch->name, (unsigned long long)h->version);
        refuse(c, ch, WF_REFUSED_VERSION, why);
    } else if (h->cluster.size != strlen(t->node->cluster) ||
               memcmp(h->cluster.data, t->node->cluster, h->cluster.size) != 0) {
        snprintf(why, sizeof why, "node %.40s is in cluster %.30s, node %.40s in cluster %.*s", t->node->name,
                 t->node->cluster, ch->name, (int)WF_MIN(h->cluster.size, (size_t)30), h->cluster.data);
        refuse(c, ch, WF_REFUSED_CLUSTER, why);
    } else if (!wf_rights_admit(c, ch, why)) {
        refuse(c, ch, WF_REFUSED_IDENTITY, why);
    } else if (is_held(c, ch, why)) {
        refuse(c, ch, WF_REFUSED_FAULT, why);
    } else if (c->leaving && link_of(c, ch) == NULL) {
        WF_SOMETIMES("handshake: a node that stops refuses a new link", true);
        refuse(c, ch, WF_REFUSED_STOPPING, "the node is stopping");
    } else if (name_clashes(c, ch)) {
        bool mine = strcmp(ch->name, t->node->name) == 0;
        if (mine && ch->dialer != NULL) { /* the dialled node will refuse, which proves that the name is taken */
            wf_channel_enter(ch, WF_PHASE_HEARD);
            return;
        }
        snprintf(why, sizeof why, "there is another node named %s", ch->name);
        refuse(c, ch, WF_REFUSED_NAME_TAKEN, why);
    } else if (is_duplicate(c, ch)) {
        refuse(c, ch, WF_REFUSED_DUPLICATE, "these nodes are linked already");
    } else {
        wf_conn_trust(ch->conn, WF_BATCH_MAX);
        wf_channel_enter(ch, WF_PHASE_HEARD);
        if (t->node->incarnation > h->incarnation) send_welcome_first(c, ch);
    }
}

/* ---- WELCOME --------------------------------------------------------------------------------------------------- */

/* Whether the node has sent BYE on another connection, while this one was in its handshake. A node never comes back
 * with the same incarnation. */
static bool has_left(struct wf_cluster *c, const struct wf_channel *ch)
{
    const struct wf_peer *p = wf_peers_find(c, ch->incarnation);
    return p != NULL && p->said_bye;
}

static const char given_up[] = "the other side has given the link up";

/* Begins a new link; this ends an old link with the same node. */
static void bring_up(struct wf_cluster *c, struct wf_channel *ch, uint64_t number)
{
    struct wf_link *old = wf_links_find(c, ch->incarnation);
    WF_SOMETIMES("handshake: the other side has given up a link that this side still has", old != NULL);
    if (old != NULL) wf_links_end(c, old, old->number == 0 ? "replaced by a new connection" : given_up);
    if (ch->dialer != NULL) wf_dialers_linked(c, ch->dialer, ch->incarnation);
    wf_links_bring_up(c, ch, number);
}

/* This node is leaving, so it makes no new link. The other side has given up the old one: this node need not wait. */
static void give_up(struct wf_cluster *c, struct wf_link *l)
{
    if (l != NULL) wf_links_end(c, l, given_up);
}

static void go_on(struct wf_cluster *c, struct wf_channel *ch, struct wf_link *l, uint64_t peer_received)
{
    if (ch->dialer != NULL) wf_dialers_linked(c, ch->dialer, ch->incarnation);
    wf_links_resume(l, ch, peer_received);
}

/* The node with the higher incarnation gets the decision of the other one. */
static void on_decision(struct wf_cluster *c, struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_link *l = link_of(c, ch);
    const struct wf_peer *p = wf_peers_find(c, ch->incarnation);
    uint64_t number = resumable(ch) ? f->number : 0;
    bool current = number != 0 && l != NULL && l->number == number;
    bool past = number != 0 && p != NULL && p->last_number == number;
    WF_SOMETIMES("handshake: the link to be resumed was given up meanwhile", past && !current);
    if (current) go_on(c, ch, l, f->ref);
    else if (past) wf_channel_end(ch, "the link was given up meanwhile");
    else if (name_clashes(c, ch) || has_left(c, ch))
        wf_channel_end(ch, "the name was taken, or the node left, meanwhile");
    else if (c->leaving) {
        wf_channel_end(ch, "this node stops");
        give_up(c, l);
    } else bring_up(c, ch, number);
}

enum decision { REFUSE, RESUME, NEW_LINK };

/* The node with the lower incarnation decides when it gets the first WELCOME. */
static enum decision decide(struct wf_link *l, const struct wf_channel *ch, const struct wf_frame *f)
{
    if (l == NULL) return NEW_LINK;
    if (!resumable(ch) || l->number == 0) return REFUSE;
    if (f->number == l->number && f->tag == WF_LINK_OVER) return NEW_LINK;
    if (l->state == WF_STATE_UP && l->pending != NULL) return REFUSE;
    if (f->number == l->number) return l->state == WF_STATE_UP && f->tag == WF_LINK_UP ? REFUSE : RESUME;
    /* The peer does not know the link: this node's WELCOME is lost, or still on its way. */
    if (l->state == WF_STATE_UP) return REFUSE;
    WF_SOMETIMES("handshake: the WELCOME that began the link was lost", !wf_link_confirmed(l));
    WF_SOMETIMES("handshake: the other side does not know a link that was in use", wf_link_confirmed(l));
    return wf_link_confirmed(l) ? NEW_LINK : RESUME;
}

static void on_offer(struct wf_cluster *c, struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_link *l = link_of(c, ch);
    enum decision d = decide(l, ch, f);
    WF_SOMETIMES("handshake: a crossing dial is refused", d == REFUSE);
    WF_SOMETIMES("handshake: a node that has sent BYE on another connection dials", d != REFUSE && has_left(c, ch));
    if (d == REFUSE) {
        refuse(c, ch, WF_REFUSED_DUPLICATE, "these nodes are linked already");
    } else if (has_left(c, ch)) {
        refuse(c, ch, WF_REFUSED_STOPPING, "the node has announced on another connection that it leaves");
    } else if (name_clashes(c, ch)) {
        refuse(c, ch, WF_REFUSED_NAME_TAKEN, "the name was taken meanwhile");
    } else if (d == RESUME) {
        send_welcome(ch, l->number, atomic_load_explicit(&l->received, memory_order_relaxed), WF_LINK_BROKEN);
        if (wf_channel_phase(ch) == WF_PHASE_HEARD) go_on(c, ch, l, f->number == l->number ? f->ref : 0);
    } else if (c->leaving) {
        refuse(c, ch, WF_REFUSED_STOPPING, "the node is stopping");
        give_up(c, l);
    } else {
        uint64_t number = resumable(ch) ? ++c->t->last_number : 0;
        send_welcome(ch, number, 0, WF_LINK_OVER);
        if (wf_channel_phase(ch) == WF_PHASE_HEARD) bring_up(c, ch, number);
    }
}

/* The node with the higher incarnation sends WELCOME first: it agrees to a link. The other one's WELCOME makes this
 * connection the link's channel. */
static void on_welcome(struct wf_cluster *c, struct wf_channel *ch, const struct wf_frame *f)
{
    char why[WF_REASON_TEXT];
    if (!wf_rights_own(c, ch, why)) refuse(c, ch, WF_REFUSED_IDENTITY, why); /* a node has linked with it meanwhile */
    else if (c->t->node->incarnation > ch->incarnation) on_decision(c, ch, f);
    else on_offer(c, ch, f);
}

/* ---- REFUSED --------------------------------------------------------------------------------------------------- */

static void check_fatal(struct wf_cluster *c, struct wf_dialer *d, const char *reason)
{
    int64_t now = wf_transport_now(c->t);
    if (d->taken_since == 0) d->taken_since = now;
    d->taken_said++;
    if (now - d->taken_since < WF_NAME_PATIENCE || d->taken_said < WF_NAME_REFUSALS) return;
    if (!c->ever_up && d->seed) wf_cluster_fail(c->t, "cannot join", reason);
}

static void on_refused(struct wf_cluster *c, struct wf_channel *ch, const struct wf_frame *f)
{
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "refused by node %.40s: %.*s", ch->name,
             (int)wf_utf8_whole(f->name.data, WF_MIN(f->name.size, (size_t)100)), f->name.data);
    struct wf_dialer *d = ch->dialer;
    if (d != NULL && f->number == WF_REFUSED_SELF) d->self = true;
    if (d != NULL && f->number == WF_REFUSED_NAME_TAKEN) check_fatal(c, d, why);
    WF_SOMETIMES("handshake: a dial is refused in favour of a crossing one",
                 d != NULL && f->number == WF_REFUSED_DUPLICATE);
    WF_SOMETIMES("handshake: a node is refused because the old link of its name still seems to be up",
                 f->number == WF_REFUSED_NAME_TAKEN);
    if (d != NULL && f->number == WF_REFUSED_DUPLICATE) {
        /* Without a link, this node cannot know whether the incarnation is that of the node there. */
        if (link_of(c, ch) != NULL) wf_dialers_know(c, d, ch->incarnation);
        snprintf(d->last, sizeof d->last, "%s", why); /* the reason is not logged again, because the two are linked */
    }
    if (d == NULL && f->number != WF_REFUSED_DUPLICATE && f->number != WF_REFUSED_SELF)
        wf_burst_warn(&c->t->bursts, wf_transport_now(c->t), "refused by node", "%s", why);
    wf_channel_enter(ch, WF_PHASE_REFUSED);
    wf_conn_close(ch->conn, why);
    struct wf_link *l = link_of(c, ch);
    if (l == NULL || l->state != WF_STATE_BROKEN || !wf_rights_own(c, ch, why)) return;
    if (f->number == WF_REFUSED_STOPPING) wf_links_bye(c, l, WF_LEFT);
    if (f->number == WF_REFUSED_FAULT) wf_links_end(c, l, why);
}

/* ---- Events of channels ---------------------------------------------------------------------------------------- */

static void on_handshake(struct wf_cluster *c, struct wf_channel *ch, struct wf_frame *f)
{
    bool greeted = wf_channel_phase(ch) == WF_PHASE_HEARD;
    char why[WF_REASON_TEXT];
    if (f->kind == WF_FRAME_UNKNOWN) return;
    if (f->kind == WF_FRAME_HELLO && !greeted) {
        on_hello(c, ch, &f->hello);
    } else if (f->kind == WF_FRAME_REFUSED) {
        on_refused(c, ch, f);
    } else if (f->kind == WF_FRAME_WELCOME && greeted) {
        on_welcome(c, ch, f);
    } else if (f->kind == WF_FRAME_BYE) {
        wf_channel_end(ch, WF_LEFT);
    } else {
        snprintf(why, sizeof why, "%s instead of %s", wf_frame_name(f->kind), greeted ? "WELCOME" : "HELLO");
        wf_channel_end(ch, why);
    }
}

void wf_handshakes_message(struct wf_cluster *c, struct wf_channel *ch, const uint8_t *data, size_t size)
{
    if (!wf_linked(&ch->in_all)) {
        WF_ASSERT(wf_channel_phase(ch) == WF_PHASE_NEW);
        wf_channel_keep(ch);
        wf_list_push(&c->channels, &ch->in_all);
        ch->handshake_by = wf_transport_now(c->t) + c->t->handshake_time;
    }
    weft_reader r = weft_reader_on(data, size);
    struct wf_frame f;
    while (wf_channel_phase(ch) == WF_PHASE_NEW || wf_channel_phase(ch) == WF_PHASE_HEARD) {
        int got = wf_frame_next(&r, &f);
        if (got == 0) break;
        if (got < 0) {
            char why[WF_REASON_TEXT];
            wf_frame_fault(&r, &f, why, sizeof why);
            wf_channel_end(ch, why);
        } else {
            on_handshake(c, ch, &f);
        }
    }
    ch->skip = (size_t)(r.at - data); /* the bytes behind it are received when the channel is up */
    if (wf_channel_phase(ch) == WF_PHASE_PENDING) wf_links_go_on(c, ch->link); /* resumes reading, now or later */
    else wf_conn_resume(ch->conn);
}

void wf_handshakes_down(struct wf_cluster *c, struct wf_cluster_event *e)
{
    struct wf_channel *ch = e->channel;
    const char *reason = (const char *)e->data;
    int phase = ch == NULL ? WF_PHASE_NEW : wf_channel_phase(ch);
    struct wf_link *l = ch == NULL ? NULL : ch->link;
    if (ch != NULL && phase != WF_PHASE_REFUSED) wf_channel_enter(ch, WF_PHASE_OVER);
    if (l != NULL && l->pending == ch) {
        l->pending = NULL;
        wf_channel_release(ch);
    } else if (l != NULL && l->channel == ch) {
        wf_links_lost(c, l, reason);
    }
    if (e->dialer != NULL) {
        if (l != NULL) wf_dialers_free_again(c, e->dialer);
        else
            wf_dialers_failed(c, e->dialer,
                              phase == WF_PHASE_REFUSED && e->dialer->last[0] != '\0' ? e->dialer->last : reason);
    } else if (l == NULL && phase == WF_PHASE_NEW && wf_remote_is_local(e->remote)) {
        weft_log(WEFT_DEBUG, "a local connection ended before it sent anything: %s",
                 reason); /* a tool looks for nodes */
    } else if (l == NULL && phase != WF_PHASE_REFUSED && !c->leaving) {
        log_reject(c, e->remote, reason, reason, WEFT_SEC(1));
    }
    if (ch == NULL || !wf_linked(&ch->in_all)) return;
    wf_unlink(&ch->in_all);
    wf_channel_release(ch);
}

int64_t wf_handshakes_tick(struct wf_cluster *c, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    WF_LIST_EACH(k, &c->channels) {
        struct wf_channel *ch = WF_CONTAINER(k, struct wf_channel, in_all);
        int phase = wf_channel_phase(ch);
        if (phase > WF_PHASE_REFUSED) continue;
        if (now >= ch->handshake_by) {
            WF_SOMETIMES("handshake: HELLO does not come in time", phase == WF_PHASE_NEW);
            WF_SOMETIMES("handshake: WELCOME does not come in time", phase == WF_PHASE_HEARD);
            ch->handshake_by = WEFT_FOREVER;
            wf_channel_end(ch, phase == WF_PHASE_HEARD ? "no WELCOME in time" : "no end of the handshake in time");
        } else {
            at = WF_MIN(at, ch->handshake_by);
        }
    }
    return at;
}

void wf_handshakes_end(struct wf_cluster *c)
{
    WF_LIST_EACH(k, &c->channels) {
        struct wf_channel *ch = WF_CONTAINER(k, struct wf_channel, in_all);
        if (wf_channel_phase(ch) < WF_PHASE_PENDING) wf_channel_end(ch, "this node stops");
    }
}
