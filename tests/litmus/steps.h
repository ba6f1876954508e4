/* tests/litmus/steps.h -- included before the code under test: its atomic operations become steps of a scheduler. All
 * "threads" are contexts of one thread, so an operation needs no atomic instruction, only to be one step. Operations
 * on variables that are not watched (counters, other objects) are done at once. */
#ifndef WF_LITMUS_STEPS_H
#define WF_LITMUS_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum step_kind { STEP_READ, STEP_WRITE, STEP_WAIT };

/* Comes back when it is this thread's turn to do the operation on `*at`. */
void litmus_step(const volatile void *at, enum step_kind kind, const char *function);

/* What the mutant that is tried does to this operation. */
bool litmus_misses(const volatile void *at, const char *function);      /* reads nothing: 0 */
bool litmus_splits(const volatile void *at, const char *function);      /* reads and writes in two steps */
bool litmus_delays(volatile void *at, int value, const char *function); /* a store; it is done before the next wait */
bool litmus_early(const volatile void *at, const char *function, int *value); /* a load; what was there before */
void litmus_counts(const volatile void *at, const char *function);            /* a counter is added to */

#define LITMUS_PLAIN(p) (*(__typeof__(litmus_plain(p)) *)(uintptr_t)(p))
/* The type without _Atomic. */
#define litmus_plain(p)                  \
    __extension__({                      \
        __auto_type litmus_value = *(p); \
        litmus_value;                    \
    })

#undef atomic_load_explicit
#define atomic_load_explicit(p, order)                                                                               \
    __extension__({                                                                                                  \
        int litmus_old_ = 0;                                                                                         \
        (void)(order);                                                                                               \
        litmus_step((p), STEP_READ, __func__);                                                                       \
        __auto_type litmus_got_ = LITMUS_PLAIN(p);                                                                   \
        if (litmus_misses((p), __func__)) litmus_got_ = 0;                                                           \
        if (litmus_early((p), __func__, &litmus_old_)) litmus_got_ = (__typeof__(litmus_got_))(intptr_t)litmus_old_; \
        litmus_got_;                                                                                                 \
    })

#undef atomic_store_explicit
#define atomic_store_explicit(p, value, order)                           \
    __extension__({                                                      \
        __auto_type litmus_new_ = (value);                               \
        (void)(order);                                                   \
        if (!litmus_delays((p), (int)(intptr_t)litmus_new_, __func__)) { \
            litmus_step((p), STEP_WRITE, __func__);                      \
            LITMUS_PLAIN(p) = litmus_new_;                               \
        }                                                                \
    })

#undef atomic_exchange_explicit
#define atomic_exchange_explicit(p, value, order)                                 \
    __extension__({                                                               \
        (void)(order);                                                            \
        litmus_step((p), STEP_WRITE, __func__);                                   \
        __auto_type litmus_was_ = LITMUS_PLAIN(p);                                \
        if (litmus_splits((p), __func__)) litmus_step((p), STEP_WRITE, __func__); \
        LITMUS_PLAIN(p) = (value);                                                \
        litmus_was_;                                                              \
    })

#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(p, expected, value, good, bad)                      \
    __extension__({                                                                               \
        (void)(good), (void)(bad);                                                                \
        litmus_step((p), STEP_WRITE, __func__);                                                   \
        bool litmus_same_ = LITMUS_PLAIN(p) == *(expected);                                       \
        if (litmus_same_ && litmus_splits((p), __func__)) litmus_step((p), STEP_WRITE, __func__); \
        if (litmus_same_) LITMUS_PLAIN(p) = (value);                                              \
        else *(expected) = LITMUS_PLAIN(p);                                                       \
        litmus_same_;                                                                             \
    })

#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(p, value, order)    \
    __extension__({                                   \
        (void)(order);                                \
        litmus_counts((p), __func__);                 \
        __auto_type litmus_before_ = LITMUS_PLAIN(p); \
        LITMUS_PLAIN(p) += (value);                   \
        litmus_before_;                               \
    })

#undef atomic_fetch_sub_explicit
#define atomic_fetch_sub_explicit(p, value, order)    \
    __extension__({                                   \
        (void)(order);                                \
        __auto_type litmus_before_ = LITMUS_PLAIN(p); \
        LITMUS_PLAIN(p) -= (value);                   \
        litmus_before_;                               \
    })

#endif
