/* actors/mailbox/held.h -- the messages that an actor holds: it has received or made them, and has not freed or sent
 * them yet. wf_actor.held is their list. */
#ifndef WF_HELD_H
#define WF_HELD_H

#include "actor.h"

enum { WF_HELD_MANY = 10000 }; /* messages; an actor that holds this many has forgotten to free them */

/* How many messages it holds. task.above counts those beyond the first: an actor that holds one message at a time
 * never changes it. */
static inline uint32_t wf_held_count(const struct wf_actor *a)
{
    return a->held == NULL ? 0 : a->task.above + 1;
}

/* Whether `a` is a handler that was called with `m` and has not freed, sent or kept it. */
static inline bool wf_is_handling(const struct wf_actor *a, const weft_msg *m)
{
    return a->task.handling && m->post.kind >= WF_POST_HANDLED;
}

/* Whether a pool gave the message to a member, and waits until the member frees or sends it. */
static inline bool wf_is_work(const weft_msg *m)
{
    return m->post.kind == WF_POST_WORK || m->post.kind == WF_POST_HANDLED_WORK;
}

/* The actor frees or sends a message that it got as work of a pool. */
static inline void wf_work_let_go(struct wf_actor *a, weft_msg *m)
{
    wf_node_of(a->task.worker)->features.work_let_go(a, m);
}

/* A handler frees, sends or keeps (weft_msg_keep) the message it was called with: from now on `m` is an ordinary held
 * message. */
static inline void wf_handled(struct wf_actor *a, weft_msg *m)
{
    a->task.handling = false;
    m->post.kind = m->post.kind == WF_POST_HANDLED ? WF_POST_MESSAGE : WF_POST_WORK;
}
/* `m` leaves the held list, and its pool or the loop of a handler must know. */
void wf_let_go(struct wf_actor *a, weft_msg *m);

/* The actor holds WF_HELD_MANY messages: logs a warning, see misuse.c. */
void wf_holds_many(struct wf_actor *a);

/* Whether it may hold another message before wf_holds_many is due. */
static inline bool wf_holds_few(const struct wf_actor *a)
{
    return a->task.above < WF_HELD_MANY - 2;
}

/* As wf_hold, where wf_holds_few: it calls nothing. */
static inline void wf_hold_quickly(struct wf_actor *a, weft_msg *m)
{
    if (WF_UNLIKELY(a->held != NULL)) a->task.above++;
    wf_chain_add(&a->held, m);
}

static inline void wf_hold(struct wf_actor *a, weft_msg *m)
{
    bool many = WF_UNLIKELY(a->held != NULL) && a->task.above == WF_HELD_MANY - 2;
    wf_hold_quickly(a, m);
    if (WF_UNLIKELY(many)) wf_holds_many(a);
}

/* Prints that the actor does not hold this message, and aborts the process. */
__attribute__((noreturn, cold)) void wf_not_held(const struct wf_actor *a, const weft_msg *m);

/* Whether an actor holds a message. Checks only the first eight, as an actor may hold thousands. Returns true if it
 * holds more: a mistake may then be found late. */
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
    if (a->held != m || m->post.next != NULL) a->task.above--;
    wf_chain_remove(&a->held, m);
    if (WF_UNLIKELY(m->post.kind != WF_POST_MESSAGE)) wf_let_go(a, m);
}

/* Bytes of the messages it holds, with their bodies. Counts at most `most` messages and extrapolates from them. */
size_t wf_held_bytes(const struct wf_actor *a, uint32_t most);

#endif
