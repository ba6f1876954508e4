/* transport/cluster/gossip.c -- membership in a node: sends the frames of swim.c over links; the members that swim.c
 * reports decide which nodes are dialled, which links are ended and which nodes count as suspect. */
#include "gossip.h"
#include "cluster.h"
#include "links.h"
#include "members.h"

#include "pack.h"
#include "typed.h"
#include "names.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "partition.h"
#include "peers.h"
#include "roles.h"
#include "peer_link.h"
#include "swim_table.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>

#define REVIEWS_AT_ONCE WF_LIMIT("gossip: members looked at in a turn", 64, 1)

static bool can_gossip(const struct wf_cluster *c, const struct wf_link *l)
{
    return c->swim != NULL && !l->client && wf_link_can(l, WF_CAN_GOSSIP);
}

/* ---- Callbacks of swim.c --------------------------------------------------------------------------------------- */

static bool on_send(void *arg, uint64_t to, const void *frame, size_t size)
{
    struct wf_cluster *c = arg;
    struct wf_link *l = wf_links_find(c, to);
    if (l == NULL || l->state != WF_STATE_UP || !can_gossip(c, l)) return false;
    struct wf_batch *b = wf_batch_new(l, size);
    if (b == NULL) return false;
    weft_writer w = wf_batch_writer(b);
    wf_pack_raw(&w, frame, size);
    wf_link_send_first(l, b, &w);
    return true;
}

static void on_changed(void *arg, const struct wf_swim_member *m, enum wf_swim_state before)
{
    struct wf_cluster *c = arg;
    (void)before;
    struct wf_list_node *k = (struct wf_list_node *)(uintptr_t)&m->in_changed; /* this field belongs to the user */
    if (!wf_linked(k)) wf_list_push(&c->changed, k);
}

static bool is_heard(const struct wf_link *l)
{
    int64_t heard = atomic_load_explicit(&l->last_heard, memory_order_relaxed);
    return l->state == WF_STATE_UP &&
           wf_links_heard_until(l, wf_transport_now(l->t)) - heard <= WF_QUIET_BEATS * l->heartbeat;
}

static bool on_heard(void *arg, uint64_t node)
{
    const struct wf_link *l = wf_links_find(arg, node);
    return l != NULL && !l->client && is_heard(l);
}

bool wf_gossip_may_introduce(struct wf_cluster *c, const struct wf_link *l)
{
    if (l == NULL || l->channel == NULL || (l->channel->denied & WF_RIGHT_STOP) == 0) return true;
    int64_t now = wf_transport_now(c->t);
    if (c->guests_until - now > WF_GUEST_BURST * WF_GUEST_EACH) return false;
    c->guests_until = WF_MAX(c->guests_until, now) + WF_GUEST_EACH;
    return true;
}

/* The limit is about the milliseconds since 1970: no member refutes so often. */
static uint64_t on_number_max(void *arg)
{
    const struct wf_cluster *c = arg;
    uint64_t most = (wf_stamp_of(wf_node_wall(c->t->node)) + WF_STAMP_AHEAD) / 1000;
    return WF_MIN(most, WF_SWIM_NUMBER_MAX - 2);
}

static bool on_introduced(void *arg, uint64_t from)
{
    return wf_gossip_may_introduce(arg, wf_links_find(arg, from));
}

static bool may_be_named(void *arg, uint64_t node, weft_text name)
{
    const struct wf_peer *p = wf_peers_find(arg, node);
    return p == NULL || p->linked_at == 0 || wf_text_equal(weft_cstr(p->name), name);
}

static const struct wf_swim_user user = {.send = on_send,
                                         .changed = on_changed,
                                         .heard = on_heard,
                                         .number_max = on_number_max,
                                         .may_introduce = on_introduced,
                                         .may_be_named = may_be_named};

/* ---- Consequences for links and peers -------------------------------------------------------------------------- */

const struct wf_swim_member *wf_gossip_member(const struct wf_cluster *c, uint64_t incarnation)
{
    return c->swim == NULL ? NULL : wf_swim_find(c->swim, incarnation);
}

static void explain(const struct wf_cluster *c, const struct wf_swim_member *m, char out[WF_REASON_TEXT])
{
    static const char *const what[] = {"", "no answer to node ", "found to be down by node ", "left"};
    bool blamed = m->state == WF_SWIM_SUSPECT || m->state == WF_SWIM_DOWN;
    const struct wf_swim_member *by = blamed ? wf_swim_find(c->swim, m->by[0]) : NULL;
    weft_text name = by != NULL ? by->name : weft_cstr(blamed ? "?" : "");
    snprintf(out, WF_REASON_TEXT, "%s%.*s", what[m->state], WEFT_STR(name));
}

bool wf_gossip_has_left(const struct wf_cluster *c, const struct wf_link *l)
{
    const struct wf_swim_member *m = wf_gossip_member(c, l->incarnation);
    return m != NULL && m->state == WF_SWIM_LEFT;
}

bool wf_gossip_accused(const struct wf_cluster *c, const struct wf_link *l)
{
    const struct wf_swim_member *m = wf_gossip_member(c, l->incarnation);
    return m != NULL && m->state == WF_SWIM_SUSPECT && !is_heard(l);
}

static void review_gone(struct wf_cluster *c, const struct wf_swim_member *m, struct wf_peer *p, const char *why)
{
    struct wf_link *l = p->link;
    bool left = m->state == WF_SWIM_LEFT;
    if (l == NULL) {
        wf_peers_gone(c, p, why, left);
    } else if (left) {
        WF_SOMETIMES("gossip: a node whose link is broken has left", l->state == WF_STATE_BROKEN);
        wf_links_has_left(c, l);
    } else if (is_heard(l)) {
        WF_SOMETIMES("gossip: a node from which something is heard is reported as down", true);
        wf_swim_greet_suspect(c->swim, m->node, wf_transport_now(c->t));
    } else {
        WF_SOMETIMES("gossip: a link ends because others have found the node to be down", true);
        wf_links_end(c, l, why);
    }
}

/* Whether it is said to have the name of this node, or of a linked one: then it is no successor of that node yet. */
static bool has_name_of_another(struct wf_cluster *c, const struct wf_swim_member *m)
{
    const struct wf_link *l = wf_links_named(c, m->name);
    return (l != NULL && l->incarnation != m->node) || wf_text_equal(m->name, weft_cstr(c->t->node->name));
}

static void review(struct wf_cluster *c, const struct wf_swim_member *m)
{
    if (m == c->swim->self) return;
    if (!has_name_of_another(c, m)) wf_partition_review(&c->partition, m);
    char why[WF_REASON_TEXT];
    explain(c, m, why);
    struct wf_peer *p = wf_swim_present(m) ? wf_peers_member(c, m) : wf_peers_find(c, m->node);
    if (p == NULL) return;
    if (!wf_swim_present(m)) {
        review_gone(c, m, p, why);
    } else if (p->link != NULL) {
        WF_SOMETIMES("gossip: a node from which something is heard is suspected",
                     m->state == WF_SWIM_SUSPECT && is_heard(p->link));
        if (m->state == WF_SWIM_SUSPECT && is_heard(p->link))
            wf_swim_greet_suspect(c->swim, m->node, wf_transport_now(c->t));
        wf_peers_review(c, p->link, why);
    }
}

/* Reviews the changed members. Ending links changes more of them. */
static void settle(struct wf_cluster *c)
{
    struct wf_list_node *k;
    for (uint32_t i = 1; (k = wf_list_pop(&c->changed)) != NULL; i++) {
        review(c, WF_CONTAINER(k, struct wf_swim_member, in_changed));
        if (i % REVIEWS_AT_ONCE == 0) wf_cluster_pause();
    }
}

void wf_gossip_look(struct wf_cluster *c, const struct wf_link *l)
{
    const struct wf_swim_member *m = can_gossip(c, l) ? wf_swim_find(c->swim, l->incarnation) : NULL;
    if (m != NULL && m->state == WF_SWIM_SUSPECT) review(c, m);
}

/* ---- Events of links ------------------------------------------------------------------------------------------- */

/* The node has shown its name in the handshake. */
static void show(struct wf_cluster *c, const struct wf_link *l)
{
    uint8_t buffer[WF_SWIM_RECORD_MAX];
    struct wf_swim_record r = {.name = weft_cstr(l->name), .url_count = l->url_count};
    for (uint32_t i = 0; i < r.url_count; i++) r.url[i] = weft_cstr(l->url[i]);
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    wf_put_swim_record(&w, &r);
    WF_ASSERT(w.error == 0);
    if (wf_swim_show(c->swim, l->incarnation, (weft_text){(const char *)buffer, w.size}) < 0)
        weft_log(WEFT_ERROR, "out of memory: node %s keeps the name that others have reported", l->name);
    const struct wf_swim_member *m = wf_swim_find(c->swim, l->incarnation);
    if (m != NULL) wf_partition_review(&c->partition, m); /* it may be the successor of another one: see review */
}

void wf_gossip_linked(struct wf_cluster *c, struct wf_link *l)
{
    if (c->swim != NULL) show(c, l);
    if (!can_gossip(c, l)) return;
    wf_swim_greet(c->swim, l->incarnation);
    settle(c);
}

void wf_gossip_silent(struct wf_cluster *c, const struct wf_link *l)
{
    if (can_gossip(c, l)) wf_swim_recheck(c->swim, l->incarnation, wf_transport_now(c->t));
}

void wf_gossip_broken(struct wf_cluster *c, const struct wf_link *l)
{
    const struct wf_swim_member *m = can_gossip(c, l) ? wf_swim_find(c->swim, l->incarnation) : NULL;
    if (m == NULL) return;
    if (wf_swim_present(m)) wf_swim_recheck(c->swim, m->node, wf_transport_now(c->t));
    else on_changed(c, m, m->state); /* the link was kept only because something was heard on it */
}

void wf_gossip_unreached(struct wf_cluster *c, uint64_t incarnation)
{
    if (c->swim != NULL) wf_swim_accuse(c->swim, incarnation, wf_transport_now(c->t));
}

void wf_gossip_ended(struct wf_cluster *c, const struct wf_link *l, bool left)
{
    const struct wf_swim_member *m = can_gossip(c, l) && !c->leaving ? wf_swim_find(c->swim, l->incarnation) : NULL;
    if (m == NULL) return;
    int64_t now = wf_transport_now(c->t);
    if (left) wf_swim_declare(c->swim, m->node, WF_SWIM_LEFT, now);
    else wf_swim_recheck(c->swim, m->node, now);
    on_changed(c, m, m->state); /* it may be present without a link. Settled by the tick, as this may run within it */
}

void wf_gossip_frame(struct wf_cluster *c, struct wf_link *l, const void *data, size_t size)
{
    if (!can_gossip(c, l)) return;
    (void)wf_swim_receive(c->swim, l->incarnation, data, size, wf_transport_now(c->t)); /* the frame was checked */
    settle(c);
}

int64_t wf_gossip_tick(struct wf_cluster *c, int64_t now)
{
    if (c->swim == NULL) return WEFT_FOREVER;
    settle(c);
    int64_t at = wf_swim_tick(c->swim, now);
    if (wf_list_empty(&c->changed)) return at;
    settle(c);
    return wf_swim_tick(c->swim, now);
}

void wf_gossip_leave(struct wf_cluster *c)
{
    if (c->swim != NULL) wf_swim_leave(c->swim, wf_transport_now(c->t));
    while (wf_list_pop(&c->changed) != NULL) {}
}

/* ---- This node's own record ------------------------------------------------------------------------------------ */

static weft_text own_record(struct wf_transport *t, uint8_t buffer[WF_SWIM_RECORD_MAX])
{
    weft_writer w = weft_writer_on(buffer, WF_SWIM_RECORD_MAX);
    pf_mutex_lock(t->lock);
    struct wf_swim_record r = wf_meta_record(&t->meta);
    r.name = weft_cstr(t->node->name);
    r.url_count = wf_transport_urls(t);
    for (uint32_t i = 0; i < r.url_count; i++) r.url[i] = weft_cstr(t->url[i]);
    wf_put_swim_record(&w, &r);
    pf_mutex_unlock(t->lock);
    WF_ASSERT(w.error == 0);
    return (weft_text){(const char *)buffer, w.size};
}

void wf_gossip_describe(struct wf_cluster *c)
{
    uint8_t buffer[WF_SWIM_RECORD_MAX];
    if (c->swim == NULL || c->leaving) return;
    if (wf_swim_describe(c->swim, own_record(c->t, buffer), wf_transport_now(c->t)) < 0)
        weft_log(WEFT_ERROR, "out of memory: other nodes are not sent the new metadata");
}

int wf_gossip_create(struct wf_transport *t)
{
    if (t->client) return WEFT_OK;
    uint8_t buffer[WF_SWIM_RECORD_MAX];
    struct pf_env *env = t->node->workers.env;
    const weft_node_options *o = &t->node->options;
    struct wf_swim_options so = {.period = o->probe_period, .suspicion = (uint32_t)o->suspicion};
    env->random(env, &so.seed, sizeof so.seed);
    struct wf_cluster *c = t->cluster;
    c->swim = wf_swim_new(&so, &user, c, t->node->incarnation, own_record(t, buffer), wf_transport_now(t));
    return c->swim == NULL ? WEFT_ENOMEM : wf_partition_init(c, o);
}
