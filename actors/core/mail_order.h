/* actors/core/mail_order.h -- the system lane of a mailbox, and which mail came before each signal in it.
 *
 * Design notes.
 * (1) Signals and mail stand in lanes of their own but are received in the order of their arrival. So each signal
 *     counts the mail that waits between the signal before it and itself (`mail_ahead`). Mail that leaves
 *     its lane, received or dropped, oldest or out of turn, changes one of these counts: that of the first signal
 *     behind it. wf_mail_left must hear of all mail that leaves while a signal waits.
 * (2) The first signal also knows how much mail waits ahead of the last one (`mail_total`). So a new signal finds its
 *     count, and mail that stands behind all signals leaves, without a look at the others.
 * (3) Mail that stands between signals is found by a walk. An actor that receives selectively remembers where the
 *     last walk ended (wf_backlog.mark, whose `mail_total` is the mail ahead of itself), and the next one begins
 *     there: so to take many messages out of turn, while many signals wait, costs a few steps for each. */
#ifndef WF_MAIL_ORDER_H
#define WF_MAIL_ORDER_H

#include "mailbox.h"

/* Whether the first signal, which there is, came before all mail that waits. */
static inline bool wf_signal_is_next(const struct wf_actor *a)
{
    return a->signals.first->mail_ahead == 0;
}

void wf_signals_push(struct wf_actor *a, weft_msg *m);
/* Takes out the one after `previous` (NULL: the first); there is one. */
weft_msg *wf_signals_take(struct wf_actor *a, weft_msg *previous);
/* How much mail waits ahead of that signal (NULL: 0). A walk through the lane. */
uint32_t wf_signal_mail_ahead(const struct wf_actor *a, const weft_msg *signal);

/* Mail that had left is the first again, while a signal waits. */
void wf_mail_put_back(struct wf_actor *a);
void wf_mail_left_between(struct wf_actor *a, uint32_t place);
/* Mail has left its lane, where `place` others stood before it. */
static inline void wf_mail_left(struct wf_actor *a, uint32_t place)
{
    if (WF_UNLIKELY(a->signals.first != NULL) && place < a->signals.first->mail_total) wf_mail_left_between(a, place);
}

#endif
