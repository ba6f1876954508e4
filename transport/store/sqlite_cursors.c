/* transport/store/sqlite_cursors.c -- cursors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "sqlite_append.h"
#include "sqlite_connection.h"
#include "sqlite_cursors.h"
#include "stored_topic.h"

static bool is_key(const char *key)
{
    return key != NULL && key[0] != '\0' && memchr(key, '\0', WF_STORE_KEY_MAX + 1) != NULL;
}

static int64_t text_sum(const char *text, const void *data, size_t size)
{
    return wf_crc32c(wf_crc32c(0, text, strlen(text) + 1), data, size);
}

static int64_t cursor_sum(const char *name, const char *topic, struct wf_store_cursor at)
{
    uint64_t numbers[] = {at.epoch, at.offset};
    return (int64_t)wf_crc32c((uint32_t)text_sum(name, topic, strlen(topic)), numbers, sizeof numbers);
}

/* Reads the row of a cursor. */
static bool is_sound(sqlite3_stmt *row, const char *name, const char *topic, struct wf_store_cursor *out)
{
    *out = (struct wf_store_cursor){(uint64_t)sqlite3_column_int64(row, 0), (uint64_t)sqlite3_column_int64(row, 1)};
    return sqlite3_column_int64(row, 2) == cursor_sum(name, topic, *out) && out->epoch != 0;
}

/* Returns a code of SQLite. `*damaged`: the cursor exists, but its checksum does not match. */
static int read_cursor(struct sq_connection *c, const char *name, const char *topic, struct wf_store_cursor *out,
                       bool *damaged)
{
    int code;
    *out = (struct wf_store_cursor){0};
    *damaged = false;
    sqlite3_stmt *row = sq_prepare(c, SQ_CURSOR, &code);
    if (row == NULL) return code;
    sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, topic, -1, SQLITE_STATIC);
    code = sqlite3_step(row);
    if (code == SQLITE_ROW) *damaged = !is_sound(row, name, topic, out);
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int sq_cursor(struct wf_store *store, const char *name, const char *topic, struct wf_store_cursor *out)
{
    struct sq_store *s = sq_of(store);
    bool damaged = false;
    int code;
    if (!is_key(name) || !wf_store_topic_ok(topic)) return WEFT_EINVAL;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    code = read_cursor(c, name, topic, out, &damaged);
    sq_give_back(s, c);
    return damaged ? WEFT_EFORMAT : sq_error(code);
}

/* ---- Advancing ------------------------------------------------------------------------------------------------- */

static int count_cursors(struct sq_store *s)
{
    int code;
    sqlite3_stmt *row = s->cursors >= 0 ? NULL : sq_prepare(&s->writer, SQ_COUNT_CURSORS, &code);
    if (s->cursors >= 0) return SQLITE_OK;
    if (row == NULL) return code;
    code = sqlite3_step(row);
    if (code == SQLITE_ROW) s->cursors = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int write_cursor(struct sq_store *s, const struct wf_store_advance *a)
{
    int code;
    bool removes = a->to.epoch == 0;
    sqlite3_stmt *row = sq_prepare(&s->writer, removes ? SQ_REMOVE_CURSOR : SQ_ADVANCE, &code);
    if (row == NULL) return code;
    sqlite3_bind_text(row, 1, a->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, a->topic, -1, SQLITE_STATIC);
    if (!removes) {
        sqlite3_bind_int64(row, 3, (int64_t)a->to.epoch);
        sqlite3_bind_int64(row, 4, (int64_t)a->to.offset);
        sqlite3_bind_int64(row, 5, cursor_sum(a->name, a->topic, a->to));
    }
    return sq_step_once(row);
}

/* Returns a code of SQLite, which applies to the whole batch. */
static int advance_one(struct sq_store *s, struct wf_store_advance *a)
{
    struct wf_store_cursor now;
    bool damaged, removes = a->to.epoch == 0;
    a->error = WEFT_EINVAL;
    if (!is_key(a->name) || !wf_store_topic_ok(a->topic)) return SQLITE_OK;
    if ((removes && a->to.offset > 0) || a->to.offset > WF_STORE_OFFSET_MAX) return SQLITE_OK;
    a->error = WEFT_OK;
    int code = read_cursor(&s->writer, a->name, a->topic, &now, &damaged);
    if (code != SQLITE_OK) return code;
    if (damaged && !removes) a->error = WEFT_EFORMAT;
    bool exists = damaged || now.epoch != 0;
    if (!removes && !exists && s->cursors >= WF_STORE_CURSORS_MAX) a->error = WEFT_EFULL;
    if (a->error < 0 || (now.epoch == a->to.epoch && now.offset >= a->to.offset && !damaged)) return SQLITE_OK;
    s->cursors += (removes ? 0 : 1) - (exists ? 1 : 0);
    return write_cursor(s, a);
}

int sq_advance(struct wf_store *store, struct wf_store_advance *batch, size_t count)
{
    struct sq_store *s = sq_of(store);
    int rc = count == 0 || count > WF_STORE_BATCH_MAX ? WEFT_EINVAL : sq_begin(s);
    if (rc == WEFT_OK) {
        int code = count_cursors(s);
        for (size_t i = 0; i < count && code == SQLITE_OK; i++) code = advance_one(s, &batch[i]);
        rc = sq_finish(s, code);
        if (rc < 0) s->cursors = -1;
    }
    for (size_t i = 0; i < count && rc < 0; i++) batch[i].error = rc;
    return rc;
}

/* ---- Listing --------------------------------------------------------------------------------------------------- */

struct walk {
    wf_store_each_cursor *each;
    wf_store_each_fault *fault; /* NULL: damaged cursors are skipped */
    void *arg;
    int faults;
};

static void say_damaged(struct walk *w, const char *name, const char *topic)
{
    char text[WF_STORE_KEY_MAX + 40] = "a cursor is damaged";
    bool is_known = wf_store_cursor_ok(name) && wf_store_topic_ok(topic);
    if (is_known) snprintf(text, sizeof text, "the cursor %s is damaged", name);
    w->faults++;
    if (w->fault != NULL) w->fault(w->arg, is_known ? topic : NULL, 0, text);
}

static int walk_cursors(struct sq_store *s, const char *name, const char *topic, struct walk *w)
{
    int code;
    bool goes_on = true;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    sqlite3_stmt *row = sq_prepare(c, SQ_CURSORS, &code);
    if (row != NULL) {
        sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(row, 2, topic, -1, SQLITE_STATIC);
        while (goes_on && (code = sqlite3_step(row)) == SQLITE_ROW) {
            struct wf_store_cursor at;
            const char *has = (const char *)sqlite3_column_text(row, 3),
                       *of = (const char *)sqlite3_column_text(row, 4);
            bool sound = is_key(has) && wf_store_topic_ok(of) && is_sound(row, has, of, &at);
            if (!sound) say_damaged(w, has, of);
            else if (w->each != NULL) goes_on = w->each(w->arg, has, of, at);
        }
        sqlite3_reset(row);
        sqlite3_clear_bindings(row);
    }
    sq_give_back(s, c);
    return sq_error(code);
}

int sq_cursors(struct wf_store *store, const char *name, const char *topic, wf_store_each_cursor *each, void *arg)
{
    struct walk w = {.each = each, .arg = arg};
    return walk_cursors(sq_of(store), name, topic, &w);
}

int sq_check_cursors(struct wf_store *store, wf_store_each_fault *fault, void *arg)
{
    struct walk w = {.fault = fault, .arg = arg};
    int rc = walk_cursors(sq_of(store), "", "", &w);
    return rc == WEFT_OK || rc == WEFT_EFORMAT ? w.faults : rc; /* check_pages has reported the damaged page */
}
