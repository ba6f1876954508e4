/* transport/link/peer_limits.h -- how much one peer may send in a second, if the node's options bound that.
 *
 * A peer over its rate is slowed: nothing is read from it until what it has sent is within the rate again, so it
 * feels what a slow network would do to it, and nothing is lost. Half a minute's worth in one go is no haste any
 * more: it is dropped. Spawns cannot be slowed without slowing all else; the ones too many are refused. */
#ifndef WF_PEER_LIMITS_H
#define WF_PEER_LIMITS_H

#include "task.h"

struct wf_channel;
struct wf_frame;

/* Of a node; per second, 0: no limit. */
struct wf_limits {
    uint64_t frames, bytes, spawns;
};

/* What one link has used up: of each, the time by which all that has come would have come at the rate allowed. */
struct wf_usage {
    int64_t frames_at, bytes_at, spawns_at;
    uint64_t frames, bytes; /* of the link's counters, that have been accounted for */
    _Atomic int64_t slowed; /* ns in all; relaxed, for `weft nodes` */
};

/* A pause of one connection. */
struct wf_slowing {
    struct wf_call call; /* to the worker that has the timer */
    struct wf_timer timer;
    int64_t paused_at, resume_at;
};

/* All that one read brought has been handled. True: receiving pauses; it goes on by itself, unless the link was
 * closed. */
bool wf_limits_pause(struct wf_channel *ch);
/* Whether one more actor may be started. False: it was answered, counted, or the link was closed. */
bool wf_limits_spawn(struct wf_channel *ch, const struct wf_frame *f);

#endif
