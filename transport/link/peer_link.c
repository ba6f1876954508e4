/* transport/link/peer_link.c -- the lifetime of links and of the channels that carry them, and queries about links.
 * receive.c handles the frames that they receive. */
#include "peer_link.h"
#include "channel.h"
#include "frame_chunks.h"
#include "cluster_event.h"
#include "send_queue.h"
#include "roles.h"
#include "sanitizer.h"
#include "trace.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lifetime -------------------------------------------------------------------------------------------------- */

void wf_channel_keep(struct wf_channel *ch)
{
    uint32_t holders = atomic_fetch_add_explicit(&ch->refs, 1, memory_order_relaxed);
    WF_ASSERT(holders > 0); /* only a holder of a reference may make another one */
}

/* Release: publishes this holder's writes; the last holder acquires them all. One operation, as TSan ignores fences. */
void wf_channel_release(struct wf_channel *ch)
{
    if (!WF_LAST_HOLDER(&ch->refs, 1)) return;
    WF_ASSERT(ch->flight == NULL && ch->over == NULL);
    wf_batch_free(ch->next);
    if (ch->link != NULL) wf_link_release(ch->link);
    wf_conn_release(ch->conn);
    free(ch);
}

void wf_link_keep(struct wf_link *l)
{
    uint32_t holders = atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    WF_ASSERT(holders > 0);
}

static void drop_arrival(struct wf_link *l)
{
    if (l->arrival.m != NULL) wf_msg_free(NULL, l->arrival.m);
    if (l->arrival.body != NULL) wf_body_drop(NULL, l->arrival.body);
    l->arrival.m = NULL;
    l->arrival.body = NULL;
}

void wf_link_end_receiving(struct wf_link *l)
{
    WF_ASSERT(atomic_load_explicit(&l->receivers, memory_order_relaxed) > 0);
    if (WF_LAST_HOLDER(&l->receivers, 1)) drop_arrival(l);
}

/* A pattern takes about eight times its bytes when it has been applied. */
static uint32_t kib_of(const struct wf_interest_change *c)
{
    return 1 + (uint32_t)(c->size >> 7);
}

struct wf_interest_change *wf_interest_change_new(struct wf_worker *to, size_t size)
{
    struct wf_interest_change *c = calloc(1, sizeof *c + size);
    if (c == NULL) return NULL;
    c->to = to;
    c->size = size;
    wf_worker_weigh(to, kib_of(c));
    return c;
}

void wf_interest_change_free(struct wf_interest_change *c)
{
    wf_worker_unweigh(c->to, kib_of(c));
    free(c);
}

void wf_link_release(struct wf_link *l)
{
    if (!WF_LAST_HOLDER(&l->refs, 1)) return;
    wf_link_discard(l);
    WF_ASSERT(l->first == NULL && l->channel == NULL && l->pending == NULL);
    WF_ASSERT(!l->sending && l->held == NULL && l->urgent == NULL);
    drop_arrival(l);
    for (uint32_t i = 0; i < l->t->node->workers.count; i++)
        for (struct wf_list_node *k; (k = wf_list_pop(&l->calls[i].changes)) != NULL;)
            wf_interest_change_free(WF_CONTAINER(k, struct wf_interest_change, in_list));
    pf_mutex_destroy(l->lock);
    free(l->calls);
    free(l);
}

static void copy_identity(struct wf_link *l, const struct wf_channel *ch)
{
    l->incarnation = ch->incarnation;
    memcpy(l->name, ch->name, sizeof l->name);
    memcpy(l->url, ch->url, sizeof l->url);
    l->url_count = ch->url_count;
    l->client = ch->client;
    l->guest = (ch->denied & WF_RIGHT_STOP) != 0;
    l->capabilities = ch->capabilities;
    l->heartbeat = ch->heartbeat;
    l->clock_ahead = ch->clock_ahead;
}

void wf_transport_seal(struct wf_transport *t, struct wf_seal *s)
{
    uint32_t key[WF_SEAL_KEY];
    struct pf_env *env = t->node->workers.env;
    env->random(env, key, sizeof key);
    wf_seal_init(s, key);
}

struct wf_link *wf_link_new(struct wf_channel *ch, uint64_t number, wf_on_space *on_space)
{
    struct wf_transport *t = ch->t;
    uint32_t workers = t->node->workers.count;
    WF_ASSERT(ch->link == NULL && workers <= WF_WORKERS_MAX); /* a bit for each in space_wanted */
    struct wf_link *l = calloc(1, sizeof *l);
    if (l == NULL) return NULL;
    l->calls = calloc(workers, sizeof *l->calls);
    if (l->calls == NULL || pf_mutex_create(&l->lock) < 0) {
        free(l->calls);
        free(l);
        return NULL;
    }
    l->t = t;
    l->number = number;
    copy_identity(l, ch);
    wf_transport_seal(t, &l->seal);
    for (uint32_t i = 0; i < workers; i++) {
        l->calls[i].link = l;
        wf_list_init(&l->calls[i].changes);
        l->calls[i].space = (struct wf_call){.post.kind = WF_POST_CALL, .call = on_space};
    }
    atomic_store_explicit(&l->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&l->receivers, 1, memory_order_relaxed);
    int64_t now = wf_transport_now(t);
    atomic_store_explicit(&l->last_heard, now, memory_order_relaxed);
    atomic_store_explicit(&l->last_sent, now, memory_order_relaxed);
    l->pinged_at = now - (WF_PING_BEATS - 1) * t->heartbeat; /* the first round trip is measured soon */
    return l;
}

void wf_link_fail(struct wf_link *l, const char *reason)
{
    WF_ASSERT(reason[0] != '\0');
    pf_mutex_lock(l->lock);
    if (!atomic_load_explicit(&l->failed, memory_order_relaxed)) {
        snprintf(l->why_failed, sizeof l->why_failed, "%s", reason);
        atomic_store_explicit(&l->failed, true, memory_order_release);
    }
    struct wf_channel *ch = l->channel;
    if (ch != NULL) wf_channel_keep(ch);
    pf_mutex_unlock(l->lock);
    if (ch == NULL) {
        wf_cluster_wake(l->t); /* $cluster looks for failed links when it wakes */
        return;
    }
    wf_conn_close(ch->conn, reason);
    wf_channel_release(ch);
}

bool wf_link_at_fault(struct wf_link *l)
{
    static const char own[] = "out of memory";
    return atomic_load_explicit(&l->failed, memory_order_acquire) && strncmp(l->why_failed, own, sizeof own - 1) != 0;
}

bool wf_link_drained(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    bool drained = l->first == NULL && l->urgent == NULL && l->held == NULL;
    pf_mutex_unlock(l->lock);
    return drained;
}

const char *wf_link_carrier(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    const char *form = l->channel != NULL ? l->channel->conn->form : "";
    pf_mutex_unlock(l->lock);
    return form;
}

size_t wf_link_unacked(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    size_t n = (size_t)(l->taken - WF_MIN(l->taken, WF_MAX(l->base, l->acked)));
    pf_mutex_unlock(l->lock);
    return n;
}

bool wf_link_confirmed(struct wf_link *l)
{
    pf_mutex_lock(l->lock);
    bool confirmed = l->acked > 0;
    pf_mutex_unlock(l->lock);
    return confirmed || atomic_load_explicit(&l->received, memory_order_relaxed) > 0;
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

struct wf_body *wf_link_body(struct wf_channel *ch, const struct wf_frame *f, weft_text topic, size_t size)
{
    struct wf_trace t;
    bool has = wf_frame_trace(f, &t);
    if (!has && f->kind != WF_FRAME_RETAINED && wf_is_tapped(ch->t->node)) {
        uint64_t node = f->kind == WF_FRAME_PUBLISH_TO && f->to != 0 ? f->to : ch->incarnation;
        has = wf_trace_in_for_all(ch->t->node, (weft_pid){node, f->from}, f->tag, topic, &t);
    }
    return wf_trace_body_new(ch->in.here, topic.data, topic.size, NULL, size, has ? &t : NULL);
}

void wf_link_lost(struct wf_channel *ch)
{
    atomic_fetch_add_explicit(&ch->t->dropped_lost, 1, memory_order_relaxed);
}
