/* actors/inspect/actor_memory.h -- the memory of an actor. */
#ifndef WF_ACTOR_MEMORY_H
#define WF_ACTOR_MEMORY_H

#include "actor.h"
#include "actor_list.h"

/* On the owner's thread, between two tasks. All but the stack. */
enum { WF_HELD_LOOKED = 64 }; /* at most this many of an actor's held messages are read, as a sample */
void wf_actor_memory_of(const struct wf_actor *a, struct wf_actor_memory *out);
/* The stack, which takes a system call, some microseconds, if it has more than a page. */
size_t wf_actor_stack_bytes(const struct wf_actor *a);

#endif
