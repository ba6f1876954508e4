/* actors/data/text.h -- rules for text that several files share. */
#ifndef WF_TEXT_H
#define WF_TEXT_H

#include "base.h"

#include "utf8.h"

#include <string.h>

enum { WF_NAME_MAX = 64 };

/* Checks names of nodes, clusters and exclusive names: 1 to 64 letters, digits, '_', '-', '.'. */
static inline bool wf_is_name(const char *name)
{
    size_t size = strlen(name);
    return size >= 1 && size <= WF_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == size;
}

/* Makes an ASCII letter lower case. */
static inline char wf_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

#define WF_BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* Writes the next four digits of base64, for the next three bytes, or for the one or two bytes that are left. */
static inline void wf_base64(const uint8_t *bytes, size_t left, char out[4])
{
    static const char digits[] = WF_BASE64_DIGITS;
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (left > 1) bits |= (uint32_t)bytes[1] << 8;
    if (left > 2) bits |= bytes[2];
    out[0] = digits[bits >> 18];
    out[1] = digits[bits >> 12 & 63];
    out[2] = left > 1 ? digits[bits >> 6 & 63] : '=';
    out[3] = left > 2 ? digits[bits & 63] : '=';
}

#endif
