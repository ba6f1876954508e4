/* Stored topics on one node and on two: acknowledged records are read again, first the stored ones and then the new
 * ones. */
#include <sqlite3.h>

#include "records_kit.h"

/* ---- What actors do -------------------------------------------------------------------------------------------- */

static weft_pid open_store(int which, uint64_t count)
{
    weft_pid pid;
    const struct weft_stored_topics topics[] = {{.pattern = "few.>", .count = count == 0 ? 5 : count},
                                                {.pattern = "room.*", .count = count}};
    int rc = weft_store_open(&(weft_store_options){.url = url[which], .topics = topics, .topic_count = 2}, &pid,
                             patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return pid;
}

static struct weft_stored expect_news(weft_stored_kind kind)
{
    weft_msg *m;
    struct weft_stored got = next_stored(&m);
    ck_assert_int_eq(got.kind, kind);
    weft_msg_free(m);
    return got;
}

static void expect_nothing_more(void)
{
    weft_msg *m;
    ck_assert_int_eq(weft_recv(&m, WEFT_NOW), WEFT_ETIMEDOUT);
}

/* ---- One node -------------------------------------------------------------------------------------------------- */

static void past_and_live(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store(0, 0);
    ck_assert_int_eq(weft_subscribe("room.>", NULL), WEFT_OK);
    struct weft_position first = publish("room.tea", "one"), second = publish("room.tea", "two");
    ck_assert(first.offset == 1 && second.offset == 2 && first.epoch == second.epoch && first.epoch != 0);
    for (int i = 0; i < 2; i++) { /* ordinary subscribers got them, too */
        weft_msg *m;
        ck_assert_int_eq(weft_recv_tag(&m, SAY, patience()), WEFT_OK);
        ck_assert_str_eq(weft_topic(m), "room.tea");
        ck_assert_int_eq(memcmp(weft_data(m), i == 0 ? "one" : "two", 3), 0);
        weft_msg_free(m);
    }
    weft_stored_subscription s = subscribe("room.tea", WEFT_FROM_START);
    expect_record("room.tea", 1, "one");
    struct weft_position at = expect_record("room.tea", 2, "two");
    ck_assert_uint_eq(at.epoch, second.epoch);
    publish("room.tea", "three");
    expect_record("room.tea", 3, "three");
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    s = subscribe("room.tea", weft_position_after(at));
    expect_record("room.tea", 3, "three");
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    subscribe("room.tea", WEFT_FROM_NOW);
    publish("room.tea", "four");
    expect_record("room.tea", 4, "four");
    say("done");
}

START_TEST(the_past_and_then_the_live)
{
    RUN(a, past_and_live);
}
END_TEST

static void small(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store(0, 0);
    publish("room.tea", "one");
    subscribe("room.tea", WEFT_FROM_START);
    expect_record("room.tea", 1, "one");
    say("done");
}

START_TEST(an_actor_with_the_smallest_stack_opens_writes_and_reads)
{
    weft_spawn_options options = {.kind = "small", .stack_bytes = 1};
    ck_assert_int_eq(weft_node_spawn(a, NULL, small, NULL, 0, &options), WEFT_OK);
    HEAR("done");
}
END_TEST

static void errors(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_position at;
    static char large[WEFT_STORE_RECORD_MAX + 1];
    const struct weft_stored_topics bad = {.pattern = "a.>.b"}, good = {.pattern = "a"};
    ck_assert_int_eq(weft_publish_stored("room.a", SAY, "x", 1, &at, patience()), WEFT_ENOACTOR);
    ck_assert_int_eq(weft_subscribe_from("room.a", WEFT_FROM_START, NULL, patience()), WEFT_ENOACTOR);
    ck_assert_int_eq(weft_store_open(&(weft_store_options){.url = url[0]}, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = url[0], .topics = &bad, .topic_count = 1}, NULL, patience()),
        WEFT_EINVAL);
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = "file", .topics = &good, .topic_count = 1}, NULL, patience()),
        WEFT_EINVAL);
    ck_assert_int_eq(
        weft_store_open(
            &(weft_store_options){.url = "sqlite:/tmp/weft-no-such-folder/x", .topics = &good, .topic_count = 1},
            NULL, patience()),
        WEFT_ENOTFOUND);
    weft_pid pid = open_store(0, 0);
    ck_assert_int_eq(weft_publish_stored("other", SAY, "x", 1, &at, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_subscribe_from("other", WEFT_FROM_START, NULL, patience()), WEFT_EACCESS);
    ck_assert_int_eq(weft_publish_stored("room.*", SAY, "x", 1, &at, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_publish_stored("room.a", WEFT_TAG_SYSTEM, "x", 1, &at, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_publish_stored("room.a", SAY, large, sizeof large, &at, patience()), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_publish_stored("room.a", SAY, large, sizeof large - 1, &at, patience()), WEFT_OK);
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = url[1], .topics = &good, .topic_count = 1}, NULL, patience()),
        WEFT_EEXIST);
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = url[0], .topics = &good, .topic_count = 1}, NULL, patience()),
        WEFT_EINUSE);
    weft_msg *m;
    ck_assert_int_eq(weft_call_name(WEFT_STORE_NAME, 1, "\xC1", 1, &m, patience()), WEFT_OK);
    weft_msg_free(m);
    ck_assert_int_eq(weft_call_name(WEFT_STORE_NAME, 77, NULL, 0, &m, patience()), WEFT_OK);
    weft_msg_free(m);
    publish("room.a", "it lives on");
    end_store(pid);
    ck_assert_int_eq(weft_publish_stored("room.a", SAY, "x", 1, &at, patience()), WEFT_ENOACTOR);
    say("done");
}

START_TEST(errors_are_those_of_the_header)
{
    RUN(a, errors);
}
END_TEST

static void restart(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = open_store(0, 0);
    publish_numbers("room.a", 1, 10);
    subscribe("room.a", WEFT_FROM_START);
    expect_numbers("room.a", 1, 10);
    end_store(pid);
    open_store(0, 0);
    publish_numbers("room.a", 11, 20);
    expect_numbers("room.a", 11, 20);
    expect_nothing_more();
    say("done");
}

START_TEST(a_subscription_outlives_its_store)
{
    RUN(a, restart);
}
END_TEST

static void new_epoch(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = open_store(0, 0);
    struct weft_position at = publish("room.a", "old");
    publish("room.a", "old too");
    subscribe("room.a", weft_position_after(at));
    expect_record("room.a", 2, "old too");
    end_store(pid);
    open_store(1, 0);
    struct weft_position now = publish("room.a", "new");
    ck_assert_uint_ne(now.epoch, at.epoch);
    struct weft_stored news = expect_news(WEFT_STORED_EPOCH);
    ck_assert_uint_eq(news.at.epoch, now.epoch);
    ck_assert_uint_eq(expect_record("room.a", 1, "new").epoch, now.epoch);
    say("done");
}

START_TEST(another_file_is_a_new_epoch)
{
    RUN(a, new_epoch);
}
END_TEST

static void gaps(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store(0, 0);
    publish_numbers("few.x", 1, 20);
    weft_stored_subscription s = subscribe("few.x", (struct weft_position){0, 4});
    struct weft_stored news = expect_news(WEFT_STORED_GAP);
    ck_assert_uint_eq(news.missing, 12);
    ck_assert_uint_eq(news.at.offset, 16);
    expect_numbers("few.x", 16, 20);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    s = subscribe("few.x", WEFT_FROM_START); /* asks for what is there, and gets it */
    expect_numbers("few.x", 16, 20);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    subscribe("few.x", (struct weft_position){0, 22});
    ck_assert_int_eq(expect_news(WEFT_STORED_ENDED).error, WEFT_ENOTFOUND);
    say("done");
}

START_TEST(a_subscriber_is_told_how_many_old_records_are_no_longer_stored)
{
    RUN(a, gaps);
}
END_TEST

static void damage(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = open_store(0, 0);
    publish_numbers("room.a", 1, 5);
    end_store(pid);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(file[0], &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "UPDATE records SET tag = 6 WHERE id = (1 << 40) + 3", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    open_store(0, 0);
    subscribe("room.a", WEFT_FROM_START);
    expect_numbers("room.a", 1, 2);
    struct weft_stored news = expect_news(WEFT_STORED_ENDED);
    ck_assert_int_eq(news.error, WEFT_EFORMAT);
    ck_assert_uint_eq(news.at.offset, 3);
    subscribe("room.a", weft_position_after(news.at));
    expect_numbers("room.a", 4, 5);
    say("done");
}

START_TEST(a_damaged_record_is_said_and_not_served)
{
    RUN(a, damage);
}
END_TEST

static void list_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_stored_log log[3];
    open_store(0, 0);
    ck_assert_int_eq(weft_stored_logs(NULL, log, 3, patience()), 0);
    publish("room.c", "x");
    publish("room.a", "yy");
    publish("few.b.c", "z");
    ck_assert_int_eq(weft_stored_logs(NULL, log, 3, patience()), 3);
    ck_assert_str_eq(log[0].topic, "few.b.c");
    ck_assert_str_eq(log[1].topic, "room.a");
    ck_assert(log[1].first == 1 && log[1].last == 1 && log[1].bytes == 2 && log[1].epoch != 0);
    ck_assert_int_eq(weft_stored_logs("few.b.c", log, 1, patience()), 1);
    ck_assert_str_eq(log[0].topic, "room.a");
    ck_assert_int_eq(weft_stored_logs("room.c", log, 3, patience()), 0);
    say("done");
}

START_TEST(logs_are_listed)
{
    RUN(a, list_all);
}
END_TEST

static void patterns(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid pid = open_store(0, 0);
    publish_numbers("room.a", 1, 300);
    publish_numbers("room.b", 1, 2);
    publish("few.x", "1");
    weft_stored_subscription now = subscribe("room.*", WEFT_FROM_NOW);
    expect_nothing_more();
    publish("room.b", "3");
    expect_record("room.b", 3, "3");
    publish_numbers("room.c", 1, 1); /* is new, and comes as a whole */
    expect_record("room.c", 1, "1");
    ck_assert_int_eq(weft_unsubscribe_stored(now), WEFT_OK);
    subscribe(">", WEFT_FROM_START);
    publish_numbers("few.y", 1, 1);
    uint64_t in_a = 0, in_b = 0;
    int others = 0;
    while (in_a < 300 || in_b < 3 || others < 3) {
        weft_msg *m;
        struct weft_stored got = next_stored(&m);
        ck_assert_int_eq(got.kind, WEFT_STORED_RECORD);
        if (strcmp(got.topic, "room.a") == 0) ck_assert_uint_eq(got.at.offset, ++in_a);
        else if (strcmp(got.topic, "room.b") == 0) ck_assert_uint_eq(got.at.offset, ++in_b);
        else others++;
        weft_msg_free(m);
    }
    end_store(pid);
    open_store(0, 0);
    publish("room.d", "1");
    expect_record("room.d", 1, "1");
    publish("room.b", "4");
    expect_record("room.b", 4, "4");
    expect_nothing_more();
    ck_assert_int_eq(weft_subscribe_from("room.*", (struct weft_position){0, 3}, NULL, patience()), WEFT_EINVAL);
    ck_assert_int_eq(weft_subscribe_from("room.>.x", WEFT_FROM_NOW, NULL, patience()), WEFT_EINVAL);
    say("done");
}

START_TEST(a_pattern_brings_all_topics_that_match)
{
    RUN(a, patterns);
}
END_TEST

enum { NEW_TOPICS = 600 }; /* more than one answer of the store has */

static void publish_new(const void *arg, size_t size)
{
    int which;
    char topic[32];
    (void)size;
    memcpy(&which, arg, sizeof which);
    snprintf(topic, sizeof topic, "few.%d", which);
    publish(topic, "1");
}

/* Publications that come at a time are stored at a time. */
static void many_new_topics(const void *arg, size_t size)
{
    static bool seen[NEW_TOPICS];
    (void)arg, (void)size;
    open_store(0, 0);
    subscribe("few.*", WEFT_FROM_START);
    for (int i = 0; i < NEW_TOPICS; i++) ck_assert_int_eq(weft_spawn(NULL, publish_new, &i, sizeof i, NULL), WEFT_OK);
    for (int i = 0; i < NEW_TOPICS; i++) {
        weft_msg *m;
        struct weft_stored got = next_stored(&m);
        int which = atoi(got.topic + 4);
        ck_assert(got.kind == WEFT_STORED_RECORD && which >= 0 && which < NEW_TOPICS && !seen[which]);
        seen[which] = true;
        weft_msg_free(m);
    }
    expect_nothing_more();
    memset(seen, 0, sizeof seen);
    say("done");
}

START_TEST(many_topics_may_begin_at_once)
{
    RUN(a, many_new_topics);
}
END_TEST

/* ---- Two nodes ------------------------------------------------------------------------------------------------- */

static void keep_store(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store(0, 0);
    say("open");
    (void)weft_sleep(WEFT_FOREVER);
}

static void from_afar(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    publish_numbers("room.a", 1, 600);
    subscribe("room.a", WEFT_FROM_START);
    expect_numbers("room.a", 1, 600);
    publish_numbers("room.a", 601, 610);
    expect_numbers("room.a", 601, 610);
    say("done");
}

START_TEST(a_node_without_the_store_uses_it)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    RUN(b, from_afar);
}
END_TEST

enum { PUBLISHERS = 8, EACH = 250 };

static void publish_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    for (int i = 0; i < EACH; i++) publish("room.a", "x");
    say("published");
}

static void read_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    subscribe("room.a", WEFT_FROM_START);
    for (uint64_t i = 1; i <= PUBLISHERS * EACH; i++) expect_record("room.a", i, "x");
    expect_nothing_more();
    say("read");
}

START_TEST(no_gap_and_no_double_while_others_publish)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    for (int i = 0; i < PUBLISHERS; i++) {
        run_actor(i % 2 == 0 ? a : b, publish_many, NULL, 0);
        run_actor(i % 2 == 0 ? b : a, read_many, NULL, 0);
    }
    ck_assert_int_ge(heard("read", PUBLISHERS), PUBLISHERS);
    ck_assert_int_ge(heard("published", PUBLISHERS), PUBLISHERS);
}
END_TEST

static void read_pages(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    weft_stored_subscription reading = subscribe("room.a", WEFT_FROM_START);
    for (uint64_t i = 1; i <= 2 * PUBLISHERS * EACH; i++) expect_record("room.a", i, "x");
    ck_assert_int_eq(weft_unsubscribe_stored(reading), WEFT_OK);
    say("read");
}

/* Four pages: the store reads the next one ahead for a reader that is alone, and not for readers that take turns. */
START_TEST(pages_follow_each_other)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    for (int i = 0; i < 2 * PUBLISHERS; i++) run_actor(a, publish_many, NULL, 0);
    ck_assert_int_ge(heard("published", 2 * PUBLISHERS), 2 * PUBLISHERS);
    run_actor(b, read_pages, NULL, 0);
    ck_assert_int_ge(heard("read", 1), 1);
    for (int i = 0; i < PUBLISHERS; i++) run_actor(b, read_pages, NULL, 0);
    ck_assert_int_ge(heard("read", PUBLISHERS + 1), PUBLISHERS + 1);
}
END_TEST

static void slow_reader(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    subscribe("room.a", WEFT_FROM_START);
    say("subscribed");
    heard("published", 1); /* this worker stands still until all is stored */
    for (uint64_t i = 1; i <= EACH; i++) expect_record("room.a", i, "x");
    say("done");
}

/* Its mailbox has space for four: the reader slows itself, and neither loses a record nor stops the publisher. */
START_TEST(a_slow_reader_loses_nothing)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    ck_assert_int_eq(weft_node_spawn(b, NULL, slow_reader, NULL, 0, &(weft_spawn_options){.mailbox_max = 4}),
                     WEFT_OK);
    HEAR("subscribed");
    run_actor(a, publish_many, NULL, 0);
    HEAR("done");
}
END_TEST

static void see_the_owner_go(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    publish("room.a", "1");
    subscribe("room.a", WEFT_FROM_START);
    expect_record("room.a", 1, "1");
    say("ready");
    int rc;
    struct weft_position at;
    do rc = weft_publish_stored("room.a", SAY, "x", 1, &at, weft_after(WEFT_SEC(20)));
    while (rc == WEFT_OK);
    say("error %d", rc == WEFT_ENOREPLY || rc == WEFT_ENOACTOR || rc == WEFT_ENONODE || rc == WEFT_ECANCELED);
}

START_TEST(the_owner_is_gone_and_it_is_said)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    run_actor(b, see_the_owner_go, NULL, 0);
    HEAR("ready");
    node_down(a);
    a = NULL;
    HEAR("error 1");
}
END_TEST

static void open_the_same(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const struct weft_stored_topics all = {.pattern = ">"};
    ck_assert_int_eq(
        weft_store_open(&(weft_store_options){.url = url[0], .topics = &all, .topic_count = 1}, NULL, patience()),
        WEFT_EINUSE);
    say("done");
}

START_TEST(two_nodes_that_do_not_know_each_other_cannot_share_a_file)
{
    b = node_up("b", NULL, NULL, WEFT_MS(200));
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    RUN(b, open_the_same);
}
END_TEST

/* ---- Cursors --------------------------------------------------------------------------------------------------- */

static weft_stored_subscription follow(const char *name, const char *topic)
{
    weft_stored_subscription s;
    int rc = weft_subscribe_cursor(name, topic, &s, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return s;
}

static int advance(const char *name, const char *topic, struct weft_position to)
{
    return weft_cursor_advance(name, topic, to, patience());
}

static void continues(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid store = open_store(0, 0);
    publish_numbers("room.a", 1, 5);
    weft_stored_subscription s = follow("billing", "room.a");
    struct weft_position at = expect_record("room.a", 1, "1");
    expect_numbers("room.a", 2, 5);
    at.offset = 3;
    ck_assert_int_eq(advance("billing", "room.a", at), WEFT_OK);
    at.offset = 2; /* it does not go back */
    ck_assert_int_eq(advance("billing", "room.a", at), WEFT_OK);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    end_store(store);
    store = open_store(0, 0);
    s = follow("billing", "room.a");
    expect_numbers("room.a", 4, 5);
    publish_numbers("room.a", 6, 6);
    expect_numbers("room.a", 6, 6);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    s = follow("other", "room.a"); /* each name has its own */
    expect_numbers("room.a", 1, 6);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    ck_assert_int_eq(weft_cursor_remove("billing", "room.a", patience()), WEFT_OK);
    follow("billing", "room.a");
    expect_numbers("room.a", 1, 6);
    say("done");
}

START_TEST(a_cursor_continues_where_it_was)
{
    RUN(a, continues);
}
END_TEST

static void cursor_errors(const void *arg, size_t size)
{
    (void)arg, (void)size;
    char name[WEFT_CURSOR_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(advance("c", "room.a", weft_position_of(1, 1)), WEFT_ENOACTOR);
    open_store(0, 0);
    struct weft_position at = publish("room.a", "1");
    const char *const bad[] = {"", "a b", "a$", "\xC3\xA9", name, NULL};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(advance(bad[i], "room.a", at), WEFT_EINVAL);
        ck_assert_int_eq(weft_subscribe_cursor(bad[i], "room.a", NULL, patience()), WEFT_EINVAL);
        ck_assert_int_eq(weft_cursor_remove(bad[i], "room.a", patience()), WEFT_EINVAL);
    }
    ck_assert_int_eq(advance(name + 1, "room.a", at), WEFT_OK);
    ck_assert_int_eq(advance("c", "room.*", at), WEFT_EINVAL);
    ck_assert_int_eq(advance("c", "room.a", WEFT_FROM_START), WEFT_EINVAL);
    ck_assert_int_eq(advance("c", "room.a", weft_position_of(at.epoch, UINT64_MAX)), WEFT_EINVAL);
    ck_assert_int_eq(advance("c", "room.a", weft_position_after(at)), WEFT_ENOTFOUND);
    ck_assert_int_eq(advance("c", "room.a", weft_position_of(at.epoch + 1, 1)), WEFT_ENOTFOUND);
    ck_assert_int_eq(advance("c", "room.b", at), WEFT_ENOTFOUND);
    ck_assert_int_eq(weft_subscribe_cursor("c", "other", NULL, patience()), WEFT_EACCESS);
    say("done");
}

START_TEST(errors_of_cursors_are_those_of_the_header)
{
    RUN(a, cursor_errors);
}
END_TEST

/* While another connection writes, nothing can be on disk. */
static void not_before(const void *arg, size_t size)
{
    (void)arg, (void)size;
    sqlite3 *db;
    open_store(0, 0);
    struct weft_position at = publish("room.a", "1");
    ck_assert_int_eq(sqlite3_open(file[0], &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_ne(advance("c", "room.a", at), WEFT_OK);
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_assert_int_eq(advance("c", "room.a", at), WEFT_OK);
    say("done");
}

START_TEST(an_advance_returns_when_it_is_on_disk)
{
    RUN(a, not_before);
}
END_TEST

/* Without end: the store that is opened next takes what the one before has not answered. */
static void publish_on(const void *arg, size_t size)
{
    (void)arg, (void)size;
    while (weft_publish_stored("room.b", SAY, "x", 1, NULL, patience()) == WEFT_OK) {}
}

/* Its last batch may be stored after it has ended; until then the file is in use. */
static weft_pid open_after_a_kill(void)
{
    weft_pid pid;
    const int64_t until = patience();
    const struct weft_stored_topics topics[] = {{.pattern = "room.*"}};
    const weft_store_options options = {.url = url[0], .topics = topics, .topic_count = 1};
    int rc;
    while ((rc = weft_store_open(&options, &pid, until)) == WEFT_EINUSE && weft_now() < until)
        ck_assert_int_eq(weft_yield(), WEFT_OK);
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return pid;
}

static void kill_again_and_again(const void *arg, size_t size)
{
    enum { TOGETHER = 4000, KILLS = 12 };
    (void)arg, (void)size;
    weft_pid store = open_after_a_kill();
    for (int i = 0; i < TOGETHER; i++) ck_assert_int_eq(weft_spawn(NULL, publish_on, NULL, 0, NULL), WEFT_OK);
    for (int i = 0; i < KILLS; i++) {
        for (int k = 0; k <= i % 4; k++) publish("room.a", "mine");
        ck_assert_int_eq(weft_kill(store), WEFT_OK);
        weft_wait on = weft_on_end(store);
        ck_assert_int_eq(weft_wait_any(&on, 1, patience()), 0);
        store = open_after_a_kill();
    }
    ck_assert_uint_ge(publish("room.a", "last").offset, KILLS);
    say("done");
}

START_TEST(a_store_that_is_killed_at_its_work_lets_go_of_its_file)
{
    RUN(a, kill_again_and_again);
}
END_TEST

static void cursor_of_another_log(const void *arg, size_t size)
{
    (void)arg, (void)size;
    sqlite3 *db;
    weft_pid store = open_store(0, 0);
    publish_numbers("room.a", 1, 9);
    struct weft_position old = publish("room.a", "10");
    weft_stored_subscription s = follow("c", "room.a");
    expect_numbers("room.a", 1, 10);
    ck_assert_int_eq(advance("c", "room.a", old), WEFT_OK);
    end_store(store);
    store = open_store(1, 0); /* another file */
    publish("room.a", "1");
    struct weft_stored news = expect_news(WEFT_STORED_EPOCH);
    ck_assert_uint_ne(news.at.epoch, old.epoch);
    struct weft_position now = expect_record("room.a", 1, "1");
    ck_assert_int_eq(advance("c", "room.a", old), WEFT_ENOTFOUND);
    ck_assert_int_eq(advance("c", "room.a", now), WEFT_OK);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    end_store(store);
    /* The cursors of the first file, with the logs of the second one. */
    char sql[400];
    snprintf(sql, sizeof sql,
             "ATTACH '%s' AS other; DELETE FROM cursors; INSERT INTO cursors SELECT * FROM other.cursors", file[0]);
    ck_assert_int_eq(sqlite3_open(file[1], &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    open_store(1, 0);
    follow("c", "room.a");
    ck_assert_uint_eq(expect_news(WEFT_STORED_EPOCH).at.epoch, now.epoch);
    expect_record("room.a", 1, "1");
    say("done");
}

START_TEST(a_cursor_of_another_log_begins_at_the_start)
{
    RUN(a, cursor_of_another_log);
}
END_TEST

static void cursor_in_front(const void *arg, size_t size)
{
    (void)arg, (void)size;
    open_store(0, 0);
    publish_numbers("few.x", 1, 3);
    weft_stored_subscription s = follow("c", "few.x");
    struct weft_position at = expect_record("few.x", 1, "1");
    expect_numbers("few.x", 2, 3);
    ck_assert_int_eq(advance("c", "few.x", at), WEFT_OK);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    publish_numbers("few.x", 4, 9); /* 5 ... 9 stay */
    follow("c", "few.x");
    struct weft_stored news = expect_news(WEFT_STORED_GAP);
    ck_assert(news.missing == 3 && news.at.offset == 5);
    expect_numbers("few.x", 5, 9);
    say("done");
}

START_TEST(records_that_a_cursor_misses_are_said)
{
    RUN(a, cursor_in_front);
}
END_TEST

static void cursors_of_a_pattern(const void *arg, size_t size)
{
    (void)arg, (void)size;
    await_store();
    struct weft_position tea = publish("room.tea", "1"), milk = publish("room.milk", "1");
    publish("room.tea", "2");
    ck_assert_int_eq(advance("c", "room.tea", tea), WEFT_OK);
    ck_assert_int_eq(advance("c", "room.milk", milk), WEFT_OK);
    weft_stored_subscription s = follow("c", "room.*");
    expect_record("room.tea", 2, "2");
    publish("room.milk", "2");
    expect_record("room.milk", 2, "2");
    publish("room.new", "1"); /* has no cursor */
    expect_record("room.new", 1, "1");
    expect_nothing_more();
    struct weft_cursor got[4];
    ck_assert_int_eq(weft_cursors(NULL, got, 4, patience()), 2);
    ck_assert_str_eq(got[0].name, "c");
    ck_assert_str_eq(got[0].topic, "room.milk");
    ck_assert(got[0].at.epoch == milk.epoch && got[0].at.offset == 1 && got[0].behind == 1);
    ck_assert_str_eq(got[1].topic, "room.tea");
    ck_assert_int_eq(weft_cursors(&got[0], got, 4, patience()), 1);
    ck_assert_str_eq(got[0].topic, "room.tea");
    ck_assert_int_eq(weft_cursors(&got[0], got, 4, patience()), 0);
    ck_assert_int_eq(weft_unsubscribe_stored(s), WEFT_OK);
    say("done");
}

START_TEST(a_pattern_has_a_cursor_for_each_topic)
{
    second_node();
    run_actor(a, keep_store, NULL, 0);
    HEAR("open");
    RUN(b, cursors_of_a_pattern);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *c = tcase_create("store");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, the_past_and_then_the_live);
    tcase_add_test(c, an_actor_with_the_smallest_stack_opens_writes_and_reads);
    tcase_add_test(c, errors_are_those_of_the_header);
    tcase_add_test(c, a_subscription_outlives_its_store);
    tcase_add_test(c, another_file_is_a_new_epoch);
    tcase_add_test(c, a_subscriber_is_told_how_many_old_records_are_no_longer_stored);
    tcase_add_test(c, a_damaged_record_is_said_and_not_served);
    tcase_add_test(c, logs_are_listed);
    tcase_add_test(c, a_pattern_brings_all_topics_that_match);
    tcase_add_test(c, many_topics_may_begin_at_once);
    tcase_add_test(c, a_node_without_the_store_uses_it);
    tcase_add_test(c, no_gap_and_no_double_while_others_publish);
    tcase_add_test(c, pages_follow_each_other);
    tcase_add_test(c, a_slow_reader_loses_nothing);
    tcase_add_test(c, the_owner_is_gone_and_it_is_said);
    tcase_add_test(c, two_nodes_that_do_not_know_each_other_cannot_share_a_file);
    tcase_add_test(c, a_cursor_continues_where_it_was);
    tcase_add_test(c, errors_of_cursors_are_those_of_the_header);
    tcase_add_test(c, an_advance_returns_when_it_is_on_disk);
    tcase_add_test(c, a_store_that_is_killed_at_its_work_lets_go_of_its_file);
    tcase_add_test(c, a_cursor_of_another_log_begins_at_the_start);
    tcase_add_test(c, records_that_a_cursor_misses_are_said);
    tcase_add_test(c, a_pattern_has_a_cursor_for_each_topic);
    return run_suite_unforked(suite);
}
