/* actors/run/handler.h -- actors that are called once for each message: see handler.c. */
#ifndef WF_HANDLER_H
#define WF_HANDLER_H

#include "msg.h"

#include <weft/handler.h>

struct wf_actor;

/* Makes `a`, which has no body, a handler with a copy of that state. WEFT_ENOMEM. */
int wf_handler_init(struct wf_actor *a, weft_handler *handle, const void *state, size_t size);
/* Calls it with its messages, and ends it if it was asked to end. */
enum wf_turn wf_handler_turn(struct wf_actor *a);

#endif
