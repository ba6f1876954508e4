/* tests/integration/records_kit.h -- what actors publish to stored topics, and expect of them. */
#ifndef RECORDS_KIT_H
#define RECORDS_KIT_H

#include "store_kit.h"

enum { SAY = 5 };

#define RUN(node, body)                 \
    do {                                \
        run_actor(node, body, NULL, 0); \
        HEAR("done");                   \
    } while (0)

__attribute__((unused)) static struct weft_position publish(const char *topic, const char *text)
{
    struct weft_position at;
    int rc = weft_publish_stored(topic, SAY, text, strlen(text), &at, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return at;
}

__attribute__((unused)) static void publish_numbers(const char *topic, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        ck_assert_uint_eq(publish(topic, text).offset, (uint64_t)i);
    }
}

static struct weft_stored next_stored(weft_msg **m)
{
    struct weft_stored got;
    ck_assert_int_eq(weft_recv_tag(m, WEFT_STORED, patience()), WEFT_OK);
    ck_assert_int_eq(weft_stored_read(*m, &got), WEFT_OK);
    return got;
}

__attribute__((unused)) static struct weft_position expect_record(const char *topic, uint64_t offset,
                                                                  const char *text)
{
    weft_msg *m;
    struct weft_stored got = next_stored(&m);
    ck_assert_int_eq(got.kind, WEFT_STORED_RECORD);
    ck_assert_str_eq(got.topic, topic);
    ck_assert_uint_eq(got.at.offset, offset);
    ck_assert_uint_eq(got.tag, SAY);
    ck_assert_int_gt(got.time, INT64_C(1000000000) * 1000000000);
    ck_assert_msg(got.size == strlen(text) && memcmp(got.data, text, got.size) == 0, "%.*s", (int)got.size,
                  (const char *)got.data);
    weft_msg_free(m);
    return got.at;
}

__attribute__((unused)) static void expect_numbers(const char *topic, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        expect_record(topic, (uint64_t)i, text);
    }
}

__attribute__((unused)) static weft_stored_subscription subscribe(const char *topic, struct weft_position from)
{
    weft_stored_subscription s;
    int rc = weft_subscribe_from(topic, from, &s, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return s;
}

#endif
