/* runtime/memory/hash.h -- the hash of names and words, and functions that spread keys over places. */
#ifndef WF_HASH_H
#define WF_HASH_H

#include "base.h"
#include "hash_table.h"

#include <string.h>

/* Turns 64 bits into 64 others that look random; this is the last step of SplitMix64. */
static inline uint64_t wf_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint64_t wf_hash_word(const char *data, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, data, size);
    return word;
}

/* Eight bytes at a time, all mixed with `seed`: if the seed is a secret, an attacker cannot choose texts with equal
 * hashes. (With FNV and a secret seed he can, because only the seed's lowest byte matters.) The last eight bytes may
 * overlap those before them. */
static inline uint32_t wf_hash(const char *data, size_t size, uint64_t seed)
{
    uint64_t h = seed + size;
    size_t at = 0;
    for (; at + 8 < size; at += 8) h = wf_mix(h ^ wf_hash_word(data + at, 8));
    if (size >= 8) return (uint32_t)wf_mix(h ^ wf_hash_word(data + size - 8, 8));
    if (size >= 4) return (uint32_t)wf_mix(h ^ (wf_hash_word(data, 4) << 32 | wf_hash_word(data + size - 4, 4)));
    uint64_t few = 0;
    for (; at < size; at++) few = few << 8 | (uint8_t)data[at];
    return (uint32_t)wf_mix(h ^ few);
}

/* Returns the place of a key: with n + 1 places instead of n, one in n + 1 keys moves, to the last place. Lamping and
 * Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014). */
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
