/* actors/inspect/record_merge.c -- see record_merge.h. */
#include "record_merge.h"

/* Reads the next older event of that worker. If one is not there, those before it were overwritten, too, or the worker is
 * writing it now. */
static void read_older(struct wf_record_merge *m, uint32_t worker)
{
    const struct wf_recorder *recorder = &m->node->workers.at[worker]->recorder;
    struct wf_record_rest *rest = &m->of[worker];
    struct weft_record *r = &rest->newest;
    rest->has = false;
    while (rest->next > rest->oldest) {
        uint64_t oldest, next;
        rest->has = wf_recorder_get(recorder, --rest->next, r);
        if (rest->has) break;
        wf_recorder_span(recorder, &oldest, &next);
        rest->oldest = WF_MAX(rest->oldest, oldest);
    }
    if (!rest->has) return;
    r->worker = (int)worker;
    if (r->actor.node != 0) r->actor.node = m->node->incarnation;
    if (r->other.node != 0) r->other.node = m->node->incarnation;
}

void wf_record_merge_init(struct wf_record_merge *m, weft_node *node)
{
    m->node = node;
    for (uint32_t i = 0; i < node->workers.count; i++) {
        wf_recorder_span(&node->workers.at[i]->recorder, &m->of[i].oldest, &m->of[i].next);
        read_older(m, i);
    }
}

size_t wf_record_merge_left(const struct wf_record_merge *m)
{
    size_t left = 0;
    for (uint32_t i = 0; i < m->node->workers.count; i++) {
        const struct wf_record_rest *rest = &m->of[i];
        left += rest->has + (rest->next > rest->oldest ? (size_t)(rest->next - rest->oldest) : 0);
    }
    return left;
}

/* Of two events of one time, that of the later worker counts as newer: so a merge is the same each time. */
bool wf_record_merge_next(struct wf_record_merge *m, struct weft_record *out)
{
    uint32_t newest = WF_WORKERS_MAX;
    for (uint32_t i = 0; i < m->node->workers.count; i++)
        if (m->of[i].has && (newest == WF_WORKERS_MAX || m->of[i].newest.at >= m->of[newest].newest.at)) newest = i;
    if (newest == WF_WORKERS_MAX) return false;
    *out = m->of[newest].newest;
    read_older(m, newest);
    return true;
}
