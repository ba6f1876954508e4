/* actors/topics/publish_report.h -- how many subscribers a publication has reached: the publisher asks every node
 * that the publication goes to.
 *
 * Design notes.
 * (1) On each node, each worker that delivers the message adds to a count; the last one answers the publisher, as if
 *     the publisher had made a call (call.c). So a lost node, a deadline and a kill have the same effect as in a
 *     call.
 * (2) Each node has a slot among the publisher's answers; the publisher's own node has one for its other workers. The
 *     number of the slot travels with the message. */
#ifndef WF_PUBLISH_REPORT_H
#define WF_PUBLISH_REPORT_H

#include "actor.h"
#include "asking.h"

#include <weft/topic.h>

/* ---- Of a node ------------------------------------------------------------------------------------------------- */

struct wf_publish_count {
    _Atomic uint32_t left;  /* holders that have not counted yet; decremented acq_rel: the last one reads `count` */
    _Atomic uint32_t count; /* relaxed, see `left` */
    weft_pid to;
    uint64_t ref;
};
/* A new count with one holder, the caller. NULL: no memory, there will be no answer. */
struct wf_publish_count *wf_publish_count_new(weft_pid to, uint64_t ref);
/* Adds a holder. `t` may not be NULL. */
void wf_publish_count_keep(struct wf_publish_count *t);
/* A holder adds its `count`. True if it was the last one: then the caller answers with `t->count` and frees `t`.
 * False if `t` is NULL. */
bool wf_publish_count_done(struct wf_publish_count *t, uint32_t count);
/* The same, and answers from worker `w`. */
void wf_publish_count_end(struct wf_worker *w, struct wf_publish_count *t, uint32_t count);

/* ---- Of the publisher ------------------------------------------------------------------------------------------ */

struct wf_publish_report {
    struct wf_actor *self;
    struct wf_asking asking;
    weft_msg *held;   /* its body has the slots */
    uint32_t here;    /* subscribers that the publisher itself has delivered to */
    uint32_t unasked; /* nodes that cannot answer */
};
/* `nodes`: how many nodes, besides this one, may be asked. WEFT_ENOMEM. */
int wf_publish_report_begin(struct wf_publish_report *r, struct wf_actor *self, uint32_t nodes);
/* The number of a new slot for that node; 0: no slot is left, and the node counts as silent. */
uint64_t wf_publish_report_ask(struct wf_publish_report *r, uint64_t node);
/* The message does not reach the node of that slot. `r` may be NULL. */
void wf_publish_report_lost(struct wf_publish_report *r, uint64_t ref);
/* Waits for the answers. WEFT_OK, WEFT_ECANCELED. */
int wf_publish_report_end(struct wf_publish_report *r, struct weft_reach *out, int64_t deadline);

#endif
