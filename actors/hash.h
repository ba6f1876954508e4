/* actors/hash.h -- the hash of names and words: FNV-1a, 32 bits, with a final mix so that the low bits can index a
 * table. */
#ifndef WF_HASH_H
#define WF_HASH_H

#include "base.h"

static inline uint32_t wf_hash(const char *data, size_t size, uint32_t seed)
{
    uint32_t h = UINT32_C(2166136261) ^ seed;
    for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)data[i]) * UINT32_C(16777619);
    h ^= h >> 16;
    h *= UINT32_C(0x85EBCA6B);
    return h ^ h >> 13;
}

/* Letters, digits, '_', '-' and '$': what words of topics are made of, and names together with '.'. */
static inline bool wf_is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '$';
}

#endif
