/* Lists of a node in pages: a node whose list has no end cannot keep a verb waiting. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weft/test.h>

#include "control.h"
#include "pages.h"

#include "../../../suite.h"

/* ---- In the place of the node ---------------------------------------------------------------------------------- */

enum { PAGE_MS = 3000 };

static struct liar {
    uint32_t rows;   /* of each page */
    uint32_t pages;  /* of the whole list; 0: it does not end */
    bool stays;      /* each page names itself as the next one */
    uint32_t served; /* pages until now */
} liar;
static char failure[256];

int cli_fail(const struct cli *c, int code, const char *format, ...)
{
    va_list args;
    (void)c;
    va_start(args, format);
    vsnprintf(failure, sizeof failure, format, args);
    va_end(args);
    return code;
}

/* Each page takes three seconds. */
int cli_control_or_error(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer)
{
    uint8_t body[64];
    char next[16];
    weft_writer w = weft_writer_on(body, sizeof body);
    (void)data, (void)size;
    int64_t ready = weft_after(WEFT_MS(PAGE_MS));
    (void)weft_sleep(ready < k->deadline ? ready : k->deadline);
    if (ready > k->deadline) return cli_fail(k->c, CLI_DEADLINE, "deadline passed");
    uint32_t place = liar.stays ? 0 : ++liar.served;
    snprintf(next, sizeof next, "page %u", (unsigned)place);
    weft_put_array(&w, 2);
    weft_put_bin(&w, next, liar.pages != 0 && place == liar.pages ? 0 : strlen(next));
    weft_put_array(&w, liar.rows);
    for (uint32_t i = 0; i < liar.rows; i++) weft_put_uint(&w, i);
    *answer = weft_msg_new(verb, w.size);
    weft_require(w.error == 0 && *answer != NULL);
    memcpy(weft_msg_body(*answer), body, w.size);
    return CLI_OK;
}

int cli_control(struct cli_client *k, uint32_t verb, const void *data, size_t size, weft_msg **answer)
{
    return cli_control_or_error(k, verb, data, size, answer);
}

int cli_cannot_decode(const struct cli_client *k)
{
    return cli_fail(k->c, CLI_FAILED, "cannot decode");
}

int cli_print_refusal(const struct cli_client *k, const weft_msg *m)
{
    (void)m;
    return cli_fail(k->c, CLI_FAILED, "refused");
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

enum { PAGES_SEEN = 1000 };

static struct reading {
    struct cli c;
    bool silent;
    int pages, code; /* what came of it */
    int64_t took;
} reading;

static void read_all(const void *arg, size_t size)
{
    struct reading *r = &reading;
    struct cli_client k = {.c = &r->c, .node = "liar", .deadline = weft_after(r->c.timeout)};
    struct cli_pages p = {.verb = WF_CONTROL_NAMES, .silent = r->silent};
    int64_t began = weft_now();
    weft_msg *m;
    (void)arg, (void)size;
    while (!p.last && r->code == CLI_OK && r->pages < PAGES_SEEN) {
        r->code = cli_page(&k, &p, &m);
        if (r->code != CLI_OK) break;
        weft_msg_free(m);
        r->pages++;
    }
    r->took = weft_now() - began;
}

static void run(struct reading of)
{
    reading = of;
    liar.served = 0;
    failure[0] = '\0';
    ck_assert_msg(weft_test_run(read_all, NULL, 0, NULL) == 0, "%s", weft_test_report());
}

START_TEST(a_list_comes_to_its_end)
{
    liar = (struct liar){.rows = 2, .pages = 10};
    run((struct reading){.silent = true});
    ck_assert_int_eq(reading.code, CLI_OK);
    ck_assert_int_eq(reading.pages, 10);
}
END_TEST

START_TEST(pages_without_rows_come_to_an_end)
{
    liar = (struct liar){.rows = 0};
    run((struct reading){.silent = false});
    ck_assert_int_eq(reading.code, CLI_DEADLINE);
    ck_assert_int_eq(reading.took, WEFT_SEC(60));
}
END_TEST

START_TEST(rows_that_are_not_printed_come_to_an_end)
{
    liar = (struct liar){.rows = 2};
    run((struct reading){.silent = true});
    ck_assert_int_eq(reading.code, CLI_DEADLINE);
    ck_assert_int_eq(reading.took, WEFT_SEC(60));
}
END_TEST

/* A million actors on a busy node. */
START_TEST(a_list_that_is_printed_may_be_long)
{
    liar = (struct liar){.rows = 2};
    run((struct reading){.silent = false});
    ck_assert_int_eq(reading.code, CLI_OK);
    ck_assert_int_eq(reading.pages, PAGES_SEEN);
}
END_TEST

START_TEST(the_timeout_holds_for_the_whole_list)
{
    liar = (struct liar){.rows = 2};
    run((struct reading){.c = {.has_timeout = true, .timeout = WEFT_SEC(7)}});
    ck_assert_int_eq(reading.code, CLI_DEADLINE);
    ck_assert_int_eq(reading.took, WEFT_SEC(7));
}
END_TEST

START_TEST(a_page_that_names_itself_as_the_next_one_is_refused)
{
    liar = (struct liar){.rows = 2, .stays = true};
    run((struct reading){.silent = false});
    ck_assert_int_eq(reading.code, CLI_FAILED);
    ck_assert_int_eq(reading.pages, 1);
    ck_assert_ptr_nonnull(strstr(failure, "liar: its list does not end"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pages of a list");
    TCase *c = tcase_create("pages");
    suite_add_tcase(suite, c);
    tcase_add_test(c, a_list_comes_to_its_end);
    tcase_add_test(c, pages_without_rows_come_to_an_end);
    tcase_add_test(c, rows_that_are_not_printed_come_to_an_end);
    tcase_add_test(c, a_list_that_is_printed_may_be_long);
    tcase_add_test(c, the_timeout_holds_for_the_whole_list);
    tcase_add_test(c, a_page_that_names_itself_as_the_next_one_is_refused);
    return run_suite(suite);
}
