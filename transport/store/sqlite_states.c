/* transport/store/sqlite_states.c -- the writer of states: a batch of changes is one transaction. */
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "sqlite_append.h"
#include "sqlite_connection.h"
#include "sqlite_states.h"
#include "sqlite_states_read.h"
#include "stored_topic.h"

/* The data of the running transaction. */
struct commit {
    struct sq_store *s;
    int64_t states, last_state;
};

int64_t sq_state_count_sum(int64_t count, int64_t last)
{
    int64_t numbers[] = {count, last};
    return wf_crc32c(0, numbers, sizeof numbers);
}

/* ---- Opening the file ------------------------------------------------------------------------------------------ */

static int load_count(struct sq_store *s)
{
    int code;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_READ_STATE_COUNT, &code);
    if (row == NULL) return sq_error(code);
    code = sqlite3_step(row);
    s->states = sqlite3_column_int64(row, 0);
    s->last_state = sqlite3_column_int64(row, 1);
    bool is_sound = sqlite3_column_int64(row, 2) == sq_state_count_sum(s->states, s->last_state);
    sqlite3_reset(row);
    if (code == SQLITE_DONE || (code == SQLITE_ROW && !is_sound)) return WEFT_EFORMAT;
    return sq_error(code);
}

int sq_states_load(struct sq_store *s, struct wf_store_why *why)
{
    int code;
    int64_t id, count = 0;
    struct wf_store_state state;
    snprintf(why->text, sizeof why->text, "%s: the tables of states are damaged, or cannot be read", s->file);
    int rc = load_count(s);
    sqlite3_stmt *row = rc < 0 ? NULL : sq_prepare(&s->writer, SQ_STATES, &code);
    if (row == NULL) return rc < 0 ? rc : sq_error(code);
    sqlite3_bind_text(row, 1, "", -1, SQLITE_STATIC);
    for (; (code = sqlite3_step(row)) == SQLITE_ROW; count++) s->damaged_states += !sq_state_read(row, &state, &id);
    sqlite3_reset(row);
    if (count != s->states) s->damaged_states++;
    return sq_error(code);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int write_state(struct sq_store *s, const struct wf_store_state *is, int64_t id)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, SQ_WRITE_STATE, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, is->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, id);
    sqlite3_bind_int64(row, 3, (int64_t)is->opening);
    sqlite3_bind_int64(row, 4, (int64_t)is->owner);
    sqlite3_bind_int64(row, 5, (int64_t)is->first);
    sqlite3_bind_int64(row, 6, (int64_t)is->last);
    sqlite3_bind_int64(row, 7, (int64_t)is->bytes);
    sqlite3_bind_int64(row, 8, is->has_snapshot ? (int64_t)is->size : -1);
    sqlite3_bind_int64(row, 9, sq_state_sum(is, id));
    return sq_step_once(row);
}

/* Writes a snapshot or an event. */
static int write_item(struct sq_store *s, const struct wf_store_state_change *x, int64_t id)
{
    int rc;
    const struct wf_store_item item = {.is_snapshot = x->kind == WF_STATE_SAVE,
                                       .number = x->number,
                                       .time = x->now,
                                       .tag = x->tag,
                                       .version = x->version,
                                       .data = x->data,
                                       .size = x->size};
    sqlite3_stmt *row = sq_prepare(&s->writer, item.is_snapshot ? SQ_WRITE_SNAPSHOT : SQ_INSERT_EVENT, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, id);
    sqlite3_bind_int64(row, 2, (int64_t)item.number);
    sqlite3_bind_int64(row, 3, item.time);
    sqlite3_bind_int64(row, 4, item.tag);
    sqlite3_bind_int64(row, 5, item.version);
    if (item.size == 0) sqlite3_bind_zeroblob(row, 6, 0);
    else sqlite3_bind_blob(row, 6, item.data, (int)item.size, SQLITE_STATIC);
    sqlite3_bind_int64(row, 7, sq_item_sum(&item, id));
    rc = sq_step_once(row);
    return (rc & 0xFF) == SQLITE_CONSTRAINT ? SQLITE_CORRUPT : rc; /* an event with that number exists already */
}

static int delete_of(struct sq_store *s, enum sq_statement which, int64_t id)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&s->writer, which, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, id);
    return sq_step_once(row);
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

static uint64_t new_owner(void)
{
    uint64_t owner = 0;
    while (owner == 0) {
        sqlite3_randomness(sizeof owner, &owner);
        owner &= INT64_MAX; /* because SQLite has signed integers */
    }
    return owner;
}

static int open_state(struct commit *c, struct wf_store_state_change *x, int found, int64_t id)
{
    if (found == WEFT_ENOTFOUND) {
        if (c->s->damaged_states > 0) x->error = WEFT_EFORMAT;
        else if (c->states >= WF_STORE_STATES_MAX) x->error = WEFT_EFULL;
        if (x->error < 0) return SQLITE_OK;
        x->state = (struct wf_store_state){.first = 1};
        memcpy(x->state.key, x->key, strlen(x->key) + 1);
        c->states++;
        id = ++c->last_state;
    }
    x->state.opening++;
    x->state.owner = new_owner();
    return write_state(c->s, &x->state, id);
}

static int append(struct commit *c, struct wf_store_state_change *x, int64_t id)
{
    struct wf_store_state *is = &x->state;
    if (x->number != is->last + 1) x->error = WEFT_ECLOSED;
    else if (is->last + 1 - is->first >= WF_STORE_EVENTS_MAX || is->bytes + x->size > WF_STORE_EVENT_BYTES_MAX)
        x->error = WEFT_EFULL;
    if (x->error < 0) return SQLITE_OK;
    is->last++;
    is->bytes += x->size;
    int rc = write_item(c->s, x, id);
    return rc == SQLITE_OK ? write_state(c->s, is, id) : rc;
}

static int save(struct commit *c, struct wf_store_state_change *x, int64_t id)
{
    struct wf_store_state *is = &x->state;
    if (x->number != is->last) {
        x->error = WEFT_ECLOSED;
        return SQLITE_OK;
    }
    bool has_events = is->first <= is->last;
    is->first = is->last + 1;
    is->bytes = 0;
    is->has_snapshot = true;
    is->size = x->size;
    int rc = write_item(c->s, x, id);
    if (rc == SQLITE_OK && has_events) rc = delete_of(c->s, SQ_DELETE_EVENTS, id);
    return rc == SQLITE_OK ? write_state(c->s, is, id) : rc;
}

static int remove_state(struct commit *c, const struct wf_store_state_change *x, int64_t id)
{
    int rc;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_DELETE_STATE, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_text(row, 1, x->key, -1, SQLITE_STATIC);
    rc = sq_step_once(row);
    if (rc == SQLITE_OK) rc = delete_of(c->s, SQ_DELETE_SNAPSHOT, id);
    if (rc == SQLITE_OK) rc = delete_of(c->s, SQ_DELETE_EVENTS, id);
    c->states--;
    return rc;
}

static int check_change(const struct wf_store_state_change *x)
{
    if (!wf_store_topic_ok(x->key) || (x->data == NULL && x->size > 0)) return WEFT_EINVAL;
    return x->size > WF_STORE_RECORD_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

/* Converts an error that fails the whole batch to a code of SQLite. */
static int code_of(int error)
{
    return error == WEFT_ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR;
}

static int change_one(struct commit *c, struct wf_store_state_change *x)
{
    int64_t id = 0;
    x->error = check_change(x);
    if (x->error < 0) return SQLITE_OK;
    int found = sq_state_find(&c->s->writer, x->key, &x->state, &id);
    if (found < 0 && found != WEFT_ENOTFOUND && found != WEFT_EFORMAT) return code_of(found);
    if (found == WEFT_EFORMAT) x->error = WEFT_EFORMAT;
    else if (x->kind != WF_STATE_OPEN && (found < 0 || x->owner != x->state.owner)) x->error = WEFT_ECLOSED;
    if (x->error < 0) return SQLITE_OK;
    switch (x->kind) {
    case WF_STATE_OPEN: return open_state(c, x, found, id);
    case WF_STATE_SAVE: return save(c, x, id);
    case WF_STATE_APPEND: return append(c, x, id);
    case WF_STATE_REMOVE: return remove_state(c, x, id);
    }
    x->error = WEFT_EINVAL;
    return SQLITE_OK;
}

/* ---- A batch --------------------------------------------------------------------------------------------------- */

static int write_count(struct commit *c)
{
    int rc;
    if (c->last_state == c->s->last_state && c->states == c->s->states) return SQLITE_OK;
    sqlite3_stmt *row = sq_prepare(&c->s->writer, SQ_COUNT_STATES, &rc);
    if (row == NULL) return rc;
    sqlite3_bind_int64(row, 1, c->states);
    sqlite3_bind_int64(row, 2, c->last_state);
    sqlite3_bind_int64(row, 3, sq_state_count_sum(c->states, c->last_state));
    return sq_step_once(row);
}

static int check_batch(const struct wf_store_state_change *batch, size_t count)
{
    size_t bytes = 0;
    if (count == 0 || count > WF_STORE_BATCH_MAX) return WEFT_EINVAL;
    for (size_t i = 0; i < count; i++) bytes += batch[i].size;
    return bytes > WF_STORE_BATCH_BYTES_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

int sq_change_states(struct wf_store *store, struct wf_store_state_change *batch, size_t count)
{
    struct sq_store *s = sq_of(store);
    int rc = check_batch(batch, count);
    if (rc == WEFT_OK) rc = sq_begin(s);
    if (rc == WEFT_OK) {
        struct commit c = {.s = s, .states = s->states, .last_state = s->last_state};
        int code = SQLITE_OK;
        for (size_t i = 0; i < count && code == SQLITE_OK; i++) code = change_one(&c, &batch[i]);
        if (code == SQLITE_OK) code = write_count(&c);
        rc = sq_finish(s, code);
        if (rc == WEFT_OK) {
            s->states = c.states;
            s->last_state = c.last_state;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (rc < 0) batch[i].error = rc;
        if (batch[i].error < 0) batch[i].state = (struct wf_store_state){.key = ""};
    }
    return rc;
}
