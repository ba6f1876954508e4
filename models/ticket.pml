/* models/ticket.pml -- a task waits for an event whose home is another worker. It is woken by what it waits for, and
 * its ticket is given back once, when none of its three nodes is under way.
 *
 * Stands for: take_ticket, join_arrives, cancel_arrives, send_hint, hint_arrives, hint_returns, return_ticket,
 * give_ticket, wf_event_detach, and what finish_event and notice_arrives do with tickets (runtime/event.c). The word
 * of the event is models/event.pml's matter: here a set is one step, and its notice has arrived. Between two workers
 * posts come in order. Each worker does one arrival at a time, in one step.
 *
 * Memory order: W knows whether the wait lives, H whether a node is out; neither reads what the other writes, and
 * nodes are ordered by the inboxes they go through (release, acquire). Only the event's word is read by both.
 *
 * -DBUG=1: H forgets that the event fired while the hint was out.  -DBUG=2: H returns the ticket although the hint is
 * out.  -DBUG=3: H does not look at the event when a waiter joins.  -DBUG=4: closing tells nobody. */
#ifndef SETS
#define SETS 3
#endif
#ifndef WAITS
#define WAITS 2 /* one after the other; the second may have the same slot */
#endif
#ifndef BUG
#define BUG 0
#endif

mtype = { JOIN, CANCEL, HINT };
chan to_home = [4] of { mtype };
chan to_waiter = [4] of { mtype };

bool set, lives = true;
/* The home's. */
bool joined, hint_out, hint_owed, cancelled;
/* The waiter's. */
bool taken;       /* the slot is in use */
bool wants;       /* wf_ticket.task is not NULL */
bool waits, over; /* the task sleeps; has ended */
byte nodes;       /* of the ticket that are under way */

inline send_hint()
{
    if
    :: hint_out -> 
#if BUG != 1
        hint_owed = true
#endif
    :: !hint_out -> hint_out = true; hint_owed = false; nodes++; to_waiter!HINT
    fi
}

inline return_ticket()
{
#if BUG != 2
    assert(cancelled && !hint_out && !joined);
#endif
    nodes++;
    to_waiter!CANCEL
}

inline fires() /* notice_arrives */
{
    if
    :: joined -> send_hint()
    :: !joined
    fi
}

active proctype home()
{
    byte sets = SETS;
    bool closes = true;
end_idle:
    do
    :: d_step { to_home?[JOIN] -> to_home?JOIN; nodes--;
            if
            :: lives -> joined = true
            :: !lives
            fi;
#if BUG != 3
            if
            :: !lives || set -> send_hint()
            :: lives && !set
            fi
#endif
        }
    :: d_step { to_home?[CANCEL] -> to_home?CANCEL; nodes--;
            joined = false;
            cancelled = true;
#if BUG == 2
            return_ticket()
#else
            if
            :: !hint_out -> return_ticket()
            :: hint_out
            fi
#endif
        }
    :: d_step { to_home?[HINT] -> to_home?HINT; nodes--; /* hint_returns */
            hint_out = false;
            if
            :: cancelled -> return_ticket()
            :: !cancelled && hint_owed -> send_hint()
            :: !cancelled && !hint_owed
            fi
        }
    :: d_step { sets > 0 && lives -> sets--; set = true; fires() }
    :: d_step { set -> set = false } /* somebody else takes it */
    :: d_step { closes && sets == 0 -> closes = false; lives = false; set = false; /* finish_event */
            if
#if BUG == 4
            :: joined = false
#else
            :: joined -> joined = false; send_hint()
            :: !joined
#endif
            fi
        }
    :: closes && sets == 0 -> closes = false /* it stays open */
    od
}

active proctype waiter()
{
    byte left = WAITS;
    bool may_give_up = true;
end_idle:
    do
    :: d_step { left > 0 && !taken && !waits && !over -> /* weft_event_await: nothing yet, takes a ticket */
            if
            :: !lives -> over = true
            :: lives && set -> set = false; left--
            :: lives && !set ->
                taken = true; wants = true; joined = false; hint_out = false; hint_owed = false; cancelled = false;
                assert(nodes == 0);
                nodes++;
                to_home!JOIN;
                waits = true
            fi
        }
    :: d_step { taken && wants && !waits -> /* woken, or it looks for the first time */
            if
            :: lives && set -> set = false; left--; wants = false; nodes++; to_home!CANCEL
            :: !lives -> over = true; wants = false; nodes++; to_home!CANCEL
            :: lives && !set -> waits = true
            fi
        }
    :: d_step { waits && may_give_up -> /* its deadline */
            may_give_up = false; left--; waits = false; wants = false; nodes++; to_home!CANCEL
        }
    :: d_step { to_waiter?[HINT] -> to_waiter?HINT; /* hint_arrives */
            assert(taken);
            if
            :: wants -> waits = false
            :: !wants
            fi;
            to_home!HINT
        }
    :: d_step { to_waiter?[CANCEL] -> to_waiter?CANCEL; nodes--; /* give_ticket */
            assert(taken && !wants && nodes == 0);
            taken = false
        }
    od
}

/* When nothing moves any more. */
active proctype nobody_waits_in_vain()
{
end_watch:
    timeout;
    assert(!waits || (lives && !set));
    assert(taken == waits)
}
