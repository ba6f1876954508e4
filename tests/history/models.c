/* tests/history/models.c -- see models.h. */
#include "models.h"

#include <stdlib.h>
#include <string.h>

/* ---- A register ------------------------------------------------------------------------------------------------ */

static void register_init(void *state)
{
    memset(state, 0, sizeof(uint64_t));
}

static bool register_step(void *state, const struct lin_op *op)
{
    uint64_t value;
    memcpy(&value, state, sizeof value);
    bool is_as_said = op->status != LIN_OK || value == op->out;
    if (op->what != REGISTER_WRITE && !is_as_said) return false;
    bool writes = op->what == REGISTER_WRITE || (op->what == REGISTER_CAS && value == op->in[0]);
    if (writes) memcpy(state, &op->in[op->what == REGISTER_CAS ? 1 : 0], sizeof value);
    return true;
}

static bool register_is_read(const struct lin_op *op)
{
    return op->what == REGISTER_READ || (op->what == REGISTER_CAS && op->status == LIN_OK && op->out != op->in[0]);
}

static void register_describe(char out[LIN_TEXT], const struct lin_op *op)
{
    unsigned long long a = op->in[0], b = op->in[1], got = op->out;
    if (op->what == REGISTER_READ) snprintf(out, LIN_TEXT, "reads %llu", got);
    else if (op->what == REGISTER_WRITE) snprintf(out, LIN_TEXT, "writes %llu", a);
    else if (op->status == LIN_OK && got != a)
        snprintf(out, LIN_TEXT, "puts %llu in the place of %llu, but finds %llu", b, a, got);
    else snprintf(out, LIN_TEXT, "puts %llu in the place of %llu", b, a);
}

static void register_describe_state(char out[LIN_TEXT], const void *state)
{
    uint64_t value;
    memcpy(&value, state, sizeof value);
    snprintf(out, LIN_TEXT, "the value is %llu", (unsigned long long)value);
}

const struct lin_model register_model = {sizeof(uint64_t), register_init,     register_step,
                                         register_is_read, register_describe, register_describe_state};

/* ---- A lock ---------------------------------------------------------------------------------------------------- */

struct lock {
    uint64_t held, last; /* tokens; held 0: it is free */
};

static void lock_init(void *state)
{
    memset(state, 0, sizeof(struct lock));
}

static bool lock_step(void *state, const struct lin_op *op)
{
    struct lock lock;
    memcpy(&lock, state, sizeof lock);
    if (op->what == LOCK_ACQUIRE) {
        if (op->status != LIN_OK || lock.held != 0 || op->out <= lock.last) return false;
        lock.held = lock.last = op->out;
    } else {
        if (lock.held != op->in[0]) return false;
        lock.held = 0;
    }
    memcpy(state, &lock, sizeof lock);
    return true;
}

static bool lock_is_read(const struct lin_op *op)
{
    return op->what == LOCK_ACQUIRE && op->status != LIN_OK; /* no contender knows of it, so none gives it back */
}

static void lock_describe(char out[LIN_TEXT], const struct lin_op *op)
{
    bool acquires = op->what == LOCK_ACQUIRE;
    snprintf(out, LIN_TEXT, "%s with the token %llu", acquires ? "gets it" : "gives it back, or loses it,",
             (unsigned long long)(acquires ? op->out : op->in[0]));
}

static void lock_describe_state(char out[LIN_TEXT], const void *state)
{
    struct lock lock;
    memcpy(&lock, state, sizeof lock);
    snprintf(out, LIN_TEXT, lock.held == 0 ? "it is free" : "it is held with the token %llu",
             (unsigned long long)lock.held);
}

const struct lin_model lock_model = {sizeof(struct lock), lock_init,     lock_step,
                                     lock_is_read,        lock_describe, lock_describe_state};

/* ---- A log ----------------------------------------------------------------------------------------------------- */

struct log {
    uint16_t last, value[LOG_MAX + 1];
};

static void log_init(void *state)
{
    memset(state, 0, sizeof(struct log));
}

static bool log_append(struct log *log, const struct lin_op *op)
{
    if (log->last == LOG_MAX) abort();
    uint64_t offset = log->last + UINT64_C(1);
    if (op->status == LIN_OK && op->out != offset) return false;
    if (op->in[1] != 0 && op->in[1] != offset) return false;
    log->value[++log->last] = (uint16_t)op->in[0];
    return true;
}

static bool log_step(void *state, const struct lin_op *op)
{
    struct log log;
    memcpy(&log, state, sizeof log);
    if (op->what == LOG_LAST) return op->status != LIN_OK || op->out == log.last;
    if (op->what == LOG_RECORD) return op->in[0] >= 1 && op->in[0] <= log.last && log.value[op->in[0]] == op->in[1];
    if (!log_append(&log, op)) return false;
    memcpy(state, &log, sizeof log);
    return true;
}

static bool log_is_read(const struct lin_op *op)
{
    return op->what != LOG_APPEND;
}

static void log_describe(char out[LIN_TEXT], const struct lin_op *op)
{
    unsigned long long a = op->in[0], b = op->in[1], got = op->out;
    if (op->what == LOG_RECORD) snprintf(out, LIN_TEXT, "finds %llu at the offset %llu", b, a);
    else if (op->what == LOG_LAST) snprintf(out, LIN_TEXT, "finds the last offset to be %llu", got);
    else if (op->status == LIN_OK) snprintf(out, LIN_TEXT, "appends %llu at the offset %llu", a, got);
    else snprintf(out, LIN_TEXT, "appends %llu", a);
}

static void log_describe_state(char out[LIN_TEXT], const void *state)
{
    struct log log;
    memcpy(&log, state, sizeof log);
    snprintf(out, LIN_TEXT, "the last offset is %u, with the value %u", (unsigned)log.last,
             (unsigned)log.value[log.last]);
}

const struct lin_model log_model = {sizeof(struct log), log_init,     log_step,
                                    log_is_read,        log_describe, log_describe_state};

/* ---- A cursor -------------------------------------------------------------------------------------------------- */

static void cursor_init(void *state)
{
    memset(state, 0, sizeof(uint64_t));
}

static bool cursor_step(void *state, const struct lin_op *op)
{
    uint64_t at, to;
    memcpy(&at, state, sizeof at);
    if (op->what == CURSOR_READ) return op->status != LIN_OK || op->out == at;
    to = op->what == CURSOR_REMOVE ? 0 : op->in[0] > at ? op->in[0] : at;
    if (op->status != LIN_OK && to == at) return false; /* as if it had never happened */
    memcpy(state, &to, sizeof to);
    return true;
}

static bool cursor_is_read(const struct lin_op *op)
{
    return op->what == CURSOR_READ;
}

static void cursor_describe(char out[LIN_TEXT], const struct lin_op *op)
{
    if (op->what == CURSOR_REMOVE) snprintf(out, LIN_TEXT, "removes it");
    else if (op->what == CURSOR_READ) snprintf(out, LIN_TEXT, "finds it at %llu", (unsigned long long)op->out);
    else snprintf(out, LIN_TEXT, "advances it to %llu", (unsigned long long)op->in[0]);
}

static void cursor_describe_state(char out[LIN_TEXT], const void *state)
{
    uint64_t at;
    memcpy(&at, state, sizeof at);
    snprintf(out, LIN_TEXT, "it is at %llu", (unsigned long long)at);
}

const struct lin_model cursor_model = {sizeof(uint64_t), cursor_init,     cursor_step,
                                       cursor_is_read,   cursor_describe, cursor_describe_state};
