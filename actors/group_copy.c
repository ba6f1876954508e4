/* actors/group_copy.c -- members of groups on other nodes, as these tell of them: see tables.h and group.c.
 *
 * Design notes.
 * (1) Each group counts its copies by node, for senders.
 * (2) News of them are posted under the groups' lock: those of one member come in the order it was told, whatever
 *     thread tells. */
#include "group_table.h"

#include <stdlib.h>
#include <string.h>

#include "mutant.h"

/* ---- The table, under the lock --------------------------------------------------------------------------------- */

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
    struct wf_group_member *c = calloc(1, sizeof *c);
    if (c == NULL) return false;
    c->group = g;
    c->who = who;
    if (!count_up(g, who.node)) {
        free(c);
        return false;
    }
    if (!wf_group_place_add(&all->copies, c)) {
        count_down(g, who.node);
        free(c);
        return false;
    }
    wf_list_push(&g->copies, &c->in_group);
    g->copy_count++;
    wf_group_changed(g);
    return true;
}

/* It is gone, and watchers are told; consumes it, and the group if nobody is left. */
static void end_copy(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group_member *c, bool ended,
                     int reason)
{
    struct wf_group *g = c->group;
    weft_pid who = c->who;
    wf_unlink(&c->in_group);
    wf_group_place_remove(&all->copies, c);
    count_down(g, who.node);
    g->copy_count--;
    wf_group_changed(g);
    if (WF_MUTANT(group_tells_no_end) && !(ended && reason == WEFT_EXIT_NODE_LOST)) free(c);
    else wf_group_end_tell(all, v, g, who, ended, reason, c);
    wf_group_free_if_empty(all, g);
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
    if (g != NULL && wf_group_place_find(&all->copies, g, who) != NULL) {
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
    struct wf_group_member *c = g == NULL ? NULL : wf_group_place_find(&all->copies, g, who);
    if (c != NULL) end_copy(all, &voice, c, ended, reason);
    pf_mutex_unlock(all->lock);
    return c != NULL;
}

/* In parts: others may take the lock in between. */
void wf_groups_drop_copies(weft_node *node, struct wf_inbound *in, uint64_t peer)
{
    enum { BUCKETS_AT_ONCE = 1024 };
    struct wf_groups *all = node->groups;
    struct wf_group_voice voice = voice_of(node, in);
    bool more = true;
    for (size_t from = 0; more; from += BUCKETS_AT_ONCE) {
        pf_mutex_lock(all->lock);
        const struct wf_group_places *p = &all->copies; /* with tables_lock held it does not grow */
        size_t end = WF_MIN(from + BUCKETS_AT_ONCE, p->bucket_count);
        for (size_t i = from; i < end && p->count > 0; i++) {
            for (struct wf_group_member *c = p->buckets[i], *next; c != NULL; c = next) {
                next = c->next;
                if (c->who.node == peer) end_copy(all, &voice, c, true, WEFT_EXIT_NODE_LOST);
            }
        }
        more = end < p->bucket_count && p->count > 0;
        pf_mutex_unlock(all->lock);
    }
}
