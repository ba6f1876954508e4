/* transport/link/outbox.h -- what waits to be sent to a peer, and what has been sent and is not acknowledged yet.
 * outbox.c has the design notes. */
#ifndef WF_OUTBOX_H
#define WF_OUTBOX_H

#include "session.h"

/* Frames for one peer, encoded; with `body` it is one frame, and part of that body stands behind the first `cut`
 * bytes of its data. */
struct wf_batch {
    struct wf_batch *next;
    size_t size, capacity;
    uint32_t frames; /* that are counted, see docs/wire.md; never counted and uncounted ones in one batch */
    uint32_t cut;
    struct wf_body *body; /* a reference; NULL: all is in `data` */
    struct pf_slice piece;
    /* What it keeps in order with, see outbox.c (5). */
    enum wf_order { WF_ORDER_ANY, WF_ORDER_ACTOR, WF_ORDER_ALL } order;
    uint16_t slot, other_slot; /* of ACTOR */
    bool chunk;                /* goes in turn with what others send */
    uint8_t data[];
};

struct wf_batch *wf_batch_new(struct wf_session *s, size_t at_least);
void wf_batch_free(struct wf_batch *b); /* a chain; NULL is fine */
/* Takes a chain of batches over; sends it now if nothing is in flight. Any thread. */
void wf_session_push(struct wf_session *s, struct wf_batch *b);
/* `b` with one frame written by `w` = wf_batch_writer(b): push. */
void wf_session_say(struct wf_session *s, struct wf_batch *b, const weft_writer *w);
/* The same, behind what that actor has sent before. */
void wf_session_say_of(struct wf_session *s, struct wf_batch *b, const weft_writer *w, uint64_t actor);
/* The same, behind all that was sent before, and all that comes goes behind it: also what goes in chunks. */
void wf_session_say_in_order(struct wf_session *s, struct wf_batch *b, const weft_writer *w);
/* The same, but it overtakes all that has not been sent yet, except what has overtaken before. For frames of the
 * cluster itself that need no order with messages. */
void wf_session_say_first(struct wf_session *s, struct wf_batch *b, const weft_writer *w);
/* Any thread. PING and PONG overtake everything; `number` is not 0. */
void wf_session_ping(struct wf_session *s, uint64_t number);
void wf_session_pong(struct wf_session *s, uint64_t number);
/* Says now what has been received. */
void wf_session_acknowledge(struct wf_session *s);
/* The other side has said that it has `count` frames. False: so many were never sent. */
bool wf_session_acked(struct wf_session *s, uint64_t count);
/* PONG has come: if it answers the last PING that was sent, this is the round trip, else it says nothing. False:
 * frames that were sent before that PING have not been acknowledged. */
bool wf_session_ponged(struct wf_session *s, uint64_t number);
/* The carrier has done with what was in flight on `ch`. */
void wf_session_sent(struct wf_session *s, struct wf_channel *ch, bool ok);
/* Gives back the memory that a burst has left. */
void wf_session_rest(struct wf_session *s);
/* Sends if there is something to send and nothing is in flight. */
void wf_session_kick(struct wf_session *s);
/* By $cluster: from now on `ch` carries it; the other side has `count` frames. */
void wf_session_attach(struct wf_session *s, struct wf_channel *ch, uint64_t count);
void wf_session_detach(struct wf_session *s);
/* No more is sent; what was not acknowledged is counted as lost. */
void wf_session_discard(struct wf_session *s);
/* Whether there is room; if not, that worker's room is posted when there is. */
bool wf_session_has_room(struct wf_session *s, uint32_t worker);
void wf_session_room_came(struct wf_session *s, uint32_t worker);
/* That worker's room is posted now, whether there is room or not: it goes on in another turn. */
void wf_session_make_turn(struct wf_session *s, uint32_t worker);
static inline weft_writer wf_batch_writer(struct wf_batch *b)
{
    return weft_writer_on(b->data + b->size, b->capacity - b->size);
}

#endif
