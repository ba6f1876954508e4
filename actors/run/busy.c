/* actors/run/busy.c -- see busy.h. */
#include "busy.h"

#include "node.h"
#include "sanitizer.h"

void wf_node_busy(weft_node *node, bool services, int change)
{
    WF_ASSERT(change == 1 || change == -1);
    /* Release: what the last actor did comes before what a waiter does. */
    wf_tsan_release(&node->busy[services]);
    uint32_t before = atomic_fetch_add_explicit(&node->busy[services], (uint32_t)change, memory_order_acq_rel);
    WF_ASSERT(change > 0 || before > 0);
    if (change > 0 || before != 1) return;
    pf_mutex_lock(node->lock);
    pf_cond_broadcast(node->ended);
    pf_mutex_unlock(node->lock);
}

int wf_node_wait_idle(weft_node *node, bool services, int64_t deadline)
{
    WF_ASSERT(wf_here == NULL || wf_node_of(wf_here) != node); /* a worker would wait for itself */
    struct pf_env *env = node->workers.env;
    int rc = WEFT_OK;
    pf_mutex_lock(node->lock);
    while (atomic_load_explicit(&node->busy[services], memory_order_acquire) != 0 && rc == WEFT_OK)
        rc = env->cond_wait(env, node->ended, node->lock, deadline);
    pf_mutex_unlock(node->lock);
    wf_tsan_acquire(&node->busy[services]);
    return rc;
}
