/* actors/mailbox/mail_order.h -- the system lane of a mailbox, and which mail came before each signal in it.
 *
 * Design notes.
 * (1) Signals and mail have a lane each, but are received in the order of their arrival. So each signal counts the
 *     mail that waits between the signal before it and itself (`mail_ahead`). Mail that leaves its lane, received or
 *     dropped, the oldest or not, changes one of these counts: that of the first signal behind it. wf_mail_left must
 *     be called for all mail that leaves while a signal waits.
 * (2) The first signal also knows how much mail waits ahead of the last one (`mail_total`). So the count of a new
 *     signal is found, and mail behind all signals leaves, without a walk over the others.
 * (3) For mail between signals, a walk over the signals finds the count. An actor that receives selectively remembers
 *     where the last walk ended (wf_backlog.mark; the mark's `mail_total` is the mail ahead of it), and the next walk
 *     begins there. So taking many messages out of order, while many signals wait, costs a few steps for each. */
#ifndef WF_MAIL_ORDER_H
#define WF_MAIL_ORDER_H

#include "mailbox.h"

/* Whether the first signal came before all mail that waits. There must be a signal. */
static inline bool wf_signal_is_next(const struct wf_actor *a)
{
    return a->signals.first->mail_ahead == 0;
}

void wf_signals_push(struct wf_actor *a, weft_msg *m);
/* Takes out the signal after `previous`; with NULL, the first one. There must be one. */
weft_msg *wf_signals_take(struct wf_actor *a, weft_msg *previous);
/* How much mail waits ahead of that signal; 0 if it is NULL. Walks through the lane. */
uint32_t wf_signal_mail_ahead(const struct wf_actor *a, const weft_msg *signal);

/* Mail that had left its lane is put back as the first one, while a signal waits. */
void wf_mail_put_back(struct wf_actor *a);
void wf_mail_left_between(struct wf_actor *a, uint32_t place);
/* Mail has left its lane; `place` messages were before it. */
static inline void wf_mail_left(struct wf_actor *a, uint32_t place)
{
    if (WF_UNLIKELY(a->signals.first != NULL) && place < a->signals.first->mail_total) wf_mail_left_between(a, place);
}

#endif
