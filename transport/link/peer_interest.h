/* transport/link/peer_interest.h -- hands the patterns that a peer subscribes to, INTEREST frames, to all workers. Each
 * worker has a copy of them in its writer (wf_link_writer.interest), so that publishing takes no lock.
 *
 * (1) A worker applies a change before it delivers messages that the peer sent after it. The worker that has received
 *     the frame applies it at once, the others when their call runs: it is posted before those messages.
 * (2) A turn applies a limited number of patterns; a timer continues with the rest. A change counts as bytes that are
 *     under way to its worker until all of it has been applied, so a peer is read no faster than the slowest worker
 *     applies its patterns. */
#ifndef WF_PEER_INTEREST_H
#define WF_PEER_INTEREST_H

#include "peer_link.h"

/* The receiving side calls it for an INTEREST frame. `here`: the worker that has received it; NULL: another thread has.
 * Returns 0, or WEFT_ENOMEM: some workers may have got it then. */
int wf_peer_interest_receive(struct wf_link *l, struct wf_frame *f, struct wf_worker *here);

#endif
