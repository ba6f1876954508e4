/* transport/link/large_message.h -- messages that have batches of their own: large ones, traced ones, and what must
 * stay behind them.
 *
 * Design notes.
 * (1) A message that goes in chunks is a chain of batches, and waits in `held`. One chunk at a time goes from there
 *     to the end of what is to be sent, so what others send meanwhile goes between two. All batches are made before
 *     the first one is sent, so that want of memory is the sender's error and nobody else's.
 * (2) What has to stay behind it waits in `held`, too: all that its sender says (a slot is a hash of the sender), the
 *     requests for credit of whom it is for (the other slot), and what keeps its place among all (ALL: tables, BYE).
 *     While one of those is there, or a batch of a worker that had to go behind one, everything goes behind it. A
 *     collision of slots costs a wait, nothing else.
 * (3) Bodies are not copied: batches have references to them, until they are acknowledged.
 * (4) Receiving: one message at a time comes in chunks on a link. Its envelope is made when the first one comes, and
 *     belongs to the link: the next chunk may come on another channel. Chunks are counted frames, so each comes
 *     once, in order. */
#ifndef WF_LARGE_MESSAGE_H
#define WF_LARGE_MESSAGE_H

#include "frame_tables.h"
#include "held_batches.h"
#include "send_queue.h"
#include "link_writer.h"

/* Whether a message has batches of its own: it is large, or traced, or the last one of its sender still waits. */
static inline bool wf_goes_apart(const struct wf_link_writer *writer, uint64_t from, size_t size,
                                 const struct wf_body *shared)
{
    return WF_UNLIKELY(size >= WF_APART_BYTES || (shared != NULL && shared->traced)) ||
           wf_link_holds(writer->link, wf_order_slot(from));
}
/* On a worker: sends a message to an actor (`key`), or to a name (`key`: wf_credit_name), in batches of its own.
 * Returns 0; WF_ROUTE_KEPT; WEFT_EFULL: too many bytes wait already; WEFT_ENOMEM. */
int wf_large_message_send(struct wf_link_writer *writer, uint32_t kind, weft_text name, uint64_t key, uint64_t from,
                          weft_msg *m);
/* The same for a body that goes to a topic or a group. wf_frame_describe has filled in `f`. */
int wf_large_message_send_body(struct wf_link_writer *writer, struct wf_frame *f, struct wf_body *body);
/* The same for a PUBLISH_TO of `size` bytes at most, in one batch. False: no memory. */
bool wf_large_message_publish_to(struct wf_link_writer *writer, const struct wf_publish_to *to, size_t size);
/* Sends a CREDIT_REQUEST behind the large messages to the same receiver. False: no memory. */
bool wf_large_message_request_credit(struct wf_link_writer *writer, const struct wf_frame *f);

#endif
