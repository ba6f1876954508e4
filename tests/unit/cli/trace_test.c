/* What weft trace holds of messages that wait for their trace id to be asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "compat.h"
#include "json.h"
#include "talk.h"

#include "../../../cli/trace.h"
#include "../../suite.h"

enum { BODY = 1 << 20, ROWS = 40, HELD_MOST = 16 };

/* ---- In the place of a node and of a terminal ------------------------------------------------------------------ */

int cli_ask_node(const struct cli *c, int (*act)(struct cli_client *k))
{
    (void)c, (void)act;
    return CLI_OK;
}

int cli_listen(struct cli_client *k, uint32_t verb, const void *request, size_t size, const char *what)
{
    (void)k, (void)verb, (void)request, (void)size, (void)what;
    return CLI_OK;
}

int cli_fail(const struct cli *c, int code, const char *format, ...)
{
    (void)c, (void)format;
    return code;
}

void cli_print_text(const char *key, weft_text text)
{
    (void)key, (void)text;
}

void cli_print_body(FILE *out, const void *data, size_t size)
{
    (void)out, (void)data, (void)size;
}

void cli_print_json_body(const void *data, size_t size)
{
    (void)data, (void)size;
}

void cli_utc(time_t t, struct tm *out)
{
    (void)t;
    *out = (struct tm){0};
}

/* ---- Answers of a node ----------------------------------------------------------------------------------------- */

/* How many messages are shown when the node reports one of this trace. `wanted`: its id was asked for. */
static int64_t report(const char *trace, bool wanted)
{
    static char buffer[BODY + 1024];
    static const char body[BODY];
    const struct cli c = {.json = true};
    weft_writer w = weft_writer_on(buffer, sizeof buffer);
    weft_put_array(&w, 4);
    weft_put_str(&w, weft_cstr("a"));
    weft_put_uint(&w, 7);
    weft_put_uint(&w, 0);
    weft_put_array(&w, 11);
    weft_put_int(&w, 1);
    weft_put_uint(&w, 1);
    weft_put_str(&w, weft_cstr("0.1.1"));
    weft_put_str(&w, weft_cstr("0.2.1"));
    weft_put_uint(&w, 5);
    weft_put_str(&w, weft_cstr(trace));
    weft_put_bool(&w, wanted);
    weft_put_str(&w, weft_cstr(""));
    weft_put_str(&w, weft_cstr(""));
    weft_put_uint(&w, BODY);
    weft_put_bin(&w, body, BODY);
    ck_assert_int_eq(w.error, 0);
    weft_reader r = weft_reader_on(buffer, w.size);
    return cli_print_traced(&c, &r, INT64_MAX);
}

static const char first[] = "0123456789abcdef0123456789abcdef", second[] = "123456789abcdef0123456789abcdef0";

/* The tests may run in one process: each starts with nothing that waits and no id. */
static void forget(void)
{
    const struct cli c = {.json = true};
    ck_assert_int_eq(cli_trace(&c), CLI_OK);
}

START_TEST(messages_wait_until_their_trace_is_asked_for)
{
    ck_assert_int_eq(report(first, false), 0);
    ck_assert_int_eq(report(second, false), 0);
    ck_assert_int_eq(report(first, true), 2);
    ck_assert_int_eq(report(first, false), 1);
}
END_TEST

START_TEST(the_bytes_that_wait_are_limited)
{
    for (int i = 0; i < ROWS; i++) ck_assert_int_eq(report(first, false), 0);
    int64_t shown = report(first, true);
    ck_assert_int_gt(shown, 1);
    ck_assert_int_le(shown, 1 + HELD_MOST);
}
END_TEST

START_TEST(nothing_is_held_after_the_end)
{
    ck_assert_int_eq(report(first, false), 0);
    ck_assert_int_eq(report(second, true), 1);
    forget();
    ck_assert_int_eq(report(second, false), 0); /* this id is not known any more */
    ck_assert_int_eq(report(first, true), 1);   /* nor does its message wait */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weft trace");
    TCase *c = tcase_create("waiting");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, forget, NULL);
    tcase_add_test(c, messages_wait_until_their_trace_is_asked_for);
    tcase_add_test(c, the_bytes_that_wait_are_limited);
    tcase_add_test(c, nothing_is_held_after_the_end);
    return run_suite(suite);
}
