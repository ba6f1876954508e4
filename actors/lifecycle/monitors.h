/* actors/lifecycle/monitors.h -- monitors and links of an actor: which actors are notified of its end, and of which
 * ends it is notified.
 *
 * Design notes.
 * (1) Everything is on the owner's thread. An actor without monitors and links pays nothing.
 * (2) A notification of an end cannot fail for lack of memory: its message was allocated when the monitor or link was
 *     made. A WATCH message stays with the watched actor and goes back as the DOWN; a link is, on each side, the
 *     envelope of the EXIT that will be sent. Reason and text are one body that all share.
 * (3) Each monitor gets exactly one DOWN: the watcher's worker keeps a struct wf_monitor for each. The first DOWN
 *     ends it; a DOWN for a monitor that has ended is freed.
 * (4) Each side that makes a link gives it a number, because both sides may link and unlink at the same time. A side
 *     knows its own number and the other's; either may be 0. An UNLINK removes only the two numbers that its sender
 *     knew, so a link made meanwhile by the receiver stays. An EXIT counts if there is a link, whatever its numbers.
 * (5) Fields of the messages: `from` is the actor that sends it. WATCH, UNWATCH, DOWN: `ref` is the monitor's id.
 *     LINK: `ref` is the number of the link. UNLINK: `ref` is own number << 32 | the other's. DOWN, EXIT: the body is
 *     the reason (4 bytes, little-endian) and the text. */
#ifndef WF_MONITORS_H
#define WF_MONITORS_H

#include "ties.h"

#include <weft/monitor.h>

/* A task that waits for the end of an actor. */
struct wf_end_wait {
    struct wf_task *task;
    uint64_t node, actor;
    uint64_t monitor; /* its monitor; 0: none */
    bool ended;
};

/* Makes a monitor. If `wait` is not NULL, the end is noted there and not sent to the mailbox. WEFT_ENOMEM. */
int wf_monitor(struct wf_actor *self, weft_pid target, struct wf_end_wait *wait, uint64_t *ref);

/* A monitor and a link with an actor that another node is asked to start, made before it runs. WEFT_ENOMEM. The
 * asking side calls them with the pid `there`, whose actor is 0; wf_tie_bind sets the real pid, wf_tie_pend_end
 * undoes it if no actor starts. `monitor` may be NULL; `*number` becomes the link's number for the other side, or
 * 0. */
int wf_tie_pend(struct wf_actor *self, weft_pid there, weft_monitor_ref *monitor, bool link, uint64_t *number);
void wf_tie_bind(struct wf_actor *self, weft_pid child);
void wf_tie_pend_end(struct wf_actor *self, weft_pid there);
/* The same on the other side, before the child has run. `monitor`, `link`: 0 for none. */
int wf_tie_remote(struct wf_worker *w, struct wf_actor *child, weft_pid caller, uint64_t monitor, uint32_t link);

#endif
