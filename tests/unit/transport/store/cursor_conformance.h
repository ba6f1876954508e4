/* tests/unit/transport/store/cursor_conformance.h -- tests of the promises of every engine about cursors: a part of
 * conformance.h, which has `fixture` and `store`. */
#ifndef WF_STORE_CURSOR_CONFORMANCE_H
#define WF_STORE_CURSOR_CONFORMANCE_H

static void expect_cursor(const char *name, const char *topic, uint64_t epoch, uint64_t offset)
{
    struct wf_store_cursor at;
    ck_assert_int_eq(fixture.engine->cursor(store, name, topic, &at), WEFT_OK);
    ck_assert_uint_eq(at.epoch, epoch);
    ck_assert_uint_eq(at.offset, offset);
}

static int advance_to(const char *name, const char *topic, uint64_t epoch, uint64_t offset)
{
    struct wf_store_advance a = {.name = name, .topic = topic, .to = {epoch, offset}, .error = 1};
    int rc = fixture.engine->advance(store, &a, 1);
    if (rc < 0) ck_assert_int_eq(a.error, rc);
    return a.error;
}

START_TEST(cursors_go_forward)
{
    expect_cursor("billing", "orders", 0, 0);
    ck_assert_int_eq(advance_to("billing", "orders", 5, 10), WEFT_OK);
    ck_assert_int_eq(advance_to("billing", "orders", 5, 9), WEFT_OK);
    ck_assert_int_eq(advance_to("other\tname", "orders", 5, 1), WEFT_OK);
    reopen();
    expect_cursor("billing", "orders", 5, 10);
    expect_cursor("other\tname", "orders", 5, 1);
    expect_cursor("billing", "orders.other", 0, 0);
    /* Another log under the same topic begins anew. */
    ck_assert_int_eq(advance_to("billing", "orders", 6, 2), WEFT_OK);
    expect_cursor("billing", "orders", 6, 2);
    ck_assert_int_eq(advance_to("", "orders", 6, 2), WEFT_EINVAL);
    ck_assert_int_eq(advance_to("billing", "orders.>", 6, 2), WEFT_EINVAL);
    ck_assert_int_eq(advance_to("billing", "orders", 0, 2), WEFT_EINVAL);
    ck_assert_int_eq(advance_to("billing", "orders", 6, WF_STORE_OFFSET_MAX + 1), WEFT_EINVAL);
}
END_TEST

START_TEST(a_batch_of_cursors)
{
    struct wf_store_advance batch[] = {{.name = "c", .topic = "a", .to = {5, 3}},
                                       {.name = "c", .topic = "*", .to = {5, 3}},
                                       {.name = "c", .topic = "a", .to = {5, 7}},
                                       {.name = "c", .topic = "a", .to = {5, 6}},
                                       {.name = "d", .topic = "a", .to = {5, 1}}};
    ck_assert_int_eq(fixture.engine->advance(store, batch, 5), WEFT_OK);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(batch[i].error, i == 1 ? WEFT_EINVAL : WEFT_OK);
    reopen();
    expect_cursor("c", "a", 5, 7);
    expect_cursor("d", "a", 5, 1);
    ck_assert_int_eq(fixture.engine->advance(store, batch, 0), WEFT_EINVAL);
    static struct wf_store_advance many[WF_STORE_BATCH_MAX + 1];
    ck_assert_int_eq(fixture.engine->advance(store, many, WF_STORE_BATCH_MAX + 1), WEFT_EINVAL);
    ck_assert_int_eq(many[WF_STORE_BATCH_MAX].error, WEFT_EINVAL);
}
END_TEST

START_TEST(cursors_are_removed)
{
    ck_assert_int_eq(advance_to("c", "a", 5, 3), WEFT_OK);
    ck_assert_int_eq(advance_to("c", "b", 5, 3), WEFT_OK);
    ck_assert_int_eq(advance_to("c", "a", 0, 0), WEFT_OK);
    ck_assert_int_eq(advance_to("none", "a", 0, 0), WEFT_OK);
    reopen();
    expect_cursor("c", "a", 0, 0);
    expect_cursor("c", "b", 5, 3);
    ck_assert_int_eq(advance_to("c", "a", 5, 1), WEFT_OK);
    expect_cursor("c", "a", 5, 1);
}
END_TEST

struct cursors_seen {
    char text[400];
    int left;
};

static bool add_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    struct cursors_seen *seen = arg;
    size_t size = strlen(seen->text);
    snprintf(seen->text + size, sizeof seen->text - size, "%s/%s=%llu:%llu ", name, topic,
             (unsigned long long)at.epoch, (unsigned long long)at.offset);
    return --seen->left > 0;
}

static void expect_cursors(const char *name, const char *topic, int max, const char *text)
{
    struct cursors_seen seen = {.left = max};
    ck_assert_int_eq(fixture.engine->cursors(store, name, topic, add_cursor, &seen), WEFT_OK);
    ck_assert_str_eq(seen.text, text);
}

START_TEST(cursors_are_listed)
{
    expect_cursors("", "", 9, "");
    ck_assert_int_eq(advance_to("c", "b", 5, 2), WEFT_OK);
    ck_assert_int_eq(advance_to("c.d", "a", 5, 3), WEFT_OK);
    ck_assert_int_eq(advance_to("c", "a", 5, 1), WEFT_OK);
    ck_assert_int_eq(advance_to("B", "z", 9, 4), WEFT_OK);
    expect_cursors("", "", 9, "B/z=9:4 c/a=5:1 c/b=5:2 c.d/a=5:3 ");
    expect_cursors("", "", 2, "B/z=9:4 c/a=5:1 ");
    expect_cursors("c", "a", 9, "c/b=5:2 c.d/a=5:3 ");
    expect_cursors("c.d", "a", 9, "");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

static void fill_with_cursors(size_t count)
{
    static char name[WF_STORE_BATCH_MAX][16];
    static struct wf_store_advance batch[WF_STORE_BATCH_MAX];
    for (size_t from = 0; from < count; from += WF_STORE_BATCH_MAX) {
        size_t n = count - from < WF_STORE_BATCH_MAX ? count - from : WF_STORE_BATCH_MAX;
        for (size_t i = 0; i < n; i++) {
            snprintf(name[i], sizeof name[i], "%zu", from + i);
            batch[i] = (struct wf_store_advance){.name = name[i], .topic = "a", .to = {5, 1}};
        }
        ck_assert_int_eq(fixture.engine->advance(store, batch, n), WEFT_OK);
        for (size_t i = 0; i < n; i++) ck_assert_int_eq(batch[i].error, WEFT_OK);
    }
}

/* A server makes a hundred thousand rows in half a second, and takes ten for as many that the engine sends. */
static void fill_to_the_bound_of_cursors(void)
{
    char sql[160];
    int by_hand = fixture.cursors_by_hand == NULL ? 0 : WF_STORE_CURSORS_MAX - WF_STORE_BATCH_MAX;
    if (by_hand > 0) {
        snprintf(sql, sizeof sql, fixture.cursors_by_hand, by_hand);
        close_it();
        fixture.run_sql(sql);
        open_it();
    }
    fill_with_cursors((size_t)(WF_STORE_CURSORS_MAX - by_hand));
}

START_TEST(cursors_are_bounded)
{
    fill_to_the_bound_of_cursors();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(advance_to("more", "a", 5, 1), WEFT_EFULL);
        ck_assert_int_eq(advance_to("17", "a", 5, 2), WEFT_OK);
        reopen();
    }
    ck_assert_int_eq(advance_to("18", "a", 0, 0), WEFT_OK);
    ck_assert_int_eq(advance_to("more", "a", 5, 1), WEFT_OK);
    ck_assert_int_eq(advance_to("even-more", "a", 5, 1), WEFT_EFULL);
}
END_TEST

static void add_cursor_tests(TCase *c)
{
    tcase_add_test(c, cursors_go_forward);
    tcase_add_test(c, a_batch_of_cursors);
    tcase_add_test(c, cursors_are_removed);
    tcase_add_test(c, cursors_are_listed);
    add_bound_test(c, cursors_are_bounded);
}

#endif
