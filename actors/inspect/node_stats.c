/* actors/inspect/node_stats.c -- see node_stats.h.
 *
 * Design notes.
 * (1) A million actors take a worker some tenths of a second to look at. So it looks at SLICE slots, posts the rest
 *     to itself, and continues in a later turn. Actors that start or end meanwhile may be missed: the result is
 *     statistics, not a list.
 * (2) A part belongs to its worker until `done` is true. */
#include "node_stats.h"

#include "actor_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "actor.h"
#include "inspect_worker.h"
#include "worker_query.h"
#include "stuck.h"

enum {
    SLICE = 4096,
    SLICE_EXACT = 256,  /* if a system call measures each stack */
    STACKS_LOOKED = 256 /* otherwise this many stacks of a kind are measured, as a sample */
};

struct census {
    struct wf_worker_query round;
    uint32_t workers;
    uint64_t held_up; /* a bit for each worker that is stuck and is not asked */
    bool actors;      /* are looked at */
    bool exact;       /* all their stacks */
    bool has_top;
    int64_t asked;
    struct part {
        struct wf_call call;
        struct census *census;
        _Atomic bool done; /* release by the worker, acquire by the caller: the rest of the part is whole */
        struct wf_node_stats_worker count;
        uint32_t next; /* slot to look at */
        uint32_t kinds;
        struct wf_node_stats_kind kind[WF_NODE_STATS_KINDS];
        uint32_t stacks[WF_NODE_STATS_KINDS]; /* how many stacks of each kind were looked at */
        struct wf_top_actors top;
    } part[];
};

static void free_census(struct wf_worker_query *r)
{
    struct census *c = WF_CONTAINER(r, struct census, round);
    for (uint32_t i = 0; i < c->workers; i++) wf_top_actors_free(&c->part[i].top);
    free(c);
}

/* The last entry is for all kinds without one of their own. */
static struct wf_node_stats_kind *kind_of(struct wf_node_stats_kind *all, uint32_t *count, const char *kind)
{
    uint32_t i = 0;
    while (i < *count && strncmp(all[i].kind, kind, sizeof all[i].kind - 1) != 0) i++;
    if (i < *count) return &all[i];
    if (*count == WF_NODE_STATS_KINDS) return &all[WF_NODE_STATS_KINDS - 1];
    if (*count == WF_NODE_STATS_KINDS - 1) kind = "other";
    memset(&all[i], 0, sizeof all[i]);
    snprintf(all[i].kind, sizeof all[i].kind, "%s", kind);
    ++*count;
    return &all[i];
}

static void add_memory(struct wf_actor_memory *to, const struct wf_actor_memory *m)
{
    to->mailbox += m->mailbox;
    to->held += m->held;
    to->stack += m->stack;
    to->heap += m->heap;
}

static void add_actor(struct part *p, const struct wf_actor *a)
{
    struct wf_actor_memory memory;
    struct wf_node_stats_kind *to = kind_of(p->kind, &p->kinds, a->kind);
    uint32_t *stacks = &p->stacks[to - p->kind];
    wf_actor_memory_of(a, &memory);
    if (p->census->exact || *stacks < STACKS_LOOKED) {
        memory.stack = wf_actor_stack_bytes(a);
        ++*stacks;
    }
    to->actors++;
    to->deepest = WF_MAX(to->deepest, wf_mail_count(a));
    to->waiting += wf_mail_count(a);
    to->held += wf_held_count(a);
    add_memory(&to->memory, &memory);
}

static void add_kind(struct wf_node_stats_kind *to, const struct wf_node_stats_kind *k)
{
    to->actors += k->actors;
    to->deepest = WF_MAX(to->deepest, k->deepest);
    to->waiting += k->waiting;
    to->held += k->held;
    add_memory(&to->memory, &k->memory);
    wf_histogram_merge(&to->mail, &k->mail);
}

static void begin(const struct wf_worker *w, struct part *p)
{
    const struct wf_actors *wa = wf_actors_of(w);
    struct pf_env *env = w->set->env;
    p->count = (struct wf_node_stats_worker){.counted = true,
                                             .answered_in = env->now(env) - p->census->asked,
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
    uint32_t end = p->next + (p->census->exact ? SLICE_EXACT : SLICE);
    for (; p->next < end && wf_slab_at(slab, p->next) != NULL; p->next++) {
        const struct wf_actor *a = wf_slab_taken_at(slab, p->next);
        if (a == NULL || !a->listed) continue;
        p->count.received += wf_actor_received(a);
        add_actor(p, a);
        if (p->census->has_top) wf_top_actors_offer(&p->top, a);
    }
    return p->next == end;
}

static void estimate_stacks(struct part *p)
{
    for (uint32_t i = 0; i < p->kinds; i++) {
        struct wf_node_stats_kind *k = &p->kind[i];
        if (p->stacks[i] < k->actors) k->memory.stack = (size_t)((double)k->memory.stack * k->actors / p->stacks[i]);
    }
}

static void add_mailbox_times(const struct wf_actors *wa, struct part *p)
{
    for (uint32_t i = 0; i < wa->kinds.places; i++) {
        const struct wf_kind *k = &wa->kinds.at[i];
        if (k->mail != NULL) wf_histogram_merge(&kind_of(p->kind, &p->kinds, k->kind)->mail, k->mail);
    }
}

/* Of those that are left over only, as it takes a system call for some of them. */
static void look_at_stacks(struct wf_worker *w, struct wf_top_actors *top)
{
    for (uint32_t i = 0; i < top->count; i++) {
        struct wf_actor *a = wf_actor_find(w, top->actors[i].pid.actor);
        if (a != NULL) top->actors[i].stack_most = wf_actor_stack_most(a);
    }
}

static void count_here(struct wf_worker *w, struct wf_call *call)
{
    struct part *p = WF_CONTAINER(call, struct part, call);
    struct census *c = p->census;
    if (p->next == 0) begin(w, p);
    if (c->actors && look_at_actors(w, p)) {
        wf_worker_post(w, &p->call.post);
        return;
    }
    look_at_stacks(w, &p->top);
    if (c->actors) estimate_stacks(p);
    if (c->actors) add_mailbox_times(wf_actors_of(w), p);
    p->count.mailbox_bytes = wf_all_mail_bytes(wf_actors_of(w));
    atomic_store_explicit(&p->done, true, memory_order_release);
    wf_worker_query_answered(&c->round);
}

static void take(struct census *c, struct wf_node_stats *out, struct wf_top_actors *top)
{
    out->workers = c->workers;
    for (uint32_t i = 0; i < c->workers; i++) {
        struct part *p = &c->part[i];
        if (!atomic_load_explicit(&p->done, memory_order_acquire)) continue;
        out->worker[i] = p->count;
        for (uint32_t k = 0; k < p->kinds; k++)
            add_kind(kind_of(out->kind, &out->kinds, p->kind[k].kind), &p->kind[k]);
        if (top != NULL) wf_top_actors_merge(top, &p->top);
    }
}

static int prepare(struct census *c, const struct wf_top_actors *top)
{
    int rc = WEFT_OK;
    c->has_top = top != NULL;
    for (uint32_t i = 0; i < c->workers && rc == WEFT_OK; i++) {
        c->part[i].census = c;
        if (top != NULL) rc = wf_top_actors_init(&c->part[i].top, &top->want);
    }
    if (rc == WEFT_OK)
        rc = wf_worker_query_begin(&c->round, c->workers - (uint32_t)__builtin_popcountll(c->held_up), free_census);
    if (rc < 0) free_census(&c->round);
    return rc;
}

/* `picked` may be NULL. */
static int count_all(weft_node *node, bool actors, struct wf_node_stats *out, struct wf_top_actors *top,
                     int64_t deadline)
{
    uint32_t workers = node->workers.count;
    struct census *c = calloc(1, sizeof *c + workers * sizeof c->part[0]);
    memset(out, 0, sizeof *out);
    if (c == NULL) return WEFT_ENOMEM;
    c->workers = workers;
    c->actors = actors;
    c->exact = top != NULL && top->want.exact;
    for (uint32_t i = 0; i < workers; i++)
        if (wf_stuck_at(&node->workers, i, NULL)) c->held_up |= UINT64_C(1) << i;
    int rc = prepare(c, top);
    if (rc < 0) return rc;
    c->asked = weft_now();
    for (uint32_t i = 0; i < workers; i++)
        if ((c->held_up >> i & 1) == 0) wf_worker_query_ask(node, i, &c->part[i].call, count_here);
    rc = wf_worker_query_await(&c->round, deadline);
    if (rc == WEFT_OK || rc == WEFT_ETIMEDOUT) take(c, out, top);
    if (rc < 0) out->kinds = 0;
    wf_worker_query_drop(&c->round);
    return rc;
}

int wf_node_stats_take(weft_node *node, bool kinds, struct wf_node_stats *out, int64_t deadline)
{
    return count_all(node, kinds, out, NULL, deadline);
}

int wf_node_stats_top(weft_node *node, struct wf_node_stats *out, struct wf_top_actors *top, int64_t deadline)
{
    return count_all(node, true, out, top, deadline);
}
