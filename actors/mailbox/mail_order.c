/* actors/mailbox/mail_order.c -- see mail_order.h. */
#include "mail_order.h"

static struct wf_backlog *backlog_of(const struct wf_actor *a)
{
    return a->more == NULL ? NULL : a->more->backlog;
}

void wf_signals_push(struct wf_actor *a, weft_msg *m)
{
    weft_msg *first = a->signals.first;
    WF_ASSERT(first == NULL || first->mail_total <= wf_mail_count(a));
    m->mail_ahead = wf_mail_count(a) - (first == NULL ? 0 : first->mail_total);
    m->mail_total = 0;
    wf_lane_push(&a->signals, m);
    (first == NULL ? m : first)->mail_total = wf_mail_count(a);
    wf_actor_set_slow_path(a);
}

weft_msg *wf_signals_take(struct wf_actor *a, weft_msg *previous)
{
    weft_msg *m = wf_lane_take_after(&a->signals, previous);
    WF_ASSERT(m != NULL);
    wf_actor_set_slow_path(a);
    weft_msg *next = previous == NULL ? a->signals.first : (weft_msg *)previous->post.next;
    struct wf_backlog *b = backlog_of(a);
    if (b != NULL && (b->mark == m || b->mark == a->signals.first)) b->mark = NULL;
    if (next != NULL) next->mail_ahead += m->mail_ahead;
    if (previous == NULL && next != NULL) next->mail_total = m->mail_total;
    if (previous != NULL && next == NULL) a->signals.first->mail_total -= m->mail_ahead;
    return m;
}

uint32_t wf_signal_mail_ahead(const struct wf_actor *a, const weft_msg *signal)
{
    uint32_t ahead = 0;
    for (const weft_msg *s = signal == NULL ? NULL : a->signals.first; s != NULL; s = (weft_msg *)s->post.next) {
        ahead += s->mail_ahead;
        if (s == signal) break;
    }
    return ahead;
}

void wf_mail_put_back(struct wf_actor *a)
{
    struct wf_backlog *b = backlog_of(a);
    a->signals.first->mail_ahead++;
    a->signals.first->mail_total++;
    if (b != NULL && b->mark != NULL) b->mark->mail_total++;
}

void wf_mail_left_between(struct wf_actor *a, uint32_t place)
{
    struct wf_backlog *b = backlog_of(a);
    weft_msg *first = a->signals.first, *mark = b == NULL ? NULL : b->mark, *before = NULL, *s = first;
    uint32_t ahead = 0; /* the mail ahead of `before` */
    first->mail_total--;
    if (mark != NULL && mark->mail_total <= place) {
        before = mark;
        s = (weft_msg *)mark->post.next;
        ahead = mark->mail_total;
    } else if (mark != NULL) {
        mark->mail_total--;
    }
    for (; ahead + s->mail_ahead <= place; before = s, s = (weft_msg *)s->post.next) ahead += s->mail_ahead;
    WF_ASSERT(s != NULL && s->mail_ahead > 0);
    s->mail_ahead--;
    if (b == NULL || before == NULL || before == first) return;
    b->mark = before;
    before->mail_total = ahead;
}
