/* pack_reference.h -- the former code of weft that wrote and read msgpack byte by byte, without msgpack-c.
 * pack_same_test.c compares with it, so do not change it. ref_put_str is the former weft_put_str, and so on. */
#ifndef PACK_REFERENCE_H
#define PACK_REFERENCE_H

#include <string.h>

#include "base.h"
#include <weft/error.h>
#include <weft/pack.h>

/* ---- Writer ---------------------------------------------------------------------------------------------------- */

/* Writes a tag byte, `value` in `width` bytes and `size` bytes of body: all of it or nothing. */
static void put(weft_writer *w, uint8_t tag, uint32_t width, uint64_t value, const void *body, size_t size)
{
    WF_ASSERT(width <= 8);
    if (w->error != 0) return;
    size_t head = 1 + width;
    if (w->size > SIZE_MAX - head || size > SIZE_MAX - head - w->size) {
        w->error = WEFT_ETOOBIG;
        return;
    }
    if (w->at != NULL) {
        if ((size_t)(w->end - w->at) < head + size) {
            w->error = WEFT_ETOOBIG;
            return;
        }
        *w->at++ = tag;
        for (uint32_t shift = width * 8; shift > 0; shift -= 8) *w->at++ = (uint8_t)(value >> (shift - 8));
        if (size > 0) {
            memcpy(w->at, body, size);
            w->at += size;
        }
    }
    w->size += head + size;
}

static void ref_put_nil(weft_writer *w)
{
    put(w, 0xC0, 0, 0, NULL, 0);
}

static void ref_put_bool(weft_writer *w, bool value)
{
    put(w, value ? 0xC3 : 0xC2, 0, 0, NULL, 0);
}

static void ref_put_uint(weft_writer *w, uint64_t value);

static void ref_put_int(weft_writer *w, int64_t value)
{
    if (value >= 0) {
        ref_put_uint(w, (uint64_t)value);
    } else if (value >= -32) {
        put(w, (uint8_t)value, 0, 0, NULL, 0);
    } else if (value >= INT8_MIN) {
        put(w, 0xD0, 1, (uint64_t)value, NULL, 0);
    } else if (value >= INT16_MIN) {
        put(w, 0xD1, 2, (uint64_t)value, NULL, 0);
    } else if (value >= INT32_MIN) {
        put(w, 0xD2, 4, (uint64_t)value, NULL, 0);
    } else {
        put(w, 0xD3, 8, (uint64_t)value, NULL, 0);
    }
}

static void ref_put_uint(weft_writer *w, uint64_t value)
{
    if (value < 0x80) {
        put(w, (uint8_t)value, 0, 0, NULL, 0);
    } else if (value <= UINT8_MAX) {
        put(w, 0xCC, 1, value, NULL, 0);
    } else if (value <= UINT16_MAX) {
        put(w, 0xCD, 2, value, NULL, 0);
    } else if (value <= UINT32_MAX) {
        put(w, 0xCE, 4, value, NULL, 0);
    } else {
        put(w, 0xCF, 8, value, NULL, 0);
    }
}

static void ref_put_real(weft_writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(w, 0xCB, 8, bits, NULL, 0);
}

/* A body with the first of the three tags (8, 16 and 32 bits of length) that can hold its length. */
static void put_body(weft_writer *w, uint8_t tag8, const void *data, size_t size)
{
    if (size <= UINT8_MAX) {
        put(w, tag8, 1, size, data, size);
    } else if (size <= UINT16_MAX) {
        put(w, (uint8_t)(tag8 + 1), 2, size, data, size);
    } else if (size <= UINT32_MAX) {
        put(w, (uint8_t)(tag8 + 2), 4, size, data, size);
    } else if (w->error == 0) {
        w->error = WEFT_ETOOBIG;
    }
}

static void ref_put_str(weft_writer *w, weft_text value)
{
    if (value.size < 32) {
        put(w, (uint8_t)(0xA0 | value.size), 0, 0, value.data, value.size);
    } else {
        put_body(w, 0xD9, value.data, value.size);
    }
}

static void ref_put_bin(weft_writer *w, const void *data, size_t size)
{
    put_body(w, 0xC4, data, size);
}

/* The head of a container: up to 15 elements in the tag itself, else 16 or 32 bits after it. */
static void put_count(weft_writer *w, uint8_t tag, uint8_t tag16, uint32_t count)
{
    if (count < 16) {
        put(w, (uint8_t)(tag | count), 0, 0, NULL, 0);
    } else if (count <= UINT16_MAX) {
        put(w, tag16, 2, count, NULL, 0);
    } else {
        put(w, (uint8_t)(tag16 + 1), 4, count, NULL, 0);
    }
}

static void ref_put_array(weft_writer *w, uint32_t count)
{
    put_count(w, 0x90, 0xDC, count);
}

static void ref_put_map(weft_writer *w, uint32_t count)
{
    put_count(w, 0x80, 0xDE, count);
}

static void ref_pack_raw(weft_writer *w, const void *data, size_t size)
{
    if (w->error != 0 || size == 0) return;
    if (size > SIZE_MAX - w->size || (w->at != NULL && (size_t)(w->end - w->at) < size)) {
        w->error = WEFT_ETOOBIG;
        return;
    }
    if (w->at != NULL) {
        memcpy(w->at, data, size);
        w->at += size;
    }
    w->size += size;
}

/* ---- Reader ---------------------------------------------------------------------------------------------------- */

struct item {
    weft_type type;
    uint32_t head;  /* bytes of tag and value */
    uint64_t value; /* the integer's or the double's bits, the bool, the body's length or the container's count */
    uint64_t body;  /* bytes after the head that belong to this value alone */
};

/* How to read the tags 0xC0 to 0xDF: what they start and how many bytes of value follow. */
enum { BAD = -1 };
static const struct {
    int8_t type;
    uint8_t width;
} tags[32] = {
    {WEFT_NIL, 0},   {BAD, 0},        {WEFT_BOOL, 0}, {WEFT_BOOL, 0}, /* c0 */
    {WEFT_BIN, 1},   {WEFT_BIN, 2},   {WEFT_BIN, 4},  {WEFT_EXT, 1},  /* c4 */
    {WEFT_EXT, 2},   {WEFT_EXT, 4},   {WEFT_REAL, 4}, {WEFT_REAL, 8}, /* c8 */
    {WEFT_UINT, 1},  {WEFT_UINT, 2},  {WEFT_UINT, 4}, {WEFT_UINT, 8}, /* cc */
    {WEFT_INT, 1},   {WEFT_INT, 2},   {WEFT_INT, 4},  {WEFT_INT, 8},  /* d0 */
    {WEFT_EXT, 0},   {WEFT_EXT, 0},   {WEFT_EXT, 0},  {WEFT_EXT, 0},  /* d4: of 1, 2, 4, 8 bytes */
    {WEFT_EXT, 0},   {WEFT_TEXT, 1},  {WEFT_TEXT, 2}, {WEFT_TEXT, 4}, /* d8: ext of 16 bytes */
    {WEFT_ARRAY, 2}, {WEFT_ARRAY, 4}, {WEFT_MAP, 2},  {WEFT_MAP, 4},  /* dc */
};

static uint64_t bits_of_float(uint32_t bits)
{
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    double wide = narrow;
    uint64_t out;
    memcpy(&out, &wide, sizeof out);
    return out;
}

/* The tags 0xC0 to 0xDF. False if the value's bytes are not all there. */
static bool decode_long(const uint8_t *at, size_t left, struct item *out)
{
    uint8_t tag = at[0];
    uint32_t width = tags[tag - 0xC0].width;
    if (tags[tag - 0xC0].type == BAD || left < 1 + width) return false;
    out->type = (weft_type)tags[tag - 0xC0].type;
    out->head = 1 + width;
    uint64_t value = 0;
    for (uint32_t i = 1; i <= width; i++) value = value << 8 | at[i];
    switch (out->type) {
    case WEFT_BOOL: value = tag & 1; break;
    case WEFT_REAL:
        if (width == 4) value = bits_of_float((uint32_t)value);
        break;
    case WEFT_INT: /* widen the sign */
        if (width < 8 && value >> (width * 8 - 1)) value |= ~UINT64_C(0) << (width * 8);
        break;
    case WEFT_UINT:
        if (value <= INT64_MAX) out->type = WEFT_INT;
        break;
    case WEFT_EXT:
        if (width == 0) value = UINT64_C(1) << (tag - 0xD4);
        out->head++; /* the application's type */
        break;
    default: break;
    }
    out->value = value;
    return true;
}

/* Reads the head of the value at `at`. True only if its body, or one byte for each value in it, is there as well. */
static bool decode(const uint8_t *at, const uint8_t *end, struct item *out)
{
    size_t left = (size_t)(end - at);
    if (left == 0) return false;
    uint8_t tag = at[0];
    out->head = 1;
    if (tag < 0x80 || tag >= 0xE0) {
        out->type = WEFT_INT;
        out->value = tag < 0x80 ? tag : ~UINT64_C(0xFF) | tag;
    } else if (tag < 0x90) {
        out->type = WEFT_MAP;
        out->value = tag & 0x0F;
    } else if (tag < 0xA0) {
        out->type = WEFT_ARRAY;
        out->value = tag & 0x0F;
    } else if (tag < 0xC0) {
        out->type = WEFT_TEXT;
        out->value = tag & 0x1F;
    } else if (!decode_long(at, left, out)) {
        return false;
    }
    if (left < out->head) return false;
    left -= out->head;
    out->body = 0;
    if (out->type == WEFT_TEXT || out->type == WEFT_BIN || out->type == WEFT_EXT) out->body = out->value;
    uint64_t least = out->body; /* bytes that must follow */
    if (out->type == WEFT_ARRAY) least = out->value;
    if (out->type == WEFT_MAP) least = out->value * 2; /* the count has 32 bits */
    return least <= left;
}

static void ref_fail(weft_reader *r)
{
    if (r->error == 0) r->error = WEFT_EFORMAT;
}

/* Whether the next value is well-formed and of type `want`; moves past its head and body then, else fails. */
static bool take(weft_reader *r, weft_type want, struct item *out)
{
    if (r->error != 0) return false;
    if (!decode(r->at, r->end, out) || out->type != want) {
        ref_fail(r);
        return false;
    }
    r->at += out->head + out->body;
    return true;
}

static bool is_next(const weft_reader *r, weft_type type, struct item *out)
{
    return r->error == 0 && decode(r->at, r->end, out) && out->type == type;
}

static bool ref_get_bool(weft_reader *r)
{
    struct item it;
    return take(r, WEFT_BOOL, &it) && it.value != 0;
}

static int64_t ref_get_int(weft_reader *r)
{
    struct item it;
    return take(r, WEFT_INT, &it) ? (int64_t)it.value : 0;
}

static uint64_t ref_get_uint(weft_reader *r)
{
    struct item it;
    if (is_next(r, WEFT_UINT, &it) || (is_next(r, WEFT_INT, &it) && it.value <= INT64_MAX)) {
        r->at += it.head;
        return it.value;
    }
    ref_fail(r);
    return 0;
}

static double ref_get_real(weft_reader *r)
{
    struct item it;
    double value;
    if (r->error == 0 && decode(r->at, r->end, &it)) {
        r->at += it.head;
        if (it.type == WEFT_INT) return (double)(int64_t)it.value;
        if (it.type == WEFT_UINT) return (double)it.value;
        if (it.type == WEFT_REAL) {
            memcpy(&value, &it.value, sizeof value);
            return value;
        }
        r->at -= it.head;
    }
    ref_fail(r);
    return 0;
}

static weft_text get_body(weft_reader *r, weft_type type)
{
    struct item it;
    if (!take(r, type, &it)) return weft_str("", 0);
    return weft_str((const char *)r->at - it.body, (size_t)it.body);
}

static weft_text ref_get_str(weft_reader *r)
{
    return get_body(r, WEFT_TEXT);
}

static weft_text ref_get_bin(weft_reader *r)
{
    return get_body(r, WEFT_BIN);
}

static uint32_t ref_get_array(weft_reader *r)
{
    struct item it;
    return take(r, WEFT_ARRAY, &it) ? (uint32_t)it.value : 0;
}

static uint32_t ref_get_map(weft_reader *r)
{
    struct item it;
    return take(r, WEFT_MAP, &it) ? (uint32_t)it.value : 0;
}

static bool ref_get_nil(weft_reader *r)
{
    struct item it;
    if (!is_next(r, WEFT_NIL, &it)) return false;
    r->at += it.head;
    return true;
}

static int ref_peek_type(const weft_reader *r)
{
    struct item it;
    if (r->error != 0 || !decode(r->at, r->end, &it)) return WEFT_EFORMAT;
    return (int)it.type;
}

/* Moves past one value with all that is in it, of `levels` at most. On an error r->at is at the fault; r->error is
 * the caller's to set. */
static int walk(weft_reader *r, size_t budget, uint32_t levels)
{
    WF_ASSERT(levels <= WEFT_NEST_MAX);
    uint64_t pending[WEFT_NEST_MAX]; /* values still to come, per open container */
    uint32_t depth = 0;
    do {
        struct item it;
        if (!decode(r->at, r->end, &it)) return WEFT_EFORMAT;
        if (budget-- == 0) return WEFT_ETOOBIG;
        uint64_t children = it.type == WEFT_ARRAY ? it.value : it.type == WEFT_MAP ? it.value * 2 : 0;
        if (it.type == WEFT_ARRAY || it.type == WEFT_MAP) {
            if (depth == levels || children > budget) return WEFT_ETOOBIG;
        }
        r->at += it.head + it.body;
        if (children > 0) {
            pending[depth++] = children;
        } else {
            while (depth > 0 && --pending[depth - 1] == 0) depth--;
        }
    } while (depth > 0);
    return 0;
}

static void ref_skip(weft_reader *r)
{
    if (r->error == 0 && walk(r, SIZE_MAX, WEFT_NEST_MAX) != 0) ref_fail(r);
}

static void ref_pack_skip(weft_reader *r, uint32_t levels)
{
    if (r->error == 0 && walk(r, SIZE_MAX, levels) != 0) ref_fail(r);
}

static int ref_pack_check(const void *data, size_t size, size_t elements_max, size_t *where)
{
    weft_reader r = weft_reader_on(data, size);
    int rc = walk(&r, elements_max, WEFT_NEST_MAX);
    if (rc == 0 && r.at != r.end) rc = WEFT_EFORMAT;
    if (rc != 0 && where != NULL) *where = (size_t)(r.at - r.start);
    return rc;
}

#endif
