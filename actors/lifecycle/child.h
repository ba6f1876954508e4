/* actors/lifecycle/child.h -- an actor that a supervisor has started. */
#ifndef WF_CHILD_H
#define WF_CHILD_H

#include "text.h"

#include <weft/supervisor.h>

/* The argument of a child's actor; the child's own argument follows it. */
struct wf_charge {
    alignas(16) weft_pid supervisor;
    weft_actor *body;
    bool await_ready, unregistered;
    char name[WF_NAME_MAX + 1];
};
_Static_assert(sizeof(struct wf_charge) % 16 == 0, "what follows is aligned for any type");

void wf_child_main(const void *arg, size_t size); /* the body of every child's actor */
/* Sends a signal with that tag to the supervisor of the calling actor; does nothing if it has none. */
int wf_child_tell(uint32_t tag);
/* WEFT_EINVAL: the log says which field of which child is wrong. */
int wf_child_check(const weft_child_spec *spec, const char *of);

#endif
