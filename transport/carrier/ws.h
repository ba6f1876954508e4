/* transport/carrier/ws.h -- the listening end of a WebSocket (RFC 6455): which clients are accepted, and the frames
 * around the bytes. It uses neither sockets nor threads; the carrier reads and writes.
 *
 * Design notes.
 * (1) NNG's own listener answers a request before it shows its headers, waits for requests without a limit, and
 *     takes a whole core when no descriptors are left (docs/decisions.md). So this end is here, on NNG's streams.
 * (2) The bytes are a stream: frame boundaries mean nothing, so payload is passed on as it comes, and the length of a
 *     frame never causes an allocation. */
#ifndef WF_WS_H
#define WF_WS_H

#include "base.h"

enum {
    WF_WS_ANSWER_MAX = 384,  /* bytes of the answer to a request, with a NUL */
    WF_WS_HEADER_MAX = 10,   /* before the bytes of a frame that is sent */
    WF_WS_CONTROL_MAX = 125, /* bytes in a ping */
};
#define WF_WS_PROTOCOL "pair.sp.nanomsg.org" /* both sides must send this subprotocol */

/* Which clients a listener accepts. */
struct wf_ws_door {
    const char *url; /* the URL on which it listens, "ws://127.0.0.1:4001/weft" */
    bool any_host;   /* the request may name any host, as the other side proves its identity */
    /* Pages of these sites are accepted, "https://board.example"; requests may also name their hosts. */
    const char *const *origins;
    size_t origin_count;
};

/* Whether `text` is an origin as browsers write it: scheme://host or scheme://host:port, and nothing else. */
bool wf_ws_is_origin(const char *text);
/* Writes the answer to a request's head. True: the client is in, and frames follow. False: `why` (WF_REASON_TEXT
 * bytes) gets the reason for the log. */
bool wf_ws_answer(const struct wf_ws_door *door, const uint8_t *head, size_t size, char out[WF_WS_ANSWER_MAX],
                  char *why);
/* The answer to a request that has no end within WF_HTTP_HEAD_MAX. */
void wf_ws_answer_too_long(char out[WF_WS_ANSWER_MAX], char *why);

/* The receiving side. All zero at first. */
struct wf_ws {
    uint64_t left; /* of the frame that is being read */
    uint8_t header[14], mask[4];
    uint8_t control[WF_WS_CONTROL_MAX]; /* of a control frame */
    uint8_t ping[WF_WS_CONTROL_MAX];    /* of the last ping, to be sent back */
    unsigned header_size, control_size, ping_size;
    uint8_t opcode;
    bool in_frame, in_message;
    bool pinged; /* set when a ping has come; cleared when it is answered */
};

/* Reads frames in `size` bytes, and moves their payload to the beginning of `data`; returns the payload's size.
 * `*over`: NULL, or why reading ends: the other side closes, or breaks the rules. */
size_t wf_ws_take(struct wf_ws *w, uint8_t *data, size_t size, const char **over);
/* The header of a binary frame of `size` bytes; its length. */
size_t wf_ws_header(uint8_t out[WF_WS_HEADER_MAX], uint64_t size);

#endif
