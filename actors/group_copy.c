/* actors/group_copy.c -- members of groups on other nodes, as these tell of them: see tables.h and group.c.
 *
 * Design notes.
 * (1) A copy is found by its group and its pid in a table of all copies; each group has a list of its own, and counts
 *     them by node, for senders.
 * (2) News of them are posted under the groups' lock: those of one member come in the order it was told, whatever
 *     thread tells. */
#include "group_table.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "mutant.h"

enum { BUCKETS_AT_FIRST = 64 };

/* ---- The table, under the lock --------------------------------------------------------------------------------- */

static struct wf_group_copy **bucket_of(struct wf_groups *all, const struct wf_group *g, weft_pid who)
{
    uint64_t hash = wf_mix(wf_mix(who.actor ^ who.node) + g->hash);
    return &all->copies[hash & (all->copy_buckets - 1)];
}

static struct wf_group_copy *find(struct wf_groups *all, const struct wf_group *g, weft_pid who)
{
    if (all->copy_buckets == 0) return NULL;
    struct wf_group_copy *c = *bucket_of(all, g, who);
    while (c != NULL && (c->group != g || !weft_pid_equal(c->who, who))) c = c->next;
    return c;
}

/* False: there is no table. Without memory for a larger one its chains just get longer. */
static bool grow(struct wf_groups *all)
{
    size_t old_count = all->copy_buckets, count = old_count == 0 ? BUCKETS_AT_FIRST : old_count * 2;
    struct wf_group_copy **old = all->copies, **bigger = calloc(count, sizeof *bigger);
    if (bigger == NULL) return old != NULL;
    all->copies = bigger;
    all->copy_buckets = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct wf_group_copy *c = old[i], *next; c != NULL; c = next) {
            next = c->next;
            struct wf_group_copy **at = bucket_of(all, c->group, c->who);
            c->next = *at;
            *at = c;
        }
    }
    free(old);
    return true;
}

static struct wf_group_node **node_of(struct wf_group *g, uint64_t node)
{
    struct wf_group_node **at = &g->nodes;
    while (*at != NULL && (*at)->node != node) at = &(*at)->next;
    return at;
}

static bool count_up(struct wf_group *g, uint64_t node)
{
    struct wf_group_node **at = node_of(g, node);
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        if (*at == NULL) return false;
        (*at)->node = node;
        g->node_count++;
    }
    (*at)->count++;
    return true;
}

static void count_down(struct wf_group *g, uint64_t node)
{
    struct wf_group_node **at = node_of(g, node), *n = *at;
    WF_ASSERT(n != NULL);
    if (--n->count > 0) return;
    *at = n->next;
    free(n);
    g->node_count--;
}

static bool add(struct wf_groups *all, struct wf_group *g, weft_pid who)
{
    if (all->copy_count == all->copy_buckets && !grow(all)) return false;
    struct wf_group_copy *c = calloc(1, sizeof *c);
    if (c == NULL) return false;
    if (!count_up(g, who.node)) {
        free(c);
        return false;
    }
    c->group = g;
    c->who = who;
    struct wf_group_copy **at = bucket_of(all, g, who);
    c->next = *at;
    *at = c;
    wf_list_push(&g->copies, &c->in_group);
    g->copy_count++;
    all->copy_count++;
    wf_group_changed(g);
    return true;
}

/* `c` is in no bucket any more, and then nowhere. The group lives on until wf_group_free_if_empty. */
static void take_out(struct wf_groups *all, struct wf_group_copy *c)
{
    struct wf_group *g = c->group;
    wf_unlink(&c->in_group);
    count_down(g, c->who.node);
    g->copy_count--;
    all->copy_count--;
    wf_group_changed(g);
}

/* ---- What other nodes tell ------------------------------------------------------------------------------------- */

static struct wf_group_voice voice_of(weft_node *node, struct wf_inbound *in)
{
    return (struct wf_group_voice){node, in->here, in};
}

/* The link fails without memory for all of it, and begins anew. */
static int put(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group *g, weft_pid who)
{
    if (!wf_group_ends_told(all, v)) return WEFT_ENOMEM;
    uint32_t made;
    weft_msg *news = wf_group_news_of(v, g, WEFT_TAG_GROUP_JOIN, who, false, 0, &made);
    if (made < g->watcher_count || !add(all, g, who)) {
        wf_group_news_free(v->w, news);
        return WEFT_ENOMEM;
    }
    wf_group_news_send(v, g, news);
    return 1;
}

int wf_groups_put_copy(weft_node *node, struct wf_inbound *in, weft_text group, weft_pid who)
{
    struct wf_groups *all = node->groups;
    struct wf_group_voice voice = voice_of(node, in);
    int rc = WEFT_ENOMEM;
    pf_mutex_lock(all->lock);
    struct wf_group *g = wf_group_find_or_make(all, group);
    if (g != NULL && find(all, g, who) != NULL) {
        rc = 0;
    } else if (g != NULL) {
        rc = put(all, &voice, g, who);
        wf_group_free_if_empty(all, g);
    }
    pf_mutex_unlock(all->lock);
    return rc;
}

bool wf_groups_take_copy(weft_node *node, struct wf_inbound *in, weft_text group, weft_pid who, bool ended,
                         int reason)
{
    struct wf_groups *all = node->groups;
    struct wf_group_voice voice = voice_of(node, in);
    pf_mutex_lock(all->lock);
    struct wf_group *g = wf_group_find(all, group);
    struct wf_group_copy *c = g == NULL ? NULL : find(all, g, who);
    if (c != NULL) {
        struct wf_group_copy **at = bucket_of(all, g, who);
        while (*at != c) at = &(*at)->next;
        *at = c->next;
        take_out(all, c);
        if (!WF_MUTANT(group_tells_no_end)) wf_group_end_tell(all, &voice, g, who, ended, reason, c);
        wf_group_free_if_empty(all, g);
    }
    pf_mutex_unlock(all->lock);
    return c != NULL;
}

void wf_groups_drop_copies(weft_node *node, struct wf_inbound *in, uint64_t peer)
{
    struct wf_groups *all = node->groups;
    struct wf_group_voice voice = voice_of(node, in);
    pf_mutex_lock(all->lock);
    for (size_t i = 0; i < all->copy_buckets && all->copy_count > 0; i++) {
        for (struct wf_group_copy **at = &all->copies[i]; *at != NULL;) {
            struct wf_group_copy *c = *at;
            if (c->who.node != peer) {
                at = &c->next;
                continue;
            }
            *at = c->next;
            struct wf_group *g = c->group;
            weft_pid who = c->who;
            take_out(all, c);
            wf_group_end_tell(all, &voice, g, who, true, WEFT_EXIT_NODE_LOST, c);
            wf_group_free_if_empty(all, g);
        }
    }
    pf_mutex_unlock(all->lock);
}
