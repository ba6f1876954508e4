/* transport/carrier/carrier_nng_ws.c -- the listening end of ws:// and wss:// on NNG's streams of TCP and TLS: ws.h
 * around the bytes of a connection. Dialling is NNG's own. */
#include "carrier_nng_ws.h"
#include "carrier_nng.h"

#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_MAX = 256 * 1024 }; /* bytes of a frame that is sent: NNG's dialer accepts at most 1 MiB */

bool wf_nng_ws_url(const char *url, char *out)
{
    bool tls = strncmp(url, "wss://", 6) == 0;
    if (!tls && strncmp(url, "ws://", 5) != 0) return false;
    const char *host = strstr(url, "://") + 3;
    int size = (int)strcspn(host, "/?#");
    const char *end = host[0] == '[' ? strchr(host, ']') : host;
    bool port = end != NULL && memchr(end, ':', (size_t)(host + size - end)) != NULL;
    snprintf(out, WF_URL_TEXT, "%s://%.*s%s", tls ? "tls+tcp" : "tcp", size, host, port ? "" : tls ? ":443" : ":80");
    return true;
}

struct ws_side *wf_nng_ws_new(const char *url)
{
    struct ws_side *s = calloc(1, sizeof *s);
    if (s != NULL) snprintf(s->url, sizeof s->url, "%s", url);
    return s;
}

/* ---- Receiving ------------------------------------------------------------------------------------------------- */

/* A ping that comes before the last one has been answered needs no answer of its own. */
static void answer_ping(struct ws_side *s)
{
    s->in.pinged = false;
    if (atomic_load_explicit(&s->has_pong, memory_order_acquire)) return;
    s->pong[0] = 0x8A;
    s->pong[1] = (uint8_t)s->in.ping_size;
    memcpy(s->pong + 2, s->in.ping, s->in.ping_size);
    s->pong_size = 2 + s->in.ping_size;
    atomic_store_explicit(&s->has_pong, true, memory_order_release);
}

/* Takes frames from the `size` new bytes in the buffer. */
static void take_frames(struct stream_conn *c, size_t size)
{
    struct ws_side *s = c->ws;
    c->sp.end += wf_ws_take(&s->in, c->sp.buffer + c->sp.end, size, &s->over);
    if (s->in.pinged) answer_ping(s);
}

/* Prepares the answer to be sent, with the greeting behind it. */
static void answer(struct stream_conn *c, size_t head)
{
    struct ws_side *s = c->ws;
    const struct wf_carrier_options *o = &carrier_of(c)->options;
    const struct wf_ws_door door = {s->url, c->tls, o->ws_origins, o->ws_origin_count};
    char *text = (char *)s->answer;
    if (head == 0) wf_ws_answer_too_long(text, s->why);
    s->refused = head == 0 || !wf_ws_answer(&door, c->sp.buffer, head, text, s->why);
    s->asked = true;
    size_t size = strlen(text), rest = c->sp.end - head;
    if (!s->refused) {
        size += wf_ws_header(s->answer + size, WF_SP_HEADER);
        memcpy(s->answer + size, wf_sp_header, WF_SP_HEADER);
        size += WF_SP_HEADER;
    }
    c->iov[0] = (nng_iov){s->answer, size};
    c->iov_first = 0;
    c->iov_count = 1;
    c->sp.end = 0;
    if (s->refused) return;
    memmove(c->sp.buffer, c->sp.buffer + head, rest);
    take_frames(c, rest);
}

bool wf_nng_ws_received(struct stream_conn *c, size_t size, bool *more)
{
    if (c->ws->asked) {
        take_frames(c, size);
        return true;
    }
    c->sp.end += size;
    size_t head = wf_http_head(c->sp.buffer, WF_MIN(c->sp.end, (size_t)WF_HTTP_HEAD_MAX));
    *more = head == 0 && c->sp.end < WF_HTTP_HEAD_MAX;
    if (!*more) answer(c, head);
    return false;
}

/* ---- Sending --------------------------------------------------------------------------------------------------- */

static void begin_frame(struct stream_conn *c)
{
    struct ws_side *s = c->ws;
    unsigned last = WF_MIN(c->iov_count, c->iov_first + WF_NNG_SLICES - 1); /* one slice is the header */
    s->header_at = s->header_size = 0;
    if (atomic_load_explicit(&s->has_pong, memory_order_acquire)) {
        memcpy(s->header, s->pong, s->pong_size);
        s->header_size = s->pong_size;
        atomic_store_explicit(&s->has_pong, false, memory_order_release);
    }
    for (unsigned i = c->iov_first; i < last; i++) s->left += c->iov[i].iov_len;
    s->left = WF_MIN(s->left, (uint64_t)FRAME_MAX);
    s->header_size += (unsigned)wf_ws_header(s->header + s->header_size, s->left);
}

unsigned wf_nng_ws_slices(struct stream_conn *c, nng_iov out[WF_NNG_SLICES])
{
    struct ws_side *s = c->ws;
    unsigned n = 0;
    if (s->left == 0 && s->header_at == s->header_size) begin_frame(c);
    if (s->header_at < s->header_size) out[n++] = (nng_iov){s->header + s->header_at, s->header_size - s->header_at};
    uint64_t left = s->left;
    for (unsigned i = c->iov_first; left > 0; i++) {
        out[n] = c->iov[i];
        out[n].iov_len = (size_t)WF_MIN((uint64_t)out[n].iov_len, left);
        left -= out[n++].iov_len;
    }
    return n;
}

size_t wf_nng_ws_sent(struct stream_conn *c, size_t count)
{
    struct ws_side *s = c->ws;
    size_t header = WF_MIN(count, (size_t)(s->header_size - s->header_at));
    s->header_at += (unsigned)header;
    s->left -= count - header;
    return count - header;
}
