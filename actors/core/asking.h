/* actors/core/asking.h -- a call under way, as its actor and the mailboxes of others see it; actors/call has the
 * rest. */
#ifndef WF_ASKING_H
#define WF_ASKING_H

#include "actor.h"

#include <weft/call.h>

/* A call under way, to one actor or to many. It lies in the frame of the waiting call. */
struct wf_asking {
    struct weft_answer *slots;
    uint64_t first; /* ref of slots[0]; those of the others follow */
    size_t count, need, got, open;
    int64_t since;                /* the worker's clock when the wait began */
    const char *name;             /* "x@b", of a call to a name; NULL: to a pid */
    struct wf_list_node on_calls; /* wf_actors.calls or long_calls, while it waits for answers */
    struct wf_actor *actor;
    int64_t look_at;  /* in `calls`: when cycles are looked for */
    int64_t rested;   /* a gather: no probes before that. actors/call/cycle.c, note (8) */
    int64_t pause;    /* before the last round that it owed */
    size_t looked_at; /* how many were open when the last round began */
    bool waiting;     /* all is sent */
    /* It has waited for so long that cycles are looked for: who hears of a request in the mailbox. NULL: not yet
     * */
    void (*probed)(struct wf_actor *a, weft_msg *m);
};
enum { WF_ANSWER_OPEN = 1 }; /* weft_answer.error until there is a result */

/* Where the answer to that request of `a` belongs; NULL: nobody waits for it. */
static inline struct weft_answer *wf_answer_place(const struct wf_actor *a, uint64_t ref)
{
    const struct wf_asking *s = a->asking;
    if (WF_UNLIKELY(s == NULL || ref - s->first >= s->count)) return NULL;
    struct weft_answer *at = &s->slots[ref - s->first];
    return at->error == WF_ANSWER_OPEN ? at : NULL;
}
/* It is in no call any more. */
static inline void wf_asking_leave(struct wf_actor *a)
{
    if (WF_UNLIKELY(a->asking != NULL)) wf_unlink(&a->asking->on_calls);
    a->asking = NULL;
}

#endif
