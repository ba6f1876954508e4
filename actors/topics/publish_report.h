/* actors/topics/publish_report.h -- how many a publication has reached: who published it asks every node that it
 * goes to.
 *
 * Design notes.
 * (1) On each node a count is added to by those workers that hand the message out; who comes last answers the
 *     publisher, as if it had been called (call.c). So a node that is lost, a deadline and a kill are what they are
 *     for calls.
 * (2) Each node has a slot among the publisher's answers, this one for its other workers. The number of a slot
 *     travels with the message. */
#ifndef WF_PUBLISH_REPORT_H
#define WF_PUBLISH_REPORT_H

#include "actor.h"
#include "asking.h"

#include <weft/topic.h>

/* ---- Of a node ------------------------------------------------------------------------------------------------- */

struct wf_publish_count {
    _Atomic uint32_t left;  /* who has not counted yet; acq_rel on the way down: the last one reads what others did */
    _Atomic uint32_t count; /* relaxed, see `left` */
    weft_pid to;
    uint64_t ref;
};
/* Of one who counts, the caller. NULL: no memory, there will be no answer. */
struct wf_publish_count *wf_publish_count_new(weft_pid to, uint64_t ref);
/* One more. NULL is fine. */
void wf_publish_count_keep(struct wf_publish_count *t);
/* One has counted: true if it was the last, then the caller answers with `count` and frees it. NULL: false. */
bool wf_publish_count_done(struct wf_publish_count *t, uint32_t count);
/* The same, and answers from worker `w`. */
void wf_publish_count_end(struct wf_worker *w, struct wf_publish_count *t, uint32_t count);

/* ---- Of the publisher ------------------------------------------------------------------------------------------ */

struct wf_publish_report {
    struct wf_actor *self;
    struct wf_asking asking;
    weft_msg *held;   /* with the slots */
    uint32_t here;    /* handed out by the publisher itself */
    uint32_t unasked; /* nodes that cannot answer */
};
/* For at most so many nodes beside this one. WEFT_ENOMEM. */
int wf_publish_report_begin(struct wf_publish_report *r, struct wf_actor *self, uint32_t nodes);
/* The number of a slot for that node; 0: there is none, and it counts as silent. */
uint64_t wf_publish_report_ask(struct wf_publish_report *r, uint64_t node);
/* The message does not get there. `r` may be NULL. */
void wf_publish_report_lost(struct wf_publish_report *r, uint64_t ref);
/* Waits. WEFT_OK, WEFT_ECANCELED. */
int wf_publish_report_end(struct wf_publish_report *r, struct weft_reach *out, int64_t deadline);

#endif
