/* runtime/platform/posix/signals.c -- SIGTERM and SIGINT, taken by a thread of their own. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "native.h"

struct pf_signals {
    pthread_t thread;
    sigset_t set;
    _Atomic bool done; /* release by unwatch before it wakes the thread, acquire by the thread */
    void (*on)(void *arg, int number);
    void *arg;
};

static void *signals_main(void *arg)
{
    struct pf_signals *s = arg;
    for (;;) {
        int number;
        if (sigwait(&s->set, &number) != 0) continue;
        if (atomic_load_explicit(&s->done, memory_order_acquire)) return NULL;
        s->on(s->arg, number);
    }
}

int pf_signals_watch(pf_signals **out, void (*on)(void *arg, int number), void *arg)
{
    struct pf_signals *s = calloc(1, sizeof *s);
    if (s == NULL) return WEFT_ENOMEM;
    s->on = on;
    s->arg = arg;
    sigemptyset(&s->set);
    sigaddset(&s->set, SIGTERM);
    sigaddset(&s->set, SIGINT);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&s->thread, NULL, signals_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        free(s);
        return pf_error(rc);
    }
    pthread_sigmask(SIG_BLOCK, &s->set, NULL);
    *out = s;
    return WEFT_OK;
}

void pf_signals_unwatch(pf_signals *s)
{
    if (s == NULL) return;
    atomic_store_explicit(&s->done, true, memory_order_release);
    /* Blocked in that thread: only sigwait sees it. NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread) */
    WF_ASSERT(pthread_kill(s->thread, SIGTERM) == 0);
    WF_ASSERT(pthread_join(s->thread, NULL) == 0);
    free(s);
}
