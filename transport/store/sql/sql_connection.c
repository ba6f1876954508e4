/* transport/store/sql/sql_connection.c -- see sql_connection.h. */
#include "sql_connection.h"

static struct sql_connection *take_idle(struct sql_store *s)
{
    sqlite3_mutex_enter(s->lock);
    struct sql_connection *c = s->idle;
    if (c != NULL) s->idle = c->next, s->idle_count--;
    sqlite3_mutex_leave(s->lock);
    return c;
}

static unsigned server_now(struct sql_store *s)
{
    sqlite3_mutex_enter(s->lock);
    unsigned server = s->server;
    sqlite3_mutex_leave(s->lock);
    return server;
}

struct sql_connection *sql_borrow(struct sql_store *s, int *rc)
{
    struct sql_connection *c;
    *rc = WEFT_OK;
    const unsigned server = server_now(s);
    /* What has ended one of them has probably ended all, and to find that out may take as long as an answer may take. */
    for (bool one_ended = false; (c = take_idle(s)) != NULL; s->driver->disconnect(c)) {
        if (c->server != server || one_ended) continue;
        if (s->driver->is_usable == NULL || s->driver->is_usable(c)) return c;
        one_ended = true;
    }
    *rc = s->driver->connect(s, &c);
    if (*rc == WEFT_ESYSTEM) atomic_store(&s->base.is_doubted, true);
    if (*rc < 0) return NULL;
    c->server = server;
    return c;
}

int sql_confirm(struct sql_store *s, struct sql_connection *c)
{
    int rc = WEFT_OK;
    struct sql_connection *borrowed = NULL;
    if (s->read_only || s->driver->confirm == NULL) return WEFT_OK;
    if (c == NULL) c = borrowed = sql_borrow(s, &rc);
    if (c == NULL) return sql_error(rc);
    rc = s->driver->confirm(s, c);
    if (rc == WEFT_ESYSTEM) atomic_store(&s->base.is_doubted, true);
    if (borrowed != NULL) sql_give_back(s, borrowed);
    return rc;
}

void sql_give_back(struct sql_store *s, struct sql_connection *c)
{
    sqlite3_mutex_enter(s->lock);
    bool keep = s->idle_count < SQL_READERS_MAX;
    if (keep) c->next = s->idle, s->idle = c, s->idle_count++;
    sqlite3_mutex_leave(s->lock);
    if (!keep) s->driver->disconnect(c);
}

struct sql_row *sql_query(struct sql_store *s, enum sql_statement which, struct sql_connection **c, int *code)
{
    *c = sql_borrow(s, code);
    struct sql_row *row = *c == NULL ? NULL : sql_prepare(*c, which, code);
    if (row == NULL && *c != NULL) sql_give_back(s, *c);
    return row;
}

void sql_query_end(struct sql_store *s, struct sql_connection *c, struct sql_row *row)
{
    if (row == NULL) return;
    sql_reset(row);
    sql_give_back(s, c);
}

int sql_begin(struct sql_store *s)
{
    if (s->read_only) return WEFT_EACCESS;
    return s->broken ? WEFT_ESYSTEM : s->driver->begin(s);
}

int sql_finish(struct sql_store *s, int rc)
{
    return s->driver->finish(s, rc);
}

int sql_run_of(struct sql_store *s, enum sql_statement which, uint64_t id)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, which, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)id);
    return sql_run(row);
}
