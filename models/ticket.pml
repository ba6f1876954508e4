/* models/ticket.pml -- two tasks wait for a semaphore whose home is another worker than theirs. Each is woken by what
 * it waits for, who came first is served first, a turn that is not used is passed on, and a ticket is given back
 * once, when none of its three nodes is under way.
 *
 * Stands for: take_ticket, join_arrives, cancel_arrives, send_hint, hint_arrives, hint_returns, return_ticket,
 * give_ticket, call_next, consider, queue_again, leave, source_look, source_detach, and what finish_event and
 * notice_arrives do with tickets (runtime/wait/event.c). The word of the event is models/event.pml's matter: here a post
 * is one step, and its notice arrives later. Between two workers posts come in order. Each worker does one arrival at
 * a time, in one step. The waiters are on two workers; the home is a third.
 *
 * Memory order: W knows whether the wait lives, H whether a node is out; neither reads what the other writes, but for
 * `held`, which W does not change once it has sent CANCEL. Nodes are ordered by the inboxes they go through (release,
 * acquire). Only the event's word is read by both.
 *
 * -DBARGES=n: so many takes by somebody who does not wait.
 *
 * -DBUG=1: H does not call who was called in vain again.  -DBUG=2: H returns the ticket although the hint is out.
 * -DBUG=3: H does not look at the event when a waiter joins.  -DBUG=4: closing tells nobody.  -DBUG=5: a turn that is
 * not used is not passed on.  -DBUG=6: who begins to wait takes past the others.  -DBUG=7: who closes tells nobody
 * whose hint comes back later. */
#ifndef BUG
#define BUG 0
#endif
#ifndef POSTS
#define POSTS 3
#endif
#ifndef WAITS
#define WAITS 2 /* of each, one after the other; the second may have the same slot */
#endif
#ifndef BARGES
#if BUG == 1 || BUG == 7
#define BARGES 1
#else
#define BARGES 0
#endif
#endif
#define TASKS 2

mtype = { JOIN, CANCEL, HINT };
chan to_home[TASKS] = [4] of { mtype };
chan to_waiter[TASKS] = [4] of { mtype };

/* The word. */
byte count;
bool waited, lives = true;
bool notice;
/* The home's. */
bool linked[TASKS], called[TASKS], hint_out[TASKS], cancelled[TASKS];
bool second; /* of two who are linked, number 1 came first */
byte called_count;
/* The waiters'. */
bool taken[TASKS]; /* the slot is in use */
bool wants[TASKS]; /* wf_ticket.task is not NULL */
bool held[TASKS];
bool waits[TASKS]; /* the task sleeps */
byte nodes[TASKS]; /* of the ticket that are under way */
bool barged;

inline send_hint(i)
{
    assert(!hint_out[i]);
    hint_out[i] = true;
    nodes[i]++;
    to_waiter[i]!HINT
}

inline return_ticket(i)
{
#if BUG != 2
    assert(cancelled[i] && !hint_out[i] && !linked[i]);
#endif
    nodes[i]++;
    to_waiter[i]!CANCEL
}

#define queued(i) (linked[i] && !called[i])

inline call_up(i)
{
    called[i] = true;
    called_count++;
    send_hint(i)
}

inline call_next()
{
    do
    :: called_count < count && queued(0) && !(queued(1) && second) -> call_up(0)
    :: called_count < count && queued(1) && !(queued(0) && !second) -> call_up(1)
    :: else -> break
    od;
    skip
}

inline home_arrival(i)
{
    if
    :: to_home[i]?[JOIN] -> to_home[i]?JOIN; nodes[i]--;
        if
        :: lives ->
            linked[i] = true;
            called[i] = false;
            second = (linked[1 - i] -> i == 0 : i == 1);
            waited = true;
#if BUG != 3
            call_next()
#endif
        :: !lives -> send_hint(i)
        fi
    :: to_home[i]?[HINT] -> to_home[i]?HINT; nodes[i]--;
        hint_out[i] = false;
        if
        :: cancelled[i] -> return_ticket(i)
#if BUG == 7
        :: !cancelled[i] && !linked[i] -> skip
#else
        :: !cancelled[i] && !linked[i] -> send_hint(i)
#endif
        :: !cancelled[i] && linked[i] ->
#if BUG != 1
            called[i] = false;
            called_count--;
            call_next()
#else
            called_count--
#endif
        fi
    :: to_home[i]?[CANCEL] -> to_home[i]?CANCEL; nodes[i]--;
        if
        :: linked[i] ->
            linked[i] = false;
            called_count = called_count - (called[i] -> 1 : 0);
            called[i] = false;
            second = linked[1];
            waited = linked[0] || linked[1];
#if BUG != 5
            call_next()
#endif
        :: !linked[i]
        fi;
        cancelled[i] = true;
        hint_out[i] = hint_out[i] && !held[i];
        held[i] = false;
        if
#if BUG == 2
        :: return_ticket(i)
#else
        :: !hint_out[i] -> return_ticket(i)
        :: hint_out[i]
#endif
        fi
    fi
}

active proctype home()
{
    byte posts = POSTS, barges = BARGES;
    bool closes = true;
end_idle:
    do
    :: d_step { nempty(to_home[0]) -> home_arrival(0); skip }
    :: d_step { nempty(to_home[1]) -> home_arrival(1); skip }
    :: d_step { posts > 0 && lives -> posts--; count++; notice = notice || waited }
    :: d_step { notice && lives -> notice = false; call_next(); skip }
    :: d_step { barges > 0 && count > 0 -> barges--; count--; barged = true }
    :: d_step { closes && posts == 0 -> closes = false; lives = false; count = 0; notice = false; /* finish_event */
            called_count = 0;
            if
            :: queued(0) -> linked[0] = false;
#if BUG != 4
                send_hint(0)
#endif
            :: else -> linked[0] = false
            fi;
            if
            :: queued(1) -> linked[1] = false;
#if BUG != 4
                send_hint(1)
#endif
            :: else -> linked[1] = false
            fi;
            called[0] = false;
            called[1] = false
        }
    :: closes && posts == 0 -> closes = false /* it stays open */
    od
}

inline end_wait(i)
{
    wants[i] = false;
    nodes[i]++;
    to_home[i]!CANCEL
}

/* Nobody stands before it that has not been called. */
#define in_turn(i) (barged || !queued(1 - i) || !linked[i] || second == (i == 0 -> false : true))

proctype waiter(byte i)
{
    byte left = WAITS;
    bool may_give_up = true;
end_idle:
    do
    :: d_step { left > 0 && !taken[i] && lives -> /* wf_event_await */
            if
#if BUG == 6
            :: count > 0 -> assert(barged || !waited); count--; left--
            :: count == 0 ->
#else
            :: count > 0 && !waited -> count--; left--
            :: count == 0 || waited ->
#endif
                assert(nodes[i] == 0 && !held[i] && !linked[i]);
                taken[i] = true; wants[i] = true; hint_out[i] = false; cancelled[i] = false;
                nodes[i]++;
                to_home[i]!JOIN;
                waits[i] = true
            fi
        }
    :: d_step { wants[i] && !waits[i] -> /* woken */
            if
            :: !lives -> left = 0; end_wait(i)
            :: lives && held[i] && count > 0 -> assert(in_turn(i)); count--; left--; end_wait(i)
            :: lives && held[i] && count == 0 -> held[i] = false; waits[i] = true; nodes[i]++; to_home[i]!HINT
            :: lives && !held[i] -> waits[i] = true
            fi
        }
    :: d_step { wants[i] && may_give_up -> /* its deadline, or another source; perhaps it has been called */
            may_give_up = false; left--; waits[i] = false; end_wait(i)
        }
    :: d_step { to_waiter[i]?[HINT] -> to_waiter[i]?HINT; /* hint_arrives */
            assert(taken[i]);
            if
            :: wants[i] -> held[i] = true; waits[i] = false; nodes[i]--
            :: !wants[i] -> to_home[i]!HINT
            fi
        }
    :: d_step { to_waiter[i]?[CANCEL] -> to_waiter[i]?CANCEL; nodes[i]--; /* give_ticket */
            assert(taken[i] && !wants[i] && nodes[i] == 0);
            taken[i] = false
        }
    od
}

/* When nothing moves any more. */
active proctype nobody_waits_in_vain()
{
end_watch:
    timeout;
    assert(!waits[0] || (lives && count == 0));
    assert(!waits[1] || (lives && count == 0));
    assert(taken[0] == waits[0] && taken[1] == waits[1])
}

init
{
    atomic {
        run waiter(0);
        run waiter(1)
    }
}
