/* The text after "etcd:", and the file with its password. */
#include "etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../suite.h"
#include "etcd_spec.h"
#include "source.h"

static struct wf_etcd_spec spec;
static char why[WF_REASON_TEXT];

/* Splits the spec as wf_discover_create does: `rest` is the part before '?'. */
static int read_spec(const char *text)
{
    static struct wf_source source;
    char rest[WF_SPEC_TEXT];
    memset(&spec, 0, sizeof spec);
    why[0] = '\0';
    snprintf(source.spec, sizeof source.spec, "%s", text);
    snprintf(rest, sizeof rest, "%.*s", (int)strcspn(text, "?"), text);
    return wf_etcd_spec_read(&spec, &source, rest, why);
}

START_TEST(urls_and_prefixes)
{
    static const struct {
        const char *text, *base, *prefix;
    } good[] = {
        {"http://127.0.0.1:2379", "http://127.0.0.1:2379", "/weft/"},
        {"http://127.0.0.1:2379/", "http://127.0.0.1:2379", "/weft/"},
        {"https://etcd.example:1/chat", "https://etcd.example:1", "/chat/"},
        {"http://[::1]:2379/chat/", "http://[::1]:2379", "/chat/"},
        {"http://a:1/b/c", "http://a:1", "/b/c/"},
    };
    for (size_t i = 0; i < WF_COUNT(good); i++) {
        ck_assert_msg(read_spec(good[i].text) == WEFT_OK, "%s: %s", good[i].text, why);
        ck_assert_str_eq(spec.base, good[i].base);
        ck_assert_str_eq(spec.prefix, good[i].prefix);
        ck_assert_int_eq(spec.ttl, WEFT_SEC(10));
    }
}
END_TEST

START_TEST(a_bad_specification_is_refused_with_its_reason)
{
    static const char *const bad[][2] = {
        {"", "not a URL like"},
        {"127.0.0.1:2379", "not a URL like"},
        {"ftp://127.0.0.1:2379", "not a URL like"},
        {"http://", "is not HOST:PORT"},
        {"http://a", "is not HOST:PORT"},
        {"https://a:0/x", "is not HOST:PORT"},
        {"http://a b:1/x", "is no host name"},
        {"http://a:1?ttl=1", "ttl=1: seconds from 2 to 3600"},
        {"http://a:1?ttl=3601", "ttl=3601: seconds"},
        {"http://a:1?ttl=5s", "ttl=5s: seconds"},
        {"http://a:1?user=u", "user and password_file go together"},
        {"http://a:1?password_file=/dev/null", "user and password_file go together"},
    };
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        ck_assert_int_eq(read_spec(bad[i][0]), WEFT_EADDRESS);
        ck_assert_msg(strstr(why, bad[i][1]) != NULL, "%s: %s", bad[i][0], why);
    }
    char text[400], part[300];
    for (size_t size = 100; size <= 101; size++) { /* of the path */
        memset(part, 'x', size - 1);
        part[size - 1] = '\0';
        snprintf(text, sizeof text, "http://a:1/%s", part);
        ck_assert_int_eq(read_spec(text), size == 100 ? WEFT_OK : WEFT_EADDRESS);
    }
    ck_assert_str_eq(why, "the URL is too long");
    /* The longest host there may be, with its port. */
    for (size_t i = 0; i < 253; i++) part[i] = i % 50 == 49 ? '.' : 'x';
    part[253] = '\0';
    snprintf(text, sizeof text, "https://%s:65535/p", part);
    ck_assert_int_eq(read_spec(text), WEFT_EADDRESS);
    ck_assert_str_eq(why, "the URL is too long");
}
END_TEST

START_TEST(options)
{
    ck_assert_int_eq(read_spec("https://a:1/p?ttl=2&ca=/ca.pem&cert=/c.pem&key=/k.pem"), WEFT_OK);
    ck_assert_int_eq(spec.ttl, WEFT_SEC(2));
    ck_assert_str_eq(spec.ca, "/ca.pem");
    ck_assert_str_eq(spec.cert, "/c.pem");
    ck_assert_str_eq(spec.key, "/k.pem");
    ck_assert_int_eq(read_spec("http://a:1?ttl=3600"), WEFT_OK);
    ck_assert_int_eq(spec.ttl, WEFT_SEC(3600));
}
END_TEST

START_TEST(passwords)
{
    static const struct {
        const char *content, *password;
    } files[] = {
        {"secret", "secret"}, {"secret\n", "secret"}, {"secret\r\nmore", "secret"}, {"", NULL}, {"\nx", NULL}};
    char path[] = "/tmp/weft-password-XXXXXX", text[200];
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    remove(path);
    snprintf(text, sizeof text, "http://a:1?user=alice&password_file=%s", path);
    ck_assert_int_eq(read_spec(text), WEFT_EACCESS); /* it is not there */
    ck_assert_ptr_nonnull(strstr(why, "no password can be read from "));
    for (size_t i = 0; i < WF_COUNT(files); i++) {
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fputs(files[i].content, f);
        ck_assert_int_eq(fclose(f), 0);
        int rc = read_spec(text);
        remove(path);
        ck_assert_int_eq(rc, files[i].password != NULL ? WEFT_OK : WEFT_EACCESS);
        if (files[i].password == NULL) continue;
        ck_assert_str_eq(spec.user, "alice");
        ck_assert_str_eq(spec.password, files[i].password);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("etcd_spec");
    TCase *t = tcase_create("etcd_spec");
    tcase_add_test(t, urls_and_prefixes);
    tcase_add_test(t, a_bad_specification_is_refused_with_its_reason);
    tcase_add_test(t, options);
    tcase_add_test(t, passwords);
    suite_add_tcase(s, t);
    return run_suite(s);
}
