/* actors/core/mail_time.h -- measures, for a sample of messages, how long they lie in mailboxes: for each kind of
 * actors on each worker.
 *
 * Design notes.
 * (1) A message that is timed has its stamp in the place of its receiver, which the mailbox implies; so no envelope
 *     grows. A plain one (WF_MSG_SEND) becomes a WF_MSG_TIMED until it leaves the mailbox, so that receiving a
 *     message that is not timed needs no further check; a request has wf_terms.timed.
 * (2) A message that is not timed costs one decrement of `left` when it comes to a mailbox. A publication to many
 *     subscribers decrements it once for all subscribers of a worker.
 * (3) The number of messages from one timed message to the next is random, around `period`, so that no regular
 *     pattern of messages is always hit or missed. Each timed message counts for all of them (its weight, in the
 *     stamp): so the histograms hold about as many spans as there were messages, at any rate of messages. `period` is
 *     chosen so that about one message in WF_MAIL_GOAL is timed: it is 1 where messages are few, and at most
 *     WF_MAIL_PERIOD_MAX. It depends only on earlier messages, so the choice is not biased. A worker that has timed
 *     none for WF_MAIL_QUIET starts again with period 1, and the messages counted meanwhile are left out.
 * (4) Both times are read from the clock, not taken from the start of the turn: within a turn, a message may wait
 *     while other actors run.
 * (5) The time in a stamp has 53 bits and counts units of 16 ns, so it wraps after more than four years.
 * (6) A publication to an actor that has mail waits as a pointer if it is not timed (published_block.h). At most one
 *     of PUBLISHED_LEAST (mail_time.c) such publications is timed, so that mailboxes of slow subscribers stay small.
 * (7) These are not timed: retained messages, which may be passed on as such; signals, as no sender waits for space in
 *     their lane; answers, which pass no mailbox. Dropped messages are not counted. The time of a message from
 *     another worker or node starts when the receiver's worker puts it into the mailbox. */
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

/* One for each worker. */
struct wf_mail_timer {
    uint32_t left;   /* messages until one is timed, that one included: never 0 */
    uint32_t weight; /* how many messages the timed one counts for */
    uint32_t period;
    uint32_t random;
    int64_t last; /* when a message was timed */
};

void wf_mail_timer_init(struct wf_mail_timer *t, uint32_t seed);
/* Times `m`, which has come to a mailbox of this worker when `left` became 0. */
void wf_mail_time(struct wf_actors *wa, weft_msg *m);
/* `left` is 1, and a publication comes to a mailbox with `mail_count` messages: whether it is timed, which needs an
 * envelope. False: another message is chosen instead. */
bool wf_mail_time_published(struct wf_mail_timer *t, uint32_t mail_count);
/* There is no memory to time the chosen message: chooses another one. */
void wf_mail_time_another(struct wf_mail_timer *t);
/* `a` receives mail that is neither a plain WF_MSG_SEND nor retained nor an untimed request. */
void wf_mail_received(struct wf_actor *a, weft_msg *m);

/* Called at the end of a turn: a worker that was quiet for long times the next message. */
void wf_mail_timer_quiet(struct wf_mail_timer *t);
static inline void wf_mail_timer_turn(struct wf_mail_timer *t, int64_t now)
{
    if (WF_UNLIKELY(now - t->last > WF_MAIL_QUIET && t->left > 1)) wf_mail_timer_quiet(t);
}

/* Stamps are never 0. */
uint64_t wf_mail_stamp(int64_t now, uint32_t weight);
uint32_t wf_mail_stamp_weight(uint64_t stamp);
int64_t wf_mail_stamp_span(uint64_t stamp, int64_t now);

#endif
