/* transport/link/send_queue.h -- what waits to be sent to a peer, and what has been sent and is not acknowledged yet.
 *
 * Design notes.
 * (1) One list in the order of the wire, cut by two pointers: what has been sent and not been acknowledged (first to
 *     `landed`), what is being sent, what waits (`unsent` to last). Sending moves the pointers, an acknowledgement
 *     frees from the front. Nothing is copied, but batches of a few messages, which would else hold much more memory
 *     than bytes, are put together once they have been sent.
 * (2) Frames are counted, not numbered: both sides count alike, so no byte is spent on it. An acknowledgement frees a
 *     batch when it covers all of it. After a loss all that is left is sent again, with START before it that says
 *     where it begins; the receiver skips what it had.
 * (3) A link that cannot be resumed (`number` 0) frees a batch when it has been sent.
 * (4) What is being sent belongs to the carrier until wf_link_on_sent, also when the channel is lost meanwhile: then
 *     the list is rewound afterwards, and only then the next channel begins.
 * (5) Before anything is taken, what goes in chunks adds its next one to the end of the list: large_message.c. */
#ifndef WF_SEND_QUEUE_H
#define WF_SEND_QUEUE_H

#include "peer_link.h"

/* Frames for one peer, encoded; with `body` it is one frame, and part of that body stands behind the first `cut`
 * bytes of its data. */
struct wf_batch {
    struct wf_batch *next;
    size_t size, capacity;
    uint32_t frames; /* that are counted, see docs/wire.md; never counted and uncounted ones in one batch */
    uint32_t cut;
    struct wf_body *body; /* a reference; NULL: all is in `data` */
    struct pf_slice piece;
    /* What it keeps in order with, see note (5). */
    enum wf_order { WF_ORDER_ANY, WF_ORDER_ACTOR, WF_ORDER_ALL } order;
    uint16_t slot, other_slot; /* of ACTOR */
    bool chunk;                /* goes in turn with what others send */
    uint8_t data[];
};

struct wf_batch *wf_batch_new(struct wf_link *l, size_t at_least);
void wf_batch_free(struct wf_batch *b); /* a chain; NULL is fine */
/* Takes a chain of batches over; sends it now if nothing is in flight. Any thread. */
void wf_link_push(struct wf_link *l, struct wf_batch *b);
/* `b` with one frame written by `w` = wf_batch_writer(b): push. */
void wf_link_send(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* The same, behind what that actor has sent before. */
void wf_link_send_of(struct wf_link *l, struct wf_batch *b, const weft_writer *w, uint64_t actor);
/* The same, behind all that was sent before, and all that comes goes behind it: also what goes in chunks. */
void wf_link_send_in_order(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* The same, but it overtakes all that has not been sent yet, except what has overtaken before. For frames of the
 * cluster itself that need no order with messages. */
void wf_link_send_first(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* Any thread. PING and PONG overtake everything; `number` is not 0. */
void wf_link_ping(struct wf_link *l, uint64_t number);
void wf_link_pong(struct wf_link *l, uint64_t number);
/* Says now what has been received. */
void wf_link_acknowledge(struct wf_link *l);
/* The other side has said that it has `count` frames. False: so many were never sent. */
bool wf_link_on_ack(struct wf_link *l, uint64_t count);
/* PONG has come: if it answers the last PING that was sent, this is the round trip, else it says nothing. False:
 * frames that were sent before that PING have not been acknowledged. */
bool wf_link_on_pong(struct wf_link *l, uint64_t number);
/* The carrier has done with what was in flight on `ch`. */
void wf_link_on_sent(struct wf_link *l, struct wf_channel *ch, bool ok);
/* Gives back the memory that a burst has left. */
void wf_link_rest(struct wf_link *l);
/* Sends if there is something to send and nothing is in flight. */
void wf_link_kick(struct wf_link *l);
/* By $cluster: from now on `ch` carries it; the other side has `count` frames. */
void wf_link_attach(struct wf_link *l, struct wf_channel *ch, uint64_t count);
void wf_link_detach(struct wf_link *l);
/* No more is sent; what was not acknowledged is counted as lost. */
void wf_link_discard(struct wf_link *l);
/* Whether there is space; if not, that worker is told when there is: wf_link_calls.space. */
bool wf_link_has_space(struct wf_link *l, uint32_t worker);
void wf_link_space_taken(struct wf_link *l, uint32_t worker);
/* That worker is told now, whether there is space or not: it goes on in another turn. */
void wf_link_make_turn(struct wf_link *l, uint32_t worker);
static inline weft_writer wf_batch_writer(struct wf_batch *b)
{
    return weft_writer_on(b->data + b->size, b->capacity - b->size);
}

#endif
