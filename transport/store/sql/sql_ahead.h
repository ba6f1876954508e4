/* transport/store/sql/sql_ahead.h -- runs the items of a batch in order, where each item first reads one row. A
 * driver that waits for answers (sql_driver.ask) gets the reads of many items at once, so that the batch waits
 * once for all of them. */
#ifndef WF_STORE_SQL_AHEAD_H
#define WF_STORE_SQL_AHEAD_H

#include "sql_row.h"

struct sql_ahead {
    enum sql_statement read; /* the statement that reads the row of an item */
    /* Whether the row of item `at` is read, and cannot be changed by the items from `first` on that come before
     * it. */
    bool (*may_ask)(const void *batch, size_t first, size_t at);
    void (*bind)(struct sql_row *row, const void *batch, size_t at);
    int (*run)(void *arg, void *batch, size_t at); /* runs an item; an error ends the batch */
};

/* Returns 0 or a WEFT_E*. Only the writer calls it. */
int sql_run_batch(struct sql_store *s, const struct sql_ahead *a, void *arg, void *batch, size_t count);

#endif
