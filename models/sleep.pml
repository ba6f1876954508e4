/* models/sleep.pml -- a worker falls asleep while others post to it. No wake is lost, and a sleep costs one wake at
 * most.
 *
 * Stands for: push_chain, wake_if_asleep, wf_worker_post_chain, wf_worker_when_space, wf_posts_take
 * (runtime/sched/post.c); drain_inbox, has_posts, look_for_posts, sleep_until, wf_worker_turn
 * (runtime/sched/worker.c); pf_native_poller_wake and pf_native_poller_wait (runtime/platform/linux/poller_epoll.c),
 * whose eventfd is edge-triggered and never read: a write makes an edge, a wait takes it.
 *
 * A signal handler that posts to its own worker is a producer whose steps all come between two of the worker's: one
 * of the orders that are searched anyway.
 *
 * Memory order: spin takes every step in one order that all see. The code has that where it counts: the push (CAS)
 * and the read of `state` in wake_if_asleep, the store of ASLEEP and the second look at the lists in sleep_until are
 * all memory_order_seq_cst, so there is one order of the four, and either the producer reads ASLEEP or the worker
 * sees the post. The look before (has_posts, relaxed) and wf_posts_take's first load (relaxed) may read old values:
 * here, too, they may miss a post, see STALE; nothing but the second look is relied on. What a post holds is ordered
 * by the CAS (release) and the exchange that takes the list (acquire). inbox_count bounds, and orders nothing.
 *
 * -DBUG=1: the worker does not look again after it has said ASLEEP.  -DBUG=2: the producer reads and stores RUNNING
 * in two steps instead of exchanging. */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef POSTS
#define POSTS 2 /* of each */
#endif
#ifndef BUG
#define BUG 0
#endif
#define ALL (PRODUCERS * POSTS)

mtype = { RUNNING, ASLEEP };

byte inbox;      /* how many posts are in the list */
byte space_calls; /* the second list */
mtype state = RUNNING;
bool edge; /* the eventfd was written since it was waited for */
bool paid; /* somebody pays for the wake of this sleep */
byte handled;

active [PRODUCERS] proctype producer()
{
    byte left = POSTS;
    mtype seen;
    do
    :: left > 0 ->
        if /* push_chain */
        :: inbox++
        :: space_calls++
        fi;
        seen = state; /* wake_if_asleep */
        if
        :: seen == ASLEEP ->
#if BUG == 2
            d_step { state = RUNNING; assert(!paid); paid = true };
#else
            d_step {
                seen = state;
                state = RUNNING;
                assert(seen == RUNNING || !paid);
                paid = paid || seen == ASLEEP
            };
#endif
            if
            :: seen == ASLEEP -> edge = true
            :: else
            fi
        :: else
        fi;
        seen = RUNNING; /* so that states that differ in nothing else are one */
        left--
    :: else -> break
    od
}

active proctype worker()
{
    bool sees;
    do
    :: handled == ALL -> break
    :: else ->
        if /* drain_inbox: STALE, its first load may miss what is there */
        :: d_step { handled = handled + inbox; inbox = 0 }
        :: true
        fi;
        if
        :: d_step { handled = handled + space_calls; space_calls = 0 }
        :: true
        fi;
        if
        :: true -> edge = false /* a busy turn, or one that found posts by looking: polls without waiting */
        :: true -> /* idle: sleep_until. STALE, the look before may have missed a post */
            d_step { state = ASLEEP; paid = false };
#if BUG == 1
            sees = false;
#else
            sees = inbox > 0;
            if
            :: !sees -> sees = space_calls > 0
            :: else
            fi;
#endif
            if
            :: sees || handled == ALL -> edge = false
            :: else -> edge; edge = false /* without a deadline: only a wake ends it */
            fi;
            state = RUNNING;
            sees = false
        fi
    od
}
