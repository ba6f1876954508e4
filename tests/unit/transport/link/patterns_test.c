/* The patterns of a node, which links are sent in parts while patterns are added and removed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../suite.h"
#include "patterns.h"

enum { MARKS = 3, TEXTS = 40, FEW = 5 };

static struct wf_patterns table;

/* A link: its mark, and the patterns of its other side. */
static struct told {
    struct wf_pattern_mark mark;
    bool has[TEXTS];
    uint32_t frames, most;
} links[MARKS];

static weft_text text_of(int i, char out[16])
{
    snprintf(out, 16, "room.%d", i);
    return weft_cstr(out);
}

static void setup(void)
{
    wf_patterns_init(&table, 7);
    memset(links, 0, sizeof links);
}

static void teardown(void)
{
    for (int i = 0; i < MARKS; i++) wf_patterns_end(&table, &links[i].mark);
    wf_patterns_finish(&table);
}

/* Sends one part, and applies it as the other side does. False: there was none. */
static bool say_part(struct told *l, uint32_t count, size_t bytes)
{
    uint8_t out[8192];
    struct wf_pattern_part part = wf_patterns_next(&table, &l->mark, count, bytes);
    if (part.count == 0) return false;
    ck_assert_uint_le(part.count, count);
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_patterns_put(&table, &l->mark, &part, &w);
    ck_assert_int_eq(w.error, 0);
    ck_assert_uint_le(w.size, part.bytes);
    weft_reader r = weft_reader_on(out, w.size);
    for (uint32_t i = 0; i < part.count; i++) {
        char text[16];
        int at = -1;
        weft_text said = weft_get_str(&r);
        snprintf(text, sizeof text, "%.*s", WEFT_STR(said));
        if (part.all) break;
        ck_assert_int_eq(sscanf(text, "room.%d", &at), 1);
        ck_assert(!part.add || !l->has[at]); /* it is told of each once */
        l->has[at] = part.add;
    }
    l->frames++;
    return true;
}

static uint32_t gone(void)
{
    uint32_t n = 0;
    WF_LIST_EACH(k, &table.gone) n++;
    return n;
}

START_TEST(a_pattern_is_there_as_long_as_anybody_subscribes_to_it)
{
    char text[16];
    ck_assert_int_eq(wf_patterns_add(&table, text_of(1, text)), 1);
    ck_assert_int_eq(wf_patterns_add(&table, text_of(1, text)), 0);
    ck_assert(!wf_patterns_remove(&table, text_of(1, text)));
    ck_assert_uint_eq(table.table.count, 1);
    ck_assert(wf_patterns_remove(&table, text_of(1, text)));
    ck_assert(!wf_patterns_remove(&table, text_of(1, text)));
    ck_assert_uint_eq(table.table.count, 0);
    ck_assert(wf_list_empty(&table.places)); /* nobody was told */
}
END_TEST

/* Patterns come and go at random, links begin, end and are told at random: in the end each has what there is. */
START_TEST(every_link_is_sent_all_patterns_whatever_changes_meanwhile)
{
    int subscribers[TEXTS] = {0};
    char text[16];
    srand((unsigned)_i);
    for (int step = 0; step < 20000; step++) {
        int what = rand() % 100, at = rand() % TEXTS;
        struct told *l = &links[rand() % MARKS];
        if (what < 35) {
            ck_assert_int_eq(wf_patterns_add(&table, text_of(at, text)), subscribers[at]++ == 0);
        } else if (what < 70) {
            ck_assert_int_eq(wf_patterns_remove(&table, text_of(at, text)), subscribers[at] == 1);
            if (subscribers[at] > 0) subscribers[at]--;
        } else if (what < 98) {
            (void)say_part(l, (uint32_t)(1 + rand() % 7), (size_t)(1 + rand() % 60));
        } else if (wf_linked(&l->mark.on_table)) {
            wf_patterns_end(&table, &l->mark);
        } else {
            memset(l->has, 0, sizeof l->has);
            wf_patterns_begin(&table, &l->mark, UINT32_MAX);
        }
        ck_assert_uint_le(gone(), MARKS * TEXTS); /* however slow a link is */
    }
    for (int i = 0; i < MARKS; i++) {
        if (!wf_linked(&links[i].mark.on_table)) wf_patterns_begin(&table, &links[i].mark, UINT32_MAX);
        if (links[i].mark.sent_to == 0) memset(links[i].has, 0, sizeof links[i].has);
        while (say_part(&links[i], 3, 1000)) continue;
        ck_assert(!wf_patterns_behind(&table, &links[i].mark));
        for (int k = 0; k < TEXTS; k++) ck_assert_int_eq(links[i].has[k], subscribers[k] > 0);
    }
    ck_assert_uint_eq(gone(), 0);
}
END_TEST

/* At the limit it is sent ">" at once, and nothing after that. */
START_TEST(a_link_with_a_small_limit_is_sent_the_pattern_of_all_topics)
{
    char text[16];
    wf_patterns_begin(&table, &links[0].mark, FEW);
    for (int i = 0; i < FEW - 1; i++) (void)wf_patterns_add(&table, text_of(i, text));
    while (say_part(&links[0], 100, 1000)) continue;
    ck_assert_uint_eq(links[0].mark.sent, FEW - 1);
    (void)wf_patterns_remove(&table, text_of(0, text));
    ck_assert(say_part(&links[0], 100, 1000)); /* there is space again */
    (void)wf_patterns_add(&table, text_of(7, text));
    ck_assert(say_part(&links[0], 100, 1000));
    ck_assert(links[0].has[7]);
    (void)wf_patterns_add(&table, text_of(8, text));
    struct wf_pattern_part part = wf_patterns_next(&table, &links[0].mark, 100, 1000);
    ck_assert(part.all && part.add && part.count == 1);
    ck_assert(say_part(&links[0], 100, 1000));
    ck_assert(!wf_patterns_behind(&table, &links[0].mark));
    (void)wf_patterns_add(&table, text_of(9, text));
    ck_assert(!say_part(&links[0], 100, 1000));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("patterns");
    TCase *t = tcase_create("patterns");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_pattern_is_there_as_long_as_anybody_subscribes_to_it);
    tcase_add_loop_test(t, every_link_is_sent_all_patterns_whatever_changes_meanwhile, 0, 10);
    tcase_add_test(t, a_link_with_a_small_limit_is_sent_the_pattern_of_all_topics);
    suite_add_tcase(s, t);
    return run_suite(s);
}
