/* transport/cluster/partition.c -- what a node does if it can reach only a part of its cluster: docs/membership.md. */
#include "partition.h"
#include "cluster.h"
#include "fatal.h"
#include "links.h"
#include "swim_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wf_base_member *find(struct wf_partition *p, uint64_t node)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->base[i].node == node) return &p->base[i];
    return NULL;
}

static void drop(struct wf_partition *p, struct wf_base_member *m)
{
    *m = p->base[--p->count];
}

static bool grow(struct wf_partition *p)
{
    if (p->count < p->capacity) return true;
    uint32_t wanted = WF_MAX(16u, p->capacity * 2);
    struct wf_base_member *more = realloc(p->base, wanted * sizeof *more);
    if (more == NULL) return false;
    p->base = more;
    p->capacity = wanted;
    return true;
}

void wf_partition_review(struct wf_partition *p, const struct wf_swim_member *m)
{
    if (p->policy != WEFT_PARTITION_MAJORITY) return;
    struct wf_base_member *known = find(p, m->node);
    if (m->state == WF_SWIM_LEFT) {
        if (known != NULL) drop(p, known);
        return;
    }
    if (!wf_swim_present(m)) return;
    char name[WF_NODE_NAME_MAX + 1];
    snprintf(name, sizeof name, "%.*s", WEFT_STR(m->name));
    if (known != NULL) {
        memcpy(known->name, name, sizeof name); /* another member may have reported a wrong one */
        return;
    }
    for (uint32_t i = p->count; i-- > 0;)
        if (strcmp(p->base[i].name, name) == 0) drop(p, &p->base[i]); /* `m` is its successor */
    if (!grow(p)) return;                                             /* the next change of the member tries again */
    p->base[p->count].node = m->node;
    memcpy(p->base[p->count++].name, name, sizeof name);
}

/* ---- Majority or minority -------------------------------------------------------------------------------------- */

static bool sooner(const struct wf_base_member *a, const struct wf_base_member *b)
{
    int order = strcmp(a->name, b->name);
    return order != 0 ? order < 0 : a->node < b->node;
}

static bool is_heard(const struct wf_swim *s, uint64_t node)
{
    return s->user->heard != NULL && s->user->heard(s->arg, node);
}

/* Whether a member counts as present. `strict`: suspects do not, unless something is heard from them. */
static bool counts(const struct wf_swim *s, uint64_t node, bool strict)
{
    const struct wf_swim_member *m = wf_swim_find(s, node);
    if (m == NULL) return false;
    bool there = strict ? m->state == WF_SWIM_ALIVE && !m->recheck : wf_swim_present(m);
    return there || m == s->self || (m->state != WF_SWIM_LEFT && is_heard(s, node));
}

static bool is_few_of_base(const struct wf_partition *p, const struct wf_swim *s, bool strict, uint32_t *there)
{
    const struct wf_base_member *lowest = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        *there += counts(s, p->base[i].node, strict);
        if (lowest == NULL || sooner(&p->base[i], lowest)) lowest = &p->base[i];
    }
    if (2 * *there != p->count) return 2 * *there < p->count;
    return lowest != NULL && !counts(s, lowest->node, strict);
}

static bool is_few(const struct wf_partition *p, const struct wf_swim *s, bool strict, uint32_t *there)
{
    *there = 0;
    if (p->policy == WEFT_PARTITION_MAJORITY) return is_few_of_base(p, s, strict, there);
    for (uint32_t i = 0; i < s->count; i++) *there += counts(s, s->at[i]->node, strict);
    return *there < p->quorum;
}

/* Drops members that are down from `base`: note (1). Returns when to call it again. */
static int64_t shrink(struct wf_partition *p, const struct wf_swim *s, int64_t now)
{
    bool gone = false;
    for (uint32_t i = 0; i < p->count; i++) {
        bool there = counts(s, p->base[i].node, false);
        if (there && !counts(s, p->base[i].node, true)) p->quiet_since = now;
        gone = gone || !there;
    }
    if (p->few) p->quiet_since = now;
    if (!gone || p->few) return WEFT_FOREVER;
    int64_t at = p->quiet_since + wf_swim_longest(s);
    if (now < at) return at;
    WF_SOMETIMES("partition: a majority drops the nodes that are down", true);
    for (uint32_t i = 0; i < p->count;) {
        if (!counts(s, p->base[i].node, false)) drop(p, &p->base[i]);
        else i++;
    }
    return WEFT_FOREVER;
}

bool wf_partition_look(struct wf_partition *p, const struct wf_swim *s, int64_t now, int64_t *again)
{
    bool few = is_few(p, s, true, &p->there), changed = few != p->few;
    p->few = few;
    p->was_many = p->was_many || !few;
    WF_SOMETIMES("partition: a node is no longer in a minority", changed && !few);
    WF_SOMETIMES("partition: a node finds itself in a minority", changed && few);
    if (changed && few) p->quiet_since = now;
    *again = p->policy == WEFT_PARTITION_MAJORITY ? shrink(p, s, now) : WEFT_FOREVER;
    return changed;
}

bool wf_partition_is_final(const struct wf_partition *p, const struct wf_swim *s)
{
    uint32_t there;
    return is_few(p, s, false, &there);
}

/* ---- Consequences ---------------------------------------------------------------------------------------------- */

static void note(struct wf_cluster *c)
{
    struct wf_partition *p = &c->partition;
    uint32_t of = p->policy == WEFT_PARTITION_MAJORITY ? p->count : p->quorum;
    pf_mutex_lock(c->t->lock);
    p->text[0] = '\0';
    if (p->few)
        snprintf(p->text, sizeof p->text, "in a minority: %" PRIu32 " of %" PRIu32 " nodes are there", p->there, of);
    pf_mutex_unlock(c->t->lock);
    /* Relaxed: it guards nothing, and a thread that sees it a little late might as well have read it earlier. */
    atomic_store_explicit(&c->t->node->minority, p->few, memory_order_relaxed);
}

static void notify(struct wf_cluster *c)
{
    const struct wf_partition *p = &c->partition;
    if (p->few) weft_log(WEFT_WARN, "this node is %s", p->text);
    else weft_log(WEFT_INFO, "this node is no longer in a minority");
    wf_links_notify_self(c, p->few ? WEFT_TAG_MINORITY : WEFT_TAG_MAJORITY, p->text);
}

static void end_node(struct wf_cluster *c)
{
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "it is %s", c->partition.text);
    wf_cluster_fail(c->t, "ends", why);
}

int64_t wf_partition_tick(struct wf_cluster *c, int64_t now)
{
    struct wf_partition *p = &c->partition;
    int64_t again = WEFT_FOREVER;
    if (p->policy == WEFT_PARTITION_NONE || c->swim == NULL || c->leaving) return again;
    uint32_t before = p->there;
    bool changed = wf_partition_look(p, c->swim, now, &again);
    if (changed || p->there != before) note(c);
    if (changed) notify(c);
    if (p->few && p->ends && p->was_many && wf_partition_is_final(p, c->swim)) end_node(c);
    return again;
}

int wf_partition_init(struct wf_cluster *c, const weft_node_options *o)
{
    struct wf_partition *p = &c->partition;
    p->policy = o->partition;
    p->quorum = o->quorum;
    p->ends = o->partition_ends;
    if (p->policy == WEFT_PARTITION_NONE || c->swim == NULL) return WEFT_OK;
    wf_partition_review(p, c->swim->self);
    if (p->policy == WEFT_PARTITION_MAJORITY && p->count == 0) return WEFT_ENOMEM;
    p->few = is_few(p, c->swim, true, &p->there);
    note(c);
    return WEFT_OK;
}

void wf_partition_finish(struct wf_partition *p)
{
    free(p->base);
}
