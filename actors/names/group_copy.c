/* actors/names/group_copy.c -- members of groups on other nodes, as those nodes report them: see tables.h and
 * group.c.
 *
 * Design notes.
 * (1) Each group counts its copies by node, for senders.
 * (2) Notifications are posted under the groups' lock: those about one member come in the order of the reports,
 *     whatever thread applies them. */
#include "group_copy.h"

#include "group_news.h"
#include "group_table.h"
#include "inbound.h"

#include <stdlib.h>
#include <string.h>

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

static bool add(struct wf_groups *all, struct wf_copies *from, struct wf_group *g, weft_pid who)
{
    struct wf_group_copy *c = calloc(1, sizeof *c);
    if (c == NULL) return false;
    c->member.group = g;
    c->member.who = who;
    if (!count_up(g, who.node)) {
        free(c);
        return false;
    }
    if (!wf_group_place_add(all, &all->copies, &c->member)) {
        count_down(g, who.node);
        free(c);
        return false;
    }
    c->member.in_table.mark = from->round;
    wf_list_push(&from->groups, &c->in_copies);
    wf_list_push(&g->copies, &c->member.in_group);
    g->copy_count++;
    wf_group_changed(g);
    return true;
}

/* The member is gone: notifies watchers. Consumes `c`, and the group if it is empty then. */
static void end_copy(struct wf_groups *all, const struct wf_group_voice *v, struct wf_group_copy *c, bool ended,
                     int reason)
{
    struct wf_group *g = c->member.group;
    weft_pid who = c->member.who;
    wf_unlink(&c->in_copies);
    wf_unlink(&c->member.in_group);
    wf_hash_table_remove(&all->copies, &c->member.in_table);
    count_down(g, who.node);
    g->copy_count--;
    wf_group_changed(g);
    wf_group_end_tell(all, v, g, who, ended, reason, c);
    wf_group_free_if_empty(all, g);
}

static bool is_over(const struct wf_copies *from, const struct wf_group_copy *c)
{
    return c->member.in_table.mark != from->round;
}

static struct wf_group_copy *find_copy(struct wf_groups *all, weft_text group, weft_pid who)
{
    const struct wf_group *g = wf_group_find(all, group);
    struct wf_group_member *m = g == NULL ? NULL : wf_group_place_find(all, &all->copies, g, who);
    return m == NULL ? NULL : WF_CONTAINER(m, struct wf_group_copy, member);
}

/* ---- What other nodes tell ------------------------------------------------------------------------------------- */

static struct wf_group_voice voice_of(weft_node *node, struct wf_inbound *in)
{
    return (struct wf_group_voice){node, in->here, in};
}

/* If there is not enough memory for everything, the link fails and starts again. */
static int put(struct wf_groups *all, const struct wf_group_voice *v, struct wf_copies *from, struct wf_group *g,
               weft_pid who)
{
    if (!wf_group_ends_told(all, v)) return WEFT_ENOMEM;
    uint32_t made;
    weft_msg *news = wf_group_news_of(v, g, WEFT_TAG_GROUP_JOIN, who, false, 0, &made);
    if (made < g->watcher_count || !add(all, from, g, who)) {
        wf_group_news_free(v->w, news);
        return WEFT_ENOMEM;
    }
    wf_group_news_send(v, g, news);
    return 1;
}

int wf_groups_put_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                       uint64_t actor)
{
    struct wf_groups *all = wf_groups_of(node);
    struct wf_group_voice voice = voice_of(node, in);
    weft_pid who = {from->node, actor};
    pf_mutex_lock(all->lock);
    struct wf_group_copy *c = find_copy(all, group, who);
    if (c != NULL && is_over(from, c)) {
        WF_SOMETIMES("groups: a member is reported again before its old entry is removed", true);
        end_copy(all, &voice, c, true, WEFT_EXIT_NODE_LOST);
        c = NULL;
    }
    struct wf_group *g = c != NULL ? NULL : wf_group_find_or_make(all, group);
    int rc = c != NULL ? 0 : WEFT_ENOMEM;
    if (g != NULL) {
        rc = put(all, &voice, from, g, who);
        wf_group_free_if_empty(all, g);
    }
    pf_mutex_unlock(all->lock);
    return rc;
}

bool wf_groups_take_copy(weft_node *node, struct wf_inbound *in, struct wf_copies *from, weft_text group,
                         uint64_t actor, bool ended, int reason)
{
    struct wf_groups *all = wf_groups_of(node);
    struct wf_group_voice voice = voice_of(node, in);
    pf_mutex_lock(all->lock);
    struct wf_group_copy *c = find_copy(all, group, (weft_pid){from->node, actor});
    bool there = c != NULL && !is_over(from, c);
    if (there) end_copy(all, &voice, c, ended, reason);
    pf_mutex_unlock(all->lock);
    return there;
}

void wf_groups_clear_copies(weft_node *node, struct wf_inbound *in, struct wf_copies *from, uint32_t *work)
{
    struct wf_groups *all = wf_groups_of(node);
    struct wf_group_voice voice = voice_of(node, in);
    pf_mutex_lock_behind(all->lock);
    for (struct wf_list_node *k; *work > 0 && (k = wf_list_first(&from->groups)) != NULL;) {
        struct wf_group_copy *c = WF_CONTAINER(k, struct wf_group_copy, in_copies);
        if (!is_over(from, c)) break;
        *work -= WF_MIN(*work, 1 + c->member.group->watcher_count);
        end_copy(all, &voice, c, true, WEFT_EXIT_NODE_LOST);
    }
    pf_mutex_unlock(all->lock);
}
