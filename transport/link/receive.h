/* transport/link/receive.h -- frames that come on an established channel. */
#ifndef WF_RECEIVE_H
#define WF_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_channel;

/* Decodes frames that came on an established channel, for wf_channel_post, on its receiving side. False: the link
 * was ended for a fault in them. `*left`: so many bytes at the end are to be received in another turn, as this one
 * has done enough. */
bool wf_link_receive(struct wf_channel *ch, const uint8_t *data, size_t size, size_t *left);

#endif
