/* models/event.pml -- an event that any thread and any signal handler may set: automatic, manual, a semaphore or a
 * latch. No set is lost to those that wait, its notice is in one inbox at most, nobody holds the notice when the
 * slot is given back, a semaphore gives as often as was posted, who came first is served first, a turn that is not
 * used is passed on, and the flag for other loops is up while the event is set.
 *
 * Stands for: change and the steps, show, close_event, notice_arrives, finish_event, call_next, enter, consider,
 * queue_again, leave, pass_on, source_look, source_attach, source_detach, wf_event_await (runtime/wait/event.c), for
 * waiters at home; models/ticket.pml has those on other workers. That what is posted arrives is the matter of models/sleep.pml.
 *
 * A setter in a signal handler on the home's own thread is one whose steps all come between two of the home's. A
 * setter of a manual event resets it at once. A latch opens with the last set of all.
 *
 * Memory order: everything is one word (here two variables that change in one step), and every decision is an atomic
 * operation on it, so there is one order of them (the word's modification order) whatever the memory model; spin's
 * is one such order. What was done before a set is seen by who takes it: set is a release, take an acquire. Raising
 * and lowering the flag are system calls on one object of the kernel, which orders them.
 *
 * -DKIND=AUTO|MANUAL|SEMAPHORE|LATCH, -DSHOWN=1: there is a flag. -DLEAVES=n: so many waits end without a take.
 *
 * -DBUG=1: a setter posts although the notice is on its way.  -DBUG=2: the home leaves POSTED on. (Whether it turns
 * it off before or after it wakes makes no difference: who is woken looks later, on the same thread.)  -DBUG=3: a
 * waiter does not look at the word after it has turned WAITED on.  -DBUG=4: the home gives the slot back at once when it
 * closes, also with the notice on its way.  -DBUG=5: who lowers the flag does not look again.  -DBUG=6: who waits
 * for a manual event does not remember how often it was set.  -DBUG=7: only the first post to a semaphore tells
 * those who wait.  -DBUG=8: who leaves without taking passes nothing on.  -DBUG=9: who begins to wait takes past those
 * who wait. */
#define AUTO 0
#define MANUAL 1
#define SEMAPHORE 2
#define LATCH 3
#ifndef BUG
#define BUG 0
#endif
#ifndef LEAVES
#if BUG == 8
#define LEAVES 1
#else
#define LEAVES 0
#endif
#endif
#ifndef SETTERS
#define SETTERS 2
#endif
#ifndef SETS
#if BUG > 5 && BUG != 9
#define SETS 1 /* of each; that finds it soon */
#else
#define SETS 2
#endif
#endif
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef KIND
#if BUG == 6
#define KIND MANUAL
#else
#if BUG == 7
#define KIND SEMAPHORE
#else
#define KIND AUTO
#endif
#endif
#endif
#ifndef SHOWN
#if BUG == 5
#define SHOWN 1
#else
#define SHOWN 0
#endif
#endif
#define SET 1
#define WAITED 2
#define POSTED 4
#define LIVES 8 /* stands for the generation, 0 after closing */
#define lives(w) ((w & LIVES) != 0)
#define COUNTED (KIND == AUTO || KIND == SEMAPHORE)
#if KIND == SEMAPHORE
#define available() ((word & SET) * count)
#else
#if KIND == AUTO
#define available() (word & SET)
#else
#define available() ((word & SET) * 255)
#endif
#endif
#define queued(k) (attached[k] && !called[k])

mtype = { LOOKS, WAITS, ENDED };

byte word = LIVES;
byte count = (KIND == LATCH -> SETTERS * SETS : 0); /* of an automatic event always 0 */
byte posted_in_all, taken;
bool flag;   /* for other loops */
bool notice; /* in the home's inbox */
bool given_back;
mtype state[WAITERS] = LOOKS;
bool attached[WAITERS];
bool called[WAITERS];
byte called_count, most;
bool second; /* of two who are attached, the last came first */
byte mark[WAITERS];
byte waiters;
bool barged; /* somebody took who did not wait */

/* Lowers the flag after SET went off, from any thread. */
inline lower(v)
{
    flag = false;
#if BUG != 5
    v = word;
    if
    :: !lives(v) || (v & SET) != 0 -> flag = true
    :: else
    fi
#endif
    skip
}

/* One compare and swap: what it makes of the word. */
inline set_step()
{
    next = w | SET;
    nextc = c;
    if
    :: KIND == MANUAL && (w & SET) == 0 -> nextc = c + 1
    :: KIND == SEMAPHORE -> nextc = c + 1
    :: KIND == LATCH ->
        nextc = (c > 0 -> c - 1 : 0);
        next = (nextc == 0 -> w | SET : w)
    :: else
    fi;
    if
#if BUG == 7
    :: (next & SET) != 0 && (w & WAITED) != 0 && posted_in_all == 0 ->
#else
    :: (next & SET) != 0 && (w & WAITED) != 0 && (KIND == SEMAPHORE || (w & SET) == 0) ->
#endif
        next = next | POSTED
    :: else
    fi
}

proctype setter()
{
    byte left = SETS, w, c, next, nextc;
    bool done;
    do
    :: left == 0 -> break
    :: left > 0 ->
        left--;
        d_step { w = word; c = count };
        done = false;
        do
        :: done || !lives(w) -> break
        :: !done && lives(w) ->
            d_step {
                set_step();
                if
                :: word == w && count == c ->
                    word = next;
                    count = nextc;
                    posted_in_all = (KIND == SEMAPHORE -> posted_in_all + 1 : 0);
                    done = true
                :: else -> w = word; c = count; next = 0
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
#if SHOWN
            ;
            if
            :: done && (next & SET) != 0 && (w & SET) == 0 -> flag = true
            :: else
            fi
#endif
        od;
#if KIND == MANUAL
        if
        :: done -> /* weft_event_reset */
            d_step {
                w = word;
                if
                :: lives(w) -> word = w & ~SET
                :: else
                fi
            }
#if SHOWN
            ;
            if
            :: lives(w) && (w & SET) != 0 -> lower(w)
            :: else
            fi
#endif
        :: else
        fi;
#endif
        w = 0; c = 0; next = 0; nextc = 0; done = false
    od
}

/* Taking, as the kind says. */
inline take_step()
{
    w = word;
    if
    :: lives(w) && (w & SET) != 0 && KIND == AUTO -> word = w & ~SET
    :: lives(w) && (w & SET) != 0 && KIND == SEMAPHORE ->
        count--;
        taken++;
        word = (count == 0 -> w & ~SET : w)
    :: else
    fi
}

/* Another loop, or another thread: takes once. */
proctype taker()
{
    byte w;
    bool went_off;
    d_step {
        take_step();
        barged = barged || (lives(w) && (w & SET) != 0);
        went_off = lives(w) && (word & SET) == 0
    }
#if SHOWN
    ;
    if
    :: went_off -> lower(w)
    :: else
    fi
#endif
}

inline call_up(k)
{
    called[k] = true;
    called_count++;
    state[k] = (state[k] == WAITS -> LOOKS : state[k])
}

inline call_next(how_many)
{
    most = how_many;
    do
    :: called_count < most && queued(0) && !(WAITERS == 2 && queued(WAITERS - 1) && second) -> call_up(0)
    :: WAITERS == 2 && called_count < most && queued(WAITERS - 1) && !(queued(0) && !second) -> call_up(WAITERS - 1)
    :: else -> break
    od;
    most = 0
}

inline finish()
{
    assert(!given_back);
    given_back = true;
    for (i : 0 .. WAITERS - 1) {
        attached[i] = false;
        called[i] = false;
        if
        :: state[i] == WAITS -> state[i] = LOOKS
        :: else
        fi
    }
    i = 0;
    called_count = 0;
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
    :: else -> d_step { call_next((KIND == MANUAL -> 255 : available())) }
    fi
}

/* wf_event_attach: enter, consider */
inline attach(k)
{
    d_step {
        attached[k] = true;
        second = (waiters > 0 -> k == 0 : k != 0);
        waiters++;
        word = word | WAITED;
#if BUG != 3
        call_next(available())
#endif
        state[k] = (called[k] || (KIND == MANUAL && count != mark[k]) -> LOOKS : WAITS)
    }
}

inline detach(k)
{
    if
    :: attached[k] ->
        d_step {
            attached[k] = false;
            called_count = called_count - (called[k] -> 1 : 0);
            called[k] = false;
            waiters--;
            second = WAITERS == 2 && attached[WAITERS - 1]
        };
        if
        :: waiters == 0 -> word = word & ~WAITED
        :: else
        fi;
#if BUG != 8
        d_step { /* pass_on */
            if
            :: (queued(0) || queued(WAITERS - 1)) && called_count < available() && (word & POSTED) == 0 ->
                assert(!notice && !given_back);
                word = word | POSTED;
                notice = true
            :: else
            fi
        }
#endif
    :: else
    fi
}

/* Nobody stands before it that has not been called. */
#define in_turn(k) (barged || WAITERS == 1 || !COUNTED || !queued(WAITERS - 1 - k) || \
                    (attached[k] && second == (k != 0)))

/* A turn of a task in wf_event_await. */
inline looks(k)
{
    d_step {
        w = word;
#if BUG == 9
        let_go = lives(w);
#else
        let_go = lives(w) && (!COUNTED || (attached[k] -> called[k] : (w & WAITED) == 0));
#endif
        if
        :: let_go -> take_step()
        :: else
        fi;
        went_off = SHOWN && (w & SET) != 0 && (word & SET) == 0 && lives(w);
#if BUG == 6
        let_go = let_go && (w & SET) != 0;
#else
        let_go = let_go && ((w & SET) != 0 || (KIND == MANUAL && count != mark[k]));
#endif
        assert(!let_go || in_turn(k))
    };
#if SHOWN
    if
    :: went_off -> lower(v); v = 0
    :: else
    fi;
#endif
    if
    :: !lives(w) -> detach(k); state[k] = ENDED
    :: lives(w) && let_go -> detach(k); state[k] = ENDED
    :: lives(w) && !let_go && attached[k] -> /* called in vain, or something else woke it */
        d_step {
            called_count = called_count - (called[k] -> 1 : 0);
            called[k] = false;
            state[k] = WAITS
        }
    :: lives(w) && !let_go && !attached[k] -> attach(k)
    fi
}

proctype home(bool closes)
{
    byte w, v, i, k, again = 1, leaves = LEAVES;
    bool went_off, let_go;
end_idle:
    do
    :: notice -> notice = false; notice_arrives(); w = 0
    :: k < WAITERS && state[k] == LOOKS -> looks(k); d_step { w = 0; went_off = false; let_go = false }
    :: k < WAITERS && state[k] != LOOKS -> k++
    :: k == WAITERS && (state[0] == LOOKS || state[WAITERS - 1] == LOOKS) -> k = 0
    :: again > 0 && state[0] == ENDED && lives(word) -> /* waits once more */
        again--;
        d_step { mark[0] = count; state[0] = LOOKS }
    :: leaves > 0 && attached[0] && state[0] != ENDED -> /* its deadline; or a weft_wait_any that does not take */
        leaves--;
        detach(0);
        state[0] = ENDED
    :: closes -> /* close_event */
        closes = false;
        d_step { w = word; word = POSTED; count = 0 };
#if SHOWN
        flag = true;
#endif
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
        assert(state[i] != WAITS || (lives(word) && (word & SET) == 0 && (KIND != MANUAL || count == mark[i])))
    }
    assert(lives(word) != given_back);
    assert(!lives(word) || KIND != SEMAPHORE || (count + taken == posted_in_all && (count > 0) == ((word & SET) != 0)));
    assert(!lives(word) || KIND != LATCH || (word & SET) != 0);
    assert(!SHOWN || flag || (lives(word) && (word & SET) == 0))
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
