/* transport/store/sql/sql_store.c -- see sql_store.h. */
#include "sql_logs.h"
#include "sql_queue.h"
#include "sql_queues.h"
#include "sql_states.h"
#include "sql_store.h"

bool sql_init(struct sql_store *s, const struct wf_store_engine *engine, const struct sql_driver *driver,
              bool read_only)
{
    s->base.engine = engine;
    s->driver = driver;
    s->read_only = read_only;
    s->cursors = -1;
    sqlite3_randomness(sizeof s->base.secret, &s->base.secret);
    s->lock = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
    s->queue_lock = sqlite3_mutex_alloc(SQLITE_MUTEX_RECURSIVE);
    return s->lock != NULL && s->queue_lock != NULL;
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

void sql_server_changed(struct sql_store *s)
{
    sqlite3_mutex_enter(s->lock);
    s->server++;
    sqlite3_mutex_leave(s->lock);
}

bool sql_is_lost(const struct wf_store *s)
{
    const struct sql_store *store = (const struct sql_store *)s;
    return store->broken || store->away;
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
    sqlite3_mutex_free(s->queue_lock);
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
