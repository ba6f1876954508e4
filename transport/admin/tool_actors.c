/* transport/admin/tool_actors.c -- the actors that work for tools. $node monitors each of them. */
#include "tool_actors.h"

#include <weft/error.h>
#include <weft/local.h>
#include <weft/monitor.h>

#include <string.h>

/* An actor at work. */
struct at_work {
    uint64_t monitor;
    uint64_t tool; /* incarnation of the tool's node */
    const char *kind;
};

/* A block of $node, so no other thread reads it. */
struct all_at_work {
    uint32_t count;
    struct at_work of[WF_ACTORS_OF_ALL_TOOLS];
};

static const weft_local_key key = {sizeof(struct all_at_work), NULL};

/* NULL, or why this tool gets no such actor. */
static const char *refusal(const struct all_at_work *all, uint64_t tool, const struct wf_tool_work *work)
{
    uint32_t of_tool = 0, of_kind = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        of_tool += all->of[i].tool == tool;
        of_kind += strcmp(all->of[i].kind, work->kind) == 0;
    }
    if (of_tool >= WF_ACTORS_OF_TOOL) return "this tool has as many requests under way as it may: end one of them";
    if (all->count >= WF_ACTORS_OF_ALL_TOOLS)
        return "tools have as many requests under way at the node as they may: try again later";
    if (work->most != 0 && of_kind >= work->most)
        return "the node has as many requests of this kind under way as it may: end one of them";
    return NULL;
}

const char *wf_tool_actor_begin(const weft_msg *ask, const struct wf_tool_work *work, weft_pid *out)
{
    struct all_at_work *all = weft_local(&key);
    if (all == NULL) return weft_strerror(WEFT_ENOMEM);
    uint64_t tool = weft_from(ask).node;
    const char *why = refusal(all, tool, work);
    if (why != NULL) return why;
    weft_monitor_ref monitor;
    int rc = weft_spawn(out, work->body, work->arg, work->size,
                        &(weft_spawn_options){.kind = work->kind, .monitor = &monitor});
    if (rc < 0) return weft_strerror(rc);
    all->of[all->count++] = (struct at_work){.monitor = monitor.id, .tool = tool, .kind = work->kind};
    return NULL;
}

const char *wf_hand_to(weft_msg *ask, const struct wf_tool_work *work, bool *handed)
{
    weft_pid taker = weft_nobody();
    const char *why = wf_tool_actor_begin(ask, work, &taker);
    if (why != NULL) return why;
    *handed = true;
    weft_ignore(weft_send_msg(taker, ask)); /* if this fails, the request is answered with the error */
    return NULL;
}

void wf_tool_actor_ended(const weft_msg *down)
{
    struct weft_down d;
    struct all_at_work *all = weft_local(&key);
    if (all == NULL || weft_down_read(down, &d) < 0) return;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->of[i].monitor != d.ref.id) continue;
        all->of[i] = all->of[--all->count];
        return;
    }
}
