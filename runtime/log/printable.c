/* runtime/log/printable.c -- which part of a text a terminal may get as it is: see weft/log.h. */
#include "utf8.h"

#include <weft/log.h>

/* Of a well-formed character of that many bytes, 1 to 4. */
static uint32_t code_of(const uint8_t *at, size_t size)
{
    static const uint8_t mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = at[0] & mask[size];
    for (size_t i = 1; i < size; i++) code = code << 6 | (at[i] & 0x3F);
    return code;
}

/* Controls, and what turns the direction of the text or breaks its line. */
static bool is_obeyed(uint32_t code)
{
    if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return true;
    return code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

size_t weft_printable(const char *text, size_t size, uint32_t *stop)
{
    const uint8_t *bytes = (const uint8_t *)text;
    uint32_t found = 0;
    size_t at = 0, n;
    for (; at < size && found == 0; at += found == 0 ? n : 0) {
        while (at < size && bytes[at] >= 0x20 && bytes[at] < 0x7F) at++; /* most of it */
        if (at == size) break;
        n = wf_utf8_size(bytes + at, size - at);
        uint32_t code = n == 0 ? 0xFFFD : code_of(bytes + at, n);
        if (n == 0 || is_obeyed(code)) found = code == 0 ? UINT32_MAX : code;
    }
    if (stop != NULL) *stop = found == UINT32_MAX ? 0 : found;
    return at;
}
