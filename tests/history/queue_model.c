/* tests/history/queue_model.c -- see queue_model.h. */
#include "queue_model.h"

#include <string.h>

enum phase { NOT_PUT, READY, LEASED, DEAD, IS_DONE };

struct job {
    uint32_t phase, attempts;
    uint64_t id, put, lease, grant; /* id 0: it is not known yet */
    uint64_t is_due;                /* it can be taken */
};

static void init(void *state)
{
    memset(state, 0, sizeof(struct job));
}

static bool has_id(struct job *j, uint64_t id)
{
    if (j->id == 0) j->id = id;
    return j->id == id;
}

static bool is_there(const struct job *j)
{
    return j->phase == READY || j->phase == LEASED;
}

/* Takings that nobody knows of may have used up its attempts; the next one finds that and kills the job. */
static bool may_be_dead(const struct job *j, uint64_t hidden)
{
    return j->phase == DEAD || (is_there(j) && j->is_due && j->attempts + hidden >= JOB_ATTEMPTS);
}

static bool is_mine(const struct job *j, uint64_t lease)
{
    return j->phase == LEASED && j->lease == lease;
}

static bool may_be_refused(const struct job *j, uint64_t lease, uint64_t hidden)
{
    return !is_mine(j, lease) || (j->is_due && (hidden > 0 || may_be_dead(j, hidden)));
}

static void let_wait(struct job *j, bool is_due, uint64_t grant)
{
    j->phase = READY;
    j->lease = 0;
    j->is_due = is_due;
    j->grant = grant;
}

static void give_back(struct job *j, bool is_due, uint64_t grant)
{
    let_wait(j, is_due, grant);
    if (j->attempts >= JOB_ATTEMPTS) j->phase = DEAD;
}

static bool put(struct job *j, const struct lin_op *op)
{
    if (j->phase != NOT_PUT) return op->status == LIN_OK && has_id(j, op->out);
    j->id = op->status == LIN_OK ? op->out : 0;
    j->put = op->in[0];
    let_wait(j, op->in[1] == 0, op->in[2]);
    return true;
}

static bool take(struct job *j, const struct lin_op *op)
{
    uint64_t next = j->attempts + UINT64_C(1);
    if (!is_there(j) || !j->is_due || !has_id(j, op->in[0]) || j->put != op->in[1]) return false;
    if (op->out < next || op->out > next + op->in[3] || op->out > JOB_ATTEMPTS) return false;
    j->phase = LEASED;
    j->attempts = (uint32_t)op->out;
    j->lease = j->grant = op->in[2];
    j->is_due = false;
    return true;
}

/* Done, return and extend. */
static bool with_lease(struct job *j, const struct lin_op *op)
{
    if (op->status == LIN_OK && op->out == 0) return may_be_refused(j, op->in[0], op->in[3]);
    if (!is_mine(j, op->in[0])) return false;
    if (op->what == JOB_DONE) {
        let_wait(j, false, 0);
        j->phase = IS_DONE;
    } else if (op->what == JOB_RETURN) {
        give_back(j, op->in[1] == 0, op->in[2]);
    } else {
        j->is_due = false;
        j->grant = op->in[2];
    }
    return true;
}

static bool due(struct job *j, const struct lin_op *op)
{
    if (!is_there(j) || j->is_due || j->grant != op->in[0]) return false;
    j->is_due = true;
    return true;
}

static bool end(struct job *j, const struct lin_op *op)
{
    if (!is_mine(j, op->in[0])) return false;
    give_back(j, true, 0);
    return true;
}

static bool retry(struct job *j, const struct lin_op *op)
{
    if (op->status == LIN_OK && op->out == 0) return j->phase != DEAD;
    if (!may_be_dead(j, op->in[3]) || !has_id(j, op->in[0])) return false;
    let_wait(j, true, 0);
    j->attempts = 0;
    return true;
}

static bool final(struct job *j, const struct lin_op *op)
{
    uint64_t hidden = op->in[3];
    if (op->in[2] == FOUND_NOTHING) return j->phase == NOT_PUT || j->phase == IS_DONE;
    if (!has_id(j, op->in[0]) || j->put != op->in[1]) return false;
    if (op->in[2] == FOUND_DEAD) return may_be_dead(j, hidden);
    if (!is_there(j) || op->out < j->attempts || op->out > j->attempts + hidden) return false;
    return (j->phase == LEASED) == (op->in[2] == FOUND_LEASED) || (j->is_due && hidden > 0);
}

static bool step(void *state, const struct lin_op *op)
{
    struct job j;
    bool fits = false;
    memcpy(&j, state, sizeof j);
    switch (op->what) {
    case JOB_PUT: fits = put(&j, op); break;
    case JOB_TAKE: fits = take(&j, op); break;
    case JOB_DONE:
    case JOB_RETURN:
    case JOB_EXTEND: fits = with_lease(&j, op); break;
    case JOB_DUE: fits = due(&j, op); break;
    case JOB_END: fits = end(&j, op); break;
    case JOB_RETRY: fits = retry(&j, op); break;
    case JOB_FINAL: fits = final(&j, op); break;
    }
    if (fits) memcpy(state, &j, sizeof j);
    return fits;
}

static bool is_read(const struct lin_op *op)
{
    bool has_effect = op->status != LIN_OK || op->out != 0;
    return (op->what == JOB_DONE || op->what == JOB_RETURN || op->what == JOB_EXTEND || op->what == JOB_RETRY) &&
           !has_effect;
}

static void describe(char out[LIN_TEXT], const struct lin_op *op)
{
    static const char *const names[] = {"put", "take", "done", "return", "extend", "due", "end", "retry", "final"};
    snprintf(out, LIN_TEXT, "%s(%llu, %llu, %llu), hidden takings %llu: %llu", names[op->what],
             (unsigned long long)op->in[0], (unsigned long long)op->in[1], (unsigned long long)op->in[2],
             (unsigned long long)op->in[3], (unsigned long long)op->out);
}

static void describe_state(char out[LIN_TEXT], const void *state)
{
    static const char *const names[] = {"it was not put", "it waits", "it is leased", "it is dead", "it is done"};
    struct job j;
    memcpy(&j, state, sizeof j);
    snprintf(out, LIN_TEXT, "%s: id %llu, put %llu, attempts %u, lease %llu, grant %llu, %sdue", names[j.phase],
             (unsigned long long)j.id, (unsigned long long)j.put, j.attempts, (unsigned long long)j.lease,
             (unsigned long long)j.grant, j.is_due != 0 ? "" : "not ");
}

const struct lin_model job_model = {sizeof(struct job), init, step, is_read, describe, describe_state};
