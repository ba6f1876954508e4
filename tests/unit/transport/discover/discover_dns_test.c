/* What a look-up does with the answers of c-ares, and without an answer: the test replaces the functions of c-ares
 * and those that wait and report. tests/integration/discovery_test.py asks a real server. */
#include "actor.h"
#include "discover.h"

#include <weft/wait.h>

#include <ares.h>
#include <ares_nameser.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../suite.h"

static int fake_getsock(ares_channel channel, ares_socket_t *socket, int count);
static struct timeval *fake_timeout(ares_channel channel, struct timeval *most, struct timeval *left);
static void fake_process_fd(ares_channel channel, ares_socket_t reading, ares_socket_t writing);
static int fake_init(ares_channel *channel, const struct ares_options *o, int mask);
static int fake_servers(ares_channel channel, const char *csv);
static void fake_destroy(ares_channel channel);
static void fake_search(ares_channel channel, const char *name, int class, int type, ares_callback callback,
                        void *arg);
static void fake_getaddrinfo(ares_channel channel, const char *name, const char *service,
                             const struct ares_addrinfo_hints *hints, ares_addrinfo_callback callback, void *arg);
static void fake_freeaddrinfo(struct ares_addrinfo *found);
static int fake_parse(const unsigned char *data, int size, struct ares_srv_reply **out);
static void fake_free(void *data);
static int fake_wait_any(const weft_wait *wait, size_t count, int64_t deadline);
static int fake_sleep(int64_t deadline);
static void fake_found(struct wf_source *s, struct wf_url_list *list, bool fine);
static void fake_failed(struct wf_source *s, int64_t wait, const char *format, ...);
static int64_t fake_jitter(const struct wf_source *s, int64_t span);
static int64_t fake_backoff(const struct wf_source *s, uint32_t failures);
static void *fake_calloc(size_t count, size_t size);

#define ares_getsock fake_getsock
#define ares_timeout fake_timeout
#define ares_process_fd fake_process_fd
#define ares_init_options fake_init
#define ares_set_servers_ports_csv fake_servers
#define ares_destroy fake_destroy
#define ares_search fake_search
#define ares_getaddrinfo fake_getaddrinfo
#define ares_freeaddrinfo fake_freeaddrinfo
#define ares_parse_srv_reply fake_parse
#define ares_free_data fake_free
#define weft_wait_any fake_wait_any
#define weft_sleep fake_sleep
#define wf_source_found fake_found
#define wf_source_failed fake_failed
#define wf_source_jitter fake_jitter
#define wf_source_backoff fake_backoff
#define wf_source_dns tested_source_dns
#define wf_source_dns_srv tested_source_dns_srv
#define calloc fake_calloc
extern const struct wf_source_kind wf_source_dns, wf_source_dns_srv;
#include "../../../../transport/discover/discover_dns.c"
#include "discover_dns.h"
#include "source.h"
#undef calloc

/* ---- The other side -------------------------------------------------------------------------------------------- */

enum { ANSWER_TTL = 60 };
static struct {
    int init, servers, search, addresses; /* what they answer with; -1: the answer comes later */
    int parse;
    const unsigned char *data;
    int data_size;
    struct ares_srv_reply *replies;
    struct ares_addrinfo_node *nodes;
    struct {
        int rc, expect; /* of a wait, and for how many sockets */
    } wait[4];
    int callocs; /* until one fails; -1: none does */
    unsigned sockets;
    bool answers; /* what comes later comes with the first socket */
} other;

static struct {
    char text[16384]; /* what was reported */
    int waits, processed, destroyed, sleeps, asked;
    int64_t slept;
} seen;

static ares_callback on_srv;
static ares_addrinfo_callback on_addrinfo;
static void *later_arg;

static void answer_late(int status)
{
    if (on_srv != NULL) on_srv(later_arg, status, 0, NULL, 0);
    else if (on_addrinfo != NULL) on_addrinfo(later_arg, status, 0, NULL);
    on_srv = NULL;
    on_addrinfo = NULL;
}

static int fake_getsock(ares_channel channel, ares_socket_t *socket, int count)
{
    (void)channel;
    for (int i = 0; i < count; i++) socket[i] = 100 + i;
    return (int)other.sockets;
}

static struct timeval *fake_timeout(ares_channel channel, struct timeval *most, struct timeval *left)
{
    (void)channel, (void)most;
    *left = (struct timeval){.tv_sec = 2, .tv_usec = 5};
    return left;
}

static void fake_process_fd(ares_channel channel, ares_socket_t reading, ares_socket_t writing)
{
    (void)channel;
    ck_assert_int_eq(reading, writing);
    seen.processed++;
    if (other.answers) answer_late(ARES_ETIMEOUT);
}

static int fake_init(ares_channel *channel, const struct ares_options *o, int mask)
{
    ck_assert_int_eq(mask, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
    ck_assert_int_eq(o->tries, 3);
    *channel = NULL;
    return other.init;
}

static int fake_servers(ares_channel channel, const char *csv)
{
    (void)channel;
    ck_assert_str_eq(csv, "127.0.0.1:53");
    return other.servers;
}

static void fake_destroy(ares_channel channel)
{
    (void)channel;
    seen.destroyed++;
    answer_late(ARES_EDESTRUCTION);
}

static void fake_search(ares_channel channel, const char *name, int class, int type, ares_callback callback,
                        void *arg)
{
    (void)channel;
    ck_assert_str_eq(name, "_weft._tcp.x");
    ck_assert(class == C_IN && type == T_SRV);
    if (other.search < 0) on_srv = callback, later_arg = arg;
    else callback(arg, other.search, 0, (unsigned char *)(uintptr_t)other.data, other.data_size);
}

static void fake_getaddrinfo(ares_channel channel, const char *name, const char *service,
                             const struct ares_addrinfo_hints *hints, ares_addrinfo_callback callback, void *arg)
{
    struct ares_addrinfo found = {.nodes = other.nodes};
    (void)channel;
    ck_assert_ptr_null(service);
    ck_assert(name[0] != '\0' && hints->ai_family == AF_UNSPEC);
    seen.asked++;
    if (other.addresses < 0) on_addrinfo = callback, later_arg = arg;
    else callback(arg, other.addresses, 0, other.addresses == ARES_SUCCESS ? &found : NULL);
}

static void fake_freeaddrinfo(struct ares_addrinfo *found)
{
    (void)found;
}

static int fake_parse(const unsigned char *data, int size, struct ares_srv_reply **out)
{
    (void)data, (void)size;
    *out = other.replies;
    return other.parse;
}

static void fake_free(void *data)
{
    ck_assert(data == other.replies);
}

/* Waits are as scripted; then the actor is to end. */
static int fake_wait_any(const weft_wait *wait, size_t count, int64_t deadline)
{
    (void)wait, (void)deadline;
    size_t at = (size_t)seen.waits++;
    ck_assert_uint_lt(at, WF_COUNT(other.wait));
    ck_assert_uint_eq(count, (size_t)other.wait[at].expect);
    return other.wait[at].rc;
}

static int fake_sleep(int64_t deadline)
{
    (void)deadline;
    return ++seen.sleeps < 2 ? 0 : WEFT_ECANCELED;
}

static void say(const char *format, ...)
{
    size_t used = strlen(seen.text);
    va_list args;
    va_start(args, format);
    vsnprintf(seen.text + used, sizeof seen.text - used, format, args);
    va_end(args);
}

static void fake_found(struct wf_source *s, struct wf_url_list *list, bool fine)
{
    (void)s;
    say("%s", fine ? "found" : "nobody");
    for (size_t i = 0; i < list->count; i++) say(" %s", list->url[i]);
    say("%s.", list->cut ? " and more" : "");
}

static void fake_failed(struct wf_source *s, int64_t wait, const char *format, ...)
{
    char text[WF_REASON_TEXT];
    (void)s, (void)wait;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say("failed: %s.", text);
}

static int64_t fake_jitter(const struct wf_source *s, int64_t span)
{
    (void)s;
    seen.slept = span;
    return span;
}

static int64_t fake_backoff(const struct wf_source *s, uint32_t failures)
{
    (void)s;
    return WEFT_SEC(failures + 1);
}

static void *fake_calloc(size_t count, size_t size)
{
    return other.callocs >= 0 && other.callocs-- == 0 ? NULL : (calloc)(count, size);
}

/* ---- Cases ----------------------------------------------------------------------------------------------------- */

static struct wf_source source;
static char why[WF_REASON_TEXT];

static int open_spec(bool srv, const char *rest, const char *options)
{
    source = (struct wf_source){.kind = srv ? &wf_source_dns_srv : &wf_source_dns};
    snprintf(source.spec, sizeof source.spec, "%s%s%s", source.kind->prefix, rest, options);
    memset(&other, 0, sizeof other);
    memset(&seen, 0, sizeof seen);
    other.callocs = -1;
    int rc = source.kind->check(&source, rest, why);
    return rc == WEFT_OK ? source.kind->open(&source, rest, why) : rc;
}

static void open_good(bool srv, const char *options)
{
    ck_assert_msg(open_spec(srv, srv ? "_weft._tcp.x" : "x:7", options) == WEFT_OK, "%s", why);
}

/* Two look-ups; what is reported by both. */
static const char *run(void)
{
    struct wf_source *s = &source;
    dns_main(&s, sizeof s);
    source.kind->close(&source);
    return seen.text;
}

static struct ares_addrinfo_node address_node(struct sockaddr_storage *at, int family, const void *address, int ttl)
{
    struct ares_addrinfo_node n = {.ai_ttl = ttl, .ai_addr = (struct sockaddr *)at, .ai_family = family};
    memset(at, 0, sizeof *at);
    at->ss_family = (sa_family_t)family;
    if (family == AF_INET) memcpy(&((struct sockaddr_in *)at)->sin_addr, address, 4);
    if (family == AF_INET6) memcpy(&((struct sockaddr_in6 *)at)->sin6_addr, address, 16);
    n.ai_addrlen = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return n;
}

START_TEST(bad_specifications_of_dns_are_refused)
{
    static const struct {
        bool srv;
        const char *rest, *options, *why;
    } bad[] = {
        {false, "x", "", "is not HOST:PORT"},
        {true, "a..b", "", "is no host name"},
        {false, "x:7", "?server=1.2.3.4", "'1.2.3.4' is not HOST:PORT"},
        {false, "x:7", "?scheme=udp", "scheme=udp: tcp or tls+tcp"},
        {true, "x", "?server=y&scheme=udp", "'y' is not HOST:PORT"},
    };
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        ck_assert_int_eq(open_spec(bad[i].srv, bad[i].rest, bad[i].options), WEFT_EADDRESS);
        ck_assert_msg(strstr(why, bad[i].why) != NULL, "%s", why);
        ck_assert_ptr_null(source.own);
    }
    open_good(false, "?scheme=tcp");
    const struct dns *dns = source.own;
    ck_assert_str_eq(dns->host, "x");
    ck_assert_str_eq(dns->port, "7");
    source.kind->close(&source);
    open_good(true, "?scheme=tls+tcp&server=127.0.0.1:53");
    dns = source.own;
    ck_assert_str_eq(dns->port, "");
    ck_assert_str_eq(dns->scheme, "tls+tcp");
    ck_assert_str_eq(dns->server, "127.0.0.1:53");
    other.callocs = 0;
    source.kind->close(&source);
    ck_assert_int_eq(source.kind->open(&source, "x", why), WEFT_ENOMEM);
}
END_TEST

START_TEST(usable_addresses_of_an_answer_become_urls)
{
    static const unsigned char v4[] = {10, 0, 0, 1}, any4[4], any6[16], local[16] = {0xFE, 0x80, [15] = 1},
                               v6[16] = {0x20, 0x01, [15] = 1};
    struct sockaddr_storage at[7];
    struct ares_addrinfo_node n[7] = {
        address_node(&at[0], AF_INET, v4, 300),  address_node(&at[1], AF_INET, any4, 0),
        address_node(&at[2], AF_INET6, any6, 0), address_node(&at[3], AF_INET6, local, 30),
        address_node(&at[4], AF_INET6, v6, 40),  address_node(&at[5], AF_UNSPEC, NULL, 0),
        address_node(&at[6], AF_INET6, local, 0)};
    ((struct sockaddr_in6 *)&at[6])->sin6_scope_id = 1; /* a network card */
    struct ares_addrinfo_node none = {.ai_next = NULL}, large = n[0];
    large.ai_addrlen = sizeof(((struct pf_address *)NULL)->bytes) + 1;
    for (int i = 0; i < 6; i++) n[i].ai_next = &n[i + 1];
    n[6].ai_next = &none;
    none.ai_next = &large;
    open_good(false, "");
    other.nodes = n;
    ck_assert_str_eq(run(), "found tcp://10.0.0.1:7 tcp://[2001::1]:7.found tcp://10.0.0.1:7 tcp://[2001::1]:7.");
    ck_assert_int_eq(seen.slept, WEFT_SEC(30)); /* the shortest that was said */
    ck_assert_int_eq(seen.destroyed, 2);
    open_good(false, "?scheme=tls+tcp");
    n[0].ai_next = NULL;
    other.nodes = n;
    n[0].ai_ttl = 0;
    ck_assert_str_eq(run(), "found tls+tcp://10.0.0.1:7.found tls+tcp://10.0.0.1:7.");
    ck_assert_int_eq(seen.slept, WEFT_SEC(5));
    open_good(false, "");
    other.nodes = n;
    n[0].ai_ttl = 3600;
    (void)run();
    ck_assert_int_eq(seen.slept, WEFT_SEC(300));
}
END_TEST

#define TWICE(text) text text
START_TEST(failures_are_explained)
{
    static const struct {
        bool srv;
        int status;
        const char *options, *text;
    } cases[] = {
        {false, ARES_ENOTFOUND, "",
         TWICE("nobody.failed: there is no name x (asked the servers of /etc/resolv.conf): is "
               "it spelled right?.")},
        {true, ARES_ENONAME, "?server=127.0.0.1:53",
         TWICE("nobody.failed: there is no name _weft._tcp.x (asked 127.0.0.1:53): is it spelled right?.")},
        {true, ARES_ENODATA, "?server=127.0.0.1:53",
         TWICE("nobody.failed: _weft._tcp.x has no SRV records (asked 127.0.0.1:53).")},
        {false, ARES_ENODATA, "?server=127.0.0.1:53",
         TWICE("nobody.failed: x has no A or AAAA records (asked 127.0.0.1:53).")},
        {true, ARES_ETIMEOUT, "?server=127.0.0.1:53",
         TWICE("failed: no DNS server answers, or it refuses (asked 127.0.0.1:53).")},
        {false, ARES_ECONNREFUSED, "?server=127.0.0.1:53",
         TWICE("failed: no DNS server answers, or it refuses (asked 127.0.0.1:53).")},
        {false, ARES_ESERVFAIL, "?server=127.0.0.1:53",
         TWICE("failed: 127.0.0.1:53 answers: DNS server returned general failure.")},
        {false, ARES_SUCCESS, "", TWICE("nobody.")},
    };
    for (size_t i = 0; i < WF_COUNT(cases); i++) {
        open_good(cases[i].srv, cases[i].options);
        other.search = other.addresses = cases[i].status;
        ck_assert_str_eq(run(), cases[i].text);
    }
}
END_TEST

START_TEST(a_look_up_without_a_channel_fails)
{
    open_good(false, "?server=127.0.0.1:53");
    other.init = ARES_EFILE;
    ck_assert_ptr_nonnull(strstr(run(), "failed: 127.0.0.1:53 answers: "));
    ck_assert_int_eq(seen.destroyed, 0);
    open_good(false, "?server=127.0.0.1:53");
    other.servers = ARES_EBADSTR;
    ck_assert_ptr_nonnull(strstr(run(), "failed: 127.0.0.1:53 answers: "));
    ck_assert_int_eq(seen.destroyed, 2);
    ck_assert_int_eq(seen.asked, 0);
}
END_TEST

START_TEST(a_look_up_without_memory_fails)
{
    for (int n = 0; n < 2; n++) {
        open_good(false, "");
        other.callocs = n;
        ck_assert_str_eq(run(), "failed: out of memory.nobody.");
    }
}
END_TEST

/* ---- SRV ------------------------------------------------------------------------------------------------------- */

static char hosts[TARGETS_MAX + 8][16];
static struct ares_srv_reply replies[TARGETS_MAX + 8];

static void services(size_t count)
{
    memset(replies, 0, sizeof replies);
    for (size_t i = 0; i < count; i++) {
        snprintf(hosts[i], sizeof hosts[i], "h%zu.x", i);
        replies[i] = (struct ares_srv_reply){.host = hosts[i], .port = (unsigned short)(1000 + i)};
        if (i > 0) replies[i - 1].next = &replies[i];
    }
    other.replies = replies;
}

START_TEST(targets_that_are_none_are_left_out)
{
    static const unsigned char v4[] = {10, 0, 0, 1};
    struct sockaddr_storage at;
    struct ares_addrinfo_node n = address_node(&at, AF_INET, v4, ANSWER_TTL);
    open_good(true, "");
    services(6);
    other.nodes = &n;
    replies[0].port = 0;
    replies[1].host = NULL;
    strcpy(hosts[2], "");
    strcpy(hosts[3], ".");
    strcpy(hosts[4], "a b");
    ck_assert_str_eq(run(), TWICE("found tcp://10.0.0.1:1005."));
    ck_assert_int_eq(seen.asked, 2);
    open_good(true, "");
    services(TARGETS_MAX + 1);
    other.nodes = &n;
    ck_assert_ptr_nonnull(strstr(run(), "tcp://10.0.0.1:1127 and more."));
    ck_assert_int_eq(seen.asked, 2 * TARGETS_MAX);
    open_good(true, "");
    other.parse = ARES_EBADRESP;
    ck_assert_ptr_nonnull(strstr(run(), "failed: the servers of /etc/resolv.conf answers: "));
}
END_TEST

/* How long a message's answers may be kept, from its bytes. */
static int64_t ttl_of(const char *bytes, size_t size)
{
    static const unsigned char v4[] = {10, 0, 0, 1};
    struct sockaddr_storage at;
    struct ares_addrinfo_node n = address_node(&at, AF_INET, v4, 0);
    open_good(true, "");
    services(1);
    other.nodes = &n;
    other.data = (const unsigned char *)bytes;
    other.data_size = (int)size;
    (void)run();
    return seen.slept / WEFT_SEC(1);
}
#define TTL_OF(text) ttl_of(text, sizeof(text) - 1)
#define HEAD(questions, answers) "\0\0\0\0\0" questions "\0" answers "\0\0\0\0"

START_TEST(the_shortest_time_of_an_answer)
{
    ck_assert_int_eq(TTL_OF(""), 5); /* none was said */
    ck_assert_int_eq(TTL_OF(HEAD("\0", "\0")), 5);
    ck_assert_int_eq(TTL_OF(HEAD("\1", "\1") "\1x\0\0\x21\0\1"
                                             "\xc0\x0c\0\x21\0\1\0\0\0\x09\0\2xx"),
                     9);
    ck_assert_int_eq(TTL_OF(HEAD("\0", "\2") "\0\0\x21\0\1\0\0\0\x14\0\0"
                                             "\1a\xc0\x0c\0\x21\0\1\0\0\0\x07\0\0"),
                     7);
    /* Cut off: in a name, behind it, in the second record. */
    ck_assert_int_eq(TTL_OF(HEAD("\0", "\1") "\x3f"), 5);
    ck_assert_int_eq(TTL_OF(HEAD("\0", "\1") "\0\0\x21\0\1\0\0\0\x09\0"), 5);
    ck_assert_int_eq(TTL_OF(HEAD("\0", "\2") "\0\0\x21\0\1\0\0\0\x09\0\xff\0"), 9);
    ck_assert_int_eq(TTL_OF(HEAD("\1", "\1") "\1x"), 5);
}
END_TEST

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

START_TEST(answers_that_come_later)
{
    open_good(false, "");
    other.addresses = -1;
    other.sockets = 1u | 1u << (1 + ARES_GETSOCK_MAXNUM) | 1u << 2; /* reading, writing, reading */
    other.wait[0].expect = other.wait[1].expect = 3;
    other.wait[0].rc = 1; /* a socket; then time is over; then an answer at last */
    other.wait[1].rc = WEFT_ETIMEDOUT;
    other.wait[2].expect = 3;
    other.wait[2].rc = WEFT_ECANCELED; /* the node ends */
    ck_assert_str_eq(run(), "");
    ck_assert_int_eq(seen.waits, 3);
    ck_assert_int_eq(seen.processed, 2);
    ck_assert_int_eq(seen.destroyed, 1);
    ck_assert_int_eq(seen.sleeps, 0);
}
END_TEST

START_TEST(a_service_that_comes_later)
{
    open_good(true, "");
    other.search = -1;
    other.sockets = 1;
    other.answers = true;
    other.wait[0].expect = other.wait[1].expect = 1;
    ck_assert_ptr_nonnull(strstr(run(), "failed: no DNS server answers, or it refuses"));
    open_good(true, "");
    other.search = -1;
    other.wait[0].rc = WEFT_ENOMEM;
    other.wait[1].rc = WEFT_ENOMEM;
    ck_assert_str_eq(run(), TWICE("failed: out of memory."));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("discover_dns");
    TCase *t = tcase_create("discover_dns");
    tcase_add_test(t, bad_specifications_of_dns_are_refused);
    tcase_add_test(t, usable_addresses_of_an_answer_become_urls);
    tcase_add_test(t, failures_are_explained);
    tcase_add_test(t, a_look_up_without_a_channel_fails);
    tcase_add_test(t, a_look_up_without_memory_fails);
    tcase_add_test(t, targets_that_are_none_are_left_out);
    tcase_add_test(t, the_shortest_time_of_an_answer);
    tcase_add_test(t, answers_that_come_later);
    tcase_add_test(t, a_service_that_comes_later);
    suite_add_tcase(s, t);
    return run_suite(s);
}
