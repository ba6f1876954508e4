/* transport/store/sql/sql_check.c -- reads everything, and says what is damaged. */
#include <stdio.h>
#include <string.h>

#include "sql_block.h"
#include "sql_check.h"
#include "sql_connection.h"
#include "sql_cursors.h"
#include "sql_logs.h"
#include "sql_queues.h"
#include "sql_read.h"
#include "sql_reminders.h"
#include "sql_states_read.h"
#include "sql_workers.h"

enum { UNREADABLE_MAX = 1000 }; /* records of one log that are tried although the table cannot be read there */

struct checking {
    struct wf_store *s;
    wf_store_each_fault *each;
    void *arg;
    int faults, rc;
    int unreadable; /* records of this log */
};

static void say(struct checking *c, const char *topic, uint64_t offset, const char *text)
{
    c->faults++;
    c->each(c->arg, topic, offset, text);
}

static bool ignore_record(void *arg, const struct wf_store_record *r)
{
    *(uint64_t *)arg = r->offset;
    return true;
}

/* The first record of the log that the table has, from `from` on; behind the last one of the log if there is none. A log may
 * say that it has any number of records, so they are not looked for one by one. */
static int find_next(struct sql_store *s, const struct wf_store_log *log, uint64_t from, uint64_t *out)
{
    int rc;
    struct sql_connection *c;
    struct sql_row *row = sql_query(s, SQL_RECORD_SIZES, &c, &rc);
    if (row == NULL) return sql_error(rc);
    sqlite3_mutex_enter(s->lock);
    const int64_t first = sql_log_find(s, log->topic)->id << SQL_OFFSET_BITS;
    sqlite3_mutex_leave(s->lock);
    sql_bind_int(row, 1, first | (int64_t)from);
    sql_bind_int(row, 2, first | (int64_t)log->last);
    rc = sql_step(row);
    const uint64_t begin = rc == SQL_ROW ? sql_records_first(row) : log->last + 1;
    *out = begin > from ? begin : from;
    sql_query_end(s, c, row);
    return sql_error(rc);
}

/* Says what is wrong at the record `*next`, and goes on behind it. */
static int pass_fault(struct checking *c, const struct wf_store_log *log, uint64_t *next)
{
    char text[64];
    uint64_t present = *next;
    int rc = find_next(sql_of(c->s), log, *next, &present);
    if (rc < 0 && rc != WEFT_EFORMAT) return rc;
    if (rc == WEFT_EFORMAT && ++c->unreadable == UNREADABLE_MAX) present = log->last + 1;
    if (present <= *next + 1) {
        say(c, log->topic, *next, "the record is damaged or missing");
        ++*next;
        return WEFT_OK;
    }
    snprintf(text, sizeof text, "the records up to %llu %s", (unsigned long long)present - 1,
             rc == WEFT_OK ? "are missing" : "cannot be read");
    say(c, log->topic, *next, text);
    *next = present;
    return WEFT_OK;
}

static bool check_log(void *arg, const struct wf_store_log *is)
{
    struct checking *c = arg;
    struct wf_store_log log = *is;
    uint64_t next = log.first;
    c->unreadable = 0;
    while (next <= log.last) {
        uint64_t last = next - 1;
        int rc = sql_read(c->s, log.topic, next, WF_STORE_BATCH_MAX, WF_STORE_BATCH_BYTES_MAX, ignore_record, &last,
                          &log);
        if (rc == WEFT_EFORMAT) rc = pass_fault(c, &log, &next);
        else next = last + 1;
        if (rc < 0) {
            c->rc = rc;
            return false;
        }
        if (next < log.first) next = log.first;
    }
    return true;
}

/* The database's own check. */
static void check_database(struct checking *c)
{
    struct sql_store *s = sql_of(c->s);
    if (s->driver->check == NULL) return;
    int rc;
    struct sql_connection *connection = sql_borrow(s, &rc);
    if (connection != NULL) {
        rc = s->driver->check(connection, c->each, c->arg);
        sql_give_back(s, connection);
    }
    if (rc < 0) c->rc = rc;
    else c->faults += rc;
}

static void count_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    say(arg, topic, offset, text);
}

/* A part whose tables cannot be read is damaged. The check of the database may have found no fault, as it does not know
 * which columns they should have. */
static const struct {
    int (*check)(struct wf_store *s, wf_store_each_fault *each, void *arg);
    const char *damaged;
} parts[] = {
    {sql_check_cursors, "the table of cursors is damaged"},
    {sql_check_jobs, "the tables of queues are damaged"},
    {sql_check_workers, "the table of workers is damaged"},
    {sql_check_reminders, "the table of reminders is damaged"},
    {sql_check_states, "the tables of states are damaged"},
};

int sql_check(struct wf_store *s, wf_store_each_fault *each, void *arg)
{
    struct checking c = {.s = s, .each = each, .arg = arg};
    check_database(&c);
    if (c.rc == WEFT_OK) {
        int rc = sql_list(s, NULL, check_log, &c);
        if (rc == WEFT_EFORMAT) say(&c, NULL, 0, "the table of logs is damaged");
        else if (rc < 0) c.rc = rc;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts && c.rc == WEFT_OK; i++) {
        int rc = parts[i].check(s, count_fault, &c);
        if (rc == WEFT_EFORMAT) say(&c, NULL, 0, parts[i].damaged);
        else if (rc < 0) c.rc = rc;
    }
    return c.rc < 0 ? c.rc : c.faults;
}
