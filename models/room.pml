/* models/room.pml -- senders wait for room in the mailbox of an actor on another worker. None waits for ever while
 * there is room, also if others give up, or the receiver ends.
 *
 * Stands for: send_across, wait_for_room, wait_for_mailbox, ask_room (actors/core/send.c); wf_on_space_asked,
 * wf_on_space_made, tell_room, wf_space_notify_all, deliver_room, drop_room (actors/core/backpressure.c); receive,
 * drop_if_dead, wait_for_mail (actors/core/mailbox.c); wf_deliver (actors/core/deliver.c). Bounds by count; those
 * by bytes take the same ways.
 *
 * What is between two workers comes in order (outbox and inbox are queues) and WF_MSG_SPACE is never refused. All that
 * the home worker does with an arrival, and each step of the receiver, is one step, as its thread does one at a time.
 * A sender on the home worker itself is one whose messages arrive at once. A sender that is killed gives up.
 *
 * Memory order: the one thing shared without a message is `full` of the actor, read relaxed. Here a sender believes
 * of it what it likes: nothing relies on it. Messages are ordered by the inbox (models/sleep.pml).
 *
 * -DBUG=1: who gives up does not take its request back.  -DBUG=2: nobody is told when a request has
 * expired and is dropped.  -DBUG=3: who was told of room and then gives up because the lane to that worker is full keeps its
 * place.  -DBUG=4: the senders are not told when the receiver ends. */
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
chan room = [2 * SENDERS] of { byte, byte }; /* wf_actor.room: who asked, and the number of its request */
byte count;                              /* wf_actor.mail_count */
bool alive = true, receives = true, waits_for_mail;
bool may_stop, may_end; /* the receiver, in this run */
bool waiting[SENDERS];

inline tell(most) /* tell_room */
{
    places = (count < MAX -> MAX - count : 0);
    places = (places < most -> places : most);
    do
    :: places > 0 && nempty(room) -> room?who, n; news[who]!n; places--
    :: places == 0 || empty(room) -> break
    od
}

inline forget(i)
{
    if
    :: room??[eval(i), _] -> room??eval(i), n
    :: !(room??[eval(i), _])
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
        :: count >= MAX || nempty(room) -> room!i, n /* behind those that wait */
        :: count < MAX && empty(room) -> news[i]!n
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
            :: nempty(room) ->
                room?who, n;
#if BUG != 4
                news[who]!n
#endif
            :: empty(room) -> break
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
    :: left > 0 && alive -> /* there seems to be room */
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
