/* transport/store/engine/crc32c.c -- CRC-32C, eight bytes at a time: by the instruction that x86-64 has for it, or from
 * eight tables.
 *
 * The instruction takes three cycles, and a processor begins one in each cycle. So of long data three lanes beside each
 * other are summed at a time. A sum is linear: the sum of two parts is that of the first one, as it is behind as many
 * zeroes as the second part has bytes, with that of the second one. */
#include "crc32c.h"

#include <stdbool.h>
#include <string.h>

enum { SLICES = 8, LANE = 168 }; /* LANE: bytes; records of a kilobyte are two times three of them */
static uint32_t table[SLICES][256];
static uint32_t behind_lane[4][256]; /* for each byte of a sum: what it is behind a lane of zeroes */
static bool has_instruction;

static void make_lane_tables(void)
{
    for (int bit = 0; bit < 32; bit++) {
        uint32_t sum = UINT32_C(1) << bit;
        for (int i = 0; i < LANE; i++) sum = (sum >> 8) ^ table[0][sum & 0xFF];
        uint32_t *of_byte = behind_lane[bit / 8];
        for (int i = 0; i < 256; i++)
            if ((i >> bit % 8 & 1) != 0) of_byte[i] ^= sum;
    }
}

/* Runs before main: it takes some microseconds, and no thread has to check whether the tables exist. */
__attribute__((constructor)) static void make_tables(void)
{
#ifdef __x86_64__
    has_instruction = __builtin_cpu_supports("sse4.2");
#endif
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (UINT32_C(0x82F63B78) & (0u - (value & 1)));
        table[0][i] = value;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int i = 0; i < 256; i++)
            table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 0xFF];
    make_lane_tables();
}

static uint32_t eight_bytes(uint32_t sum, const uint8_t *at)
{
    uint32_t low = sum ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
    return table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24] ^
           table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
}

#ifdef __x86_64__
static uint64_t move_behind_lane(uint64_t sum)
{
    return behind_lane[0][sum & 0xFF] ^ behind_lane[1][sum >> 8 & 0xFF] ^ behind_lane[2][sum >> 16 & 0xFF] ^
           behind_lane[3][sum >> 24 & 0xFF];
}

__attribute__((target("sse4.2"))) static uint64_t three_lanes(uint64_t first, const uint8_t *at)
{
    uint64_t second = 0, third = 0, eight[3];
    for (size_t i = 0; i < LANE; i += sizeof *eight, at += sizeof *eight) {
        memcpy(&eight[0], at, sizeof *eight);
        memcpy(&eight[1], at + LANE, sizeof *eight);
        memcpy(&eight[2], at + 2 * (size_t)LANE, sizeof *eight);
        first = __builtin_ia32_crc32di(first, eight[0]);
        second = __builtin_ia32_crc32di(second, eight[1]);
        third = __builtin_ia32_crc32di(third, eight[2]);
    }
    return move_behind_lane(move_behind_lane(first) ^ second) ^ third;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t sum, const uint8_t *at, size_t size)
{
    uint64_t wide = sum, eight;
    for (; size >= 3 * (size_t)LANE; size -= 3 * (size_t)LANE, at += 3 * (size_t)LANE) wide = three_lanes(wide, at);
    for (; size >= sizeof eight; size -= sizeof eight, at += sizeof eight) {
        memcpy(&eight, at, sizeof eight);
        wide = __builtin_ia32_crc32di(wide, eight);
    }
    sum = (uint32_t)wide;
    for (; size > 0; size--, at++) sum = __builtin_ia32_crc32qi(sum, *at);
    return sum;
}
#else
static uint32_t by_instruction(uint32_t sum, const uint8_t *at, size_t size)
{
    (void)at, (void)size;
    return sum; /* has_instruction is false */
}
#endif

uint32_t wf_crc32c_by_tables(uint32_t sum, const void *data, size_t size)
{
    const uint8_t *at = data;
    sum = ~sum;
    for (; size >= 8; size -= 8, at += 8) sum = eight_bytes(sum, at);
    for (; size > 0; size--, at++) sum = (sum >> 8) ^ table[0][(sum ^ *at) & 0xFF];
    return ~sum;
}

uint32_t wf_crc32c(uint32_t sum, const void *data, size_t size)
{
    return has_instruction ? ~by_instruction(~sum, data, size) : wf_crc32c_by_tables(sum, data, size);
}
