/* actors/pools/pool_member.h -- a member of a pool, and the count of its outstanding work.
 *
 * Design notes.
 * (1) The work outstanding to a member is counted in a struct wf_member, shared by the pool, which counts up, and the
 *     member, which counts down when it frees, sends or answers a message (wf_release, weft_reply). The pool has one
 *     reference to it, the member another, in a block that is freed with the member (weft_local). If the member never
 *     runs, the pool, which is notified of its end, drops both.
 * (2) To wait until a member has fewer outstanding messages, the pool stores the wanted number in `wake_at`, then
 *     reads the count again; the member counts down, then reads `wake_at`. Both are sequentially consistent, so at
 *     least one sees the other's store. The member resets `wake_at` and notifies the pool with a message to its
 *     system lane. */
#ifndef WF_POOL_MEMBER_H
#define WF_POOL_MEMBER_H

#include "base.h"

#include <weft/actor.h>
#include <weft/message.h>

struct wf_actor;

enum { WF_NOBODY_WAITS = -1 };

struct wf_member {
    alignas(WF_CACHE_LINE) _Atomic uint32_t refs; /* decremented with release; acquire by the last */
    _Atomic int32_t outstanding, wake_at;         /* sequentially consistent: note (2) */
    _Atomic uint64_t done;                        /* relaxed: only shown to users; the member's worker writes it */
    bool joined; /* it has its reference. Written by the member, read by the pool after its end */
    weft_pid pool;
};

/* The argument of a member's actor; the member's own argument follows it. */
struct wf_member_boot {
    alignas(16) struct wf_member *member;
    weft_actor *body;
};

/* The running actor, a pool, starts a member. WEFT_ENOMEM, or as weft_spawn. */
int wf_member_spawn(struct wf_member **out, weft_pid *pid, struct wf_member_boot *arg, size_t size,
                    const weft_spawn_options *options);
/* The pool drops a member. `ended`: the pool was notified of its end. `m` may be NULL. */
void wf_member_forget(struct wf_member *m, bool ended);
/* On the owner's thread: the actor `a`, if it is a member of a pool, is done with `m`, a WF_POST_WORK, which it goes
 * on to free or to send. Otherwise does nothing. */
void wf_member_let_go(struct wf_actor *a, weft_msg *m);

#endif
