/* random.h -- a seeded generator (splitmix64), the same on all systems, so that a failing seed can be run again. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* 0 to n - 1. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(random_next(state) % n);
}

/* A span or time from `least` to less than `most`, in whole microseconds above `least`. */
static inline int64_t random_between(uint64_t *state, int64_t least, int64_t most)
{
    return least + (int64_t)random_below(state, (uint32_t)((most - least) / 1000)) * 1000;
}

#endif
