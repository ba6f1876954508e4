/* actors/core/mailbox.h -- the part of mailbox.c that every message passes through, inline: a message inside a
 * worker is to cost tens of instructions, and calls between files would double them. The rules are in mailbox.c. */
#ifndef WF_MAILBOX_H
#define WF_MAILBOX_H

#include "actor.h"
#include "park.h"

/* ---- Lanes ----------------------------------------------------------------------------------------------------- */

static inline void wf_lane_push(struct wf_lane *l, weft_msg *m)
{
    m->post.next = NULL;
    if (l->last == NULL) l->first = m;
    else l->last->post.next = &m->post;
    l->last = m;
}

/* The oldest; the lane is not empty. */
static inline weft_msg *wf_lane_shift(struct wf_lane *l)
{
    weft_msg *m = l->first;
    l->first = (weft_msg *)m->post.next;
    if (l->first == NULL) l->last = NULL;
    return m;
}

/* What comes after `previous`, NULL: the oldest. NULL: nothing. */
static inline weft_msg *wf_lane_take_after(struct wf_lane *l, weft_msg *previous)
{
    weft_msg *m = previous == NULL ? l->first : (weft_msg *)previous->post.next;
    if (m == NULL) return NULL;
    weft_msg *next = (weft_msg *)m->post.next;
    if (previous == NULL) l->first = next;
    else previous->post.next = m->post.next;
    if (next == NULL) l->last = previous;
    return m;
}

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

/* By its own bounds. */
static inline bool wf_mailbox_own_full(const struct wf_actor *a)
{
    return a->mail_count >= a->mailbox_max || a->mail_bytes >= a->mailbox_bytes_max;
}

static inline bool wf_over_bytes(const struct wf_actors *wa)
{
    return wa->mail_bytes >= wa->mail_bytes_max;
}

static inline bool wf_mailbox_full(const struct wf_actor *a)
{
    return wf_mailbox_own_full(a) || (WF_UNLIKELY(wf_over_bytes(wf_actors_of(a->task.worker))) && a->mail_count > 0);
}

/* ---- Arrival --------------------------------------------------------------------------------------------------- */

/* Something has come to it. What comes next is behind that: it is not handed over. */
static inline void wf_mail_came(struct wf_actor *a)
{
    if (a->task.wants_mail < WF_MAIL_WAKE) return;
    if (a->task.wants_mail == WF_MAIL_HAND) a->task.wants_mail = WF_MAIL_NONE;
    wf_task_wake(&a->task);
}

/* It has become full, or `m` is to be timed. */
void wf_mailbox_added_specially(struct wf_actor *a, weft_msg *m);

/* Whether it is not full with one more message of that weight. */
static inline bool wf_mailbox_has_room_beyond(const struct wf_actors *wa, const struct wf_actor *a, size_t weight)
{
    return a->mail_count + 1 < a->mailbox_max && a->mail_bytes + weight < a->mailbox_bytes_max &&
           wa->mail_bytes + weight < wa->mail_bytes_max;
}

/* To the end of its mail. */
static inline void wf_mailbox_push(struct wf_actors *wa, struct wf_actor *a, weft_msg *m, size_t weight)
{
    wf_lane_push(&a->mail, m);
    wa->mail_bytes += weight;
    a->mail_bytes += weight;
    a->mail_count++;
}

/* Past all bounds. */
static inline void wf_mailbox_add(struct wf_actor *a, weft_msg *m)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    wf_mailbox_push(wa, a, m, wf_msg_weight(m));
    if (WF_UNLIKELY(--wa->timer.left == 0 || wf_mailbox_full(a))) wf_mailbox_added_specially(a, m);
    if (WF_UNLIKELY(m->post.flags == WF_MSG_CALL) && a->asking != NULL && a->asking->probed != NULL)
        a->asking->probed(a, m);
    wf_mail_came(a);
}

/* An actor that waits for mail and nothing else, with an empty mailbox and no other message, need not find a message
 * of its worker in the mailbox: it holds it at once, as if it had received it. WF_MAIL_HAND says so, until something
 * comes. `m` is a WF_MSG_SEND or WF_MSG_CALL of this worker that is neither traced nor to be timed. The caller wakes
 * it. */
static inline void wf_mailbox_hand_over(struct wf_actor *a, weft_msg *m)
{
    WF_ASSERT(a->mail.first == NULL); /* else it would overtake */
    a->task.wants_mail = WF_MAIL_HANDED;
    a->gone++;
    m->post.next = NULL;
    m->previous = NULL;
    a->held = m;
}
/* Takes it back, before all that has come since; and whether a HANDED actor that runs must not have the message: it is
 * to end, or the message is a request that nobody waits for any more. */
bool wf_mailbox_takes_back(struct wf_actor *a);
/* A HANDED actor runs: the message; NULL: it was taken back. */
static inline weft_msg *wf_mailbox_handed(struct wf_worker *w, struct wf_actor *a)
{
    weft_msg *m = a->held;
    a->task.wants_mail = WF_MAIL_NONE;
    if (WF_UNLIKELY((a->task.cancelled || m->post.flags == WF_MSG_CALL) && wf_mailbox_takes_back(a))) return NULL;
    wf_worker_record(w, WEFT_RECORD_RECEIVE, a->id, m->from.actor, m->post.word);
    WF_PROBE3(receive, a->id, m->from.actor, m->post.word);
    return m;
}

/* ---- backpressure.c -------------------------------------------------------------------------------------------- */

/* It has become full. */
void wf_mailbox_filled(struct wf_actor *a);
/* There may be room: tells those that wait for it. */
void wf_room_came(struct wf_actor *a);
/* The same after a receive that made room for so many bytes, where somebody may wait. */
void wf_room_eighth_came(struct wf_actor *a, size_t weight);
/* Bytes of this worker's share came free. */
void wf_room_bytes_came(struct wf_actors *wa);
/* Whether it is full for one that was promised nothing. */
bool wf_mailbox_is_taken(const struct wf_actor *a);
/* A sender of this worker uses the room for so many bytes that it was promised. */
void wf_room_used(struct wf_actor *a, size_t weight);
/* The tag of a WF_MSG_ROOM: news of room are wanted, or no more. PROMISE and RELEASE: by a sender of this worker, for
 * which the room is kept from the news until it has used it. */
enum wf_room_wish { WF_ROOM_TELL, WF_ROOM_FORGET, WF_ROOM_PROMISE, WF_ROOM_RELEASE };
/* A WF_MSG_ROOM has come. Consumes. */
void wf_room_asked(struct wf_worker *w, struct wf_actor *a, weft_msg *m);

/* ---- credit.c: senders of other nodes -------------------------------------------------------------------------- */

/* A WF_MSG_WANT has come; `a` NULL: for an actor that is not there. Consumes. */
void wf_want_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m);
/* Answers it: 0 units: the actor is gone. Consumes. */
void wf_grant(struct wf_worker *w, weft_msg *m, uint32_t units);
/* How much to give of so much room, and the bytes it stands for. */
uint32_t wf_grant_units(const struct wf_actor *a, size_t places, size_t bytes);
size_t wf_grant_bytes(uint32_t units);
/* A WF_MSG_GRANT has come. Consumes. */
void wf_grant_came(struct wf_worker *w, weft_msg *m);
/* Whether a message of another node was sent on credit, and so is taken although the mailbox is full. */
bool wf_credit_covers(struct wf_actor *a, const weft_msg *m);
void wf_credit_node_lost(struct wf_worker *w, struct wf_actor *a, uint64_t peer);

/* ---- Held messages --------------------------------------------------------------------------------------------- */

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

#endif
