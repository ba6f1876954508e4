/* runtime/platform/sanitizer.h -- what weft tells ASan and TSan, if the program was built with one of them; and
 * whether Valgrind runs the program.
 *
 * Design notes.
 * (1) The library itself may have been built without a sanitizer: the functions are weak symbols, and NULL if the
 *     process has no sanitizer. The check costs a load and a branch. On systems whose object files have no such
 *     symbols (macOS, Windows) the library has to be built with the sanitizer, too.
 * (2) TSan does not see atomic operations of code that was built without it. Where such an operation hands data of
 *     the program over to another thread, wf_tsan_release stands before it, and wf_tsan_acquire after the operation
 *     that receives the data.
 * (3) With a sanitizer in the process memory is not pooled, no stack is parked, and freed memory goes to free() at
 *     once: so ASan detects a message that is used after it was freed. */
#ifndef WF_SANITIZER_H
#define WF_SANITIZER_H

#include "base.h"

#ifdef WF_VALGRIND
#include <valgrind/valgrind.h>
#endif

#if defined(__ELF__)
#define WF_WEAK __attribute__((weak))
#define WF_IN_PROCESS(function) ((function) != NULL)
#else
#define WF_WEAK
#define WF_IN_PROCESS(function) true
#endif

#if defined(__ELF__) || defined(WF_ASAN)
void __asan_init(void) WF_WEAK;
void __asan_poison_memory_region(void const volatile *at, size_t size) WF_WEAK;
void __asan_unpoison_memory_region(void const volatile *at, size_t size) WF_WEAK;
void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size) WF_WEAK;
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size) WF_WEAK;
#define WF_HAS_ASAN WF_IN_PROCESS(__asan_init)
#define WF_IF_ASAN(...)                 \
    do {                                \
        if (WF_UNLIKELY(WF_HAS_ASAN)) { \
            __VA_ARGS__;                \
        }                               \
    } while (0)
#else
#define WF_HAS_ASAN false
#define WF_IF_ASAN(...) (void)0
#endif

#if defined(__ELF__) || defined(WF_TSAN)
void __tsan_init(void) WF_WEAK;
void *__tsan_get_current_fiber(void) WF_WEAK;
void *__tsan_create_fiber(unsigned flags) WF_WEAK;
void __tsan_destroy_fiber(void *fiber) WF_WEAK;
void __tsan_switch_to_fiber(void *fiber, unsigned flags) WF_WEAK;
void __tsan_acquire(void *at) WF_WEAK;
void __tsan_release(void *at) WF_WEAK;
#define WF_HAS_TSAN WF_IN_PROCESS(__tsan_init)
#define WF_IF_TSAN(...)                 \
    do {                                \
        if (WF_UNLIKELY(WF_HAS_TSAN)) { \
            __VA_ARGS__;                \
        }                               \
    } while (0)
#else
#define WF_HAS_TSAN false
#define WF_IF_TSAN(...) (void)0
#endif

/* Set before main: one check for both sanitizers, for code where speed counts. */
WF_INTERNAL extern bool wf_sanitized;

static inline bool wf_is_sanitized(void)
{
    return wf_sanitized;
}

static inline bool wf_is_on_valgrind(void)
{
#ifdef WF_VALGRIND
    return RUNNING_ON_VALGRIND;
#else
    return false;
#endif
}

/* A thread that acquires `at` later sees what this thread has done. `at` may have any type, also const and atomic
 * ones. */
static inline void wf_tsan_release(const volatile void *at)
{
    (void)at;
    WF_IF_TSAN(__tsan_release((void *)(uintptr_t)at));
}

static inline void wf_tsan_acquire(const volatile void *at)
{
    (void)at;
    WF_IF_TSAN(__tsan_acquire((void *)(uintptr_t)at));
}

/* Subtracts `n` from an atomic count of holders and returns whether these were the last ones. If so, everything that
 * other holders did with the object happens before what the caller does next, such as freeing it. */
#define WF_LAST_HOLDER(count, n)                                                       \
    __extension__({                                                                    \
        wf_tsan_release(count);                                                        \
        bool last_ = atomic_fetch_sub_explicit(count, n, memory_order_acq_rel) == (n); \
        wf_tsan_acquire(count);                                                        \
        last_;                                                                         \
    })

#endif
