/* Tests of actors/data/pack.c: exact bytes, agreement with msgpack-c in both directions, and hostile input. */
#include <check.h>
#include <math.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>
#include <weft/pack.h>

#include "../random.h"
#include "../../../suite.h"

/* ---- Exact bytes ---- */

static void check_bytes(const weft_writer *w, const uint8_t *buffer, const char *hex)
{
    char got[64] = "";
    ck_assert_int_eq(w->error, 0);
    ck_assert_uint_lt(w->size, 20);
    for (size_t i = 0; i < w->size; i++) snprintf(got + 2 * i, 3, "%02x", (unsigned)buffer[i]);
    ck_assert_str_eq(got, hex);
}

/* clang-format off */
static const struct {
    int64_t value;
    const char *hex;
} ints[] = {
    {0, "00"}, {127, "7f"}, {128, "cc80"}, {255, "ccff"}, {256, "cd0100"}, {65535, "cdffff"}, {65536, "ce00010000"},
    {UINT32_MAX, "ceffffffff"}, {(int64_t)UINT32_MAX + 1, "cf0000000100000000"}, {INT64_MAX, "cf7fffffffffffffff"},
    {-1, "ff"}, {-32, "e0"}, {-33, "d0df"}, {-128, "d080"}, {-129, "d1ff7f"}, {-32768, "d18000"},
    {-32769, "d2ffff7fff"}, {INT32_MIN, "d280000000"}, {(int64_t)INT32_MIN - 1, "d3ffffffff7fffffff"},
    {INT64_MIN, "d38000000000000000"},
};
/* clang-format on */

START_TEST(integers_take_the_fewest_bytes)
{
    uint8_t buffer[16];
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_int(&w, ints[_i].value);
    check_bytes(&w, buffer, ints[_i].hex);
    weft_reader r = weft_reader_on(buffer, w.size);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_INT);
    ck_assert_int_eq(weft_get_int(&r), ints[_i].value);
    ck_assert_int_eq(r.error, 0);
    ck_assert_ptr_eq(r.at, r.end);
    if (ints[_i].value >= 0) {
        w = weft_writer_on(buffer, sizeof buffer);
        weft_put_uint(&w, (uint64_t)ints[_i].value);
        check_bytes(&w, buffer, ints[_i].hex);
    }
}
END_TEST

static const struct {
    uint32_t size;
    const char *str, *bin, *array, *map; /* heads */
} heads[] = {
    {0, "a0", "c400", "90", "80"},
    {15, "af", "c40f", "9f", "8f"},
    {16, "b0", "c410", "dc0010", "de0010"},
    {31, "bf", "c41f", "dc001f", "de001f"},
    {32, "d920", "c420", "dc0020", "de0020"},
    {255, "d9ff", "c4ff", "dc00ff", "de00ff"},
    {256, "da0100", "c50100", "dc0100", "de0100"},
    {65535, "daffff", "c5ffff", "dcffff", "deffff"},
    {65536, "db00010000", "c600010000", "dd00010000", "df00010000"},
};

START_TEST(lengths_take_the_fewest_bytes)
{
    static char body[65536];
    static uint8_t buffer[65536 + 8];
    uint32_t size = heads[_i].size;

    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_str(&w, weft_str(body, size));
    size_t head = strlen(heads[_i].str) / 2;
    ck_assert_uint_eq(w.size, head + size);
    w.size = head;
    check_bytes(&w, buffer, heads[_i].str);
    weft_reader r = weft_reader_on(buffer, head + size);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_TEXT);
    weft_text t = weft_get_str(&r);
    ck_assert_uint_eq(t.size, size);
    ck_assert_ptr_eq(t.data, (const char *)buffer + head);

    w = weft_writer_on(buffer, sizeof buffer);
    weft_put_bin(&w, body, size);
    head = strlen(heads[_i].bin) / 2;
    ck_assert_uint_eq(w.size, head + size);
    w.size = head;
    check_bytes(&w, buffer, heads[_i].bin);
    r = weft_reader_on(buffer, head + size);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_BIN);
    ck_assert_uint_eq(weft_get_bin(&r).size, size);

    w = weft_writer_on(buffer, sizeof buffer);
    weft_put_array(&w, size);
    check_bytes(&w, buffer, heads[_i].array);
    w = weft_writer_on(buffer, sizeof buffer);
    weft_put_map(&w, size);
    check_bytes(&w, buffer, heads[_i].map);
}
END_TEST

START_TEST(simple_values)
{
    uint8_t buffer[32];
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_nil(&w);
    weft_put_bool(&w, false);
    weft_put_bool(&w, true);
    weft_put_real(&w, 1.5);
    check_bytes(&w, buffer, "c0c2c3cb3ff8000000000000");
    weft_reader r = weft_reader_on(buffer, w.size);
    ck_assert(weft_get_nil(&r));
    ck_assert(!weft_get_nil(&r));
    ck_assert_int_eq(weft_peek_type(&r), WEFT_BOOL);
    ck_assert(!weft_get_bool(&r));
    ck_assert(weft_get_bool(&r));
    ck_assert_int_eq(weft_peek_type(&r), WEFT_REAL);
    ck_assert(weft_get_real(&r) == 1.5);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_EFORMAT); /* at the end */
    ck_assert_int_eq(r.error, 0);
}
END_TEST

START_TEST(every_width_of_integer_is_read)
{
    static const struct {
        uint8_t bytes[9];
        uint8_t size;
        int64_t value;
    } wide[] = {{{0xCC, 5}, 2, 5},
                {{0xCD, 0, 5}, 3, 5},
                {{0xCE, 0, 0, 0, 5}, 5, 5},
                {{0xCF, 0, 0, 0, 0, 0, 0, 0, 5}, 9, 5},
                {{0xD0, 5}, 2, 5},
                {{0xD1, 0xFF, 0xFE}, 3, -2},
                {{0xD2, 0xFF, 0xFF, 0xFF, 0xFE}, 5, -2},
                {{0xD3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE}, 9, -2}};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        weft_reader r = weft_reader_on(wide[i].bytes, wide[i].size);
        ck_assert_int_eq(weft_get_int(&r), wide[i].value);
        ck_assert_int_eq(r.error, 0);
        r = weft_reader_on(wide[i].bytes, wide[i].size);
        ck_assert(weft_get_real(&r) == (double)wide[i].value);
        r = weft_reader_on(wide[i].bytes, wide[i].size);
        ck_assert_uint_eq(weft_get_uint(&r), wide[i].value < 0 ? 0 : (uint64_t)wide[i].value);
        ck_assert_int_eq(r.error, wide[i].value < 0 ? WEFT_EFORMAT : 0);
    }
    static const uint8_t huge[] = {0xCF, 0x80, 0, 0, 0, 0, 0, 0, 0};
    weft_reader r = weft_reader_on(huge, sizeof huge);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_UINT);
    ck_assert_int_eq(weft_get_int(&r), 0);
    ck_assert_int_eq(r.error, WEFT_EFORMAT);
    r = weft_reader_on(huge, sizeof huge);
    ck_assert_uint_eq(weft_get_uint(&r), UINT64_C(1) << 63);
    static const uint8_t narrow[] = {0xCA, 0x3F, 0xC0, 0, 0}; /* float32 */
    r = weft_reader_on(narrow, sizeof narrow);
    ck_assert(weft_get_real(&r) == 1.5);
}
END_TEST

START_TEST(the_first_error_stays_with_its_place)
{
    static const uint8_t data[] = {0x01, 0xA1, 'x', 0x02};
    weft_reader r = weft_reader_on(data, sizeof data);
    ck_assert_int_eq(weft_get_int(&r), 1);
    ck_assert_int_eq(weft_get_int(&r), 0); /* a str */
    ck_assert_int_eq(r.error, WEFT_EFORMAT);
    ck_assert_int_eq(r.at - r.start, 1);
    ck_assert_uint_eq(weft_get_str(&r).size, 0);
    ck_assert(!weft_get_bool(&r) && !weft_get_nil(&r));
    ck_assert_uint_eq(weft_get_uint(&r), 0);
    ck_assert_uint_eq(weft_get_bin(&r).size, 0);
    ck_assert_uint_eq(weft_get_array(&r), 0);
    ck_assert_uint_eq(weft_get_map(&r), 0);
    ck_assert(weft_get_real(&r) == 0);
    weft_skip(&r);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_EFORMAT);
    ck_assert_int_eq(r.at - r.start, 1);

    r = weft_reader_on(NULL, 0);
    ck_assert_int_eq(weft_peek_type(&r), WEFT_EFORMAT);
    weft_skip(&r);
    ck_assert_int_eq(r.error, WEFT_EFORMAT);
}
END_TEST

START_TEST(writer_neither_overruns_nor_writes_halves)
{
    uint8_t buffer[8];
    for (size_t space = 0; space < 8; space++) {
        memset(buffer, 0xEE, sizeof buffer);
        weft_writer w = weft_writer_on(buffer, space);
        weft_put_int(&w, 1);
        weft_put_str(&w, weft_cstr("hello")); /* 7 bytes in all */
        ck_assert_int_eq(w.error, space < 7 ? WEFT_ETOOBIG : 0);
        ck_assert_uint_eq(w.size, space == 0 ? 0 : space < 7 ? 1 : 7);
        for (size_t i = w.size; i < sizeof buffer; i++) ck_assert_uint_eq(buffer[i], 0xEE);
        size_t before = w.size;
        if (w.error != 0) weft_put_nil(&w); /* would fit, but the writer has failed */
        ck_assert_uint_eq(w.size, before);
    }
    weft_writer w = weft_writer_on(NULL, 0);
    weft_put_array(&w, 2);
    weft_put_str(&w, weft_cstr(NULL));
    weft_put_str(&w, weft_cstr("hello"));
    ck_assert_int_eq(w.error, 0);
    ck_assert_uint_eq(w.size, 8);
#if SIZE_MAX > UINT32_MAX
    weft_put_bin(&w, buffer, (size_t)UINT32_MAX); /* only measured */
    ck_assert_int_eq(w.error, 0);
    ck_assert_uint_eq(w.size, 8 + 5 + (size_t)UINT32_MAX);
    weft_put_bin(&w, buffer, (size_t)UINT32_MAX + 1); /* msgpack cannot say that */
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
#endif
}
END_TEST

/* ---- msgpack-c, both ways ---- */

/* Writes the same random value, up to `depth` levels deep, with both writers. */
static void put_both(uint64_t *seed, msgpack_packer *p, weft_writer *w, uint32_t depth)
{
    static char text[70000];
    static const uint32_t sizes[] = {0, 1, 31, 32, 255, 256, 300, 65535, 65536};
    uint64_t bits = random_next(seed) >> random_below(seed, 64);
    uint32_t n = random_below(seed, 40) == 0 ? sizes[random_below(seed, 9)] : random_below(seed, 34);
    double real = ldexp((double)(int64_t)bits, (int)random_below(seed, 40) - 20);
    switch (random_below(seed, depth == 0 ? 7 : 9)) {
    case 0:
        msgpack_pack_nil(p);
        weft_put_nil(w);
        break;
    case 1:
        bits & 1 ? msgpack_pack_true(p) : msgpack_pack_false(p);
        weft_put_bool(w, bits & 1);
        break;
    case 2:
        msgpack_pack_int64(p, (int64_t)(bits & 1 ? bits : ~bits));
        weft_put_int(w, (int64_t)(bits & 1 ? bits : ~bits));
        break;
    case 3:
        msgpack_pack_uint64(p, bits);
        weft_put_uint(w, bits);
        break;
    case 4:
        msgpack_pack_double(p, real);
        weft_put_real(w, real);
        break;
    case 5:
        msgpack_pack_str_with_body(p, text, n);
        weft_put_str(w, weft_str(text, n));
        break;
    case 6:
        msgpack_pack_bin_with_body(p, text, n);
        weft_put_bin(w, text, n);
        break;
    case 7:
        n = random_below(seed, 20);
        msgpack_pack_array(p, n);
        weft_put_array(w, n);
        while (n-- > 0) put_both(seed, p, w, depth - 1);
        break;
    default:
        n = random_below(seed, 18);
        msgpack_pack_map(p, n);
        weft_put_map(w, n);
        for (n *= 2; n > 0; n--) put_both(seed, p, w, depth - 1);
        break;
    }
}

/* Reads with weft what msgpack-c has understood as `o`. */
static void check_same(weft_reader *r, const msgpack_object *o)
{
    weft_text t;
    switch (o->type) {
    case MSGPACK_OBJECT_NIL: ck_assert(weft_get_nil(r)); break;
    case MSGPACK_OBJECT_BOOLEAN: ck_assert_int_eq(weft_get_bool(r), o->via.boolean); break;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        ck_assert_int_eq(weft_peek_type(r), o->via.u64 > INT64_MAX ? WEFT_UINT : WEFT_INT);
        ck_assert_uint_eq(weft_get_uint(r), o->via.u64);
        break;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER: ck_assert_int_eq(weft_get_int(r), o->via.i64); break;
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        ck_assert_int_eq(weft_peek_type(r), WEFT_REAL);
        ck_assert(weft_get_real(r) == o->via.f64);
        break;
    case MSGPACK_OBJECT_STR:
        t = weft_get_str(r);
        ck_assert_uint_eq(t.size, o->via.str.size);
        if (t.size > 0) ck_assert_int_eq(memcmp(t.data, o->via.str.ptr, t.size), 0);
        break;
    case MSGPACK_OBJECT_BIN:
        t = weft_get_bin(r);
        ck_assert_uint_eq(t.size, o->via.bin.size);
        if (t.size > 0) ck_assert_int_eq(memcmp(t.data, o->via.bin.ptr, t.size), 0);
        break;
    case MSGPACK_OBJECT_ARRAY:
        ck_assert_uint_eq(weft_get_array(r), o->via.array.size);
        for (uint32_t i = 0; i < o->via.array.size; i++) check_same(r, &o->via.array.ptr[i]);
        break;
    case MSGPACK_OBJECT_MAP:
        ck_assert_uint_eq(weft_get_map(r), o->via.map.size);
        for (uint32_t i = 0; i < o->via.map.size; i++) {
            check_same(r, &o->via.map.ptr[i].key);
            check_same(r, &o->via.map.ptr[i].val);
        }
        break;
    default:
        ck_assert_int_eq(weft_peek_type(r), WEFT_EXT);
        weft_skip(r);
        break;
    }
    ck_assert_int_eq(r->error, 0);
}

START_TEST(writes_and_reads_what_msgpack_c_does)
{
    static uint8_t buffer[4 << 20];
    for (uint64_t run = 1; run <= 300; run++) {
        uint64_t seed = run;
        msgpack_sbuffer theirs;
        msgpack_sbuffer_init(&theirs);
        msgpack_packer p;
        msgpack_packer_init(&p, &theirs, msgpack_sbuffer_write);
        weft_writer w = weft_writer_on(buffer, sizeof buffer);
        put_both(&seed, &p, &w, (uint32_t)run % 4);
        ck_assert_int_eq(w.error, 0);
        ck_assert_msg(w.size == theirs.size && memcmp(buffer, theirs.data, w.size) == 0, "seed %d", (int)run);
        ck_assert_int_eq(weft_pack_check(theirs.data, theirs.size, WEFT_ELEMENTS_MAX, NULL), 0);

        msgpack_unpacked u;
        msgpack_unpacked_init(&u);
        ck_assert_int_eq(msgpack_unpack_next(&u, (const char *)buffer, w.size, NULL), MSGPACK_UNPACK_SUCCESS);
        weft_reader r = weft_reader_on(theirs.data, theirs.size);
        check_same(&r, &u.data);
        ck_assert_ptr_eq(r.at, r.end);
        msgpack_unpacked_destroy(&u);
        msgpack_sbuffer_destroy(&theirs);
    }
}
END_TEST

/* A message with every type that msgpack has, each tag at least once. */
static void every_type(msgpack_sbuffer *out)
{
    static const char body[300];
    static const uint32_t ext[] = {1, 2, 4, 8, 16, 3, 299};
    msgpack_packer p;
    msgpack_sbuffer_init(out);
    msgpack_packer_init(&p, out, msgpack_sbuffer_write);
    msgpack_pack_array(&p, 20);
    for (uint32_t i = 0; i < 7; i++) msgpack_pack_ext_with_body(&p, body, ext[i], (int8_t)i);
    msgpack_pack_float(&p, 0.25F);
    msgpack_pack_double(&p, -0.1);
    msgpack_pack_fix_int8(&p, -3);
    msgpack_pack_fix_int16(&p, -3);
    msgpack_pack_fix_int32(&p, -3);
    msgpack_pack_fix_int64(&p, -3);
    msgpack_pack_fix_uint32(&p, 3);
    msgpack_pack_nil(&p);
    msgpack_pack_true(&p);
    msgpack_pack_str_with_body(&p, body, 40);
    msgpack_pack_bin_with_body(&p, body, 260);
    msgpack_pack_map(&p, 1);
    msgpack_pack_fix_uint8(&p, 3);
    msgpack_pack_fix_uint16(&p, 3);
    msgpack_pack_array(&p, 17);
    for (uint32_t i = 0; i < 17; i++) msgpack_pack_fix_uint64(&p, i);
}

START_TEST(every_type_of_msgpack_c_is_read_and_skipped)
{
    msgpack_sbuffer b;
    every_type(&b);
    msgpack_unpacked u;
    msgpack_unpacked_init(&u);
    ck_assert_int_eq(msgpack_unpack_next(&u, b.data, b.size, NULL), MSGPACK_UNPACK_SUCCESS);
    weft_reader r = weft_reader_on(b.data, b.size);
    check_same(&r, &u.data);
    ck_assert_ptr_eq(r.at, r.end);
    r = weft_reader_on(b.data, b.size);
    weft_skip(&r);
    ck_assert_int_eq(r.error, 0);
    ck_assert_ptr_eq(r.at, r.end);
    ck_assert_int_eq(weft_pack_check(b.data, b.size, 40, NULL), 0); /* 1 + 20 + 2 + 17 values */
    ck_assert_int_eq(weft_pack_check(b.data, b.size, 39, NULL), WEFT_ETOOBIG);
    msgpack_unpacked_destroy(&u);
    msgpack_sbuffer_destroy(&b);
}
END_TEST

/* ---- Hostile input ---- */

START_TEST(a_count_is_compared_with_the_bytes_left)
{
    static const struct {
        uint8_t bytes[6];
        uint8_t size;
        weft_type type;
    } bombs[] = {
        {{0xDD, 0x0F, 0xFF, 0xFF, 0xFF}, 5, WEFT_ARRAY},
        {{0xDF, 0x0F, 0xFF, 0xFF, 0xFF}, 5, WEFT_MAP},
        {{0xDF, 0xFF, 0xFF, 0xFF, 0xFF}, 5, WEFT_MAP}, /* twice that does not fit 32 bits */
        {{0xDC, 0x00, 0x03, 0x01, 0x02}, 5, WEFT_ARRAY},
        {{0xDE, 0x00, 0x02, 0x01, 0x02, 0x03}, 6, WEFT_MAP},
        {{0x92, 0x01}, 2, WEFT_ARRAY},
        {{0x81, 0x01}, 2, WEFT_MAP},
        {{0xDB, 0xFF, 0xFF, 0xFF, 0xFF}, 5, WEFT_TEXT},
        {{0xC6, 0xFF, 0xFF, 0xFF, 0xFF}, 5, WEFT_BIN},
        {{0xC9, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}, 6, WEFT_EXT},
        {{0xA2, 'x'}, 2, WEFT_TEXT},
        {{0xD4, 0x01}, 2, WEFT_EXT},
        {{0xC1}, 1, WEFT_NIL}, /* never used by msgpack */
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        size_t where = 99;
        ck_assert_int_eq(weft_pack_check(bombs[i].bytes, bombs[i].size, WEFT_ELEMENTS_MAX, &where), WEFT_EFORMAT);
        ck_assert_uint_eq(where, 0);
        weft_reader r = weft_reader_on(bombs[i].bytes, bombs[i].size);
        ck_assert_int_eq(weft_peek_type(&r), WEFT_EFORMAT);
        if (bombs[i].type == WEFT_ARRAY) ck_assert_uint_eq(weft_get_array(&r), 0);
        if (bombs[i].type == WEFT_MAP) ck_assert_uint_eq(weft_get_map(&r), 0);
        if (bombs[i].type == WEFT_TEXT) ck_assert_uint_eq(weft_get_str(&r).size, 0);
        if (bombs[i].type == WEFT_BIN) ck_assert_uint_eq(weft_get_bin(&r).size, 0);
        weft_skip(&r);
        ck_assert_int_eq(r.error, WEFT_EFORMAT);
    }
}
END_TEST

START_TEST(nesting_ends_at_the_limit)
{
    uint8_t data[64];
    memset(data, 0x91, sizeof data);
    for (size_t depth = 31; depth <= 33; depth++) {
        bool fits = depth <= WEFT_NEST_MAX;
        size_t where = 99;
        data[depth] = 0x01;
        ck_assert_int_eq(weft_pack_check(data, depth + 1, 100, &where), fits ? 0 : WEFT_ETOOBIG);
        ck_assert_uint_eq(where, fits ? 99 : WEFT_NEST_MAX);
        weft_reader r = weft_reader_on(data, depth + 1);
        weft_skip(&r);
        ck_assert_int_eq(r.error, fits ? 0 : WEFT_EFORMAT);
        data[depth] = 0x91;
    }
    data[32] = 0x90; /* an empty one is a level, too */
    ck_assert_int_eq(weft_pack_check(data, 33, 100, NULL), WEFT_ETOOBIG);
    data[31] = 0x90;
    ck_assert_int_eq(weft_pack_check(data, 32, 100, NULL), 0);
}
END_TEST

START_TEST(check_counts_values_and_wants_one)
{
    static const uint8_t two[] = {0x01, 0x02};
    size_t where = 99;
    ck_assert_int_eq(weft_pack_check(two, 0, 10, &where), WEFT_EFORMAT);
    ck_assert_uint_eq(where, 0);
    ck_assert_int_eq(weft_pack_check(two, 1, 10, NULL), 0);
    ck_assert_int_eq(weft_pack_check(two, 2, 10, &where), WEFT_EFORMAT);
    ck_assert_uint_eq(where, 1);
    ck_assert_int_eq(weft_pack_check(two, 1, 0, NULL), WEFT_ETOOBIG);
    static const uint8_t nested[] = {0x92, 0x92, 0x01, 0x02, 0x81, 0x03, 0xC1};
    ck_assert_int_eq(weft_pack_check(nested, sizeof nested, 10, &where), WEFT_EFORMAT);
    ck_assert_uint_eq(where, 6);
    ck_assert_int_eq(weft_pack_check(nested, sizeof nested, 5, &where), WEFT_ETOOBIG);
    ck_assert_uint_eq(where, 4); /* the map announces two values where one is left in the budget */
    ck_assert_int_eq(weft_pack_check(nested, sizeof nested, 2, &where), WEFT_ETOOBIG);
    ck_assert_uint_eq(where, 0); /* refused at the announcement */
}
END_TEST

/* Reads everything with the getters, as an application that trusts nobody would; whether it was well-formed. */
static bool read_all(weft_reader *r, uint32_t depth)
{
    uint32_t n = 0;
    weft_text t;
    switch (weft_peek_type(r)) {
    case WEFT_NIL: return weft_get_nil(r);
    case WEFT_BOOL: weft_get_bool(r); break;
    case WEFT_INT: weft_get_int(r); break;
    case WEFT_UINT: weft_get_uint(r); break;
    case WEFT_REAL: weft_get_real(r); break;
    case WEFT_TEXT:
    case WEFT_BIN:
        t = weft_peek_type(r) == WEFT_BIN ? weft_get_bin(r) : weft_get_str(r);
        for (size_t i = 0; i < t.size; i++) n += (uint8_t)t.data[i]; /* touch every byte */
        break;
    case WEFT_ARRAY:
    case WEFT_MAP:
        if (depth == WEFT_NEST_MAX) return false;
        n = weft_peek_type(r) == WEFT_MAP ? weft_get_map(r) * 2 : weft_get_array(r);
        while (n-- > 0) {
            if (!read_all(r, depth + 1)) return false;
        }
        break;
    case WEFT_EXT: weft_skip(r); break;
    default: return false;
    }
    return r->error == 0;
}

/* The three ways to walk agree on what is well-formed. `data` is copied to its exact size: a tool sees an overrun. */
static bool well_formed(const void *data, size_t size)
{
    uint8_t *copy = malloc(size + (size == 0));
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    weft_reader r = weft_reader_on(copy, size), s = weft_reader_on(copy, size);
    bool read = read_all(&r, 0) && r.at == r.end;
    weft_skip(&s);
    bool skipped = s.error == 0 && s.at == s.end;
    bool checked = weft_pack_check(copy, size, WEFT_ELEMENTS_MAX, NULL) == 0;
    ck_assert_int_eq(read, skipped);
    ck_assert_int_eq(read, checked);
    free(copy);
    return read;
}

START_TEST(cut_off_at_every_byte)
{
    msgpack_sbuffer b;
    every_type(&b);
    for (size_t size = 0; size < b.size; size++) ck_assert_msg(!well_formed(b.data, size), "%d bytes", (int)size);
    ck_assert(well_formed(b.data, b.size));
    msgpack_sbuffer_destroy(&b);
}
END_TEST

START_TEST(every_bit_and_byte_flipped)
{
    msgpack_sbuffer b;
    every_type(&b);
    size_t still_good = 0, tried = 0;
    for (size_t i = 0; i < b.size; i++) {
        char before = b.data[i];
        for (int bit = 0; bit <= 8; bit++, tried++) {
            b.data[i] = (char)(bit == 8 ? ~before : before ^ (char)(1 << bit));
            still_good += well_formed(b.data, b.size);
        }
        b.data[i] = before;
    }
    ck_assert_uint_gt(still_good, 0); /* flips within bodies */
    ck_assert_uint_lt(still_good, tried);
    msgpack_sbuffer_destroy(&b);
}
END_TEST

START_TEST(random_bytes)
{
    uint8_t data[24];
    uint64_t seed = 7;
    for (int run = 0; run < repeats(20000); run++) {
        size_t size = random_below(&seed, sizeof data + 1);
        for (size_t i = 0; i < size; i++) {
            data[i] = (uint8_t)(0x80 + random_below(&seed, 0x70)); /* mostly tags that want more */
            if (random_below(&seed, 3) == 0) data[i] = (uint8_t)random_below(&seed, 4);
        }
        well_formed(data, size);
    }
}
END_TEST

START_TEST(texts_are_compared_and_copied)
{
    char out[4];
    ck_assert(weft_text_equal(weft_cstr("tea"), "tea"));
    ck_assert(!weft_text_equal(weft_cstr("tea"), "te") && !weft_text_equal(weft_cstr("tea"), "teas"));
    ck_assert(!weft_text_equal(weft_cstr("tea"), "Tea"));
    ck_assert(weft_text_equal((weft_text){NULL, 0}, "") && weft_text_equal(weft_cstr(""), NULL));
    ck_assert(!weft_text_equal(weft_str("a\0b", 3), "a"));
    ck_assert(weft_text_copy(weft_cstr("tea"), out, sizeof out));
    ck_assert_str_eq(out, "tea");
    ck_assert(!weft_text_copy(weft_cstr("coffee"), out, sizeof out));
    ck_assert_str_eq(out, "cof");
    ck_assert(!weft_text_copy(weft_str("a\0b", 3), out, sizeof out));
    ck_assert_str_eq(out, "a");
    ck_assert(weft_text_copy((weft_text){NULL, 0}, out, 1));
    ck_assert_str_eq(out, "");
    ck_assert(!weft_text_copy(weft_cstr("x"), out, 1) && out[0] == 0 && !weft_text_copy(weft_cstr(""), out, 0));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pack");
    TCase *t = tcase_create("bytes");
    tcase_add_loop_test(t, integers_take_the_fewest_bytes, 0, (int)(sizeof ints / sizeof *ints));
    tcase_add_loop_test(t, lengths_take_the_fewest_bytes, 0, (int)(sizeof heads / sizeof *heads));
    tcase_add_test(t, simple_values);
    tcase_add_test(t, texts_are_compared_and_copied);
    tcase_add_test(t, every_width_of_integer_is_read);
    tcase_add_test(t, the_first_error_stays_with_its_place);
    tcase_add_test(t, writer_neither_overruns_nor_writes_halves);
    suite_add_tcase(s, t);
    t = tcase_create("msgpack-c");
    tcase_add_test(t, writes_and_reads_what_msgpack_c_does);
    tcase_add_test(t, every_type_of_msgpack_c_is_read_and_skipped);
    suite_add_tcase(s, t);
    t = tcase_create("hostile");
    tcase_add_test(t, a_count_is_compared_with_the_bytes_left);
    tcase_add_test(t, nesting_ends_at_the_limit);
    tcase_add_test(t, check_counts_values_and_wants_one);
    tcase_add_test(t, cut_off_at_every_byte);
    tcase_add_test(t, every_bit_and_byte_flipped);
    tcase_add_test(t, random_bytes);
    suite_add_tcase(s, t);
    return run_suite(s);
}
