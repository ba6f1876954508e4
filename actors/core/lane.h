/* actors/core/lane.h -- a lane of a mailbox: a queue of messages, linked by post.next. */
#ifndef WF_LANE_H
#define WF_LANE_H

#include "msg.h"

struct wf_lane {
    weft_msg *first, *last; /* linked by post.next; `last` means nothing while `first` is NULL */
};

static inline void wf_lane_push(struct wf_lane *l, weft_msg *m)
{
    m->post.next = NULL;
    if (l->first == NULL) l->first = m;
    else l->last->post.next = &m->post;
    l->last = m;
}

/* The oldest; the lane is not empty. */
static inline weft_msg *wf_lane_shift(struct wf_lane *l)
{
    weft_msg *m = l->first;
    l->first = (weft_msg *)m->post.next;
    return m;
}

/* Takes out the message after `previous`; with NULL, the oldest one. Returns NULL if there is none. */
static inline weft_msg *wf_lane_take_after(struct wf_lane *l, weft_msg *previous)
{
    weft_msg *m = previous == NULL ? l->first : (weft_msg *)previous->post.next;
    if (m == NULL) return NULL;
    weft_msg *next = (weft_msg *)m->post.next;
    if (previous == NULL) l->first = next;
    else previous->post.next = m->post.next;
    if (next == NULL) l->last = previous;
    return m;
}

#endif
