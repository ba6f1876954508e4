/* actors/inspect/actor_memory.h -- what memory an actor takes. */
#ifndef WF_ACTOR_MEMORY_H
#define WF_ACTOR_MEMORY_H

#include "actor.h"
#include "actor_list.h"

/* On the owner's thread, between two tasks. All but the stack. */
enum { WF_HELD_LOOKED = 64 }; /* messages that stand for all it holds: a list of many actors takes no longer */
void wf_actor_memory_of(const struct wf_actor *a, struct wf_actor_memory *out);
/* The stack, which takes a system call, some microseconds, if it has more than a page. */
size_t wf_actor_stack_bytes(const struct wf_actor *a);

#endif
