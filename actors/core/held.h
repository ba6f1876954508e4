/* actors/core/held.h -- the messages that an actor holds: those that it has received or made and has not yet freed or
 * sent. wf_actor.held is the list of them. */
#ifndef WF_HELD_H
#define WF_HELD_H

#include "actor.h"

enum { WF_HELD_MANY = 10000 }; /* messages; an actor that holds so many has forgotten them */

/* How many messages it holds. task.above counts those beyond the first: an actor that holds one message at a time
 * never changes it. */
static inline uint32_t wf_held_count(const struct wf_actor *a)
{
    return a->held == NULL ? 0 : a->task.above + 1;
}

/* Whether it is a handler that was called with that message, and has not let go of it. */
static inline bool wf_is_handling(const struct wf_actor *a, const weft_msg *m)
{
    return a->task.handling && m->post.kind >= WF_POST_HANDLED;
}

/* Whether a pool passed it on and waits for its member to let go of it. */
static inline bool wf_is_work(const weft_msg *m)
{
    return m->post.kind == WF_POST_WORK || m->post.kind == WF_POST_HANDLED_WORK;
}

/* The actor lets go of a message that it was given as work. */
static inline void wf_work_let_go(struct wf_actor *a, weft_msg *m)
{
    wf_node_of(a->task.worker)->features.work_let_go(a, m);
}

/* A handler lets go of the message that it was called with, or keeps it (weft_msg_keep): it is as any other now. */
static inline void wf_handled(struct wf_actor *a, weft_msg *m)
{
    a->task.handling = false;
    m->post.kind = m->post.kind == WF_POST_HANDLED ? WF_POST_MESSAGE : WF_POST_WORK;
}
/* A message that its pool, or the loop of a handler, is to hear about. */
void wf_let_go(struct wf_actor *a, weft_msg *m);

/* It holds WF_HELD_MANY: misuse.c. */
void wf_holds_many(struct wf_actor *a);

static inline void wf_hold(struct wf_actor *a, weft_msg *m)
{
    bool more = a->held != NULL;
    wf_chain_add(&a->held, m);
    if (WF_UNLIKELY(more) && WF_UNLIKELY(++a->task.above == WF_HELD_MANY - 1)) wf_holds_many(a);
}

/* Ends the process: the actor does not hold this message, and says so in words. */
__attribute__((noreturn, cold)) void wf_not_held(const struct wf_actor *a, const weft_msg *m);

/* Whether an actor holds a message. Only the first few are looked at, as an actor may hold thousands: among more than
 * those a mistake may be found late. */
static inline bool wf_is_held(const struct wf_actor *a, const weft_msg *m)
{
    const weft_msg *at = a->held;
    for (int i = 0; i < 8 && at != m; i++) {
        if (at == NULL) return false;
        at = (const weft_msg *)at->post.next;
    }
    return true;
}

static inline void wf_release(struct wf_actor *a, weft_msg *m)
{
    if (WF_UNLIKELY(!wf_is_held(a, m))) wf_not_held(a, m);
    if (m->post.next != NULL || m->previous != NULL) a->task.above--;
    wf_chain_remove(&a->held, m);
    if (WF_UNLIKELY(m->post.kind != WF_POST_MESSAGE)) wf_let_go(a, m);
}

/* Bytes of the messages it holds, with their bodies, from at most `most` of them, which stand for the others. */
size_t wf_held_bytes(const struct wf_actor *a, uint32_t most);

#endif
