/* runtime/platform/windows/thread.c -- threads, mutexes and condition variables. */
#include <malloc.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>

#include "system.h"

/* Windows 10; not in each compiler's headers. */
WINBASEAPI HRESULT WINAPI SetThreadDescription(HANDLE thread, PCWSTR name);

/* Bytes of a stack that are reserved for the report of its overflow; they are in the range that stack.c calls the
 * guard. */
enum { REPORT_BYTES = 3 * 4096 };

struct pf_thread {
    HANDLE handle;
    wchar_t name[16];
    void (*run)(void *arg);
    void *arg;
};

void pf_report_space(void)
{
    ULONG space = REPORT_BYTES;
    (void)SetThreadStackGuarantee(&space);
}

static unsigned __stdcall thread_main(void *arg)
{
    struct pf_thread *t = arg;
    (void)SetThreadDescription(GetCurrentThread(), t->name);
    pf_report_space();
    t->run(t->arg);
    return 0;
}

int pf_thread_start(pf_thread **out, const char *name, void (*run)(void *), void *arg)
{
    struct pf_thread *t = calloc(1, sizeof *t);
    if (t == NULL) return WEFT_ENOMEM;
    for (size_t i = 0; i < WF_COUNT(t->name) - 1 && name[i] != '\0'; i++) t->name[i] = (wchar_t)name[i];
    t->run = run;
    t->arg = arg;
    /* The thread starts suspended and runs only after `out` is set, because the new thread may ask its creator for
     * it. */
    t->handle = (HANDLE)_beginthreadex(NULL, 0, thread_main, t, CREATE_SUSPENDED, NULL);
    if (t->handle == NULL) {
        free(t);
        return WEFT_EFULL;
    }
    *out = t;
    WF_ASSERT(ResumeThread(t->handle) != (DWORD)-1);
    return WEFT_OK;
}

void pf_thread_join(pf_thread *t)
{
    WF_ASSERT(WaitForSingleObject(t->handle, INFINITE) == WAIT_OBJECT_0);
    CloseHandle(t->handle);
    free(t);
}

void pf_thread_detach(pf_thread *t)
{
    CloseHandle(t->handle);
    free(t);
}

int pf_cpu_count(void)
{
    DWORD_PTR ours, all;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) || ours == 0) return 1;
    return __builtin_popcountll(ours);
}

void pf_once(bool *done, void (*work)(void))
{
    static SRWLOCK lock = SRWLOCK_INIT;
    AcquireSRWLockExclusive(&lock);
    if (!*done) work();
    *done = true;
    ReleaseSRWLockExclusive(&lock);
}

/* As in posix/thread.c: a thread that sees `waiting` while it holds the lock is woken by one of those threads. */
struct pf_mutex {
    SRWLOCK lock;
    CONDITION_VARIABLE let_through;
    _Atomic uint32_t waiting;
    uint32_t behind;
};

int pf_mutex_create(pf_mutex **out)
{
    pf_mutex *m = malloc(sizeof *m);
    if (m == NULL) return WEFT_ENOMEM;
    InitializeSRWLock(&m->lock);
    InitializeConditionVariable(&m->let_through);
    atomic_init(&m->waiting, 0);
    m->behind = 0;
    *out = m;
    return WEFT_OK;
}

void pf_mutex_destroy(pf_mutex *m)
{
    free(m);
}

void pf_mutex_lock(pf_mutex *m)
{
    if (TryAcquireSRWLockExclusive(&m->lock)) return;
    atomic_fetch_add_explicit(&m->waiting, 1, memory_order_relaxed);
    AcquireSRWLockExclusive(&m->lock);
    atomic_fetch_sub_explicit(&m->waiting, 1, memory_order_relaxed);
    if (m->behind > 0) WakeAllConditionVariable(&m->let_through);
}

void pf_mutex_lock_behind(pf_mutex *m)
{
    pf_mutex_lock(m);
    if (atomic_load_explicit(&m->waiting, memory_order_relaxed) == 0) return;
    m->behind++;
    SleepConditionVariableSRW(&m->let_through, &m->lock, INFINITE, 0);
    m->behind--;
}

void pf_mutex_unlock(pf_mutex *m)
{
    ReleaseSRWLockExclusive(&m->lock);
}

struct pf_cond {
    CONDITION_VARIABLE cond;
};

int pf_cond_create(pf_cond **out)
{
    pf_cond *c = malloc(sizeof *c);
    if (c == NULL) return WEFT_ENOMEM;
    InitializeConditionVariable(&c->cond);
    *out = c;
    return WEFT_OK;
}

void pf_cond_destroy(pf_cond *c)
{
    free(c);
}

int pf_cond_wait(pf_cond *c, pf_mutex *m, int64_t deadline)
{
    if (SleepConditionVariableSRW(&c->cond, &m->lock, pf_milliseconds_until(deadline), 0)) return WEFT_OK;
    WF_ASSERT(GetLastError() == ERROR_TIMEOUT);
    /* The deadline was too far away for one call, or the system's clock is coarser than ours: then the caller checks
     * and waits again. */
    return deadline != WEFT_FOREVER && pf_native_now(NULL) >= deadline ? WEFT_ETIMEDOUT : WEFT_OK;
}

void pf_cond_broadcast(pf_cond *c)
{
    WakeAllConditionVariable(&c->cond);
}

void *pf_aligned_alloc(size_t align, size_t size)
{
    return _aligned_malloc(size, align);
}

void pf_aligned_free(void *at)
{
    _aligned_free(at);
}

void pf_memory_trim(void)
{
}
