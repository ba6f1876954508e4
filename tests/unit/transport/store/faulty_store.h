/* tests/unit/transport/store/faulty_store.h -- the store of conformance.h in the file s.db on a failing disk
 * (faulty_vfs.h), which a test can also change by hand. */
#ifndef WF_STORE_FAULTY_STORE_H
#define WF_STORE_FAULTY_STORE_H

#include "conformance.h"
#include "faulty_vfs.h"
#include "sqlite.h"

static void begin(void)
{
    faulty_begin(1);
}

static void end(void)
{
    faulty_end();
}

static void run_sql(const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open_v2("s.db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "faulty"), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static void use_faulty_disk(void)
{
    fixture.engine = &wf_store_sqlite;
    fixture.vfs = "faulty";
    fixture.where = "s.db";
    fixture.begin = begin;
    fixture.end = end;
    fixture.run_sql = run_sql;
}

#endif
