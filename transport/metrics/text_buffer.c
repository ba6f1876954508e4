/* transport/metrics/text_buffer.c -- see text_buffer.h. */
#include "text_buffer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Makes space for `size` bytes and a NUL. */
static bool reserve(struct wf_text_buffer *o, size_t size)
{
    if (o->failed) return false;
    if (o->capacity - o->size > size) return true;
    size_t capacity = o->capacity * 2 + size + 4096;
    char *more = realloc(o->data, capacity);
    o->failed = more == NULL;
    if (o->failed) return false;
    o->data = more;
    o->capacity = capacity;
    return true;
}

void wf_text_buffer_put(struct wf_text_buffer *o, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && reserve(o, (size_t)n)) {
        vsnprintf(o->data + o->size, (size_t)n + 1, format, again);
        o->size += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

static void put_bytes(struct wf_text_buffer *o, const char *bytes, size_t size)
{
    if (size == 0 || !reserve(o, size)) return;
    memcpy(o->data + o->size, bytes, size);
    o->size += size;
    o->data[o->size] = '\0';
}

/* Bytes that are not UTF-8 become U+FFFD. '<' is written as a number, so that no name can end a script element. */
static void put_string(struct wf_text_buffer *o, weft_text t)
{
    put_bytes(o, "\"", 1);
    for (size_t i = 0, n; i < t.size; i += n) {
        size_t whole = wf_utf8_size((const uint8_t *)t.data + i, t.size - i);
        unsigned char c = (unsigned char)t.data[i];
        n = whole == 0 ? 1 : whole;
        if (whole == 0) wf_text_buffer_put(o, "\\ufffd");
        else if (c < ' ' || c == '"' || c == '\\' || c == '<') wf_text_buffer_put(o, "\\u%04x", c);
        else put_bytes(o, t.data + i, n);
    }
    put_bytes(o, "\"", 1);
}

static void put_list(struct wf_text_buffer *o, weft_reader *r, bool map)
{
    uint32_t count = map ? weft_get_map(r) : weft_get_array(r);
    put_bytes(o, map ? "{" : "[", 1);
    for (uint32_t i = 0; i < count && r->error == 0; i++) {
        if (i > 0) put_bytes(o, ",", 1);
        if (map) put_string(o, weft_get_str(r));
        if (map) put_bytes(o, ":", 1);
        wf_text_buffer_json(o, r);
    }
    put_bytes(o, map ? "}" : "]", 1);
}

static void put_real(struct wf_text_buffer *o, double value)
{
    if (isfinite(value)) wf_text_buffer_put(o, "%.17g", value);
    else wf_text_buffer_put(o, "null");
}

/* Recursion is bounded: checked msgpack nests at most WEFT_NEST_MAX deep. */
void wf_text_buffer_json(struct wf_text_buffer *o, weft_reader *r)
{
    switch (weft_peek_type(r)) {
    case WEFT_BOOL: wf_text_buffer_put(o, "%s", weft_get_bool(r) ? "true" : "false"); break;
    case WEFT_INT: wf_text_buffer_put(o, "%" PRId64, weft_get_int(r)); break;
    case WEFT_UINT: wf_text_buffer_put(o, "%" PRIu64, weft_get_uint(r)); break;
    case WEFT_REAL: put_real(o, weft_get_real(r)); break;
    case WEFT_TEXT: put_string(o, weft_get_str(r)); break;
    case WEFT_ARRAY: put_list(o, r, false); break;
    case WEFT_MAP: put_list(o, r, true); break;
    default: weft_skip(r); wf_text_buffer_put(o, "null");
    }
}
