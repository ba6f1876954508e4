/* actors/names/group_send.c -- the members of a group, and messages to all of them: see group.c. */
#include "group_send.h"

#include "group_table.h"
#include "inbound.h"
#include "sanitizer.h"
#include "send.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

int weft_group_members(const char *group, weft_pid *pids, size_t max)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    if (pids == NULL && max > 0) return WEFT_EINVAL;
    struct wf_groups *all = wf_groups_here(self);
    pf_mutex_lock(all->lock);
    struct wf_group *g = wf_group_find(all, weft_cstr(group));
    int count = g == NULL ? 0 : (int)(g->member_count + g->copy_count);
    if (g != NULL) {
        WF_LIST_EACH(k, &g->members) {
            if (max == 0) break;
            *pids++ = WF_CONTAINER(k, struct wf_group_member, in_group)->who;
            max--;
        }
        WF_LIST_EACH(k, &g->copies) {
            if (max == 0) break;
            *pids++ = WF_CONTAINER(k, struct wf_group_member, in_group)->who;
            max--;
        }
    }
    pf_mutex_unlock(all->lock);
    return count;
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static struct wf_group_list *list_new(const struct wf_group *g)
{
    size_t pids = sizeof(struct wf_group_list) + g->member_count * sizeof(weft_pid);
    struct wf_group_list *list = malloc(pids + g->node_count * sizeof(struct wf_group_node));
    if (list == NULL) return NULL;
    atomic_init(&list->refs, 1);
    list->count = list->node_count = 0;
    list->nodes = (struct wf_group_node *)((char *)list + pids);
    WF_LIST_EACH(k, &g->members) list->pids[list->count++] = WF_CONTAINER(k, struct wf_group_member, in_group)->who;
    for (const struct wf_group_node *n = g->nodes; n != NULL; n = n->next) list->nodes[list->node_count++] = *n;
    return list;
}

/* Under the lock. Returns a reference for the caller; NULL: no memory. */
static struct wf_group_list *list_of(struct wf_group *g)
{
    if (g->list == NULL) g->list = list_new(g);
    if (g->list == NULL) return NULL;
    atomic_fetch_add_explicit(&g->list->refs, 1, memory_order_relaxed); /* the group holds one */
    return g->list;
}

static int send_to(struct wf_actor *self, weft_text group, const struct wf_group_list *list, uint32_t tag,
                   struct wf_body *body)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    int handed = 0;
    uint64_t weighed = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        weft_msg *m = wf_msg_share(w, tag, body);
        if (m == NULL) {
            wf_count_drop(w, WF_DROP_MEMORY);
            continue;
        }
        m->from = wf_actor_pid(self);
        handed += wf_send_copy_or_drop(w, list->pids[i], m, &weighed) == WEFT_OK;
    }
    for (uint32_t i = 0; i < list->node_count; i++) {
        int rc = route->send_group(w, list->nodes[i].node, group, tag, wf_actor_pid(self), body);
        if (rc == WEFT_OK) handed += (int)list->nodes[i].count;
        else
            wf_count_drop(w, rc == WEFT_EFULL ? WF_DROP_FULL : rc == WEFT_ENOMEM ? WF_DROP_MEMORY : WF_DROP_NO_ACTOR);
    }
    wf_task_charge_work(&self->task, list->count);
    return handed;
}

int weft_group_send(const char *group, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    int rc = wf_group_check(self, group);
    if (rc < 0) return rc;
    if (wf_is_wrong_message(tag, data, size)) return wf_wrong_message("weft_group_send", tag, data, size);
    wf_task_tick_for(&self->task, size);
    struct wf_groups *all = wf_groups_here(self);
    weft_text name = weft_cstr(group);
    pf_mutex_lock(all->lock);
    struct wf_group *g = wf_group_find(all, name);
    bool any = g != NULL && g->member_count + g->copy_count > 0;
    struct wf_group_list *list = any ? list_of(g) : NULL;
    pf_mutex_unlock(all->lock);
    if (!any) return 0;
    bool traces = wf_actors_of(self->task.worker)->tracing;
    struct wf_body *body = list != NULL && traces ? wf_trace_publish(self, name, false, tag, data, size) : NULL;
    if (body == NULL && list != NULL) body = wf_body_new(self->task.worker, NULL, 0, data, size);
    rc = body == NULL ? WEFT_ENOMEM : send_to(self, name, list, tag, body);
    if (body != NULL) wf_body_drop(self->task.worker, body);
    wf_group_list_drop(list);
    return rc;
}

void wf_groups_arrived(weft_node *node, struct wf_inbound *in, weft_text group, uint32_t tag, weft_pid from,
                       struct wf_body *body)
{
    struct wf_groups *all = wf_groups_of(node);
    pf_mutex_lock(all->lock);
    struct wf_group *g = wf_group_find(all, group);
    struct wf_group_list *list = g == NULL || g->member_count == 0 ? NULL : list_of(g);
    bool lost = list == NULL && g != NULL && g->member_count > 0;
    pf_mutex_unlock(all->lock);
    uint64_t weighed = 0;
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        weft_msg *m = wf_msg_share(in->here, tag, body);
        lost |= m == NULL;
        if (m == NULL) continue;
        m->from = from;
        m->to_actor = list->pids[i].actor;
        wf_inbound_add_copy(node, in, m, &weighed);
    }
    if (list != NULL) in->copies += list->count;
    if (lost)
        weft_log(WEFT_ERROR, "no memory for a message to group %.*s: some members do not get it", WEFT_STR(group));
    wf_group_list_drop(list);
    wf_body_drop(in->here, body);
}
