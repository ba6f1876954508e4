/* actors/pools/pool_member.h -- a member of a pool, and the count of what is outstanding to it.
 *
 * Design notes.
 * (1) The work outstanding to a member is counted in a struct wf_member, shared by the pool, which counts up, and the
 *     member, which counts down when it lets go of a message (wf_release, weft_reply). The pool has one reference to
 *     it, the member another, in a block that ends with it (weft_local). If the member never runs, the pool, which is
 *     told of its end, drops both.
 * (2) Whoever waits for a member to let go of messages stores in `wake_at` to how many, then looks at the count
 *     again; the member counts, then looks at `wake_at`. Both are sequentially consistent, so one of them sees the
 *     other. The member turns `wake_at` off and sends the news, a message to the pool's system lane. */
#ifndef WF_POOL_MEMBER_H
#define WF_POOL_MEMBER_H

#include "base.h"

#include <weft/actor.h>
#include <weft/message.h>

struct wf_actor;

enum { WF_NOBODY_WAITS = -1 };

struct wf_member {
    alignas(WF_CACHE_LINE) _Atomic uint32_t refs; /* release on the way down, acquire by the last */
    _Atomic int32_t outstanding, wake_at;         /* sequentially consistent: note (2) */
    _Atomic uint64_t done;                        /* relaxed: for people */
    bool joined; /* it has its reference. Written by the member, read by the pool after its end */
    weft_pid pool;
};

/* What a member is started with: its own arguments follow. */
struct wf_member_boot {
    alignas(16) struct wf_member *member;
    weft_actor *body;
};

/* The running actor, a pool, starts a member. WEFT_ENOMEM, or as weft_spawn. */
int wf_member_spawn(struct wf_member **out, weft_pid *pid, struct wf_member_boot *arg, size_t size,
                    const weft_spawn_options *options);
/* The pool lets go of one. `ended`: it has been told of its end. NULL is fine. */
void wf_member_forget(struct wf_member *m, bool ended);
/* On the owner's thread: the actor `a`, if it is a member of a pool, is done with `m`, a WF_POST_WORK, which it goes
 * on to free or to send. Otherwise does nothing. */
void wf_member_let_go(struct wf_actor *a, weft_msg *m);

#endif
