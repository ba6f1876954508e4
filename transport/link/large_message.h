/* transport/link/large_message.h -- messages that have batches of their own: large ones, traced ones, and those that
 * must stay behind them.
 *
 * Design notes.
 * (1) A message in chunks is a chain of batches, and waits in `held`. One chunk at a time moves from there to the end
 *     of the send list, so messages of other senders go between two chunks. All batches are made before the first is
 *     sent, so that lack of memory is an error of this send call only.
 * (2) Batches that must stay behind the message wait in `held`, too: later messages of its sender (`slot` is a hash of
 *     the sender), CREDIT_REQUESTs to its receiver (`other_slot` is a hash of the receiver), and frames that keep
 *     their place among all others (WF_ORDER_ALL: tables, BYE). While `held` has one of the last kind, or a batch of
 *     order WF_ORDER_ANY that had to wait for one, every new batch waits, too. A collision of slots only costs a wait.
 * (3) Bodies are not copied: batches have references to them until they are acknowledged.
 * (4) A link receives one message in chunks at a time. Its envelope is made for the first chunk, and belongs to the
 *     link, because the next chunk may come on another channel. Chunks are counted frames, so each comes once, in
 *     order. */
#ifndef WF_LARGE_MESSAGE_H
#define WF_LARGE_MESSAGE_H

#include "frame_tables.h"
#include "held_batches.h"
#include "send_queue.h"
#include "link_writer.h"

/* Whether a message needs batches of its own: it is large or traced, or an earlier one of its sender is still held. */
static inline bool wf_goes_apart(const struct wf_link_writer *writer, uint64_t from, size_t size,
                                 const struct wf_body *shared)
{
    return WF_UNLIKELY(size >= WF_APART_BYTES || (shared != NULL && shared->traced)) ||
           wf_link_holds(writer->link, wf_order_slot(from));
}
/* On a worker: sends a message to an actor (`key`), or to a name (`key`: wf_credit_name), in batches of its own.
 * Returns 0; WF_ROUTE_KEPT; WEFT_EFULL: too many bytes are queued; WEFT_ENOMEM. */
int wf_large_message_send(struct wf_link_writer *writer, uint32_t kind, weft_text name, uint64_t key, uint64_t from,
                          weft_msg *m);
/* The same for a body that goes to a topic or a group. wf_frame_describe has filled in `f`. */
int wf_large_message_send_body(struct wf_link_writer *writer, struct wf_frame *f, struct wf_body *body);
/* The same for a PUBLISH_TO of `size` bytes at most, in one batch. False: no memory. */
bool wf_large_message_publish_to(struct wf_link_writer *writer, const struct wf_publish_to *to, size_t size);
/* Sends a CREDIT_REQUEST behind the large messages to the same receiver. False: no memory. */
bool wf_large_message_request_credit(struct wf_link_writer *writer, const struct wf_frame *f);

#endif
