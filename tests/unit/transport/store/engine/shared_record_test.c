/* The bodies of the jobs of shared cursors: what is written is read, and other bytes are refused. */
#include "../../../../suite.h"

#include <string.h>

#include "engine.h"
#include "shared_record.h"

static uint8_t bytes[WF_SHARED_HEAD_MAX + 100];

static size_t write_one(size_t topic_size, size_t size)
{
    static char topic[WF_STORE_TOPIC_MAX];
    memset(topic, 't', sizeof topic);
    const struct wf_shared_record r = {.kind = WF_SHARED_GAP,
                                       .topic = topic,
                                       .topic_size = topic_size,
                                       .epoch = INT64_MAX - 1,
                                       .offset = WF_STORE_OFFSET_MAX,
                                       .missing = 77,
                                       .time = -5,
                                       .tag = UINT32_MAX,
                                       .data = "0123456789",
                                       .size = size};
    ck_assert_uint_le(wf_shared_size(&r), sizeof bytes);
    wf_shared_put(&r, bytes);
    return wf_shared_size(&r);
}

START_TEST(what_is_written_is_read)
{
    static const size_t topics[] = {0, 1, WF_STORE_TOPIC_MAX}, sizes[] = {0, 10};
    for (int i = 0; i < 6; i++) {
        struct wf_shared_record r;
        size_t size = write_one(topics[i / 2], sizes[i % 2]);
        ck_assert(wf_shared_read(bytes, size, &r));
        ck_assert(r.kind == WF_SHARED_GAP && r.epoch == INT64_MAX - 1 && r.offset == WF_STORE_OFFSET_MAX);
        ck_assert(r.missing == 77 && r.time == -5 && r.tag == UINT32_MAX);
        ck_assert(r.topic_size == topics[i / 2] && r.size == sizes[i % 2]);
        ck_assert(r.topic_size == 0 || (r.topic[0] == 't' && r.topic[r.topic_size - 1] == 't'));
        ck_assert_int_eq(memcmp(r.data, "0123456789", r.size), 0);
    }
}
END_TEST

START_TEST(other_bytes_are_refused)
{
    struct wf_shared_record r;
    size_t size = write_one(100, 0);
    for (size_t cut = 0; cut < size; cut++) ck_assert(!wf_shared_read(bytes, cut, &r));
    for (int first = 0; first < 256; first++) {
        bytes[0] = (uint8_t)first;
        ck_assert_int_eq(wf_shared_read(bytes, size, &r), first == 1);
    }
    bytes[0] = 1;
    bytes[1] = WF_SHARED_EPOCH + 1;
    ck_assert(!wf_shared_read(bytes, size, &r));
}
END_TEST

START_TEST(names_of_shared_cursors_are_known)
{
    ck_assert(wf_shared_is("$shared.bill") && wf_shared_is("$shared.a.b"));
    ck_assert(!wf_shared_is("$shared.") && !wf_shared_is("$shared") && !wf_shared_is("shared.bill"));
    ck_assert(!wf_shared_is("") && !wf_shared_is("$sharedx.bill") && !wf_shared_is("a.$shared.b"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("records of shared cursors");
    TCase *c = tcase_create("records");
    suite_add_tcase(suite, c);
    tcase_add_test(c, what_is_written_is_read);
    tcase_add_test(c, other_bytes_are_refused);
    tcase_add_test(c, names_of_shared_cursors_are_known);
    return run_suite(suite);
}
