/* runtime/memory/once.h -- a mutex of the process, which the first thread that needs it makes, and which is never
 * freed. */
#ifndef WF_ONCE_H
#define WF_ONCE_H

#include "platform.h"

/* NULL: there is no memory for it. Release and acquire: a thread that finds the mutex finds it complete. */
static inline pf_mutex *wf_mutex_once(_Atomic(pf_mutex *) *at)
{
    pf_mutex *m = atomic_load_explicit(at, memory_order_acquire), *other = NULL;
    if (m != NULL || pf_mutex_create(&m) < 0) return m;
    if (atomic_compare_exchange_strong_explicit(at, &other, m, memory_order_acq_rel, memory_order_acquire)) return m;
    pf_mutex_destroy(m);
    return other;
}

#endif
