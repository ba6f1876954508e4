/* actors/core/misuse.h -- mistakes in the use of weft that no result can report, or whose result is often not
 * checked: the log reports them, once for each kind of actor and each sort of mistake. */
#ifndef WF_MISUSE_H
#define WF_MISUSE_H

#include "base.h"

#include <weft/message.h>
#include <weft/node.h>

struct wf_actor;
struct wf_task;

enum { WF_MISUSES_MAX = 64 }; /* a node reports at most so many */

/* Whether to report this mistake: no actor of that kind on this node has made it before. `kind` is NULL for a thread
 * that is no actor. Any thread. */
bool wf_misuse_is_new(weft_node *node, const char *kind, const char *what);

/* Reports that a call of the running actor has wrong arguments, once for each kind of actor and `format`, which
 * begins with the call's name. Returns `rc`. Outside of actors it reports each time. */
int wf_wrong(int rc, const char *format, ...) WEFT_PRINTF(2, 3) __attribute__((cold));
/* Reports what is wrong with the arguments of `call`, which sends a message. Something must be wrong. Returns
 * WEFT_EINVAL or WEFT_ETOOBIG. */
int wf_wrong_message(const char *call, uint32_t tag, const void *data, size_t size) __attribute__((cold));
/* Whether something is wrong with them. */
static inline bool wf_is_wrong_message(uint32_t tag, const void *data, size_t size)
{
    return WF_UNLIKELY(tag >= WEFT_TAG_SYSTEM) || (WF_UNLIKELY(data == NULL) && WF_UNLIKELY(size > 0)) ||
           WF_UNLIKELY(size > WEFT_MESSAGE_MAX);
}
/* Reports a wrong name of an actor or a group. Returns `rc`, the result of the check of that name. */
int wf_wrong_name(int rc, const char *name) __attribute__((cold));
/* The same for a topic, or for a pattern. Returns WEFT_EINVAL. */
int wf_wrong_topic(const char *topic, bool pattern) __attribute__((cold));

/* wf_hooks.wrong_time. */
void wf_actor_wrong_time(struct wf_task *t, const char *what, int64_t time);
/* The same for a thread that is no actor and has called `call`. Reports only a deadline that is a span of time. */
void wf_node_look_at_deadline(weft_node *node, const char *call, int64_t deadline);

#endif
