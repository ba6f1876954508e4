/* transport/store/sqlite/sqlite.c -- the engine for SQLite: opens a file, owns it, closes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_logs.h"
#include "sql_states.h"
#include "sql_store.h"
#include "sql_tables.h"
#include "sqlite.h"
#include "sqlite_connection.h"
#include "sqlite_name.h"

static const char tables[] =
    "CREATE TABLE logs(id INTEGER PRIMARY KEY, topic TEXT, epoch INTEGER, first INTEGER, last INTEGER, bytes INTEGER,"
    " sum INTEGER);"
    "CREATE TABLE log_count(id INTEGER PRIMARY KEY, count INTEGER, sum INTEGER);"
    "CREATE TABLE records(id INTEGER PRIMARY KEY, time INTEGER, tag INTEGER, body BLOB, sum INTEGER);"
    "CREATE TABLE cursors(name TEXT, topic TEXT, epoch INTEGER, last INTEGER, sum INTEGER, PRIMARY KEY(name, topic))"
    " WITHOUT ROWID;";

/* The file has these since version 2. */
static const char queue_tables[] =
    "CREATE TABLE IF NOT EXISTS jobs(id INTEGER PRIMARY KEY, queue TEXT, dead INTEGER, due INTEGER, lease INTEGER,"
    " attempts INTEGER, time INTEGER, tag INTEGER, sum INTEGER);"
    "CREATE INDEX IF NOT EXISTS jobs_due ON jobs(queue, dead, due, lease);"
    "CREATE TABLE IF NOT EXISTS job_bodies(id INTEGER PRIMARY KEY, body BLOB, sum INTEGER);"
    "CREATE TABLE IF NOT EXISTS job_keys(queue TEXT, name TEXT, job INTEGER, until INTEGER, sum INTEGER,"
    " PRIMARY KEY(queue, name)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS job_keys_until ON job_keys(until);"
    "CREATE TABLE IF NOT EXISTS job_count(id INTEGER PRIMARY KEY, last INTEGER, sum INTEGER);";

/* The file has these since version 3. */
static const char state_tables[] =
    "CREATE TABLE IF NOT EXISTS states(key TEXT PRIMARY KEY, id INTEGER, opening INTEGER, owner INTEGER, first "
    "INTEGER,"
    " last INTEGER, bytes INTEGER, size INTEGER, sum INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS state_count(id INTEGER PRIMARY KEY, count INTEGER, last INTEGER, sum INTEGER);"
    "CREATE TABLE IF NOT EXISTS state_snapshots(state INTEGER PRIMARY KEY, number INTEGER, time INTEGER, tag INTEGER,"
    " version INTEGER, body BLOB, sum INTEGER);"
    "CREATE TABLE IF NOT EXISTS state_events(state INTEGER, number INTEGER, time INTEGER, tag INTEGER, version "
    "INTEGER,"
    " body BLOB, sum INTEGER, PRIMARY KEY(state, number)) WITHOUT ROWID;";

/* The file has these since version 4. */
static const char worker_tables[] =
    "CREATE TABLE IF NOT EXISTS job_workers(id INTEGER PRIMARY KEY, lease INTEGER, node INTEGER, actor INTEGER,"
    " sum INTEGER);";

/* The file has these since version 5. */
static const char reminder_tables[] =
    "CREATE TABLE IF NOT EXISTS job_reminders(queue TEXT, name TEXT, job INTEGER, planned INTEGER, period INTEGER,"
    " sum INTEGER, PRIMARY KEY(queue, name)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS job_reminders_job ON job_reminders(job);";

/* Of a long name the end is shown, so that there is space for the text. */
static int failed(struct wf_store_why *why, int error, const char *file, const char *text)
{
    const size_t space = sizeof why->text - sizeof "...: ", size = strlen(file), rest = strlen(text);
    const size_t shown = rest > space ? 0 : space - rest;
    if (size <= shown) snprintf(why->text, sizeof why->text, "%s: %s", file, text);
    else snprintf(why->text, sizeof why->text, "...%s: %s", file + size - shown, text);
    return error;
}

static const char *text_of(const struct sq_store *s, int error, int code)
{
    switch (error) {
    case WEFT_ENOTFOUND: return "cannot be opened: the file or its folder is not there, or not ours";
    case WEFT_EFORMAT: return "is damaged, or no store of weft";
    case WEFT_EINUSE: return "another process uses it";
    case WEFT_EACCESS:
        return s->base.read_only ? "cannot be read: that makes a file beside it, and this user may make none in its"
                                   " folder. Copy it to another folder, and read the copy"
                                 : "cannot be written";
    default: return sqlite3_errstr(code);
    }
}

static int failed_with(const struct sq_store *s, struct wf_store_why *why, int code, const char *file)
{
    char text[sizeof why->text], said[64] = "";
    const int error = sq_error(code), number = sqlite3_system_errno(s->writer.db);
    const bool is_of_system = error == WEFT_ENOTFOUND || (code & 0xFF) == SQLITE_IOERR;
    if (is_of_system && number != 0) snprintf(said, sizeof said, " (%s)", sq_system_text(number));
    snprintf(text, sizeof text, "%s%s", text_of(s, error, code), said);
    return failed(why, error, file, text);
}

static int exec(struct sq_store *s, const char *sql)
{
    int code = sqlite3_exec(s->writer.db, sql, NULL, NULL, NULL);
    if (sq_is_lasting(code)) s->writer.disk_failed = true;
    return code;
}

static int pragma(struct sq_store *s, const char *sql, int64_t *number, char text[16])
{
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(s->writer.db, sql, -1, &row, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    if (rc == SQLITE_ROW && number != NULL) *number = sqlite3_column_int64(row, 0);
    if (rc == SQLITE_ROW && text != NULL) snprintf(text, 16, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- The owner ------------------------------------------------------------------------------------------------- */

static int lock_owner(struct sq_store *s, struct wf_store_why *why)
{
    char *path = sqlite3_mprintf("%s-owner", s->base.name);
    if (path == NULL) return failed_with(s, why, SQLITE_NOMEM, s->base.name);
    int rc = sqlite3_open_v2(path, &s->owner, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                             s->vfs);
    /* The lock file is never written to, so it needs no journal. */
    if (rc == SQLITE_OK) rc = sqlite3_exec(s->owner, "PRAGMA journal_mode=OFF; BEGIN EXCLUSIVE", NULL, NULL, NULL);
    int error = sq_error(rc);
    if ((rc & 0xFF) == SQLITE_BUSY)
        error = failed(
            why, WEFT_EINUSE, s->base.name,
            "another process, or another node of this one, has this store open (with --store-standby a node "
            "waits until it is free)");
    else if (rc != SQLITE_OK) error = failed_with(s, why, rc, path);
    sqlite3_free(path);
    return error;
}

/* ---- The file -------------------------------------------------------------------------------------------------- */

/* Makes all tables, or only those that an older file lacks. */
static int make_tables(struct sq_store *s, bool all)
{
    char *logs = all ? sqlite3_mprintf("PRAGMA application_id=%d; %s INSERT INTO log_count VALUES(1, 0, %lld);",
                                       SQ_APPLICATION, tables, (long long)sql_count_sum(0))
                     : sqlite3_mprintf("");
    char *sql = logs == NULL
                    ? NULL
                    : sqlite3_mprintf("BEGIN IMMEDIATE; %s %s %s %s %s"
                                      "INSERT OR IGNORE INTO job_count VALUES(1, 0, %lld);"
                                      "INSERT OR IGNORE INTO state_count VALUES(1, 0, 0, %lld);"
                                      "PRAGMA user_version=%d; COMMIT",
                                      logs, queue_tables, state_tables, worker_tables, reminder_tables,
                                      (long long)sql_count_sum(0), (long long)sql_state_count_sum(0, 0), SQ_VERSION);
    sqlite3_free(logs);
    int rc = sql == NULL ? SQLITE_NOMEM : exec(s, sql);
    if (rc != SQLITE_OK && sqlite3_get_autocommit(s->writer.db) == 0) exec(s, "ROLLBACK");
    sqlite3_free(sql);
    return rc;
}

static int check_version(struct sq_store *s, struct wf_store_why *why)
{
    int64_t version = 0, application = 0, objects = 0;
    int rc = pragma(s, "PRAGMA user_version", &version, NULL);
    if (rc == SQLITE_OK) rc = pragma(s, "PRAGMA application_id", &application, NULL);
    if (rc == SQLITE_OK) rc = pragma(s, "SELECT count(*) FROM sqlite_master", &objects, NULL);
    if (rc != SQLITE_OK) return failed_with(s, why, rc, s->base.name);
    bool is_new = version == 0 && application == 0 && objects == 0 && !s->base.read_only;
    if (!is_new && (application != SQ_APPLICATION || version < 1))
        return failed(why, WEFT_EFORMAT, s->base.name, "is no store of weft");
    if (version < SQ_VERSION && !s->base.read_only) rc = make_tables(s, is_new);
    s->base.has_queues = version >= 2 || !s->base.read_only;
    s->base.has_states = version >= 3 || !s->base.read_only;
    s->base.has_workers = version >= 4 || !s->base.read_only;
    s->base.has_reminders = version >= 5 || !s->base.read_only;
    if (version <= SQ_VERSION) return rc == SQLITE_OK ? WEFT_OK : failed_with(s, why, rc, s->base.name);
    snprintf(why->text, sizeof why->text, "%s: it has version %lld, this weft knows version %d: use a newer weft",
             s->base.name, (long long)version, SQ_VERSION);
    return WEFT_ENOTSUP;
}

/* Checks the version first, because a newer file must not be changed in any way. */
static int prepare_file(struct sq_store *s, struct wf_store_why *why)
{
    char mode[16] = "";
    if (!s->base.read_only && sqlite3_db_readonly(s->writer.db, "main") == 1)
        return failed(why, WEFT_EACCESS, s->base.name, "the file is read-only");
    int rc = s->base.read_only ? SQLITE_OK : exec(s, "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864");
    int error = rc == SQLITE_OK ? check_version(s, why) : failed_with(s, why, rc, s->base.name);
    if (error < 0 || s->base.read_only) return error;
    rc = pragma(s, "PRAGMA journal_mode=WAL", NULL, mode);
    if (rc == SQLITE_OK && strcmp(mode, "wal") != 0)
        return failed(why, WEFT_ENOTSUP, s->base.name, "the file system allows no write-ahead log");
    if (rc == SQLITE_OK) sq_make_checkpoints(&s->writer);
    /* A process that was killed may have left the note of what it had copied and not synced. */
    if (rc == SQLITE_OK) sq_forget_what_was_copied(&s->writer);
    if (rc == SQLITE_OK) rc = exec(s, "PRAGMA wal_checkpoint(TRUNCATE)");
    return rc == SQLITE_OK ? WEFT_OK : failed_with(s, why, rc, s->base.name);
}

/* SQLite would wait without end for the other end of a pipe, and write into a device. A file system of our own has neither. */
static int refuse_other_kind(const struct sq_store *s, const char *file, struct wf_store_why *why)
{
    const char *kind = s->vfs == NULL ? sq_other_kind(file) : NULL;
    char text[96];
    if (kind == NULL) return WEFT_OK;
    snprintf(text, sizeof text, "is %s: a store has to be a file, which is made if there is none", kind);
    return failed(why, WEFT_EFORMAT, file, text);
}

/* The same for what SQLite has beside a file. */
static int refuse_other_kinds(const struct sq_store *s, struct wf_store_why *why)
{
    static const char *const beside[] = {"wal", "shm", "journal", "owner", "owner-journal"};
    int error = WEFT_OK;
    for (size_t i = 0; i < sizeof beside / sizeof *beside && error == WEFT_OK; i++) {
        char *name = sqlite3_mprintf("%s-%s", s->base.name, beside[i]);
        error = name == NULL ? failed_with(s, why, SQLITE_NOMEM, s->base.name) : refuse_other_kind(s, name, why);
        sqlite3_free(name);
    }
    return error;
}

/* Two owners that open the file by two names would not know of each other: our lock, and what SQLite has beside a file,
 * have names that begin with that of the file. */
static int refuse_several_names(const struct sq_store *s, const char *file, struct wf_store_why *why)
{
    if (s->vfs != NULL || s->base.read_only || !sq_has_several_names(file)) return WEFT_OK;
    return failed(why, WEFT_EFORMAT, file, "has several names (hard links), and a store has one: remove the others");
}

static int open_file(struct sq_store *s, const char *where, struct wf_store_why *why)
{
    int error = refuse_other_kind(s, where, why);
    if (error == WEFT_OK) error = refuse_several_names(s, where, why);
    if (error < 0) return error;
    /* A file system of our own has one name for each file. */
    char *name = s->vfs == NULL ? sq_name(where) : sqlite3_mprintf("%s", where);
    int rc = name == NULL ? SQLITE_NOMEM : s->base.read_only ? SQLITE_OK : sq_gather_begin(&s->gather, s->vfs);
    const char *vfs = s->base.read_only ? s->vfs : s->gather.vfs.zName;
    if (rc == SQLITE_OK) rc = sq_connect(&s->writer, name, vfs, s->base.read_only);
    sqlite3_free(name);
    if (rc != SQLITE_OK) return failed_with(s, why, rc, where);
    /* The full name, without symbolic links: two names of one file have one owner. */
    s->base.name = sqlite3_mprintf("%s", sqlite3_db_filename(s->writer.db, "main"));
    if (s->base.name == NULL) return failed_with(s, why, SQLITE_NOMEM, where);
    error = refuse_other_kinds(s, why);
    if (error == WEFT_OK && !s->base.read_only) error = lock_owner(s, why);
    if (error == WEFT_OK) error = prepare_file(s, why);
    if (error < 0) return error;
    snprintf(why->text, sizeof why->text, "%s: the table of logs cannot be read", where);
    error = sql_load(&s->base, why);
    if (error == WEFT_OK) why->text[0] = '\0';
    return error;
}

static void close_store(struct wf_store *store)
{
    if (store == NULL) return;
    struct sq_store *s = (struct sq_store *)store;
    sql_finish_store(&s->base);
    sq_disconnect(&s->writer);
    sq_gather_end(&s->gather);
    sqlite3_close(s->owner);
    sqlite3_free(s->base.name);
    sqlite3_free(s->vfs);
    free(s);
}

static int64_t read_clock(struct wf_store *s)
{
    return sql_clock(((struct sq_store *)s)->vfs);
}

static const char *wrong(const char *where)
{
    return where == NULL || where[0] == '\0' || where[0] == ':' ? "needs a file" : NULL;
}

static int open_store(struct wf_store **out, const char *where, const struct wf_store_opening *how,
                      struct wf_store_why *why)
{
    *out = NULL;
    if (wrong(where) != NULL) return failed(why, WEFT_EINVAL, "sqlite:", wrong(where));
    struct sq_store *s = calloc(1, sizeof *s);
    if (s == NULL) return failed(why, WEFT_ENOMEM, where, "out of memory");
    s->base.writer = &s->writer.base;
    bool fine = sql_init(&s->base, &wf_store_sqlite, &sq_driver, how->read_only);
    s->vfs = how->vfs == NULL ? NULL : sqlite3_mprintf("%s", how->vfs);
    int rc = !fine || (how->vfs != NULL && s->vfs == NULL) ? failed_with(s, why, SQLITE_NOMEM, where)
                                                           : open_file(s, where, why);
    if (rc == WEFT_OK) *out = &s->base.base;
    else close_store(&s->base.base);
    return rc;
}

const struct wf_store_engine wf_store_sqlite = {
    .scheme = "sqlite",
    .usage = "sqlite:FILE",
    .wrong = wrong,
    .open = open_store,
    .close = close_store,
    .is_lost = sql_is_lost,
    .clock = read_clock,
    SQL_TABLES,
};
