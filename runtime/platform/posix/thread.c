/* runtime/platform/posix/thread.c -- threads, mutexes and condition variables. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "native.h"
#include "sanitizer.h"
#include "thread.h"

_Thread_local struct pf_thread *pf_thread_here;

/* Every system has this call, in a form of its own. */
static void name_this(const char *name)
{
#if defined(__APPLE__)
    (void)pthread_setname_np(name);
#elif defined(__NetBSD__)
    (void)pthread_setname_np(pthread_self(), "%s", (void *)(uintptr_t)name);
#elif defined(__OpenBSD__)
    pthread_set_name_np(pthread_self(), name);
#else
    (void)pthread_setname_np(pthread_self(), name);
#endif
}

static void *thread_main(void *arg)
{
    struct pf_thread *t = pf_thread_here = arg;
    name_this(t->name);
    void *signal_stack = pf_signal_stack_add();
    t->run(t->arg);
    pf_signal_stack_drop(signal_stack);
    return NULL;
}

int pf_thread_start(pf_thread **out, const char *name, void (*run)(void *), void *arg)
{
    struct pf_thread *t = calloc(1, sizeof *t);
    if (t == NULL) return WEFT_ENOMEM;
    snprintf(t->name, sizeof t->name, "%s", name);
    t->run = run;
    t->arg = arg;
    /* The new thread inherits the mask, so no signal can reach it at any moment. */
    sigset_t blocked, before;
    static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigfillset(&blocked);
    for (size_t i = 0; i < WF_COUNT(synchronous); i++) sigdelset(&blocked, synchronous[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int rc = pthread_create(&t->thread, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        free(t);
        return rc == EAGAIN ? WEFT_EFULL : pf_error(rc);
    }
    *out = t;
    return WEFT_OK;
}

void pf_thread_join(pf_thread *t)
{
    WF_ASSERT(pthread_join(t->thread, NULL) == 0);
    free(t);
}

void pf_thread_detach(pf_thread *t)
{
    WF_ASSERT(pthread_detach(t->thread) == 0);
    free(t);
}

void pf_once(bool *done, void (*work)(void))
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    WF_ASSERT(pthread_mutex_lock(&mutex) == 0);
    if (!*done) work();
    *done = true;
    WF_ASSERT(pthread_mutex_unlock(&mutex) == 0);
}

/* A thread in pf_mutex_lock_behind sees `waiting` while it holds the mutex, so the threads that it counts have not had
 * the mutex yet: one of them will, and then sees `behind`. */
struct pf_mutex {
    pthread_mutex_t mutex;
    pthread_cond_t let_through;
    _Atomic uint32_t waiting; /* threads in pf_mutex_lock; relaxed: ordered by the mutex where it matters */
    uint32_t behind;          /* threads that wait for let_through; under the mutex */
};

int pf_mutex_create(pf_mutex **out)
{
    pf_mutex *m = malloc(sizeof *m);
    if (m == NULL) return WEFT_ENOMEM;
    if (pthread_mutex_init(&m->mutex, NULL) != 0) goto no_mutex;
    if (pthread_cond_init(&m->let_through, NULL) != 0) goto no_cond;
    atomic_init(&m->waiting, 0);
    m->behind = 0;
    wf_tsan_release(m); /* an atomic operation may hand over the object that contains it */
    *out = m;
    return WEFT_OK;
no_cond:
    WF_ASSERT(pthread_mutex_destroy(&m->mutex) == 0);
no_mutex:
    free(m);
    return WEFT_ENOMEM;
}

void pf_mutex_destroy(pf_mutex *m)
{
    if (m == NULL) return;
    wf_tsan_acquire(m);
    WF_ASSERT(pthread_cond_destroy(&m->let_through) == 0);
    WF_ASSERT(pthread_mutex_destroy(&m->mutex) == 0);
    free(m);
}

void pf_mutex_lock(pf_mutex *m)
{
    wf_tsan_acquire(m);
    if (pthread_mutex_trylock(&m->mutex) == 0) return;
    atomic_fetch_add_explicit(&m->waiting, 1, memory_order_relaxed);
    WF_ASSERT(pthread_mutex_lock(&m->mutex) == 0);
    atomic_fetch_sub_explicit(&m->waiting, 1, memory_order_relaxed);
    if (m->behind > 0) WF_ASSERT(pthread_cond_broadcast(&m->let_through) == 0);
}

void pf_mutex_lock_behind(pf_mutex *m)
{
    pf_mutex_lock(m);
    if (atomic_load_explicit(&m->waiting, memory_order_relaxed) == 0) return;
    m->behind++;
    WF_ASSERT(pthread_cond_wait(&m->let_through, &m->mutex) == 0);
    m->behind--;
}

void pf_mutex_unlock(pf_mutex *m)
{
    WF_ASSERT(pthread_mutex_unlock(&m->mutex) == 0);
    wf_tsan_release(m); /* this uses the address only: the mutex may be gone */
}

struct pf_cond {
    pthread_cond_t cond;
};

#ifdef __APPLE__ /* its conditions support the wall clock only, but also time spans */

static int init_cond(pthread_cond_t *c)
{
    return pthread_cond_init(c, NULL);
}

static int wait_until(pthread_cond_t *c, pthread_mutex_t *m, int64_t at)
{
    int64_t now = pf_native_now(NULL), span = at > now ? at - now : 0;
    struct timespec t = {.tv_sec = (time_t)(span / 1000000000), .tv_nsec = (long)(span % 1000000000)};
    int rc = pthread_cond_timedwait_relative_np(c, m, &t);
    return rc == ETIMEDOUT && pf_native_now(NULL) < at ? 0 : rc; /* early: treat it as a spurious wake */
}

#else

static int init_cond(pthread_cond_t *c)
{
    pthread_condattr_t attributes;
    WF_ASSERT(pthread_condattr_init(&attributes) == 0);
    WF_ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    int rc = pthread_cond_init(c, &attributes);
    pthread_condattr_destroy(&attributes);
    return rc;
}

static int wait_until(pthread_cond_t *c, pthread_mutex_t *m, int64_t at)
{
    int64_t mono = WF_MAX(at - WF_CLOCK_BEGIN, 0);
    struct timespec t = {.tv_sec = (time_t)(mono / 1000000000), .tv_nsec = (long)(mono % 1000000000)};
    return pthread_cond_timedwait(c, m, &t);
}

#endif

int pf_cond_create(pf_cond **out)
{
    pf_cond *c = malloc(sizeof *c);
    if (c == NULL) return WEFT_ENOMEM;
    if (init_cond(&c->cond) != 0) {
        free(c);
        return WEFT_ENOMEM;
    }
    *out = c;
    return WEFT_OK;
}

void pf_cond_destroy(pf_cond *c)
{
    if (c == NULL) return;
    WF_ASSERT(pthread_cond_destroy(&c->cond) == 0);
    free(c);
}

int pf_cond_wait(pf_cond *c, pf_mutex *m, int64_t deadline)
{
    if (deadline == WEFT_FOREVER) {
        WF_ASSERT(pthread_cond_wait(&c->cond, &m->mutex) == 0);
        return WEFT_OK;
    }
    int rc = wait_until(&c->cond, &m->mutex, WF_MAX(deadline, 0));
    WF_ASSERT(rc == 0 || rc == ETIMEDOUT);
    return rc == 0 ? WEFT_OK : WEFT_ETIMEDOUT;
}

void pf_cond_broadcast(pf_cond *c)
{
    WF_ASSERT(pthread_cond_broadcast(&c->cond) == 0);
}
