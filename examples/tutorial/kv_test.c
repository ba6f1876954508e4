/* kv_test.c -- step 6 of docs/tutorial.md: the service under test, in virtual time.
 *
 *     $ cc kv_test.c $(pkg-config --cflags --libs weft) && ./a.out
 *     the store forgets nothing when it fails
 *     nor does it when it fails ten times a minute, for an hour
 *     when it fails more often the service gives up
 */
#include "service.h"

#include <weft/test.h>

static bool has(const char *key, const char *what)
{
    weft_msg *m;
    struct value v;
    weft_require(get_call_name("kv", &(struct get){.key = weft_cstr(key)}, &m, weft_after(WEFT_SEC(1))) == 0);
    weft_require(value_read(m, &v) == 0);
    bool same = weft_text_equal(v.value, what);
    weft_msg_free(m);
    return same;
}

static int put_name(const char *key, const char *value)
{
    weft_msg *m;
    struct put p = {.key = weft_cstr(key), .value = weft_cstr(value)};
    int rc = put_call_name("kv", &p, &m, weft_after(WEFT_SEC(1)));
    if (rc == 0) weft_msg_free(m);
    return rc;
}

static weft_pid start(void)
{
    weft_pid top;
    weft_require(weft_spawn(&top, service, NULL, 0, NULL) == 0);
    weft_require(weft_monitor(top, NULL) == 0);
    weft_settle(); /* all have started */
    return top;
}

static void forgets_nothing(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)start();
    weft_require(put_name("color", "blue") == 0);
    weft_require(put_name("", "") == WEFT_ENOREPLY);
    weft_require(has("color", "blue"));
}

static void fails_for_an_hour(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)start();
    weft_require(put_name("color", "blue") == 0);
    for (int i = 0; i < 600; i++) {
        weft_require(put_name("", "") == WEFT_ENOREPLY);
        weft_advance(WEFT_MS(6100)); /* takes no real time */
    }
    weft_require(has("color", "blue"));
}

static void gives_up(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid top = start();
    for (int i = 0; i < 11; i++) (void)put_name("", "");
    weft_expect_down(top, WEFT_EXIT_GAVE_UP, WEFT_SEC(60));
}

int main(void)
{
    weft_log_set(WEFT_SILENT, false);
    if (weft_test_run(forgets_nothing, NULL, 0, NULL) != 0) return 1;
    printf("the store forgets nothing when it fails\n");
    if (weft_test_run(fails_for_an_hour, NULL, 0, NULL) != 0) return 1;
    printf("nor does it when it fails ten times a minute, for an hour\n");
    if (weft_test_run(gives_up, NULL, 0, NULL) != 0) return 1;
    printf("when it fails more often the service gives up\n");
    return 0;
}
