/* webchat_http.h -- webchat.c's HTTP: reads one request with http_parser, and makes the answer of a WebSocket's
 * handshake. */
#ifndef WEBCHAT_HTTP_H
#define WEBCHAT_HTTP_H

#include <ctype.h>
#include <http_parser.h>
#include <strings.h>

enum { REQUEST_BYTES = 8192, VALUE_BYTES = 256 };

/* The headers that are needed here. */
#define HEADERS(X)                         \
    X(HOST, "Host")                        \
    X(ORIGIN, "Origin")                    \
    X(UPGRADE, "Upgrade")                  \
    X(WS_VERSION, "Sec-WebSocket-Version") \
    X(WS_KEY, "Sec-WebSocket-Key")
#define HEADER_CONSTANT(name, text) name,
#define HEADER_NAME(name, text) text,
enum { HEADERS(HEADER_CONSTANT) HEADER_COUNT };

struct request {
    char url[VALUE_BYTES], name[VALUE_BYTES], value[HEADER_COUNT][VALUE_BYTES];
    bool whole, in_value;
    int header;  /* the header of the next value; HEADER_COUNT: one that is not needed */
    size_t body; /* the position in the buffer at which the request ends */
    struct http_parser parser;
};

/* A value that does not fit is cut off; no value that is needed here is so long. */
static int append(char to[VALUE_BYTES], const char *data, size_t size)
{
    size_t used = strlen(to), room = VALUE_BYTES - 1 - used;
    if (size > room) size = room;
    memcpy(to + used, data, size);
    to[used + size] = 0;
    return 0;
}

static int on_url(http_parser *p, const char *data, size_t size)
{
    return append(((struct request *)p->data)->url, data, size);
}

static int on_header_field(http_parser *p, const char *data, size_t size)
{
    struct request *r = p->data;
    if (r->in_value) r->name[0] = 0;
    r->in_value = false;
    return append(r->name, data, size);
}

static int on_header_value(http_parser *p, const char *data, size_t size)
{
    static const char *const names[] = {HEADERS(HEADER_NAME)};
    struct request *r = p->data;
    if (!r->in_value) {
        r->header = 0;
        while (r->header < HEADER_COUNT && strcasecmp(names[r->header], r->name) != 0) r->header++;
        if (r->header < HEADER_COUNT && r->value[r->header][0] != 0) return 1; /* given twice */
    }
    r->in_value = true;
    return r->header < HEADER_COUNT ? append(r->value[r->header], data, size) : 0;
}

static int on_message_complete(http_parser *p)
{
    ((struct request *)p->data)->whole = true;
    http_parser_pause(p, 1); /* one request for each connection */
    return 0;
}

/* Reads a request into `buffer`. Returns the number of bytes in it, negative if there is no request. */
static int64_t read_request(struct request *r, weft_stream s, char buffer[REQUEST_BYTES], int64_t deadline)
{
    static const http_parser_settings settings = {.on_url = on_url,
                                                  .on_header_field = on_header_field,
                                                  .on_header_value = on_header_value,
                                                  .on_message_complete = on_message_complete};
    size_t used = 0;
    *r = (struct request){.header = HEADER_COUNT};
    http_parser_init(&r->parser, HTTP_REQUEST);
    r->parser.data = r;
    while (!r->whole) {
        if (used == REQUEST_BYTES) return WEFT_ETOOBIG;
        int64_t n = weft_read(s, buffer + used, REQUEST_BYTES - used, deadline);
        if (n <= 0) return n == 0 ? WEFT_ECLOSED : n;
        size_t parsed = http_parser_execute(&r->parser, &settings, buffer + used, (size_t)n);
        if (!r->whole && (r->parser.upgrade || parsed != (size_t)n)) return WEFT_EFORMAT;
        r->body = used + parsed;
        used += (size_t)n;
    }
    return (int64_t)used;
}

/* Returns the value of `name` in the part of the url after '?', or "". Letters and digits need no decoding, and
 * other characters are not accepted. */
static void query_value(const char *url, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    const char *at = strchr(url, '?');
    out[0] = 0;
    while (at != NULL) {
        at++;
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            at += length + 1;
            snprintf(out, size, "%.*s", (int)strcspn(at, "&"), at);
            return;
        }
        at = strchr(at, '&');
    }
}

/* ---- Sec-WebSocket-Accept -------------------------------------------------------------------------------------- */

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* SHA-1 (RFC 3174) of one block. The library's own, for ws://, is not public, so an example cannot use it. */
static void sha1_block(uint32_t h[5], const unsigned char *block)
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

/* Makes the server's answer to a key, which proves that it knows the protocol. `key` has 24 bytes: two blocks, with
 * the added text. */
static void accept_key(const char *key, char out[29])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char text[128] = {0}, sum[21] = {0};
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    size_t size = (size_t)snprintf((char *)text, 110, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    text[size] = 0x80;
    text[sizeof text - 2] = (unsigned char)(size * 8 >> 8);
    text[sizeof text - 1] = (unsigned char)(size * 8);
    for (size_t i = 0; i < sizeof text; i += 64) sha1_block(h, text + i);
    for (int i = 0; i < 20; i++) sum[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
    for (int i = 0; i < 7; i++) {
        uint32_t three = (uint32_t)sum[3 * i] << 16 | (uint32_t)sum[3 * i + 1] << 8 | sum[3 * i + 2];
        for (int k = 0; k < 4; k++) out[4 * i + k] = digits[three >> (18 - 6 * k) & 63];
    }
    out[27] = '='; /* 20 bytes are 27 digits */
    out[28] = 0;
}

#endif
