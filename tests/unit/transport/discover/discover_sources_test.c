/* Sources: allowed options of a node, their reports and log lines, and a lack of memory. The linker directs the
 * reports to the test instead of $cluster. */
#include "../../../capture.h"
#include "../../../suite.h"
#include "../../alloc_faults.h"

#include "discover.h"
#include "discover_dns.h"
#include "cluster_event.h"
#include "node.h"
#include "source.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int posted;
static char listed[512]; /* the last: URLs, each with a blank */

void __wrap_wf_cluster_event_post(struct wf_transport *t, struct wf_cluster_event *e);
void __wrap_wf_cluster_event_post(struct wf_transport *t, struct wf_cluster_event *e)
{
    (void)t;
    posted++;
    ck_assert_int_eq(e->kind, WF_CLUSTER_EVENT_LISTED);
    ck_assert_uint_eq(e->number, 1);
    listed[0] = '\0';
    for (size_t at = 0; at < e->size; at += strlen((const char *)e->data + at) + 1) {
        strcat(listed, (const char *)e->data + at);
        strcat(listed, " ");
    }
    free(e);
}

static struct weft_node node;
static struct wf_transport transport = {.node = &node};
static char said[4096];
static capture_state log_state;

static void listen_to_log(void)
{
    weft_log_set(WEFT_INFO, false);
    log_state = capture_start();
}

static void log_is_read(void)
{
    (void)capture_end(&log_state, said, sizeof said);
}

/* ---- Specs ----------------------------------------------------------------------------------------------------- */

static int create(size_t count, const char *const *specs)
{
    weft_node_options o = {.discover = specs, .discover_count = count};
    listen_to_log();
    int rc = wf_discover_create(&transport, &o);
    log_is_read();
    return rc;
}

static int create_one(const char *spec)
{
    int rc = create(1, &spec);
    wf_discover_destroy(&transport);
    return rc;
}

START_TEST(bad_specifications_are_refused)
{
    static const char *const bad[][2] = {
        {"", "unknown; known are URLs like"},
        {"nonsense:x", "unknown; known are URLs like"},
        {"dns:a:1?x=1", "'x' is no option of dns:"},
        {"dns:a:1?scheme", "option scheme needs a value"},
        {"dns:a:1?scheme=", "option scheme needs a value"},
        {"dns:a:1?scheme=&server=1.1.1.1:53", "option scheme needs a value"},
        {"dns:a:1?scheme=tcp&serve=1.1.1.1:53", "'serve' is no option of dns:"},
        {"dns:a:1?schemes=tcp", "'schemes' is no option of dns:"},
        {"dns-srv:a:1", "is no host name"},
    };
    for (size_t i = 0; i < WF_COUNT(bad); i++) {
        ck_assert_msg(create_one(bad[i][0]) == WEFT_EADDRESS, "%s", bad[i][0]);
        ck_assert_msg(strstr(said, bad[i][1]) != NULL, "%s: %s", bad[i][0], said);
    }
    ck_assert_int_eq(create_one(NULL), WEFT_EADDRESS);
    char text[WF_SPEC_TEXT + 1];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(create_one(text), WEFT_EADDRESS);
    ck_assert_ptr_nonnull(strstr(said, "longer than 511 bytes"));
    memcpy(text, "tcp://", 6);
    text[sizeof text - 2] = '\0'; /* fits, and is too long for a URL */
    ck_assert_int_eq(create_one(text), WEFT_EADDRESS);
    memcpy(text, "dns:a:1?scheme=", 15);
    ck_assert_int_eq(create_one(text), WEFT_EADDRESS);
    ck_assert_ptr_nonnull(strstr(said, "option scheme needs a value"));
}
END_TEST

/* Each place of the cut is tried, also those inside a letter. */
START_TEST(a_part_of_a_specification_that_is_cut_ends_with_a_whole_letter)
{
    static const char *const forms[] = {"dns:a:1?%s", "dns:a:1?%s=1", "dns-srv:%s", "dns:%s"};
    for (size_t before = 0; before < 3; before++) {
        char text[WF_SPEC_TEXT] = "", spec[WF_SPEC_TEXT];
        for (size_t i = 0; i < before; i++) strcat(text, "x");
        for (size_t i = 0; i < 40; i++) strcat(text, "\xE2\x82\xAC");
        for (size_t i = 0; i < WF_COUNT(forms); i++) {
            snprintf(spec, sizeof spec, forms[i], text);
            ck_assert_int_eq(create_one(spec), WEFT_EADDRESS);
            ck_assert_msg(strstr(said, "\\ufffd") == NULL, "%s", said); /* as which the log writes it */
        }
    }
}
END_TEST

START_TEST(the_number_of_sources_is_bounded)
{
    const char *specs[WF_SOURCES_MAX + 1];
    for (size_t i = 0; i <= WF_SOURCES_MAX; i++) specs[i] = "tcp://127.0.0.1:4001";
    ck_assert_int_eq(create(0, NULL), WEFT_OK);
    ck_assert_ptr_null(transport.discover);
    ck_assert_int_eq(wf_discover_start(&transport), WEFT_OK);
    wf_discover_leave(&transport, WEFT_NOW);
    wf_discover_destroy(&transport);
    ck_assert_int_eq(create(WF_SOURCES_MAX + 1, specs), WEFT_EINVAL);
    ck_assert_ptr_nonnull(strstr(said, "at most 16 entries"));
    specs[1] = "dns:a:1?scheme=tls+tcp&server=127.0.0.1:53";
    ck_assert_int_eq(create(WF_SOURCES_MAX, specs), WEFT_OK);
    ck_assert_str_eq(said, "");
    ck_assert_uint_eq(transport.discover->count, WF_SOURCES_MAX);
    wf_discover_leave(&transport, WEFT_NOW);
    wf_discover_destroy(&transport);
    ck_assert_ptr_null(transport.discover);
}
END_TEST

START_TEST(a_url_is_listed_at_once)
{
    const char *specs[] = {"tcp://127.0.0.1:4001"};
    ck_assert_int_eq(create(1, specs), WEFT_OK);
    ck_assert_int_eq(wf_discover_start(&transport), WEFT_OK);
    ck_assert_int_eq(posted, 1);
    ck_assert_str_eq(listed, "tcp://127.0.0.1:4001 ");
    wf_discover_leave(&transport, WEFT_NOW);
    wf_discover_destroy(&transport);
}
END_TEST

/* ---- Reports --------------------------------------------------------------------------------------------------- */

static struct wf_source source;

static void begin(void)
{
    free(source.listed);
    source = (struct wf_source){.t = &transport, .kind = &wf_source_dns, .number = 1, .spec = "dns:x:1"};
    posted = 0;
}

/* Returns the log line for `count` URLs, from the `first` one on. */
static const char *report(size_t first, size_t count, bool fine)
{
    struct wf_url_list list = {0};
    char url[WF_URL_TEXT];
    for (size_t i = 0; i < count; i++) {
        snprintf(url, sizeof url, "tcp://h:%zu", first + count - i);
        wf_url_list_add(&list, url);
    }
    list.cut = count > 5;
    listen_to_log();
    wf_source_found(&source, &list, fine);
    log_is_read();
    wf_url_list_finish(&list);
    return said;
}

START_TEST(changes_of_the_list_are_logged)
{
    begin();
    const char *first = report(0, 2, true);
    ck_assert_msg(strstr(first, "discover dns:x:1: 2 URLs: tcp://h:1, tcp://h:2\"\n") != NULL, "%s", first);
    ck_assert_str_eq(listed, "tcp://h:1 tcp://h:2 "); /* in order */
    ck_assert_str_eq(report(0, 2, true), "");
    ck_assert_int_eq(posted, 1);
    ck_assert_ptr_nonnull(strstr(report(5, 2, true), "2 URLs: tcp://h:6, tcp://h:7\"\n"));
    ck_assert_ptr_nonnull(strstr(report(0, 1, true), "1 URL: tcp://h:1\"\n"));
    ck_assert_ptr_nonnull(strstr(report(0, 5, true), "5 URLs: tcp://h:1, tcp://h:2, tcp://h:3, tcp://h:4, ...\"\n"));
    ck_assert_ptr_nonnull(strstr(report(0, 6, true), "tcp://h:4, ...; there are more, which are left out"));
    ck_assert_ptr_nonnull(strstr(report(0, 0, true), "0 URLs\"\n"));
    ck_assert_str_eq(report(0, 0, true), "");
    ck_assert_int_eq(posted, 6);
    ck_assert_str_eq(report(0, 1, false), ""); /* what is wrong is said after it */
    ck_assert_int_eq(posted, 7);
    begin();
    static const struct wf_source_kind plain = {.prefix = ""};
    source.kind = &plain;
    ck_assert_str_eq(report(0, 1, true), "");
    begin(); /* nothing is left of it */
}
END_TEST

static const char *failing(const char *reason)
{
    listen_to_log();
    wf_source_failed(&source, WEFT_MS(1500), "%s", reason);
    log_is_read();
    return said;
}

START_TEST(a_reason_is_said_once)
{
    begin();
    (void)report(0, 1, true);
    ck_assert_ptr_nonnull(
        strstr(failing("one"), "discover dns:x:1: one; trying again in 1.5 s, then less often\"\n"));
    ck_assert_str_eq(failing("one"), "");
    ck_assert_ptr_nonnull(strstr(failing("two"), "two; trying"));
    ck_assert_str_eq(report(0, 1, false), "");
    ck_assert_ptr_nonnull(strstr(report(0, 1, true), "1 URL: tcp://h:1\"\n")); /* well again */
    ck_assert_ptr_nonnull(strstr(failing("two"), "two; trying"));
    begin();
}
END_TEST

START_TEST(times_between_attempts)
{
    static const int64_t most[] = {1, 2, 4, 8, 16, 30, 30, 30};
    node.workers.env = pf_env_native();
    source.t = &transport;
    for (uint32_t i = 0; i < WF_COUNT(most); i++) {
        int64_t wait = wf_source_backoff(&source, i), span = WEFT_SEC(most[i]);
        ck_assert(wait >= span / 2 && wait <= span);
    }
    int64_t wait = wf_source_jitter(&source, WEFT_SEC(10));
    ck_assert(wait >= WEFT_SEC(10) && wait <= WEFT_SEC(11));
}
END_TEST

/* ---- Without memory -------------------------------------------------------------------------------------------- */

START_TEST(creating_without_memory)
{
    const char *specs[] = {"tcp://127.0.0.1:4001", "dns:a:1"};
    weft_node_options o = {.discover = specs, .discover_count = 2};
    weft_log_set(WEFT_SILENT, false);
    int rc = WEFT_ENOMEM;
    long n = 0;
    for (; rc != WEFT_OK; n++) {
        long before = faults.live;
        faults_arm(n, false);
        rc = wf_discover_create(&transport, &o);
        long failed = faults_disarm();
        wf_discover_destroy(&transport);
        long leaked = faults.live - before;
        ck_assert_int_eq(rc, failed > 0 ? WEFT_ENOMEM : WEFT_OK);
        ck_assert_int_eq(leaked, 0);
    }
    ck_assert_int_ge(n, 3);
}
END_TEST

START_TEST(a_url_without_memory_does_not_start)
{
    const char *specs[] = {"tcp://127.0.0.1:4001"};
    ck_assert_int_eq(create(1, specs), WEFT_OK);
    listen_to_log();
    faults_arm(0, false);
    int rc = wf_discover_start(&transport);
    (void)faults_disarm();
    log_is_read();
    ck_assert_int_eq(rc, WEFT_ENOMEM);
    ck_assert_ptr_nonnull(strstr(said, "cannot discover by tcp://127.0.0.1:4001: "));
    wf_discover_destroy(&transport);
}
END_TEST

/* URLs that could not be reported are reported the next time, even if nothing has changed since. */
START_TEST(a_report_without_memory_comes_later)
{
    struct wf_url_list list = {0};
    weft_log_set(WEFT_SILENT, false);
    for (long n = 0; n < 2; n++) {
        begin();
        wf_url_list_add(&list, "tcp://h:1");
        faults_arm(n, false);
        wf_source_found(&source, &list, true);
        ck_assert_int_eq(faults_disarm(), 1);
        ck_assert_int_eq(posted, 0);
        wf_source_found(&source, &list, true);
        ck_assert_int_eq(posted, 1);
        ck_assert_str_eq(listed, "tcp://h:1 ");
        wf_url_list_finish(&list);
    }
    faults_arm(0, false);
    wf_url_list_add(&list, "tcp://h:1");
    (void)faults_disarm();
    ck_assert(list.cut && list.count == 0);
    begin();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("discover_sources");
    TCase *t = tcase_create("sources");
    tcase_add_test(t, bad_specifications_are_refused);
    tcase_add_test(t, a_part_of_a_specification_that_is_cut_ends_with_a_whole_letter);
    tcase_add_test(t, the_number_of_sources_is_bounded);
    tcase_add_test(t, a_url_is_listed_at_once);
    tcase_add_test(t, changes_of_the_list_are_logged);
    tcase_add_test(t, a_reason_is_said_once);
    tcase_add_test(t, times_between_attempts);
    tcase_add_test(t, creating_without_memory);
    tcase_add_test(t, a_url_without_memory_does_not_start);
    tcase_add_test(t, a_report_without_memory_comes_later);
    suite_add_tcase(s, t);
    return run_suite(s);
}
