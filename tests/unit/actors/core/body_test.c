/* tests/unit/actors/core/body_test.c -- references of a body that many messages share. */
#include "../testkit.h"
#include "body.h"

static uint32_t refs_of(const struct wf_body *b)
{
    return atomic_load_explicit(&b->refs, memory_order_relaxed);
}

START_TEST(the_only_holder_takes_and_drops_many_references)
{
    struct wf_body *b = wf_body_new(NULL, "room.a", 6, "text", 4);
    ck_assert_ptr_nonnull(b);
    wf_body_keep_many(b, 3);
    ck_assert_uint_eq(refs_of(b), 4);
    wf_body_keep_many(b, 2); /* others have references now */
    ck_assert_uint_eq(refs_of(b), 6);
    for (uint32_t left = 5; left > 1; left--) {
        wf_body_drop_unshared(NULL, b);
        ck_assert_uint_eq(refs_of(b), left);
    }
    wf_body_drop(NULL, b);
    ck_assert_uint_eq(refs_of(b), 1);
    ck_assert_mem_eq(wf_body_bytes(b), "text", 4);
    wf_body_drop_unshared(NULL, b); /* the last one frees it: Valgrind and ASan see that */
}
END_TEST

START_TEST(a_topic_of_any_length_ends_with_a_nul)
{
    char topic[256], text[8];
    memset(topic, 'x', sizeof topic);
    for (size_t size = 1; size <= 255; size++) {
        struct wf_body *b = wf_body_new(NULL, topic, size, "12345678", sizeof text);
        ck_assert_ptr_nonnull(b);
        weft_text found = wf_body_topic_text(b);
        ck_assert_uint_eq(found.size, size);
        ck_assert_uint_eq(strlen(wf_body_topic(b)), size);
        ck_assert_mem_eq(found.data, topic, size);
        ck_assert_mem_eq(wf_body_bytes(b), "12345678", sizeof text);
        wf_body_drop(NULL, b);
    }
}
END_TEST

START_TEST(a_body_without_a_topic_has_an_empty_one)
{
    struct wf_body *b = wf_body_new(NULL, NULL, 0, "text", 4);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(wf_body_topic_text(b).size, 0);
    ck_assert_str_eq(wf_body_topic(b), "");
    wf_body_drop(NULL, b);
}
END_TEST

TEST_MAIN("body", the_only_holder_takes_and_drops_many_references, a_topic_of_any_length_ends_with_a_nul,
          a_body_without_a_topic_has_an_empty_one)
