/* Tests of actors/data/typed_json.c: exact text, and Jansson reads all of it and sees the same values. */
#include <check.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include <weft/typed.h>

#include "../random.h"
#include "../../../suite.h"

#define STATE(E) E(STATE_OPEN, 0, "open") E(STATE_PAID, 1, "paid")
WEFT_ENUM(state, STATE)
#define PART(F) F(str, name) F(real, price)
WEFT_STRUCT(part, PART)
/* clang-format off */
#define WHOLE(F) \
    F(str, s) F(bin, b) F(bool, t) F(int, i) F(uint, u) F(real, r) F(pid, p) F(state, e) F(part, part) \
    F(list(part), parts) F(map(real), reals) F(maybe(int), maybe) F(map(list_of), lists)
/* clang-format on */
#define LIST_OF(F) F(list(str), texts)
WEFT_STRUCT(list_of, LIST_OF)
WEFT_MESSAGE(whole, 3, WHOLE)
#define NOTHING(F)
WEFT_MESSAGE(nothing, 4, NOTHING)

static char out[1 << 16];

static const char *json_of(const struct whole *v)
{
    ck_assert_uint_eq(whole_json(v, out, sizeof out), strlen(out));
    static uint8_t packed[1 << 16]; /* the same of packed bytes */
    static char again[1 << 16];
    weft_writer w = weft_writer_on(packed, sizeof packed);
    whole_put(&w, v);
    ck_assert_int_eq(w.error, 0);
    ck_assert_int_eq(weft_packed_json(whole_type(), packed, w.size, again, sizeof again), (int64_t)strlen(out));
    ck_assert_str_eq(again, out);
    struct whole got; /* and of views */
    ck_assert_int_eq(weft_typed_read(whole_type(), packed, w.size, &got, NULL), 0);
    ck_assert_uint_eq(whole_json(&got, again, sizeof again), strlen(out));
    ck_assert_str_eq(again, out);
    return out;
}

static json_t *parsed(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s at %d of %s", error.text, error.position, text);
    return root;
}

START_TEST(a_message_with_all_types_has_its_exact_text)
{
    struct part parts[2] = {{{"tea", 3}, 3.5}, {{"salt", 4}, 0.1}};
    weft_entry_real reals[2] = {{{"a\n", 2}, 1e100}, {{"b", 1}, -2}};
    weft_text texts[2] = {{"x", 1}, {"", 0}};
    weft_entry_list_of lists[1] = {{{"l", 1}, {weft_str_list(texts, 2)}}};
    struct whole v = {.s = weft_cstr("t\xC3\xA4xt"), .b = weft_str("\0\1\2\3", 4), .t = true, .i = -5, .u = 7};
    v.r = 0.5;
    v.p.node = 0x9f86d081884c7d65;
    v.p.actor = UINT64_C(1) << 32 | 17;
    v.e = STATE_PAID;
    v.part = parts[0];
    v.parts = part_list(parts, 2);
    v.reals = weft_real_map(reals, 2);
    v.maybe.present = true;
    v.maybe.value = 3;
    v.lists = list_of_map(lists, 1);
    ck_assert_str_eq(
        json_of(&v),
        "{\"s\": \"t\xC3\xA4xt\", \"b\": \"AAECAw==\", \"t\": true, \"i\": -5, \"u\": 7, \"r\": 0.5, "
        "\"p\": \"0.17.1@9f86d081884c7d65\", \"e\": \"paid\", \"part\": {\"name\": \"tea\", \"price\": 3.5}, "
        "\"parts\": [{\"name\": \"tea\", \"price\": 3.5}, {\"name\": \"salt\", \"price\": 0.1}], "
        "\"reals\": {\"a\\n\": 1e+100, \"b\": -2.0}, \"maybe\": 3, "
        "\"lists\": {\"l\": {\"texts\": [\"x\", \"\"]}}}");
    json_decref(parsed(out));
}
END_TEST

START_TEST(a_zeroed_message_has_its_exact_text)
{
    struct whole v;
    memset(&v, 0, sizeof v);
    const char *expected =
        "{\"s\": \"\", \"b\": \"\", \"t\": false, \"i\": 0, \"u\": 0, \"r\": 0.0, \"p\": null, "
        "\"e\": \"open\", \"part\": {\"name\": \"\", \"price\": 0.0}, \"parts\": [], \"reals\": {}, "
        "\"maybe\": null, \"lists\": {}}";
    ck_assert_str_eq(json_of(&v), expected);
    /* Fields that are missing or nil are printed as zero. */
    ck_assert_int_eq(weft_packed_json(whole_type(), "\x90", 1, out, sizeof out), (int64_t)strlen(expected));
    ck_assert_str_eq(out, expected);
    static const uint8_t nils[] = {0x9F, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0,
                                   0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0x91, 0x01}; /* and two fields not known here */
    ck_assert_int_eq(weft_packed_json(whole_type(), nils, sizeof nils, out, sizeof out), WEFT_EFORMAT);
    static const uint8_t more[] = {0x9E, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0,
                                   0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0x91, 0x01};
    ck_assert_int_eq(weft_packed_json(whole_type(), more, sizeof more, out, sizeof out), (int64_t)strlen(expected));
    ck_assert_str_eq(out, expected);
    struct nothing n;
    memset(&n, 0, sizeof n);
    ck_assert_uint_eq(nothing_json(&n, out, sizeof out), 2);
    ck_assert_str_eq(out, "{}");
}
END_TEST

static const struct {
    const char *text;
    size_t size;
    const char *json;
} strings[] = {
    {"\"\\/", 3, "\"\\\"\\\\/\""},
    {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
    {"\0\x01\x1F\x7F", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
    {"\xE2\x82\xAC\xF0\x9F\x98\x80", 7, "\"\xE2\x82\xAC\xF0\x9F\x98\x80\""},
    {"a\xFFz", 3, "\"a\xEF\xBF\xBDz\""},
    {"\xC0\x80", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* overlong */
    {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* a surrogate */
    {"\xF4\x90\x80\x80", 1, "\"\xEF\xBF\xBD\""},                     /* beyond U+10FFFF, and cut off */
    {"\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* cut off */
    {"\xE0\x9F\xBF", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* overlong */
    {"\xF0\x8F\xBF\xBF!", 5, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD!\""},
};

START_TEST(text_is_escaped)
{
    char text[128];
    ck_assert_uint_gt(
        weft_typed_json(weft_type_str(), &(weft_text){strings[_i].text, strings[_i].size}, text, sizeof text), 0);
    ck_assert_str_eq(text, strings[_i].json);
}
END_TEST

START_TEST(random_text_is_always_json)
{
    uint64_t seed = 11;
    char bytes[24], text[256];
    for (int run = 0; run < repeats(50000); run++) {
        size_t size = random_below(&seed, sizeof bytes + 1);
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (char)(random_below(&seed, 2) ? 0x80 + random_below(&seed, 0x80) : random_below(&seed, 256));
        }
        text[0] = '[';
        size_t used = weft_typed_json(weft_type_str(), &(weft_text){bytes, size}, text + 1, sizeof text - 2);
        ck_assert_uint_lt(used, sizeof text - 2);
        memcpy(text + 1 + used, "]", 2);
        json_t *root = json_loads(text, JSON_ALLOW_NUL, NULL);
        ck_assert_msg(root != NULL, "%s", text);
        json_decref(root);
    }
}
END_TEST

static void check_json(const struct weft_type_info *type, const void *value, const char *expected)
{
    char text[64];
    ck_assert_uint_eq(weft_typed_json(type, value, text, sizeof text), strlen(expected));
    ck_assert_str_eq(text, expected);
}

START_TEST(numbers)
{
    int64_t exact = INT64_C(1) << 53;
    check_json(weft_type_int(), &exact, "9007199254740992");
    check_json(weft_type_int(), &(int64_t){-exact}, "-9007199254740992");
    check_json(weft_type_int(), &(int64_t){exact + 1}, "\"9007199254740993\"");
    check_json(weft_type_int(), &(int64_t){INT64_MIN}, "\"-9223372036854775808\"");
    check_json(weft_type_uint(), &(uint64_t){UINT64_MAX}, "\"18446744073709551615\"");
    check_json(weft_type_state(), &(int64_t){2}, "2");
    check_json(weft_type_state(), &(int64_t){INT64_MIN}, "\"-9223372036854775808\"");
    check_json(weft_type_real(), &(double){(double)NAN}, "\"NaN\"");
    check_json(weft_type_real(), &(double){(double)INFINITY}, "\"Infinity\"");
    check_json(weft_type_real(), &(double){-(double)INFINITY}, "\"-Infinity\"");
    check_json(weft_type_real(), &(double){-0.0}, "-0.0");
    check_json(weft_type_real(), &(double){5e-324}, "4.94065645841247e-324");
    check_json(weft_type_real(), &(double){1.7976931348623157e308}, "1.7976931348623157e+308");
    check_json(weft_type_real(), &(double){0.1 + 0.2}, "0.30000000000000004");
    check_json(weft_type_bin(), &(weft_text){"a", 1}, "\"YQ==\"");
    check_json(weft_type_bin(), &(weft_text){"ab", 2}, "\"YWI=\"");
    check_json(weft_type_bin(), &(weft_text){"\xFF\xFE\xFD", 3}, "\"//79\"");
}
END_TEST

START_TEST(reals_read_back_the_same)
{
    uint64_t seed = 5;
    for (int run = 0; run < repeats(20000); run++) {
        uint64_t bits = random_next(&seed);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        char text[64] = "[";
        size_t used = weft_typed_json(weft_type_real(), &value, text + 1, sizeof text - 2);
        memcpy(text + 1 + used, "]", 2);
        json_t *root = parsed(text);
        ck_assert(json_is_real(json_array_get(root, 0)));
        ck_assert(json_real_value(json_array_get(root, 0)) == value);
        json_decref(root);
    }
}
END_TEST

START_TEST(the_text_is_cut_where_the_space_ends)
{
    struct part p = {{"tea", 3}, 3.5};
    const char *whole = "{\"name\": \"tea\", \"price\": 3.5}";
    char text[64];
    for (size_t size = 0; size <= strlen(whole) + 2; size++) {
        memset(text, '#', sizeof text);
        ck_assert_uint_eq(part_json(&p, text, size), strlen(whole));
        size_t kept = size == 0 ? 0 : size - 1 < strlen(whole) ? size - 1 : strlen(whole);
        ck_assert_int_eq(strncmp(text, whole, kept), 0);
        ck_assert(size == 0 || text[kept] == 0);
        ck_assert_int_eq(text[size == 0 ? 0 : kept + 1], '#');
    }
    ck_assert_uint_eq(part_json(&p, NULL, 0), strlen(whole));
}
END_TEST

START_TEST(the_text_of_a_message_is_that_of_its_value)
{
    struct whole v;
    memset(&v, 0, sizeof v);
    v.i = 12;
    weft_msg *m = whole_new(&v);
    ck_assert_ptr_nonnull(m);
    whole_json(&v, out, sizeof out);
    static char of_msg[4096];
    ck_assert_int_eq(whole_json_msg(m, of_msg, sizeof of_msg), (int64_t)strlen(out));
    ck_assert_str_eq(of_msg, out);
    ck_assert_int_eq(nothing_json_msg(m, of_msg, sizeof of_msg), WEFT_EFORMAT);
    weft_msg_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("typed_json");
    TCase *t = tcase_create("json");
    tcase_add_test(t, a_message_with_all_types_has_its_exact_text);
    tcase_add_test(t, a_zeroed_message_has_its_exact_text);
    tcase_add_loop_test(t, text_is_escaped, 0, (int)(sizeof strings / sizeof *strings));
    tcase_add_test(t, random_text_is_always_json);
    tcase_add_test(t, numbers);
    tcase_add_test(t, reals_read_back_the_same);
    tcase_add_test(t, the_text_is_cut_where_the_space_ends);
    tcase_add_test(t, the_text_of_a_message_is_that_of_its_value);
    suite_add_tcase(s, t);
    return run_suite(s);
}
