/* Tests of include/weft/typed.h. A recorder replaces the functions that make and send messages, so that the tests see
 * whether each generated function calls the right one with the right bytes. */
#define weft_msg_new fake_msg_new
#define weft_msg_body fake_msg_body
#define weft_msg_free fake_msg_free
#define weft_tag fake_tag
#define weft_data fake_data
#define weft_size fake_size
#define weft_send_msg fake_send_msg
#define weft_try_send_msg fake_try_send_msg
#define weft_send_name fake_send_name
#define weft_call fake_call
#define weft_call_name fake_call_name
#define weft_reply fake_reply
#define weft_reply_msg fake_reply_msg
#define weft_publish_msg fake_publish_msg

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <weft/typed.h>

#include "../../../suite.h"

/* ---- The recorder ---- */

struct weft_msg {
    uint32_t tag;
    size_t size;
    uint8_t body[];
};

static struct {
    int alive;        /* messages made and not freed */
    bool no_memory;   /* the next message cannot be made */
    const char *call; /* what was called last */
    weft_pid to;
    const char *name;
    uint32_t tag;
    uint8_t bytes[4096];
    size_t size;
    int64_t deadline;
} seen;

weft_msg *fake_msg_new(uint32_t tag, size_t size)
{
    if (seen.no_memory || size > WEFT_MESSAGE_MAX) return NULL;
    weft_msg *m = malloc(sizeof *m + size);
    ck_assert_ptr_nonnull(m);
    m->tag = tag;
    m->size = size;
    seen.alive++;
    return m;
}

void *fake_msg_body(weft_msg *m)
{
    return m->body;
}

void fake_msg_free(weft_msg *m)
{
    if (m == NULL) return;
    seen.alive--;
    free(m);
}

uint32_t fake_tag(const weft_msg *m)
{
    return m->tag;
}

const void *fake_data(const weft_msg *m)
{
    return m->body;
}

size_t fake_size(const weft_msg *m)
{
    return m->size;
}

static void note(const char *call, uint32_t tag, const void *data, size_t size)
{
    ck_assert_uint_le(size, sizeof seen.bytes);
    seen.call = call;
    seen.tag = tag;
    seen.size = size;
    memcpy(seen.bytes, data, size);
}

static void note_msg(const char *call, weft_msg *m)
{
    note(call, m->tag, m->body, m->size);
    fake_msg_free(m);
}

int fake_send_msg(weft_pid to, weft_msg *m)
{
    seen.to = to;
    note_msg("send_msg", m);
    return WEFT_ENOACTOR;
}

int fake_try_send_msg(weft_pid to, weft_msg *m)
{
    seen.to = to;
    note_msg("try_send_msg", m);
    return WEFT_EFULL;
}

int fake_publish_msg(const char *topic, weft_msg *m)
{
    seen.name = topic;
    note_msg("publish_msg", m);
    return 3;
}

int fake_send_name(const char *name, uint32_t tag, const void *data, size_t size)
{
    seen.name = name;
    note("send_name", tag, data, size);
    return WEFT_ENONODE;
}

int fake_call(weft_pid to, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    seen.to = to;
    seen.deadline = deadline;
    note("call", tag, data, size);
    *answer = NULL;
    return WEFT_ETIMEDOUT;
}

int fake_call_name(const char *name, uint32_t tag, const void *data, size_t size, weft_msg **answer, int64_t deadline)
{
    seen.name = name;
    seen.deadline = deadline;
    note("call_name", tag, data, size);
    *answer = NULL;
    return WEFT_ECANCELED;
}

int fake_reply(const weft_msg *ask, uint32_t tag, const void *data, size_t size)
{
    ck_assert_ptr_nonnull(ask);
    note("reply", tag, data, size);
    return WEFT_EINVAL;
}

int fake_reply_msg(const weft_msg *ask, weft_msg *m)
{
    ck_assert_ptr_nonnull(ask);
    if (m == NULL) return WEFT_EINVAL;
    note_msg("reply_msg", m);
    return WEFT_ENONODE;
}

/* ---- Messages ---- */

#define SAY(F) F(str, nick) F(str, text)
WEFT_MESSAGE(say, 1, SAY)

#define EVERYTHING(F) F(str, s) F(bin, b) F(bool, t) F(int, i) F(uint, u) F(real, r) F(pid, p)
WEFT_MESSAGE(everything, 2, EVERYTHING)

#define PING(F)
WEFT_MESSAGE(ping, INT32_MAX, PING)

/* Three versions of a schema. */
#define ORDER_1(F) F(uint, id) F(str, item)
#define ORDER_2(F) F(uint, id) F(str, item) F(int, count) F(bool, urgent)
#define ORDER_3(F) F(uint, id) F(str, item) F(int, count) F(bool, urgent) F(real, price) F(pid, buyer) F(bin, note)
WEFT_MESSAGE(order_1, 5, ORDER_1)
WEFT_MESSAGE(order_2, 5, ORDER_2)
WEFT_MESSAGE(order_3, 5, ORDER_3)

static struct say hello(void)
{
    struct say v = {weft_cstr("ann"), weft_cstr("hello")};
    return v;
}

static void check_hello(const char *call)
{
    static const uint8_t wire[] = {0x92, 0xA3, 'a', 'n', 'n', 0xA5, 'h', 'e', 'l', 'l', 'o'};
    ck_assert_str_eq(seen.call, call);
    ck_assert_uint_eq(seen.tag, 1);
    ck_assert_uint_eq(seen.size, sizeof wire);
    ck_assert_mem_eq(seen.bytes, wire, sizeof wire);
    ck_assert_int_eq(seen.alive, 0);
    seen.call = "";
}

static bool text_is(weft_text t, const char *expected)
{
    return t.size == strlen(expected) && memcmp(t.data, expected, t.size) == 0;
}

START_TEST(each_generated_function_makes_its_call)
{
    struct say v = hello();
    weft_pid to = {11, 22};
    weft_msg *answer = NULL, *ask = say_new(&v);
    ck_assert_ptr_nonnull(ask);
    ck_assert(say_is(ask));
    ck_assert(!ping_is(ask));

    ck_assert_int_eq(say_reply(ask, &v), WEFT_EINVAL);
    ck_assert_int_eq(seen.alive, 1); /* the request */
    ck_assert_str_eq(seen.call, "reply");
    seen.call = "";
    ck_assert_int_eq(say_reply_msg(ask, ping_new(NULL)), WEFT_EFORMAT);
    ck_assert_int_eq(say_reply_msg(ask, NULL), WEFT_EINVAL);
    ck_assert_str_eq(seen.call, "");
    ck_assert_int_eq(say_reply_msg(ask, say_new(&v)), WEFT_ENONODE);
    weft_msg_free(ask);
    check_hello("reply_msg");
    ck_assert_int_eq(say_send(to, &v), WEFT_ENOACTOR);
    ck_assert(weft_pid_equal(seen.to, to));
    check_hello("send_msg");
    to.actor = 23;
    ck_assert_int_eq(say_try_send(to, &v), WEFT_EFULL);
    ck_assert(weft_pid_equal(seen.to, to));
    check_hello("try_send_msg");
    ck_assert_int_eq(say_send_name("room@b", &v), WEFT_ENONODE);
    ck_assert_str_eq(seen.name, "room@b");
    check_hello("send_name");
    to.actor = 24;
    ck_assert_int_eq(say_call(to, &v, &answer, 77), WEFT_ETIMEDOUT);
    ck_assert(weft_pid_equal(seen.to, to));
    ck_assert_int_eq(seen.deadline, 77);
    check_hello("call");
    ck_assert_int_eq(say_call_name("desk", &v, &answer, 78), WEFT_ECANCELED);
    ck_assert_str_eq(seen.name, "desk");
    ck_assert_int_eq(seen.deadline, 78);
    check_hello("call_name");
    ck_assert_int_eq(say_publish("room.lobby", &v), 3);
    ck_assert_str_eq(seen.name, "room.lobby");
    check_hello("publish_msg");
}
END_TEST

START_TEST(bodies_around_the_small_buffer)
{
    static char text[4000];
    memset(text, 'x', sizeof text);
    static const size_t sizes[] = {0, 200, 248, 249, 250, 251, 252, 253, 3900};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct say v = {weft_cstr("ann"), weft_str(text, sizes[i])}, got;
        weft_msg *answer;
        ck_assert_int_eq(say_call(weft_nobody(), &v, &answer, 0), WEFT_ETIMEDOUT);
        ck_assert_int_eq(seen.alive, 0);
        weft_reader r = weft_reader_on(seen.bytes, seen.size);
        say_get(&r, &got, NULL);
        ck_assert_int_eq(r.error, 0);
        ck_assert_ptr_eq(r.at, r.end);
        ck_assert_uint_eq(got.text.size, sizes[i]);
        ck_assert(text_is(got.nick, "ann"));

        /* An answer that has got a message of its own is not copied. */
        weft_msg *ask = say_new(&v);
        bool large = seen.size > WEFT_TYPED_SMALL;
        ck_assert_int_eq(say_reply(ask, &v), large ? WEFT_ENONODE : WEFT_EINVAL);
        ck_assert_int_eq(seen.alive, 1);
        ck_assert_str_eq(seen.call, large ? "reply_msg" : "reply");
        ck_assert_uint_eq(seen.tag, SAY_TAG);
        weft_msg_free(ask);
    }
}
END_TEST

START_TEST(messages_that_are_too_large_or_find_no_memory_are_refused)
{
    struct say v = hello();
    weft_msg *answer = NULL;
    seen.call = "";
    seen.no_memory = true;
    ck_assert_int_eq(say_send(weft_nobody(), &v), WEFT_ENOMEM);
    ck_assert_int_eq(say_publish("a", &v), WEFT_ENOMEM);
    ck_assert_ptr_null(say_new(&v));
    seen.no_memory = false;
    char *large = calloc(1, WEFT_MESSAGE_MAX);
    ck_assert_ptr_nonnull(large);
    v.text = weft_str(large, WEFT_MESSAGE_MAX);
    ck_assert_int_eq(say_send(weft_nobody(), &v), WEFT_ETOOBIG);
    ck_assert_int_eq(say_call(weft_nobody(), &v, &answer, 0), WEFT_ETOOBIG);
    ck_assert_int_eq(say_send_name("n", &v), WEFT_ETOOBIG);
#if SIZE_MAX > UINT32_MAX
    v.text.size = (size_t)UINT32_MAX + 1; /* msgpack cannot say that */
    ck_assert_int_eq(say_send(weft_nobody(), &v), WEFT_ETOOBIG);
    ck_assert_ptr_null(say_new(&v));
#endif
    ck_assert_str_eq(seen.call, "");
    ck_assert_int_eq(seen.alive, 0);
    free(large);
}
END_TEST

START_TEST(a_message_of_the_largest_size_is_made_and_read)
{
    enum { HEADS = 1 + 1 + 5 }; /* the array, an empty nick, a text of 32 bits of length */
    char *large = calloc(1, WEFT_MESSAGE_MAX);
    ck_assert_ptr_nonnull(large);
    struct say v = {weft_cstr(""), weft_str(large, WEFT_MESSAGE_MAX - HEADS)}, got;
    weft_msg *m = say_new(&v);
    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(weft_size(m), WEFT_MESSAGE_MAX);
    ck_assert_int_eq(say_read(m, &got), 0);
    ck_assert_uint_eq(got.text.size, v.text.size);
    weft_msg_free(m);
    v.text.size++;
    ck_assert_ptr_null(say_new(&v));
    ck_assert_int_eq(say_send(weft_nobody(), &v), WEFT_ETOOBIG);
    free(large);
}
END_TEST

START_TEST(every_field_type_comes_back)
{
    struct everything v = {weft_cstr("text"), weft_str("\0\1", 2), true, INT64_MIN, UINT64_MAX, -0.5,
                           {7, UINT64_MAX}};
    struct everything got;
    weft_msg *m = everything_new(&v);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(weft_pack_check(weft_data(m), weft_size(m), 16, NULL), 0);
    ck_assert_int_eq(everything_read(m, &got), 0);
    ck_assert(text_is(got.s, "text"));
    ck_assert_uint_eq(got.b.size, 2);
    ck_assert_int_eq(memcmp(got.b.data, "\0\1", 2), 0);
    ck_assert(got.t);
    ck_assert_int_eq(got.i, INT64_MIN);
    ck_assert_uint_eq(got.u, UINT64_MAX);
    ck_assert(got.r == -0.5);
    ck_assert(weft_pid_equal(got.p, v.p));
    weft_msg_free(m);
}
END_TEST

START_TEST(a_message_without_fields)
{
    struct ping v, got;
    weft_msg *m = ping_new(&v);
    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(weft_tag(m), INT32_MAX);
    ck_assert_uint_eq(weft_size(m), 1);
    ck_assert_int_eq(ping_read(m, &got), 0);
    weft_msg_free(m);
}
END_TEST

static weft_msg *message(uint32_t tag, const void *bytes, size_t size)
{
    weft_msg *m = weft_msg_new(tag, size);
    if (m == NULL) abort();
    memcpy(weft_msg_body(m), bytes, size);
    return m;
}

START_TEST(the_field_at_fault_is_named)
{
    static const struct {
        const char *bytes;
        size_t size;
        size_t offset;
        const char *text;
    } bad[] = {
        {"\x92\x01\xA1x", 4, 1, "say.nick: expected str, got int"},
        {"\x92\xA1x\xC3", 4, 3, "say.text: expected str, got bool"},
        {"\x92\xA1x\xC4\x01y", 6, 3, "say.text: expected str, got bin"},
        {"\x92\xA1x\xA5y", 5, 3, "say.text: expected str, got malformed or cut off data"},
        {"\x92\xA5x", 3, 1, "say.nick: expected str, got malformed or cut off data"},
        {"\x93\xA0", 2, 0, "say: expected say, got malformed or cut off data"}, /* fewer bytes than fields */
        {"\x82\xA1x\xA1y\xA1z\xA1q", 9, 0, "say: expected say, got map"},
        {"\xC0", 1, 0, "say: expected say, got nil"},
        {"", 0, 0, "say: expected say, got the end"},
        {"\x93\xA1x\xA1y\xC1", 6, 5, "say: malformed data after the fields known here"},
        {"\x92\xA1x\xA1y\xC0", 6, 5, "say: bytes are left over"},
        {"\xDD\x0F\xFF\xFF\xFF", 5, 0, "say: expected say, got malformed or cut off data"},
    };
    struct weft_why why;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_msg *m = message(SAY_TAG, bad[i].bytes, bad[i].size);
        struct say got, zero;
        memset(&zero, 0, sizeof zero);
        memset(&got, 0xEE, sizeof got);
        memset(&why, 0xEE, sizeof why);
        ck_assert_int_eq(say_read_why(m, &got, &why), WEFT_EFORMAT);
        ck_assert_int_eq(why.error, WEFT_EFORMAT);
        ck_assert_str_eq(why.text, bad[i].text);
        ck_assert_uint_eq(why.offset, bad[i].offset);
        ck_assert_mem_eq(&got, &zero, sizeof zero);
        ck_assert_int_eq(say_read(m, &got), WEFT_EFORMAT);
        weft_msg_free(m);
    }
    weft_msg *m = message(SAY_TAG + 1, "\x92\xA1x\xA1y", 5);
    struct say got;
    ck_assert_int_eq(say_read_why(m, &got, &why), WEFT_EFORMAT);
    ck_assert_str_eq(why.text, "say: the message has another tag, 2, that of everything");
    weft_msg_free(m);
    m = message(EVERYTHING_TAG, "\x97\xA0\xC4\x00\xC2\x00\x00\x00\x93\x01\x02\x03", 12); /* a pid of three */
    struct everything e;
    ck_assert_int_eq(everything_read_why(m, &e, &why), WEFT_EFORMAT);
    ck_assert_str_eq(why.text, "everything.p: expected pid, got array");
    weft_msg_free(m);
    m = message(EVERYTHING_TAG, "\x95\xA0\xC4\x00\xC2\x00\xFF", 7);
    ck_assert_int_eq(everything_read_why(m, &e, &why), WEFT_EFORMAT);
    ck_assert_str_eq(why.text, "everything.u: expected uint, got a negative number");
    weft_msg_free(m);
    m = message(SAY_TAG, "\x92\xA1x\xA1y", 5);
    memset(&why, 0xEE, sizeof why);
    ck_assert_int_eq(say_read_why(m, &got, &why), 0);
    ck_assert_int_eq(why.error, 0);
    ck_assert_str_eq(why.text, "");
    weft_msg_free(m);
}
END_TEST

START_TEST(old_readers_skip_what_they_do_not_know)
{
    struct order_3 sent = {9, weft_cstr("tea"), -2, true, 1.5, {3, 4}, weft_cstr("n")};
    struct order_1 old;
    struct order_2 middle;
    weft_msg *m = order_3_new(&sent);
    ck_assert_int_eq(order_1_read(m, &old), 0);
    ck_assert_uint_eq(old.id, 9);
    ck_assert(text_is(old.item, "tea"));
    ck_assert_int_eq(order_2_read(m, &middle), 0);
    ck_assert_int_eq(middle.count, -2);
    ck_assert(middle.urgent);
    weft_msg_free(m);
}
END_TEST

START_TEST(new_readers_get_zeroes_from_old_senders)
{
    struct order_1 sent = {9, weft_cstr("tea")};
    struct order_3 got;
    memset(&got, 0xEE, sizeof got);
    weft_msg *m = order_1_new(&sent);
    ck_assert_int_eq(order_3_read(m, &got), 0);
    ck_assert_uint_eq(got.id, 9);
    ck_assert(text_is(got.item, "tea"));
    ck_assert_int_eq(got.count, 0);
    ck_assert(!got.urgent);
    ck_assert(got.price == 0);
    ck_assert(weft_pid_is_nobody(got.buyer));
    ck_assert_uint_eq(got.note.size, 0);
    weft_msg_free(m);
    m = message(ORDER_3_TAG, "\x97\x07\xC0\xC0\xC0\xCA\x3F\xC0\x00\x00\xC0\xC0", 12); /* nil: not said */
    ck_assert_int_eq(order_3_read(m, &got), 0);
    ck_assert_uint_eq(got.id, 7);
    ck_assert_uint_eq(got.item.size, 0);
    ck_assert(got.price == 1.5);
    weft_msg_free(m);
}
END_TEST

START_TEST(values_within_a_value)
{
    uint8_t buffer[64];
    struct say a = hello(), b = {weft_cstr("bob"), weft_cstr("hi")}, got;
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_array(&w, 2);
    say_put(&w, &a);
    say_put(&w, &b);
    ck_assert_int_eq(w.error, 0);
    weft_reader r = weft_reader_on(buffer, w.size);
    ck_assert_uint_eq(weft_get_array(&r), 2);
    say_get(&r, &got, NULL);
    ck_assert(text_is(got.text, "hello"));
    say_get(&r, &got, NULL);
    ck_assert(text_is(got.text, "hi"));
    ck_assert_int_eq(r.error, 0);
    struct weft_why why;
    say_get(&r, &got, &why); /* nothing is left */
    ck_assert_int_eq(r.error, WEFT_EFORMAT);
    ck_assert_str_eq(why.text, "say: expected say, got the end");
}
END_TEST

START_TEST(cut_off_or_changed_at_every_byte)
{
    struct order_3 v = {300,           weft_cstr("tea and more of it than fits in a fixstr"), -2, true, 1.5, {3, 400},
                        weft_cstr("n")};
    weft_msg *whole = order_3_new(&v);
    size_t size = weft_size(whole);
    const uint8_t *bytes = weft_data(whole);
    struct order_3 got;
    for (size_t i = 0; i < size; i++) {
        weft_msg *m = message(ORDER_3_TAG, bytes, i);
        ck_assert_int_eq(order_3_read(m, &got), WEFT_EFORMAT);
        weft_msg_free(m);
        for (uint32_t byte = 0; byte < 256; byte++) {
            m = message(ORDER_3_TAG, bytes, size);
            ((uint8_t *)weft_msg_body(m))[i] = (uint8_t)byte;
            int rc = order_3_read(m, &got);
            ck_assert(rc == 0 || rc == WEFT_EFORMAT);
            if (rc == 0 && got.item.size > 0) {
                const char *end = (const char *)weft_data(m) + size;
                ck_assert(got.item.data > (const char *)weft_data(m) && got.item.data + got.item.size <= end);
            }
            weft_msg_free(m);
        }
    }
    weft_msg_free(whole);
    ck_assert_int_eq(seen.alive, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("typed");
    TCase *t = tcase_create("typed");
    tcase_add_test(t, each_generated_function_makes_its_call);
    tcase_add_test(t, bodies_around_the_small_buffer);
    tcase_add_test(t, messages_that_are_too_large_or_find_no_memory_are_refused);
    tcase_add_test(t, a_message_of_the_largest_size_is_made_and_read);
    tcase_add_test(t, every_field_type_comes_back);
    tcase_add_test(t, a_message_without_fields);
    tcase_add_test(t, the_field_at_fault_is_named);
    tcase_add_test(t, old_readers_skip_what_they_do_not_know);
    tcase_add_test(t, new_readers_get_zeroes_from_old_senders);
    tcase_add_test(t, values_within_a_value);
    tcase_add_test(t, cut_off_or_changed_at_every_byte);
    suite_add_tcase(s, t);
    return run_suite(s);
}
