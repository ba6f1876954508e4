/* tests/unit/transport/store/postgres_test.c -- the engine for PostgreSQL, with a server of the test's own: what every
 * engine promises, and what it does when its sessions end, or others take its place. */
#include <pthread.h>

#include "conformance.h"
#include "postgres.h"
#include "postgres_server.h"
#include "postgres_url.h"

#include "damage.h"
#include "state_damage.h"

static void end(void)
{
}

/* ---- Databases that are not ours -------------------------------------------------------------------------------- */

START_TEST(a_newer_store_is_refused)
{
    append_ok("a", "one");
    close_it();
    run_sql("UPDATE store SET version = 4");
    expect_refused(WEFT_ENOTSUP, "newer");
    run_sql("UPDATE store SET version = 2");
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST

START_TEST(an_older_store_gets_the_newer_tables)
{
    int rc;
    append_ok("a", "one");
    close_it();
    run_sql("DROP TABLE job_reminders; UPDATE store SET version = 1");
    store = open_as(true, &rc); /* a tool changes nothing */
    ck_assert_msg(store != NULL, "%s", why.text);
    expect_reminders("", "", 9, "");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
    reopen();
    ck_assert_int_eq(set_reminder("q", "k", "tea", 50, 0, 0).error, WEFT_OK);
    reopen();
    expect_reminders("", "", 9, "q/k 50+0 ");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST

START_TEST(a_schema_of_others_is_refused)
{
    close_it();
    run_sql("DROP SCHEMA weft CASCADE; CREATE SCHEMA weft; CREATE TABLE weft.theirs(x INT)");
    expect_refused(WEFT_EFORMAT, "no store");
    run_sql("CREATE TABLE weft.store(id BIGINT, version BIGINT)");
    expect_refused(WEFT_EFORMAT, "no store");
    run_sql("DROP SCHEMA weft CASCADE; CREATE SCHEMA weft"); /* an administrator may make it before */
    open_it();
    append_ok("a", "one");
}
END_TEST

START_TEST(a_user_without_rights_is_refused)
{
    char where[200];
    close_it();
    run_sql("DROP SCHEMA weft CASCADE; CREATE ROLE guest LOGIN");
    snprintf(where, sizeof where, "host=%s user=guest dbname=postgres", server.folder);
    fixture.where = where;
    expect_refused(WEFT_EACCESS, "no right");
}
END_TEST

/* ---- URLs ------------------------------------------------------------------------------------------------------ */

START_TEST(urls_and_words_are_taken)
{
    char url[200];
    append_ok("a", "one");
    close_it();
    snprintf(url, sizeof url, "//weft@/postgres?host=%s", server.folder); /* behind "postgres:" */
    fixture.where = url;
    open_it();
    close_it();
    snprintf(url, sizeof url, "postgres://weft@/postgres?host=%s", server.folder);
    open_it();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST

static const char *shown(const char *where)
{
    static char text[100];
    fixture.engine->show(where, text, sizeof text);
    return text;
}

START_TEST(passwords_are_not_shown)
{
    static const char *const refused[] = {"//weft:secret@127.0.0.1:1/db",
                                          "host=127.0.0.1 port=1 password=secret",
                                          "//weft:secret@127.0.0.1:port/db",
                                          "//weft:a/secret@127.0.0.1:1/db",
                                          "//weft:a@secret@127.0.0.1:1/db",
                                          "//weft:secret@[",
                                          "password=secret nonsense",
                                          "secret",
                                          "//weft@127.0.0.1:1/db?password=secret",
                                          "password='secret"};
    int rc;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fixture.where = refused[i];
        ck_assert_ptr_null(open_as(false, &rc));
        ck_assert_msg(rc == WEFT_ESYSTEM || rc == WEFT_EINVAL, "%s", weft_error_name(rc));
        ck_assert_msg(why.text[0] != '\0' && strstr(why.text, "secret") == NULL, "%s", why.text);
        ck_assert_msg(strstr(shown(refused[i]), "secret") == NULL, "%s", shown(refused[i]));
    }
    ck_assert_str_eq(shown("//ann:secret@db.example:5433/shop"), "postgres:ann@db.example:5433/shop");
    ck_assert_str_eq(shown("host=db user=ann password=secret"), "postgres:ann@db");
}
END_TEST

/* ---- Sessions that end ------------------------------------------------------------------------------------------ */

static void end_sessions(const char *which)
{
    char sql[300];
    snprintf(
        sql, sizeof sql,
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid"
        " %s (SELECT pid FROM pg_locks WHERE locktype = 'advisory')",
        which);
    run_sql(sql);
}

START_TEST(a_session_that_ended_is_replaced)
{
    append_ok("a", "one");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one "); /* there is a reader's connection */
    end_sessions("IN");
    append_ok("a", "two");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    put_job("q", "job", 0, 0);
    end_sessions("IN");
    ck_assert_uint_eq(take_job("q", "job", 0).id, 1);
    run_sql("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    ck_assert_int_eq(fixture.engine->check(store, no_fault, NULL), 0);
}
END_TEST

/* ---- Another owner ---------------------------------------------------------------------------------------------- */

START_TEST(an_owner_that_was_replaced_writes_nothing)
{
    int rc;
    append_ok("a", "one");
    struct wf_store *first = store;
    run_sql("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks WHERE locktype = 'advisory'");
    open_it();
    append_ok("a", "two");
    struct wf_store *second = store;
    store = first;
    ck_assert_int_eq(append_one("a", "three", NULL, NULL), WEFT_ESYSTEM); /* the other one has the lock */
    fixture.engine->close(second);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(append_one("a", "three", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_int_eq(advance_to("c", "a", 1, 1), WEFT_ESYSTEM);
    reopen();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    ck_assert_ptr_null(open_as(false, &rc));
}
END_TEST

static bool ignore_log(void *arg, const struct wf_store_log *log)
{
    (void)arg, (void)log;
    return true;
}

static bool ignore_queue(void *arg, const struct wf_store_queue *q)
{
    (void)arg, (void)q;
    return true;
}

/* What it knows from memory is what the owner after it has changed. */
START_TEST(an_owner_that_was_replaced_answers_nothing_from_memory)
{
    const struct wf_store_limits one = {.count = 1};
    append_ok("a", "one");
    append_ok("a", "two");
    put_job("q", "job", 0, 0);
    struct wf_store *first = store;
    run_sql("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks WHERE locktype = 'advisory'");
    open_it();
    struct wf_store *second = store;
    ck_assert_int_eq(fixture.engine->trim(second, "a", &one, 0), WEFT_OK);
    (void)take_job("q", "job", 0);
    store = first;
    ck_assert_int_eq(fixture.engine->queues(first, "", 0, ignore_queue, NULL), WEFT_ESYSTEM);
    ck_assert(atomic_exchange(&first->is_doubted, false));
    ck_assert_int_eq(fixture.engine->list(first, NULL, ignore_log, NULL), WEFT_ESYSTEM);
    ck_assert(atomic_exchange(&first->is_doubted, false));
    ck_assert_str_eq(read_text("a", 1, 9, 99), "WEFT_ESYSTEM"); /* and not that a record is missing */
    ck_assert(atomic_load(&first->is_doubted));
    fixture.engine->close(second);
    reopen();
    expect_queues(0, "q=0,0,1,0 ");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "2=two ");
}
END_TEST

/* Without the lock, and in the same session: it is fenced all the same. */
START_TEST(a_writer_whose_owner_number_has_changed_is_refused)
{
    static const char *const ways[] = {"UPDATE store SET owner = owner + 1",
                                       "UPDATE store SET commits = commits + 1"};
    append_ok("a", "one");
    run_sql(ways[_i]);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(append_one("a", "two", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    reopen();
    append_ok("a", "three");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=three ");
}
END_TEST

/* As after the fail-over to a standby that is behind. */
START_TEST(a_database_that_lacks_commits_gets_no_more)
{
    append_ok("a", "one");
    append_ok("a", "two");
    run_sql("UPDATE store SET commits = commits - 1");
    end_sessions("IN");
    for (int i = 0; i < 2; i++) ck_assert_int_eq(append_one("a", "three", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
}
END_TEST

/* The user's setting would acknowledge what is in memory only. */
START_TEST(commits_are_synchronous)
{
    char flushed[8];
    close_it();
    run_sql("ALTER ROLE weft SET synchronous_commit TO off");
    open_it();
    append_ok("a", "one");
    run_sql_for("SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()", flushed, sizeof flushed);
    run_sql("ALTER ROLE weft RESET synchronous_commit");
    ck_assert_str_eq(flushed, "t");
}
END_TEST

/* ---- Those that stand by ----------------------------------------------------------------------------------------- */

static struct wf_store_mark mark_of(const struct wf_store *s)
{
    struct wf_store_mark mark;
    fixture.engine->mark(s, &mark);
    return mark;
}

START_TEST(a_mark_is_the_owner_and_its_commits)
{
    struct wf_store_mark beside;
    struct wf_store_mark before = mark_of(store);
    append_ok("a", "one");
    struct wf_store_mark after = mark_of(store);
    ck_assert(before.owner != 0 && after.owner == before.owner);
    ck_assert_uint_eq(after.commits, before.commits + 1);
    ck_assert_int_eq(fixture.engine->look(server.where, &beside, &why), WEFT_OK);
    ck_assert(beside.owner == after.owner && beside.commits == after.commits);
    reopen();
    ck_assert(mark_of(store).owner != after.owner);
    ck_assert_uint_eq(mark_of(store).commits, after.commits);
    close_it();
    run_sql("DROP SCHEMA weft CASCADE");
    ck_assert_int_eq(fixture.engine->look(server.where, &beside, &why), WEFT_ENOTFOUND);
    ck_assert_int_eq(fixture.engine->look("host=/tmp/weft-no-such-folder", &beside, &why), WEFT_ESYSTEM);
}
END_TEST

static int open_knowing(uint64_t commits)
{
    int rc = fixture.engine->open(&store, server.where, &(struct wf_store_opening){.commits = commits}, &why);
    if (rc == WEFT_OK) close_it();
    return rc;
}

/* As of a server that was promoted, and was behind when the one before was lost. */
START_TEST(a_database_that_lacks_known_commits_is_not_opened)
{
    append_ok("a", "one");
    append_ok("a", "two");
    const struct wf_store_mark known = mark_of(store);
    close_it();
    ck_assert_int_eq(open_knowing(known.commits), WEFT_OK);
    run_sql("UPDATE store SET commits = commits - 1");
    ck_assert_int_eq(open_knowing(known.commits), WEFT_ESYSTEM);
    ck_assert_msg(strstr(why.text, "lacks 1 commits") != NULL, "%s", why.text);
    struct wf_store_mark beside; /* and nothing was changed */
    ck_assert_int_eq(fixture.engine->look(server.where, &beside, &why), WEFT_OK);
    ck_assert_uint_eq(beside.commits, known.commits - 1);
    ck_assert_int_eq(open_knowing(known.commits - 1), WEFT_OK);
}
END_TEST

START_TEST(a_store_that_cannot_store_is_lost)
{
    append_ok("a", "one");
    ck_assert(!fixture.engine->is_lost(store));
    end_sessions("IN");
    append_ok("a", "two"); /* it has connected again */
    ck_assert(!fixture.engine->is_lost(store));
    end_sessions("IN");
    PGconn *other = PQconnectdb(server.where);
    PQclear(PQexec(other, "SELECT pg_advisory_lock(8603395313164842095)"));
    ck_assert_int_eq(append_one("a", "three", NULL, NULL), WEFT_ESYSTEM);
    ck_assert(fixture.engine->is_lost(store));
    PQfinish(other);
    append_ok("a", "four");
    ck_assert(!fixture.engine->is_lost(store));
    run_sql("UPDATE store SET owner = owner + 1");
    ck_assert_int_eq(append_one("a", "five", NULL, NULL), WEFT_ESYSTEM);
    ck_assert(fixture.engine->is_lost(store));
}
END_TEST

START_TEST(a_store_is_asked_whether_it_is_the_owner)
{
    append_ok("a", "one");
    ck_assert_int_eq(fixture.engine->confirm(store), WEFT_OK);
    end_sessions("IN");
    ck_assert_int_eq(fixture.engine->confirm(store), WEFT_OK); /* it has connected again */
    ck_assert(!fixture.engine->is_lost(store));
    end_sessions("IN");
    PGconn *other = PQconnectdb(server.where);
    PQclear(PQexec(other, "SELECT pg_advisory_lock(8603395313164842095)"));
    ck_assert_int_eq(fixture.engine->confirm(store), WEFT_ESYSTEM);
    ck_assert(fixture.engine->is_lost(store));
    PQfinish(other);
    ck_assert_int_eq(fixture.engine->confirm(store), WEFT_OK);
    append_ok("a", "two");
    run_sql("UPDATE store SET owner = owner + 1");
    end_sessions("IN");
    ck_assert_int_eq(fixture.engine->confirm(store), WEFT_ESYSTEM);
    ck_assert(fixture.engine->is_lost(store));
}
END_TEST

/* ---- Several servers --------------------------------------------------------------------------------------------- */

START_TEST(the_next_host_is_tried)
{
    static const char *const ways[] = {"host=/tmp/weft-no-such-folder,%s user=weft dbname=postgres",
                                       "//weft@/postgres?host=/tmp/weft-no-such-folder,%s"};
    char where[200];
    close_it();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(where, sizeof where, ways[i], server.folder);
#pragma GCC diagnostic pop
        fixture.where = where;
        open_it();
        append_ok("a", "one");
        close_it();
    }
}
END_TEST

/* A server of several that only reads is not the one that is meant. */
START_TEST(of_several_servers_the_primary_is_taken)
{
    char where[300];
    int rc;
    append_ok("a", "one");
    close_it();
    snprintf(where, sizeof where,
             "host=%s,%s user=weft dbname=postgres options='-c default_transaction_read_only=on'", server.folder,
             server.folder);
    fixture.where = where;
    for (int i = 0; i < 2; i++) { /* also for readers: a standby may be behind */
        ck_assert_ptr_null(open_as(i == 1, &rc));
        ck_assert_msg(rc == WEFT_ESYSTEM && strstr(why.text, "read-only") != NULL, "%s", why.text);
    }
    strcat(where, " target_session_attrs=any");
    store = open_as(true, &rc);
    ck_assert_msg(rc == WEFT_OK, "%s", why.text);
}
END_TEST

/* A reader's connection to the server before would lack what the writer has stored since. */
START_TEST(readers_follow_the_writer_to_another_server)
{
    char before[16], after[16];
    static const char readers[] =
        "SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'weft' AND pid NOT IN"
        " (SELECT pid FROM pg_locks WHERE locktype = 'advisory')";
    append_ok("a", "one");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
    run_sql_for(readers, before, sizeof before);
    end_sessions("IN");
    append_ok("a", "two");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two ");
    run_sql_for(readers, after, sizeof after);
    ck_assert_str_ne(before, after);
}
END_TEST

/* ---- A commit that waits for a standby server --------------------------------------------------------------------- */

static void wait_for_a_standby(const char *name)
{
    char sql[100], count[8] = "0";
    snprintf(sql, sizeof sql, "ALTER SYSTEM SET synchronous_standby_names TO '%s'", name);
    run_sql(sql);
    run_sql("SELECT pg_reload_conf()");
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = '%s'", name);
    while (strcmp(count, "1") != 0) run_sql_for(sql, count, sizeof count);
}

static void *append_in_a_thread(void *arg)
{
    *(int *)arg = append_one("a", "two", NULL, NULL);
    return NULL;
}

/* The server says COMMIT then, with a warning: only this server has the commit. */
START_TEST(a_cancelled_wait_for_a_standby_is_no_acknowledgement)
{
    pthread_t thread;
    int rc = 1;
    char count[8] = "0";
    append_ok("a", "one");
    wait_for_a_standby("nobody");
    ck_assert_int_eq(pthread_create(&thread, NULL, append_in_a_thread, &rc), 0);
    for (strcpy(count, "0"); strcmp(count, "1") != 0;)
        run_sql_for("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", count, sizeof count);
    run_sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    wait_for_a_standby("");
    ck_assert_int_eq(rc, WEFT_ESYSTEM);
    append_ok("a", "three");
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two 3=three ");
}
END_TEST

static void use_where(const char *more)
{
    static char where[200];
    close_it();
    snprintf(where, sizeof where, "%s %s", server.where, more);
    fixture.where = where;
    open_it();
}

/* The server lives, and its answer does not come: nobody knows whether the record will be there. The old session keeps the
 * owner's lock, so nothing is stored before that is known. */
START_TEST(a_commit_that_gets_no_answer_is_not_known_until_its_session_ends)
{
    use_where("answer_timeout=1");
    append_ok("a", "one");
    wait_for_a_standby("nobody");
    ck_assert_int_eq(append_one("a", "two", NULL, NULL), WEFT_ESYSTEM);
    ck_assert_int_eq(append_one("a", "three", NULL, NULL), WEFT_ESYSTEM);
    ck_assert(fixture.engine->is_lost(store));
    wait_for_a_standby("");
    int rc;
    while ((rc = append_one("a", "four", NULL, NULL)) == WEFT_ESYSTEM) continue; /* the session ends first */
    ck_assert_int_eq(rc, WEFT_OK);
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one 2=two 3=four ");
}
END_TEST

/* The database has it, and the counts in memory do not: moved on to a later time, they would have the job twice. */
START_TEST(counts_are_not_known_while_a_commit_has_no_answer)
{
    char leased[8] = "0";
    use_where("answer_timeout=1");
    put_job("q", "job", 0, 0);
    put_job("q", "later", 0, 50);
    wait_for_a_standby("nobody");
    struct wf_store_change take = {.kind = WF_JOB_TAKE, .queue = "q", .now = 1, .delay = LEASE};
    ck_assert_int_eq(change_one(take).error, WEFT_ESYSTEM);
    wait_for_a_standby("");
    while (strcmp(leased, "1") != 0) run_sql_for("SELECT count(*) FROM jobs WHERE lease <> 0", leased, sizeof leased);
    ck_assert_int_eq(fixture.engine->queues(store, "", 200, ignore_queue, NULL), WEFT_ESYSTEM);
    ck_assert(atomic_load(&store->is_doubted));
    while (fixture.engine->confirm(store) == WEFT_ESYSTEM) continue; /* the session ends first */
    expect_queues(20, "q=0,1,1,0 ");
    expect_queues(200, "q=2,0,0,0 ");
}
END_TEST

/* ---- answer_timeout ------------------------------------------------------------------------------------------------ */

static int silence_of(const char *where, const char *is_left)
{
    struct pq_url url;
    ck_assert_int_eq(pq_url_read(where, &url), WEFT_OK);
    ck_assert_str_eq(url.where, is_left);
    pq_url_free(&url);
    return url.silence;
}

START_TEST(the_time_for_an_answer_is_a_word_of_weft)
{
    ck_assert_int_eq(silence_of("host=db", "host=db"), 30000);
    ck_assert_int_eq(silence_of("answer_timeout=7", ""), 7000);
    ck_assert_int_eq(silence_of("host=db answer_timeout=7 user=ann", "host=db user=ann"), 7000);
    ck_assert_int_eq(silence_of("host=db answer_timeout=0", "host=db "), -1);
    ck_assert_int_eq(silence_of("//ann@db/shop?answer_timeout=9", "postgres://ann@db/shop?"), 9000);
    ck_assert_int_eq(silence_of("//ann@db/shop?answer_timeout=9&port=1", "postgres://ann@db/shop?port=1"), 9000);
    ck_assert_int_eq(silence_of("postgresql://db/s?port=1&answer_timeout=86400", "postgresql://db/s?port=1&"),
                     86400000);
}
END_TEST

START_TEST(what_is_no_time_for_an_answer_is_left_and_refused)
{
    static const char *const left[] = {"answer_timeout=",      "answer_timeout=-1",       "answer_timeout=1s",
                                       "answer_timeout=86401", "answer_timeout=99999999", "answer_timeout=1&port=1"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) ck_assert_int_eq(silence_of(left[i], left[i]), 30000);
    const char quoted[] = "password='x answer_timeout=5 \\' answer_timeout=6 ' host=db";
    ck_assert_int_eq(silence_of(quoted, quoted), 30000);
    close_it();
    fixture.where = "host=127.0.0.1 answer_timeout=soon";
    expect_refused(WEFT_EINVAL, "answer_timeout has seconds");
}
END_TEST

START_TEST(a_url_with_a_time_for_an_answer_is_opened)
{
    char url[200];
    snprintf(url, sizeof url, "//weft@/postgres?host=%s&answer_timeout=9", server.folder);
    close_it();
    fixture.where = url;
    open_it();
    append_ok("a", "one");
    snprintf(url, sizeof url, "//weft@/postgres?answer_timeout=0&host=%s", server.folder);
    reopen();
    ck_assert_str_eq(read_text("a", 1, 9, 99), "1=one ");
}
END_TEST

/* The test before may have set another URL. */
static void begin_anew(void)
{
    fixture.where = server.where;
    begin_empty();
}

static TCase *case_of(const char *name)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    return c;
}

int main(void)
{
    int rc = use_a_server("fsync=off");
    if (rc != 0) return rc;
    fixture.engine = &wf_store_postgres;
    fixture.begin = begin_anew;
    fixture.end = end;
    fixture.run_sql = run_sql;
    fixture.cursors_by_hand = "INSERT INTO cursors SELECT convert_to('by hand ' || i, 'UTF8'), 'a'::bytea, 5, 1, 0 "
                              "FROM generate_series(1, %d) i";
    fixture.threads = true;
    Suite *suite = suite_create("the store in PostgreSQL");
    /* Those of lost commits are a case of their own for tools/mutants.py, which runs no other. */
    TCase *damage = case_of("damage"), *own = case_of("sessions"), *commits = case_of("commits");
    suite_add_tcase(suite, damage);
    suite_add_tcase(suite, own);
    suite_add_tcase(suite, commits);
    suite_add_tcase(suite, conformance_case("conformance"));
    add_damage_tests(damage);
    add_state_damage_tests(damage);
    tcase_add_test(own, a_newer_store_is_refused);
    tcase_add_test(own, an_older_store_gets_the_newer_tables);
    tcase_add_test(own, a_schema_of_others_is_refused);
    tcase_add_test(own, a_user_without_rights_is_refused);
    tcase_add_test(own, urls_and_words_are_taken);
    tcase_add_test(own, passwords_are_not_shown);
    tcase_add_test(own, a_session_that_ended_is_replaced);
    tcase_add_test(own, an_owner_that_was_replaced_writes_nothing);
    tcase_add_loop_test(own, a_writer_whose_owner_number_has_changed_is_refused, 0, 2);
    tcase_add_test(commits, a_database_that_lacks_commits_gets_no_more);
    tcase_add_test(own, commits_are_synchronous);
    tcase_add_test(own, a_mark_is_the_owner_and_its_commits);
    tcase_add_test(commits, a_database_that_lacks_known_commits_is_not_opened);
    tcase_add_test(own, a_store_that_cannot_store_is_lost);
    tcase_add_test(own, a_store_is_asked_whether_it_is_the_owner);
    tcase_add_test(own, the_next_host_is_tried);
    tcase_add_test(own, of_several_servers_the_primary_is_taken);
    tcase_add_test(own, readers_follow_the_writer_to_another_server);
    tcase_add_test(commits, a_cancelled_wait_for_a_standby_is_no_acknowledgement);
    tcase_add_test(own, a_commit_that_gets_no_answer_is_not_known_until_its_session_ends);
    tcase_add_test(commits, counts_are_not_known_while_a_commit_has_no_answer);
    tcase_add_test(commits, an_owner_that_was_replaced_answers_nothing_from_memory);
    tcase_add_test(own, the_time_for_an_answer_is_a_word_of_weft);
    tcase_add_test(own, what_is_no_time_for_an_answer_is_left_and_refused);
    tcase_add_test(own, a_url_with_a_time_for_an_answer_is_opened);
    rc = run_suite(suite);
    server_end();
    return rc;
}
