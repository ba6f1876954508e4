/* transport/store/sqlite_states_read.c -- states as readers see them, and their rows.
 *
 * A reading is one transaction, so that the row of a state, its snapshot and its events are of the same moment. */
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "sqlite_connection.h"
#include "sqlite_states.h"
#include "sqlite_states_read.h"
#include "stored_topic.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

int64_t sq_state_sum(const struct wf_store_state *is, int64_t id)
{
    uint64_t numbers[] = {(uint64_t)id,
                          is->opening,
                          is->owner,
                          is->first,
                          is->last,
                          is->bytes,
                          is->has_snapshot ? is->size : UINT64_MAX};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), is->key, strlen(is->key));
}

int64_t sq_item_sum(const struct wf_store_item *item, int64_t state)
{
    uint64_t numbers[] = {(uint64_t)state,      item->is_snapshot, item->number,
                          (uint64_t)item->time, item->tag,         item->version};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), item->data, item->size);
}

bool sq_state_read(sqlite3_stmt *row, struct wf_store_state *out, int64_t *id)
{
    const char *key = (const char *)sqlite3_column_text(row, 0);
    int64_t size = sqlite3_column_int64(row, 7);
    *id = sqlite3_column_int64(row, 1);
    *out = (struct wf_store_state){.opening = (uint64_t)sqlite3_column_int64(row, 2),
                                   .owner = (uint64_t)sqlite3_column_int64(row, 3),
                                   .first = (uint64_t)sqlite3_column_int64(row, 4),
                                   .last = (uint64_t)sqlite3_column_int64(row, 5),
                                   .bytes = (uint64_t)sqlite3_column_int64(row, 6),
                                   .has_snapshot = size >= 0,
                                   .size = size >= 0 ? (size_t)size : 0};
    if (!wf_store_topic_ok(key)) return false;
    memcpy(out->key, key, strlen(key) + 1);
    return sqlite3_column_int64(row, 8) == sq_state_sum(out, *id);
}

/* Reads the number in column 0, and the item in the columns after it. False: it is damaged. */
static bool read_item(sqlite3_stmt *row, int64_t state, bool is_snapshot, struct wf_store_item *out)
{
    int64_t tag = sqlite3_column_int64(row, 2), version = sqlite3_column_int64(row, 3);
    *out = (struct wf_store_item){.is_snapshot = is_snapshot,
                                  .number = (uint64_t)sqlite3_column_int64(row, 0),
                                  .time = sqlite3_column_int64(row, 1),
                                  .tag = (uint32_t)tag,
                                  .version = (uint32_t)version,
                                  .data = sqlite3_column_blob(row, 4),
                                  .size = (size_t)sqlite3_column_bytes(row, 4)};
    return out->tag == tag && out->version == version && out->size <= WF_STORE_RECORD_MAX &&
           sqlite3_column_int64(row, 5) == sq_item_sum(out, state);
}

int sq_state_find(struct sq_connection *c, const char *key, struct wf_store_state *out, int64_t *id)
{
    int code;
    sqlite3_stmt *row = sq_prepare(c, SQ_STATE, &code);
    if (row == NULL) return sq_error(code);
    sqlite3_bind_text(row, 1, key, -1, SQLITE_STATIC);
    code = sqlite3_step(row);
    bool is_sound = code == SQLITE_ROW && sq_state_read(row, out, id) && strcmp(out->key, key) == 0;
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    if (code == SQLITE_ROW) return is_sound ? WEFT_OK : WEFT_EFORMAT;
    return code == SQLITE_DONE ? WEFT_ENOTFOUND : sq_error(code);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

struct reading {
    struct sq_connection *c;
    const struct wf_store_state *state;
    int64_t id;
    uint64_t from;
    size_t count, bytes; /* the items and bytes that may still be given */
    wf_store_each_item *each;
    void *arg;
    int given;
    bool ends;
};

/* Gives an item, unless the reading has to end before it. */
static void give(struct reading *r, const struct wf_store_item *item)
{
    r->ends = r->count == 0 || (r->given > 0 && item->size > r->bytes);
    if (r->ends) return;
    r->count--;
    r->bytes -= item->size < r->bytes ? item->size : r->bytes;
    r->given++;
    r->ends = !r->each(r->arg, item);
}

/* Returns a WEFT_E*. */
static int read_snapshot(struct reading *r)
{
    int code;
    struct wf_store_item item;
    sqlite3_stmt *row = sq_prepare(r->c, SQ_SNAPSHOT, &code);
    if (row == NULL) return sq_error(code);
    sqlite3_bind_int64(row, 1, r->id);
    code = sqlite3_step(row);
    bool is_sound = code == SQLITE_ROW && read_item(row, r->id, true, &item) && item.number + 1 == r->state->first &&
                    item.size == r->state->size;
    if (is_sound) give(r, &item);
    sqlite3_reset(row);
    if (code == SQLITE_ROW || code == SQLITE_DONE) return is_sound ? WEFT_OK : WEFT_EFORMAT;
    return sq_error(code);
}

static int read_events(struct reading *r)
{
    int code, rc = WEFT_OK;
    uint64_t next = r->from < r->state->first ? r->state->first : r->from;
    if (next > r->state->last || r->ends) return WEFT_OK;
    sqlite3_stmt *row = sq_prepare(r->c, SQ_EVENTS, &code);
    if (row == NULL) return sq_error(code);
    sqlite3_bind_int64(row, 1, r->id);
    sqlite3_bind_int64(row, 2, (int64_t)next);
    for (; next <= r->state->last && !r->ends && rc == WEFT_OK; next++) {
        struct wf_store_item item;
        code = sqlite3_step(row);
        bool is_sound = code == SQLITE_ROW && read_item(row, r->id, false, &item) && item.number == next;
        if (is_sound) give(r, &item);
        else rc = code == SQLITE_ROW || code == SQLITE_DONE ? WEFT_EFORMAT : sq_error(code);
    }
    sqlite3_reset(row);
    return rc;
}

static int begin_reading(struct sq_store *s, struct sq_connection **c)
{
    int code;
    *c = sq_borrow(s, &code);
    if (*c == NULL) return sq_error(code);
    code = sq_run(*c, SQ_BEGIN_READING);
    if (code == SQLITE_OK) return WEFT_OK;
    sq_give_back(s, *c);
    return sq_error(code);
}

static void end_reading(struct sq_store *s, struct sq_connection *c)
{
    (void)sq_run(c, SQ_COMMIT);
    if (sqlite3_get_autocommit(c->db) == 0) (void)sq_run(c, SQ_ROLLBACK);
    sq_give_back(s, c);
}

int sq_read_state(struct wf_store *store, const char *key, uint64_t owner, uint64_t from, size_t count, size_t bytes,
                  wf_store_each_item *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    struct wf_store_state state;
    struct reading r = {.state = &state, .from = from, .count = count, .bytes = bytes, .each = each, .arg = arg};
    if (!wf_store_topic_ok(key)) return WEFT_EINVAL;
    if (!s->has_states) return WEFT_ECLOSED;
    int rc = begin_reading(s, &r.c);
    if (rc < 0) return rc;
    rc = sq_state_find(r.c, key, &state, &r.id);
    if (rc == WEFT_ENOTFOUND || (rc == WEFT_OK && state.owner != owner)) rc = WEFT_ECLOSED;
    if (rc == WEFT_OK && from == 0 && state.has_snapshot) rc = read_snapshot(&r);
    if (rc == WEFT_OK) rc = read_events(&r);
    end_reading(s, r.c);
    return rc < 0 && r.given == 0 ? rc : r.given;
}

int sq_states(struct wf_store *store, const char *after, wf_store_each_state *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    struct wf_store_state state;
    int64_t id;
    int code;
    if (!s->has_states) return WEFT_OK;
    struct sq_connection *c = sq_borrow(s, &code);
    if (c == NULL) return sq_error(code);
    sqlite3_stmt *row = sq_prepare(c, SQ_STATES, &code);
    if (row != NULL) {
        sqlite3_bind_text(row, 1, after == NULL ? "" : after, -1, SQLITE_STATIC);
        while ((code = sqlite3_step(row)) == SQLITE_ROW)
            if (sq_state_read(row, &state, &id) && !each(arg, &state)) break;
        sqlite3_reset(row);
        sqlite3_clear_bindings(row);
    }
    sq_give_back(s, c);
    return sq_error(code);
}

/* ---- Checking -------------------------------------------------------------------------------------------------- */

struct checking {
    struct sq_connection *c;
    wf_store_each_fault *each;
    void *arg;
    int faults;
};

static void say(struct checking *k, const char *key, uint64_t number, const char *text)
{
    k->faults++;
    k->each(k->arg, key, number, text);
}

struct progress {
    uint64_t next;
    uint64_t bytes; /* bytes of events */
};

static bool go_past(void *arg, const struct wf_store_item *item)
{
    struct progress *p = arg;
    p->next = item->number + 1;
    if (!item->is_snapshot) p->bytes += item->size;
    return true;
}

static int check_state(struct checking *k, const struct wf_store_state *state, int64_t id)
{
    struct progress at = {.next = state->first};
    struct reading r = {
        .c = k->c, .state = state, .id = id, .count = SIZE_MAX, .bytes = SIZE_MAX, .each = go_past, .arg = &at};
    int rc = state->has_snapshot ? read_snapshot(&r) : WEFT_OK;
    if (rc == WEFT_EFORMAT) say(k, state->key, state->first - 1, "the snapshot of the state is damaged or missing");
    else if (rc < 0) return rc;
    at.next = state->first;
    bool whole = true;
    while (at.next <= state->last) {
        r.from = at.next;
        rc = read_events(&r);
        if (rc < 0 && rc != WEFT_EFORMAT) return rc;
        if (rc == WEFT_EFORMAT) say(k, state->key, at.next++, "the event of the state is damaged or missing");
        whole = whole && rc == WEFT_OK;
    }
    if (whole && at.bytes != state->bytes) say(k, state->key, 0, "the size of the events is another one");
    return WEFT_OK;
}

/* Checks each row of states, and their number. */
static int check_rows(struct checking *k)
{
    int code, rc = WEFT_OK;
    int64_t id, count = 0;
    struct wf_store_state state;
    sqlite3_stmt *row = sq_prepare(k->c, SQ_STATES, &code);
    if (row == NULL) return sq_error(code);
    sqlite3_bind_text(row, 1, "", -1, SQLITE_STATIC);
    for (; rc == WEFT_OK && (code = sqlite3_step(row)) == SQLITE_ROW; count++) {
        if (sq_state_read(row, &state, &id)) rc = check_state(k, &state, id);
        else say(k, state.key[0] == '\0' ? NULL : state.key, 0, "what is known of the state is damaged");
    }
    sqlite3_reset(row);
    if (rc < 0 || sq_error(code) < 0) return rc < 0 ? rc : sq_error(code);
    row = sq_prepare(k->c, SQ_READ_STATE_COUNT, &code);
    if (row == NULL) return sq_error(code);
    code = sqlite3_step(row);
    int64_t has = sqlite3_column_int64(row, 0), last = sqlite3_column_int64(row, 1);
    bool is_sound = code == SQLITE_ROW && sqlite3_column_int64(row, 2) == sq_state_count_sum(has, last);
    sqlite3_reset(row);
    if (sq_error(code) < 0) return sq_error(code);
    if (!is_sound) say(k, NULL, 0, "the count of states is damaged");
    else if (has != count) say(k, NULL, 0, "the table of states has too few rows, or too many");
    return WEFT_OK;
}

static int check_lost(struct checking *k)
{
    int code;
    sqlite3_stmt *row = sq_prepare(k->c, SQ_LOST_ITEMS, &code);
    if (row == NULL) return sq_error(code);
    while ((code = sqlite3_step(row)) == SQLITE_ROW)
        say(k, NULL, (uint64_t)sqlite3_column_int64(row, 1), "there is a snapshot or an event without its state");
    sqlite3_reset(row);
    return sq_error(code);
}

int sq_check_states(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sq_store *s = sq_of(store);
    struct checking k = {.each = each, .arg = arg};
    if (!s->has_states) return 0;
    int rc = begin_reading(s, &k.c);
    if (rc < 0) return rc;
    rc = check_rows(&k);
    if (rc == WEFT_OK) rc = check_lost(&k);
    end_reading(s, k.c);
    if (rc == WEFT_EFORMAT) say(&k, NULL, 0, "the tables of states are damaged");
    return rc < 0 && rc != WEFT_EFORMAT ? rc : k.faults;
}
