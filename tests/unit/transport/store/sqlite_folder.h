/* tests/unit/transport/store/sqlite_folder.h -- a fixture for SQLite on a file in a folder of its own. */
#ifndef SQLITE_FOLDER_H
#define SQLITE_FOLDER_H

#include "conformance.h"
#include "sqlite.h"
#include "temporary.h"

static char folder[64], file[80];

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/weft-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/s.db", folder);
    fixture.where = file;
}

static void end(void)
{
    const char *more[] = {"s.db",
                          "s.db-wal",
                          "s.db-shm",
                          "s.db-owner",
                          "s.db-owner-journal",
                          "a-longer-name.db",
                          "a-longer-name.db-owner",
                          "link.db"};
    char path[100];
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, more[i]);
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The fixture of conformance.h. */
static void use_a_folder(void)
{
    fixture.engine = &wf_store_sqlite;
    fixture.begin = begin;
    fixture.end = end;
}

#endif
