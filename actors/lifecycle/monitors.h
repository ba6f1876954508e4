/* actors/lifecycle/monitors.h -- monitors and links of one actor: who hears of its end, and of whose end it hears.
 *
 * Design notes.
 * (1) Everything is on the owner's thread. An actor that has to do with neither pays nothing.
 * (2) News of an end cannot fail for want of memory: what is sent at the end was allocated when the tie was made. A
 *     WATCH message stays with the watched actor and goes back as the DOWN; a link is, on either side, the envelope
 *     of the EXIT that will be sent. Reason and text are one shared body for all.
 * (3) Exactly one DOWN: the watcher's worker keeps a struct wf_monitor per monitor. The first DOWN ends it; one that
 *     comes for a monitor that was ended meanwhile is freed.
 * (4) Links are numbered by the side that made them, because both sides may link and unlink at the same time. A side
 *     knows its own number and the other's, either may be 0; an UNLINK takes back just the two numbers its sender
 *     knew, so a link made meanwhile by the receiver stays. An EXIT counts if there is a link, whatever its numbers.
 * (5) Fields of the messages: `from` is the actor that says it. WATCH, UNWATCH, DOWN: `ref` is the monitor's id.
 *     LINK: `ref` is the number of the link. UNLINK: `ref` is own number << 32 | the other's. DOWN, EXIT: the body is
 *     the reason (4 bytes, little-endian) and the text. */
#ifndef WF_MONITORS_H
#define WF_MONITORS_H

#include "ties.h"

#include <weft/monitor.h>

/* One task waiting for the end of an actor. */
struct wf_end_wait {
    struct wf_task *task;
    uint64_t node, actor;
    uint64_t monitor; /* while there is one */
    bool ended;
};

/* A monitor; with `wait` it is that which is told, not the mailbox. WEFT_ENOMEM. */
int wf_monitor(struct wf_actor *self, weft_pid target, struct wf_end_wait *wait, uint64_t *ref);

/* A monitor and a link of an actor that another node is asked to start, before it runs. WEFT_ENOMEM. The asker calls
 * them with the pid `there`, whose actor is 0 until it is known; wf_tie_pend_end undoes it if there will be no actor.
 * `monitor` may be NULL; `*number` is 0 or the link's, for the other side. */
int wf_tie_pend(struct wf_actor *self, weft_pid there, weft_monitor_ref *monitor, bool link, uint64_t *number);
void wf_tie_bind(struct wf_actor *self, weft_pid child);
void wf_tie_pend_end(struct wf_actor *self, weft_pid there);
/* The other side, before the child has run: 0 for none. */
int wf_tie_remote(struct wf_worker *w, struct wf_actor *child, weft_pid asker, uint64_t monitor, uint32_t link);

#endif
