/* transport/store/sqlite_state.c -- snapshots and cursors. */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "sqlite_append.h"
#include "sqlite_connection.h"
#include "sqlite_state.h"
#include "stored_topic.h"

static bool is_key(const char *key)
{
    return key != NULL && key[0] != '\0' && memchr(key, '\0', WF_STORE_KEY_MAX + 1) != NULL;
}

static int64_t text_sum(const char *text, const void *data, size_t size)
{
    return wf_crc32c(wf_crc32c(0, text, strlen(text) + 1), data, size);
}

/* Runs a bound statement of the writer as a transaction of its own. */
static int write_alone(struct sq_store *s, sqlite3_stmt *row)
{
    int rc = sq_run(&s->writer, SQ_BEGIN);
    int code = rc == SQLITE_OK ? sq_step_once(row) : rc;
    return rc == SQLITE_OK ? sq_finish(s, code) : sq_error(rc);
}

static sqlite3_stmt *writing(struct sq_store *s, enum sq_statement which, int *error)
{
    int rc = SQLITE_OK;
    *error = s->read_only ? WEFT_EACCESS : s->broken ? WEFT_ESYSTEM : WEFT_OK;
    sqlite3_stmt *row = *error < 0 ? NULL : sq_prepare(&s->writer, which, &rc);
    if (*error == WEFT_OK) *error = sq_error(rc);
    return row;
}

int sq_save(struct wf_store *store, const char *key, const void *data, size_t size)
{
    struct sq_store *s = sq_of(store);
    int rc;
    if (!is_key(key) || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WF_STORE_SNAPSHOT_MAX) return WEFT_ETOOBIG;
    sqlite3_stmt *row = writing(s, SQ_SAVE, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, key, -1, SQLITE_STATIC);
    if (size == 0) sqlite3_bind_zeroblob(row, 2, 0);
    else sqlite3_bind_blob(row, 2, data, (int)size, SQLITE_STATIC);
    sqlite3_bind_int64(row, 3, text_sum(key, data, size));
    return write_alone(s, row);
}

static int copy_snapshot(sqlite3_stmt *row, const char *key, void **out, size_t *size)
{
    const void *data = sqlite3_column_blob(row, 0);
    *size = (size_t)sqlite3_column_bytes(row, 0);
    if (*size > WF_STORE_SNAPSHOT_MAX || sqlite3_column_int64(row, 1) != text_sum(key, data, *size))
        return WEFT_EFORMAT;
    *out = malloc(*size + 1);
    if (*out == NULL) return WEFT_ENOMEM;
    if (*size > 0) memcpy(*out, data, *size);
    return WEFT_OK;
}

int sq_load(struct wf_store *store, const char *key, void **out, size_t *size)
{
    struct sq_store *s = sq_of(store);
    int code;
    if (!is_key(key)) return WEFT_EINVAL;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    int rc = WEFT_OK;
    sqlite3_stmt *row = sq_prepare(c, SQ_LOAD, &code);
    if (row != NULL) {
        sqlite3_bind_text(row, 1, key, -1, SQLITE_STATIC);
        code = sqlite3_step(row);
        if (code == SQLITE_DONE) rc = WEFT_ENOTFOUND;
        if (code == SQLITE_ROW) rc = copy_snapshot(row, key, out, size);
        sqlite3_reset(row);
        sqlite3_clear_bindings(row);
    }
    sq_give_back(s, c);
    return rc < 0 ? rc : sq_error(code);
}

static int64_t cursor_sum(const char *name, const char *topic, struct wf_store_cursor at)
{
    uint64_t numbers[] = {at.epoch, at.offset};
    return (int64_t)wf_crc32c((uint32_t)text_sum(name, topic, strlen(topic)), numbers, sizeof numbers);
}

static int read_cursor(struct sq_connection *c, const char *name, const char *topic, struct wf_store_cursor *out)
{
    int code;
    *out = (struct wf_store_cursor){0};
    sqlite3_stmt *row = sq_prepare(c, SQ_CURSOR, &code);
    if (row == NULL) return sq_error(code);
    sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, topic, -1, SQLITE_STATIC);
    code = sqlite3_step(row);
    int rc = sq_error(code);
    if (code == SQLITE_ROW) {
        *out = (struct wf_store_cursor){(uint64_t)sqlite3_column_int64(row, 0),
                                        (uint64_t)sqlite3_column_int64(row, 1)};
        if (sqlite3_column_int64(row, 2) != cursor_sum(name, topic, *out)) rc = WEFT_EFORMAT;
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return rc;
}

int sq_cursor(struct wf_store *store, const char *name, const char *topic, struct wf_store_cursor *out)
{
    struct sq_store *s = sq_of(store);
    int code;
    if (!is_key(name) || !wf_store_topic_ok(topic)) return WEFT_EINVAL;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    int rc = read_cursor(c, name, topic, out);
    sq_give_back(s, c);
    return rc;
}

int sq_advance(struct wf_store *store, const char *name, const char *topic, struct wf_store_cursor to)
{
    struct sq_store *s = sq_of(store);
    struct wf_store_cursor now;
    int rc;
    if (!is_key(name) || !wf_store_topic_ok(topic) || to.epoch == 0 || to.offset > WF_STORE_OFFSET_MAX)
        return WEFT_EINVAL;
    sqlite3_stmt *row = writing(s, SQ_ADVANCE, &rc);
    if (row == NULL) return rc;
    rc = read_cursor(&s->writer, name, topic, &now);
    if (rc < 0 || (now.epoch == to.epoch && now.offset >= to.offset)) return rc;
    sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, topic, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 3, (int64_t)to.epoch);
    sqlite3_bind_int64(row, 4, (int64_t)to.offset);
    sqlite3_bind_int64(row, 5, cursor_sum(name, topic, to));
    return write_alone(s, row);
}
