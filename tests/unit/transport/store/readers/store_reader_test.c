/* tests/unit/transport/store/readers/store_reader_test.c -- the actor that reads pages: how often it reads the database. */
#include <weft.h>
#include <weft/test.h>

#include "store_file.h"
#include "store_messages.h"
#include "store_reader.h"

#include "../sqlite_folder.h" /* it has a variable whose name is that of arguments above */

enum { MANY = 1000 };

static struct wf_store_file *open_file;
static struct wf_store_engine counting; /* the file's engine, which counts */
static int reads;

static int count_read(struct wf_store *s, const char *topic, uint64_t from, size_t count, size_t bytes,
                      wf_store_each_record *each, void *arg, struct wf_store_log *log)
{
    reads++;
    return wf_store_sqlite.read(s, topic, from, count, bytes, each, arg, log);
}

static void store_record(const char *topic, const char *text, const struct wf_store_limits *limits)
{
    struct wf_store_append a = {.topic = topic, .data = text, .size = strlen(text), .limits = limits};
    weft_require(counting.append(open_file->store, &a, 1) == 0);
}

/* Asks the reader for a page. Returns its first record, and how many it has. */
static int ask(weft_pid reader, const char *topic, uint64_t from, char first[8])
{
    const struct store_read in = {.topic = weft_cstr(topic), .from = from, .count = 100, .bytes = 1000};
    weft_msg *m = wf_store_message(WF_STORE_READ, store_read_type(), &in), *answer;
    struct store_page page;
    struct store_row row;
    weft_require(m != NULL);
    weft_require(weft_call(reader, WF_STORE_READ, weft_data(m), weft_size(m), &answer, WEFT_FOREVER) == 0);
    weft_require(weft_typed_read(store_page_type(), weft_data(answer), weft_size(answer), &page, NULL) == 0);
    const int count = page.error == 0 ? (int)page.rows.count : (int)page.error;
    first[0] = '\0';
    if (store_row_next(&page.rows, &row)) weft_require(weft_text_copy(row.body, first, 8));
    weft_msg_free(m);
    weft_msg_free(answer);
    return count;
}

static void want(weft_pid reader, const char *topic, uint64_t from, int count, const char *first, int new_reads)
{
    char text[8];
    const int before = reads, got = ask(reader, topic, from, text);
    if (got != count || strcmp(text, first) != 0 || reads - before != new_reads)
        weft_fail(1, "%s %d: %d records, the first one %s, after %d reads", topic, (int)from, got, text,
                  reads - before);
}

static void talks_to_reader(const void *arg, size_t size)
{
    weft_pid reader;
    (void)arg, (void)size;
    weft_require(weft_spawn(&reader, wf_store_reader, &open_file->number, sizeof open_file->number, NULL) == 0);
    store_record("a", "one", NULL);
    store_record("a", "two", NULL);
    store_record("b", "three", NULL);
    want(reader, "a", 2, 1, "two", 1);
    for (int i = 0; i < MANY; i++) want(reader, "a", 2, 1, "two", 0);
    store_record("b", "four", NULL);
    want(reader, "a", 2, 1, "two", 0);
    want(reader, "a", 1, 2, "one", 1);
    want(reader, "a", 1, 2, "one", 0);
    store_record("a", "five", NULL); /* the page has one more record now */
    want(reader, "a", 1, 3, "one", 1);
    want(reader, "b", 1, 2, "three", 1);
    want(reader, "a", 3, 1, "five", 1);
    want(reader, "a", 3, 1, "five", 0);
    store_record("a", "six", &(struct wf_store_limits){.count = 1}); /* the earlier ones are removed */
    want(reader, "a", 3, 1, "six", 1);
    want(reader, "a", 9, 0, "", 1);
    want(reader, "a", 9, 0, "", 1); /* an empty page is not kept */
    want(reader, "none", 1, WEFT_ENOTFOUND, "", 0);
    weft_require(weft_send(reader, WF_STORE_QUIT, NULL, 0) == 0);
    weft_wait on = weft_on_end(reader);
    weft_require(weft_wait_any(&on, 1, WEFT_FOREVER) == 0);
}

/* As thousands do that wait for the next record of a topic. */
START_TEST(a_page_that_many_ask_for_is_read_once)
{
    char url[100];
    close_it();
    snprintf(url, sizeof url, "sqlite:%s", file);
    ck_assert_int_eq(wf_store_file_open(&open_file, url, false, &why), 0);
    counting = *open_file->store->engine;
    counting.read = count_read;
    open_file->store->engine = &counting;
    int rc = weft_test_run(talks_to_reader, NULL, 0, NULL);
    ck_assert_msg(rc == 0, "%s", weft_test_report());
    wf_store_file_release(open_file);
    ck_assert_int_eq(wf_store_file_open(&open_file, url, false, &why), 0); /* no page has kept it open */
    wf_store_file_release(open_file);
}
END_TEST

/* Each place of the cut is tried, also those inside a letter. */
START_TEST(a_url_that_is_cut_for_a_message_ends_with_a_whole_letter)
{
    for (size_t before = 0; before < 4; before++) {
        char url[512] = "", shown[64], open[600];
        for (size_t i = 0; i < before; i++) strcat(url, "x");
        while (strlen(url) < 300) strcat(url, "\xE2\x82\xAC");
        snprintf(open, sizeof open, "sqlite:%s", url);
        ck_assert_int_eq(wf_store_url_check(url, &why), WEFT_EINVAL);
        ck_assert_uint_eq(weft_printable(why.text, strlen(why.text), NULL), strlen(why.text));
        wf_store_url_show(open, shown, sizeof shown);
        ck_assert_uint_eq(weft_printable(shown, strlen(shown), NULL), strlen(shown));
        ck_assert_uint_ge(strlen(shown), sizeof shown - 3);
    }
}
END_TEST

int main(void)
{
    use_a_folder();
    Suite *suite = suite_create("the readers of the store");
    TCase *c = tcase_create("readers");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_page_that_many_ask_for_is_read_once);
    tcase_add_test(c, a_url_that_is_cut_for_a_message_ends_with_a_whole_letter);
    return run_suite(suite);
}
