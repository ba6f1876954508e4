/* transport/store/sql/sql_states.c -- the writer of states: a batch of changes is one transaction. */
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "sql_append.h"
#include "sql_connection.h"
#include "sql_states.h"
#include "sql_states_read.h"
#include "stored_topic.h"

/* The running transaction. */
struct commit {
    struct sql_store *s;
    int64_t states, last_state;
};

int64_t sql_state_count_sum(int64_t count, int64_t last)
{
    int64_t numbers[] = {count, last};
    return wf_crc32c(0, numbers, sizeof numbers);
}

/* ---- Opening the store ------------------------------------------------------------------------------------------ */

static int load_count(struct sql_store *s)
{
    int code;
    struct sql_row *row = sql_prepare(s->writer, SQL_READ_STATE_COUNT, &code);
    if (row == NULL) return sql_error(code);
    code = sql_step(row);
    s->states = sql_int(row, 0);
    s->last_state = sql_int(row, 1);
    bool is_sound = sql_int(row, 2) == sql_state_count_sum(s->states, s->last_state) && s->states >= 0 &&
                    sql_number_ok(s->last_state);
    sql_reset(row);
    if (code == SQL_DONE || (code == SQL_ROW && !is_sound)) return WEFT_EFORMAT;
    return sql_error(code);
}

int sql_states_load(struct sql_store *s, struct wf_store_why *why)
{
    int code;
    int64_t id, count = 0;
    struct wf_store_state state;
    char before[WF_STORE_TOPIC_MAX + 1] = ""; /* the key of the row before */
    s->damaged_states = 0;
    snprintf(why->text, sizeof why->text, "%s: the tables of states are damaged, or cannot be read", s->name);
    int rc = load_count(s);
    struct sql_row *row = rc < 0 ? NULL : sql_prepare(s->writer, SQL_STATES, &code);
    if (row == NULL) return rc < 0 ? rc : sql_error(code);
    sql_bind_text(row, 1, "");
    for (; (code = sql_step(row)) == SQL_ROW; count++) {
        /* In a damaged page one row may stand where another one was: then its key comes twice. */
        bool is_sound = sql_state_read(row, &state, &id) && strcmp(state.key, before) > 0;
        s->damaged_states += !is_sound;
        if (is_sound) memcpy(before, state.key, sizeof before);
    }
    sql_reset(row);
    if (count != s->states) s->damaged_states++;
    return sql_error(code);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int write_state(struct sql_store *s, const struct wf_store_state *is, int64_t id)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_WRITE_STATE, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, is->key);
    sql_bind_int(row, 2, id);
    sql_bind_int(row, 3, (int64_t)is->opening);
    sql_bind_int(row, 4, (int64_t)is->owner);
    sql_bind_int(row, 5, (int64_t)is->first);
    sql_bind_int(row, 6, (int64_t)is->last);
    sql_bind_int(row, 7, (int64_t)is->bytes);
    sql_bind_int(row, 8, is->has_snapshot ? (int64_t)is->size : -1);
    sql_bind_int(row, 9, sql_state_sum(is, id));
    return sql_run(row);
}

/* A snapshot or an event. */
static int write_item(struct sql_store *s, const struct wf_store_state_change *x, int64_t id)
{
    int rc;
    const struct wf_store_item item = {.is_snapshot = x->kind == WF_STATE_SAVE,
                                       .number = x->number,
                                       .time = x->now,
                                       .tag = x->tag,
                                       .version = x->version,
                                       .data = x->data,
                                       .size = x->size};
    struct sql_row *row = sql_prepare(s->writer, item.is_snapshot ? SQL_WRITE_SNAPSHOT : SQL_INSERT_EVENT, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, id);
    sql_bind_int(row, 2, (int64_t)item.number);
    sql_bind_int(row, 3, item.time);
    sql_bind_int(row, 4, item.tag);
    sql_bind_int(row, 5, item.version);
    sql_bind_bytes(row, 6, item.data, item.size);
    sql_bind_int(row, 7, sql_item_sum(&item, id));
    return sql_run(row);
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

static uint64_t new_owner(void)
{
    uint64_t owner = 0;
    while (owner == 0) {
        sqlite3_randomness(sizeof owner, &owner);
        owner &= INT64_MAX; /* as databases have integers */
    }
    return owner;
}

static int open_state(struct commit *c, struct wf_store_state_change *x, int found, int64_t id)
{
    if (found == WEFT_ENOTFOUND) {
        if (c->s->damaged_states > 0) x->error = WEFT_EFORMAT;
        else if (c->states >= WF_STORE_STATES_MAX) x->error = WEFT_EFULL;
        if (x->error < 0) return WEFT_OK;
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
    if (x->error < 0) return WEFT_OK;
    is->last++;
    is->bytes += x->size;
    int rc = write_item(c->s, x, id);
    return rc == WEFT_OK ? write_state(c->s, is, id) : rc;
}

static int save(struct commit *c, struct wf_store_state_change *x, int64_t id)
{
    struct wf_store_state *is = &x->state;
    if (x->number != is->last) {
        x->error = WEFT_ECLOSED;
        return WEFT_OK;
    }
    bool has_events = is->first <= is->last;
    is->first = is->last + 1;
    is->bytes = 0;
    is->has_snapshot = true;
    is->size = x->size;
    int rc = write_item(c->s, x, id);
    if (rc == WEFT_OK && has_events) rc = sql_run_of(c->s, SQL_DELETE_EVENTS, (uint64_t)id);
    return rc == WEFT_OK ? write_state(c->s, is, id) : rc;
}

static int remove_state(struct commit *c, const struct wf_store_state_change *x, int64_t id)
{
    int rc;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_DELETE_STATE, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, x->key);
    rc = sql_run(row);
    if (rc == WEFT_OK) rc = sql_run_of(c->s, SQL_DELETE_SNAPSHOT, (uint64_t)id);
    if (rc == WEFT_OK) rc = sql_run_of(c->s, SQL_DELETE_EVENTS, (uint64_t)id);
    c->states--;
    return rc;
}

static int check_change(const struct wf_store_state_change *x)
{
    if (!wf_store_topic_ok(x->key) || (x->data == NULL && x->size > 0)) return WEFT_EINVAL;
    return x->size > WF_STORE_RECORD_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

static int change_one(struct commit *c, struct wf_store_state_change *x)
{
    int64_t id = 0;
    x->error = check_change(x);
    if (x->error < 0) return WEFT_OK;
    int found = sql_state_find(c->s->writer, x->key, &x->state, &id);
    if (found < 0 && found != WEFT_ENOTFOUND && found != WEFT_EFORMAT) return found;
    if (found == WEFT_EFORMAT) x->error = WEFT_EFORMAT;
    else if (x->kind != WF_STATE_OPEN && (found < 0 || x->owner != x->state.owner)) x->error = WEFT_ECLOSED;
    if (x->error < 0) return WEFT_OK;
    switch (x->kind) {
    case WF_STATE_OPEN: return open_state(c, x, found, id);
    case WF_STATE_SAVE: return save(c, x, id);
    case WF_STATE_APPEND: return append(c, x, id);
    case WF_STATE_REMOVE: return remove_state(c, x, id);
    }
    x->error = WEFT_EINVAL;
    return WEFT_OK;
}

/* ---- A batch --------------------------------------------------------------------------------------------------- */

static int write_count(struct commit *c)
{
    int rc;
    if (c->last_state == c->s->last_state && c->states == c->s->states) return WEFT_OK;
    struct sql_row *row = sql_prepare(c->s->writer, SQL_COUNT_STATES, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, c->states);
    sql_bind_int(row, 2, c->last_state);
    sql_bind_int(row, 3, sql_state_count_sum(c->states, c->last_state));
    return sql_run(row);
}

static int check_batch(const struct wf_store_state_change *batch, size_t count)
{
    size_t bytes = 0;
    if (count == 0 || count > WF_STORE_BATCH_MAX) return WEFT_EINVAL;
    for (size_t i = 0; i < count; i++) bytes += batch[i].size;
    return bytes > WF_STORE_BATCH_BYTES_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

int sql_change_states(struct wf_store *store, struct wf_store_state_change *batch, size_t count)
{
    struct sql_store *s = sql_of(store);
    int rc = check_batch(batch, count);
    if (rc == WEFT_OK) rc = sql_begin(s);
    if (rc == WEFT_OK) {
        struct commit c = {.s = s, .states = s->states, .last_state = s->last_state};
        int code = WEFT_OK;
        for (size_t i = 0; i < count && code == WEFT_OK; i++) code = change_one(&c, &batch[i]);
        if (code == WEFT_OK) code = write_count(&c);
        rc = sql_finish(s, code);
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
