/* transport/link/receive.h -- frames that come on an established channel. */
#ifndef WF_RECEIVE_H
#define WF_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_channel;

/* Decodes frames of an established channel, on its receiving side; wf_channel_post then posts the messages. False: the
 * link has been ended because of a fault in the frames. `*left`: the number of bytes at the end that the caller must
 * pass again in another turn, as this one has done enough work. */
bool wf_link_receive(struct wf_channel *ch, const uint8_t *data, size_t size, size_t *left);

#endif
