/* runtime/platform/base.h -- assertions, small macros and every limit of the runtime. Included first by all internal
 * files. */
#ifndef WF_BASE_H
#define WF_BASE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/api.h>
#include <weft/error.h>
#include <weft/time.h>

/* A step of a chain of functions that each end in a call of the next one: its parameters stay in the registers in which the
 * first function got them. GCC must not remove one that a step does not use, as the others would have to move then. */
#if defined(__clang__)
#define WF_STEP __attribute__((noinline))
#else
#define WF_STEP __attribute__((noipa))
#endif

#define WF_LIKELY(x) __builtin_expect(!!(x), 1)
#define WF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WF_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define WF_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WF_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WF_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Before the declaration of a variable that a message reads: code of a shared library finds it with one instruction less. */
#ifdef __ELF__
#define WF_INTERNAL __attribute__((visibility("hidden")))
#else
#define WF_INTERNAL
#endif

/* Release builds keep assertions: a broken invariant ends the process and names the line, so it cannot corrupt other
 * actors. */
#define WF_ASSERT(condition) (WF_LIKELY(condition) ? (void)0 : wf_assert_failed(#condition, __FILE__, __LINE__))
WEFT_API __attribute__((noreturn, cold)) void wf_assert_failed(const char *condition, const char *file, int line);
/* Called before a broken invariant ends the process, to print more; may be NULL. The thread that registers it stores
 * it with release, the thread that calls it loads it with acquire. */
typedef void wf_last_words_fn(void);
extern _Atomic(wf_last_words_fn *) wf_last_words;

/* Marks a state that tests must reach: a rare moment of a protocol, which its code has to handle. ./dev states builds
 * with WF_STATES, runs the simulation, and fails if no seed reaches a state: docs/testing.md. In every other build a
 * mark costs nothing: its condition is compiled, but never evaluated. `name` is a string literal that no other mark
 * has.
 *
 * WF_LIMIT is a limit that tests must reach. In the build with WF_STATES a simulated run may use another value,
 * between `least` and `value`, which is drawn from its seed (limit.h). `least` is 1 or more: weft has to work with
 * this value and all larger ones. In every other build the limit is the constant `value`. */
#ifdef WF_STATES
#include "limit.h"
#include "sometimes.h"
#else
#define WF_SOMETIMES(name, condition) ((void)sizeof(!(condition)))
#define WF_LIMIT(name, value, least) (value)
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WF_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WF_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WF_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WF_TSAN 1
#endif

enum {
    WF_CACHE_LINE = 64,
    WF_USER_WORKERS_MAX = 63, /* workers for the actors of users: worker.h */
    WF_WORKERS_MAX = 64,      /* per node: one bit each in a uint64_t */
    WF_TURN_BUDGET = 128,     /* tasks that run in a turn before the poller is asked again */
    WF_DUE_RUN = 4,           /* tasks due since the last turn that run in a row before a fresh one */
    WF_FRESH_RUN = 4096,      /* fresh tasks that begin before the oldest fresh one joins the other ready tasks */
    WF_POLL_BATCH = 64,       /* readiness entries taken per poll; with more, fetching the data of the last */
                              /* ones evicts that of the first ones from the cache */
    WF_POLL_GAP = 20 * 1000,  /* ns for which a busy worker does not ask the poller */
    WF_LOOK = 40 * 1000,      /* ns for which an idle worker polls its inbox before it sleeps, if that paid lately */
    WF_LOOK_POLL = WF_LOOK / 8,  /* ns between two questions to its poller meanwhile */
    WF_LOOK_TRIAL = 8 * WF_LOOK, /* ns; a worker that is idle for shorter times tests whether polling pays */
    WF_LOOK_TRIALS = 16,         /* it tests that once in this number of sleeps */
    WF_INBOX_MAX = 65536,        /* posts and KiB under way to one worker; with more, its senders wait */
    WF_STACK_BYTES = 64 * 1024,  /* default of an actor's stack */
    WF_STACK_BYTES_MAX = 8 * 1024 * 1024,
};
/* Operations of one task per turn before it yields. */
#define WF_TASK_BUDGET WF_LIMIT("task: operations in a turn", 256, 2)
/* The first value of weft's clock, in nanoseconds: no point in time is before it, and no span in a program is this
 * long (146 years). So a span that is used as a deadline can be detected. The sum of two points in time does not fit
 * into int64_t, so a point that is used as a span can be detected, too. */
#define WF_CLOCK_BEGIN (INT64_C(1) << 62)

#endif
