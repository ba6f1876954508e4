/* transport/link/seal.h -- encrypts the numbers of requests that other nodes see.
 *
 * A node counts its requests, and a node that knows the number of a request can answer it. So a number leaves the node
 * only encrypted, by Speck64/128 (Beaulieu and others, "The SIMON and SPECK Families of Lightweight Block Ciphers",
 * 2013), with a random key of the link it is sent over. A number that comes back over a link is decrypted with the key
 * of that link: the result is the number of a request only if this node has sent that request over this link. Nothing
 * has to be stored per request, and requests within the node cost nothing. */
#ifndef WF_SEAL_H
#define WF_SEAL_H

#include "base.h"

enum { WF_SEAL_ROUNDS = 27, WF_SEAL_KEY = 4 /* words */ };

struct wf_seal {
    uint32_t round[WF_SEAL_ROUNDS];
};

static inline uint32_t wf_seal_left(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static inline void wf_seal_init(struct wf_seal *s, const uint32_t key[WF_SEAL_KEY])
{
    uint32_t k = key[0], l[3] = {key[1], key[2], key[3]};
    for (uint32_t i = 0; i < WF_SEAL_ROUNDS; i++) {
        s->round[i] = k;
        l[i % 3] = (k + wf_seal_left(l[i % 3], 24)) ^ i;
        k = wf_seal_left(k, 3) ^ l[i % 3];
    }
}

static inline uint64_t wf_seal(const struct wf_seal *s, uint64_t number)
{
    uint32_t x = (uint32_t)(number >> 32), y = (uint32_t)number;
    for (uint32_t i = 0; i < WF_SEAL_ROUNDS; i++) {
        x = (wf_seal_left(x, 24) + y) ^ s->round[i];
        y = wf_seal_left(y, 3) ^ x;
    }
    return (uint64_t)x << 32 | y;
}

static inline uint64_t wf_unseal(const struct wf_seal *s, uint64_t sealed)
{
    uint32_t x = (uint32_t)(sealed >> 32), y = (uint32_t)sealed;
    for (uint32_t i = WF_SEAL_ROUNDS; i-- > 0;) {
        y = wf_seal_left(y ^ x, 29);
        x = wf_seal_left((x ^ s->round[i]) - y, 8);
    }
    return (uint64_t)x << 32 | y;
}

#endif
