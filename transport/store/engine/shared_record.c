/* transport/store/engine/shared_record.c -- see shared_record.h.
 *
 * A version (1), the kind, the size of the topic: a byte each. Then epoch, offset, missing, time (8 bytes each) and
 * tag (4), the lowest byte first; the topic; the bytes of the record. */
#include <assert.h>
#include <string.h>

#include "engine.h"
#include "shared_record.h"

enum { VERSION = 1, NUMBERS = 3 + 4 * 8 + 4 };

static_assert(NUMBERS + WF_STORE_TOPIC_MAX <= WF_SHARED_HEAD_MAX, "the bytes in front of the record");

bool wf_shared_is(const char *name)
{
    return strncmp(name, WF_SHARED_PREFIX, WF_SHARED_PREFIX_SIZE) == 0 && name[WF_SHARED_PREFIX_SIZE] != '\0';
}

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8) *to++ = (uint8_t)value;
    return to;
}

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i > 0; i--) value = value << 8 | from[i - 1];
    return value;
}

size_t wf_shared_size(const struct wf_shared_record *r)
{
    return NUMBERS + r->topic_size + r->size;
}

void wf_shared_put(const struct wf_shared_record *r, void *out)
{
    uint8_t *to = put(out, VERSION, 1);
    to = put(to, r->kind, 1);
    to = put(to, r->topic_size, 1);
    to = put(to, r->epoch, 8);
    to = put(to, r->offset, 8);
    to = put(to, r->missing, 8);
    to = put(to, (uint64_t)r->time, 8);
    to = put(to, r->tag, 4);
    memcpy(to, r->topic, r->topic_size);
    if (r->size > 0) memcpy(to + r->topic_size, r->data, r->size);
}

bool wf_shared_read(const void *data, size_t size, struct wf_shared_record *out)
{
    const uint8_t *at = data;
    *out = (struct wf_shared_record){.kind = WF_SHARED_RECORD};
    if (size < NUMBERS || at[0] != VERSION || at[1] > WF_SHARED_EPOCH || size - NUMBERS < at[2]) return false;
    *out = (struct wf_shared_record){.kind = (enum wf_shared_kind)at[1],
                                     .topic = (const char *)at + NUMBERS,
                                     .topic_size = at[2],
                                     .epoch = get(at + 3, 8),
                                     .offset = get(at + 11, 8),
                                     .missing = get(at + 19, 8),
                                     .time = (int64_t)get(at + 27, 8),
                                     .tag = (uint32_t)get(at + 35, 4),
                                     .data = at + NUMBERS + at[2],
                                     .size = size - NUMBERS - at[2]};
    return true;
}
