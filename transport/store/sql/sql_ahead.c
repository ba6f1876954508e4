/* transport/store/sql/sql_ahead.c -- see sql_ahead.h. */
#include "sql_ahead.h"

/* Asks for the rows of the items from `*next` on, up to the first that does not allow it; `*next` becomes this item. */
static int ask_rows(struct sql_store *s, const struct sql_ahead *a, const void *batch, size_t *next, size_t count)
{
    int rc = WEFT_OK;
    size_t first = *next, end = count - first > SQL_AHEAD_MAX ? first + SQL_AHEAD_MAX : count;
    for (size_t at = first; at < end && rc == WEFT_OK && a->may_ask(batch, first, at); *next = ++at) {
        struct sql_row *row = sql_prepare(s->writer, a->read, &rc);
        if (row == NULL) break;
        a->bind(row, batch, at);
        rc = s->driver->ask(row);
    }
    return rc;
}

int sql_run_batch(struct sql_store *s, const struct sql_ahead *a, void *arg, void *batch, size_t count)
{
    int rc = WEFT_OK;
    for (size_t i = 0, next = 0; i < count && rc == WEFT_OK; i++) {
        if (i > next) next = i;
        if (i == next && s->driver->ask != NULL) rc = ask_rows(s, a, batch, &next, count);
        if (rc == WEFT_OK) rc = a->run(arg, batch, i);
    }
    return rc;
}
