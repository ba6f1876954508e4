/* transport/store/sql/sql_states_read.c -- states as readers see them, and their rows.
 *
 * A reading is one transaction, so that the row of a state, its snapshot and its events are of the same moment. */
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "sql_connection.h"
#include "sql_states.h"
#include "sql_states_read.h"
#include "stored_topic.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

int64_t sql_state_sum(const struct wf_store_state *is, int64_t id)
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

int64_t sql_item_sum(const struct wf_store_item *item, int64_t state)
{
    uint64_t numbers[] = {(uint64_t)state,      item->is_snapshot, item->number,
                          (uint64_t)item->time, item->tag,         item->version};
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), item->data, item->size);
}

/* Whether a state can have such events: a reader looks for each of them. */
static bool has_sound_events(const struct wf_store_state *is)
{
    return is->first >= 1 && sql_number_ok((int64_t)is->last) && is->last + 1 - is->first <= WF_STORE_EVENTS_MAX &&
           is->bytes <= WF_STORE_EVENT_BYTES_MAX;
}

bool sql_state_read(struct sql_row *row, struct wf_store_state *out, int64_t *id)
{
    const char *key = sql_text(row, 0);
    int64_t size = sql_int(row, 7);
    *id = sql_int(row, 1);
    *out = (struct wf_store_state){.opening = (uint64_t)sql_int(row, 2),
                                   .owner = (uint64_t)sql_int(row, 3),
                                   .first = (uint64_t)sql_int(row, 4),
                                   .last = (uint64_t)sql_int(row, 5),
                                   .bytes = (uint64_t)sql_int(row, 6),
                                   .has_snapshot = size >= 0,
                                   .size = size >= 0 ? (size_t)size : 0};
    if (!wf_store_topic_ok(key) || size < -1) return false;
    memcpy(out->key, key, strlen(key) + 1);
    return sql_int(row, 8) == sql_state_sum(out, *id) && has_sound_events(out);
}

/* Reads the number at the column 0, and the item behind it. False: it is damaged. */
static bool read_item(struct sql_row *row, int64_t state, bool is_snapshot, struct wf_store_item *out)
{
    int64_t tag = sql_int(row, 2), version = sql_int(row, 3);
    *out = (struct wf_store_item){.is_snapshot = is_snapshot,
                                  .number = (uint64_t)sql_int(row, 0),
                                  .time = sql_int(row, 1),
                                  .tag = (uint32_t)tag,
                                  .version = (uint32_t)version};
    out->data = sql_bytes(row, 4, &out->size);
    return out->tag == tag && out->version == version && out->size <= WF_STORE_RECORD_MAX &&
           sql_int(row, 5) == sql_item_sum(out, state);
}

int sql_state_find(struct sql_connection *c, const char *key, struct wf_store_state *out, int64_t *id)
{
    int code;
    struct sql_row *row = sql_prepare(c, SQL_STATE, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_text(row, 1, key);
    code = sql_step(row);
    bool is_sound = code == SQL_ROW && sql_state_read(row, out, id) && strcmp(out->key, key) == 0;
    sql_reset(row);
    if (code == SQL_ROW) return is_sound ? WEFT_OK : WEFT_EFORMAT;
    return code == SQL_DONE ? WEFT_ENOTFOUND : sql_error(code);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

struct reading {
    struct sql_connection *c;
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
    struct sql_row *row = sql_prepare(r->c, SQL_SNAPSHOT, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_int(row, 1, r->id);
    code = sql_step(row);
    bool is_sound = code == SQL_ROW && read_item(row, r->id, true, &item) && item.number + 1 == r->state->first &&
                    item.size == r->state->size;
    if (is_sound) give(r, &item);
    sql_reset(row);
    if (code == SQL_ROW || code == SQL_DONE) return is_sound ? WEFT_OK : WEFT_EFORMAT;
    return sql_error(code);
}

static int read_events(struct reading *r)
{
    int code, rc = WEFT_OK;
    uint64_t next = r->from < r->state->first ? r->state->first : r->from;
    if (next > r->state->last || r->ends) return WEFT_OK;
    struct sql_row *row = sql_prepare(r->c, SQL_EVENTS, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_int(row, 1, r->id);
    sql_bind_int(row, 2, (int64_t)next);
    for (; next <= r->state->last && !r->ends && rc == WEFT_OK; next++) {
        struct wf_store_item item;
        code = sql_step(row);
        bool is_sound = code == SQL_ROW && read_item(row, r->id, false, &item) && item.number == next;
        if (is_sound) give(r, &item);
        else rc = code == SQL_ROW || code == SQL_DONE ? WEFT_EFORMAT : sql_error(code);
    }
    sql_reset(row);
    return rc;
}

static int begin_reading(struct sql_store *s, struct sql_connection **c)
{
    int code;
    *c = sql_borrow(s, &code);
    if (*c == NULL) return sql_error(code);
    code = s->driver->begin_reading(*c);
    if (code < 0) sql_give_back(s, *c);
    return code;
}

static void end_reading(struct sql_store *s, struct sql_connection *c)
{
    s->driver->end_reading(c);
    sql_give_back(s, c);
}

int sql_read_state(struct wf_store *store, const char *key, uint64_t owner, uint64_t from, size_t count, size_t bytes,
                   wf_store_each_item *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct wf_store_state state;
    struct reading r = {.state = &state, .from = from, .count = count, .bytes = bytes, .each = each, .arg = arg};
    if (!wf_store_topic_ok(key)) return WEFT_EINVAL;
    if (!s->has_states) return WEFT_ECLOSED;
    int rc = begin_reading(s, &r.c);
    if (rc < 0) return rc;
    rc = sql_state_find(r.c, key, &state, &r.id);
    if (rc == WEFT_ENOTFOUND || (rc == WEFT_OK && state.owner != owner)) rc = WEFT_ECLOSED;
    if (rc == WEFT_OK && from == 0 && state.has_snapshot) rc = read_snapshot(&r);
    if (rc == WEFT_OK) rc = read_events(&r);
    end_reading(s, r.c);
    return rc < 0 && r.given == 0 ? rc : r.given;
}

int sql_states(struct wf_store *store, const char *after, wf_store_each_state *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct wf_store_state state;
    int64_t id;
    int code;
    if (!s->has_states) return WEFT_OK;
    struct sql_connection *c;
    struct sql_row *row = sql_query(s, SQL_STATES, &c, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_text(row, 1, after == NULL ? "" : after);
    while ((code = sql_step(row)) == SQL_ROW)
        if (sql_state_read(row, &state, &id) && !each(arg, &state)) break;
    sql_query_end(s, c, row);
    return sql_error(code);
}

/* ---- Checking -------------------------------------------------------------------------------------------------- */

struct checking {
    struct sql_connection *c;
    wf_store_each_fault *each;
    void *arg;
};

static void say(struct checking *k, const char *key, uint64_t number, const char *text)
{
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
    struct sql_row *row = sql_prepare(k->c, SQL_STATES, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_text(row, 1, "");
    for (; rc == WEFT_OK && (code = sql_step(row)) == SQL_ROW; count++) {
        if (sql_state_read(row, &state, &id)) rc = check_state(k, &state, id);
        else say(k, state.key[0] == '\0' ? NULL : state.key, 0, "what is known of the state is damaged");
    }
    sql_reset(row);
    if (rc < 0 || sql_error(code) < 0) return rc < 0 ? rc : sql_error(code);
    row = sql_prepare(k->c, SQL_READ_STATE_COUNT, &code);
    if (row == NULL) return sql_error(code);
    code = sql_step(row);
    int64_t has = sql_int(row, 0), last = sql_int(row, 1);
    bool is_sound = code == SQL_ROW && sql_int(row, 2) == sql_state_count_sum(has, last);
    sql_reset(row);
    if (sql_error(code) < 0) return sql_error(code);
    if (!is_sound) say(k, NULL, 0, "the count of states is damaged");
    else if (has != count) say(k, NULL, 0, "the table of states has too few rows, or too many");
    return WEFT_OK;
}

static int check_lost(struct checking *k)
{
    int code;
    struct sql_row *row = sql_prepare(k->c, SQL_LOST_ITEMS, &code);
    if (row == NULL) return sql_error(code);
    while ((code = sql_step(row)) == SQL_ROW)
        say(k, NULL, (uint64_t)sql_int(row, 1), "there is a snapshot or an event without its state");
    sql_reset(row);
    return sql_error(code);
}

int sql_check_states(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct checking k = {.each = each, .arg = arg};
    if (!s->has_states) return 0;
    int rc = begin_reading(s, &k.c);
    if (rc < 0) return rc;
    rc = check_rows(&k);
    if (rc == WEFT_OK) rc = check_lost(&k);
    end_reading(s, k.c);
    return rc;
}
