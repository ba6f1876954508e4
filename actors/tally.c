/* actors/tally.c -- see tally.h.
 *
 * Design notes.
 * (1) A million actors take a worker some tens of milliseconds to look at. So it looks at SLICE slots, posts the rest
 *     to itself, and goes on in a later turn. What comes and goes meanwhile may be missed: figures, not a list.
 * (2) A round is shared by the asking actor and the workers and freed by the last of them, since the asker may give
 *     up at its deadline or be killed. A part belongs to its worker until `done` is true. */
#include "tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"

#include <weft/event.h>

enum { SLICE = 4096 };

struct round {
    _Atomic uint32_t refs; /* acq_rel on the way down: what a worker wrote comes before what the last one does */
    _Atomic uint32_t left; /* the same */
    uint32_t workers;
    bool kinds;
    int64_t asked;
    weft_event ready;
    struct wf_owned asker; /* its reference, if it is killed while it waits */
    struct part {
        struct wf_call call;
        struct round *round;
        _Atomic bool done; /* release by the worker, acquire by the asker: the rest of the part is whole */
        struct wf_tally_worker count;
        uint32_t next; /* slot to look at */
        uint32_t kinds;
        struct wf_tally_kind kind[WF_TALLY_KINDS];
    } part[];
};

static void drop_round(struct round *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) free(r);
}

static void asker_ended(struct wf_owned *o)
{
    drop_round(WF_CONTAINER(o, struct round, asker));
}

/* The last place is for all that have none. */
static struct wf_tally_kind *kind_of(struct wf_tally_kind *all, uint32_t *count, const char *kind)
{
    uint32_t i = 0;
    while (i < *count && strncmp(all[i].kind, kind, sizeof all[i].kind - 1) != 0) i++;
    if (i < *count) return &all[i];
    if (*count == WF_TALLY_KINDS) return &all[WF_TALLY_KINDS - 1];
    if (*count == WF_TALLY_KINDS - 1) kind = "other";
    memset(&all[i], 0, sizeof all[i]);
    snprintf(all[i].kind, sizeof all[i].kind, "%s", kind);
    ++*count;
    return &all[i];
}

static void add(struct wf_tally_kind *to, uint32_t actors, uint32_t deepest, uint64_t waiting)
{
    to->actors += actors;
    to->deepest = WF_MAX(to->deepest, deepest);
    to->waiting += waiting;
}

static void begin(const struct wf_worker *w, struct part *p)
{
    const struct wf_actors *wa = wf_actors_of(w);
    struct pf_env *env = w->set->env;
    p->count = (struct wf_tally_worker){.counted = true,
                                        .answered_in = env->now(env) - p->round->asked,
                                        .turns = w->count.turns,
                                        .sleeps = w->count.sleeps,
                                        .posts = w->count.posts_in,
                                        .timers_fired = w->count.timers_fired,
                                        .parked = w->count.parked,
                                        .runnable = w->ready_count,
                                        .received = wa->received};
}

/* Whether there are more. */
static bool look_at_actors(struct wf_worker *w, struct part *p)
{
    const struct wf_slab *slab = &wf_actors_of(w)->slab;
    uint32_t end = p->next + SLICE;
    for (; p->next < end && wf_slab_at(slab, p->next) != NULL; p->next++) {
        const struct wf_actor *a = wf_slab_taken_at(slab, p->next);
        if (a == NULL || !a->listed) continue;
        p->count.received += wf_actor_received(a);
        add(kind_of(p->kind, &p->kinds, a->kind), 1, a->mail_count, a->mail_count);
    }
    return p->next == end;
}

static void count_here(struct wf_worker *w, struct wf_call *call)
{
    struct part *p = WF_CONTAINER(call, struct part, call);
    struct round *r = p->round;
    if (p->next == 0) begin(w, p);
    if (r->kinds && look_at_actors(w, p)) {
        wf_worker_post(w, &p->call.post);
        return;
    }
    p->count.mail_bytes = wf_actors_of(w)->mail_bytes;
    atomic_store_explicit(&p->done, true, memory_order_release);
    if (atomic_fetch_sub_explicit(&r->left, 1, memory_order_acq_rel) == 1) (void)weft_event_set(r->ready);
    drop_round(r);
}

static struct round *begin_round(weft_node *node, bool kinds)
{
    uint32_t workers = node->workers.count;
    struct round *r = calloc(1, sizeof *r + workers * sizeof r->part[0]);
    if (r == NULL) return NULL;
    r->workers = workers;
    r->kinds = kinds;
    r->asker.close = asker_ended;
    atomic_init(&r->refs, workers + 1);
    atomic_init(&r->left, workers);
    return r;
}

static void take(struct round *r, struct wf_tally *out)
{
    out->workers = r->workers;
    for (uint32_t i = 0; i < r->workers; i++) {
        const struct part *p = &r->part[i];
        if (!atomic_load_explicit(&p->done, memory_order_acquire)) continue;
        out->worker[i] = p->count;
        for (uint32_t k = 0; k < p->kinds; k++)
            add(kind_of(out->kind, &out->kinds, p->kind[k].kind), p->kind[k].actors, p->kind[k].deepest,
                p->kind[k].waiting);
    }
}

int wf_node_tally(weft_node *node, bool kinds, struct wf_tally *out, int64_t deadline)
{
    struct round *r = begin_round(node, kinds);
    memset(out, 0, sizeof *out);
    if (r == NULL) return WEFT_ENOMEM;
    int rc = weft_event_open(&r->ready);
    if (rc < 0) {
        free(r);
        return rc;
    }
    weft_event ready = r->ready;
    r->asked = weft_now();
    for (uint32_t i = 0; i < r->workers; i++) {
        struct part *p = &r->part[i];
        p->round = r;
        p->call = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = count_here};
        wf_worker_post(node->workers.at[i], &p->call.post);
    }
    wf_list_push(&wf_here->current->owned, &r->asker.on_task);
    rc = weft_event_await(ready, deadline);
    wf_unlink(&r->asker.on_task);
    (void)weft_event_close(ready);
    if (rc == WEFT_OK || rc == WEFT_ETIMEDOUT) take(r, out);
    if (rc < 0) out->kinds = 0;
    drop_round(r);
    return rc;
}
