/* transport/store/sql/sql_cursors.c -- cursors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "sql_ahead.h"
#include "sql_append.h"
#include "sql_connection.h"
#include "shared_record.h"
#include "sql_cursors.h"
#include "stored_topic.h"

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
static bool is_sound(struct sql_row *row, const char *name, const char *topic, struct wf_store_cursor *out)
{
    *out = (struct wf_store_cursor){(uint64_t)sql_int(row, 0), (uint64_t)sql_int(row, 1)};
    return sql_int(row, 2) == cursor_sum(name, topic, *out) && out->epoch != 0;
}

static void bind_cursor(struct sql_row *row, const char *name, const char *topic)
{
    sql_bind_text(row, 1, name);
    sql_bind_text(row, 2, topic);
}

/* Returns 0 or a WEFT_E*; `*damaged`: the cursor is there, and is not what was written. */
static int read_cursor(struct sql_connection *c, enum sql_statement which, const char *name, const char *topic,
                       struct wf_store_cursor *out, bool *damaged)
{
    int code;
    *out = (struct wf_store_cursor){0};
    *damaged = false;
    struct sql_row *row = sql_prepare(c, which, &code);
    if (row == NULL) return code;
    bind_cursor(row, name, topic);
    code = sql_step(row);
    if (code == SQL_ROW) *damaged = !is_sound(row, name, topic, out);
    sql_reset(row);
    return sql_error(code);
}

int sql_cursor(struct wf_store *store, const char *name, const char *topic, struct wf_store_cursor *out)
{
    struct sql_store *s = sql_of(store);
    bool damaged = false;
    int code;
    if (!wf_store_key_ok(name) || !wf_store_topic_ok(topic)) return WEFT_EINVAL;
    struct sql_connection *c = sql_borrow(s, &code);
    if (c == NULL) return sql_error(code);
    code = read_cursor(c, SQL_CURSOR, name, topic, out, &damaged);
    sql_give_back(s, c);
    return damaged ? WEFT_EFORMAT : sql_error(code);
}

/* ---- Advancing ------------------------------------------------------------------------------------------------- */

static int count_cursors(struct sql_store *s)
{
    int code;
    struct sql_row *row = s->cursors >= 0 ? NULL : sql_prepare(s->writer, SQL_COUNT_CURSORS, &code);
    if (s->cursors >= 0) return WEFT_OK;
    if (row == NULL) return code;
    code = sql_step(row);
    if (code == SQL_ROW) s->cursors = sql_int(row, 0);
    sql_reset(row);
    return code == SQL_ROW ? WEFT_OK : code;
}

static int write_cursor(struct sql_store *s, const struct wf_store_advance *a)
{
    int code;
    bool removes = a->to.epoch == 0;
    struct sql_row *row = sql_prepare(s->writer, removes ? SQL_REMOVE_CURSOR : SQL_ADVANCE, &code);
    if (row == NULL) return code;
    sql_bind_text(row, 1, a->name);
    sql_bind_text(row, 2, a->topic);
    if (!removes) {
        sql_bind_int(row, 3, (int64_t)a->to.epoch);
        sql_bind_int(row, 4, (int64_t)a->to.offset);
        sql_bind_int(row, 5, cursor_sum(a->name, a->topic, a->to));
    }
    return sql_run(row);
}

static bool is_advance(const struct wf_store_advance *a)
{
    bool removes = a->to.epoch == 0;
    if (!wf_store_key_ok(a->name) || !wf_store_topic_ok(a->topic)) return false;
    return !(removes && a->to.offset > 0) && a->to.offset <= WF_STORE_OFFSET_MAX;
}

/* A cursor that is twice in the batch is read again after its first change. */
static bool may_ask(const void *batch, size_t first, size_t at)
{
    const struct wf_store_advance *all = batch;
    if (!is_advance(&all[at])) return false;
    for (size_t i = first; i < at; i++)
        if (strcmp(all[i].name, all[at].name) == 0 && strcmp(all[i].topic, all[at].topic) == 0) return false;
    return true;
}

static void bind_advance(struct sql_row *row, const void *batch, size_t at)
{
    const struct wf_store_advance *a = (const struct wf_store_advance *)batch + at;
    bind_cursor(row, a->name, a->topic);
}

/* The name of the shared cursor that belongs to a plain one. */
static bool shared_name(const char *name, char out[WF_STORE_KEY_MAX + 1])
{
    int size = snprintf(out, WF_STORE_KEY_MAX + 1, WF_SHARED_PREFIX "%s", name);
    return size <= WF_STORE_KEY_MAX && !wf_shared_is(name);
}

/* A cursor that does not exist yet, or is removed, may be there as a shared one. */
static int look_for_shared(struct sql_store *s, struct wf_store_advance *a)
{
    char name[WF_STORE_KEY_MAX + 1];
    struct wf_store_cursor shared;
    bool damaged;
    if (!shared_name(a->name, name)) return WEFT_OK;
    int rc = read_cursor(s->writer, SQL_OTHER_CURSOR, name, a->topic, &shared, &damaged);
    if (rc != WEFT_OK || (shared.epoch == 0 && !damaged)) return rc;
    if (a->to.epoch != 0) {
        a->error = WEFT_EEXIST;
        return WEFT_OK;
    }
    s->cursors--;
    return write_cursor(s, &(struct wf_store_advance){.name = name, .topic = a->topic});
}

static int advance_one(void *store, void *batch, size_t at)
{
    struct sql_store *s = store;
    struct wf_store_advance *a = (struct wf_store_advance *)batch + at;
    struct wf_store_cursor now;
    bool damaged, removes = a->to.epoch == 0;
    a->error = is_advance(a) ? WEFT_OK : WEFT_EINVAL;
    if (a->error < 0) return WEFT_OK;
    int code = read_cursor(s->writer, SQL_CURSOR, a->name, a->topic, &now, &damaged);
    if (code != WEFT_OK) return code;
    if (damaged && !removes) a->error = WEFT_EFORMAT;
    bool exists = damaged || now.epoch != 0;
    if (removes || !exists) code = look_for_shared(s, a);
    if (code != WEFT_OK) return code;
    if (!removes && !exists && s->cursors >= WF_STORE_CURSORS_MAX) a->error = WEFT_EFULL;
    if (a->error < 0 || (now.epoch == a->to.epoch && now.offset >= a->to.offset && !damaged)) return WEFT_OK;
    s->cursors += (removes ? 0 : 1) - (exists ? 1 : 0);
    return write_cursor(s, a);
}

static const struct sql_ahead advance = {SQL_CURSOR, may_ask, bind_advance, advance_one};

int sql_advance(struct wf_store *store, struct wf_store_advance *batch, size_t count)
{
    struct sql_store *s = sql_of(store);
    int rc = count == 0 || count > WF_STORE_BATCH_MAX ? WEFT_EINVAL : sql_begin(s);
    if (rc == WEFT_OK) {
        int code = count_cursors(s);
        if (code == WEFT_OK) code = sql_run_batch(s, &advance, s, batch, count);
        rc = sql_finish(s, code);
        if (rc < 0) s->cursors = -1;
    }
    for (size_t i = 0; i < count && rc < 0; i++) batch[i].error = rc;
    return rc;
}

/* ---- Shared cursors -------------------------------------------------------------------------------------------- */

int sql_cursor_of_both(struct sql_store *s, const char *name, const char *topic, struct wf_store_cursor *out,
                       int *error)
{
    struct wf_store_cursor plain = {0};
    bool damaged, other = false;
    int rc = read_cursor(s->writer, SQL_CURSOR, name, topic, out, &damaged);
    *error = damaged ? WEFT_EFORMAT : WEFT_OK;
    if (rc != WEFT_OK || damaged || out->epoch != 0) return rc;
    rc = read_cursor(s->writer, SQL_CURSOR, name + WF_SHARED_PREFIX_SIZE, topic, &plain, &other);
    if (rc == WEFT_OK) rc = count_cursors(s);
    if (other || plain.epoch != 0) *error = WEFT_EEXIST;
    else if (s->cursors >= WF_STORE_CURSORS_MAX) *error = WEFT_EFULL;
    return rc;
}

int sql_cursor_write(struct sql_store *s, const char *name, const char *topic, const struct wf_store_cursor *was,
                     struct wf_store_cursor to)
{
    if (was->epoch == 0) s->cursors++;
    return write_cursor(s, &(struct wf_store_advance){.name = name, .topic = topic, .to = to});
}

/* ---- Listing --------------------------------------------------------------------------------------------------- */

struct walk {
    wf_store_each_cursor *each;
    wf_store_each_fault *fault; /* NULL: damaged ones are passed over */
    void *arg;
};

static void say_damaged(struct walk *w, const char *name, const char *topic)
{
    char text[WF_STORE_KEY_MAX + 40] = "a cursor is damaged";
    bool is_known = wf_store_cursor_ok(name) && wf_store_topic_ok(topic);
    if (is_known) snprintf(text, sizeof text, "the cursor %s is damaged", name);
    if (w->fault != NULL) w->fault(w->arg, is_known ? topic : NULL, 0, text);
}

static int walk_cursors(struct sql_store *s, const char *name, const char *topic, struct walk *w)
{
    int code;
    bool goes_on = true;
    struct sql_connection *c;
    struct sql_row *row = sql_query(s, SQL_CURSORS, &c, &code);
    if (row == NULL) return sql_error(code);
    bind_cursor(row, name, topic);
    while (goes_on && (code = sql_step(row)) == SQL_ROW) {
        struct wf_store_cursor at;
        const char *has = sql_text(row, 3), *of = sql_text(row, 4);
        bool sound = wf_store_key_ok(has) && wf_store_topic_ok(of) && is_sound(row, has, of, &at);
        if (!sound) say_damaged(w, has, of);
        else if (w->each != NULL) goes_on = w->each(w->arg, has, of, at);
    }
    sql_query_end(s, c, row);
    return sql_error(code);
}

int sql_cursors(struct wf_store *store, const char *name, const char *topic, wf_store_each_cursor *each, void *arg)
{
    struct walk w = {.each = each, .arg = arg};
    return walk_cursors(sql_of(store), name, topic, &w);
}

int sql_check_cursors(struct wf_store *store, wf_store_each_fault *fault, void *arg)
{
    struct walk w = {.fault = fault, .arg = arg};
    return walk_cursors(sql_of(store), "", "", &w);
}
