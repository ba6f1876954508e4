/* transport/store/sql/sql_check.c -- reads everything, and says what is damaged. */
#include <stdio.h>
#include <string.h>

#include "sql_check.h"
#include "sql_connection.h"
#include "sql_cursors.h"
#include "sql_queues.h"
#include "sql_read.h"
#include "sql_reminders.h"
#include "sql_states_read.h"
#include "sql_workers.h"

struct checking {
    struct wf_store *s;
    wf_store_each_fault *each;
    void *arg;
    int faults, rc;
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

static bool check_log(void *arg, const struct wf_store_log *is)
{
    struct checking *c = arg;
    struct wf_store_log log = *is;
    uint64_t next = log.first;
    while (next <= log.last) {
        uint64_t last = next - 1;
        int rc = sql_read(c->s, log.topic, next, WF_STORE_BATCH_MAX, WF_STORE_BATCH_BYTES_MAX, ignore_record, &last,
                          &log);
        if (rc < 0 && rc != WEFT_EFORMAT) {
            c->rc = rc;
            return false;
        }
        if (rc < 0) say(c, log.topic, next, "the record is damaged or missing");
        next = rc < 0 ? next + 1 : last + 1;
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

int sql_check(struct wf_store *s, wf_store_each_fault *each, void *arg)
{
    struct checking c = {.s = s, .each = each, .arg = arg};
    check_database(&c);
    if (c.rc == WEFT_OK) {
        int rc = sql_list(s, NULL, check_log, &c);
        if (rc == WEFT_EFORMAT) say(&c, NULL, 0, "the table of logs is damaged");
        else if (rc < 0) c.rc = rc;
    }
    int cursors = c.rc < 0 ? c.rc : sql_check_cursors(s, each, arg);
    int jobs = cursors < 0 ? cursors : sql_check_jobs(s, each, arg);
    int workers = jobs < 0 ? jobs : sql_check_workers(s, each, arg);
    int reminders = workers < 0 ? workers : sql_check_reminders(s, each, arg);
    int states = reminders < 0 ? reminders : sql_check_states(s, each, arg);
    return states < 0 ? states : c.faults + cursors + jobs + workers + reminders + states;
}
