/* tests/unit/runtime/platform/address_test.c -- addresses as text, there and back. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "../../../suite.h"

static const struct {
    const char *text, *back;
} GOOD[] = {
    {"127.0.0.1:80", NULL},
    {"0.0.0.0:0", NULL},
    {"255.255.255.255:65535", NULL},
    {"localhost:80", "127.0.0.1:80"},
    {"[::1]:80", NULL},
    {"[::]:0", NULL},
    {"[0:0:0:0:0:0:0:1]:007", "[::1]:7"},
    {"[2001:db8::5]:65535", NULL},
#ifndef _WIN32 /* where interfaces have other names */
    {"[fe80::1%lo]:9", NULL},
#endif
    {"unix:/tmp/x", NULL},
    {"unix:relative path", NULL},
    {"unix:a:80", NULL},
};

static const char *const BAD[] = {
    "",
    ":",
    "80",
    ":80",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:x",
    "127.0.0.1:-1",
    "127.0.0.1:+1",
    "127.0.0.1: 1",
    "127.0.0.1:65536",
    "127.0.0.1:999999999999",
    "127.0.0.1:80 ",
    "127.0.0:80",
    "127.0.0.1.1:80",
    "256.0.0.1:80",
    "example.org:80",
    "Localhost:80",
    "::1:80",
    "[::1]",
    "[::1:80",
    "::1]:80",
    "[]:80",
    "[:]:80",
    "[127.0.0.1]:80",
    "[::1%]:80",
    "[::1%no such]:80",
    "[::g]:80",
    "unix:",
    "UNIX:/x",
    "127.0.0.1:0x50",
    "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80",
};

START_TEST(good_addresses_come_back_as_they_were)
{
    struct pf_address a;
    char text[128];
    ck_assert_int_eq(pf_address_parse(GOOD[_i].text, &a), WEFT_OK);
    ck_assert_int_eq(pf_address_format(&a, text, sizeof text), WEFT_OK);
    ck_assert_str_eq(text, GOOD[_i].back != NULL ? GOOD[_i].back : GOOD[_i].text);
    /* A buffer that just fits, and one that does not. */
    size_t fits = strlen(text) + 1;
    ck_assert_int_eq(pf_address_format(&a, text, fits), WEFT_OK);
    ck_assert_int_eq(pf_address_format(&a, text, fits - 1), WEFT_ETOOBIG);
}
END_TEST

START_TEST(bad_addresses_are_refused)
{
    struct pf_address a;
    ck_assert_msg(pf_address_parse(BAD[_i], &a) == WEFT_EADDRESS, "the address \"%s\" was accepted", BAD[_i]);
}
END_TEST

START_TEST(unix_paths_fit_or_are_refused)
{
    char text[200];
    struct pf_address a;
    strcpy(text, "unix:");
    memset(text + 5, 'x', sizeof text - 5);
    text[5 + 107] = '\0'; /* sun_path holds 108 bytes, one of them the NUL */
    ck_assert_int_eq(pf_address_parse(text, &a), WEFT_OK);
    char back[200];
    ck_assert_int_eq(pf_address_format(&a, back, sizeof back), WEFT_OK);
    ck_assert_str_eq(back, text);
    text[5 + 107] = 'x';
    text[5 + 108] = '\0';
    ck_assert_int_eq(pf_address_parse(text, &a), WEFT_EADDRESS);
}
END_TEST

START_TEST(nonsense_is_not_formatted)
{
    char text[64];
    struct pf_address a;
    memset(&a, 0xFF, sizeof a);
    ck_assert_int_eq(pf_address_format(&a, text, sizeof text), WEFT_EADDRESS);
    a.size = 0;
    ck_assert_int_eq(pf_address_format(&a, text, sizeof text), WEFT_EADDRESS);
    a.size = 16;
    ck_assert_int_eq(pf_address_format(&a, text, sizeof text), WEFT_EADDRESS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("address");
    TCase *c = tcase_create("address");
    tcase_add_loop_test(c, good_addresses_come_back_as_they_were, 0, (int)WF_COUNT(GOOD));
    tcase_add_loop_test(c, bad_addresses_are_refused, 0, (int)WF_COUNT(BAD));
    tcase_add_test(c, unix_paths_fit_or_are_refused);
    tcase_add_test(c, nonsense_is_not_formatted);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
