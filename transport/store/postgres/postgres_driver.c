/* transport/store/postgres/postgres_driver.c -- see postgres_driver.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_connection.h"
#include "postgres_driver.h"
#include "postgres_owner.h"
#include "sql_statements.h"

enum { TEXT_MAX = 800 };

static struct pq_connection *connection_of(struct sql_connection *c)
{
    return (struct pq_connection *)c;
}

static struct pq_row *row_of(struct sql_row *row)
{
    return (struct pq_row *)row;
}

/* ---- Parameters ------------------------------------------------------------------------------------------------ */

static struct sql_row *prepare(struct sql_connection *base, enum sql_statement which, int *rc)
{
    struct pq_connection *c = connection_of(base);
    struct pq_row *row = &c->row[which];
    *rc = c->pg == NULL ? WEFT_ESYSTEM : WEFT_OK;
    row->base.driver = &pq_driver;
    row->of = c;
    row->which = which;
    row->at = -1;
    return *rc == WEFT_OK ? &row->base : NULL;
}

static void bind_bytes(struct sql_row *base, int at, bool is_text, const void *data, size_t size)
{
    struct pq_row *row = row_of(base);
    (void)is_text;
    assert(at >= 1 && at <= PQ_PARAMETERS);
    if (at > row->count) row->count = at;
    row->value[at - 1] = size > 0 ? data : ""; /* NULL would be SQL's NULL */
    row->length[at - 1] = (int)size;
    row->binary[at - 1] = 1;
    row->type[at - 1] = PQ_BYTEA;
}

static void bind_int(struct sql_row *base, int at, int64_t value)
{
    struct pq_row *row = row_of(base);
    pq_put_number(row->number[at - 1], value);
    bind_bytes(base, at, false, row->number[at - 1], 8);
    row->type[at - 1] = PQ_BIGINT;
}

/* ---- Running --------------------------------------------------------------------------------------------------- */

/* The statement with $1 where it has ?1, behind `before` and in front of `after`. */
static void write_text(const struct pq_row *row, const char *before, const char *after, char *out)
{
    int size = snprintf(out, TEXT_MAX, "%s%s%s", before, sql_text_of[row->which].text, after);
    assert(size > 0 && size < TEXT_MAX);
    for (int i = 0; i < size; i++)
        if (out[i] == '?') out[i] = '$';
}

static int send_prepared(struct pq_row *row, enum pq_kind kind, bool changes)
{
    struct pq_connection *c = row->of;
    char name[8], text[TEXT_MAX];
    int rc = pq_before(c, changes);
    if (rc < 0) return rc;
    snprintf(name, sizeof name, "s%d", (int)row->which);
    if (!row->prepared) {
        char limit[16] = "";
        if (sql_text_of[row->which].many) snprintf(limit, sizeof limit, " LIMIT %d", PQ_ROWS);
        write_text(row, "", limit, text);
        row->prepared = true;
        rc = pq_sent(c, PQsendPrepare(c->pg, name, text, row->count, row->type), PQ_PREPARE, row);
        if (rc < 0) return rc;
    }
    int sent = PQsendQueryPrepared(c->pg, name, row->count, row->value, row->length, row->binary, 1);
    return pq_sent(c, sent, kind, NULL);
}

static int fetch(struct pq_row *row)
{
    char text[32];
    snprintf(text, sizeof text, "FETCH %d FROM c%d", PQ_ROWS, (int)row->which);
    int rc = pq_send(row->of, text);
    return rc < 0 ? rc : pq_wait(row->of, &row->result);
}

/* Cursors live in a transaction: a reader that has none gets one, until its last cursor is closed. */
static int open_cursor(struct pq_row *row)
{
    struct pq_connection *c = row->of;
    char before[48], text[TEXT_MAX];
    if (!c->in_transaction) {
        c->in_transaction = c->own_transaction = true;
        (void)pq_send(c, "BEGIN");
    }
    int rc = pq_before(c, false);
    if (rc < 0) return rc;
    snprintf(before, sizeof before, "DECLARE c%d NO SCROLL CURSOR FOR ", (int)row->which);
    write_text(row, before, "", text);
    row->opened = true;
    c->cursors++;
    int sent = PQsendQueryParams(c->pg, text, row->count, row->type, row->value, row->length, row->binary, 1);
    return pq_sent(c, sent, PQ_PLAIN, NULL);
}

static void close_cursor(struct pq_row *row)
{
    struct pq_connection *c = row->of;
    char text[32];
    row->opened = false;
    c->cursors--;
    snprintf(text, sizeof text, "CLOSE c%d", (int)row->which);
    if (c->failed == WEFT_OK) (void)pq_send(c, text);
    if (!c->own_transaction || c->cursors > 0) return;
    c->own_transaction = c->in_transaction = false;
    (void)pq_send(c, "COMMIT");
    pq_push(c);
}

/* In a transaction, what is read does not change between two statements: the owner is the only one who writes, and readers
 * have a snapshot. So there the first rows need no cursor, which would be planned each time; mostly there are no more. */
static int first_of_many(struct pq_row *row)
{
    struct pq_connection *c = row->of;
    if (!c->in_transaction || c->own_transaction) {
        int rc = open_cursor(row);
        return rc < 0 ? rc : fetch(row);
    }
    int rc = send_prepared(row, PQ_PLAIN, false);
    return rc < 0 ? rc : pq_wait(c, &row->result);
}

/* What was wrong before a transaction began does not count in it. */
static void begin_anew(struct pq_connection *c)
{
    if (c->in_transaction) return;
    if (c->sent_count > 0) (void)pq_wait(c, NULL);
    c->failed = WEFT_OK;
}

static int take_asked(struct pq_row *row)
{
    struct pq_connection *c = row->of;
    int rc = c->taken < c->answered ? WEFT_OK : pq_wait(c, NULL);
    if (rc < 0) return rc;
    row->result = c->answer[c->taken++];
    if (c->taken == c->asked_count) pq_forget_answers(c);
    return WEFT_OK;
}

static int first_rows(struct pq_row *row)
{
    if (row->of->asked == row) return take_asked(row);
    begin_anew(row->of);
    if (sql_text_of[row->which].many) return first_of_many(row);
    int rc = send_prepared(row, PQ_PLAIN, false);
    return rc < 0 ? rc : pq_wait(row->of, &row->result);
}

static int next_rows(struct pq_row *row)
{
    char skip[32];
    PQclear(row->result);
    row->result = NULL;
    row->at = 0;
    if (row->opened) return fetch(row);
    int rc = open_cursor(row);
    snprintf(skip, sizeof skip, "MOVE %d FROM c%d", PQ_ROWS, (int)row->which);
    if (rc == WEFT_OK) rc = pq_send(row->of, skip);
    return rc < 0 ? rc : fetch(row);
}

static int step(struct sql_row *base)
{
    struct pq_row *row = row_of(base);
    int rc = WEFT_OK;
    row->at++;
    if (row->result == NULL) rc = first_rows(row);
    else if (row->at >= PQntuples(row->result) && PQntuples(row->result) == PQ_ROWS) rc = next_rows(row);
    if (rc < 0) return rc;
    return row->at < PQntuples(row->result) ? SQL_ROW : SQL_DONE;
}

static void reset(struct sql_row *base)
{
    struct pq_row *row = row_of(base);
    PQclear(row->result);
    row->result = NULL;
    row->at = -1;
    row->count = 0;
    if (row->opened) close_cursor(row);
}

static int ask(struct sql_row *base)
{
    struct pq_row *row = row_of(base);
    struct pq_connection *c = row->of;
    assert((c->asked == NULL || c->asked == row) && c->asked_count < SQL_AHEAD_MAX);
    c->asked = row;
    c->asked_count++;
    int rc = send_prepared(row, PQ_ASKED, false);
    reset(base);
    return rc;
}

static int run(struct sql_row *base, bool one)
{
    struct pq_row *row = row_of(base);
    int rc = send_prepared(row, one ? PQ_ONE : PQ_PLAIN, true);
    reset(base);
    return rc;
}

static int run_counted(struct sql_row *base, int64_t *changes)
{
    struct pq_row *row = row_of(base);
    int rc = send_prepared(row, PQ_PLAIN, true);
    if (rc == WEFT_OK) rc = pq_wait(row->of, &row->result);
    if (rc == WEFT_OK) *changes = strtoll(PQcmdTuples(row->result), NULL, 10);
    reset(base);
    return rc;
}

/* ---- Columns --------------------------------------------------------------------------------------------------- */

static int64_t get_int(struct sql_row *base, int at)
{
    const struct pq_row *row = row_of(base);
    bool is_number = row->at >= 0 && row->at < PQntuples(row->result) && PQgetlength(row->result, row->at, at) > 0;
    return is_number ? pq_number(row->result, row->at, at) : SQL_NO_NUMBER;
}

/* libpq adds a NUL to each value. */
static const void *get_bytes(struct sql_row *base, int at, size_t *size)
{
    struct pq_row *row = row_of(base);
    *size = 0;
    if (row->at < 0 || row->at >= PQntuples(row->result)) return NULL;
    *size = (size_t)PQgetlength(row->result, row->at, at);
    return PQgetvalue(row->result, row->at, at);
}

static const char *get_text(struct sql_row *base, int at)
{
    size_t size;
    const char *text = get_bytes(base, at, &size);
    return text != NULL && strlen(text) == size ? text : NULL;
}

/* ---- Readers --------------------------------------------------------------------------------------------------- */

static void disconnect(struct sql_connection *c)
{
    pq_disconnect(connection_of(c));
    free(c);
}

static int connect_reader(struct sql_store *s, struct sql_connection **out)
{
    struct pq_connection *c = calloc(1, sizeof *c);
    if (c == NULL) return WEFT_ENOMEM;
    int rc = pq_connect(c, &((struct pq_store *)s)->url, true, NULL);
    if (rc < 0) free(c);
    else *out = &c->base;
    return rc;
}

static bool is_usable(struct sql_connection *c)
{
    return pq_is_alive(connection_of(c));
}

static int begin_reading(struct sql_connection *base)
{
    struct pq_connection *c = connection_of(base);
    begin_anew(c);
    c->in_transaction = true;
    return pq_send(c, "BEGIN ISOLATION LEVEL REPEATABLE READ");
}

/* After an error COMMIT rolls back. */
static void end_reading(struct sql_connection *base)
{
    struct pq_connection *c = connection_of(base);
    c->in_transaction = false;
    (void)pq_send(c, "COMMIT");
    pq_push(c);
}

const struct sql_driver pq_driver = {
    .connect = connect_reader,
    .disconnect = disconnect,
    .is_usable = is_usable,
    .confirm = pq_confirm_beside,
    .prepare = prepare,
    .bind_int = bind_int,
    .bind_bytes = bind_bytes,
    .step = step,
    .get_int = get_int,
    .get_text = get_text,
    .get_bytes = get_bytes,
    .reset = reset,
    .run = run,
    .run_counted = run_counted,
    .ask = ask,
    .begin = pq_begin,
    .finish = pq_finish,
    .begin_reading = begin_reading,
    .end_reading = end_reading,
};
