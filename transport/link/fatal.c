/* transport/link/fatal.c -- see fatal.h. */
#include "fatal.h"
#include "requests.h"
#include "transport.h"

#include <stdio.h>

void wf_cluster_fail(struct wf_transport *t, const char *what, const char *why)
{
    pf_mutex_lock(t->lock);
    bool first = t->fatal[0] == '\0';
    if (first) snprintf(t->fatal, sizeof t->fatal, "%s", why);
    void (*notify)(void *, int, const char *) = t->notify;
    void *arg = t->notify_arg;
    pf_cond_broadcast(t->changed);
    pf_mutex_unlock(t->lock);
    if (!first) return;
    weft_log(WEFT_ERROR, "node %s %s: %s", t->node->name, what, why);
    if (notify != NULL) notify(arg, WF_NOTIFY_FATAL, why);
}
