/* transport/store/sqlite_check.c -- reads the whole store, and reports damage. */
#include <stdio.h>
#include <string.h>

#include "sqlite_check.h"
#include "sqlite_connection.h"
#include "sqlite_cursors.h"
#include "sqlite_queues.h"
#include "sqlite_read.h"
#include "sqlite_states_read.h"
#include "sqlite_workers.h"

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
        int rc = sq_read(c->s, log.topic, next, WF_STORE_BATCH_MAX, WF_STORE_BATCH_BYTES_MAX, ignore_record, &last,
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

/* SQLite's own check: pages, and the order of keys. */
static void check_pages(struct checking *c)
{
    int code;
    struct sq_connection *connection = sq_borrow(sq_of(c->s), &code);
    sqlite3_stmt *row = NULL;
    if (connection != NULL) code = sqlite3_prepare_v2(connection->db, "PRAGMA integrity_check(100)", -1, &row, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 0);
        if (text != NULL && strcmp(text, "ok") != 0) say(c, NULL, 0, text);
        code = SQLITE_OK;
    }
    sqlite3_finalize(row);
    if (code != SQLITE_DONE && sq_error(code) != WEFT_EFORMAT) c->rc = sq_error(code);
    else if (code != SQLITE_DONE) say(c, NULL, 0, "pages of the file are damaged");
    if (connection != NULL) sq_give_back(sq_of(c->s), connection);
}

int sq_check(struct wf_store *s, wf_store_each_fault *each, void *arg)
{
    struct checking c = {.s = s, .each = each, .arg = arg};
    check_pages(&c);
    if (c.rc == WEFT_OK) {
        int rc = sq_list(s, NULL, check_log, &c);
        if (rc == WEFT_EFORMAT) say(&c, NULL, 0, "the table of logs is damaged");
        else if (rc < 0) c.rc = rc;
    }
    int cursors = c.rc < 0 ? c.rc : sq_check_cursors(s, each, arg);
    int jobs = cursors < 0 ? cursors : sq_check_jobs(s, each, arg);
    int workers = jobs < 0 ? jobs : sq_check_workers(s, each, arg);
    int states = workers < 0 ? workers : sq_check_states(s, each, arg);
    return states < 0 ? states : c.faults + cursors + jobs + workers + states;
}
