/* transport/cluster/peers.c -- which other nodes there are, how this node knows of them, and dialling them. */
#include "peers.h"
#include "cluster.h"
#include "gossip.h"
#include "links.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "peer_link.h"
#include "transport.h"
#include "typed.h"
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const wf_peer_state_names[WF_PEER_STATES] = {"connecting", "up", "down", "suspect", "leaf"};

/* ---- Dialers --------------------------------------------------------------------------------------------------- */

static void copy_text(char *out, size_t size, weft_text t)
{
    size_t n = WF_MIN(t.size, size - 1);
    memcpy(out, t.data, n);
    out[n] = '\0';
}

static char (*copy_urls(const weft_text *urls, uint32_t count))[WF_URL_TEXT]
{
    char(*out)[WF_URL_TEXT] = calloc(WF_MAX(count, 1u), sizeof *out);
    for (uint32_t i = 0; out != NULL && i < count; i++) copy_text(out[i], sizeof out[i], urls[i]);
    return out;
}

static struct wf_dialer *dialer_add(struct wf_cluster *c, const weft_text *urls, uint32_t count)
{
    struct wf_dialer *d = calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    d->url = copy_urls(urls, count);
    if (d->url == NULL) {
        free(d);
        return NULL;
    }
    d->url_count = count;
    d->give_up_at = WEFT_FOREVER;
    wf_list_push(&c->dialers, &d->in_cluster);
    return d;
}

static struct wf_dialer *dialer_of(const struct wf_cluster *c, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &c->dialed, wf_cluster_hash(c, incarnation))
    {
        struct wf_dialer *d = WF_CONTAINER(e, struct wf_dialer, by_incarnation);
        if (d->incarnation == incarnation) return d;
    }
    return NULL;
}

/* Whether it is DOWN, or dialled, may have changed. */
static void note_gone(struct wf_cluster *c, struct wf_peer *p)
{
    bool gone = p != NULL && p->state == WF_PEER_DOWN && dialer_of(c, p->incarnation) == NULL;
    if (p == NULL || gone == wf_linked(&p->in_gone)) return;
    if (gone) wf_list_push(&c->gone, &p->in_gone);
    else wf_unlink(&p->in_gone);
    c->gone_count += gone ? 1 : UINT32_MAX;
}

/* Without memory for a first table it is not found, and its node may be dialled twice. */
void wf_dialers_know(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation)
{
    uint64_t before = d->incarnation;
    if (before == incarnation) return;
    if (d->in_table) wf_hash_table_remove(&c->dialed, &d->by_incarnation);
    d->incarnation = incarnation;
    d->in_table = incarnation != 0 &&
                  wf_hash_table_add(&c->dialed, &d->by_incarnation, wf_cluster_hash(c, incarnation));
    note_gone(c, wf_peers_find(c, before));
    note_gone(c, wf_peers_find(c, incarnation));
}

static void dialer_free(struct wf_cluster *c, struct wf_dialer *d)
{
    wf_dialers_know(c, d, 0);
    wf_unlink(&d->in_cluster);
    if (d->dial.over != NULL) wf_cluster_event_free(d->dial.over);
    free(d->url);
    free(d);
}

int wf_dialers_add_seed(struct wf_cluster *c, const char *url)
{
    weft_text text = weft_cstr(url);
    struct wf_dialer *d = dialer_add(c, &text, 1);
    if (d == NULL) return WEFT_ENOMEM;
    d->seed = true;
    return WEFT_OK;
}

/* Whether `urls` has it. */
static bool lists(const char *urls, size_t size, const char *url)
{
    for (size_t at = 0; at < size; at += strlen(urls + at) + 1)
        if (strcmp(urls + at, url) == 0) return true;
    return false;
}

/* Of the options, or of this source. */
static bool is_seed(const struct wf_cluster *c, uint32_t source, const char *url)
{
    WF_LIST_EACH(k, &c->dialers) {
        const struct wf_dialer *d = WF_CONTAINER(k, struct wf_dialer, in_cluster);
        if (d->seed && (d->source == 0 || d->source == source) && strcmp(d->url[0], url) == 0) return true;
    }
    return false;
}

void wf_dialers_listed(struct wf_cluster *c, uint32_t source, const char *urls, size_t size)
{
    WF_LIST_EACH(k, &c->dialers) {
        struct wf_dialer *d = WF_CONTAINER(k, struct wf_dialer, in_cluster);
        if (d->source != source || lists(urls, size, d->url[0])) continue;
        /* its link, if there is one, stays; the next tick, or the one after the link's end, frees it */
        d->source = 0;
        d->seed = d->self = false;
        d->give_up_at = wf_transport_now(c->t);
    }
    for (size_t at = 0; at < size; at += strlen(urls + at) + 1) {
        if (is_seed(c, source, urls + at)) continue;
        weft_text text = weft_cstr(urls + at);
        struct wf_dialer *d = dialer_add(c, &text, 1);
        if (d == NULL) {
            weft_log(WEFT_ERROR, "out of memory: %s, which was discovered, is not dialled", urls + at);
            continue;
        }
        d->seed = true;
        d->source = source;
    }
}

/* Doubles up to the maximum; half of it is chance, so that many nodes do not dial one in step. */
static int64_t backoff(const struct wf_cluster *c, uint32_t attempts)
{
    int64_t span = attempts >= 6 ? WF_BACKOFF_MAX : WF_MIN(WF_BACKOFF_FIRST << attempts, WF_BACKOFF_MAX);
    uint32_t chance = 0;
    struct pf_env *env = c->t->node->workers.env;
    env->random(env, &chance, sizeof chance);
    return span / 2 + (int64_t)((uint64_t)span / 2 * chance >> 32);
}

const char *wf_dialers_url(const struct wf_dialer *d)
{
    return d->url[(d->next_url + d->url_count - 1) % d->url_count];
}

/* Of those who fail alike, as all seeds do that are still to start, one line stands for many. */
static void log_no_link(struct wf_cluster *c, const struct wf_dialer *d, const char *reason)
{
    char kind[32];
    snprintf(kind, sizeof kind, "no link: %.16s", reason);
    if (c->t->client) weft_log(WEFT_DEBUG, "cannot connect to %s: %s; retrying", wf_dialers_url(d), reason);
    else
        wf_burst_warn(&c->t->bursts, wf_transport_now(c->t), kind, "cannot connect to %s: %s; retrying",
                      wf_dialers_url(d), reason);
}

/* Not before the node there may be linked with again. */
static void dial_later(struct wf_cluster *c, struct wf_dialer *d, uint32_t attempts)
{
    const struct wf_peer *p = wf_peers_find(c, d->incarnation);
    d->busy = false;
    d->next_at = WF_MAX(wf_transport_now(c->t) + backoff(c, attempts), p == NULL ? 0 : p->held_until);
}

static void report_learned(struct wf_cluster *c, struct wf_dialer *d, bool linked)
{
    if (d->learned != 0) wf_learned_end(&c->learned, d->learned, linked, wf_transport_now(c->t));
    d->learned = 0;
}

void wf_dialers_failed(struct wf_cluster *c, struct wf_dialer *d, const char *reason)
{
    report_learned(c, d, false);
    dial_later(c, d, d->attempts++);
    if (strcmp(d->last, reason) != 0) {
        snprintf(d->last, sizeof d->last, "%s", reason);
        if (!d->self && !c->leaving) log_no_link(c, d, reason);
    }
    pf_mutex_lock(c->t->lock);
    c->t->dials_failed++;
    snprintf(c->t->dial_reason, sizeof c->t->dial_reason, "%s", reason);
    pf_cond_broadcast(c->t->changed);
    pf_mutex_unlock(c->t->lock);
}

void wf_dialers_linked(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation)
{
    report_learned(c, d, true);
    wf_dialers_know(c, d, incarnation);
    d->proven = true;
    d->attempts = 0;
    d->taken_since = 0;
    d->taken_said = 0;
    d->last[0] = '\0';
}

void wf_dialers_free_again(struct wf_cluster *c, struct wf_dialer *d)
{
    report_learned(c, d, true);
    dial_later(c, d, 0);
}

static bool is_allowed(struct wf_cluster *c, const char *url, char *why)
{
    const char *own[WF_FRAME_URLS + WF_OWN_SEEDS];
    uint32_t count = 0;
    while (count < WF_MIN(wf_transport_urls(c->t), (uint32_t)WF_FRAME_URLS)) {
        own[count] = c->t->url[count];
        count++;
    }
    WF_LIST_EACH(k, &c->dialers) {
        const struct wf_dialer *d = WF_CONTAINER(k, struct wf_dialer, in_cluster);
        if (d->seed && count < WF_COUNT(own)) own[count++] = d->url[0];
    }
    return wf_learned_allows(&c->learned, own, count, url, why);
}

/* Chooses which of its URLs is dialled now, and moves d->next_url behind it. NULL: none before d->next_at. */
static const char *next_url(struct wf_cluster *c, struct wf_dialer *d)
{
    if (d->seed || d->proven) return d->url[d->next_url++ % d->url_count];
    char why[WF_REASON_TEXT] = "";
    int64_t now = wf_transport_now(c->t), again = now + WF_NOT_OURS;
    if ((d->next_at = wf_learned_next(&c->learned, now)) != 0) return NULL;
    bool ours = false;
    for (uint32_t i = 0; i < d->url_count; i++) {
        const char *url = d->url[d->next_url++ % d->url_count];
        if (!is_allowed(c, url, why)) continue;
        ours = true;
        uint64_t key = wf_learned_key(url);
        int64_t at = wf_learned_begin(&c->learned, key, now);
        if (at == 0) {
            d->learned = key;
            return url;
        }
        again = WF_MIN(again, at);
    }
    d->next_at = again;
    if (ours || strcmp(d->last, why) == 0) return NULL;
    snprintf(d->last, sizeof d->last, "%s", why);
    log_no_link(c, d, why);
    return NULL;
}

static void dial(struct wf_cluster *c, struct wf_dialer *d)
{
    char why[WF_REASON_TEXT] = "out of memory";
    const char *url = next_url(c, d);
    if (url == NULL) return;
    d->busy = true;
    if (d->dial.over == NULL)
        d->dial.over = wf_cluster_event_new(WF_CLUSTER_EVENT_DIAL_FAILED, NULL, NULL, WF_REASON_TEXT);
    int rc = d->dial.over == NULL ? WEFT_ENOMEM : wf_url_check_dial(url, c->t->has_tls, c->t->insecure, why);
    if (rc == WEFT_OK) rc = c->t->carrier->ops->dial(c->t->carrier, url, d, why);
    if (rc < 0) wf_dialers_failed(c, d, why);
}

static int64_t patience_with(const struct wf_cluster *c, const struct wf_peer *p)
{
    return p->linked_at == 0 ? WF_GIVE_UP_NEW * c->t->resume_window : WF_GIVE_UP;
}

/* A member is dialled as long as it is one. If it was never reached it may be somebody's invention: this node says
 * that it does not answer, and a member that is there will say that it is. */
static void given_up(struct wf_cluster *c, struct wf_dialer *d, int64_t now)
{
    struct wf_peer *p = wf_peers_find(c, d->incarnation);
    const struct wf_swim_member *m = wf_gossip_member(c, d->incarnation);
    if (m != NULL && wf_swim_present(m)) {
        d->give_up_at = now + (p == NULL ? WF_GIVE_UP : patience_with(c, p));
        if (p != NULL && p->linked_at == 0) wf_gossip_unreached(c, d->incarnation);
        return;
    }
    if (p != NULL && p->state == WF_PEER_CONNECTING && p->link == NULL) {
        char why[WF_REASON_TEXT];
        snprintf(why, sizeof why, "not reached: %.100s", d->last);
        wf_peers_gone(c, p, why, false);
    }
    dialer_free(c, d);
}

int64_t wf_dialers_tick(struct wf_cluster *c, int64_t now)
{
    int64_t at = WEFT_FOREVER;
    WF_LIST_EACH(k, &c->dialers) {
        struct wf_dialer *d = WF_CONTAINER(k, struct wf_dialer, in_cluster);
        if (d->busy || d->self) continue;
        if (c->leaving && wf_links_find(c, d->incarnation) == NULL) continue; /* only what is to be drained */
        if (d->incarnation != 0 && wf_links_is_up(c, d->incarnation)) {
            if (!d->seed) dialer_free(c, d);
            continue;
        }
        if (now >= d->give_up_at) {
            given_up(c, d, now);
            continue;
        }
        if (now >= d->next_at) dial(c, d);
        if (!d->busy) at = WF_MIN(at, WF_MIN(d->next_at, d->give_up_at));
    }
    return at;
}

/* ---- Peers ----------------------------------------------------------------------------------------------------- */

struct wf_peer *wf_peers_find(const struct wf_cluster *c, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &c->known, wf_cluster_hash(c, incarnation))
    {
        struct wf_peer *p = WF_CONTAINER(e, struct wf_peer, by_incarnation);
        if (p->incarnation == incarnation) return p;
    }
    return NULL;
}

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

/* With the lock held: of the nodes that are down for good only the latest stay in the table. */
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
    p->url = copy_urls(urls, count);
    p->incarnation = incarnation;
    if (p->url == NULL || !wf_hash_table_add(&c->known, &p->by_incarnation, wf_cluster_hash(c, incarnation))) {
        free(p->url);
        free(p);
        return NULL;
    }
    p->url_count = count;
    copy_text(p->name, sizeof p->name, name);
    p->since = wf_transport_now(c->t);
    pf_mutex_lock(c->t->lock);
    forget_oldest(c);
    wf_list_push(&c->peers, &p->in_cluster);
    c->peer_count++;
    pf_mutex_unlock(c->t->lock);
    return p;
}

void wf_peers_up(struct wf_cluster *c, struct wf_link *l)
{
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < l->url_count; i++) urls[i] = weft_cstr(l->url[i]);
    struct wf_peer *p = wf_peers_find(c, l->incarnation);
    if (p == NULL) p = peer_add(c, weft_cstr(l->name), l->incarnation, urls, l->url_count);
    if (p == NULL) return;
    pf_mutex_lock(c->t->lock);
    p->state = WF_PEER_UP;
    p->link = l;
    p->last_number = l->number;
    p->reason[0] = '\0';
    p->since = p->linked_at = wf_transport_now(c->t);
    pf_cond_broadcast(c->t->changed);
    pf_mutex_unlock(c->t->lock);
    note_gone(c, p);
}

static void dial_peer(struct wf_cluster *c, const struct wf_peer *p)
{
    const struct wf_transport *t = c->t;
    if (p->url_count == 0 || t->client || (c->leaving && p->link == NULL)) return;
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < p->url_count; i++) urls[i] = weft_cstr(p->url[i]);
    struct wf_dialer *d = dialer_of(c, p->incarnation);
    if (d == NULL) d = dialer_add(c, urls, p->url_count);
    if (d == NULL || d->seed) return;
    int64_t now = wf_transport_now(t);
    bool first = t->node->incarnation < p->incarnation || wf_transport_urls(t) == 0;
    wf_dialers_know(c, d, p->incarnation);
    d->proven = p->linked_at != 0;
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
    note_gone(c, p);
    struct wf_dialer *d = p->linked_at == 0 ? dialer_of(c, p->incarnation) : NULL;
    if (d != NULL) d->give_up_at = p->since; /* nobody has reached it: it may never have been there */
}

/* Its link was closed for what it has said on it. */
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
    note_gone(c, p);
    if (!left) dial_peer(c, p);
}

/* Its URLs may be others now, too: it listens where it reached its seed. */
static void keep_record(struct wf_cluster *c, struct wf_peer *p, weft_text record)
{
    if (wf_text_equal(p->record, record)) return;
    struct wf_swim_record r = wf_swim_record_of(record);
    char *copy = malloc(record.size), (*urls)[WF_URL_TEXT] = copy_urls(r.url, r.url_count);
    if (copy == NULL || urls == NULL) {
        free(copy);
        free(urls);
        return;
    }
    memcpy(copy, record.data, record.size);
    pf_mutex_lock(c->t->lock);
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
    note_gone(c, p);
    if (dialer_of(c, p->incarnation) == NULL) dial_peer(c, p);
    return p;
}

void wf_peers_heard_of(struct wf_cluster *c, const struct wf_link *from, const struct wf_frame_peer *heard)
{
    if (heard->incarnation == c->t->node->incarnation || wf_links_named(c, heard->name) != NULL) return;
    struct wf_peer *p = wf_peers_find(c, heard->incarnation);
    if (p != NULL && (p->link != NULL || p->left || dialer_of(c, p->incarnation) != NULL)) return;
    if (p == NULL && (c->peer_count >= WF_PEERS_MAX || !wf_gossip_may_introduce(c, from))) return;
    if (p == NULL) p = peer_add(c, heard->name, heard->incarnation, heard->url, heard->url_count);
    if (p == NULL) return;
    pf_mutex_lock(c->t->lock);
    p->state = WF_PEER_CONNECTING;
    pf_mutex_unlock(c->t->lock);
    note_gone(c, p);
    dial_peer(c, p);
}

static void put_one(weft_writer *w, const struct wf_peer *p)
{
    weft_text urls[WF_FRAME_URLS];
    for (uint32_t i = 0; i < p->url_count; i++) urls[i] = weft_cstr(p->url[i]);
    wf_put_peer(w, weft_cstr(p->name), p->incarnation, urls, p->url_count);
}

/* PEERS is for nodes that do not know of membership, and of them: the others hear of each other by gossip. */
static bool needs_peers(const struct wf_cluster *c, const struct wf_link *a, const struct wf_link *b)
{
    return c->swim == NULL || !wf_link_can(a, WF_CAN_GOSSIP) || !wf_link_can(b, WF_CAN_GOSSIP);
}

/* Says PEERS with all that are up but `but`, or with `only`. */
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

void wf_dialers_finish(struct wf_cluster *c)
{
    for (struct wf_list_node *k; (k = wf_list_first(&c->dialers)) != NULL;)
        dialer_free(c, WF_CONTAINER(k, struct wf_dialer, in_cluster));
}
