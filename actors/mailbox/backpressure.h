/* actors/mailbox/backpressure.h -- senders that wait for space in a mailbox, and publishers that wait for space in a
 * subscriber's. The rules are in mailbox.c, notes (2) and (4). */
#ifndef WF_BACKPRESSURE_H
#define WF_BACKPRESSURE_H

#include "msg.h"

struct wf_actor;
struct wf_actors;

/* Space in a mailbox, and in its worker's share of the byte budget, that waiting senders may use. */
struct wf_space {
    uint32_t places;
    size_t bytes;
    size_t budget;
};
/* Subtracts what one sender takes of it. */
static inline void wf_space_use(struct wf_space *space, uint32_t places, size_t bytes)
{
    space->places -= WF_MIN(places, space->places);
    space->bytes -= WF_MIN(bytes, space->bytes);
    space->budget -= WF_MIN(bytes, space->budget);
}

/* `m` was added, and the mailbox has become full or `m` is to be timed. */
void wf_mailbox_added_specially(struct wf_actor *a, weft_msg *m);
/* The mailbox has become full. */
void wf_mailbox_filled(struct wf_actor *a);
/* There may be space: notifies senders that wait for it. */
void wf_on_space_made(struct wf_actor *a);
/* The same after a receive that freed `weight` bytes, if senders may wait. */
void wf_on_space_of_eighth(struct wf_actor *a, size_t weight);
/* Bytes of this worker's share were freed. */
void wf_on_space_of_bytes(struct wf_actors *wa);
/* A sender of this worker uses the space of `weight` bytes that it was promised. */
void wf_space_used(struct wf_actor *a, size_t weight);
/* The tag of a WF_MSG_SPACE. TELL asks for a notification when there is space, FORGET takes that back. PROMISE and
 * RELEASE are the same for a sender of this worker: its space is reserved from the notification until it is used. */
enum wf_space_wish { WF_SPACE_TELL, WF_SPACE_FORGET, WF_SPACE_PROMISE, WF_SPACE_RELEASE };
/* `m` asks for space in the mailbox: a WF_MSG_SPACE, or of a kind whose row has `space`. Consumes `m`. */
void wf_on_space_asked(struct wf_worker *w, struct wf_actor *a, weft_msg *m);
/* The actor ends: notifies all waiting senders. */
void wf_space_notify_all(struct wf_actor *a);
/* Notes whether the actor has subscriptions whose publishers wait. */
void wf_mailbox_awaited(struct wf_actor *a, bool awaited);

#endif
