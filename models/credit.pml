/* models/credit.pml -- senders of one worker and an actor of another node: none waits for ever while there is space,
 * and the mailbox holds never more than its bound or, before the first answer, what may be sent without one.
 *
 * Stands for: wf_credit_take (transport/link/credit.h); wf_credit_review, wf_credit_wait, take_grant, ask
 * (transport/link/credit.c); deliver_credit_request, grant_share (actors/credit/credit.c); notify_one,
 * wf_space_notify_all (actors/mailbox/backpressure.c). A message is one unit.
 *
 * The link loses and reorders nothing. What a worker does between two waits of its tasks is one step, as is all that it
 * does with one arrival. A sender that is killed gives up.
 *
 * -DBUG=1: who has sent does not wake the next one.  -DBUG=2: who gives up after it was woken does not pass that on.
 * -DBUG=3: a grant that is spent already is not followed by another CREDIT_REQUEST.  -DBUG=4: the end of the actor
 * does not answer the CREDIT_REQUEST that waits there.  -DBUG=5: a CREDIT_REQUEST that finds a full mailbox is not
 * kept.  -DBUG=6: a grant counts from its arrival, not from its CREDIT_REQUEST. */
#ifndef SENDERS
#define SENDERS 3
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each */
#endif
#ifndef MAX
#define MAX 4 /* mailbox_max */
#endif
#ifndef FIRST
#define FIRST 2 /* WF_CREDIT_FIRST */
#endif
#ifndef GIVE
#define GIVE 4 /* of one grant at most */
#endif
#ifndef BUG
#define BUG 0
#endif

mtype = { DATA, CREDIT_REQUEST };
chan there = [20] of { mtype };
chan here = [4] of { byte }; /* units; 0: the actor is gone */
chan line = [SENDERS] of { byte };
short left = FIRST, given = FIRST, asked_at;
bool asked, woken[SENDERS];
byte count, ended;
bool alive = true, parked, may_end;

inline wake_first()
{
    if
    :: left > 0 && nempty(line) -> line?next; woken[next] = true
    :: else
    fi;
    next = 0
}

inline ask()
{
    if
    :: !asked && left <= given / 2 -> there!CREDIT_REQUEST; asked = true; asked_at = left
    :: else
    fi
}

proctype sender(byte me)
{
    byte todo = MESSAGES, next, i;
    bool gives_up, may_give_up = (me == 0), waited;
    do
    :: todo == 0 -> break
    :: else ->
        atomic { /* wf_credit_take, and stir */
            if
            :: left > 0 ->
                there!DATA;
                todo--;
                left--;
                ask();
#if BUG != 1
                wake_first()
#endif
            :: else -> line!me; ask(); waited = true
            fi
        }
        do
        :: !waited -> break
        :: waited ->
            atomic {
                if
                :: woken[me]
                :: may_give_up -> gives_up = true
                fi;
                if
                :: gives_up -> /* out of the line, if it is still there */
                    if
                    :: line??[eval(me)] -> line??eval(me)
                    :: else
                    fi;
#if BUG == 2
                    left = left
#else
                    wake_first()
#endif
                :: !gives_up && left <= 0 -> /* taken by another: first in line again */
                    woken[me] = false;
                    i = len(line);
                    line!me;
                    do
                    :: i > 0 -> line?next; line!next; i--
                    :: else -> break
                    od;
                    next = 0
                :: else -> /* it has the worker until it has sent */
                    there!DATA;
                    todo--;
                    left--;
                    ask();
#if BUG != 1
                    wake_first();
#endif
                    waited = false
                fi
            };
            if
            :: gives_up -> break
            :: else
            fi;
            if
            :: !waited -> woken[me] = false
            :: else
            fi
        od;
        if
        :: gives_up -> break
        :: else
        fi
    od;
    ended++
}

/* Of the senders' worker: a CREDIT comes. */
active proctype grants()
{
    byte n, next;
end_idle:
    do
    :: atomic { here?n ->
            asked = false;
            if
            :: n == 0 -> /* gone for ever */
                left = 100;
                given = 100;
                wake_first()
            :: else ->
                given = n;
#if BUG == 6
                left = n;
#else
                left = n - (asked_at - left);
#endif
#if BUG != 3
                ask();
#endif
                wake_first()
            fi;
            n = 0;
            next = 0
        }
    od
}

inline grant()
{
    here!(MAX - count < GIVE -> MAX - count : GIVE)
}

active proctype receiver()
{
    mtype kind;
end_idle:
    do
    :: atomic { there?kind ->
            if
            :: kind == DATA && alive ->
                count++;
                assert(count <= (MAX > FIRST -> MAX : FIRST))
            :: kind == DATA && !alive
            :: kind == CREDIT_REQUEST && !alive -> here!0
            :: kind == CREDIT_REQUEST && alive && count < MAX -> grant()
            :: kind == CREDIT_REQUEST && alive && count >= MAX ->
#if BUG != 5
                parked = true
#endif
            fi;
            kind = DATA
        }
    :: atomic { alive && count > 0 -> /* receive */
            count--;
            if
            :: parked && count < MAX -> parked = false; grant()
            :: else
            fi
        }
    :: atomic { may_end && alive -> /* wf_mailbox_close */
            alive = false;
            count = 0;
            if
#if BUG != 4
            :: parked -> here!0
#endif
            :: else
            fi;
            parked = false
        }
    od
}

/* When nothing moves any more. */
active proctype nobody_waits_in_vain()
{
end_watch:
    timeout;
    assert(ended == SENDERS)
}

init
{
    byte i;
    atomic {
        if
        :: may_end = true
        :: true
        fi;
        for (i : 0 .. SENDERS - 1) {
            run sender(i)
        }
    }
}
