/* transport/link/session.c -- the link with another node, and the connections that carry it: how long they live, and
 * what others may ask of them. receive.c takes what comes on them. */
#include "session.h"
#include "channel.h"
#include "frame_parts.h"
#include "news.h"
#include "outbox.h"
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
    atomic_fetch_add_explicit(&ch->refs, 1, memory_order_relaxed);
}

/* Releases what this holder did; the last one acquires all of it. One operation: a fence is unknown to TSan. */
void wf_channel_release(struct wf_channel *ch)
{
    if (!WF_LAST_HOLDER(&ch->refs, 1)) return;
    WF_ASSERT(ch->flight == NULL && ch->over == NULL);
    wf_batch_free(ch->next);
    if (ch->session != NULL) wf_session_release(ch->session);
    wf_conn_release(ch->conn);
    free(ch);
}

void wf_session_keep(struct wf_session *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

static void drop_arrival(struct wf_session *s)
{
    if (s->arrival.m != NULL) wf_msg_free(NULL, s->arrival.m);
    if (s->arrival.body != NULL) wf_body_drop(NULL, s->arrival.body);
    s->arrival.m = NULL;
    s->arrival.body = NULL;
}

void wf_session_receives_no_more(struct wf_session *s)
{
    if (WF_LAST_HOLDER(&s->receivers, 1)) drop_arrival(s);
}

void wf_session_release(struct wf_session *s)
{
    if (!WF_LAST_HOLDER(&s->refs, 1)) return;
    wf_session_discard(s);
    WF_ASSERT(s->first == NULL && s->channel == NULL && s->pending == NULL);
    drop_arrival(s);
    pf_mutex_destroy(s->lock);
    free(s->rooms);
    free(s);
}

static void copy_identity(struct wf_session *s, const struct wf_channel *ch)
{
    s->incarnation = ch->incarnation;
    memcpy(s->name, ch->name, sizeof s->name);
    memcpy(s->url, ch->url, sizeof s->url);
    s->url_count = ch->url_count;
    s->client = ch->client;
    s->guest = (ch->denied & WF_RIGHT_STOP) != 0;
    s->capabilities = ch->capabilities;
    s->heartbeat = ch->heartbeat;
    s->clock_ahead = ch->clock_ahead;
}

void wf_transport_seal(struct wf_transport *t, struct wf_seal *s)
{
    uint32_t key[WF_SEAL_KEY];
    struct pf_env *env = t->node->workers.env;
    env->random(env, key, sizeof key);
    wf_seal_init(s, key);
}

struct wf_session *wf_session_new(struct wf_channel *ch, uint64_t number, wf_room_made *room_made)
{
    struct wf_transport *t = ch->t;
    uint32_t workers = t->node->workers.count;
    struct wf_session *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->rooms = calloc(workers, sizeof *s->rooms);
    if (s->rooms == NULL || pf_mutex_create(&s->lock) < 0) {
        free(s->rooms);
        free(s);
        return NULL;
    }
    s->t = t;
    s->number = number;
    copy_identity(s, ch);
    wf_transport_seal(t, &s->seal);
    for (uint32_t i = 0; i < workers; i++) {
        s->rooms[i].session = s;
        s->rooms[i].call = (struct wf_call){.post.kind = WF_POST_CALL, .call = room_made};
    }
    atomic_store_explicit(&s->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&s->receivers, 1, memory_order_relaxed);
    int64_t now = wf_transport_now(t);
    atomic_store_explicit(&s->last_heard, now, memory_order_relaxed);
    atomic_store_explicit(&s->last_sent, now, memory_order_relaxed);
    s->pinged_at = now - (WF_PING_BEATS - 1) * t->heartbeat; /* a first round trip comes soon */
    return s;
}

void wf_session_fail(struct wf_session *s, const char *reason)
{
    pf_mutex_lock(s->lock);
    if (!atomic_load_explicit(&s->failed, memory_order_relaxed)) {
        snprintf(s->why_failed, sizeof s->why_failed, "%s", reason);
        atomic_store_explicit(&s->failed, true, memory_order_release);
    }
    struct wf_channel *ch = s->channel;
    if (ch != NULL) wf_channel_keep(ch);
    pf_mutex_unlock(s->lock);
    if (ch == NULL) {
        wf_news_wake(s->t); /* $cluster sees it in its round */
        return;
    }
    wf_conn_close(ch->conn, reason);
    wf_channel_release(ch);
}

bool wf_session_at_fault(struct wf_session *s)
{
    static const char own[] = "out of memory";
    return atomic_load_explicit(&s->failed, memory_order_acquire) && strncmp(s->why_failed, own, sizeof own - 1) != 0;
}

bool wf_session_drained(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    bool drained = s->first == NULL && s->urgent == NULL && s->held == NULL;
    pf_mutex_unlock(s->lock);
    return drained;
}

const char *wf_session_carrier(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    const char *form = s->channel != NULL ? s->channel->conn->form : "";
    pf_mutex_unlock(s->lock);
    return form;
}

size_t wf_session_unacked(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    size_t n = (size_t)(s->taken - WF_MIN(s->taken, WF_MAX(s->base, s->acked)));
    pf_mutex_unlock(s->lock);
    return n;
}

bool wf_session_confirmed(struct wf_session *s)
{
    pf_mutex_lock(s->lock);
    bool confirmed = s->acked > 0;
    pf_mutex_unlock(s->lock);
    return confirmed || atomic_load_explicit(&s->received, memory_order_relaxed) > 0;
}

/* ---- What comes ------------------------------------------------------------------------------------------------ */

struct wf_body *wf_session_body(struct wf_channel *ch, const struct wf_frame *f, weft_text topic, size_t size)
{
    struct wf_trace t;
    bool has = wf_frame_trace(f, &t);
    if (!has && f->kind != WF_FRAME_RETAINED && wf_is_tapped(ch->t->node)) {
        uint64_t node = f->kind == WF_FRAME_PUBLISH_TO && f->to != 0 ? f->to : ch->incarnation;
        has = wf_trace_in_for_all(ch->t->node, (weft_pid){node, f->from}, f->tag, topic, &t);
    }
    return wf_trace_body_new(ch->in.here, topic.data, topic.size, NULL, size, has ? &t : NULL);
}

void wf_session_lost(struct wf_channel *ch)
{
    atomic_fetch_add_explicit(&ch->t->dropped_lost, 1, memory_order_relaxed);
}
