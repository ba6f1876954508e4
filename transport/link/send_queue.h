/* transport/link/send_queue.h -- batches of frames that wait to be sent to a peer, or to be acknowledged by it.
 *
 * Design notes.
 * (1) One list holds all batches in the order of the wire. Two pointers cut it into three parts: sent but not
 *     acknowledged (`first` to `landed`), being sent, and waiting (`unsent` to `last`). Sending moves the pointers; an
 *     acknowledgement frees batches from the front. Batches are not copied, except that small ones are merged,
 *     because each of them would hold much more memory than it has bytes.
 * (2) Frames carry no numbers: both sides count them alike, which costs no bytes. An acknowledgement frees a batch
 *     when it covers all its frames. When a channel is lost, all remaining batches are sent again on the next one,
 *     behind a START that says where they begin; the receiver skips the frames that it has received already.
 * (3) A link that cannot be resumed (`number` 0) frees a batch when it has been sent.
 * (4) Batches that are being sent belong to the carrier until wf_link_on_sent, even if the channel is lost meanwhile.
 *     Then the list is rewound in wf_link_on_sent, and only then is anything sent on the next channel.
 * (5) Before batches are taken for sending, a message in chunks adds its next chunk to the end of the list: see
 *     large_message.h. */
#ifndef WF_SEND_QUEUE_H
#define WF_SEND_QUEUE_H

#include "peer_link.h"

/* Encoded frames for one peer. If `body` is set, the batch is one frame: `piece`, a part of that body, is sent between
 * the first `cut` bytes of `data` and the rest. */
struct wf_batch {
    struct wf_batch *next;
    size_t size, capacity;
    uint32_t frames; /* counted ones, see docs/wire.md; a batch never mixes counted and uncounted frames */
    uint32_t cut;
    struct wf_body *body; /* a reference; NULL: the whole frame is in `data` */
    struct pf_slice piece;
    /* Which batches it must not overtake: large_message.h (2). */
    enum wf_order { WF_ORDER_ANY, WF_ORDER_ACTOR, WF_ORDER_ALL } order;
    uint16_t slot, other_slot; /* of ACTOR */
    bool chunk;                /* batches of other senders may go between it and the next chunk */
    int64_t mark;              /* set by wf_link_mark; 0: none */
    uint8_t data[];
};

struct wf_batch *wf_batch_new(struct wf_link *l, size_t at_least);
void wf_batch_free(struct wf_batch *b); /* a chain; NULL is fine */
/* Any thread. Consumes a chain of batches, and sends it now if nothing is in flight. */
void wf_link_push(struct wf_link *l, struct wf_batch *b);
/* Pushes `b`, into which `w` = wf_batch_writer(b) has written one frame. */
void wf_link_send(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* The same, and the frame stays behind the earlier messages of that actor. */
void wf_link_send_of(struct wf_link *l, struct wf_batch *b, const weft_writer *w, uint64_t actor);
/* The same, and the frame keeps its place among all others, also among messages that go in chunks. */
void wf_link_send_in_order(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* The same, but the frame overtakes all frames that have not been sent yet, except others of this function. $cluster
 * uses it for its own frames, which need no order with messages. */
void wf_link_send_first(struct wf_link *l, struct wf_batch *b, const weft_writer *w);
/* Any thread. PING and PONG overtake everything; `number` is not 0. */
void wf_link_ping(struct wf_link *l, uint64_t number);
void wf_link_pong(struct wf_link *l, uint64_t number);
/* Sends an acknowledgement now. */
void wf_link_acknowledge(struct wf_link *l);
/* The peer acknowledges `count` frames. False: this node has sent fewer. */
bool wf_link_on_ack(struct wf_link *l, uint64_t count);
/* A PONG has come. If it answers the last PING, it gives the round trip; else it is ignored. False: the peer has not
 * acknowledged frames that were sent before that PING. */
bool wf_link_on_pong(struct wf_link *l, uint64_t number);
/* When the peer has acknowledged all batches that were pushed before this call, wf_link_marked is at least `mark`,
 * which must not be 0 and not less than the previous one. */
void wf_link_mark(struct wf_link *l, int64_t mark);
/* 0: no mark was reached yet. On a link that cannot be resumed: the last mark that was sent */
int64_t wf_link_marked(struct wf_link *l);
/* The carrier has sent the batches in flight on `ch`, or has failed to. */
void wf_link_on_sent(struct wf_link *l, struct wf_channel *ch, bool ok);
/* Frees the spare batches beyond WF_SPARE_BATCHES, if few bytes are queued. */
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
/* Posts that call now, whether there is space or not, so that the worker continues its work in another turn. */
void wf_link_make_turn(struct wf_link *l, uint32_t worker);
static inline weft_writer wf_batch_writer(struct wf_batch *b)
{
    return weft_writer_on(b->data + b->size, b->capacity - b->size);
}

#endif
