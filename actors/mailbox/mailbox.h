/* actors/mailbox/mailbox.h -- the mailbox of an actor: the rules are in mailbox.c. The code that every message runs
 * is inline: a message inside a worker should cost tens of instructions, and calls between files would double them. */
#ifndef WF_MAILBOX_H
#define WF_MAILBOX_H

#include "actor.h"
#include "asking.h"
#include "backpressure.h"
#include "park.h"

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

/* Whether it has reached its own bounds. */
static inline bool wf_mailbox_own_full(const struct wf_actor *a)
{
    return a->spare_places < 0 || a->spare_bytes < 0;
}

static inline bool wf_over_bytes(const struct wf_actors *wa)
{
    return wa->spare_bytes < 0;
}

static inline bool wf_mailbox_full(const struct wf_actor *a)
{
    return wf_mailbox_own_full(a) ||
           (WF_UNLIKELY(wf_over_bytes(wf_actors_of(a->task.worker))) && wf_mail_count(a) > 0);
}

/* The space that is neither taken nor promised to a sender; below 0: more than there is. */
struct wf_free_space {
    int64_t places, bytes;
};
static inline struct wf_free_space wf_free_space(const struct wf_actor *a)
{
    const struct wf_backlog *b = a->more == NULL ? NULL : a->more->backlog;
    struct wf_free_space free = {(int64_t)a->spare_places + 1, a->spare_bytes + 1};
    if (b == NULL) return free;
    return (struct wf_free_space){free.places - b->promised, free.bytes - (int64_t)b->promised_bytes};
}

/* Whether a sender without a promise finds no space, because of the mailbox's own bounds, or for any reason. */
static inline bool wf_is_own_taken(const struct wf_actor *a)
{
    struct wf_free_space free = wf_free_space(a);
    return free.places <= 0 || free.bytes <= 0;
}

static inline bool wf_is_taken(const struct wf_actor *a)
{
    if (wf_is_own_taken(a)) return true;
    if (WF_LIKELY(!wf_over_bytes(wf_actors_of(a->task.worker)))) return false;
    return wf_mail_count(a) > 0 || (a->more != NULL && a->more->backlog != NULL && a->more->backlog->promised > 0);
}

/* Whether a sender without a promise has to wait, as all space is promised or other senders wait already. */
static inline bool wf_mailbox_has_claims(const struct wf_actor *a)
{
    const struct wf_backlog *b = a->more == NULL ? NULL : a->more->backlog;
    return (b != NULL && b->space.first != NULL) || wf_is_taken(a);
}

/* Whether shared bodies take so much memory that only an actor with an empty mailbox gets this one as well. A mailbox
 * does not count the bytes of a body that others share, so its own bound does not limit them. */
bool wf_body_is_scarce(const struct wf_actors *wa, const struct wf_body *b);

/* ---- Arrival --------------------------------------------------------------------------------------------------- */

/* A message has come. The next one is behind it, so it must not be handed over. */
static inline void wf_mail_came(struct wf_actor *a)
{
    if (a->task.wants_mail < WF_MAIL_WAKE) return;
    if (a->task.wants_mail == WF_MAIL_HAND) a->task.wants_mail = WF_MAIL_NONE;
    wf_task_wake(&a->task);
}

/* Whether it would still have space after one more message of that weight. */
static inline bool wf_mailbox_has_space_beyond(const struct wf_actors *wa, const struct wf_actor *a, size_t weight)
{
    return a->spare_places > 0 && a->spare_bytes >= (int64_t)weight && wa->spare_bytes >= (int64_t)weight;
}

/* Adds `m` at the end of the mail. */
static inline void wf_mailbox_push(struct wf_actors *wa, struct wf_actor *a, weft_msg *m, size_t weight)
{
    wf_lane_push(&a->mail, m);
    wf_mail_counted(wa, a, weight);
}

/* Adds `m`, even if the mailbox is full. */
static inline void wf_mailbox_add(struct wf_actor *a, weft_msg *m)
{
    struct wf_actors *wa = wf_actors_of(a->task.worker);
    wf_mailbox_push(wa, a, m, wf_msg_weight(m));
    if (WF_UNLIKELY(--wa->timer.left == 0 || wf_mailbox_full(a))) wf_mailbox_added_specially(a, m);
    if (WF_UNLIKELY(m->post.flags == WF_MSG_CALL) && a->asking != NULL && a->asking->probed != NULL)
        a->asking->probed(a, m);
    wf_mail_came(a);
}

/* An actor that waits only for mail, with an empty mailbox and without held messages, gets a message of its worker
 * directly: it holds the message at once, as if it had received it. WF_MAIL_HAND marks such an actor, until something
 * comes. `m` is a WF_MSG_SEND or WF_MSG_CALL of this worker that is neither traced nor to be timed. `how` is
 * WF_MAIL_HANDED or, if `m` may have to be dropped when the actor runs, WF_MAIL_IN_DOUBT. The caller wakes the
 * actor. */
static inline void wf_mailbox_hand_over(struct wf_actor *a, weft_msg *m, enum wf_mail_wish how)
{
    a->task.wants_mail = (uint8_t)how;
    a->gone++;
    m->post.next = NULL;
    a->held = m;
}
/* If `a` waits only for a message, hands over `m`, a SEND or CALL of the running actor with an inline body, and wakes
 * `a`. Returns whether it did. */
static inline bool wf_mailbox_hand(struct wf_worker *w, struct wf_actor *a, weft_msg *m, enum wf_mail_wish how)
{
    if (a->task.wants_mail != WF_MAIL_HAND || WF_UNLIKELY(wf_actors_of(w)->timer.left <= 1)) return false;
    WF_ASSERT(m->shared == NULL && a->mail.first == NULL); /* otherwise the message would overtake */
    wf_actors_of(w)->timer.left--;
    WF_PROBE3(send, m->from.actor, a->id, m->post.word);
    wf_mailbox_hand_over(a, m, how);
    wf_task_wake(&a->task);
    return true;
}
/* A call to `a` ends without an answer. If `a` was handed the request and has not run yet, it will look whether the
 * caller still waits. */
static inline void wf_mailbox_doubt(struct wf_actor *a)
{
    if (a->task.wants_mail == WF_MAIL_HANDED) a->task.wants_mail = WF_MAIL_IN_DOUBT;
}
/* Whether it has a message that it has not looked at. */
static inline bool wf_was_handed(const struct wf_actor *a)
{
    return a->task.wants_mail == WF_MAIL_HANDED || a->task.wants_mail == WF_MAIL_IN_DOUBT;
}
/* For a HANDED or IN_DOUBT actor that runs: true if it must not get its message, as it has to end, or as the message is
 * a request whose caller no longer waits. The message is then put back, before all mail that has come since. */
bool wf_mailbox_takes_back(struct wf_actor *a);
/* A HANDED actor runs, and is not asked to end: returns its message. */
static inline __attribute__((always_inline)) weft_msg *wf_mailbox_handed_plainly(struct wf_worker *w,
                                                                                 struct wf_actor *a)
{
    weft_msg *m = a->held;
    a->task.wants_mail = WF_MAIL_NONE;
    wf_actor_record_receive(w, a, m, true);
    return m;
}
/* A HANDED or IN_DOUBT actor runs: returns its message, or NULL if the message was put back. */
static inline weft_msg *wf_mailbox_handed(struct wf_worker *w, struct wf_actor *a)
{
    bool in_doubt = a->task.wants_mail == WF_MAIL_IN_DOUBT;
    a->task.wants_mail = WF_MAIL_NONE;
    if (WF_UNLIKELY(a->task.cancelled || in_doubt) && wf_mailbox_takes_back(a)) return NULL;
    return wf_mailbox_handed_plainly(w, a);
}

/* Puts a SEND or CALL into the mailbox, following its policy. A sender that can wait has checked wf_mailbox_full
 * before. False: the message was dropped. */
bool wf_mailbox_put(struct wf_actor *a, weft_msg *m);

/* The same for a WF_MSG_SEND in the common case. False: it is not that, and nothing was changed. */
static inline bool wf_mailbox_put_plainly(struct wf_actors *wa, struct wf_actor *a, weft_msg *m)
{
    const size_t weight = sizeof *m + m->size;
    if (WF_UNLIKELY(m->shared != NULL || wa->timer.left == 1 || !wf_mailbox_has_space_beyond(wa, a, weight)))
        return false;
    wa->timer.left--;
    wf_mailbox_push(wa, a, m, weight);
    wf_mail_came(a);
    return true;
}

/* ---- On the owner's thread ------------------------------------------------------------------------------------- */

/* Gives each message in the mailbox an envelope, for callers that walk over the lane. */
void wf_mailbox_unpack(struct wf_actor *a);
bool wf_mailbox_ready(const struct wf_task *t);
/* Whether it is empty and no sender waits for space. */
static inline bool wf_mailbox_is_bare(const struct wf_actor *a)
{
    return a->mail.first == NULL && a->signals.first == NULL && !a->has_waiters;
}
/* weft_recv for the running actor, without waiting: NULL if there is nothing. */
weft_msg *wf_mailbox_next(struct wf_actor *a);
/* Drops the oldest messages: at least one, and until the mailbox is below its own bounds. */
void wf_mailbox_make_space(struct wf_actor *a);
/* Drops the oldest message that this subscription counts: there is one. `mark` is the subscription's, and 0 at first; its
 * owner unlinks it when the subscription ends. */
void wf_mailbox_evict(struct wf_actor *a, uint64_t subscription, struct wf_evict_mark *mark);
/* The actor ends: frees or refuses one message that it holds or that is in the system lane; one message of its mail. False:
 * there is none. */
bool wf_mailbox_drop_other(struct wf_actor *a);
bool wf_mailbox_drop_mail(struct wf_actor *a);
void wf_mailbox_leave(struct wf_actor *a); /* at the end of a life: frees the held messages and the system lane */
void wf_mailbox_close(struct wf_actor *a); /* at the end of the actor: that, and all mail */
/* Puts `m` into the system lane, as a message with that tag. Consumes `m`. */
void wf_signal_put(struct wf_actor *a, weft_msg *m, uint32_t tag);
/* Takes the first signal with that tag, ref (0: any) and sender (weft_nobody(): any) out of its lane, of the running
 * actor. NULL: none. */
weft_msg *wf_signal_take(struct wf_actor *a, uint32_t tag, uint64_t ref, weft_pid from);
/* Frees all signals with a tag from `first_tag` to `last_tag`, that ref and that sender, as above, of the running actor. Looks
 * at each signal once. Returns how many were freed. */
uint32_t wf_signals_drop(struct wf_actor *a, uint32_t first_tag, uint32_t last_tag, uint64_t ref, weft_pid from);
/* weft_recv of the system lane only: it does not wait for mail that came earlier. */
int wf_recv_signal(weft_msg **out, int64_t deadline);

#endif
