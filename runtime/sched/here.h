/* runtime/sched/here.h -- the worker that runs on the calling thread, and the environment that drives it. */
#ifndef WF_HERE_H
#define WF_HERE_H

struct pf_env;
struct wf_worker;

/* The worker of the calling thread; NULL elsewhere. */
extern _Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));
/* A simulation sets this in the thread that drives it: weft_now shows that clock outside of workers. */
extern _Thread_local struct pf_env *wf_env_here;

#endif
