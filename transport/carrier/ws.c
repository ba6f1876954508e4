/* transport/carrier/ws.c -- the handshake and the frames of a WebSocket: the rules are in ws.h. */
#include "ws.h"

#include "carrier.h"
#include "http.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

bool wf_ws_is_origin(const char *text)
{
    const char *colon = strstr(text, "://");
    if (strcmp(text, "null") == 0 || colon == NULL || colon == text) return false;
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f || strchr(",@?#\\\"", *c) != NULL) return false;
    struct wf_http_text at = wf_http_authority(text);
    return at.size > 0 && at.at[at.size] == '\0' && wf_http_host(at).at != NULL && wf_http_host(at).size > 0;
}

/* A page whose own name points to this machine (DNS rebinding) can only name that host. */
static bool host_is_ours(const struct wf_ws_door *d, struct wf_http_text said)
{
    struct wf_http_text host = wf_http_host(said), own = wf_http_host(wf_http_authority(d->url));
    if (host.at == NULL || host.size == 0) return false;
    if (wf_http_host_is_numeric(host)) return true;
    if (d->any_host || (own.at != NULL && wf_http_same(host, own))) return true;
    for (size_t i = 0; i < d->origin_count; i++) {
        struct wf_http_text allowed = wf_http_host(wf_http_authority(d->origins[i]));
        if (wf_http_same(host, allowed)) return true;
    }
    return false;
}

static bool origin_is_allowed(const struct wf_ws_door *d, struct wf_http_text origin)
{
    for (size_t i = 0; i < d->origin_count; i++)
        if (wf_http_is(origin, d->origins[i])) return true;
    return false;
}

/* ---- Answers --------------------------------------------------------------------------------------------------- */

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* SHA-1 (RFC 3174) of one block. It protects nothing here: it shows that the key was understood. */
static void sha1_block(uint32_t h[5], const uint8_t *block)
{
    static const uint32_t k[4] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        uint32_t next = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
}

enum { KEY_SIZE = 24, PROOF_SIZE = 28 };

static void prove(const char *key, char out[PROOF_SIZE + 1])
{
    static const char more[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint8_t text[128] = {0}, sum[21] = {0};
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    size_t size = KEY_SIZE + sizeof more - 1; /* with padding, it fits into two blocks */
    memcpy(text, key, KEY_SIZE);
    memcpy(text + KEY_SIZE, more, sizeof more - 1);
    text[size] = 0x80;
    text[sizeof text - 2] = (uint8_t)(size * 8 >> 8);
    text[sizeof text - 1] = (uint8_t)(size * 8);
    for (size_t i = 0; i < sizeof text; i += 64) sha1_block(h, text + i);
    for (int i = 0; i < 20; i++) sum[i] = (uint8_t)(h[i / 4] >> (24 - i % 4 * 8));
    for (size_t i = 0; i < 20; i += 3) wf_base64(sum + i, 20 - i, out + i / 3 * 4);
    out[PROOF_SIZE] = '\0';
}

static bool is_key(struct wf_http_text key)
{
    if (key.size != KEY_SIZE || memcmp(key.at + KEY_SIZE - 2, "==", 2) != 0) return false;
    for (size_t i = 0; i < KEY_SIZE - 2; i++)
        if (strchr(WF_BASE64_DIGITS, key.at[i]) == NULL) return false;
    return true;
}

static bool refuse(char out[WF_WS_ANSWER_MAX], const char *status, const char *body)
{
    snprintf(out, WF_WS_ANSWER_MAX,
             "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %u\r\nConnection: close\r\n"
             "Sec-WebSocket-Version: 13\r\n\r\n%s\n",
             status, (unsigned)strlen(body) + 1, body);
    return false;
}

static const char *shown(struct wf_http_text s, char out[48])
{
    size_t n = WF_MIN(s.size, (size_t)47);
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)s.at[i] < 0x7f ? s.at[i] : '?';
    out[n] = '\0';
    return out;
}

/* Judges a well-formed request: the HTTP status if it is refused, else NULL. */
static const char *judge(const struct wf_ws_door *d, const struct wf_http_request *r, char *why)
{
    char text[48];
    snprintf(why, WF_REASON_TEXT, "no request for a WebSocket");
    if (r->twice || r->host.at == NULL || !wf_http_is(r->version, "HTTP/1.1")) return "400 Bad Request";
    if (!host_is_ours(d, r->host)) {
        snprintf(why, WF_REASON_TEXT,
                 "it asks for host %s, and this node knows no such name of its own; --ws-origin (option ws_origins) "
                 "tells it",
                 shown(r->host, text));
        return "421 Misdirected Request";
    }
    if (r->origin.at != NULL && !origin_is_allowed(d, r->origin)) {
        snprintf(why, WF_REASON_TEXT,
                 "a page of %s; pages of a browser come in only if --ws-origin (option ws_origins) names them",
                 shown(r->origin, text));
        return "403 Forbidden";
    }
    if (!wf_http_is(r->method, "GET")) return "405 Method Not Allowed";
    struct wf_http_text at = wf_http_authority(d->url);
    if (!wf_http_path_is(r, at.at[at.size] == '\0' ? "/" : at.at + at.size)) return "404 Not Found";
    if (r->upgrade.at == NULL || !wf_http_lists(r->upgrade, "websocket") || r->connection.at == NULL ||
        !wf_http_lists(r->connection, "upgrade") || r->ws_version.at == NULL || !wf_http_is(r->ws_version, "13"))
        return "426 Upgrade Required";
    if (r->ws_key.at == NULL || !is_key(r->ws_key)) return "400 Bad Request";
    if (r->ws_protocol.at != NULL && wf_http_lists(r->ws_protocol, WF_WS_PROTOCOL)) return NULL;
    snprintf(why, WF_REASON_TEXT,
             "it does not ask for the subprotocol " WF_WS_PROTOCOL ": a node of an older version, or none");
    return "400 Bad Request";
}

bool wf_ws_answer(const struct wf_ws_door *door, const uint8_t *head, size_t size, char out[WF_WS_ANSWER_MAX],
                  char *why)
{
    struct wf_http_request r;
    char proof[PROOF_SIZE + 1];
    if (!wf_http_read(&r, head, size)) {
        snprintf(why, WF_REASON_TEXT, "no request for a WebSocket");
        return refuse(out, "400 Bad Request", "not HTTP");
    }
    const char *status = judge(door, &r, why);
    if (status != NULL) return refuse(out, status, why);
    prove(r.ws_key.at, proof);
    snprintf(out, WF_WS_ANSWER_MAX,
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: " WF_WS_PROTOCOL "\r\n\r\n",
             proof);
    return true;
}

void wf_ws_answer_too_long(char out[WF_WS_ANSWER_MAX], char *why)
{
    snprintf(why, WF_REASON_TEXT, "its request has more than %d bytes", WF_HTTP_HEAD_MAX);
    (void)refuse(out, "431 Request Header Fields Too Large", why);
}

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

enum { CONTINUATION = 0, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

size_t wf_ws_header(uint8_t out[WF_WS_HEADER_MAX], uint64_t size)
{
    unsigned bytes = size < 126 ? 0 : size <= 0xFFFF ? 2 : 8;
    out[0] = 0x80 | BINARY;
    out[1] = (uint8_t)(bytes == 0 ? size : bytes == 2 ? 126 : 127);
    for (unsigned i = 0; i < bytes; i++) out[2 + i] = (uint8_t)(size >> 8 * (bytes - 1 - i));
    return 2 + bytes;
}

static size_t header_wanted(const struct wf_ws *w)
{
    if (w->header_size < 2) return 2;
    unsigned n = w->header[1] & 0x7F;
    return (n == 127 ? 10U : n == 126 ? 4U : 2U) + ((w->header[1] & 0x80) != 0 ? 4U : 0U);
}

/* Returns NULL, or the fault of a complete header. */
static const char *begin_frame(struct wf_ws *w)
{
    unsigned n = w->header[1] & 0x7F;
    size_t bytes = n == 127 ? 8 : n == 126 ? 2 : 0;
    bool fin = (w->header[0] & 0x80) != 0;
    w->opcode = w->header[0] & 0x0F;
    w->left = n;
    for (size_t i = 0; i < bytes; i++) w->left = (i == 0 ? 0 : w->left << 8) | w->header[2 + i];
    memcpy(w->mask, w->header + 2 + bytes, 4);
    w->header_size = w->control_size = 0;
    w->in_frame = true;
    if ((w->header[0] & 0x70) != 0) return "a WebSocket frame with reserved bits set";
    if ((w->header[1] & 0x80) == 0) return "a WebSocket frame that is not masked";
    if (w->left >> 63 != 0) return "a WebSocket frame with an invalid length";
    if (w->opcode >= CLOSE) {
        return w->opcode <= PONG && fin && w->left <= WF_WS_CONTROL_MAX ? NULL : "a bad control frame of WebSocket";
    }
    if (w->opcode != (w->in_message ? CONTINUATION : BINARY)) return "a WebSocket frame that is not binary";
    w->in_message = !fin;
    return NULL;
}

/* Moves `size` bytes and unmasks them. It rotates the mask, so that the next bytes begin with its first byte
 * again. */
static void unmask(struct wf_ws *w, uint8_t *to, const uint8_t *from, size_t size)
{
    uint8_t turned[4];
    uint32_t mask, four;
    size_t i = 0;
    memcpy(&mask, w->mask, 4);
    memmove(to, from, size);
    for (; i + 4 <= size; i += 4) {
        memcpy(&four, to + i, 4);
        four ^= mask;
        memcpy(to + i, &four, 4);
    }
    for (; i < size; i++) to[i] ^= w->mask[i & 3];
    for (i = 0; i < 4; i++) turned[i] = w->mask[(i + size) & 3];
    memcpy(w->mask, turned, 4);
}

/* Takes the frame's next bytes; returns their number. */
static size_t take_bytes(struct wf_ws *w, uint8_t *data, const uint8_t *from, size_t size, size_t *payload)
{
    size_t n = (size_t)WF_MIN(w->left, (uint64_t)size);
    bool control = w->opcode >= CLOSE;
    unmask(w, control ? w->control + w->control_size : data + *payload, from, n);
    if (control) w->control_size += (unsigned)n;
    else *payload += n;
    w->left -= n;
    return n;
}

static const char *end_frame(struct wf_ws *w)
{
    w->in_frame = false;
    if (w->opcode == PING) {
        memcpy(w->ping, w->control, w->control_size);
        w->ping_size = w->control_size;
        w->pinged = true;
    }
    return w->opcode == CLOSE ? "closed by the other side" : NULL;
}

size_t wf_ws_take(struct wf_ws *w, uint8_t *data, size_t size, const char **over)
{
    size_t used = 0, payload = 0;
    *over = NULL;
    while (used < size && *over == NULL) {
        if (!w->in_frame) {
            w->header[w->header_size++] = data[used++];
            if (w->header_size < header_wanted(w)) continue;
            *over = begin_frame(w);
            if (*over != NULL) break;
        }
        used += take_bytes(w, data, data + used, size - used, &payload);
        if (w->left == 0) *over = end_frame(w);
    }
    return payload;
}
