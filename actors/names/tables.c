/* actors/names/tables.c -- see tables.h. */
#include "tables.h"

#include "actor.h"
#include "group_copy.h"
#include "group_table.h"
#include "inbound.h"
#include "names.h"

#include <weft/names.h>

#include <string.h>

uint64_t wf_tables_stamp(weft_node *node)
{
    struct pf_env *env = node->workers.env;
    return node->last_stamp = wf_stamp_after(node->last_stamp, env->wall(env));
}

int64_t wf_tables_now(weft_node *node)
{
    struct pf_env *env = node->workers.env;
    return env->now(env);
}

int wf_tables_check_space(weft_node *node)
{
    return node->entries < WF_TABLE_ENTRIES_MAX ? WEFT_OK : WEFT_EFULL;
}

void wf_tables_tell(weft_node *node, enum wf_table_op op, const struct wf_entry *e)
{
    if (op == WF_TABLE_SET) node->entries++;
    if (op == WF_TABLE_UNSET) node->entries--;
    if (node->route != NULL) node->route->tell(node, (int)op, e);
}

/* ---- Own entries, in parts ------------------------------------------------------------------------------------- */

#define ENTRIES_AT_ONCE WF_LIMIT("tables: entries in a part of a snapshot", 1024, 1)

struct each {
    void (*see)(const struct wf_entry *e, void *arg);
    void *arg;
    uint64_t node;
    uint32_t left; /* how many entries this part may still have */
};

/* Returns whether this part may have more entries. */
static bool see_one(struct each *each, const struct wf_entry *e)
{
    each->see(e, each->arg);
    if (each->left > 0) each->left--;
    return each->left > 0;
}

static bool see_name(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg)
{
    struct each *each = arg;
    (void)holds;
    if (stamp == 0 || pid.node != each->node) return true;
    struct wf_entry e = {.table = WF_TABLE_NAMES, .key = name, .actor = pid.actor, .stamp = stamp};
    return see_one(each, &e);
}

static bool see_member(weft_text group, weft_pid who, void *arg)
{
    struct each *each = arg;
    struct wf_entry e = {.table = WF_TABLE_GROUPS, .key = group, .actor = who.actor};
    return see_one(each, &e);
}

static bool see_queue(weft_text pattern, weft_text queue, void *arg)
{
    struct each *each = arg;
    struct wf_entry e = {.table = WF_TABLE_QUEUES, .key = pattern, .queue = queue};
    return see_one(each, &e);
}

void wf_tables_some(weft_node *node, struct wf_tables_part *part, void (*see)(const struct wf_entry *e, void *arg),
                    void *arg)
{
    struct each each = {see, arg, node->incarnation, ENTRIES_AT_ONCE};
    part->groups.own = true;
    switch (part->next) {
    case WF_PART_NAMES:
        if (!wf_names_some(wf_names_of(node), &part->names, see_name, &each)) part->next = WF_PART_GROUPS;
        return;
    case WF_PART_GROUPS:
        if (!wf_groups_some(wf_groups_of(node), &part->groups, see_member, &each)) part->next = WF_PART_QUEUES;
        return;
    case WF_PART_QUEUES:
        if (!node->queue_tables->some(node, &part->queues, see_queue, &each)) part->next = WF_PART_NONE;
        return;
    case WF_PART_NONE: return;
    }
}

static void tell_loser(weft_node *node, struct wf_inbound *in, weft_text name, weft_pid loser, weft_pid winner)
{
    struct weft_name_lost lost = {.winner = winner};
    memcpy(lost.name, name.data, name.size);
    char text[WEFT_PID_TEXT];
    weft_log(WEFT_WARN, "the name %s belongs to another actor, %s, which registered it first", lost.name,
             weft_pid_format(winner, text));
    weft_msg *m = wf_msg_new(in->here, WEFT_TAG_NAME_LOST, sizeof lost);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory to notify its actor that the name %s was lost", lost.name);
        return;
    }
    memcpy(m + 1, &lost, sizeof lost);
    m->post.flags = WF_MSG_SYSTEM;
    m->to_actor = loser.actor;
    wf_inbound_add(node, in, m);
    wf_inbound_post(node, in);
}

static void name_lost(weft_node *node, struct wf_inbound *in, weft_text name, weft_pid loser, weft_pid winner)
{
    wf_tables_tell(node, WF_TABLE_UNSET,
                   &(struct wf_entry){.table = WF_TABLE_NAMES, .key = name, .actor = loser.actor});
    tell_loser(node, in, name, loser, winner);
}

static void name_kept(weft_node *node, weft_text name, const struct wf_name_clash *clash, weft_pid claimant)
{
    char text[WEFT_PID_TEXT];
    struct wf_entry e = {.table = WF_TABLE_NAMES, .key = name, .actor = clash->defender.actor, .stamp = clash->stamp};
    weft_log(
        WEFT_WARN,
        "the global name %.*s stays here: %s claims it with an older stamp, but its node knew that it was taken; if "
        "this repeats look at the clock of that node",
        WEFT_STR(name), weft_pid_format(claimant, text));
    if (node->route != NULL) node->route->tell(node, WF_TABLE_SET, &e); /* wf_tables_tell would count it twice */
}

static int put_name(weft_node *node, struct wf_inbound *in, struct wf_copies *from, const struct wf_entry *e)
{
    weft_pid claimant = {from->node, e->actor};
    struct wf_name_clash clash;
    int rc = wf_names_put_copy(wf_names_of(node), from, e->key, claimant, e->stamp, wf_tables_now(node), &clash);
    if (rc < 0) return rc;
    if (!weft_pid_is_nobody(clash.loser)) name_lost(node, in, e->key, clash.loser, claimant);
    if (!weft_pid_is_nobody(clash.defender)) name_kept(node, e->key, &clash, claimant);
    return rc;
}

static int apply_name(weft_node *node, struct wf_inbound *in, struct wf_copies *from, enum wf_table_op op,
                      const struct wf_entry *e)
{
    weft_pid loser;
    if (op == WF_TABLE_SET) return put_name(node, in, from, e);
    if (op == WF_TABLE_UNSET) return -wf_names_take_copy(wf_names_of(node), from, e->key);
    if (e->node != node->incarnation && wf_names_give_way(wf_names_of(node), e->key, e->node, e->stamp, &loser))
        name_lost(node, in, e->key, loser, (weft_pid){e->node, e->actor});
    return 0;
}

/* ---- What peers say -------------------------------------------------------------------------------------------- */

int wf_tables_apply(weft_node *node, struct wf_inbound *in, struct wf_copies *from, enum wf_table_op op,
                    const struct wf_entry *e, int *more)
{
    bool set = op == WF_TABLE_SET;
    int rc = 0;
    switch (e->table) {
    case WF_TABLE_NAMES: rc = apply_name(node, in, from, op, e); break;
    case WF_TABLE_GROUPS:
        rc = set ? wf_groups_put_copy(node, in, from, e->key, e->actor)
                 : -wf_groups_take_copy(node, in, from, e->key, e->actor, e->ended, e->reason);
        break;
    case WF_TABLE_QUEUES:
        rc = set ? node->queue_tables->put(node, from, e->key, e->queue)
                 : -node->queue_tables->take(node, from, e->key, e->queue);
        break;
    }
    *more = set && rc < 0 ? 0 : rc; /* only a set needs memory: the -1 of others is one entry less */
    return set && rc < 0 ? rc : WEFT_OK;
}

bool wf_tables_clear(weft_node *node, struct wf_copies *from, uint32_t work)
{
    struct wf_inbound in = {.here = wf_here != NULL && wf_node_of(wf_here) == node ? wf_here : NULL};
    wf_names_clear_copies(wf_names_of(node), from, &work);
    wf_groups_clear_copies(node, &in, from, &work);
    node->queue_tables->clear(node, from, &work);
    return work == 0;
}
