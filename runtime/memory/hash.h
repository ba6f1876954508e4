/* runtime/memory/hash.h -- the hash of names and words: FNV-1a, 32 bits, with a final mix so that the low bits can
 * index a table; and what spreads keys over places. */
#ifndef WF_HASH_H
#define WF_HASH_H

#include "base.h"
#include "hash_table.h"

static inline uint32_t wf_hash(const char *data, size_t size, uint32_t seed)
{
    uint32_t h = UINT32_C(2166136261) ^ seed;
    for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)data[i]) * UINT32_C(16777619);
    h ^= h >> 16;
    h *= UINT32_C(0x85EBCA6B);
    return h ^ h >> 13;
}

/* 64 bits into 64 others that look random; the end of SplitMix64. */
static inline uint64_t wf_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Which of so many places a key has: of n + 1 places instead of n, one in n + 1 keys moves, to the last one. Lamping
 * and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014). */
static inline uint32_t wf_jump(uint64_t key, uint32_t places)
{
    int64_t last = -1, at = 0;
    while (at < (int64_t)places) {
        last = at;
        key = key * UINT64_C(2862933555777941757) + 1;
        at = (int64_t)((double)(last + 1) * ((double)(INT64_C(1) << 31) / (double)((key >> 33) + 1)));
    }
    return (uint32_t)last;
}

/* Letters, digits, '_', '-' and '$': what words of topics are made of, and names together with '.'. */
static inline bool wf_is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '$';
}

#endif
