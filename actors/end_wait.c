/* actors/end_wait.c -- weft_on_end: a wait for another actor's end is a monitor for the length of the wait. Of an
 * actor of this node it is known without one whether it has ended. */
#include "actor.h"
#include "watch.h"

#include <stdio.h>
#include <string.h>

int wf_end_look(const struct wf_end_wait *e)
{
    const weft_node *n = wf_node_of(e->task->worker);
    if (e->ended || e->node != n->incarnation) return e->ended;
    uint32_t worker = wf_id_worker(e->actor);
    return worker >= n->workers.count || wf_slab_find(&wf_actors_of(n->workers.at[worker])->slab, e->actor) == NULL;
}

int wf_end_attach(struct wf_end_wait *e)
{
    return wf_monitor(wf_actor_of(e->task), (weft_pid){.node = e->node, .actor = e->actor}, e, &e->monitor);
}

void wf_end_detach(struct wf_end_wait *e)
{
    if (e->monitor != 0 && !e->ended) (void)weft_demonitor((weft_monitor_ref){e->monitor});
}

const char *weft_reason_text(int reason, char out[32])
{
    static const char *const words[] = {"normal",    "asked to stop", "killed",           "no such actor",
                                        "node lost", "failed",        "too many restarts"};
    if (reason < 0 && strcmp(weft_error_name(reason), "WEFT_UNKNOWN") != 0) return weft_strerror(reason);
    if (reason >= 0 && (size_t)reason < WF_COUNT(words)) return words[reason];
    snprintf(out, 32, "reason %d", reason);
    return out;
}
