/* transport/store/sqlite/sqlite_connection.c -- see sqlite_connection.h. */
#include <stdlib.h>
#include <string.h>

#include <weft/log.h>

#include "sql_statements.h"
#include "sqlite_connection.h"
#include "sqlite_name.h"

int sq_error(int rc)
{
    if (rc == SQLITE_IOERR_NOMEM) return WEFT_ENOMEM;
    if (rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_CORRUPTFS) return WEFT_EFORMAT;
    switch (rc & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return WEFT_OK;
    case SQLITE_NOMEM: return WEFT_ENOMEM;
    case SQLITE_FULL: return WEFT_ENOSPC;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return WEFT_EACCESS;
    case SQLITE_CANTOPEN: return WEFT_ENOTFOUND;
    case SQLITE_ERROR: /* the statements are right, so the tables are not ours any more */
    case SQLITE_CONSTRAINT:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return WEFT_EFORMAT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return WEFT_EINUSE;
    case SQLITE_TOOBIG: return WEFT_ETOOBIG;
    default: return WEFT_ESYSTEM;
    }
}

int sq_connect(struct sq_connection *c, const char *file, const char *vfs, bool read_only)
{
    c->base.driver = &sq_driver;
    int flags = SQLITE_OPEN_NOMUTEX | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(file, &c->db, flags, vfs);
    if (rc == SQLITE_OK) rc = sqlite3_extended_result_codes(c->db, 1);
    if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(c->db, 2000);
    /* A damaged file must not make SQLite run SQL of its own, and its pages are checked closely. */
    if (rc == SQLITE_OK) rc = sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->db, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", NULL, NULL, NULL);
    return rc;
}

/* A checkpoint that a reader hinders copies a part of the log, and SQLite syncs the file only behind a whole one, but notes at
 * once how much was copied. A sync that fails may lose that part, and while another process has the file open, the note stays
 * in the memory that they share (FILE-shm). So the note is taken back, and the next checkpoint copies all of the log. Its place
 * is part of SQLite's file format (https://sqlite.org/walformat.html#the_wal_index_file_format). */
void sq_forget_what_was_copied(struct sq_connection *c)
{
    enum { COPIED_AT = 96, CHECKPOINT_LOCK = 1, REGION = 32 * 1024 };
    sqlite3_file *file = NULL;
    void volatile *shared = NULL;
    if (sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return;
    const sqlite3_io_methods *call = file == NULL ? NULL : file->pMethods;
    if (call == NULL || call->iVersion < 2 || call->xShmMap(file, 0, REGION, 0, &shared) != SQLITE_OK) return;
    const int lock = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;
    if (shared == NULL || call->xShmLock(file, CHECKPOINT_LOCK, 1, lock) != SQLITE_OK) return;
    *(uint32_t volatile *)((uint8_t volatile *)shared + COPIED_AT) = 0;
    call->xShmBarrier(file);
    (void)call->xShmLock(file, CHECKPOINT_LOCK, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
}

void sq_disconnect(struct sq_connection *c)
{
    for (int i = 0; i < SQL_STATEMENTS; i++) sqlite3_finalize(c->row[i].statement);
    for (int i = 0; i < SQ_CONTROLS; i++) sqlite3_finalize(c->control[i]);
    sqlite3_close(c->db);
    *c = (struct sq_connection){0};
}

static struct sq_connection *connection_of(struct sql_connection *c)
{
    return (struct sq_connection *)c;
}

/* ---- Statements ------------------------------------------------------------------------------------------------ */

static sqlite3_stmt *statement_of(struct sql_row *row)
{
    return ((struct sq_row *)row)->statement;
}

static struct sql_row *prepare(struct sql_connection *base, enum sql_statement which, int *rc)
{
    struct sq_connection *c = connection_of(base);
    struct sq_row *row = &c->row[which];
    *rc = WEFT_OK;
    if (row->statement != NULL) return &row->base;
    *row = (struct sq_row){.base = {&sq_driver}, .of = c};
    *rc = sq_error(
        sqlite3_prepare_v3(c->db, sql_text_of[which].text, -1, SQLITE_PREPARE_PERSISTENT, &row->statement, NULL));
    return *rc == WEFT_OK ? &row->base : NULL;
}

static void bind_int(struct sql_row *row, int at, int64_t value)
{
    sqlite3_bind_int64(statement_of(row), at, value);
}

static void bind_bytes(struct sql_row *row, int at, bool is_text, const void *data, size_t size)
{
    if (is_text) sqlite3_bind_text(statement_of(row), at, data, (int)size, SQLITE_STATIC);
    else if (size == 0) sqlite3_bind_zeroblob(statement_of(row), at, 0);
    else sqlite3_bind_blob(statement_of(row), at, data, (int)size, SQLITE_STATIC);
}

bool sq_is_lasting(int code)
{
    return (code & 0xFF) == SQLITE_IOERR && code != SQLITE_IOERR_NOMEM;
}

/* Returns the code of SQLite. */
static int step_code(struct sql_row *row)
{
    struct sq_row *r = (struct sq_row *)row;
    int code = sqlite3_step(r->statement);
    if (sq_is_lasting(code)) r->of->disk_failed = true;
    return code;
}

static int step(struct sql_row *row)
{
    int code = step_code(row);
    return code == SQLITE_ROW ? SQL_ROW : code == SQLITE_DONE ? SQL_DONE : sq_error(code);
}

static int64_t get_int(struct sql_row *row, int at)
{
    if (sqlite3_column_type(statement_of(row), at) != SQLITE_INTEGER) return SQL_NO_NUMBER;
    return sqlite3_column_int64(statement_of(row), at);
}

/* NULL: it is no text. A damaged type makes it a blob of the same bytes, which has another place in the order of keys, so
 * that it is not found by its key. */
static const char *get_text(struct sql_row *row, int at)
{
    if (sqlite3_column_type(statement_of(row), at) != SQLITE_TEXT) return NULL;
    return (const char *)sqlite3_column_text(statement_of(row), at);
}

static const void *get_bytes(struct sql_row *row, int at, size_t *size)
{
    const void *data = sqlite3_column_blob(statement_of(row), at);
    *size = (size_t)sqlite3_column_bytes(statement_of(row), at);
    return data;
}

static void reset(struct sql_row *row)
{
    sqlite3_reset(statement_of(row));
    sqlite3_clear_bindings(statement_of(row));
}

static int run_counted(struct sql_row *row, int64_t *changes)
{
    int code = step_code(row);
    reset(row);
    if (code != SQLITE_DONE && code != SQLITE_ROW) return sq_error(code);
    *changes = sqlite3_changes(((struct sq_row *)row)->of->db);
    return WEFT_OK;
}

static int run(struct sql_row *row, bool one)
{
    int64_t changes = 0;
    int rc = run_counted(row, &changes);
    return rc == WEFT_OK && one && changes != 1 ? WEFT_EFORMAT : rc;
}

/* ---- Checkpoints ----------------------------------------------------------------------------------------------- */

static int note_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct sq_connection *c = arg;
    struct sq_wal *wal = &c->wal;
    (void)db, (void)name;
    if (pages < wal->pages) wal->pages = wal->copied_at = 0; /* it is written over from its start */
    int added = pages - wal->pages;
    if (added > SQ_SMALL_COMMIT) wal->large += added - SQ_SMALL_COMMIT;
    wal->pages = pages;
    return SQLITE_OK;
}

void sq_make_checkpoints(struct sq_connection *c)
{
    (void)sqlite3_wal_hook(c->db, note_commit, c);
}

/* Callers get WEFT_ESYSTEM from now on, whose text says that the log knows more. */
static void give_up(struct sql_store *s)
{
    sqlite3 *db = connection_of(s->writer)->db;
    const int number = sqlite3_system_errno(db);
    if (s->broken) return;
    s->broken = true;
    weft_log(WEFT_ERROR,
             "store sqlite:%s: the disk failed (%s): nothing more is stored until the store is opened again", s->name,
             number != 0 ? sq_system_text(number) : sqlite3_errmsg(db));
}

/* Makes one if it is due. If a reader or a full disk hinders it, the next one does the rest: what was committed stays in
 * the log until all of that was copied and synced. */
static void checkpoint(struct sql_store *s)
{
    struct sq_connection *c = connection_of(s->writer);
    struct sq_wal *wal = &c->wal;
    if (wal->large < SQ_LARGE_PAGES && wal->pages - wal->copied_at < SQ_WAL_PAGES) return;
    int code = sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (sq_is_lasting(code)) {
        c->disk_failed = true;
        give_up(s);
        /* At once: this process may be killed, and another one make a checkpoint. */
        sq_forget_what_was_copied(c);
    }
    wal->copied_at = wal->pages;
    wal->large = 0;
}

/* ---- Transactions ---------------------------------------------------------------------------------------------- */

static int control(struct sq_connection *c, enum sq_control which)
{
    static const char *const text[SQ_CONTROLS] = {"BEGIN IMMEDIATE", "BEGIN", "COMMIT", "ROLLBACK"};
    int code = SQLITE_OK;
    if (c->control[which] == NULL)
        code = sqlite3_prepare_v3(c->db, text[which], -1, SQLITE_PREPARE_PERSISTENT, &c->control[which], NULL);
    if (code == SQLITE_OK) code = sqlite3_step(c->control[which]);
    (void)sqlite3_reset(c->control[which]);
    if (sq_is_lasting(code)) c->disk_failed = true;
    return sq_error(code);
}

/* A program that is not weft's may lock the file: it does not know of the lock of the owner. */
static int begin(struct sql_store *s)
{
    checkpoint(s);
    int rc = s->broken ? WEFT_ESYSTEM : control(connection_of(s->writer), SQ_BEGIN_WRITING);
    if (rc != WEFT_EINUSE) return rc;
    weft_log(WEFT_WARN, "store sqlite:%s: another process has locked the file for longer than two seconds", s->name);
    return WEFT_ESYSTEM;
}

/* Commits into a file that has lost its name succeed, and are lost when the file is closed. */
static int check_name(struct sql_store *s)
{
    int moved = 0;
    (void)sqlite3_file_control(connection_of(s->writer)->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved == 0) return WEFT_OK;
    s->broken = true;
    weft_log(WEFT_ERROR,
             "store sqlite:%s: the file was removed, renamed or replaced while it is open: nothing more is stored. "
             "Put it back, and start the node again",
             s->name);
    return WEFT_ESYSTEM;
}

static int finish(struct sql_store *s, int rc)
{
    struct sq_connection *c = connection_of(s->writer);
    if (rc == WEFT_OK) rc = check_name(s);
    if (rc == WEFT_OK) rc = control(c, SQ_COMMIT);
    if (c->disk_failed) give_up(s);
    if (rc != WEFT_OK && sqlite3_get_autocommit(c->db) == 0) (void)control(c, SQ_ROLLBACK);
    if (sqlite3_get_autocommit(c->db) == 0) s->broken = true; /* it cannot even be rolled back */
    return rc;
}

static int begin_reading(struct sql_connection *c)
{
    return control(connection_of(c), SQ_BEGIN_READING);
}

static void end_reading(struct sql_connection *base)
{
    struct sq_connection *c = connection_of(base);
    (void)control(c, SQ_COMMIT);
    if (sqlite3_get_autocommit(c->db) == 0) (void)control(c, SQ_ROLLBACK);
}

/* ---- Readers --------------------------------------------------------------------------------------------------- */

static void disconnect(struct sql_connection *c)
{
    sq_disconnect(connection_of(c));
    free(c);
}

static int connect_reader(struct sql_store *s, struct sql_connection **out)
{
    struct sq_connection *c = calloc(1, sizeof *c);
    if (c == NULL) return WEFT_ENOMEM;
    int rc = sq_error(sq_connect(c, s->name, ((struct sq_store *)s)->vfs, true));
    if (rc < 0) disconnect(&c->base);
    else *out = &c->base;
    return rc;
}

/* Pages, and the order of keys. */
static int check(struct sql_connection *base, wf_store_each_fault *each, void *arg)
{
    struct sq_connection *c = connection_of(base);
    sqlite3_stmt *row = NULL;
    int faults = 0, code = sqlite3_prepare_v2(c->db, "PRAGMA integrity_check(100)", -1, &row, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 0);
        bool fine = text == NULL || strcmp(text, "ok") == 0;
        if (!fine) each(arg, NULL, 0, text);
        faults += !fine;
        code = SQLITE_OK;
    }
    sqlite3_finalize(row);
    if (code != SQLITE_DONE && sq_error(code) != WEFT_EFORMAT) return sq_error(code);
    if (code == SQLITE_DONE) return faults;
    each(arg, NULL, 0, "pages of the file are damaged");
    return faults + 1;
}

const struct sql_driver sq_driver = {
    .connect = connect_reader,
    .disconnect = disconnect,
    .prepare = prepare,
    .bind_int = bind_int,
    .bind_bytes = bind_bytes,
    .step = step,
    .get_int = get_int,
    .get_text = get_text,
    .get_bytes = get_bytes,
    .reset = reset,
    .run = run,
    .run_counted = run_counted,
    .begin = begin,
    .finish = finish,
    .begin_reading = begin_reading,
    .end_reading = end_reading,
    .check = check,
};
