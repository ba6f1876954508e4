/* Typed messages at their bounds: nesting that ends in each kind of value, two faults in one message, and views of a
 * message that is gone. */
#include <check.h>
#include <string.h>

#include <weft/typed.h>

#include "../../../suite.h"

#define STATE(E) E(STATE_OPEN, 0, "open")
WEFT_ENUM(state, STATE)
#define LEAF(F) F(list(leaf), kids) F(list(leaf), more) F(pid, who)
WEFT_STRUCT(leaf, LEAF)
#define ROOT(F) F(leaf, top)
WEFT_MESSAGE(root, 1, ROOT)
#define BOOK(F) F(map(leaf), pages) F(map(int), numbers) F(list(int), counts)
WEFT_MESSAGE(book, 2, BOOK)

static uint8_t buffer[4096];

/* Two levels for each of them, and one for its pid. */
static void chain_up(struct leaf *chain, size_t count)
{
    memset(chain, 0, count * sizeof *chain);
    for (size_t i = 0; i + 1 < count; i++) chain[i].kids.items = &chain[i + 1], chain[i].kids.count = 1;
}

START_TEST(the_deepest_pid_and_the_deepest_list)
{
    struct leaf chain[17], got;
    struct weft_why why;
    chain_up(chain, 17);
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_typed_put(&w, leaf_type(), &chain[1]); /* 16 of them: 31 levels, and the pid is the 32nd */
    ck_assert_int_eq(w.error, 0);
    ck_assert_int_eq(weft_typed_read(leaf_type(), buffer, w.size, &got, &why), 0);
    w = weft_writer_on(buffer, sizeof buffer);
    weft_typed_put(&w, leaf_type(), &chain[0]);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
    /* The value is one level deeper: there the lists, and the pid of the last one, are too deep. */
    struct root root = {.top = chain[1]};
    w = weft_writer_on(buffer, sizeof buffer);
    root_put(&w, &root);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
}
END_TEST

/* 32 containers, then what `last` puts where the field `at` of the last struct is. */
static int read_deep(bool pid, struct weft_why *why)
{
    struct root got;
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_array(&w, 1);
    for (int i = 0; i < 15; i++) {
        weft_put_array(&w, 1);
        weft_put_array(&w, 1);
    }
    weft_put_array(&w, pid ? 3 : 1); /* the 32nd */
    for (int i = 0; pid && i < 2; i++) weft_put_nil(&w);
    weft_put_array(&w, pid ? 2 : 0);
    for (int i = 0; pid && i < 2; i++) weft_put_uint(&w, 1);
    ck_assert_int_eq(w.error, 0);
    return weft_typed_read(root_type(), buffer, w.size, &got, why);
}

START_TEST(received_ones_are_bounded_the_same_way)
{
    struct weft_why why;
    for (int pid = 0; pid < 2; pid++) {
        ck_assert_int_eq(read_deep(pid == 1, &why), WEFT_EFORMAT);
        ck_assert_ptr_nonnull(strstr(why.text, "nested too deep"));
        ck_assert_int_eq(read_deep(pid == 1, NULL), WEFT_EFORMAT);
    }
}
END_TEST

/* The first fault is the one that is told, whatever is put behind it. */
START_TEST(the_first_error_of_a_writer_stays)
{
    struct leaf chain[18];
    chain_up(chain, 18);
    for (int i = 0; i < 17; i++) chain[i].more = chain[i].kids;
    struct root root = {.top = chain[15]};
    weft_writer w = weft_writer_on(NULL, 0);
    w.error = WEFT_EFORMAT;
    root_put(&w, &root);
    ck_assert_int_eq(w.error, WEFT_EFORMAT);
    root.top = chain[1];
    for (int i = 0; i < 16; i++) chain[i].more.count = 0; /* not 2^15 of them */
    w = weft_writer_on(NULL, 0);
    root_put(&w, &root);
    ck_assert_int_eq(w.error, WEFT_ETOOBIG);
#if SIZE_MAX > UINT32_MAX
    struct leaf wide = {.kids.count = (size_t)UINT32_MAX + 1, .more.count = (size_t)UINT32_MAX + 1};
    w = weft_writer_on(NULL, 0);
    w.error = WEFT_EFORMAT;
    weft_typed_put(&w, leaf_type(), &wide);
    ck_assert_int_eq(w.error, WEFT_EFORMAT);
#endif
    memset(buffer, 0x90, 4);
    weft_reader r = weft_reader_on(buffer, 4);
    r.error = WEFT_ETOOBIG;
    struct weft_why why;
    struct leaf got;
    memset(&got, 0xFF, sizeof got);
    weft_typed_get(&r, leaf_type(), &got, &why);
    ck_assert_int_eq(r.error, WEFT_ETOOBIG);
    ck_assert_str_eq(why.text, "");
    ck_assert_uint_eq(got.kids.count, 0);
}
END_TEST

START_TEST(a_message_with_another_tag_is_refused)
{
    struct weft_why why;
    struct book got;
    memset(&got, 0xFF, sizeof got);
    ck_assert_int_eq(weft_typed_other_tag(book_type(), 77, &got, &why), WEFT_EFORMAT);
    ck_assert_str_eq(why.text, "book: the message has another tag, 77");
    ck_assert_uint_eq(got.pages.count, 0);
    ck_assert_int_eq(weft_typed_other_tag(book_type(), 77, &got, NULL), WEFT_EFORMAT);
}
END_TEST

static size_t pack_book(struct book *out)
{
    static struct leaf leaf;
    static weft_entry_leaf pages[2];
    static weft_entry_int numbers[2];
    static int64_t counts[] = {1, 2};
    for (int i = 0; i < 2; i++) {
        pages[i].key = numbers[i].key = weft_cstr(i == 0 ? "one" : "two");
        pages[i].value = leaf;
        numbers[i].value = i;
    }
    *out = (struct book){.pages = {.items = pages, .count = 2},
                         .numbers = {.items = numbers, .count = 2},
                         .counts = {.items = counts, .count = 2}};
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    book_put(&w, out);
    ck_assert_int_eq(w.error, 0);
    return w.size;
}

/* Such a struct must not be used, but reading it must not end the process: any value may be read, and nothing after
 * it. */
START_TEST(views_of_a_message_that_is_gone_read_as_empty)
{
    struct book sent, got;
    weft_entry_leaf page;
    weft_entry_int number;
    int64_t n;
    struct leaf leaf;
    size_t size = pack_book(&sent);
    ck_assert_int_eq(weft_typed_read(book_type(), buffer, size, &got, NULL), 0);
    ck_assert(weft_typed_find(leaf_type(), &got.pages, weft_cstr("two"), &leaf));
    ck_assert(!weft_typed_find(leaf_type(), &got.pages, weft_cstr("three"), &leaf));
    ck_assert(!weft_typed_find(leaf_type(), &sent.pages, weft_cstr("three"), &leaf));
    memset(buffer, 0xC1, sizeof buffer); /* the one byte that begins nothing */
    ck_assert(!weft_typed_find(leaf_type(), &got.pages, weft_cstr("two"), &leaf));
    ck_assert(!weft_typed_find(leaf_type(), &got.pages, weft_cstr(""), &leaf));
    ck_assert(!weft_typed_next_entry(leaf_type(), &got.pages, &page));
    ck_assert_uint_eq(got.pages.count, 0);
    ck_assert(!weft_int_next_entry(&got.numbers, &number));
    ck_assert(!weft_int_next(&got.counts, &n));
    ck_assert_uint_eq(got.counts.count, 0);
}
END_TEST

START_TEST(values_of_a_message_that_is_gone)
{
    struct book sent, got;
    struct leaf leaf;
    weft_entry_leaf page;
    size_t size = pack_book(&sent);
    ck_assert_int_eq(weft_typed_read(book_type(), buffer, size, &got, NULL), 0);
    /* The keys are still there, and behind the first of them nothing is; behind the second there is no struct. */
    uint8_t *first = memmem(buffer, size, "one", 3), *second = memmem(buffer, size, "two", 3);
    ck_assert(first != NULL && second != NULL);
    first[3] = 0xC0;
    memset(first + 4, 0xC0, (size_t)(second - first) - 5);
    second[3] = 0xC1;
    ck_assert(weft_typed_find(leaf_type(), &got.pages, weft_cstr("one"), &leaf));
    ck_assert_uint_eq(leaf.kids.count, 0);
    ck_assert(!weft_typed_find(leaf_type(), &got.pages, weft_cstr("two"), &leaf));
    ck_assert(weft_typed_next_entry(leaf_type(), &got.pages, &page));
    ck_assert_uint_eq(page.value.kids.count, 0);
    while (weft_typed_next_entry(leaf_type(), &got.pages, &page)) {}
    ck_assert_uint_eq(got.pages.count, 0);
}
END_TEST

START_TEST(an_enumeration_names_only_its_numbers)
{
    ck_assert_str_eq(state_name(0), "open");
    ck_assert_ptr_null(state_name(1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("typed_bounds");
    TCase *t = tcase_create("bounds");
    tcase_add_test(t, the_deepest_pid_and_the_deepest_list);
    tcase_add_test(t, received_ones_are_bounded_the_same_way);
    tcase_add_test(t, the_first_error_of_a_writer_stays);
    tcase_add_test(t, a_message_with_another_tag_is_refused);
    tcase_add_test(t, views_of_a_message_that_is_gone_read_as_empty);
    tcase_add_test(t, values_of_a_message_that_is_gone);
    tcase_add_test(t, an_enumeration_names_only_its_numbers);
    suite_add_tcase(s, t);
    return run_suite(s);
}
