/* transport/cluster/dialers.c -- dials nodes: which address is next, and how long a dialer waits between its dials. */
#include "dialers.h"
#include "cluster_event.h"
#include "peers.h"
#include "transport.h"
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_dialer *wf_dialers_add(struct wf_cluster *c, const weft_text *urls, uint32_t count)
{
    struct wf_dialer *d = calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    d->url = wf_urls_copy(urls, count);
    if (d->url == NULL) {
        free(d);
        return NULL;
    }
    d->url_count = count;
    d->give_up_at = WEFT_FOREVER;
    wf_list_push(&c->dialers, &d->in_cluster);
    return d;
}

bool wf_dialers_readdress(struct wf_dialer *d, const weft_text *urls, uint32_t count)
{
    WF_ASSERT(!d->busy && !d->seed);
    char(*copy)[WF_URL_TEXT] = wf_urls_copy(urls, count);
    if (copy == NULL) return false;
    free(d->url);
    d->url = copy;
    d->url_count = count;
    d->next_url = 0;
    return true;
}

struct wf_dialer *wf_dialers_find(const struct wf_cluster *c, uint64_t incarnation)
{
    WF_HASHED_WITH(e, &c->dialed, wf_cluster_hash(c, incarnation))
    {
        struct wf_dialer *d = WF_CONTAINER(e, struct wf_dialer, by_incarnation);
        if (d->incarnation == incarnation) return d;
    }
    return NULL;
}

void wf_dialers_note_gone(struct wf_cluster *c, struct wf_peer *p)
{
    bool gone = p != NULL && p->state == WF_PEER_DOWN && wf_dialers_find(c, p->incarnation) == NULL;
    if (p == NULL || gone == wf_linked(&p->in_gone)) return;
    if (gone) wf_list_push(&c->gone, &p->in_gone);
    else wf_unlink(&p->in_gone);
    c->gone_count += gone ? 1 : UINT32_MAX;
}

/* If there is no memory for the first table, wf_dialers_find does not find it, and its node may be dialled twice. */
void wf_dialers_know(struct wf_cluster *c, struct wf_dialer *d, uint64_t incarnation)
{
    uint64_t before = d->incarnation;
    if (before == incarnation) return;
    if (d->in_table) wf_hash_table_remove(&c->dialed, &d->by_incarnation);
    d->incarnation = incarnation;
    d->in_table = incarnation != 0 &&
                  wf_hash_table_add(&c->dialed, &d->by_incarnation, wf_cluster_hash(c, incarnation));
    wf_dialers_note_gone(c, wf_peers_find(c, before));
    wf_dialers_note_gone(c, wf_peers_find(c, incarnation));
}

void wf_dialers_free(struct wf_cluster *c, struct wf_dialer *d)
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
    struct wf_dialer *d = wf_dialers_add(c, &text, 1);
    if (d == NULL) return WEFT_ENOMEM;
    d->seed = true;
    return WEFT_OK;
}

/* Whether `urls` contains `url`. */
static bool lists(const char *urls, size_t size, const char *url)
{
    for (size_t at = 0; at < size; at += strlen(urls + at) + 1)
        if (strcmp(urls + at, url) == 0) return true;
    return false;
}

/* Whether `url` is a seed of the options, or of this source. */
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
        struct wf_dialer *d = wf_dialers_add(c, &text, 1);
        if (d == NULL) {
            weft_log(WEFT_ERROR, "out of memory: %s, which was discovered, is not dialled", urls + at);
            continue;
        }
        d->seed = true;
        d->source = source;
    }
}

/* Doubles up to the maximum; half of it is random: note (2). */
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

/* Many dialers may fail for the same reason, as when seeds have not started yet: then one line stands for many. */
static void log_no_link(struct wf_cluster *c, const struct wf_dialer *d, const char *reason)
{
    char kind[32];
    snprintf(kind, sizeof kind, "no link: %.16s", reason);
    if (c->t->client) weft_log(WEFT_DEBUG, "cannot connect to %s: %s; retrying", wf_dialers_url(d), reason);
    else
        wf_burst_warn(&c->t->bursts, wf_transport_now(c->t), kind, "cannot connect to %s: %s; retrying",
                      wf_dialers_url(d), reason);
}

/* The next dial is after the backoff, and not before the peer's `held_until`. */
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

/* Chooses the URL to be dialled now, and moves d->next_url behind it. NULL: none before d->next_at. */
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

void wf_dialers_dial(struct wf_cluster *c, struct wf_dialer *d)
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

void wf_dialers_finish(struct wf_cluster *c)
{
    for (struct wf_list_node *k; (k = wf_list_first(&c->dialers)) != NULL;)
        wf_dialers_free(c, WF_CONTAINER(k, struct wf_dialer, in_cluster));
}
