/* transport/carrier/carrier_nng_ws.h -- the listening end of WebSockets on NNG. */
#ifndef WF_CARRIER_NNG_WS_H
#define WF_CARRIER_NNG_WS_H

#include "carrier_nng.h"

/* Changes a ws:// or wss:// URL into that of the stream under the WebSocket, for NNG: WF_URL_TEXT bytes. False: `url`
 * is of another kind. */
bool wf_nng_ws_url(const char *url, char *out);
/* NULL: out of memory. */
struct ws_side *wf_nng_ws_new(const char *url);
/* `size` bytes were read to the end of the connection's buffer. True: the connection is open, and the bytes of frame
 * headers and control frames have been taken out. False: the answer to the request is in c->iov, to be sent; or
 * `*more`: the request is not complete. */
bool wf_nng_ws_received(struct stream_conn *c, size_t size, bool *more);
/* Fills in the next slices to be sent; returns how many. */
unsigned wf_nng_ws_slices(struct stream_conn *c, nng_iov out[WF_NNG_SLICES]);
/* `count` bytes of them have been sent; returns how many of these belong to the message. */
size_t wf_nng_ws_sent(struct stream_conn *c, size_t count);

#endif
