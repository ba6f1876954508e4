/* chat_file.h -- chat.c's rooms in a file of SQLite. These functions block, and run on a thread of weft_offload. */
#ifndef CHAT_FILE_H
#define CHAT_FILE_H

#include <sqlite3.h>

/* A job for weft_offload, which works on a copy of it. */
struct rows {
    char file[512], room[NAME_MAX_BYTES + 6];
    int count, rc;
    struct line at[HISTORY];
};

static sqlite3 *open_rows(struct rows *r)
{
    sqlite3 *db = NULL;
    r->rc = sqlite3_open(r->file, &db);
    if (r->rc == SQLITE_OK) r->rc = sqlite3_busy_timeout(db, 2000);
    if (r->rc == SQLITE_OK)
        r->rc = sqlite3_exec(db,
                             "CREATE TABLE IF NOT EXISTS lines(room TEXT, id INTEGER UNIQUE, nick TEXT, text TEXT)",
                             NULL, NULL, NULL);
    return db;
}

/* The newest first. */
static void load_rows(void *block)
{
    struct rows *r = block;
    sqlite3 *db = open_rows(r);
    sqlite3_stmt *s = NULL;
    const char *sql = "SELECT id, nick, text FROM lines WHERE room = ? ORDER BY rowid DESC LIMIT ?";
    if (r->rc == SQLITE_OK) r->rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (r->rc == SQLITE_OK) sqlite3_bind_text(s, 1, r->room, -1, SQLITE_STATIC), sqlite3_bind_int(s, 2, HISTORY);
    int step = SQLITE_DONE;
    while (r->rc == SQLITE_OK && r->count < HISTORY && (step = sqlite3_step(s)) == SQLITE_ROW) {
        struct line *l = &r->at[r->count++];
        l->id = (uint64_t)sqlite3_column_int64(s, 0);
        snprintf(l->nick, sizeof l->nick, "%s", (const char *)sqlite3_column_text(s, 1));
        snprintf(l->text, sizeof l->text, "%s", (const char *)sqlite3_column_text(s, 2));
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE) r->rc = step;
    sqlite3_finalize(s);
    sqlite3_close(db);
}

static void save_rows(void *block)
{
    struct rows *r = block;
    sqlite3 *db = open_rows(r);
    sqlite3_stmt *s = NULL;
    if (r->rc == SQLITE_OK) r->rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (r->rc == SQLITE_OK)
        r->rc = sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO lines VALUES(?, ?, ?, ?)", -1, &s, NULL);
    for (int i = 0; i < r->count && r->rc == SQLITE_OK; i++) {
        sqlite3_bind_text(s, 1, r->room, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)r->at[i].id);
        sqlite3_bind_text(s, 3, r->at[i].nick, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 4, r->at[i].text, -1, SQLITE_STATIC);
        int step = sqlite3_step(s);
        if (step != SQLITE_DONE) r->rc = step; /* SQLITE_FULL: no space on the device */
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    if (r->rc == SQLITE_OK) r->rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db); /* without a commit nothing was written */
}

#endif
