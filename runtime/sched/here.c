/* runtime/sched/here.c -- see here.h. */
#include "here.h"

#include "worker.h"

static struct wf_worker nobody; /* it is never written to */
_Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));
_Thread_local struct wf_worker *wf_here_or_nobody __attribute__((tls_model("initial-exec"))) = &nobody;
_Thread_local struct pf_env *wf_env_here;

void wf_here_set(struct wf_worker *w)
{
    wf_here = w;
    wf_here_or_nobody = w == NULL ? &nobody : w;
}
