/* runtime/platform/posix/thread.h -- shared by thread.c and glimpse.c. */
#ifndef PF_POSIX_THREAD_H
#define PF_POSIX_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "platform.h"

struct pf_thread {
    pthread_t thread;
    _Atomic int number; /* the kernel's number of the thread, once it allows glimpses; 0: not known */
    char name[16];
    void (*run)(void *arg);
    void *arg;
};

extern _Thread_local struct pf_thread *pf_thread_here; /* NULL: pf_thread_start did not start the calling thread */

#endif
