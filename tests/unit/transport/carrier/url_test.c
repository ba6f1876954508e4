/* The URLs at which a node may listen and which it may dial, with and without certificates. */
#include "carrier.h"
#include "../../../suite.h"
#include "url.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

enum { PLAIN = 1, TLS = 2, INSECURE = 4, BOTH = 8 };

static const struct {
    const char *url;
    int listen; /* with which of these it may be listened on */
    int dial;   /* with which it may be dialled; what cannot be dialled at all is the carrier's business */
} rows[] = {
    {"tcp://127.0.0.1:1", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"tcp://[0:0:0:0:0:0:0:1]:1", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"tcp://localhost:1", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"tcp6://[::1]:1", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"ws://127.0.0.1:1/x", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"ipc:///x", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"abstract://x", INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"tcp://0.0.0.0:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://10.0.0.1:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://[::]:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://[::1", 0, PLAIN | INSECURE | BOTH},
    {"tcp://:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://*:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://127.evil.example:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://127.0.0-1:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"ws://a-name-of-more-bytes-than-a-reason-has-space-for.example:1/x", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://localhost.example:1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"ws://0.0.0.0:1/x", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"ws://a.example/127.0.0.1", INSECURE | BOTH, PLAIN | INSECURE | BOTH},
    {"tcp://127.0.0.1:x@0.0.0.0:1", 0, PLAIN | INSECURE | BOTH},
    {"tcp://127.0.0.1@0.0.0.0:1", 0, PLAIN | INSECURE | BOTH},
    {"tls+tcp://127.0.0.1:1", TLS | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"tls+tcp://0.0.0.0:1", TLS | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"wss://a.example:1/x", TLS | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"inherited://links", PLAIN | TLS | INSECURE | BOTH, PLAIN | TLS | INSECURE | BOTH},
    {"inherited://", 0, PLAIN | TLS | INSECURE | BOTH},
    {"inherited:links", 0, PLAIN | TLS | INSECURE | BOTH},
    {"tls+inherited://links", 0, PLAIN | TLS | INSECURE | BOTH},
    {"http://127.0.0.1:1", 0, PLAIN | TLS | INSECURE | BOTH},
    {"127.0.0.1:1", 0, PLAIN | TLS | INSECURE | BOTH},
    {"ipc://", 0, PLAIN | TLS | INSECURE | BOTH},
};

static int where(int (*check)(const char *, bool, bool, char *), const char *url)
{
    int set = 0;
    for (int i = 0; i < 4; i++) {
        char why[WF_REASON_TEXT] = "";
        int rc = check(url, (i & 1) != 0, (i & 2) != 0, why);
        ck_assert(rc == WEFT_OK || (rc == WEFT_EADDRESS && why[0] != '\0'));
        if (rc == WEFT_OK) set |= 1 << i;
    }
    return set;
}

START_TEST(urls_are_accepted_as_in_the_table)
{
    ck_assert_msg(where(wf_url_check_listen, rows[_i].url) == rows[_i].listen, "listening on %s", rows[_i].url);
    ck_assert_msg(where(wf_url_check_dial, rows[_i].url) == rows[_i].dial, "dialling %s", rows[_i].url);
}
END_TEST

/* What the text alone says: whether it can be dialled, and listened on. */
static const struct {
    const char *url;
    bool dials, listens;
} texts[] = {
    {"tcp://127.0.0.1:1", true, true},
    {"tcp://127.0.0.1:65535", true, true},
    {"tcp://127.0.0.1:65536", false, false},
    {"tcp://127.0.0.1:99999", false, false},
    {"tcp://127.0.0.1:000001", false, false},
    {"tcp://127.0.0.1:0", false, true},
    {"tcp://127.0.0.1:", false, false},
    {"tcp://127.0.0.1:-1", false, false},
    {"tcp://127.0.0.1:1x", false, false},
    {"tcp://127.0.0.1", false, false},
    {"tcp://", false, false},
    {"tcp://:1", false, true},
    {"tcp://[::1]:1", true, true},
    {"tcp://[::1", false, false},
    {"tcp://[", false, false},
    {"tcp://[::1]", false, false},
    {"tcp://[::1]:99999", false, false},
    {"tls+tcp://a.example:1", true, true},
    {"tls+tcp://a.example:99999", false, false},
    {"tcp://user@a.example:1", false, false},
    {"ws://a.example/x", true, true},
    {"wss://a.example", true, true},
    {"ws://a.example:80/x", true, true},
    {"ws://a.example:99999/x", false, false},
    {"ipc:///tmp/x", true, true},
    {"ipc://", false, false},
    {"abstract://x", true, true},
    {"inherited://x", false, true},
    {"inherited://", false, false},
    {"http://a.example:1", false, false},
    {"a.example:1", false, false},
    {"", false, false},
};

START_TEST(the_text_of_a_url_says_whether_it_is_one)
{
    char why[WF_REASON_TEXT] = "";
    ck_assert_int_eq(wf_url_check(texts[_i].url, false, why), texts[_i].dials ? WEFT_OK : WEFT_EADDRESS);
    ck_assert(texts[_i].dials || why[0] != '\0');
    why[0] = '\0';
    ck_assert_int_eq(wf_url_check(texts[_i].url, true, why), texts[_i].listens ? WEFT_OK : WEFT_EADDRESS);
    ck_assert(texts[_i].listens || why[0] != '\0');
}
END_TEST

START_TEST(a_url_longer_than_the_limit_is_refused)
{
    char url[WF_URL_TEXT + 1], why[WF_REASON_TEXT];
    memset(url, 'x', sizeof url);
    memcpy(url, "ipc:///", 7);
    url[WF_URL_TEXT - 1] = '\0';
    ck_assert_int_eq(wf_url_check_listen(url, false, false, why), WEFT_OK);
    url[WF_URL_TEXT - 1] = 'x';
    url[WF_URL_TEXT] = '\0';
    ck_assert_int_eq(wf_url_check_listen(url, false, true, why), WEFT_EADDRESS);
}
END_TEST

START_TEST(addresses_as_text)
{
    static const uint8_t v4[] = {127, 0, 0, 1}, v6[16] = {0x20, 0x01, 0x0d, 0xb8, [14] = 0xab, [15] = 0xcd};
    static const uint8_t port[] = {0x1f, 0x90};
    char text[80];
    wf_address_text(v4, sizeof v4, port, text, sizeof text);
    ck_assert_str_eq(text, "127.0.0.1:8080");
    wf_address_text(v6, sizeof v6, port, text, sizeof text);
    ck_assert_str_eq(text, "[2001:db8:0:0:0:0:0:abcd]:8080");
}
END_TEST

START_TEST(ports_of_urls)
{
    static const char *const with[][2] = {{"tcp://127.0.0.1:0", "tcp://127.0.0.1:7"},
                                          {"tcp6://[::1]:0", "tcp6://[::1]:7"},
                                          {"ws://a:0/x", "ws://a:7/x"},
                                          {"tcp://a", "tcp://a"},
                                          {"tcp6://[::1", "tcp6://[::1"},
                                          {"none", "none"}};
    char out[WF_URL_TEXT];
    for (size_t i = 0; i < WF_COUNT(with); i++) {
        wf_url_with_port(with[i][0], 7, out);
        ck_assert_str_eq(out, with[i][1]);
        wf_url_with_port(with[i][0], 0, out);
        ck_assert_str_eq(out, with[i][0]);
    }
}
END_TEST

START_TEST(schemes_of_nodes)
{
    static const char *const others[] = {"", "tcp", "tcp:/", "http://127.0.0.1:1", "https://a", "xtcp://a:1", "://"};
    for (size_t i = 0; i < WF_COUNT(rows); i++) {
        bool known = where(wf_url_check_listen, rows[i].url) != 0;
        bool inherited = wf_url_inherited(rows[i].url) != NULL; /* nobody dials those */
        if (known) ck_assert_msg(wf_url_is_known(rows[i].url) != inherited, "%s", rows[i].url);
    }
    for (size_t i = 0; i < WF_COUNT(others); i++) ck_assert_msg(!wf_url_is_known(others[i]), "%s", others[i]);
}
END_TEST

START_TEST(urls_of_inherited_sockets_are_told_from_others)
{
    static const char *const others[] = {"inherited:/x", "xinherited://a", "tls+inherited://a", "tcp://inherited://"};
    ck_assert_str_eq(wf_url_inherited("inherited://links"), "links");
    for (size_t i = 0; i < WF_COUNT(others); i++) ck_assert_msg(wf_url_inherited(others[i]) == NULL, "%s", others[i]);
    char why[WF_REASON_TEXT] = "";
    ck_assert_int_eq(wf_url_check_listen("tls+inherited://a", true, true, why), WEFT_EADDRESS);
    ck_assert_ptr_nonnull(strstr(why, "an inherited socket has no TLS"));
}
END_TEST

START_TEST(inherited_sockets_beyond_loopback_need_insecure)
{
    static const char *const loopback[] = {"tcp://127.0.0.1:1", "tcp://127.1.2.3:1", "tcp://[::1]:1"};
    static const char *const world[] = {"tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://10.0.0.1:1",
                                        "tcp://[::ffff:127.0.0.1]:1",
                                        "tcp://[2001:db8:1234:1234:1234:1234:1234:1234]:65535"};
    char why[WF_REASON_TEXT];
    for (size_t i = 0; i < WF_COUNT(loopback); i++)
        ck_assert_msg(wf_url_check_inherited(loopback[i], false, why) == WEFT_OK, "%s", loopback[i]);
    for (size_t i = 0; i < WF_COUNT(world); i++) {
        ck_assert_msg(wf_url_check_inherited(world[i], true, why) == WEFT_OK, "%s", world[i]);
        why[0] = '\0';
        ck_assert_msg(wf_url_check_inherited(world[i], false, why) == WEFT_EADDRESS, "%s", world[i]);
        ck_assert_msg(strstr(why, "or say --insecure (option insecure)") != NULL, "the reason is cut: %s", why);
    }
}
END_TEST

/* The seed's URL, the address from which it was reached, and the URL on which the node then listens. */
static const struct {
    const char *seed, *local, *there;
} beside[] = {
    {"tcp://127.0.0.1:4001", "127.0.0.1:50000", "tcp://127.0.0.1:0"},
    {"tcp://a.example:4001", "10.0.0.5:50000", "tcp://10.0.0.5:0"},
    {"tcp6://[2001:db8::1]:4001", "[2001:db8:0:0:0:0:0:2]:50000", "tcp6://[2001:db8:0:0:0:0:0:2]:0"},
    {"tls+tcp://a:4001", "10.0.0.5:50000", "tls+tcp://10.0.0.5:0"},
    {"ws://a:4001/deep/path", "10.0.0.5:50000", "ws://10.0.0.5:0/deep/path"},
    {"wss://a:4001", "10.0.0.5:50000", "wss://10.0.0.5:0"},
    {"ipc:///run/user/1/weft/a.sock", "local socket", "ipc:///run/user/1/weft/nn.link"},
    {"unix:///a", "local socket", "unix:///nn.link"},
    {"abstract://a", "local socket", "abstract://weft.nn"},
    {"tcp://127.0.0.1:4001", "", NULL},
    {"tcp://127.0.0.1:4001", "unknown", NULL},
    {"http://127.0.0.1:4001", "127.0.0.1:50000", NULL},
};

START_TEST(a_node_listens_beside_its_seed_as_in_the_table)
{
    char out[WF_URL_TEXT], why[WF_REASON_TEXT], name[WF_URL_TEXT];
    bool known = wf_url_beside(beside[_i].seed, beside[_i].local, "nn", out);
    ck_assert_msg(known == (beside[_i].there != NULL), "%s", beside[_i].seed);
    if (!known) return;
    ck_assert_str_eq(out, beside[_i].there);
    bool open = strstr(out, "//10.") == NULL && strstr(out, "2001:") == NULL && strstr(out, "abstract:") == NULL &&
                !wf_url_is_tls(out);
    ck_assert_int_eq(wf_url_check_listen(out, false, false, why) == WEFT_OK, open);
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    if (wf_url_is_local(out)) ck_assert(!wf_url_beside(beside[_i].seed, beside[_i].local, name, out)); /* too long */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("url");
    TCase *t = tcase_create("url");
    tcase_add_loop_test(t, urls_are_accepted_as_in_the_table, 0, WF_COUNT(rows));
    tcase_add_loop_test(t, a_node_listens_beside_its_seed_as_in_the_table, 0, WF_COUNT(beside));
    tcase_add_loop_test(t, the_text_of_a_url_says_whether_it_is_one, 0, WF_COUNT(texts));
    tcase_add_test(t, a_url_longer_than_the_limit_is_refused);
    tcase_add_test(t, addresses_as_text);
    tcase_add_test(t, ports_of_urls);
    tcase_add_test(t, schemes_of_nodes);
    tcase_add_test(t, urls_of_inherited_sockets_are_told_from_others);
    tcase_add_test(t, inherited_sockets_beyond_loopback_need_insecure);
    suite_add_tcase(s, t);
    return run_suite(s);
}
