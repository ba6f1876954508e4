/* actors/core/mail_time.c -- see mail_time.h. */
#include "actor.h"

#include <stdlib.h>

enum { STAMP_BITS = 11, STAMP_UNIT_BITS = 4 }; /* the bits of a weight; a stamp's time is in units of 16 ns */
enum { PUBLISHED_LEAST = 64 };
_Static_assert(2 * WF_MAIL_PERIOD_MAX <= 1 << STAMP_BITS, "every weight fits into a stamp");

/* ---- Stamps ---------------------------------------------------------------------------------------------------- */

uint64_t wf_mail_stamp(int64_t now, uint32_t weight)
{
    WF_ASSERT(weight > 0 && weight < 1 << STAMP_BITS);
    return (uint64_t)now >> STAMP_UNIT_BITS << STAMP_BITS | weight;
}

uint32_t wf_mail_stamp_weight(uint64_t stamp)
{
    return stamp & ((1 << STAMP_BITS) - 1);
}

int64_t wf_mail_stamp_span(uint64_t stamp, int64_t now)
{
    uint64_t units = (wf_mail_stamp(now, 1) >> STAMP_BITS) - (stamp >> STAMP_BITS);
    return (int64_t)(units << STAMP_BITS >> (STAMP_BITS - STAMP_UNIT_BITS));
}

/* ---- Which ones ------------------------------------------------------------------------------------------------ */

static uint32_t draw(struct wf_mail_timer *t, uint32_t below)
{
    t->random = t->random * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)t->random * below >> 32);
}

/* Chooses which message is timed next: on average, the one after `period` messages. */
static void choose(struct wf_mail_timer *t)
{
    WF_ASSERT(t->period > 0 && t->period <= WF_MAIL_PERIOD_MAX);
    t->left = t->weight = 1 + draw(t, 2 * t->period - 1);
}

void wf_mail_timer_init(struct wf_mail_timer *t, uint32_t seed)
{
    *t = (struct wf_mail_timer){.period = 1, .random = seed};
    choose(t);
}

void wf_mail_timer_quiet(struct wf_mail_timer *t)
{
    t->left = t->weight = t->period = 1;
}

static int64_t now_of(const struct wf_actors *wa)
{
    struct pf_env *env = wa->worker->set->env;
    return env->now(env);
}

void wf_mail_time(struct wf_actors *wa, weft_msg *m)
{
    struct wf_mail_timer *t = &wa->timer;
    WF_ASSERT(t->left == 0);
    int64_t now = now_of(wa), gap = now - t->last;
    if (m->post.flags != WF_MSG_RETAINED) m->came = wf_mail_stamp(now, t->weight);
    if (m->post.flags == WF_MSG_SEND) m->post.flags = WF_MSG_TIMED;
    else if (m->post.flags == WF_MSG_CALL) wf_terms(m)->timed = 1;
    if (gap < WF_MAIL_GOAL) t->period = WF_MIN(2 * t->period, (uint32_t)WF_MAIL_PERIOD_MAX);
    else t->period = (uint32_t)WF_MAX(t->period * WF_MAIL_GOAL / gap, 1);
    t->last = now;
    choose(t);
}

/* Each publication has the same chance, so that the timed ones are a fair sample. */
bool wf_mail_time_published(struct wf_mail_timer *t, uint32_t mail_count)
{
    WF_ASSERT(t->left == 1);
    if (mail_count == 0 || t->weight >= PUBLISHED_LEAST) return true;
    if (draw(t, PUBLISHED_LEAST) < t->weight) {
        t->weight = PUBLISHED_LEAST;
        return true;
    }
    wf_mail_time_another(t);
    return false;
}

void wf_mail_time_another(struct wf_mail_timer *t)
{
    choose(t);
    t->left++; /* the present message is counted, too */
}

/* ---- What came of it ------------------------------------------------------------------------------------------- */

void wf_mail_received(struct wf_actor *a, weft_msg *m)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    if (m->post.flags == WF_MSG_TIMED) m->post.flags = WF_MSG_SEND;
    else if (m->post.flags == WF_MSG_CALL) wf_terms(m)->timed = 0;
    if (m->came == 0) return;
    struct wf_kind *k = wf_kind_noted(&wa->kinds, a->kind);
    if (k == NULL) return;
    if (k->mail == NULL) k->mail = calloc(1, sizeof *k->mail);
    if (k->mail == NULL) return; /* no memory: a missing sample does no harm */
    wf_histogram_add(k->mail, wf_mail_stamp_span(m->came, now_of(wa)), wf_mail_stamp_weight(m->came));
}
