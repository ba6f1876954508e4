/* Compares actors/data/pack.c, which uses msgpack-c, with pack_reference.h, which does not: bytes, values, views,
 * errors and their positions. PACK_RUNS in the environment: the number of random runs; PACK_SEED: the first seed. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "pack_reference.h"
#include "../random.h"
#include "typed.h"
#include "../../../suite.h"

static uint64_t from_environment(const char *name, uint64_t instead)
{
    const char *text = getenv(name);
    return text == NULL ? instead : strtoull(text, NULL, 10);
}

static uint64_t runs(void)
{
    return from_environment("PACK_RUNS", (uint64_t)repeats(100000));
}

static uint64_t first_seed(void)
{
    return from_environment("PACK_SEED", 1);
}

/* Check writes into a file for each assertion of its own, however it ends. */
#define SAME(condition) \
    if (!(condition)) ck_abort_msg("PACK_SEED=%" PRIu64 " PACK_RUNS=1: " #condition, run)

/* Mostly small, of every width, often at the edge of one. */
static uint64_t some_bits(uint64_t *seed)
{
    static const uint8_t edges[] = {5, 7, 8, 15, 16, 31, 32, 63};
    uint64_t bits = random_next(seed) >> random_below(seed, 64);
    if (random_below(seed, 3) == 0) bits = (UINT64_C(1) << edges[random_below(seed, 8)]) + random_below(seed, 3) - 1;
    return random_below(seed, 2) == 0 ? bits : ~bits;
}

static size_t some_size(uint64_t *seed)
{
    static const size_t sizes[] = {0, 1, 15, 16, 31, 32, 33, 255, 256, 65535, 65536, 70000};
    return random_below(seed, 16) == 0 ? sizes[random_below(seed, 12)] : random_below(seed, 40);
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static uint8_t text[70000];

/* The same value with both. */
static void put_both(uint64_t *seed, weft_writer *w, weft_writer *ref)
{
    uint64_t bits = some_bits(seed);
    size_t size = some_size(seed);
    double real;
    memcpy(&real, &bits, sizeof real);
    if (w->at == NULL && random_below(seed, 50) == 0) size = UINT32_MAX + (size_t)random_below(seed, 3) - 1;
    switch (random_below(seed, 11)) {
    case 0: weft_put_nil(w), ref_put_nil(ref); break;
    case 1: weft_put_bool(w, bits & 1), ref_put_bool(ref, bits & 1); break;
    case 2:
    case 3: weft_put_int(w, (int64_t)bits), ref_put_int(ref, (int64_t)bits); break;
    case 4:
    case 5: weft_put_uint(w, bits), ref_put_uint(ref, bits); break;
    case 6: weft_put_real(w, real), ref_put_real(ref, real); break;
    case 7:
        weft_put_str(w, weft_str((const char *)text, size)), ref_put_str(ref, weft_str((const char *)text, size));
        break;
    case 8: weft_put_bin(w, text, size), ref_put_bin(ref, text, size); break;
    case 9: weft_put_array(w, (uint32_t)bits), ref_put_array(ref, (uint32_t)bits); break;
    default: weft_put_map(w, (uint32_t)bits), ref_put_map(ref, (uint32_t)bits); break;
    }
    if (random_below(seed, 20) == 0) wf_pack_raw(w, text, size), ref_pack_raw(ref, text, size);
}

START_TEST(pack_writes_the_same_bytes_as_its_reference)
{
    static uint8_t bytes[100000], others[100000];
    uint64_t first = first_seed(), count = runs();
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(i * 7);
    for (uint64_t run = first; run < first + count; run++) {
        uint64_t seed = run;
        size_t space = random_below(&seed, 100) == 0 ? sizeof bytes - 8 : random_below(&seed, 80);
        bool measures = random_below(&seed, 4) == 0;
        memset(bytes, 0xEE, space + 8), memset(others, 0xEE, space + 8);
        weft_writer w = weft_writer_on(measures ? NULL : bytes, space);
        weft_writer ref = weft_writer_on(measures ? NULL : others, space);
        if (measures && random_below(&seed, 8) == 0) w.size = ref.size = SIZE_MAX - random_below(&seed, 100);
        for (uint32_t n = random_below(&seed, 12); n > 0; n--) {
            put_both(&seed, &w, &ref);
            SAME(w.size == ref.size && w.error == ref.error);
            SAME(measures ? w.at == NULL && w.end == ref.end : w.at - bytes == ref.at - others);
            SAME(measures || w.end == bytes + space);
        }
        SAME(memcmp(bytes, others, space + 8) == 0); /* and nothing behind what was written */
    }
}
END_TEST

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* A tag with the length or the count that it wants, and something behind it. */
static size_t put_some(uint64_t *seed, uint8_t *out)
{
    size_t size = 1 + random_below(seed, 9);
    for (size_t i = 0; i < size; i++) out[i] = (uint8_t)(random_below(seed, 3) == 0 ? random_next(seed) : 0);
    switch (random_below(seed, 4)) {
    case 0: out[0] = (uint8_t)(0xC0 + random_below(seed, 32)); break;
    case 1: out[0] = (uint8_t)(0x80 + random_below(seed, 4) + 16 * random_below(seed, 3)); break;
    case 2: out[0] = (uint8_t)random_next(seed); break;
    default: out[0] = (uint8_t)random_below(seed, 3); break;
    }
    return size;
}

/* Bytes that a peer may send: well-formed ones, some with faults, or any bytes; at most `most`. */
static size_t some_input(uint64_t *seed, uint8_t *out, size_t most)
{
    size_t size = 0;
    switch (random_below(seed, 4)) {
    case 0:
        while (size + 10 <= most && random_below(seed, 10) > 0) size += put_some(seed, out + size);
        return size;
    case 1: /* nests deep */
        for (uint32_t n = random_below(seed, 40); size < n; size++) out[size] = 0x91;
        return size + put_some(seed, out + size);
    default: break;
    }
    weft_writer w = weft_writer_on(out, most), unused = weft_writer_on(NULL, 0);
    uint32_t values = 1 + random_below(seed, 12);
    if (random_below(seed, 2) == 0) weft_put_array(&w, values);
    while (values-- > 0) put_both(seed, &w, &unused);
    size = w.size;
    if (size > 0 && random_below(seed, 2) == 0) out[random_below(seed, (uint32_t)size)] = (uint8_t)random_next(seed);
    if (size > 0 && random_below(seed, 4) == 0) size = random_below(seed, (uint32_t)size + 1);
    return size;
}

/* A view is the same one; after an error it is any of nothing. */
static bool is_same(const weft_reader *r, weft_text one, weft_text two)
{
    return one.size == two.size && (one.data == two.data || (r->error != 0 && one.size == 0));
}

/* The same call of both; whether what came is the same. */
static bool get_both(uint64_t *seed, weft_reader *r, weft_reader *ref)
{
    double real, other;
    weft_text one, two;
    uint32_t levels;
    int want = random_below(seed, 4) == 0 ? -1 : weft_peek_type(r); /* else most calls would be the wrong ones */
    if (weft_peek_type(r) != ref_peek_type(ref)) return false;
    switch (want < 0 ? (int)random_below(seed, 13) : want) {
    case WEFT_NIL: return weft_get_nil(r) == ref_get_nil(ref);
    case WEFT_BOOL: return weft_get_bool(r) == ref_get_bool(ref);
    case WEFT_INT:
        if (random_below(seed, 2) == 0) return weft_get_uint(r) == ref_get_uint(ref);
        return weft_get_int(r) == ref_get_int(ref);
    case WEFT_UINT: return weft_get_uint(r) == ref_get_uint(ref);
    case WEFT_TEXT: one = weft_get_str(r), two = ref_get_str(ref); return is_same(r, one, two);
    case WEFT_BIN: one = weft_get_bin(r), two = ref_get_bin(ref); return is_same(r, one, two);
    case WEFT_ARRAY: return weft_get_array(r) == ref_get_array(ref);
    case WEFT_MAP: return weft_get_map(r) == ref_get_map(ref);
    case WEFT_EXT: weft_skip(r), ref_skip(ref); return true;
    case WEFT_EXT + 1:
        levels = random_below(seed, 4);
        wf_pack_skip(r, levels), ref_pack_skip(ref, levels);
        return true;
    default: /* WEFT_REAL, or an integer as one */
        real = weft_get_real(r), other = ref_get_real(ref);
        return memcmp(&real, &other, sizeof real) == 0;
    }
}

START_TEST(pack_reads_the_same_values_as_its_reference)
{
    uint64_t first = first_seed(), count = runs();
    for (uint64_t run = first; run < first + count; run++) {
        uint64_t seed = run;
        uint8_t made[300];
        size_t size = some_input(&seed, made, 200 + random_below(&seed, 50));
        uint8_t *bytes = malloc(size + (size == 0)); /* of the exact size: a tool sees who reads on */
        SAME(bytes != NULL);
        memcpy(bytes, made, size);
        weft_reader r = weft_reader_on(bytes, size), ref = r;
        for (uint32_t n = random_below(&seed, 30); n > 0; n--) {
            SAME(get_both(&seed, &r, &ref));
            SAME(r.at == ref.at && r.error == ref.error && r.end == ref.end && r.start == ref.start);
            if (r.error != 0 && random_below(&seed, 3) == 0) r.error = ref.error = 0; /* as typed.c does */
        }
        size_t most = random_below(&seed, 2) == 0 ? SIZE_MAX : random_below(&seed, 20), where = 99, there = 99;
        SAME(weft_pack_check(bytes, size, most, &where) == ref_pack_check(bytes, size, most, &there));
        SAME(where == there);
        free(bytes);
    }
}
END_TEST

/* Every first byte, with few and with many behind it. */
START_TEST(pack_reads_each_first_byte_as_its_reference)
{
    uint8_t bytes[40];
    uint64_t run = 0;
    for (size_t tag = 0; tag < 256; tag++) {
        for (size_t size = 1; size <= sizeof bytes; size++) {
            for (uint8_t fill = 0; fill < 4; fill++) {
                memset(bytes, (const uint8_t[]){0, 1, 0x7F, 0xFF}[fill], sizeof bytes);
                bytes[0] = (uint8_t)tag;
                weft_reader r = weft_reader_on(bytes, size), ref = r;
                SAME(weft_peek_type(&r) == ref_peek_type(&ref));
                weft_skip(&r), ref_skip(&ref);
                SAME(r.at == ref.at && r.error == ref.error);
                for (uint64_t seed = run + 1, i = 0; i < 3; i++) {
                    r = ref = weft_reader_on(bytes, size);
                    SAME(get_both(&seed, &r, &ref));
                    SAME(r.at == ref.at && r.error == ref.error);
                }
                run++;
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pack_same");
    TCase *t = tcase_create("same");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, pack_writes_the_same_bytes_as_its_reference);
    tcase_add_test(t, pack_reads_the_same_values_as_its_reference);
    tcase_add_test(t, pack_reads_each_first_byte_as_its_reference);
    suite_add_tcase(s, t);
    return run_suite(s);
}
