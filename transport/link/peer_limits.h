/* transport/link/peer_limits.h -- limits of what one peer may send per second, if the node's options set them.
 *
 * A peer over its rate is slowed: nothing is read from it until its bytes and frames are within the rate again. To the
 * peer this looks like a slow network, and nothing is lost. If a peer is half a minute ahead of its rate, its link is
 * ended. Spawns cannot be slowed without slowing everything else, so the surplus ones are refused. */
#ifndef WF_PEER_LIMITS_H
#define WF_PEER_LIMITS_H

#include "task.h"

struct wf_channel;
struct wf_frame;

/* The limits that a node sets for each peer, per second; 0: no limit. */
struct wf_limits {
    uint64_t frames, bytes, spawns;
};

/* What the peer of one link has used. The first three are times: at exactly the allowed rate, everything that has come
 * would have taken until then. */
struct wf_usage {
    int64_t frames_at, bytes_at, spawns_at;
    uint64_t frames, bytes; /* the part of the link's counters that has been accounted for */
    _Atomic int64_t slowed; /* total in ns; relaxed, for `weft nodes` */
};

/* A pause of one connection. */
struct wf_slowing {
    struct wf_call call; /* to the worker that has the timer */
    struct wf_timer timer;
    int64_t paused_at, resume_at;
};

/* Call it when everything that one read brought has been handled. True: the caller must pause receiving; it resumes by
 * itself, unless the link has failed. */
bool wf_limits_pause(struct wf_channel *ch);
/* Whether the peer may start one more actor. False: the frame was refused and counted, or the link has failed. */
bool wf_limits_spawn(struct wf_channel *ch, const struct wf_frame *f);

#endif
