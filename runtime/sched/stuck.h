/* runtime/sched/stuck.h -- finds actors that block a worker.
 *
 * Design notes.
 * (1) A worker stores when its turn began, in its pace (pace.h).
 * (2) The worker of weft's own actors (workers.h: `users`) looks at the others, by an alarm of its poller. An idle
 *     node has no alarm: a worker that wakes makes sure that one is set, for a time after which its new turn would be
 *     too long; if one is set and no other worker runs, it is moved to a later time. So while workers wake more often
 *     than the alarm's span, the alarm costs one system call per span and never rings. When it rings, that worker
 *     looks, and sets it again only if some worker runs.
 * (3) A turn that is too long is reported once in the log, and is visible here until it is over. Its own thread is
 *     interrupted to find out what it does (pf_thread_glimpse). A thread that gets no processor does not answer. Then
 *     it is asked again at the next looks, and what it does is reported as soon as it is known.
 * (4) A process that was stopped, by a debugger for example, has no long turns: an alarm that comes late by itself
 *     only sets the next one. */
#ifndef WF_STUCK_H
#define WF_STUCK_H

#include "workers.h"

enum { WF_STUCK_CALLS = 16, WF_STUCK_TEXT = 512, WF_STUCK_ASKED_MAX = 10 };

/* An actor that blocks its worker. */
struct wf_stuck {
    uint32_t worker;
    int64_t began, now; /* when its turn began, and when it was looked at */
    uint64_t actor;     /* 0: no actor, but a timer or a delivery */
    char kind[32];      /* "" if no actor blocks it */
    char name[65];      /* its first registered name, or "" */
    int calls;          /* number of `call`, the innermost calls of its thread at that time; 0: not known */
    uintptr_t call[WF_STUCK_CALLS];
    int asked; /* how many times in a row its thread did not answer */
};

/* wf_workers_init: `set->stuck_after` is filled in. A set without a worker of weft's own does not watch.
 * WEFT_ENOMEM. */
int wf_stuck_init(struct wf_workers *set);
void wf_stuck_finish(struct wf_workers *set);
/* Whether that worker was found blocked at the last look. Any thread. `out` may be NULL. */
bool wf_stuck_at(struct wf_workers *set, uint32_t worker, struct wf_stuck *out);
/* "actor NAME (KIND 0.17.1)" or "a timer or a delivery". */
void wf_stuck_who(const struct wf_stuck *s, char *out, size_t size);
/* Writes the functions of the program in which it is, the innermost first: " in spin < on_tick"; "": none is known.
 * At most WF_STUCK_TEXT bytes. It reads files. */
void wf_stuck_where(const struct wf_stuck *s, char out[WF_STUCK_TEXT]);
/* Logs, as an error, the actors that block workers for which `what` ("node a: the stop") waits. Returns how many. Any
 * thread. */
uint32_t wf_stuck_report(struct wf_workers *set, const char *what);

/* ---- For the loop ------------------------------------------------------------------------------ */
/* Called when a worker that has slept begins a turn. */
void wf_stuck_arm(struct wf_worker *w);
static inline void wf_stuck_awake(struct wf_worker *w, int64_t now)
{
    int64_t at = atomic_load_explicit(&w->set->look_at, memory_order_relaxed);
    if (WF_UNLIKELY(at < now + w->set->stuck_after) && w->set->watch != NULL) wf_stuck_arm(w);
}
/* Called by the worker of weft's own actors in each turn: looks if it is time. */
void wf_stuck_look_now(struct wf_worker *own);
static inline void wf_stuck_look(struct wf_worker *own)
{
    int64_t at = atomic_load_explicit(&own->set->look_at, memory_order_relaxed);
    if (WF_UNLIKELY(at != 0 && at <= own->now)) wf_stuck_look_now(own);
}
/* Called before that worker sleeps: returns when it must look, if pollers have no alarms; else WEFT_FOREVER. */
int64_t wf_stuck_rings_at(const struct wf_worker *own);
/* Called when a turn that was reported as too long has ended. */
void wf_stuck_over(struct wf_worker *w, int64_t began, int64_t now);

#endif
