/* runtime/event.h -- auto-reset events, as weft_wait_any sees them.
 *
 * Design notes.
 * (1) An event is a slot on the worker of the actor that opened it (its home). `word` holds the generation and
 *     three flags; set, take and close are one compare-and-swap on it, so they work from any thread and, for set,
 *     from a signal handler, and never touch another life of the slot.
 * (2) Who turns SET on and finds WAITED on and POSTED off, turns POSTED on in the same step and pushes the
 *     embedded `notice` home. So the node is in an inbox at most once. Home turns POSTED off before it wakes
 *     anybody: a set that comes later posts again, one that came earlier is seen by those it wakes. A wake is a
 *     hint; taking is the truth.
 * (3) Closing sets the generation to 0 and posts the notice likewise (or runs it at home). The slot goes back
 *     in the notice that finds generation 0; as POSTED is on from the deciding step to then, no setter still holds
 *     the node.
 * (4) A waiter on another worker has a ticket: a slot on its own worker W, made of posts. JOIN travels to the
 *     home H and links it to the event. When the event fires, H sends the hint node to W, at most one at a time; W
 *     wakes the task if its wait still lives and sends the node back. When the wait ends W sends CANCEL; H unlinks
 *     the ticket and, once the hint node is back, returns CANCEL to W, which alone gives the slot back. W knows
 *     whether the wait lives, H knows whether a node is out: neither reads what the other writes.
 * (5) A signal handler may run on the home's own thread in the middle of anything, so even there a set only
 *     posts. */
#ifndef WF_EVENT_H
#define WF_EVENT_H

#include "fd.h"

#include <weft/event.h>

struct wf_event {
    struct wf_slot slot;   /* wf_worker.events of the home */
    _Atomic uint64_t word; /* generation << 32 | flags, see note (1) */
    struct wf_call notice;
    /* The home's thread only: */
    struct wf_list waiters; /* wf_waiter.on_source */
    struct wf_list tickets; /* wf_ticket.on_event */
    struct wf_owned owned;  /* of the task that opened it */
};

struct wf_ticket {
    struct wf_slot slot; /* wf_worker.tickets of the waiter's worker W */
    uint64_t event;      /* fixed while the slot is taken, as are the next two */
    struct wf_worker *home, *waits_on;
    struct wf_task *task;    /* W: NULL once the wait has ended */
    struct wf_call join;     /* W -> H */
    struct wf_call hint;     /* H -> W -> H */
    struct wf_call cancel;   /* W -> H -> W, after `join`: posts of one worker arrive in order */
    struct wf_link on_event; /* H: wf_event.tickets */
    bool hint_out;           /* H: the hint node has not come back */
    bool hint_owed;          /* H: it fired again meanwhile */
    bool cancelled;          /* H */
};

/* 1: set, 0: not, WEFT_ECLOSED. Any thread. */
int wf_event_look(struct wf_workers *set, uint64_t id);

/* Room for one task to wait for one event; stays where it is while attached. */
struct wf_event_wait {
    struct wf_waiter waiter;  /* the event is at home here */
    struct wf_ticket *ticket; /* it is not */
};
/* From now until detach the task is woken when the event is set or closed; look after attaching. WEFT_ECLOSED,
 * WEFT_ENOMEM. */
int wf_event_attach(struct wf_event_wait *wait, struct wf_task *t, weft_event e);
void wf_event_detach(struct wf_event_wait *wait, weft_event e);

#endif
