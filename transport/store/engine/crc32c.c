/* transport/store/engine/crc32c.c -- CRC-32C, eight bytes at a time from eight tables. */
#include "crc32c.h"

enum { SLICES = 8 };
static uint32_t table[SLICES][256];

/* Runs before main: it takes some microseconds, and no thread has to check whether the tables exist. */
__attribute__((constructor)) static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (UINT32_C(0x82F63B78) & (0u - (value & 1)));
        table[0][i] = value;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int i = 0; i < 256; i++)
            table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 0xFF];
}

static uint32_t eight_bytes(uint32_t sum, const uint8_t *at)
{
    uint32_t low = sum ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
    return table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24] ^
           table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
}

uint32_t wf_crc32c(uint32_t sum, const void *data, size_t size)
{
    const uint8_t *at = data;
    sum = ~sum;
    for (; size >= 8; size -= 8, at += 8) sum = eight_bytes(sum, at);
    for (; size > 0; size--, at++) sum = (sum >> 8) ^ table[0][(sum ^ *at) & 0xFF];
    return ~sum;
}
