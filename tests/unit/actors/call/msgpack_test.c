/* Tests of actors/call/msgpack.c: msgpack-c's packer makes messages, a message becomes a msgpack-c object, and no
 * message makes it allocate more than it may. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include <weft.h>
#include <weft/msgpack.h>
#include <weft/test.h>

#include "../../../suite.h"

enum { TAG = 7 };

static weft_msg *message_of(const void *data, size_t size)
{
    weft_msg *m = weft_msg_new(TAG, size);
    ck_assert_ptr_nonnull(m);
    if (size > 0) memcpy(weft_msg_body(m), data, size);
    return m;
}

/* ---- Packing ---- */

static void pack_order(msgpack_packer *p)
{
    msgpack_pack_array(p, 3);
    msgpack_pack_str_with_body(p, "tea", 3);
    msgpack_pack_int64(p, -2);
    msgpack_pack_map(p, 1);
    msgpack_pack_nil(p);
    msgpack_pack_double(p, 3.5);
}

START_TEST(packed_bytes_are_a_message)
{
    for (size_t space = 0; space < 40; space++) {
        weft_msg_packer p;
        weft_msg *m;
        weft_msg_packer_init(&p, TAG, space);
        pack_order(&p.packer);
        ck_assert_int_eq(weft_msg_packer_done(&p, &m), 0);
        ck_assert_uint_eq(weft_tag(m), TAG);
        uint8_t expected[64];
        weft_writer w = weft_writer_on(expected, sizeof expected);
        weft_put_array(&w, 3);
        weft_put_str(&w, weft_cstr("tea"));
        weft_put_int(&w, -2);
        weft_put_map(&w, 1);
        weft_put_nil(&w);
        weft_put_real(&w, 3.5);
        ck_assert_uint_eq(weft_size(m), w.size);
        ck_assert_int_eq(memcmp(weft_data(m), expected, w.size), 0);
        weft_msg_free(m);
    }
}
END_TEST

START_TEST(a_message_grows)
{
    static char body[1000];
    weft_msg_packer p;
    weft_msg *m;
    weft_msg_packer_init(&p, TAG, 0);
    ck_assert_int_eq(msgpack_pack_array(&p.packer, 5000), 0);
    for (int i = 0; i < 5000; i++) {
        memset(body, 'a' + i % 26, sizeof body);
        ck_assert_int_eq(msgpack_pack_bin_with_body(&p.packer, body, sizeof body), 0);
    }
    ck_assert_int_eq(weft_msg_packer_done(&p, &m), 0);
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    ck_assert_uint_eq(weft_get_array(&r), 5000);
    for (int i = 0; i < 5000; i++) {
        weft_text t = weft_get_bin(&r);
        ck_assert(t.size == sizeof body && t.data[0] == 'a' + i % 26 && t.data[999] == 'a' + i % 26);
    }
    ck_assert(r.error == 0 && r.at == r.end);
    weft_msg_free(m);
}
END_TEST

START_TEST(errors_of_a_packer_stick)
{
    static char body[WEFT_MESSAGE_MAX];
    weft_msg_packer p;
    weft_msg *m;
    weft_msg_packer_init(&p, WEFT_TAG_SYSTEM, 0);
    ck_assert_int_lt(msgpack_pack_nil(&p.packer), 0);
    ck_assert_int_eq(weft_msg_packer_done(&p, &m), WEFT_EINVAL);
    ck_assert_ptr_null(m);

    weft_msg_packer_init(&p, TAG, SIZE_MAX); /* more than there may be: as much as there may be */
    ck_assert_int_eq(msgpack_pack_bin_with_body(&p.packer, body, sizeof body - 5), 0);
    ck_assert_int_eq(msgpack_pack_nil(&p.packer), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_msg_packer_done(&p, &m), WEFT_ETOOBIG);
    ck_assert_ptr_null(m);

    weft_msg_packer_init(&p, TAG, 0);
    ck_assert_int_eq(msgpack_pack_bin_with_body(&p.packer, body, sizeof body - 5), 0);
    ck_assert_int_eq(weft_msg_packer_done(&p, &m), 0);
    ck_assert_uint_eq(weft_size(m), sizeof body);
    weft_msg_free(m);
    ck_assert_int_lt(msgpack_pack_nil(&p.packer), 0); /* it has ended */
    ck_assert_int_lt(weft_msg_packer_done(&p, &m), 0);
    ck_assert_ptr_null(m);

    weft_msg_packer_init(&p, TAG, 0);
    msgpack_pack_nil(&p.packer);
    weft_msg_packer_drop(&p);
    ck_assert_int_lt(weft_msg_packer_done(&p, &m), 0);
    weft_msg_packer_init(&p, TAG, 0);
    ck_assert_int_eq(weft_msg_packer_send(&p, weft_nobody()), WEFT_ENOTACTOR);
}
END_TEST

/* ---- Objects ---- */

static int object_of(const void *data, size_t size, size_t bytes_max, bool back)
{
    msgpack_zone zone;
    msgpack_object o;
    ck_assert(msgpack_zone_init(&zone, 1024));
    weft_msg *m = message_of(data, size), *same = NULL;
    int rc = weft_msg_object(m, bytes_max, &zone, &o);
    if (rc == 0 && back) {
        ck_assert_int_eq(weft_msg_of_object(&same, TAG, &o), 0);
        ck_assert_uint_eq(weft_size(same), size);
        ck_assert_int_eq(memcmp(weft_data(same), data, size), 0);
        weft_msg_free(same);
    }
    weft_msg_free(m);
    msgpack_zone_destroy(&zone);
    return rc;
}

START_TEST(objects_are_views_of_the_message)
{
    weft_msg_packer p;
    weft_msg *m;
    msgpack_zone zone;
    msgpack_object o;
    ck_assert(msgpack_zone_init(&zone, 1024));
    weft_msg_packer_init(&p, TAG, 0);
    pack_order(&p.packer);
    ck_assert_int_eq(weft_msg_packer_done(&p, &m), 0);
    ck_assert_int_eq(weft_msg_object(m, 1000, &zone, &o), 0);
    ck_assert(o.type == MSGPACK_OBJECT_ARRAY && o.via.array.size == 3);
    const msgpack_object *at = o.via.array.ptr;
    ck_assert(at[0].type == MSGPACK_OBJECT_STR && at[0].via.str.size == 3);
    ck_assert_ptr_eq(at[0].via.str.ptr, (const char *)weft_data(m) + 2);
    ck_assert(at[1].type == MSGPACK_OBJECT_NEGATIVE_INTEGER && at[1].via.i64 == -2);
    ck_assert(at[2].type == MSGPACK_OBJECT_MAP && at[2].via.map.ptr[0].val.via.f64 == 3.5);
    weft_msg_free(m);
    msgpack_zone_destroy(&zone);
    ck_assert_int_eq(object_of("\x93\xA0\xC4\x00\xD4\x05x", 7, 1000, true), 0); /* without bytes, and an ext */
}
END_TEST

/* msgpack-c would allocate memory for the counts that each of these messages claims. */
START_TEST(bytes_that_are_no_message_are_refused_before_they_take_memory)
{
    static uint8_t bombs[160], ones[WEFT_MESSAGE_MAX] = {0xDD, 0x00, 0xFF, 0xFF, 0xFB};
    for (size_t i = 0; i < sizeof bombs; i += 5) memcpy(bombs + i, "\xDD\x0F\xFF\xFF\xFF", 5);
    ck_assert_int_eq(object_of(bombs, sizeof bombs, SIZE_MAX, false), WEFT_EFORMAT);
    memset(ones + 5, 1, sizeof ones - 5);
    ck_assert_int_eq(object_of(ones, sizeof ones, SIZE_MAX, false), WEFT_ETOOBIG);
    ck_assert_int_eq(object_of("", 0, SIZE_MAX, false), WEFT_EFORMAT);
    ck_assert_int_eq(object_of("\x01\x02", 2, SIZE_MAX, false), WEFT_EFORMAT);
    ck_assert_int_eq(object_of("\xC1", 1, SIZE_MAX, false), WEFT_EFORMAT);
    ck_assert_int_eq(object_of("\xD9\x02x", 3, SIZE_MAX, false), WEFT_EFORMAT);
}
END_TEST

START_TEST(objects_keep_their_bounds)
{
    uint8_t nested[WEFT_NEST_MAX + 2];
    memset(nested, 0x91, sizeof nested);
    nested[WEFT_NEST_MAX] = 1;
    ck_assert_int_eq(object_of(nested, WEFT_NEST_MAX + 1, SIZE_MAX, true), 0);
    nested[WEFT_NEST_MAX] = 0x90;
    ck_assert_int_eq(object_of(nested, WEFT_NEST_MAX + 1, SIZE_MAX, false), WEFT_ETOOBIG);

    size_t each = sizeof(msgpack_object);
    ck_assert_int_eq(object_of("\x01", 1, 0, true), 0); /* the outermost is the caller's own */
    ck_assert_int_eq(object_of("\x90", 1, 0, true), 0);
    ck_assert_int_eq(object_of("\x92\x01\x02", 3, 2 * each, true), 0);
    ck_assert_int_eq(object_of("\x92\x01\x02", 3, 2 * each - 1, false), WEFT_ETOOBIG);
    ck_assert_int_eq(object_of("\x82\x01\x02\x03\x91\x05", 6, 5 * each, true), 0);
    ck_assert_int_eq(object_of("\x82\x01\x02\x03\x91\x05", 6, 5 * each - 1, false), WEFT_ETOOBIG);
}
END_TEST

START_TEST(an_object_that_is_too_deep_is_no_message)
{
    enum { DEPTH = 100000 }; /* msgpack-c would go through it by calling itself */
    msgpack_object *levels = calloc(DEPTH, sizeof *levels);
    msgpack_object_kv pair;
    weft_msg *m;
    ck_assert_ptr_nonnull(levels);
    for (int i = 0; i + 1 < DEPTH; i++) {
        levels[i].type = MSGPACK_OBJECT_ARRAY;
        levels[i].via.array.size = 1;
        levels[i].via.array.ptr = &levels[i + 1];
    }
    ck_assert_int_eq(weft_msg_of_object(&m, TAG, levels), WEFT_ETOOBIG);
    ck_assert_ptr_null(m);
    ck_assert_int_eq(weft_msg_of_object(&m, TAG, &levels[DEPTH - 1 - WEFT_NEST_MAX]), 0);
    ck_assert_uint_eq(weft_size(m), WEFT_NEST_MAX + 1);
    weft_msg_free(m);
    pair = (msgpack_object_kv){.val = levels[DEPTH - 1 - WEFT_NEST_MAX]};
    msgpack_object map = {.type = MSGPACK_OBJECT_MAP};
    map.via.map.size = 1;
    map.via.map.ptr = &pair;
    ck_assert_int_eq(weft_msg_of_object(&m, TAG, &map), WEFT_ETOOBIG);
    pair = (msgpack_object_kv){.key = levels[DEPTH - 1 - WEFT_NEST_MAX]};
    ck_assert_int_eq(weft_msg_of_object(&m, TAG, &map), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_msg_of_object(&m, WEFT_TAG_SYSTEM, &levels[DEPTH - 1]), WEFT_EINVAL);
    msgpack_object text = {.type = MSGPACK_OBJECT_STR};
    text.via.str.size = UINT32_MAX; /* only measured */
    text.via.str.ptr = "";
    ck_assert_int_eq(weft_msg_of_object(&m, TAG, &text), WEFT_ETOOBIG);
    free(levels);
}
END_TEST

/* ---- Printing ---- */

static void check_print(const char *data, size_t size, size_t space, const char *expected)
{
    char out[200];
    memset(out, 'x', sizeof out);
    weft_msg *m = message_of(data, size);
    ck_assert_str_eq(weft_msg_print(m, out, space), expected);
    for (size_t i = space; i < sizeof out; i++) ck_assert_int_eq(out[i], 'x');
    weft_msg_free(m);
}

START_TEST(messages_are_printed)
{
    static const char order[] = "\x93\xA3tea\x02\x81\xA1k\xC4\x02\x01x";
    check_print(order, 13, 200, "[\"tea\", 2, {\"k\"=>\"\\x01x\"}]");
    for (size_t space = 12; space < 30; space++) {
        char out[200], whole[] = "[\"tea\", 2, {\"k\"=>\"\\x01x\"}]";
        weft_msg *m = message_of(order, 13);
        weft_msg_print(m, out, space);
        ck_assert_uint_lt(strlen(out), space);
        ck_assert_int_eq(strncmp(whole, out, strlen(out)), 0);
        weft_msg_free(m);
    }
    check_print(order, 12, 200, "(12 bytes)");
    check_print(order, 12, 5, "(12 ");
    check_print(order, 12, 1, "");
    check_print("", 0, 200, "(0 bytes)");
    check_print("\xA5\x1B[2J\x7F", 6, 200, "\"?[2J?\"");
    check_print("\xA2\xC3\xA9", 3, 200, "\"\xC3\xA9\"");
    check_print("\x95\x01\x01\x01\x01\x01", 6, 5, "(6 b"); /* more values than there are bytes */
}
END_TEST

/* ---- From actor to actor ---- */

static void adds(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        msgpack_zone zone;
        msgpack_object o;
        int64_t sum = 0;
        if (!msgpack_zone_init(&zone, 1024)) weft_exit(1);
        if (weft_msg_object(m, 1000, &zone, &o) < 0) weft_exit(2);
        for (uint32_t i = 0; i < o.via.array.size; i++) sum += o.via.array.ptr[i].via.i64;
        msgpack_object answer = {.type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via = {.u64 = (uint64_t)sum}};
        weft_msg *reply;
        if (weft_msg_of_object(&reply, TAG + 1, &answer) < 0 || weft_send_msg(weft_from(m), reply) < 0) weft_exit(3);
        msgpack_zone_destroy(&zone);
        weft_msg_free(m);
    }
}

static void asks(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to;
    weft_msg *m = NULL;
    if (weft_spawn(&to, adds, NULL, 0, NULL) < 0) weft_exit(4);
    for (uint32_t count = 1; count < 40; count++) {
        weft_msg_packer p;
        weft_msg_packer_init(&p, TAG, 0);
        msgpack_pack_array(&p.packer, count);
        for (uint32_t i = 0; i < count; i++) msgpack_pack_uint64(&p.packer, i * 1000);
        if (weft_msg_packer_send(&p, to) < 0) weft_exit(5);
        weft_expect(TAG + 1, WEFT_SEC(1), &m);
        weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
        if (weft_get_uint(&r) != (uint64_t)count * (count - 1) * 500) weft_exit(6);
        weft_msg_free(m);
    }
    weft_msg_packer left;
    weft_msg_packer_init(&left, TAG, 0); /* what an actor still packs is freed with it */
    msgpack_pack_nil(&left.packer);
}

START_TEST(from_actor_to_actor)
{
    ck_assert_msg(weft_test_run(asks, NULL, 0, NULL) == 0, "%s", weft_test_report());
}
END_TEST

int main(void)
{
    Suite *s = suite_create("msgpack");
    TCase *t = tcase_create("msgpack");
    tcase_add_test(t, packed_bytes_are_a_message);
    tcase_add_test(t, a_message_grows);
    tcase_add_test(t, errors_of_a_packer_stick);
    tcase_add_test(t, objects_are_views_of_the_message);
    tcase_add_test(t, bytes_that_are_no_message_are_refused_before_they_take_memory);
    tcase_add_test(t, objects_keep_their_bounds);
    tcase_add_test(t, an_object_that_is_too_deep_is_no_message);
    tcase_add_test(t, messages_are_printed);
    tcase_add_test(t, from_actor_to_actor);
    suite_add_tcase(s, t);
    return run_suite(s);
}
