/* models/event.pml -- an auto-reset event that any thread and any signal handler may set. No set is lost to those that
 * wait, its notice is in one inbox at most, and nobody holds the notice when the slot is given back.
 *
 * Stands for: weft_event_set, weft_event_take, close_event, notice_arrives, finish_event, wf_event_attach,
 * wf_event_detach, clear_waited, weft_event_await (runtime/event.c), for waiters at home; models/ticket.pml has those
 * on other workers. That what is posted arrives is the matter of models/sleep.pml.
 *
 * A setter in a signal handler on the home's own thread is one whose steps all come between two of the home's.
 *
 * Memory order: everything is one word, and every decision is an atomic operation on it, so there is one order of
 * them (the word's modification order) whatever the memory model; spin's is one such order. What was done before a
 * set is seen by who takes it: set is a release, take an acquire.
 *
 * -DBUG=1: a setter posts although the notice is on its way.  -DBUG=2: the home leaves POSTED on. (Whether it turns it
 * off before or after it wakes makes no difference: who is woken looks later, on the same thread.)  -DBUG=3: a waiter does not look again after it has turned WAITED on.  -DBUG=4: the
 * home gives the slot back at once when it closes, also with the notice on its way. */
#ifndef SETTERS
#define SETTERS 2
#endif
#ifndef SETS
#define SETS 2 /* of each */
#endif
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef BUG
#define BUG 0
#endif
#define SET 1
#define WAITED 2
#define POSTED 4
#define LIVES 8 /* stands for the generation, 0 after closing */
#define lives(w) ((w & LIVES) != 0)

mtype = { LOOKS, WAITS, ENDED };

byte word = LIVES;
bool notice; /* in the home's inbox */
bool given_back;
mtype state[WAITERS] = LOOKS;
bool attached[WAITERS];
byte waiters;

proctype setter()
{
    byte left = SETS, w, next;
    bool done;
    do
    :: left == 0 -> break
    :: left > 0 ->
        left--;
        w = word;
        done = false;
        do
        :: done || !lives(w) -> break
        :: !done && lives(w) ->
            next = w | SET;
            if
            :: (w & (SET | WAITED)) == WAITED -> next = next | POSTED
            :: else
            fi;
            d_step { /* compare and swap */
                if
                :: word == w -> word = next; done = true
                :: else -> w = word
                fi
            };
            if
#if BUG == 1
            :: done && (next & POSTED) != 0 && (w & SET) == 0 ->
#else
            :: done && (next & POSTED) != 0 && (w & POSTED) == 0 ->
#endif
                d_step { assert(!notice); assert(!given_back); notice = true }
            :: else
            fi
        od;
        w = 0; next = 0; done = false
    od
}

/* weft_event_take on another thread. */
proctype taker()
{
    d_step {
        if
        :: lives(word) -> word = word & ~SET
        :: else
        fi
    }
}

inline wake_all()
{
    for (i : 0 .. WAITERS - 1) {
        if
        :: attached[i] && state[i] == WAITS -> state[i] = LOOKS
        :: else
        fi
    }
    i = 0
}

inline finish()
{
    assert(!given_back);
    given_back = true;
    for (i : 0 .. WAITERS - 1) {
        attached[i] = false;
        if
        :: state[i] == WAITS -> state[i] = LOOKS
        :: else
        fi
    }
    i = 0;
    waiters = 0
}

inline notice_arrives()
{
#if BUG == 2
    w = word;
#else
    d_step { w = word; word = word & ~POSTED };
#endif
    if
    :: !lives(w) -> finish()
    :: else -> wake_all()
    fi
}

inline detach(k)
{
    if
    :: attached[k] ->
        attached[k] = false;
        waiters--;
        if
        :: waiters == 0 -> word = word & ~WAITED /* clear_waited */
        :: else
        fi
    :: else
    fi
}

/* A turn of a task in weft_event_await. */
inline looks(k)
{
    d_step { /* weft_event_take */
        w = word;
        if
        :: lives(w) && (w & SET) != 0 -> word = word & ~SET
        :: else
        fi
    };
    if
    :: !lives(w) -> attached[k] = false; state[k] = ENDED
    :: lives(w) && (w & SET) != 0 -> detach(k); state[k] = ENDED
    :: lives(w) && (w & SET) == 0 && attached[k] -> state[k] = WAITS
    :: lives(w) && (w & SET) == 0 && !attached[k] -> /* wf_event_attach, then it looks again */
        attached[k] = true;
        waiters++;
        word = word | WAITED;
#if BUG == 3
        state[k] = WAITS
#endif
    fi
}

proctype home(bool closes)
{
    byte w, i, k, again = 1;
end_idle:
    do
    :: notice -> notice = false; notice_arrives(); w = 0
    :: k < WAITERS && state[k] == LOOKS -> looks(k); w = 0
    :: k < WAITERS && state[k] != LOOKS -> k++
    :: k == WAITERS && (state[0] == LOOKS || state[WAITERS - 1] == LOOKS) -> k = 0
    :: again > 0 && state[0] == ENDED && lives(word) -> again--; state[0] = LOOKS /* waits once more */
    :: closes -> /* close_event */
        closes = false;
        d_step { w = word; word = POSTED };
        if
#if BUG == 4
        :: finish()
#else
        :: (w & POSTED) != 0 /* the notice that is on its way ends it */
        :: (w & POSTED) == 0 -> notice_arrives()
#endif
        fi;
        w = 0
    od
}

/* When nothing moves any more. */
active proctype nobody_waits_in_vain()
{
    byte i;
end_watch:
    timeout;
    for (i : 0 .. WAITERS - 1) {
        assert(state[i] != WAITS || (lives(word) && (word & SET) == 0))
    }
    assert(lives(word) != given_back)
}

init
{
    byte i;
    atomic {
        for (i : 1 .. SETTERS) {
            run setter()
        }
        run taker();
        if
        :: run home(true)
        :: run home(false)
        fi
    }
}
