/* transport/store/sql/sql_connection.c -- see sql_connection.h. */
#include <stdlib.h>

#include "sql_connection.h"
#include "sql_logs.h"
#include "sql_queues.h"
#include "sql_states.h"

bool sql_init(struct sql_store *s, const struct wf_store_engine *engine, const struct sql_driver *driver,
              bool read_only)
{
    s->base.engine = engine;
    s->driver = driver;
    s->read_only = read_only;
    s->cursors = -1;
    sqlite3_randomness(sizeof s->base.secret, &s->base.secret);
    s->lock = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
    return s->lock != NULL;
}

int sql_load(struct sql_store *s, struct wf_store_why *why)
{
    sqlite3_mutex_enter(s->lock);
    int rc = sql_logs_load(s, s->writer, why);
    sqlite3_mutex_leave(s->lock);
    s->cursors = -1;
    if (rc == WEFT_OK && !s->read_only) rc = sql_queues_load(s, why);
    if (rc == WEFT_OK && !s->read_only) rc = sql_states_load(s, why);
    return rc;
}

void sql_finish_store(struct sql_store *s)
{
    for (struct sql_connection *c = s->idle, *next; c != NULL; c = next) {
        next = c->next;
        s->driver->disconnect(c);
    }
    sql_logs_free(s);
    sql_queues_free(s);
    sqlite3_mutex_free(s->lock);
}

/* SQLite counts ms, or days, from the beginning of the Julian calendar. */
int64_t sql_clock(const char *name)
{
    enum { MS_OF_DAY = 86400000 };
    const int64_t begin = INT64_C(2440587) * MS_OF_DAY + MS_OF_DAY / 2; /* of 1970 */
    sqlite3_int64 ms = begin;
    double days;
    sqlite3_vfs *vfs = sqlite3_vfs_find(name);
    if (vfs == NULL) return 0;
    if (vfs->iVersion >= 2 && vfs->xCurrentTimeInt64 != NULL) (void)vfs->xCurrentTimeInt64(vfs, &ms);
    else if (vfs->xCurrentTime(vfs, &days) == SQLITE_OK) ms = (sqlite3_int64)(days * MS_OF_DAY);
    return (ms - begin) * 1000000;
}

static struct sql_connection *take_idle(struct sql_store *s)
{
    sqlite3_mutex_enter(s->lock);
    struct sql_connection *c = s->idle;
    if (c != NULL) s->idle = c->next, s->idle_count--;
    sqlite3_mutex_leave(s->lock);
    return c;
}

struct sql_connection *sql_borrow(struct sql_store *s, int *rc)
{
    struct sql_connection *c;
    *rc = WEFT_OK;
    while ((c = take_idle(s)) != NULL) {
        if (s->driver->is_usable == NULL || s->driver->is_usable(c)) return c;
        s->driver->disconnect(c);
    }
    *rc = s->driver->connect(s, &c);
    return *rc == WEFT_OK ? c : NULL;
}

void sql_give_back(struct sql_store *s, struct sql_connection *c)
{
    sqlite3_mutex_enter(s->lock);
    bool keep = s->idle_count < SQL_READERS_MAX;
    if (keep) c->next = s->idle, s->idle = c, s->idle_count++;
    sqlite3_mutex_leave(s->lock);
    if (!keep) s->driver->disconnect(c);
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
