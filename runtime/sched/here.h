/* runtime/sched/here.h -- the worker that runs on the calling thread, and the environment that drives it. */
#ifndef WF_HERE_H
#define WF_HERE_H

struct pf_env;
struct wf_worker;

/* The worker of the calling thread; NULL elsewhere. */
extern _Thread_local struct wf_worker *wf_here __attribute__((tls_model("initial-exec")));
/* The same; elsewhere a worker that runs no task. So the running task is found with one test instead of two. */
extern _Thread_local struct wf_worker *wf_here_or_nobody __attribute__((tls_model("initial-exec")));
/* The calling thread drives that worker from now on; NULL: none. */
void wf_here_set(struct wf_worker *w);
/* A simulation sets this in the thread that drives it: weft_now shows that clock outside of workers. */
extern _Thread_local struct pf_env *wf_env_here;

#endif
