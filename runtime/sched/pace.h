/* runtime/sched/pace.h -- how long the turns of a worker are, in numbers that any thread can read without asking the
 * worker. The worker's thread makes two plain stores a turn, with the clock that it reads anyway. */
#ifndef WF_PACE_H
#define WF_PACE_H

#include "base.h"

struct wf_worker;

/* See stuck.h, too. The worker's thread writes these, any thread may read them; relaxed. */
enum { WF_TURN_BITS_MIN = 10, WF_TURN_BITS_MAX = 34, WF_TURN_BUCKETS = WF_TURN_BITS_MAX - WF_TURN_BITS_MIN + 2 };
#define WF_PACE_WINDOW WEFT_SEC(5)
struct wf_pace {
    _Atomic int64_t began; /* start of the present turn; 0: it sleeps */
    /* `began` of a turn that was found too long; stored with release by the thread that looks */
    _Atomic int64_t seen;
    _Atomic int64_t polled;     /* it has read everything that had arrived until this time */
    _Atomic int64_t busy;       /* ns of all ended turns */
    _Atomic int64_t longest[2]; /* of turns that ended in this window, and in the one before */
    _Atomic int64_t window;     /* when it began */
    /* how many took less than 2^10 ns, 2^11, ..., 2^34, and how many took longer */
    _Atomic uint64_t turns[WF_TURN_BUCKETS];
};

struct wf_pace_seen {
    int64_t busy;    /* ns that it has run since the start, including the present turn */
    int64_t longest; /* the longest turn of at least the last WF_PACE_WINDOW, including the present one */
    int64_t turn;    /* length of the present turn; 0: it sleeps */
};
/* Any thread. */
void wf_pace_see(const struct wf_worker *w, int64_t now, struct wf_pace_seen *out);
/* The worker has read everything that arrived until this time; `now` if it sleeps. On a node with one thread it is
 * `now`, as the code that asks runs after the reading. */
int64_t wf_pace_read_until(const struct wf_worker *w, int64_t now);

/* For the loop, on the worker's thread. A turn that began at `began` is over. */
void wf_pace_turn_over(struct wf_pace *p, int64_t began, int64_t now);

#endif
