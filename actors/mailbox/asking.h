/* actors/mailbox/asking.h -- a call under way: the part that a mailbox has to know. The rest is in actors/call. */
#ifndef WF_ASKING_H
#define WF_ASKING_H

#include "actor.h"

#include <weft/call.h>

/* A call under way, to one actor or to many. It lies in the frame of the waiting call. */
struct wf_asking {
    struct weft_answer *slots;
    uint64_t first; /* ref of slots[0]; the refs of the others follow */
    uint32_t count, need, got, open;
    struct wf_list_node on_calls; /* wf_actors.calls or long_calls, while it waits for answers */
    struct wf_actor *actor;
    int64_t since;    /* the worker's clock when the wait began */
    int64_t look_at;  /* in `calls`: when to look for cycles */
    const char *name; /* "x@b" in a call to a name; NULL in a call to a pid */
    /* Called for each request that comes to the mailbox, once the call waits long enough to look for cycles; else
     * NULL */
    void (*probed)(struct wf_actor *a, weft_msg *m);
    int64_t rested;     /* a gather sends no probes before this time: actors/call/cycle.c, note (8) */
    int64_t pause;      /* before the last round that it owed */
    uint32_t looked_at; /* how many answers were open when the last round began */
    bool waiting;       /* all requests are sent */
};
enum { WF_ANSWER_OPEN = 1 }; /* weft_answer.error until there is a result */

/* The slot for the answer to that request of `a`; NULL if `a` does not wait for it. */
static inline struct weft_answer *wf_answer_place(const struct wf_actor *a, uint64_t ref)
{
    const struct wf_asking *s = a->asking;
    if (WF_UNLIKELY(s == NULL || ref - s->first >= s->count)) return NULL;
    struct weft_answer *at = &s->slots[ref - s->first];
    return at->error == WF_ANSWER_OPEN ? at : NULL;
}
/* The actor is no longer in a call. */
static inline void wf_asking_leave(struct wf_actor *a)
{
    if (WF_UNLIKELY(a->asking != NULL)) wf_unlink(&a->asking->on_calls);
    a->asking = NULL;
}

#endif
