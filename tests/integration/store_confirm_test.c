/* What a store does when it is asked to look at its server: only its own readers may ask it, and that delays no batch for long.
 * SQLite has no server, so the linker puts an engine before it that counts how often it was asked. */
#include <stdatomic.h>

#include "sqlite.h"
#include "store_messages.h"

#include "records_kit.h"

extern const struct wf_store_engine __real_wf_store_sqlite;
/* With --wrap the sanitizer would find one variable under two names. */
#ifdef __clang__
__attribute__((no_sanitize("address")))
#endif
struct wf_store_engine __wrap_wf_store_sqlite;

enum { AT_ONCE = 3 };

static atomic_int confirmed, asked;
static atomic_bool floods;

static int open_counted(struct wf_store **out, const char *where, const struct wf_store_opening *how,
                        struct wf_store_why *why)
{
    int rc = __real_wf_store_sqlite.open(out, where, how, why);
    if (rc == WEFT_OK) (*out)->engine = &__wrap_wf_store_sqlite;
    return rc;
}

/* It lasts until the store has been asked again, so that there is always a next one. */
static int confirm(struct wf_store *s)
{
    (void)s;
    int before = atomic_load(&asked);
    while (atomic_load(&floods) && atomic_load(&asked) < before + AT_ONCE) pf_cpu_relax();
    atomic_fetch_add(&confirmed, 1);
    return WEFT_OK;
}

static void open_store(const void *arg, size_t size)
{
    const struct weft_stored_topics topics[] = {{.pattern = "room.*"}};
    const weft_store_options options = {.url = url[0], .topics = topics, .topic_count = 1, .standby = true};
    (void)arg, (void)size;
    ck_assert_int_eq(weft_store_open(&options, NULL, patience()), WEFT_OK);
    say("is open");
}

static weft_pid store_pid(void)
{
    weft_pid pid;
    ck_assert_int_eq(weft_whereis(WEFT_STORE_NAME, &pid), WEFT_OK);
    return pid;
}

static void ask_from_elsewhere(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 10; k++) ck_assert_int_eq(weft_send(store_pid(), WF_STORE_CONFIRM, NULL, 0), WEFT_OK);
        publish("room.a", "x"); /* comes behind them, and is stored in a turn after them */
    }
    say("done");
}

START_TEST(no_other_node_makes_a_store_look_at_its_server)
{
    second_node();
    run_actor(a, open_store, NULL, 0);
    HEAR("is open");
    RUN(b, ask_from_elsewhere);
    ck_assert_int_eq(atomic_load(&confirmed), 0);
}
END_TEST

static void ask_all_the_time(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (; atomic_load(&floods); atomic_fetch_add(&asked, 1)) {
        ck_assert_int_eq(weft_send(store_pid(), WF_STORE_CONFIRM, NULL, 0), WEFT_OK);
        weft_yield();
    }
    say("ends");
}

static void publish_meanwhile(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 50; i++) publish("room.a", "x");
    say("done");
}

/* When a confirmation ends, the store has been asked anew: if confirmations came first, no batch would be stored. */
START_TEST(what_is_published_is_stored_while_a_store_is_asked_all_the_time)
{
    atomic_store(&floods, true);
    run_actor(a, open_store, NULL, 0);
    HEAR("is open");
    run_actor(a, ask_all_the_time, NULL, 0);
    RUN(a, publish_meanwhile);
    ck_assert_int_gt(atomic_load(&confirmed), 0);
    atomic_store(&floods, false);
    HEAR("ends");
}
END_TEST

static void begin(void)
{
    __wrap_wf_store_sqlite = __real_wf_store_sqlite;
    __wrap_wf_store_sqlite.open = open_counted;
    __wrap_wf_store_sqlite.confirm = confirm;
    atomic_store(&confirmed, 0);
    atomic_store(&asked, 0);
    setup();
}

int main(void)
{
    Suite *suite = suite_create("stores that are asked to look at their server");
    TCase *c = tcase_create("confirmations");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, begin, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, no_other_node_makes_a_store_look_at_its_server);
    tcase_add_test(c, what_is_published_is_stored_while_a_store_is_asked_all_the_time);
    return run_suite_unforked(suite);
}
