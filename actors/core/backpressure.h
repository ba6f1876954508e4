/* actors/core/backpressure.h -- senders that wait for room in a mailbox, and publishers that wait for somebody's.
 * The rules are in mailbox.c, notes (2) and (4). */
#ifndef WF_BACKPRESSURE_H
#define WF_BACKPRESSURE_H

#include "msg.h"

struct wf_actor;
struct wf_actors;

/* Room in a mailbox, and in its worker's share of the byte budget, for those that wait. */
struct wf_room {
    uint32_t places;
    size_t bytes;
    size_t budget;
};
/* One of them has its part of it. */
static inline void wf_room_use(struct wf_room *room, uint32_t places, size_t bytes)
{
    room->places -= WF_MIN(places, room->places);
    room->bytes -= WF_MIN(bytes, room->bytes);
    room->budget -= WF_MIN(bytes, room->budget);
}

/* It has become full, or `m` is to be timed. */
void wf_mailbox_added_specially(struct wf_actor *a, weft_msg *m);
/* It has become full. */
void wf_mailbox_filled(struct wf_actor *a);
/* There may be room: tells those that wait for it. */
void wf_on_space_made(struct wf_actor *a);
/* The same after a receive that made room for so many bytes, where somebody may wait. */
void wf_on_space_of_eighth(struct wf_actor *a, size_t weight);
/* Bytes of this worker's share came free. */
void wf_on_space_of_bytes(struct wf_actors *wa);
/* Whether one that was promised nothing has to wait, because the room there is was promised, or because others wait. */
bool wf_mailbox_has_claims(const struct wf_actor *a);
/* A sender of this worker uses the room for so many bytes that it was promised. */
void wf_room_used(struct wf_actor *a, size_t weight);
/* The tag of a WF_MSG_SPACE: news of room are wanted, or no more. PROMISE and RELEASE: by a sender of this worker,
 * for which the room is kept from the news until it has used it. */
enum wf_room_wish { WF_ROOM_TELL, WF_ROOM_FORGET, WF_ROOM_PROMISE, WF_ROOM_RELEASE };
/* A request for room in it has come: WF_MSG_SPACE, or of a kind whose row has `room`. Consumes. */
void wf_on_space_asked(struct wf_worker *w, struct wf_actor *a, weft_msg *m);
/* It ends: all that wait are told. */
void wf_space_notify_all(struct wf_actor *a);
/* Whether it has subscriptions whose publishers wait. */
void wf_mailbox_awaited(struct wf_actor *a, bool awaited);

#endif
