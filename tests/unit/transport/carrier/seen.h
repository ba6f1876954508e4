/* tests/unit/transport/carrier/seen.h -- notes of the callbacks of a carrier, which may run on any thread: they are
 * changed and waited for under one lock. */
#ifndef SEEN_H
#define SEEN_H

#include "platform.h"

#include <check.h>
#include <weft/time.h>

static pf_mutex *lock; /* both are made by the test */
static pf_cond *more;

#define SEEN(change)             \
    do {                         \
        pf_mutex_lock(lock);     \
        change;                  \
        pf_cond_broadcast(more); \
        pf_mutex_unlock(lock);   \
    } while (0)

/* Waits until `condition` holds, 20 s at most. */
#define AWAIT(condition)                                                             \
    do {                                                                             \
        int64_t by = pf_env_native()->now(pf_env_native()) + WEFT_SEC(20);           \
        int overdue = 0;                                                             \
        pf_mutex_lock(lock);                                                         \
        while (!(condition) && overdue == 0) overdue = pf_cond_wait(more, lock, by); \
        pf_mutex_unlock(lock);                                                       \
        ck_assert_msg(overdue == 0, "waited in vain for " #condition);               \
    } while (0)

#endif
