/* transport/admin/tool_actors.h -- the actors that work for tools. Their number is bounded, for each tool and for the
 * node: a request such as SUBSCRIBE or TRACE costs memory, and work for each message, until the tool ends it. */
#ifndef WF_TOOL_ACTORS_H
#define WF_TOOL_ACTORS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/actor.h>
#include <weft/message.h>

enum {
    WF_ACTORS_OF_TOOL = 64,        /* of one tool */
    WF_ACTORS_OF_ALL_TOOLS = 1024, /* of all tools */
};

struct wf_tool_work {
    weft_actor *body;
    const char *kind; /* static */
    const void *arg;
    size_t size;
    uint32_t most; /* actors of this kind that work at a time, for all tools; 0: no limit of its own */
};

/* Starts an actor for the tool that sent `ask`. `out` may be NULL. NULL, or the text of an error. In $node only. */
WEFT_CHECKED const char *wf_tool_actor_begin(const weft_msg *ask, const struct wf_tool_work *work, weft_pid *out);
/* The same for a request that takes long: the actor gets `ask` as its first message, and answers it (`*handed`). */
WEFT_CHECKED const char *wf_hand_to(weft_msg *ask, const struct wf_tool_work *work, bool *handed);
/* `down`: a DOWN of $node. Such an actor has ended. */
void wf_tool_actor_ended(const weft_msg *down);

#endif
