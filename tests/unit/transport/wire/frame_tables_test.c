/* Tests of transport/wire/frame_tables.c. */
#include "frame_tables.h"
#include "frames.h"
#include "names.h"

static const struct wf_entry boss = {
    .table = WF_TABLE_NAMES, .key = {"boss", 4}, .actor = UINT64_C(1) << 33, .stamp = WF_STAMP_MAX};

static const struct wf_entry taken = {
    .table = WF_TABLE_NAMES, .key = {"boss", 4}, .actor = 3, .stamp = 1, .node = UINT64_MAX};

static const struct wf_entry member = {
    .table = WF_TABLE_GROUPS, .key = {"room", 4}, .actor = 9, .ended = true, .reason = -7};

static const struct wf_entry group = {.table = WF_TABLE_QUEUES, .key = {"job.*", 5}, .queue = {"workers", 7}};

/* Two of the three are for node 8. */
static struct wf_chosen chosen[] = {{&chosen[1], 8, {"job.*", 5}, {"workers", 7}},
                                    {&chosen[2], 9, {"job.*", 5}, {"others", 6}},
                                    {NULL, 8, {"*.new", 5}, {"q", 1}}};

static struct wf_publish_to to = {.topic = {"job.new", 7},
                                  .from = {3, 4},
                                  .tag = 5,
                                  .flags = WF_PUBLISH_PLAIN,
                                  .passed = 1,
                                  .ref = 6,
                                  .chosen = chosen,
                                  .node = 8,
                                  .body = "hello",
                                  .size = 5};

static weft_writer all_kinds(void)
{
    weft_writer w = writer();
    wf_put_table_begin(&w);
    wf_put_entry(&w, WF_TABLE_SET, &boss);
    wf_put_entry(&w, WF_TABLE_UNSET, &boss);
    wf_put_entry(&w, WF_TABLE_SET, &member);
    wf_put_entry(&w, WF_TABLE_UNSET, &member);
    wf_put_to_all(&w, WF_FRAME_GROUP_SEND, weft_cstr("room"), 4, 5, "hello", 5);
    wf_put_entry(&w, WF_TABLE_SET, &group);
    wf_put_entry(&w, WF_TABLE_UNSET, &group);
    wf_put_entry(&w, WF_TABLE_TAKEN, &taken);
    wf_put_missed(&w, weft_cstr("room.>"), UINT64_MAX);
    size_t most = wf_publish_to_size(&to), before = w.size;
    wf_put_publish_to(&w, &to);
    ck_assert_uint_eq(to.count, 2);
    ck_assert_uint_le(w.size - before, most);
    struct wf_body *body = wf_body_new(NULL, "job.new", 7, "hello", 5);
    wf_body_sign(body, (weft_pid){3, 4}, 5, 0);
    wf_put_retained(&w, body, WF_STAMP_MAX, true, 0);
    wf_put_retained(&w, body, 1, false, UINT64_MAX);
    wf_body_drop(NULL, body);
    ck_assert_int_eq(w.error, 0);
    return w;
}

START_TEST(frames_of_tables_are_read_as_they_were_written)
{
    weft_writer w = all_kinds();
    weft_reader r = weft_reader_on(buffer, w.size);
    struct wf_frame f;
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert_str_eq(wf_frame_name(f.kind), "TABLE");
    ck_assert_uint_eq(f.number, WF_TABLE_BEGIN);
    for (uint64_t op = WF_TABLE_SET; op <= WF_TABLE_UNSET; op++) {
        ck_assert_int_eq(wf_frame_next(&r, &f), 1);
        ck_assert(f.kind == WF_FRAME_TABLE && f.number == op && f.to == WF_TABLE_NAMES);
        ck_assert(text_is(f.name, "boss") && f.from == boss.actor);
        if (op == WF_TABLE_SET) ck_assert_uint_eq(f.ref, boss.stamp);
    }
    for (uint64_t op = WF_TABLE_SET; op <= WF_TABLE_UNSET; op++) {
        ck_assert_int_eq(wf_frame_next(&r, &f), 1);
        struct wf_entry e = wf_frame_entry(&f);
        ck_assert(f.number == op && e.table == WF_TABLE_GROUPS && text_is(e.key, "room") && e.actor == 9);
        if (op == WF_TABLE_UNSET) ck_assert(e.ended && e.reason == -7);
    }
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert_str_eq(wf_frame_name(f.kind), "GROUP_SEND");
    ck_assert(text_is(f.name, "room") && f.from == 4 && f.tag == 5 && text_is(f.body, "hello"));
    for (uint64_t op = WF_TABLE_SET; op <= WF_TABLE_UNSET; op++) {
        ck_assert_int_eq(wf_frame_next(&r, &f), 1);
        struct wf_entry e = wf_frame_entry(&f);
        ck_assert(f.number == op && e.table == WF_TABLE_QUEUES && text_is(e.key, "job.*"));
        ck_assert(text_is(e.queue, "workers") && e.actor == 0);
    }
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    struct wf_entry e = wf_frame_entry(&f);
    ck_assert(f.number == WF_TABLE_TAKEN && e.table == WF_TABLE_NAMES && text_is(e.key, "boss"));
    ck_assert(e.actor == 3 && e.stamp == 1 && e.node == UINT64_MAX);
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert_str_eq(wf_frame_name(f.kind), "MISSED");
    ck_assert(text_is(f.name, "room.>") && f.number == UINT64_MAX && f.counted);
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert_str_eq(wf_frame_name(f.kind), "PUBLISH_TO");
    ck_assert(text_is(f.name, "job.new") && f.to == 3 && f.from == 4 && f.tag == 5 && text_is(f.body, "hello"));
    ck_assert(f.flags == WF_PUBLISH_PLAIN && f.number == 1 && f.ref == 6 && f.count == 2);
    weft_text pattern, queue = wf_frame_next_queue(&f, &pattern);
    ck_assert(text_is(pattern, "job.*") && text_is(queue, "workers"));
    queue = wf_frame_next_queue(&f, &pattern);
    ck_assert(text_is(pattern, "*.new") && text_is(queue, "q"));
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert_str_eq(wf_frame_name(f.kind), "RETAINED");
    ck_assert(text_is(f.name, "job.new") && f.to == 3 && f.from == 4 && f.tag == 5 && text_is(f.body, "hello"));
    ck_assert(f.flags == WF_PUBLISH_PLAIN && f.number == WF_STAMP_MAX && f.ref == 0);
    ck_assert_int_eq(wf_frame_next(&r, &f), 1);
    ck_assert(f.kind == WF_FRAME_RETAINED && f.flags == 0 && f.number == 1 && f.ref == UINT64_MAX);
    ck_assert_int_eq(wf_frame_next(&r, &f), 0);
}
END_TEST

START_TEST(very_many_queue_groups_take_several_frames)
{
    static struct wf_chosen many[WF_PUBLISH_QUEUES + 3];
    for (size_t i = 0; i < WF_COUNT(many); i++)
        many[i] = (struct wf_chosen){i + 1 < WF_COUNT(many) ? &many[i + 1] : NULL, 8, {"a", 1}, {"q", 1}};
    struct wf_publish_to p = {.topic = {"a", 1}, .chosen = many, .node = 8};
    (void)wf_publish_to_size(&p);
    ck_assert_uint_eq(p.count, WF_PUBLISH_QUEUES);
    p.skip = p.count;
    (void)wf_publish_to_size(&p);
    ck_assert_uint_eq(p.count, 3);
    p.skip += p.count;
    (void)wf_publish_to_size(&p);
    ck_assert_uint_eq(p.count, 0);
}
END_TEST

START_TEST(a_cut_batch_ends_in_an_error)
{
    cut_everywhere(all_kinds().size);
}
END_TEST

START_TEST(flipped_bits_are_survived)
{
    ck_assert_uint_gt(flip_each_bit(all_kinds().size), 50);
}
END_TEST

static int read_entry(uint64_t op, uint64_t table, const char *key, uint64_t actor, uint64_t stamp, uint64_t *number)
{
    weft_writer w = writer();
    weft_put_array(&w, 6);
    weft_put_uint(&w, WF_FRAME_TABLE);
    weft_put_uint(&w, op);
    weft_put_uint(&w, table);
    weft_put_str(&w, weft_cstr(key));
    weft_put_uint(&w, actor);
    weft_put_uint(&w, stamp);
    weft_reader r = weft_reader_on(buffer, w.size);
    struct wf_frame f;
    int got = wf_frame_next(&r, &f);
    *number = f.number;
    return got;
}

/* An operation, and nothing that it would be about. */
static int read_short(enum wf_table_op op)
{
    struct wf_frame f = {0};
    weft_writer w = writer();
    weft_put_array(&w, 2);
    weft_put_uint(&w, WF_FRAME_TABLE);
    weft_put_uint(&w, op);
    weft_reader r = weft_reader_on(buffer, w.size);
    return wf_frame_next(&r, &f);
}

START_TEST(bad_entries_are_refused_and_unknown_ones_skipped)
{
    uint64_t number;
    ck_assert_int_eq(read_entry(WF_TABLE_SET, WF_TABLE_NAMES, "boss", 1, 1, &number), 1);
    ck_assert_uint_eq(number, WF_TABLE_SET);
    ck_assert_int_eq(read_entry(WF_TABLE_SET, WF_TABLE_NAMES, "no name", 1, 1, &number), WEFT_EFORMAT);
    ck_assert_int_eq(read_entry(WF_TABLE_SET, WF_TABLE_NAMES, "", 1, 1, &number), WEFT_EFORMAT);
    ck_assert_int_eq(read_entry(WF_TABLE_SET, WF_TABLE_NAMES, "boss", 0, 1, &number), WEFT_EFORMAT);
    ck_assert_int_eq(read_entry(WF_TABLE_SET, WF_TABLE_NAMES, "boss", 1, 0, &number), WEFT_EFORMAT);
    ck_assert_int_eq(read_entry(WF_TABLE_SET, WF_TABLE_NAMES, "boss", 1, WF_STAMP_MAX + 1, &number), WEFT_EFORMAT);
    ck_assert_int_eq(read_entry(WF_TABLE_SET, 99, "what ever", 0, 0, &number), 1);
    ck_assert_uint_eq(number, WF_TABLE_NONE);
    ck_assert_int_eq(read_short(WF_TABLE_SET), WEFT_EFORMAT);
    ck_assert_int_eq(read_short(WF_TABLE_UNSET), WEFT_EFORMAT);
    ck_assert_int_eq(read_short(WF_TABLE_BEGIN), 1);
    ck_assert_int_eq(read_short(77), 1);
    ck_assert_int_eq(read_entry(WF_TABLE_TAKEN, WF_TABLE_NAMES, "boss", 1, 1, &number), WEFT_EFORMAT); /* no node */
    ck_assert_int_eq(read_entry(WF_TABLE_TAKEN, WF_TABLE_GROUPS, "what ever", 0, 0, &number), 1);
    ck_assert_uint_eq(number, WF_TABLE_NONE);
    ck_assert_int_eq(read_entry(77, WF_TABLE_NAMES, "what ever", 0, 0, &number), 1);
    ck_assert_uint_eq(number, WF_TABLE_NONE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("frame_tables");
    TCase *t = tcase_create("frames");
    tcase_add_test(t, frames_of_tables_are_read_as_they_were_written);
    tcase_add_test(t, very_many_queue_groups_take_several_frames);
    tcase_add_test(t, a_cut_batch_ends_in_an_error);
    tcase_add_test(t, flipped_bits_are_survived);
    tcase_add_test(t, bad_entries_are_refused_and_unknown_ones_skipped);
    suite_add_tcase(s, t);
    return run_suite(s);
}
