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
    int64_t mark;              /* wf_link_mark; 0: none */
    uint8_t data[];
};

struct wf_batch *wf_batch_new(struct wf_link *l, size_t at_least);
void wf_batch_free(struct wf_batch *b); /* a chain; NULL is fine */
/* Any thread. Consumes a chain of batches, and sends it now if nothing is in flight. */
void wf_link_push(struct wf_link *l, struct wf_batch *b);
/* Pushes `b`, into which `w` = wf_batch_writer(b) has written one frame. */
void wf_link_send(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* The same, and the frame stays behind what that actor has sent before. */
void wf_link_send_of(struct wf_link *l, struct wf_batch *b, const weft_writer *w, uint64_t actor);
/* The same, and the frame keeps its place among all others, also among messages that go in chunks. */
void wf_link_send_in_order(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* The same, but the frame overtakes all that has not been sent yet, except frames that overtake, too. It is for
 * frames of the cluster itself, which need no order with messages. */
void wf_link_send_first(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* Any thread. PING and PONG overtake everything; `number` is not 0. */
void wf_link_ping(struct wf_link *l, uint64_t number);
void wf_link_pong(struct wf_link *l, uint64_t number);
/* Sends an acknowledgement now. */
void wf_link_acknowledge(struct wf_link *l);
/* The peer acknowledges `count` frames. False: this node has never sent so many. */
bool wf_link_on_ack(struct wf_link *l, uint64_t count);
/* A PONG has come. If it answers the last PING, it gives the round trip; else it is ignored. False: the peer has not
 * acknowledged frames that were sent before that PING. */
bool wf_link_on_pong(struct wf_link *l, uint64_t number);
/* When the peer has acknowledged all that was pushed before this call, wf_link_marked is at least `mark`, which must not
 * be less than the one before, and not 0. */
void wf_link_mark(struct wf_link *l, int64_t mark);
int64_t wf_link_marked(struct wf_link *l); /* 0: nothing yet. Of a link that cannot be resumed: what was sent */
/* The carrier has sent what was in flight on `ch`, or has failed to. */
void wf_link_on_sent(struct wf_link *l, struct wf_channel *ch, bool ok);
/* Frees buffers that a burst has left. */
void wf_link_rest(struct wf_link *l);
/* Sends if there is something to send and nothing is in flight. */
void wf_link_kick(struct wf_link *l);
/* $cluster: from now on `ch` carries the link. The peer has `count` frames. */
void wf_link_attach(struct wf_link *l, struct wf_channel *ch, uint64_t count);
void wf_link_detach(struct wf_link *l);
/* Ends sending. Frames that were not acknowledged are counted as lost. */
void wf_link_discard(struct wf_link *l);
/* Whether there is space. If not, wf_link_calls.space is posted to that worker when there is. */
bool wf_link_has_space(struct wf_link *l, uint32_t worker);
void wf_link_space_taken(struct wf_link *l, uint32_t worker); /* that worker has handled the call */
/* Posts the call now, whether there is space or not, so that the worker goes on in another turn. */
void wf_link_make_turn(struct wf_link *l, uint32_t worker);
static inline weft_writer wf_batch_writer(struct wf_batch *b)
{
    return weft_writer_on(b->data + b->size, b->capacity - b->size);
}

#endif
