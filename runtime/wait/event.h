/* runtime/wait/event.h -- events, semaphores and latches. All three are events here: a word that is set or not, and a
 * kind, which says what taking does to the word.
 *
 * Design notes.
 * (1) An event is a slot on the worker of the actor that opened it, which is its home. `word` has the generation, the
 *     kind, a count and four flags; setting, taking and closing are one compare-and-swap on it, so they work from any
 *     thread and, but for closing, from a signal handler, and never change a later event in the same slot. The count
 *     is that of a semaphore or a latch; SET says whether there is something to take. Of a MANUAL event it counts how
 *     often it was set: an event that is set and reset at once still wakes all waiting tasks, as they remember the
 *     count.
 * (2) A thread that turns SET on and finds WAITED on and POSTED off turns POSTED on in the same step and pushes the
 *     embedded `notice` to the home. So the notice is in an inbox at most once. The home turns POSTED off before it
 *     wakes any task: a later set posts again, and the woken tasks see an earlier one. A wake is a hint; only a take
 *     decides.
 * (3) Closing sets the generation to 0 and posts the notice likewise (or runs its function, on the home's thread).
 *     The slot goes back in the notice that finds generation 0; as POSTED is on from the step that closes the event
 *     until then, no setter uses the node any more.
 * (4) Waiting tasks of all workers are in one queue at the home, in the order of their arrival there. The home calls
 *     as many of them as there are units to take: it wakes them and moves them to `called` until they leave or find
 *     nothing to take; then they go back to their old place in the queue. So a post wakes only as many tasks as it
 *     has units for. A task that begins to wait cannot overtake tasks that wait already; only a take that does not
 *     wait can. A wait that was called and leaves, for any reason, passes on the unit it has not taken. On the home's
 *     worker it does so with a notice, which arrives after the task has suspended; until then it may still take.
 * (5) A waiter on another worker has a ticket: a slot on its own worker W, made of posts. JOIN travels to the home H,
 *     where the ticket queues. When it is called, H sends the hint node to W; W wakes the task and holds the node
 *     until the task has looked. The node goes back if the task found nothing. When the wait ends W sends CANCEL, and
 *     with it the node, if it holds it; H takes the ticket off the queue and, once it has the hint node, returns
 *     CANCEL to W, which alone gives the slot back. W knows whether the wait still exists, H knows whether a node is
 *     under way. H reads one member of W's, `held`, and W does not change it once CANCEL is under way.
 * (6) A signal handler may interrupt the home's thread anywhere, so a set only posts, even on that thread.
 * (7) A flag (platform.h) shows the state to a foreign event loop. The thread that turns SET on or off raises or
 *     lowers the flag itself, so the flag is right even if the home is busy. Lowering may undo the raise of a set
 *     that came between, so the lowering thread reads the word again and raises the flag if needed. The flag stays
 *     with the slot as long as the node lives: so a thread that still holds a word of an earlier life never uses a
 *     descriptor that has been reused.
 * (8) One turn calls, or wakes after a close, at most WF_EVENT_PART waits of an event, and all events together as many
 *     as wf_worker_charge allows. The notice goes on with the others in the next turn: a call that leaves some posts it,
 *     and a setter that finds POSTED on relies on it. Thus thousands of waits do not hold up the worker, and a task
 *     runs while the caches still hold what its wake has touched. A manual event may be reset between two parts: waits
 *     that began before it was set still have an older count, so they are called; those that began later are not. */
#ifndef WF_EVENT_H
#define WF_EVENT_H

#include "task.h"

#include <weft/event.h>

enum wf_event_kind { WF_EVENT_AUTO, WF_EVENT_MANUAL, WF_SEMAPHORE, WF_LATCH };
enum { WF_EVENT_COUNT_MAX = (1 << 24) - 1 };
enum { WF_EVENT_PART = WF_TURN_BUDGET / 2 }; /* fewer than the tasks that a turn runs */

struct wf_event {
    struct wf_slot slot;   /* wf_worker.events of the home */
    _Atomic uint64_t word; /* generation << 32 | count << 8 | kind << 4 | flags, see note (1) */
    /* NULL: there is none yet; written once, with release, by any thread; read with acquire */
    _Atomic(struct pf_flag *) flag;
    struct wf_call notice;
    /* Only the home's thread uses these: */
    struct wf_list queue;  /* wf_event_place.on_event: the longest waiting first */
    struct wf_list called; /* the same list nodes, of called waits: note (4) */
    uint32_t called_count;
    uint64_t arrivals;
    struct wf_owned owned; /* of the task that opened it */
};

/* A waiting task, at the home of the event. */
struct wf_event_place {
    struct wf_list_node on_event; /* wf_event.queue or .called */
    uint64_t number;              /* waits are numbered in the order of their arrival */
    bool called;
    bool remote; /* it is part of a wf_ticket; else of an event_wait */
};

struct wf_ticket {
    struct wf_slot slot; /* wf_worker.tickets of the waiter's worker W */
    uint64_t event;      /* fixed while the slot is taken, like the next three members */
    uint32_t mark;       /* event_wait.mark */
    struct wf_worker *home, *waits_on;
    struct wf_task *task; /* W only: NULL once the wait has ended */
    /* the hint node is at W, and the task was called. Used by W, and by H once CANCEL has arrived */
    bool held;
    struct wf_call join;         /* W -> H */
    struct wf_call hint;         /* H -> W -> H */
    struct wf_call cancel;       /* W -> H -> W, after `join`: posts of one worker arrive in order */
    struct wf_event_place place; /* H */
    bool hint_out;               /* H only: the hint node has not come back */
    bool cancelled;              /* H */
};

/* Opens an event of that kind for the calling task. Returns 0, WEFT_ENOTACTOR, WEFT_EINVAL, WEFT_ENOMEM. */
int wf_event_open(weft_event *out, enum wf_event_kind kind, uint32_t count);
/* Takes from it what its kind defines. Bit i of `kinds`: it may be of kind i. Returns 1; 0: there is nothing to take;
 * WEFT_ECLOSED; WEFT_EINVAL: it is of another kind. */
int wf_event_take(weft_event e, uint32_t kinds);
int wf_event_await(weft_event e, uint32_t kinds, int64_t deadline, const char *what);
/* The first adds n to a semaphore (WEFT_EFULL: the sum is too large), the second subtracts n from a latch.
 * WEFT_ECLOSED; WEFT_EINVAL: it is of another kind. */
int wf_event_count_up(weft_event e, uint32_t n);
int wf_event_count_down(weft_event e, uint32_t n);
/* The count of a semaphore or a latch; or WEFT_ECLOSED, WEFT_EINVAL. */
int64_t wf_event_count(weft_event e, enum wf_event_kind kind);

extern const struct wf_part wf_event_part;

#endif
