/* runtime/sched/here.c -- see here.h. */
#include "here.h"

_Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));
_Thread_local struct pf_env *wf_env_here;
