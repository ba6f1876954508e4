/* runtime/sched/pace.h -- how long the turns of a worker are, in figures that any thread may read: no worker has to
 * answer. Its thread writes two plain stores a turn, with the clock that it reads anyway. */
#ifndef WF_PACE_H
#define WF_PACE_H

#include "base.h"

struct wf_worker;

/* How long a worker's turns are: see stuck.h. Its thread writes, any thread may read; relaxed. */
enum { WF_TURN_BITS_MIN = 10, WF_TURN_BITS_MAX = 34, WF_TURN_BUCKETS = WF_TURN_BITS_MAX - WF_TURN_BITS_MIN + 2 };
#define WF_PACE_WINDOW WEFT_SEC(5)
struct wf_pace {
    _Atomic int64_t began;      /* the turn it is in; 0: it sleeps */
    _Atomic int64_t seen;       /* `began` of a turn that was seen to be too long: by who looks, release */
    _Atomic int64_t polled;     /* all that had come for it by then has been read */
    _Atomic int64_t busy;       /* ns, of all turns that are over */
    _Atomic int64_t longest[2]; /* of those that ended in this window, and in the one before */
    _Atomic int64_t window;     /* when it began */
    _Atomic uint64_t turns[WF_TURN_BUCKETS]; /* how many were below 2^10 ns, 2^11, ..., 2^34; and the others */
};

struct wf_pace_seen {
    int64_t busy;    /* ns that it has run, since the start, the turn it is in included */
    int64_t longest; /* turn of the last WF_PACE_WINDOW, at least; the same */
    int64_t turn;    /* how long the turn is that it is in; 0: it sleeps */
};
/* Any thread. */
void wf_pace_see(const struct wf_worker *w, int64_t now, struct wf_pace_seen *out);
/* Until when it has read what came for it, as far as is known: now, if it sleeps. With one thread who asks has read
 * before. */
int64_t wf_pace_read_until(const struct wf_worker *w, int64_t now);

/* For the loop, on the worker's thread. A turn that began at `began` is over. */
void wf_pace_turn_over(struct wf_pace *p, int64_t began, int64_t now);

#endif
