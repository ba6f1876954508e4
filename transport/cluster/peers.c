/* transport/cluster/peers.c -- the other nodes, how this node learns of them, and which it dials. */
#include "peers.h"
#include "cluster_event.h"
#include "dialers.h"
#include "gossip.h"
#include "links.h"
#include "peer_link.h"
#include "send_queue.h"
#include "transport.h"
#include "typed.h"
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const wf_peer_state_names[WF_PEER_STATES] = {"connecting", "up", "down", "suspect", "leaf"};

/* ---- The table ------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static void forget(struct wf_cluster *c, struct wf_peer *p)
{
    wf_unlink(&p->in_cluster);
    wf_hash_table_remove(&c->known, &p->by_incarnation);
    c->gone_count -= wf_linked(&p->in_gone);
    wf_unlink(&p->in_gone);
    c->peer_count--;
    if (p->ended != NULL) wf_link_release(p->ended);
    free(p->url);
    free((char *)p->record.data);
    free(p);
}

/* With the lock held: of the nodes in `gone` only the latest stay in the table. */
static void forget_oldest(struct wf_cluster *c)
{
    while (c->gone_count > WF_PEERS_DOWN_KEPT)
        forget(c, WF_CONTAINER(wf_list_first(&c->gone), struct wf_peer, in_gone));
}

static struct wf_peer *peer_add(struct wf_cluster *c, weft_text name, uint64_t incarnation, const weft_text *urls,
                                uint32_t count)
{
    struct wf_peer *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->url = wf_urls_copy(urls, count);
    p->incarnation = incarnation;
    if (p->url == NULL || !wf_hash_table_add(&c->known, &p->by_incarnation, wf_cluster_hash(c, incarnation))) {
        free(p->url);
        free(p);
        return NULL;
    }
    p->url_count = count;
    snprintf(p->name, sizeof p->name, "%.*s", WEFT_STR(name));
    p->since = wf_transport_now(c->t);
    pf_mutex_lock(c->t->lock);
    forget_oldest(c);
    wf_list_push(&c->peers, &p->in_cluster);
    c->peer_count++;
    pf_mutex_unlock(c->t->lock);
    return p;
}

/* The node was known only from others, who were wrong about its name. Nothing that they said of it stays. */
static void correct(struct wf_cluster *c, struct wf_peer *p, const struct wf_link *l, char (*urls)[WF_URL_TEXT])
{
    pf_mutex_lock(c->t->lock);
    snprintf(p->name, sizeof p->name, "%s", l->name);
    free((char *)p->record.data);
    p->record = (weft_text){0};
    free(p->url);
    p->url = urls;
    p->url_count = urls == NULL ? 0 : l->url_count;
    pf_mutex_unlock(c->t->lock);
}

/* ---- States of a peer ------------------------------------------------------------------------------------------ */

void wf_peers_up(struct wf_cluster *c, struct wf_link *l)
{
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < l->url_count; i++) urls[i] = weft_cstr(l->url[i]);
    struct wf_peer *p = wf_peers_find(c, l->incarnation);
    if (p == NULL) p = peer_add(c, weft_cstr(l->name), l->incarnation, urls, l->url_count);
    if (p == NULL) return;
    if (strcmp(p->name, l->name) != 0) correct(c, p, l, wf_urls_copy(urls, l->url_count));
    pf_mutex_lock(c->t->lock);
    p->state = WF_PEER_UP;
    p->link = l;
    p->last_number = l->number;
    p->reason[0] = '\0';
    p->since = p->linked_at = wf_transport_now(c->t);
    pf_cond_broadcast(c->t->changed);
    pf_mutex_unlock(c->t->lock);
    wf_dialers_note_gone(c, p);
}

static int64_t patience_with(const struct wf_cluster *c, const struct wf_peer *p)
{
    return p->linked_at == 0 ? WF_GIVE_UP_NEW * c->t->resume_window : WF_GIVE_UP;
}

/* Whether its addresses come from the node itself, which was linked, and not from other nodes. */
static bool has_announced_urls(const struct wf_cluster *c, const struct wf_peer *p)
{
    const struct wf_swim_member *m = wf_gossip_member(c, p->incarnation);
    return p->linked_at != 0 && (m == NULL || m->own);
}

static void dial_peer(struct wf_cluster *c, const struct wf_peer *p)
{
    const struct wf_transport *t = c->t;
    if (p->url_count == 0 || t->client || (c->leaving && p->link == NULL)) return;
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < p->url_count; i++) urls[i] = weft_cstr(p->url[i]);
    struct wf_dialer *d = wf_dialers_find(c, p->incarnation);
    if (d == NULL) d = wf_dialers_add(c, urls, p->url_count);
    if (d == NULL || d->seed) return;
    int64_t now = wf_transport_now(t);
    /* A node that leaves does not listen, so the other one cannot dial it. */
    bool first = t->node->incarnation < p->incarnation || wf_transport_urls(t) == 0 || c->leaving;
    wf_dialers_know(c, d, p->incarnation);
    d->proven = has_announced_urls(c, p);
    d->next_at = WF_MAX(now + (first ? 0 : WF_OTHER_DIALS), p->held_until);
    d->give_up_at = now + patience_with(c, p);
}

void wf_peers_broken(struct wf_cluster *c, struct wf_link *l, const char *reason)
{
    struct wf_peer *p = wf_peers_find(c, l->incarnation);
    if (p == NULL) return;
    wf_gossip_broken(c, l);
    wf_peers_review(c, l, reason);
    dial_peer(c, p);
}

void wf_peers_review(struct wf_cluster *c, struct wf_link *l, const char *reason)
{
    struct wf_peer *p = wf_peers_find(c, l->incarnation);
    enum wf_peer_state state = wf_gossip_accused(c, l) || l->state == WF_STATE_BROKEN ? WF_PEER_SUSPECT : WF_PEER_UP;
    if (p == NULL || p->state == state || p->link != l) return;
    pf_mutex_lock(c->t->lock);
    p->state = state;
    p->since = wf_transport_now(c->t);
    snprintf(p->reason, sizeof p->reason, "%s", state == WF_PEER_UP ? "" : reason);
    pf_mutex_unlock(c->t->lock);
    wf_links_notify(c, state == WF_PEER_UP ? WEFT_TAG_NODE_UP : WEFT_TAG_NODE_SUSPECT, l, p->reason);
}

void wf_peers_gone(struct wf_cluster *c, struct wf_peer *p, const char *reason, bool left)
{
    WF_ASSERT(p->link == NULL);
    if (p->state == WF_PEER_DOWN && p->left == left) return;
    pf_mutex_lock(c->t->lock);
    p->state = WF_PEER_DOWN;
    p->left = left;
    p->since = wf_transport_now(c->t);
    snprintf(p->reason, sizeof p->reason, "%s", reason);
    pf_mutex_unlock(c->t->lock);
    wf_dialers_note_gone(c, p);
    struct wf_dialer *d = p->linked_at == 0 ? wf_dialers_find(c, p->incarnation) : NULL;
    if (d != NULL) d->give_up_at = p->since; /* this node never reached it: perhaps it never existed */
}

/* The link with `p` failed through a fault of the peer. */
static void count_fault(struct wf_cluster *c, struct wf_peer *p, const char *reason)
{
    int64_t now = wf_transport_now(c->t);
    uint32_t faults = now - p->linked_at >= WF_FAULT_FORGOTTEN ? 1 : p->faults + 1;
    int64_t hold = faults == 1 ? 0 : WF_MIN(WF_FAULT_HOLD << WF_MIN(faults - 2, 10u), WF_FAULT_HOLD_MAX);
    pf_mutex_lock(c->t->lock);
    p->faults = faults;
    if (hold > 0) p->held_until = now + hold;
    pf_mutex_unlock(c->t->lock);
    if (hold == 0) return;
    wf_peer_log(&c->t->bursts, now, WEFT_WARN,
                "the link with node %s was closed %u times in a row: %s; the next one in %.1f s", p->name, p->faults,
                reason, (double)hold / 1e9);
}

void wf_peers_down(struct wf_cluster *c, struct wf_link *l, const char *reason, bool left)
{
    struct wf_peer *p = wf_peers_find(c, l->incarnation);
    if (p == NULL) return;
    if (!left && wf_link_at_fault(l)) count_fault(c, p, reason);
    pf_mutex_lock(c->t->lock);
    p->state = WF_PEER_DOWN;
    if (p->ended != NULL) {
        p->frames_lost += atomic_load_explicit(&p->ended->frames_lost, memory_order_relaxed);
        wf_link_release(p->ended);
    }
    wf_link_keep(l);
    p->ended = l;
    p->link = NULL;
    p->left = left;
    p->since = wf_transport_now(c->t);
    snprintf(p->reason, sizeof p->reason, "%s", reason);
    pf_mutex_unlock(c->t->lock);
    wf_dialers_note_gone(c, p);
    if (!left) dial_peer(c, p);
}

/* The URLs of a node may change, too: a node may begin to listen when it has reached its seed. */
static void keep_record(struct wf_cluster *c, struct wf_peer *p, weft_text record)
{
    if (wf_text_equal(p->record, record)) return;
    struct wf_swim_record r = wf_swim_record_of(record);
    char *copy = malloc(record.size), (*urls)[WF_URL_TEXT] = wf_urls_copy(r.url, r.url_count);
    if (copy == NULL || urls == NULL) {
        free(copy);
        free(urls);
        return;
    }
    memcpy(copy, record.data, record.size);
    pf_mutex_lock(c->t->lock);
    if (p->linked_at == 0) snprintf(p->name, sizeof p->name, "%.*s", WEFT_STR(r.name)); /* others may correct a lie */
    free((char *)p->record.data);
    free(p->url);
    p->record = (weft_text){copy, record.size};
    p->url = urls;
    p->url_count = r.url_count;
    pf_mutex_unlock(c->t->lock);
}

struct wf_peer *wf_peers_member(struct wf_cluster *c, const struct wf_swim_member *m)
{
    struct wf_peer *p = wf_peers_find(c, m->node);
    if (p == NULL) {
        struct wf_swim_record r = wf_swim_record_of(m->record);
        p = peer_add(c, r.name, m->node, r.url, r.url_count);
        if (p == NULL) return NULL;
    }
    keep_record(c, p, m->record);
    if (p->link != NULL) return p;
    pf_mutex_lock(c->t->lock);
    if (p->state != WF_PEER_CONNECTING) p->since = wf_transport_now(c->t);
    p->state = WF_PEER_CONNECTING;
    p->left = false;
    pf_mutex_unlock(c->t->lock);
    wf_dialers_note_gone(c, p);
    if (wf_dialers_find(c, p->incarnation) == NULL) dial_peer(c, p);
    return p;
}

void wf_peers_heard_of(struct wf_cluster *c, const struct wf_link *from, const struct wf_frame_peer *heard)
{
    if (heard->incarnation == c->t->node->incarnation || wf_links_named(c, heard->name) != NULL) return;
    struct wf_peer *p = wf_peers_find(c, heard->incarnation);
    if (p != NULL && (p->link != NULL || p->left || wf_dialers_find(c, p->incarnation) != NULL)) return;
    if (p == NULL && (c->peer_count >= WF_PEERS_MAX || !wf_gossip_may_introduce(c, from))) return;
    if (p == NULL) p = peer_add(c, heard->name, heard->incarnation, heard->url, heard->url_count);
    if (p == NULL) return;
    pf_mutex_lock(c->t->lock);
    p->state = WF_PEER_CONNECTING;
    pf_mutex_unlock(c->t->lock);
    wf_dialers_note_gone(c, p);
    dial_peer(c, p);
}

/* ---- Dialling -------------------------------------------------------------------------------------------------- */

/* A member is dialled as long as it is a member. One that was never reached may be an invention of another member: this
 * node suspects it, and a member that exists will refute that. */
static void given_up(struct wf_cluster *c, struct wf_dialer *d, int64_t now)
{
    struct wf_peer *p = wf_peers_find(c, d->incarnation);
    const struct wf_swim_member *m = wf_gossip_member(c, d->incarnation);
    if (m != NULL && wf_swim_present(m)) {
        WF_SOMETIMES("gossip: a member was never reached", p != NULL && p->linked_at == 0);
        d->give_up_at = now + (p == NULL ? WF_GIVE_UP : patience_with(c, p));
        if (p != NULL && p->linked_at == 0) wf_gossip_unreached(c, d->incarnation);
        return;
    }
    if (p != NULL && p->state == WF_PEER_CONNECTING && p->link == NULL) {
        char why[WF_REASON_TEXT];
        snprintf(why, sizeof why, "not reached: %.100s", d->last);
        wf_peers_gone(c, p, why, false);
    }
    wf_dialers_free(c, d);
}

/* The addresses of a node may have changed since the dialer began, or those that others reported first were wrong. */
static void refresh(struct wf_cluster *c, struct wf_dialer *d)
{
    const struct wf_peer *p = d->seed ? NULL : wf_peers_find(c, d->incarnation);
    if (p == NULL || p->url_count == 0) return;
    bool same = d->url_count == p->url_count;
    for (uint32_t i = 0; same && i < p->url_count; i++) same = strcmp(d->url[i], p->url[i]) == 0;
    if (same) return;
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < p->url_count; i++) urls[i] = weft_cstr(p->url[i]);
    if (wf_dialers_readdress(d, urls, p->url_count)) d->proven = has_announced_urls(c, p);
}

static bool is_node_up(struct wf_cluster *c, uint64_t incarnation)
{
    return wf_links_is_up(c, incarnation) && !wf_links_find(c, incarnation)->client;
}

int64_t wf_peers_tick(struct wf_cluster *c, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    WF_LIST_EACH(k, &c->dialers) {
        struct wf_dialer *d = WF_CONTAINER(k, struct wf_dialer, in_cluster);
        if (d->busy || d->self) continue;
        if (c->leaving && wf_links_find(c, d->incarnation) == NULL) continue; /* only existing links are resumed */
        if (d->incarnation != 0 && is_node_up(c, d->incarnation)) {
            if (!d->seed) wf_dialers_free(c, d);
            continue;
        }
        if (now >= d->give_up_at) {
            given_up(c, d, now);
            continue;
        }
        if (now >= d->next_at) {
            refresh(c, d);
            wf_dialers_dial(c, d);
        }
        if (!d->busy) at = WF_MIN(at, WF_MIN(d->next_at, d->give_up_at));
    }
    return at;
}

void wf_peers_hurry(struct wf_cluster *c)
{
    int64_t now = wf_transport_now(c->t);
    WF_LIST_EACH(k, &c->dialers) {
        struct wf_dialer *d = WF_CONTAINER(k, struct wf_dialer, in_cluster);
        const struct wf_peer *p = wf_peers_find(c, d->incarnation);
        if (!d->busy && p != NULL && p->link != NULL) d->next_at = WF_MAX(now, p->held_until);
    }
}

/* ---- PEERS ----------------------------------------------------------------------------------------------------- */

static void put_one(weft_writer *w, const struct wf_peer *p)
{
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < p->url_count; i++) urls[i] = weft_cstr(p->url[i]);
    wf_put_peer(w, weft_cstr(p->name), p->incarnation, urls, p->url_count);
}

/* Whether PEERS must tell `a` of `b`: only if one of the two does not gossip. */
static bool needs_peers(const struct wf_cluster *c, const struct wf_link *a, const struct wf_link *b)
{
    return c->swim == NULL || !wf_link_can(a, WF_CAN_GOSSIP) || !wf_link_can(b, WF_CAN_GOSSIP);
}

/* Sends PEERS with all nodes that are up except `but`, or with `only`. */
static void send_peers(struct wf_cluster *c, struct wf_link *l, const struct wf_peer *only, uint64_t but)
{
    struct wf_batch *b = NULL;
    weft_writer w = weft_writer_on(NULL, 0);
    uint32_t count = only != NULL;
    if (only == NULL)
        WF_LIST_EACH(k, &c->peers) {
            struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
            count += p->state == WF_PEER_UP && p->incarnation != but && needs_peers(c, l, p->link);
        }
    if (count == 0) return;
    for (int pass = 0; pass < 2; pass++) {
        wf_put_peers(&w, count);
        if (only != NULL) put_one(&w, only);
        WF_LIST_EACH(k, &c->peers) {
            struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
            bool meant = only == NULL && p->state == WF_PEER_UP && p->incarnation != but;
            if (meant && needs_peers(c, l, p->link)) put_one(&w, p);
        }
        if (pass == 1) break;
        if ((b = wf_batch_new(l, w.size)) == NULL) return;
        w = wf_batch_writer(b);
    }
    wf_link_send(l, b, &w);
}

void wf_peers_introduce(struct wf_cluster *c, struct wf_link *l)
{
    struct wf_peer *self = wf_peers_find(c, l->incarnation);
    if (c->t->client || l->client || self == NULL) return;
    send_peers(c, l, NULL, l->incarnation);
    WF_LIST_EACH(k, &c->peers) {
        struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
        if (p->link != NULL && p != self && needs_peers(c, l, p->link)) send_peers(c, p->link, self, 0);
    }
}

void wf_peers_finish(struct wf_cluster *c)
{
    pf_mutex_lock(c->t->lock);
    for (struct wf_list_node *k; (k = wf_list_first(&c->peers)) != NULL;)
        forget(c, WF_CONTAINER(k, struct wf_peer, in_cluster));
    pf_mutex_unlock(c->t->lock);
}
