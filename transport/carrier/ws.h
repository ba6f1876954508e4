/* transport/carrier/ws.h -- the listening end of a WebSocket (RFC 6455): who may come in, and the frames around the
 * bytes. It knows neither sockets nor threads; the carrier reads and writes.
 *
 * Design notes.
 * (1) NNG's own listener answers a request before it shows its headers, waits for requests without a limit, and
 *     takes a whole core when no descriptors are left (docs/decisions.md). So this end is here, on NNG's streams.
 * (2) The bytes are a stream: where frames begin and end means nothing, so payload is handed on as it comes and no
 *     length asks for memory. */
#ifndef WF_WS_H
#define WF_WS_H

#include "base.h"

enum {
    WF_WS_ANSWER_MAX = 384,  /* bytes of the answer to a request, with a NUL */
    WF_WS_HEADER_MAX = 10,   /* before the bytes of a frame that is sent */
    WF_WS_CONTROL_MAX = 125, /* bytes in a ping */
};
#define WF_WS_PROTOCOL "pair.sp.nanomsg.org" /* both sides have to say it */

/* What a listener lets in. */
struct wf_ws_door {
    const char *url; /* that it listens on, "ws://127.0.0.1:4001/weft" */
    bool any_host;   /* the other side proves who it is: its request may name any host */
    /* Pages of these sites may come in, "https://board.example"; requests may also be for the hosts in them. */
    const char *const *origins;
    size_t origin_count;
};

/* Whether `text` is an origin as browsers write it: scheme://host or scheme://host:port, nothing behind. */
bool wf_ws_is_origin(const char *text);
/* Writes the answer to a request's head. True: the client is in, and frames follow. False: `why` (WF_REASON_TEXT
 * bytes) says what the log is to say. */
bool wf_ws_answer(const struct wf_ws_door *door, const uint8_t *head, size_t size, char out[WF_WS_ANSWER_MAX],
                  char *why);
/* The answer to a request that has no end within WF_HTTP_HEAD_MAX. */
void wf_ws_answer_too_long(char out[WF_WS_ANSWER_MAX], char *why);

/* What comes in. All zero at first. */
struct wf_ws {
    uint64_t left; /* of the frame that is being read */
    uint8_t header[14], mask[4];
    uint8_t control[WF_WS_CONTROL_MAX]; /* of a control frame */
    uint8_t ping[WF_WS_CONTROL_MAX];    /* of the last ping, which is to be sent back */
    unsigned header_size, control_size, ping_size;
    uint8_t opcode;
    bool in_frame, in_message;
    bool pinged; /* set when a ping has come; whoever answers clears it */
};

/* Reads frames out of `size` bytes: so many bytes of what is in them are now at the begin of `data`. `*over`: NULL,
 * or why nothing more is to be read: the other side closes, or breaks the rules. */
size_t wf_ws_take(struct wf_ws *w, uint8_t *data, size_t size, const char **over);
/* The header of a binary frame of `size` bytes; its length. */
size_t wf_ws_header(uint8_t out[WF_WS_HEADER_MAX], uint64_t size);

#endif
