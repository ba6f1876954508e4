/* transport/store/sql/sql_reminders.c -- see sql_reminders.h. */
#include <stdio.h>
#include <string.h>

#include "crc32c.h"
#include "sql_connection.h"
#include "sql_jobs.h"
#include "sql_reminders.h"
#include "stored_topic.h"

static int64_t reminder_sum(const char *queue, const struct sql_reminder *r)
{
    uint64_t numbers[] = {r->job, (uint64_t)r->at, (uint64_t)r->period};
    uint32_t sum = wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), queue, strlen(queue) + 1);
    return wf_crc32c(sum, r->key, strlen(r->key));
}

/* Reads the columns of a reminder, from `at` on. False: it is damaged. */
static bool read_reminder(struct sql_row *row, int at, const char **queue, struct sql_reminder *out)
{
    const char *key = sql_text(row, at + 1);
    *queue = sql_text(row, at);
    *out = (struct sql_reminder){
        .job = (uint64_t)sql_int(row, at + 2), .at = sql_int(row, at + 3), .period = sql_int(row, at + 4)};
    if (!wf_store_topic_ok(*queue) || !wf_store_key_ok(key)) return false;
    snprintf(out->key, sizeof out->key, "%s", key);
    return sql_int(row, at + 5) == reminder_sum(*queue, out) && out->at >= 0 && out->period >= 0;
}

/* Steps a bound statement to its only row. */
static int read_one(struct sql_row *row, const char *queue, struct sql_reminder *out, enum sql_found *found)
{
    const char *of;
    int rc = sql_step(row);
    *found = SQL_NO_REMINDER;
    if (rc == SQL_ROW) {
        bool fine = read_reminder(row, 0, &of, out) && strcmp(of, queue) == 0;
        *found = fine ? SQL_A_REMINDER : SQL_DAMAGED_REMINDER;
    }
    sql_reset(row);
    return sql_error(rc);
}

int sql_reminder_find(struct sql_store *s, const char *queue, const char *key, struct sql_reminder *out,
                      enum sql_found *found)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_REMINDER, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, queue);
    sql_bind_text(row, 2, key);
    return read_one(row, queue, out, found);
}

int sql_reminder_of_job(struct sql_store *s, const char *queue, uint64_t job, struct sql_reminder *out,
                        enum sql_found *found)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_REMINDER_OF_JOB, &rc);
    if (row == NULL) return rc;
    sql_bind_int(row, 1, (int64_t)job);
    return read_one(row, queue, out, found);
}

int sql_reminder_write(struct sql_store *s, const char *queue, const struct sql_reminder *r)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_WRITE_REMINDER, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, queue);
    sql_bind_text(row, 2, r->key);
    sql_bind_int(row, 3, (int64_t)r->job);
    sql_bind_int(row, 4, r->at);
    sql_bind_int(row, 5, r->period);
    sql_bind_int(row, 6, reminder_sum(queue, r));
    return sql_run_one(row);
}

int sql_reminder_delete(struct sql_store *s, const char *queue, const char *key)
{
    int rc;
    struct sql_row *row = sql_prepare(s->writer, SQL_DELETE_REMINDER, &rc);
    if (row == NULL) return rc;
    sql_bind_text(row, 1, queue);
    sql_bind_text(row, 2, key);
    return sql_run(row);
}

int64_t sql_reminder_next(const struct sql_reminder *r, int64_t now)
{
    if (r->at > now) return r->at;
    int64_t past = (now - r->at) % r->period; /* no overflow: no time is before 1970 */
    return now > INT64_MAX - r->period ? INT64_MAX : now - past + r->period;
}

/* ---- Readers --------------------------------------------------------------------------------------------------- */

int sql_reminders(struct wf_store *store, const char *queue, const char *key, wf_store_each_reminder *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    struct sql_connection *c;
    int rc;
    bool goes_on = true;
    if (!s->has_reminders) return WEFT_OK;
    struct sql_row *row = sql_query(s, SQL_REMINDERS, &c, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_text(row, 1, queue);
    sql_bind_text(row, 2, key);
    while (goes_on && (rc = sql_step(row)) == SQL_ROW) {
        struct wf_store_reminder r = {.at = 0};
        struct sql_reminder is;
        const char *of, *in;
        if (!sql_job_read(row, &r.job, &in) || !read_reminder(row, 9, &of, &is) || strcmp(in, of) != 0) continue;
        snprintf(r.queue, sizeof r.queue, "%s", of);
        memcpy(r.key, is.key, sizeof r.key);
        r.at = is.at;
        r.period = is.period;
        goes_on = each(arg, &r);
    }
    sql_query_end(s, c, row);
    return sql_error(rc);
}

/* Says what is wrong with the row, if anything is. */
static void check_row(struct sql_row *row, wf_store_each_fault *each, void *arg)
{
    struct sql_reminder r;
    const char *queue;
    bool fine = read_reminder(row, 0, &queue, &r);
    if (fine && sql_int(row, 6) != 0) return;
    each(arg, wf_store_topic_ok(queue) ? queue : NULL, r.job,
         fine ? "the job of the reminder is missing" : "the reminder of the job is damaged");
}

int sql_check_reminders(struct wf_store *store, wf_store_each_fault *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    int code;
    if (!s->has_reminders) return WEFT_OK;
    struct sql_connection *c;
    struct sql_row *row = sql_query(s, SQL_ALL_REMINDERS, &c, &code);
    while (row != NULL && (code = sql_step(row)) == SQL_ROW) check_row(row, each, arg);
    sql_query_end(s, c, row);
    return sql_error(code);
}
