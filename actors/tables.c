/* actors/tables.c -- see tables.h. */
#include "tables.h"

#include "actor.h"
#include "mutant.h"

#include <weft/names.h>

#include <string.h>

uint64_t wf_tables_stamp(weft_node *node)
{
    struct pf_env *env = node->workers.env;
    return node->last_stamp = wf_stamp_after(node->last_stamp, env->wall(env));
}

int wf_tables_room(weft_node *node)
{
    return node->entries < WF_TABLE_ENTRIES_MAX ? WEFT_OK : WEFT_EFULL;
}

void wf_tables_tell(weft_node *node, enum wf_table_op op, const struct wf_entry *e)
{
    if (op == WF_TABLE_SET) node->entries++;
    if (op == WF_TABLE_UNSET) node->entries--;
    if (node->route != NULL) node->route->tell(node, (int)op, e);
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

struct each {
    void (*see)(const struct wf_entry *e, void *arg);
    void *arg;
    uint64_t node;
};

static void see_name(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg)
{
    const struct each *each = arg;
    (void)holds;
    if (stamp == 0 || pid.node != each->node) return;
    struct wf_entry e = {.table = WF_TABLE_NAMES, .key = name, .actor = pid.actor, .stamp = stamp};
    each->see(&e, each->arg);
}

static void see_member(weft_text group, weft_pid who, bool copy, void *arg)
{
    const struct each *each = arg;
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = group, .actor = who.actor};
    if (!copy) each->see(&e, each->arg);
}

static void see_queue(weft_text pattern, weft_text queue, uint64_t node, void *arg)
{
    const struct each *each = arg;
    struct wf_entry e = {.table = WF_TABLE_QUEUES, .key = pattern, .queue = queue};
    if (node == 0) each->see(&e, each->arg);
}

void wf_tables_each(weft_node *node, void (*see)(const struct wf_entry *e, void *arg), void *arg)
{
    struct each each = {see, arg, node->incarnation};
    wf_names_each(node->names, see_name, &each);
    wf_groups_each(node->groups, see_member, &each);
    wf_wide_each(node->topics, see_queue, &each);
}

static void tell_loser(weft_node *node, struct wf_inbound *in, weft_text name, weft_pid loser, weft_pid winner)
{
    struct weft_name_lost lost = {.winner = winner};
    memcpy(lost.name, name.data, name.size);
    char text[WEFT_PID_TEXT];
    weft_log(WEFT_WARN, "the name %s is another actor's, %s, which had it first", lost.name,
             weft_pid_format(winner, text));
    weft_msg *m = wf_msg_new(in->here, WEFT_TAG_NAME_LOST, sizeof lost);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory to tell its actor that the name %s was lost", lost.name);
        return;
    }
    memcpy(m + 1, &lost, sizeof lost);
    m->post.flags = WF_MSG_SYSTEM;
    m->to_actor = loser.actor;
    wf_inbound_add(node, in, m);
    wf_inbound_post(node, in);
}

static int put_name(weft_node *node, struct wf_inbound *in, uint64_t peer, const struct wf_entry *e)
{
    weft_pid loser, winner = {peer, e->actor};
    int rc = wf_names_put_copy(node->names, e->key, winner, e->stamp, &loser);
    if (rc < 0 || weft_pid_is_nobody(loser)) return rc;
    wf_tables_tell(node, WF_TABLE_UNSET,
                   &(struct wf_entry){.table = WF_TABLE_NAMES, .key = e->key, .actor = loser.actor});
    if (!WF_MUTANT(name_loser_not_told)) tell_loser(node, in, e->key, loser, winner);
    return rc;
}

/* ---- What peers say -------------------------------------------------------------------------------------------- */

int wf_tables_apply(weft_node *node, struct wf_inbound *in, uint64_t peer, enum wf_table_op op,
                    const struct wf_entry *e)
{
    weft_pid who = {peer, e->actor};
    bool set = op == WF_TABLE_SET;
    switch (e->table) {
    case WF_TABLE_NAMES: return set ? put_name(node, in, peer, e) : -wf_names_take_copy(node->names, e->key, peer);
    case WF_TABLE_GROUPS:
        return set ? wf_groups_put_copy(node, in, e->key, who)
                   : -wf_groups_take_copy(node, in, e->key, who, e->ended, e->reason);
    case WF_TABLE_QUEUES:
        return set ? wf_wide_put_copy(node->topics, e->key, e->queue, peer)
                   : -wf_wide_take_copy(node->topics, e->key, e->queue, peer);
    }
    return 0;
}

void wf_tables_drop(weft_node *node, uint64_t peer)
{
    struct wf_inbound in = {.here = wf_here != NULL && wf_node_of(wf_here) == node ? wf_here : NULL};
    (void)wf_names_drop_copies(node->names, peer);
    if (!WF_MUTANT(group_keeps_the_dead)) wf_groups_drop_copies(node, &in, peer);
    wf_wide_drop_copies(node->topics, peer);
}
