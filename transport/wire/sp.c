/* transport/wire/sp.c -- cuts a stream of SP into messages: the format is in sp.h. */
#include "sp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_MIN = 4096,           /* a read gets at least this many free bytes */
    BUFFER_KEPT = 1024 * 1024, /* a larger buffer, needed for a large message, is freed afterwards */
};

const uint8_t wf_sp_header[WF_SP_HEADER] = {0, 'S', 'P', 0, 0, 0x10, 0, 0};

void wf_sp_init(struct wf_sp *s, bool local, size_t first_capacity, uint64_t message_max)
{
    *s = (struct wf_sp){.first_capacity = first_capacity, .message_max = message_max, .local = local};
}

void wf_sp_finish(struct wf_sp *s)
{
    free(s->buffer);
    s->buffer = NULL;
}

bool wf_sp_reserve(struct wf_sp *s, size_t wanted)
{
    size_t used = s->end - s->start;
    if (s->start > 0 && used > 0) memmove(s->buffer, s->buffer + s->start, used);
    s->start = 0;
    s->end = used;
    size_t need = WF_MAX(s->first_capacity, WF_MAX(wanted, used + READ_MIN));
    bool shrink = s->capacity > BUFFER_KEPT && need <= BUFFER_KEPT;
    if (need <= s->capacity && !shrink) return true;
    uint8_t *other = realloc(s->buffer, need);
    if (other == NULL) return need <= s->capacity;
    s->buffer = other;
    s->capacity = need;
    return true;
}

/* If the other side speaks TLS, its first byte is that of an alert (this node has dialled) or of a handshake. */
static void explain_stranger(uint8_t first, char *why, size_t why_size)
{
    const char *text = first == 0x15   ? "that port speaks TLS: use tls+tcp:// and --tls"
                       : first == 0x16 ? "it speaks TLS, this port does not: it has to use tcp://, or this node "
                                         "tls+tcp:// and --tls"
                                       : "does not speak the SP protocol of PAIR";
    snprintf(why, why_size, "%s", text);
}

static enum wf_sp_result next_header(struct wf_sp *s, size_t *wanted, char *why, size_t why_size)
{
    size_t n = WF_MIN(s->end - s->start, (size_t)WF_SP_HEADER);
    if (n > 0 && memcmp(s->buffer + s->start, wf_sp_header, n) != 0) {
        explain_stranger(s->buffer[s->start], why, why_size);
        return WF_SP_BROKEN;
    }
    *wanted = WF_SP_HEADER;
    if (n < WF_SP_HEADER) return WF_SP_MORE;
    s->start += WF_SP_HEADER;
    s->greeted = true;
    return WF_SP_GREETED;
}

enum wf_sp_result wf_sp_next(struct wf_sp *s, const uint8_t **data, size_t *size, size_t *wanted, char *why,
                             size_t why_size)
{
    if (!s->greeted) return next_header(s, wanted, why, why_size);
    if (s->unread > 0) {
        *data = s->buffer + s->start;
        *size = s->unread;
        s->start += s->unread;
        s->unread = 0;
        return WF_SP_MESSAGE;
    }
    size_t prefix = s->local ? 9 : 8;
    size_t have = s->end - s->start;
    const uint8_t *at = s->buffer + s->start;
    *wanted = prefix;
    if (have > 0 && s->local && at[0] != 1) {
        snprintf(why, why_size, "unknown type of message on a local socket");
        return WF_SP_BROKEN;
    }
    if (have < prefix) return WF_SP_MORE;
    uint64_t length = 0;
    for (size_t i = prefix - 8; i < prefix; i++) length = length << 8 | at[i];
    if (length > s->message_max) {
        snprintf(why, why_size, "a message of %llu bytes is over the limit of %llu", (unsigned long long)length,
                 (unsigned long long)s->message_max);
        return WF_SP_BROKEN;
    }
    *wanted = prefix + (size_t)length;
    if (have < *wanted) return WF_SP_MORE;
    *data = at + prefix;
    *size = (size_t)length;
    s->start += *wanted;
    return WF_SP_MESSAGE;
}

void wf_sp_unread(struct wf_sp *s, size_t left)
{
    WF_ASSERT(left <= s->start && s->unread == 0);
    s->start -= left;
    s->unread = left;
}

size_t wf_sp_prefix(uint8_t out[WF_SP_PREFIX_MAX], bool local, uint64_t size)
{
    size_t n = 0;
    if (local) out[n++] = 1;
    for (int shift = 56; shift >= 0; shift -= 8) out[n++] = (uint8_t)(size >> shift);
    return n;
}
