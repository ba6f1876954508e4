/* cli/options/quote.c -- see quote.h. */
#include "quote.h"

#include <stdio.h>
#include <weft/log.h>

const char *cli_quote(char out[CLI_QUOTED], const char *text, size_t size)
{
    size_t shown = size, n = 0;
    if (size > CLI_QUOTE_BYTES) {
        shown = CLI_QUOTE_BYTES;
        while (shown > CLI_QUOTE_BYTES - 4 && ((unsigned char)text[shown] & 0xC0) == 0x80)
            shown--; /* whole letters */
    }
    out[n++] = '\'';
    for (size_t at = 0; at < shown;) {
        size_t plain = weft_printable(text + at, shown - at, NULL);
        memcpy(out + n, text + at, plain);
        n += plain;
        at += plain;
        if (at < shown) n += (size_t)snprintf(out + n, 5, "\\x%02X", (unsigned char)text[at++]);
    }
    if (shown == size) snprintf(out + n, CLI_QUOTED - n, "'");
    else snprintf(out + n, CLI_QUOTED - n, "...' (%zu bytes)", size);
    return out;
}
