/* tests/history/models.h -- what histories are compared with (linearize.h): a register, a lock, a log
 * and a cursor. */
#ifndef HISTORY_MODELS_H
#define HISTORY_MODELS_H

#include "linearize.h"

/* A register, which has 0 at first. */
enum {
    REGISTER_READ,  /* out: the value */
    REGISTER_WRITE, /* in: the value */
    REGISTER_CAS,   /* in: the value that is expected, and the new one; out: the value that was there */
};
extern const struct lin_model register_model;

/* A lock whose tokens grow. */
enum {
    LOCK_ACQUIRE, /* out: the token */
    LOCK_RELEASE, /* in: the token. The holder gives the lock back, or loses it */
};
extern const struct lin_model lock_model;

/* A log whose records have the offsets 1, 2, 3, ... A value is 1 to 65,535. */
enum { LOG_MAX = 250 };
enum {
    LOG_APPEND, /* in: the value, and the offset at which it was read, or 0; out: the offset */
    LOG_RECORD, /* in: an offset, and the value that is there */
    LOG_LAST,   /* out: the last offset; 0: the log is empty */
};
extern const struct lin_model log_model;

/* A cursor, which is at 0 at first, and whenever it was removed. */
enum {
    CURSOR_ADVANCE, /* in: an offset. It never goes back */
    CURSOR_REMOVE,
    CURSOR_READ, /* out: the offset */
};
extern const struct lin_model cursor_model;

#endif
