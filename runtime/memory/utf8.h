/* runtime/memory/utf8.h -- characters of UTF-8. */
#ifndef WF_UTF8_H
#define WF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 character at `at` has; 0: it is not well-formed, as overlong forms and surrogates. */
static inline size_t wf_utf8_size(const uint8_t *at, size_t left)
{
    uint8_t b = at[0], low = 0x80, high = 0xBF;
    size_t size = b < 0x80 ? 1 : b < 0xC2 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b < 0xF5 ? 4 : 0;
    if (size < 2) return size;
    if (b == 0xE0) low = 0xA0;
    if (b == 0xED) high = 0x9F;
    if (b == 0xF0) low = 0x90;
    if (b == 0xF4) high = 0x8F;
    if (left < size || at[1] < low || at[1] > high) return 0;
    for (size_t i = 2; i < size; i++) {
        if (at[i] < 0x80 || at[i] > 0xBF) return 0;
    }
    return size;
}

/* For a text that has been cut to `size` bytes: without the character at its end of which bytes are missing. Text that
 * is not UTF-8 has no more than a last byte too few. */
static inline size_t wf_utf8_whole(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t first = size;
    while (first > 0 && size - first < 3 && (bytes[first - 1] & 0xC0) == 0x80) first--;
    if (first == 0 || bytes[first - 1] < 0xC0) return size;
    return wf_utf8_size(bytes + first - 1, size - first + 1) == 0 ? first - 1 : size;
}

#endif
