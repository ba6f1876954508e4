/* transport/store/sql/sql_counts.c -- see sql_counts.h.
 *
 * Design notes.
 * (1) The owner of a store keeps the counts in memory. They change with each job that the writer changes, so to
 *     ask for them costs the same with a thousand jobs and with a million.
 * (2) Jobs become ready, and leases end, when time passes, which writes nothing. So the counts are those of a
 *     time, `seen`. A question for a later one moves it there: it reads the jobs that have become due in between
 *     from an index. So each job is read once for each time that it gets, however often the counts are asked for.
 *     `later_from` is not later than the first of the times behind `seen`, so nothing is read before that.
 * (3) `queue_lock` is held while a batch of changes is stored, and while the counts are moved: what is read from
 *     the index has the changes that the counts have.
 * (4) When a commit of changes has no answer, nobody knows whether these counts have its changes until the writer has
 *     connected again, and loaded them.
 * (5) A store that is open read-only, for a tool, reads all jobs: others may change them meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_connection.h"
#include "sql_counts.h"
#include "sql_queue.h"
#include "stored_topic.h"

/* ---- One queue ------------------------------------------------------------------------------------------------- */

static uint64_t *count_of(struct sql_counts *c, bool dead, bool later, bool leased)
{
    return dead ? &c->dead : !later ? &c->ready : leased ? &c->leased : &c->delayed;
}

/* Damage can have made a count too low. */
static void take_from(uint64_t *count, uint64_t jobs)
{
    *count -= jobs < *count ? jobs : *count;
}

void sql_count_job(struct sql_queue *q, const struct wf_store_job *was, const struct wf_store_job *is)
{
    if (was != NULL) take_from(count_of(&q->will, was->dead, was->due > q->seen, was->lease != 0), 1);
    if (is == NULL) return;
    ++*count_of(&q->will, is->dead, is->due > q->seen, is->lease != 0);
    if (!is->dead && is->due > q->seen && is->due < q->later_from) q->later_from = is->due;
}

/* The jobs that are due from `low` on, without `low` itself, to `high`. */
static int count_between(struct sql_connection *c, const char *name, int64_t low, int64_t high, uint64_t *delayed,
                         uint64_t *leased)
{
    int rc;
    struct sql_row *row = sql_prepare(c, SQL_DUE_BETWEEN, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_text(row, 1, name);
    sql_bind_int(row, 2, low);
    sql_bind_int(row, 3, high);
    *delayed = *leased = 0;
    while ((rc = sql_step(row)) == SQL_ROW) *(sql_int(row, 0) != 0 ? leased : delayed) += (uint64_t)sql_int(row, 1);
    sql_reset(row);
    return sql_error(rc);
}

int sql_next_due(struct sql_connection *c, const char *queue, int64_t now, int64_t *out)
{
    int rc;
    struct sql_row *row = sql_prepare(c, SQL_NEXT_DUE, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_text(row, 1, queue);
    sql_bind_int(row, 2, now);
    rc = sql_step(row);
    *out = rc == SQL_ROW ? sql_int(row, 0) : INT64_MAX;
    sql_reset(row);
    return sql_error(rc);
}

static bool is_at(const struct sql_queue *q, int64_t now)
{
    bool has_later = q->is.delayed > 0 || q->is.leased > 0;
    return now == q->seen || (now > q->seen && (!has_later || now < q->later_from));
}

/* Moves the counts of the queue to the time `now`, which is earlier than theirs if the clock was set. */
static int move_to(struct sql_connection *c, struct sql_queue *q, int64_t now)
{
    const bool on = now > q->seen;
    uint64_t delayed = 0, leased = 0;
    int64_t later = INT64_MAX;
    int rc = count_between(c, q->name, on ? q->seen : now, on ? now : q->seen, &delayed, &leased);
    if (rc == WEFT_OK) rc = sql_next_due(c, q->name, now, &later);
    if (rc < 0) return rc;
    if (on) {
        take_from(&q->is.delayed, delayed);
        take_from(&q->is.leased, leased);
        q->is.ready += delayed + leased;
    } else {
        take_from(&q->is.ready, delayed + leased);
        q->is.delayed += delayed;
        q->is.leased += leased;
    }
    q->seen = now;
    q->later_from = later;
    return WEFT_OK;
}

/* ---- All queues ------------------------------------------------------------------------------------------------ */

/* A row is the number of jobs of one queue that are in the same state. */
static bool read_row(struct sql_row *row, const char **name, struct sql_counts *add)
{
    bool dead = sql_int(row, 1) != 0, leased = sql_int(row, 2) != 0, later = sql_int(row, 3) != 0;
    *name = sql_text(row, 0);
    *add = (struct sql_counts){0};
    *count_of(add, dead, later, leased) = (uint64_t)sql_int(row, 4);
    return wf_store_topic_ok(*name); /* else the row is damaged: check finds it, and nobody gets that job */
}

static void add_counts(struct sql_counts *to, const struct sql_counts *add)
{
    to->ready += add->ready;
    to->delayed += add->delayed;
    to->leased += add->leased;
    to->dead += add->dead;
}

int sql_counts_load(struct sql_store *s)
{
    int code, rc = WEFT_OK;
    struct sql_row *row = sql_prepare(s->writer, SQL_QUEUES, &code);
    if (row == NULL) return sql_error(code);
    sql_bind_int(row, 1, 0);
    while (rc == WEFT_OK && (code = sql_step(row)) == SQL_ROW) {
        const char *name;
        struct sql_counts add;
        if (!read_row(row, &name, &add)) continue;
        struct sql_queue *q = sql_queue_find(s, name);
        if (q == NULL) q = sql_queue_add(s, name);
        if (q == NULL) rc = WEFT_ENOMEM;
        if (q == NULL) continue;
        add_counts(&q->is, &add);
        q->later_from = 0; /* it is not known */
    }
    sql_reset(row);
    return rc < 0 ? rc : sql_error(code);
}

static struct wf_store_queue counts_of(const char *name, const struct sql_counts *c)
{
    struct wf_store_queue out = {.ready = c->ready, .delayed = c->delayed, .leased = c->leased, .dead = c->dead};
    snprintf(out.name, sizeof out.name, "%s", name);
    return out;
}

static int give_counts(struct sql_store *s, const char *after, int64_t now, wf_store_each_queue *each, void *arg)
{
    int rc = WEFT_OK;
    bool goes_on = true;
    struct sql_connection *c = NULL; /* it is borrowed when it is needed */
    sqlite3_mutex_enter(s->queue_lock);
    if (s->counts_unknown) {
        atomic_store(&s->base.is_doubted, true);
        rc = WEFT_ESYSTEM;
    }
    for (size_t i = sql_queue_behind(s, after); goes_on && rc == WEFT_OK && i < s->queues; i++) {
        struct sql_queue *q = s->queue[i];
        int code = SQL_DONE;
        if (!is_at(q, now) && c == NULL) c = sql_borrow(s, &code);
        rc = is_at(q, now) ? WEFT_OK : c == NULL ? sql_error(code) : move_to(c, q, now);
        const struct wf_store_queue is = counts_of(q->name, &q->is);
        if (rc == WEFT_OK) goes_on = each(arg, &is);
    }
    sqlite3_mutex_leave(s->queue_lock);
    if (rc == WEFT_OK) rc = sql_confirm(s, c);
    if (c != NULL) sql_give_back(s, c);
    return rc;
}

/* ---- Tools ----------------------------------------------------------------------------------------------------- */

static int scan(struct sql_store *s, const char *after, int64_t now, wf_store_each_queue *each, void *arg)
{
    struct sql_connection *c;
    int rc;
    bool goes_on = true;
    struct wf_store_queue is = {.name = ""};
    struct sql_counts sum = {0};
    struct sql_row *row = sql_query(s, SQL_QUEUES, &c, &rc);
    if (row == NULL) return sql_error(rc);
    sql_bind_int(row, 1, now);
    while (goes_on && (rc = sql_step(row)) == SQL_ROW) {
        const char *name;
        struct sql_counts add;
        if (!read_row(row, &name, &add) || strcmp(name, after) <= 0) continue;
        if (strcmp(name, is.name) != 0) {
            if (is.name[0] != '\0') goes_on = each(arg, &is);
            sum = (struct sql_counts){0};
        }
        add_counts(&sum, &add);
        is = counts_of(name, &sum);
    }
    sql_query_end(s, c, row);
    if (sql_error(rc) == WEFT_OK && goes_on && is.name[0] != '\0') (void)each(arg, &is);
    return sql_error(rc);
}

int sql_queues(struct wf_store *store, const char *after, int64_t now, wf_store_each_queue *each, void *arg)
{
    struct sql_store *s = sql_of(store);
    if (!s->has_queues) return WEFT_OK;
    return s->read_only ? scan(s, after, now, each, arg) : give_counts(s, after, now, each, arg);
}
