/* runtime/sched/stuck.h -- which actor holds a worker up.
 *
 * Design notes.
 * (1) A worker says when its turn began, in its pace (pace.h).
 * (2) Who looks is the worker of weft's own actors (workers.h: `users`), by an alarm of its poller. There is none on
 *     an idle node: a worker that wakes sees to it that one is set, later than the turn that it begins could be too
 *     long; if one is and nobody else runs, it is put off. So while workers wake more often than the alarm takes, it
 *     costs a system call in that time and wakes nobody; and one that rings looks, and is set anew only if somebody
 *     runs.
 * (3) A turn that is too long is seen once: in the log, and here until it is over. What its thread does then is asked
 *     of the thread itself (pf_thread_glimpse).
 * (4) A process that was stopped, by a debugger for example, has no long turns: an alarm that comes late by itself
 *     only sets the next one. */
#ifndef WF_STUCK_H
#define WF_STUCK_H

#include "workers.h"

enum { WF_STUCK_CALLS = 16, WF_STUCK_TEXT = 512 };

/* One that holds its worker up. */
struct wf_stuck {
    uint32_t worker;
    int64_t began, now; /* its turn, and when it was looked at */
    uint64_t actor;     /* 0: none, but a timer or a delivery */
    char kind[32];      /* "" then */
    char name[65];      /* the first it has registered, or "" */
    int calls;          /* where its thread was when it was seen: its innermost calls; 0: that is not known */
    uintptr_t call[WF_STUCK_CALLS];
};

/* wf_workers_init: `set->stuck_after` is filled in. A set without a worker of weft's own watches nobody.
 * WEFT_ENOMEM. */
int wf_stuck_init(struct wf_workers *set);
void wf_stuck_finish(struct wf_workers *set);
/* Whether that worker is held up, as far as anybody has looked. Any thread. `out` may be NULL. */
bool wf_stuck_at(struct wf_workers *set, uint32_t worker, struct wf_stuck *out);
/* "actor NAME (KIND 0.17.1)" or "a timer or a delivery". */
void wf_stuck_who(const struct wf_stuck *s, char *out, size_t size);
/* The functions of the program it is in, the innermost first: " in spin < on_tick"; "": none is known. At most
 * WF_STUCK_TEXT bytes. Reads files. */
void wf_stuck_where(const struct wf_stuck *s, char out[WF_STUCK_TEXT]);
/* Logs, as an error, who holds the workers up that `what` waits for: "node a: the stop". How many. Any thread. */
uint32_t wf_stuck_report(struct wf_workers *set, const char *what);

/* ---- For the loop ------------------------------------------------------------------------------ */
/* A turn begins, of a worker that has slept. */
void wf_stuck_arm(struct wf_worker *w);
static inline void wf_stuck_awake(struct wf_worker *w, int64_t now)
{
    int64_t at = atomic_load_explicit(&w->set->look_at, memory_order_relaxed);
    if (WF_UNLIKELY(at < now + w->set->stuck_after) && w->set->watch != NULL) wf_stuck_arm(w);
}
/* By the worker of weft's own actors, in each turn: looks if it is time. */
void wf_stuck_look_now(struct wf_worker *own);
static inline void wf_stuck_look(struct wf_worker *own)
{
    int64_t at = atomic_load_explicit(&own->set->look_at, memory_order_relaxed);
    if (WF_UNLIKELY(at != 0 && at <= own->now)) wf_stuck_look_now(own);
}
/* The same, before it sleeps: when it has to look without an alarm; WEFT_FOREVER: there are alarms. */
int64_t wf_stuck_rings_at(const struct wf_worker *own);
/* A turn that was seen to be too long is over. */
void wf_stuck_over(struct wf_worker *w, int64_t began, int64_t now);

#endif
