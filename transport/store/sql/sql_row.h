/* transport/store/sql/sql_row.h -- statements and their rows: the driver's functions, as they are called. */
#ifndef WF_STORE_SQL_ROW_H
#define WF_STORE_SQL_ROW_H

#include <string.h>

#include "sql.h"

/* Returns the statement, ready to be bound; NULL: *rc is the error. */
static inline struct sql_row *sql_prepare(struct sql_connection *c, enum sql_statement which, int *rc)
{
    return c->driver->prepare(c, which, rc);
}

static inline void sql_bind_int(struct sql_row *row, int at, int64_t value)
{
    row->driver->bind_int(row, at, value);
}

static inline void sql_bind_text(struct sql_row *row, int at, const char *text)
{
    row->driver->bind_bytes(row, at, true, text, strlen(text));
}

static inline void sql_bind_bytes(struct sql_row *row, int at, const void *data, size_t size)
{
    row->driver->bind_bytes(row, at, false, data, size);
}

static inline int sql_step(struct sql_row *row)
{
    return row->driver->step(row);
}

static inline int64_t sql_int(struct sql_row *row, int at)
{
    return row->driver->get_int(row, at);
}

static inline const char *sql_text(struct sql_row *row, int at)
{
    return row->driver->get_text(row, at);
}

static inline const void *sql_bytes(struct sql_row *row, int at, size_t *size)
{
    return row->driver->get_bytes(row, at, size);
}

static inline void sql_reset(struct sql_row *row)
{
    row->driver->reset(row);
}

static inline int sql_run(struct sql_row *row)
{
    return row->driver->run(row, false);
}

static inline int sql_run_one(struct sql_row *row)
{
    return row->driver->run(row, true);
}

#endif
