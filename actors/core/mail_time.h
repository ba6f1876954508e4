/* actors/core/mail_time.h -- how long messages lie in mailboxes: of some of them, for each kind of actors on each
 * worker.
 *
 * Design notes.
 * (1) A message that is timed carries its stamp where others carry their receiver, who is known from the mailbox it
 *     lies in; so no envelope grows. A plain one (WF_MSG_SEND) becomes a WF_MSG_TIMED until it leaves the mailbox, so
 *     that the receiver of one that is not timed looks at nothing more than before; a request has wf_terms.timed.
 * (2) What a message costs that is not timed is a count that goes down when it comes to a mailbox (`left`). What was
 *     published to many counts down once for all of a worker.
 * (3) How many pass between two that are timed is drawn at random around `period`, so that no pattern of messages
 *     falls in step with it, and each timed one stands for as many as were counted (its weight, in the stamp): so the
 *     histograms hold about as many spans as there were messages, of fast workers and slow ones, in a rush or not.
 *     `period` is what makes it one timed message in WF_MAIL_GOAL: 1 where messages are few, WF_MAIL_PERIOD_MAX at
 *     most. It depends on what came before alone, so that none is preferred; but a worker that has timed none for
 *     WF_MAIL_QUIET begins anew, and those that were counted meanwhile are left out.
 * (4) Both moments are looked up on the clock, not taken from the beginning of the turn: within a turn a message may
 *     wait for as long as the other actors run.
 * (5) A stamp is modulo 2^53 times 16 ns, more than four years.
 * (6) What is published to an actor that has mail waits as a pointer, as long as it is not timed
 *     (published_block.h). So that mailboxes of slow subscribers stay small, at most one of PUBLISHED_LEAST
 *     (mail_time.c) of these is timed.
 * (7) Not timed: what was retained, which may be passed on as such; the system lane, which has no bound to wait at,
 *     and what passes no mailbox (answers). Dropped messages are not counted. One from another worker or node comes
 *     when its worker takes it into the mailbox. */
#ifndef WF_MAIL_TIME_H
#define WF_MAIL_TIME_H

#include "histogram.h"

#include <weft/time.h>

struct wf_actor;
struct wf_actors;
typedef struct weft_msg weft_msg;

#define WF_MAIL_GOAL WEFT_MS(4) /* note (3): from one timed message to the next */
#define WF_MAIL_QUIET WEFT_SEC(10)
enum { WF_MAIL_PERIOD_MAX = 1024 };

/* Of a worker. */
struct wf_mail_timer {
    uint32_t left;   /* messages to come until one is timed, that one included: never 0 */
    uint32_t weight; /* how many it stands for */
    uint32_t period;
    uint32_t random;
    int64_t last; /* when one was timed */
};

void wf_mail_timer_init(struct wf_mail_timer *t, uint32_t seed);
/* `m` has come to a mailbox of this worker, and `left` is 0. */
void wf_mail_time(struct wf_actors *wa, weft_msg *m);
/* `left` is 1, and what comes to a mailbox with so many messages was published: whether it is timed, for which it
 * needs an envelope. False: another one will be. */
bool wf_mail_time_published(struct wf_mail_timer *t, uint32_t mail_count);
/* It was to be timed, and there is no memory. */
void wf_mail_time_another(struct wf_mail_timer *t);
/* `a` receives mail that is no plain WF_MSG_SEND, nor retained; or a request that is timed. */
void wf_mail_received(struct wf_actor *a, weft_msg *m);

/* At the end of a turn: a worker that has become quiet times what comes next. */
void wf_mail_timer_quiet(struct wf_mail_timer *t);
static inline void wf_mail_timer_turn(struct wf_mail_timer *t, int64_t now)
{
    if (WF_UNLIKELY(now - t->last > WF_MAIL_QUIET && t->left > 1)) wf_mail_timer_quiet(t);
}

/* Stamps: never 0. */
uint64_t wf_mail_stamp(int64_t now, uint32_t weight);
uint32_t wf_mail_stamp_weight(uint64_t stamp);
int64_t wf_mail_stamp_span(uint64_t stamp, int64_t now);

#endif
