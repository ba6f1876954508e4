/* transport/store/postgres/postgres.c -- the engine for PostgreSQL: opens a database, owns it, closes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_connection.h"
#include "postgres_driver.h"
#include "postgres.h"
#include "postgres_owner.h"
#include "postgres_url.h"
#include "sql_store.h"
#include "sql_logs.h"
#include "sql_tables.h"

/* Rows that are written again and again have space for that in their pages. Bodies are not compressed. */
static const char *const tables[] = {
    "CREATE TABLE store(id BIGINT PRIMARY KEY, version BIGINT, owner BIGINT, commits BIGINT) WITH (fillfactor = 10)",
    "CREATE TABLE logs(id BIGINT PRIMARY KEY, topic BYTEA, epoch BIGINT, first BIGINT, last BIGINT, bytes BIGINT,"
    " sum BIGINT) WITH (fillfactor = 50)",
    "CREATE TABLE log_count(id BIGINT PRIMARY KEY, count BIGINT, sum BIGINT)",
    "CREATE TABLE records(id BIGINT PRIMARY KEY, time BIGINT, tag BIGINT, body BYTEA, sum BIGINT)",
    "ALTER TABLE records ALTER body SET STORAGE EXTERNAL",
    "CREATE TABLE cursors(name BYTEA, topic BYTEA, epoch BIGINT, last BIGINT, sum BIGINT, PRIMARY KEY(name, topic))"
    " WITH (fillfactor = 50)",
    "CREATE TABLE jobs(id BIGINT PRIMARY KEY, queue BYTEA, dead BIGINT, due BIGINT, lease BIGINT, attempts BIGINT,"
    " time BIGINT, tag BIGINT, sum BIGINT)",
    "CREATE INDEX jobs_due ON jobs(queue, dead, due, lease, id)",
    "CREATE TABLE job_bodies(id BIGINT PRIMARY KEY, body BYTEA, sum BIGINT)",
    "ALTER TABLE job_bodies ALTER body SET STORAGE EXTERNAL",
    "CREATE TABLE job_keys(queue BYTEA, name BYTEA, job BIGINT, until BIGINT, sum BIGINT, PRIMARY KEY(queue, name))",
    "CREATE INDEX job_keys_until ON job_keys(until)",
    "CREATE TABLE job_count(id BIGINT PRIMARY KEY, last BIGINT, sum BIGINT)",
    "CREATE TABLE job_workers(id BIGINT PRIMARY KEY, lease BIGINT, node BIGINT, actor BIGINT, sum BIGINT)",
    "CREATE TABLE states(key BYTEA PRIMARY KEY, id BIGINT, opening BIGINT, owner BIGINT, first BIGINT, last BIGINT,"
    " bytes BIGINT, size BIGINT, sum BIGINT) WITH (fillfactor = 50)",
    "CREATE TABLE state_count(id BIGINT PRIMARY KEY, count BIGINT, last BIGINT, sum BIGINT)",
    "CREATE TABLE state_snapshots(state BIGINT PRIMARY KEY, number BIGINT, time BIGINT, tag BIGINT, version BIGINT,"
    " body BYTEA, sum BIGINT)",
    "ALTER TABLE state_snapshots ALTER body SET STORAGE EXTERNAL",
    "CREATE TABLE state_events(state BIGINT, number BIGINT, time BIGINT, tag BIGINT, version BIGINT, body BYTEA,"
    " sum BIGINT, PRIMARY KEY(state, number))",
    "ALTER TABLE state_events ALTER body SET STORAGE EXTERNAL",
};

/* The tables have these since version 2. */
static const char *const reminder_tables[] = {
    "CREATE TABLE IF NOT EXISTS job_reminders(queue BYTEA, name BYTEA, job BIGINT, planned BIGINT, period BIGINT,"
    " sum BIGINT, PRIMARY KEY(queue, name))",
    "CREATE INDEX IF NOT EXISTS job_reminders_job ON job_reminders(job)",
};

enum { NAME_MAX_SIZE = 160 };

/* The first line of `text`, which may be in `why`. */
static int failed(struct wf_store_why *why, int error, const char *name, const char *text)
{
    char line[2 * sizeof why->text];
    snprintf(line, sizeof line, "%s: %.*s", name, (int)strcspn(text, "\n"), text);
    snprintf(why->text, sizeof why->text, "%.*s", (int)sizeof why->text - 1, line);
    return error;
}

static int failed_with(struct wf_store_why *why, int error, const struct pq_store *s)
{
    const char *text = error == WEFT_EACCESS ? "this user of the database has no right to it"
                       : error == WEFT_EINUSE
                           ? "another node has this store open (with --store-standby a node waits until it is free)"
                           : pq_error_text(&s->writer);
    return failed(why, error, s->base.name, text[0] != '\0' ? text : weft_strerror(error));
}

/* ---- Tables ---------------------------------------------------------------------------------------------------- */

static void send_reminder_tables(struct pq_connection *c)
{
    for (size_t i = 0; i < sizeof reminder_tables / sizeof *reminder_tables; i++)
        (void)pq_send(c, reminder_tables[i]);
}

static int finish_tables(struct pq_connection *c)
{
    int rc = pq_wait(c, NULL);
    (void)pq_send(c, rc == WEFT_OK ? "COMMIT" : "ROLLBACK");
    int end = pq_wait(c, NULL);
    c->in_transaction = false;
    return rc < 0 ? rc : end;
}

/* Makes the tables that an older version lacks. */
static int add_tables(struct pq_store *s)
{
    struct pq_connection *c = &s->writer;
    const int64_t version = PQ_VERSION;
    c->failed = WEFT_OK;
    c->in_transaction = true;
    (void)pq_send(c, "BEGIN");
    send_reminder_tables(c);
    (void)pq_send_numbers(c, "UPDATE store SET version = $1 WHERE id = 1", &version, 1, PQ_ONE);
    return finish_tables(c);
}

static int make_tables(struct pq_store *s, bool has_schema)
{
    struct pq_connection *c = &s->writer;
    const int64_t numbers[] = {PQ_VERSION, sql_count_sum(0), sql_state_count_sum(0, 0)};
    c->failed = WEFT_OK;
    c->in_transaction = true;
    (void)pq_send(c, "BEGIN");
    if (!has_schema) (void)pq_send(c, "CREATE SCHEMA weft");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) (void)pq_send(c, tables[i]);
    send_reminder_tables(c);
    (void)pq_send_numbers(c, "INSERT INTO store VALUES(1, $1, 0, 0)", &numbers[0], 1, PQ_ONE);
    (void)pq_send_numbers(c, "INSERT INTO log_count VALUES(1, 0, $1)", &numbers[1], 1, PQ_ONE);
    (void)pq_send_numbers(c, "INSERT INTO job_count VALUES(1, 0, $1)", &numbers[1], 1, PQ_ONE);
    (void)pq_send_numbers(c, "INSERT INTO state_count VALUES(1, 0, 0, $1)", &numbers[2], 1, PQ_ONE);
    return finish_tables(c);
}

/* Whether there is a schema, a table `store` in it, and how many tables. */
static int look(struct pq_store *s, bool *has_schema, bool *has_store, int64_t *count)
{
    PGresult *result;
    int rc = pq_query(
        &s->writer,
        "SELECT to_regnamespace('weft') IS NOT NULL, to_regclass('weft.store') IS NOT NULL, (SELECT count(*)"
        " FROM pg_class WHERE relnamespace = to_regnamespace('weft'))",
        NULL, 0, &result);
    if (rc < 0) return rc;
    *has_schema = pq_number(result, 0, 0) != 0;
    *has_store = pq_number(result, 0, 1) != 0;
    *count = pq_number(result, 0, 2);
    PQclear(result);
    return WEFT_OK;
}

static int check_version(struct pq_store *s, struct wf_store_why *why)
{
    PGresult *result;
    int rc = pq_query(&s->writer, "SELECT version FROM store WHERE id = 1", NULL, 0, &result);
    if (rc < 0) return failed_with(why, rc, s);
    int64_t version = pq_number(result, 0, 0);
    PQclear(result);
    if (version < 1) return failed(why, WEFT_EFORMAT, s->base.name, "the schema 'weft' is no store of weft");
    s->base.has_reminders = version >= 2 || !s->base.read_only;
    rc = version < PQ_VERSION && !s->base.read_only ? add_tables(s) : WEFT_OK;
    if (version <= PQ_VERSION) return rc < 0 ? failed_with(why, rc, s) : WEFT_OK;
    snprintf(why->text, sizeof why->text, "%s: it has version %lld, this weft knows version %d: use a newer weft",
             s->base.name, (long long)version, PQ_VERSION);
    return WEFT_ENOTSUP;
}

/* The version is looked at first: a newer store is not changed in any way. */
static int prepare_tables(struct pq_store *s, struct wf_store_why *why)
{
    bool has_schema, has_store;
    int64_t count;
    int rc = look(s, &has_schema, &has_store, &count);
    if (rc < 0) return failed_with(why, rc, s);
    if (!has_store && count > 0)
        return failed(why, WEFT_EFORMAT, s->base.name, "the schema 'weft' is no store of weft");
    if (!has_store && s->base.read_only)
        return failed(why, WEFT_ENOTFOUND, s->base.name, "the database has no store");
    if (!has_store) rc = make_tables(s, has_schema);
    return rc < 0 ? failed_with(why, rc, s) : check_version(s, why);
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

/* Becomes the owner, if the database has all commits that are known to be acknowledged. */
static int own(struct pq_store *s, uint64_t commits, struct wf_store_why *why)
{
    struct wf_store_mark is;
    int rc = pq_read_mark(&s->writer, &is);
    if (rc < 0) return failed_with(why, rc, s);
    if (is.commits < commits) {
        snprintf(why->text, sizeof why->text,
                 "%s: it lacks %llu commits that were acknowledged. Bring back the server that has them; or restart "
                 "all nodes "
                 "with this store: then the store continues without these commits",
                 s->base.name, (unsigned long long)(commits - is.commits));
        return WEFT_ESYSTEM;
    }
    rc = pq_own(s);
    return rc < 0 ? failed_with(why, rc, s) : WEFT_OK;
}

static int open_database(struct pq_store *s, uint64_t commits, struct wf_store_why *why)
{
    int rc = pq_connect(&s->writer, &s->url, s->base.read_only, why);
    if (rc < 0) return failed(why, rc, s->base.name, why->text);
    rc = s->base.read_only ? WEFT_OK : pq_lock(s);
    if (rc < 0) return failed_with(why, rc, s);
    rc = prepare_tables(s, why);
    if (rc < 0) return rc;
    s->base.has_queues = s->base.has_states = s->base.has_workers = true;
    if (!s->base.read_only) rc = own(s, commits, why);
    if (rc < 0) return rc;
    snprintf(why->text, sizeof why->text, "%s: the tables cannot be read", s->base.name);
    rc = sql_load(&s->base, why);
    if (rc == WEFT_OK) why->text[0] = '\0';
    return rc;
}

static void close_store(struct wf_store *store)
{
    if (store == NULL) return;
    struct pq_store *s = (struct pq_store *)store;
    sql_finish_store(&s->base);
    pq_disconnect(&s->writer);
    free(s->base.name);
    pq_url_free(&s->url);
    free(s);
}

static int open_store(struct wf_store **out, const char *where, const struct wf_store_opening *how,
                      struct wf_store_why *why)
{
    *out = NULL;
    struct pq_store *s = calloc(1, sizeof *s);
    if (s == NULL) return failed(why, WEFT_ENOMEM, "postgres:", "out of memory");
    s->base.writer = &s->writer.base;
    s->base.name = malloc(NAME_MAX_SIZE);
    bool fine = pq_url_read(where, &s->url) == WEFT_OK;
    fine = sql_init(&s->base, &wf_store_postgres, &pq_driver, how->read_only) && fine;
    if (s->base.name != NULL) pq_show(where, s->base.name, NAME_MAX_SIZE);
    int rc = fine && s->base.name != NULL ? open_database(s, how->commits, why)
                                          : failed(why, WEFT_ENOMEM, "postgres:", "out of memory");
    if (rc == WEFT_OK) *out = &s->base.base;
    else close_store(&s->base.base);
    return rc;
}

static int look_beside(const char *where, struct wf_store_mark *out, struct wf_store_why *why)
{
    struct pq_connection c;
    struct pq_url url;
    char shown[NAME_MAX_SIZE];
    *out = (struct wf_store_mark){0};
    pq_show(where, shown, sizeof shown);
    if (pq_url_read(where, &url) < 0) return failed(why, WEFT_ENOMEM, shown, "out of memory");
    int rc = pq_connect(&c, &url, true, why);
    pq_url_free(&url);
    if (rc < 0) return failed(why, rc, shown, why->text);
    rc = pq_read_mark(&c, out);
    if (rc < 0) (void)failed(why, rc, shown, "the database has no store");
    pq_disconnect(&c);
    return rc;
}

static void mark(const struct wf_store *store, struct wf_store_mark *out)
{
    const struct pq_store *s = (const struct pq_store *)store;
    *out = (struct wf_store_mark){s->owner, s->commits};
}

/* This machine's, as for SQLite: to ask the server would take a round trip for each batch. */
static int64_t read_clock(struct wf_store *s)
{
    (void)s;
    return sql_clock(NULL);
}

const struct wf_store_engine wf_store_postgres = {
    .scheme = "postgres",
    .usage = "postgres:URL",
    .wrong = pq_wrong,
    .open = open_store,
    .close = close_store,
    .show = pq_show,
    .look = look_beside,
    .mark = mark,
    .is_lost = sql_is_lost,
    .confirm = pq_confirm,
    .clock = read_clock,
    SQL_TABLES,
};
