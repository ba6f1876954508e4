/* models/space.pml -- senders wait for space in the mailbox of an actor on another worker. No sender waits for ever
 * while there is space, also if other senders give up, or the receiver ends.
 *
 * Stands for: send_across, wait_for_space, wait_for_mailbox, ask_space (actors/mailbox/send.c); wf_on_space_asked,
 * wf_on_space_made, notify_of_space, wf_space_notify_all, deliver_space, drop_space (actors/mailbox/backpressure.c); receive,
 * drop_if_dead, wait_for_mail (actors/mailbox/mailbox.c); wf_deliver (actors/mailbox/deliver.c). The model bounds the mailbox
 * by messages; a bound by bytes takes the same paths.
 *
 * Messages between two workers arrive in order (outbox and inbox are queues) and WF_MSG_SPACE is never refused. All
 * that the home worker does with an arrival is one step, and so is each step of the receiver, because its thread does
 * one thing at a time. A sender on the home worker is a sender whose messages arrive at once. A killed sender gives up.
 *
 * Memory order: workers share one thing without a message: `full` of the actor, which is read relaxed. Here a sender
 * may believe either value of it, because nothing relies on it. The inbox orders messages (models/sleep.pml).
 *
 * -DBUG=1: a sender that gives up does not take its request back.  -DBUG=2: no sender is notified when a request has
 * expired and is dropped.  -DBUG=3: a sender that was notified of space and then gives up, because the lane to that
 * worker is full, keeps its place.  -DBUG=4: the senders are not notified when the receiver ends. */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each */
#endif
#ifndef MAX
#define MAX 1 /* mailbox_max */
#endif
#ifndef TELL
#define TELL 1 /* the receiver tells so many at a time, when so many more places are free: mailbox_max / 8 */
#endif
#ifndef BUG
#define BUG 0
#endif

mtype = { DATA, ASK, FORGET };
chan to_home[SENDERS] = [5] of { mtype, byte };
chan news[SENDERS] = [5] of { byte };
chan space = [2 * SENDERS] of { byte, byte }; /* wf_actor.space: who asked, and the number of its request */
byte count;                              /* wf_mail_count */
bool alive = true, receives = true, waits_for_mail;
bool may_stop, may_end; /* the receiver, in this run */
bool waiting[SENDERS];

inline tell(most) /* notify_of_space */
{
    places = (count < MAX -> MAX - count : 0);
    places = (places < most -> places : most);
    do
    :: places > 0 && nempty(space) -> space?who, n; news[who]!n; places--
    :: places == 0 || empty(space) -> break
    od
}

inline forget(i)
{
    if
    :: space??[eval(i), _] -> space??eval(i), n
    :: !(space??[eval(i), _])
    fi;
    tell(MAX)
}

inline arrives(i)
{
    to_home[i]?kind, n;
    if
    :: !alive -> /* wf_drop */
        if
        :: kind == ASK -> news[i]!n
        :: else
        fi
    :: alive && kind == DATA -> count++; waits_for_mail = false
    :: alive && kind == ASK ->
        if
        :: count >= MAX || nempty(space) -> space!i, n /* behind those that wait */
        :: count < MAX && empty(space) -> news[i]!n
        fi
    :: alive && kind == FORGET -> forget(i)
    fi;
    n = 0; who = 0; kind = DATA
}

active proctype home()
{
    byte n, who, places;
    mtype kind = DATA;
end_idle:
    do
    :: d_step { nempty(to_home[0]) -> arrives(0) }
    :: d_step { nempty(to_home[1]) -> arrives(1) }
#if SENDERS > 2
    :: d_step { nempty(to_home[2]) -> arrives(2) }
#endif
    :: d_step { alive && receives && count > 0 -> /* receive */
            count--;
            if
            :: count < MAX && (MAX - count) % TELL == 0 -> tell(TELL)
            :: count >= MAX || (MAX - count) % TELL != 0
            fi;
            n = 0; who = 0
        }
    :: d_step { alive && receives && count > 0 -> /* drop_if_dead: a request that nobody waits for any more */
            count--;
#if BUG != 2
            tell(MAX);
            n = 0; who = 0
#endif
        }
    :: d_step { alive && receives && count == 0 && !waits_for_mail -> /* wait_for_mail */
            tell(MAX);
            n = 0; who = 0;
            waits_for_mail = true
        }
    :: d_step { alive && receives && count == 0 -> waits_for_mail = true } /* weft_wait_any, which does not look */
    :: d_step { may_stop && alive && receives -> receives = false } /* does something else from now on */
    :: d_step { may_end && alive -> /* wf_mailbox_close */
            alive = false; count = 0; waits_for_mail = false;
            do
            :: nempty(space) ->
                space?who, n;
#if BUG != 4
                news[who]!n
#endif
            :: empty(space) -> break
            od;
            n = 0; who = 0
        }
    od
}

proctype sender(byte me)
{
    byte left = MESSAGES, asked, n;
    bool told, may_give_up = true;
    do
    :: left == 0 || !alive -> break
    :: left > 0 && alive -> /* there seems to be space */
        to_home[me]!DATA, 0;
        left--;
        told = false
    :: left > 0 && alive -> /* full, as it believes: wait_for_mailbox */
        asked = (asked + 1) % 4;
        to_home[me]!ASK, asked;
        waiting[me] = true;
end_wait:
        do
        :: news[me]?n ->
            if
            :: n == asked -> told = true; break
            :: else /* news of a request it has taken back */
            fi
        :: may_give_up -> /* deadline, cancelled or killed */
            may_give_up = false;
            told = false;
#if BUG != 1
            to_home[me]!FORGET, 0;
#endif
            left--;
            break
        od;
        n = 0;
        waiting[me] = false
    :: left > 0 && alive && may_give_up -> /* the lane is full, and it gives up waiting for that */
        may_give_up = false;
#if BUG != 3
        if
        :: told -> to_home[me]!FORGET, 0
        :: else
        fi;
#endif
        told = false;
        left--
    od;
end_gone:
    do
    :: news[me]?n; n = 0
    od
}

#define FREE (count + TELL <= MAX)

/* When nothing moves any more. */
active proctype nobody_waits_in_vain()
{
    byte i;
end_watch:
    timeout;
    for (i : 0 .. SENDERS - 1) {
        assert(!waiting[i] || (alive && !waits_for_mail && !FREE))
    }
}

init
{
    byte i;
    atomic {
        if
        :: may_stop = true
        :: may_end = true
        :: true
        fi;
        for (i : 0 .. SENDERS - 1) {
            run sender(i)
        }
    }
}
