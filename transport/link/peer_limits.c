/* transport/link/peer_limits.c -- see peer_limits.h. */
#include "peer_limits.h"

#include "channel.h"
#include "rights.h"
#include "peer_link.h"
#include "transport.h"

#include <stdio.h>

#define BURST WEFT_SEC(1) /* a peer may be this far ahead of its rate */
#define HARD WEFT_SEC(30) /* a peer that is further ahead loses its link */
#define LOOK WEFT_MS(100) /* longest pause: a node that stops waits for its end */

/* Adds the time that `n` take at `rate` per second to `*at`; returns how far that is ahead of now. */
static int64_t charge(int64_t *at, int64_t now, uint64_t n, uint64_t rate)
{
    if (rate == 0) return 0;
    double cost = (double)n * 1e9 / (double)rate;
    *at = WF_MAX(*at, now) + (int64_t)WF_MIN(cost, (double)WEFT_SEC(3600));
    return *at - now;
}

static void drop(struct wf_link *l, const char *what, uint64_t rate)
{
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "over %lld times the limit of %llu %s a second", (long long)(HARD / WEFT_SEC(1)),
             (unsigned long long)rate, what);
    wf_link_fail(l, why);
}

/* Returns how long nothing should be read; 0 or less: no pause. The link may have failed. */
static int64_t account(struct wf_link *s, int64_t now)
{
    const struct wf_limits *l = &s->t->limits;
    struct wf_usage *u = &s->usage;
    uint64_t frames = atomic_load_explicit(&s->frames_in, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&s->bytes_in, memory_order_relaxed);
    int64_t by_frames = charge(&u->frames_at, now, frames - u->frames, l->frames);
    int64_t by_bytes = charge(&u->bytes_at, now, bytes - u->bytes, l->bytes);
    WF_ASSERT(frames >= u->frames && bytes >= u->bytes);
    u->frames = frames;
    u->bytes = bytes;
    if (by_frames > HARD) drop(s, "frames", l->frames);
    else if (by_bytes > HARD) drop(s, "bytes", l->bytes);
    return WF_MAX(by_frames, by_bytes) - BURST;
}

static void go_on(struct wf_worker *w, struct wf_timer *t)
{
    (void)w;
    struct wf_slowing *slow = WF_CONTAINER(t, struct wf_slowing, timer);
    struct wf_channel *ch = WF_CONTAINER(slow, struct wf_channel, slowing);
    int64_t now = wf_transport_now(ch->t);
    atomic_fetch_add_explicit(&ch->link->usage.slowed, now - slow->paused_at, memory_order_relaxed);
    /* Frames of the peer were not read during the pause: the peer has not been silent. */
    atomic_store_explicit(&ch->link->last_heard, now, memory_order_relaxed);
    wf_conn_resume(ch->conn);
    wf_channel_release(ch);
}

static void arm(struct wf_worker *w, struct wf_call *c)
{
    struct wf_slowing *slow = WF_CONTAINER(c, struct wf_slowing, call);
    if (wf_timer_arm(w, &slow->timer, slow->resume_at) < 0) go_on(w, &slow->timer);
}

bool wf_limits_pause(struct wf_channel *ch)
{
    const struct wf_limits *l = &ch->t->limits;
    if (WF_LIKELY(l->frames == 0 && l->bytes == 0)) return false;
    struct wf_slowing *slow = &ch->slowing;
    int64_t now = wf_transport_now(ch->t), wait = account(ch->link, now);
    if (wait <= 0) return false;
    struct wf_workers *all = &ch->t->node->workers;
    WF_ASSERT(slow->paused_at <= now);
    slow->paused_at = now;
    slow->resume_at = now + WF_MIN(wait, LOOK);
    slow->timer.fire = go_on;
    slow->call = (struct wf_call){.post.kind = WF_POST_CALL, .call = arm};
    wf_channel_keep(ch);
    wf_worker_post(ch->conn->worker != NULL ? ch->conn->worker : all->at[ch->incarnation % all->count],
                   &slow->call.post);
    return true;
}

bool wf_limits_spawn(struct wf_channel *ch, const struct wf_frame *f)
{
    uint64_t rate = ch->t->limits.spawns;
    int64_t ahead = charge(&ch->link->usage.spawns_at, wf_transport_now(ch->t), 1, rate);
    if (ahead <= BURST) return true;
    if (ahead > HARD) drop(ch->link, "spawns", rate);
    else wf_rights_refuse(ch, f, WEFT_EFULL);
    return false;
}
