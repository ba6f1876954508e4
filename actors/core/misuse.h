/* actors/core/misuse.h -- mistakes in the use of weft that no result can tell, or that is never looked at: the log
 * says them, once for each kind of actor and each sort of mistake. */
#ifndef WF_MISUSE_H
#define WF_MISUSE_H

#include "base.h"

#include <weft/message.h>
#include <weft/node.h>

struct wf_actor;
struct wf_task;

enum { WF_MISUSES_MAX = 64 }; /* that one node says */

/* Whether this is to be said: no actor of that kind on this node did the same before. `kind` NULL: no actor did it.
 * Any thread. */
bool wf_misuse_is_new(weft_node *node, const char *kind, const char *what);

/* A call of the running actor that cannot be done, as its arguments are wrong: says so, once for each kind of actor
 * and `format`, which begins with the call's name. Returns `rc`. Outside of actors it is said each time. */
int wf_wrong(int rc, const char *format, ...) WEFT_PRINTF(2, 3) __attribute__((cold));
/* What is wrong with a message that is to be sent, by `call`: some of it is. WEFT_EINVAL, WEFT_ETOOBIG. */
int wf_wrong_message(const char *call, uint32_t tag, const void *data, size_t size) __attribute__((cold));
/* Whether something is. */
static inline bool wf_is_wrong_message(uint32_t tag, const void *data, size_t size)
{
    return WF_UNLIKELY(tag >= WEFT_TAG_SYSTEM) || (WF_UNLIKELY(data == NULL) && WF_UNLIKELY(size > 0)) ||
           WF_UNLIKELY(size > WEFT_MESSAGE_MAX);
}
/* `rc` of a check of the name of an actor or a group; says what is wrong if it is not WEFT_OK. */
int wf_wrong_name(int rc, const char *name) __attribute__((cold));
/* The same of a topic, or of a pattern of them. WEFT_EINVAL. */
int wf_wrong_topic(const char *topic, bool pattern) __attribute__((cold));

/* wf_hooks.wrong_time. */
void wf_actor_wrong_time(struct wf_task *t, const char *what, int64_t time);
/* The same of a thread that is no actor, which called `call` with a deadline. Silent if that is none of the two. */
void wf_node_look_at_deadline(weft_node *node, const char *call, int64_t deadline);

#endif
