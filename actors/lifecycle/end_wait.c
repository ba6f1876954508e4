/* actors/lifecycle/end_wait.c -- weft_on_end: a wait for another actor's end is a monitor that exists during the
 * wait. If the actor is on this node, a look-up is enough to see whether it has ended. */
#include "end_wait.h"

#include "actor.h"
#include "monitors.h"
#include "wait.h"

#include <stdio.h>
#include <string.h>

weft_wait weft_on_end(weft_pid who)
{
    return (weft_wait){.kind = WF_ON_END, .fd = -1, .id = who.actor, .node = who.node};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    *WF_WAIT_STATE_OF(struct wf_end_wait,
                      s) = (struct wf_end_wait){.task = s->task, .node = from->node, .actor = from->id};
    return from->node == 0 || from->id == 0 ? WEFT_EINVAL : 0;
}

static int wait_look(struct wf_wait *s)
{
    const struct wf_end_wait *e = WF_WAIT_STATE_OF(struct wf_end_wait, s);
    const weft_node *n = wf_node_of(e->task->worker);
    if (e->ended || e->node != n->incarnation) return e->ended;
    uint32_t worker = wf_id_worker(e->actor);
    return worker >= n->workers.count || wf_slab_find(&wf_actors_of(n->workers.at[worker])->slab, e->actor) == NULL;
}

static int wait_attach(struct wf_wait *s, struct wf_wait *first)
{
    struct wf_end_wait *e = WF_WAIT_STATE_OF(struct wf_end_wait, s);
    (void)first;
    int rc = wf_monitor(wf_actor_of(e->task), (weft_pid){.node = e->node, .actor = e->actor}, e, &e->monitor);
    return rc < 0 ? rc : 1;
}

static void wait_close(struct wf_wait *s)
{
    const struct wf_end_wait *e = WF_WAIT_STATE_OF(struct wf_end_wait, s);
    if (e->monitor != 0 && !e->ended) (void)weft_demonitor((weft_monitor_ref){e->monitor});
}

const struct wf_wait_kind wf_end_wait_kind = {.number = WF_ON_END,
                                              .name = "an actor's end",
                                              .open = wait_open,
                                              .look = wait_look,
                                              .attach = wait_attach,
                                              .close = wait_close};
