/* actors/core/msg.c -- see msg.h. */
#include "msg.h"

weft_msg *wf_request_share(struct wf_worker *w, uint32_t tag, struct wf_body *body, int64_t deadline)
{
    WF_ASSERT(body->size <= WEFT_MESSAGE_MAX);
    weft_msg *m = wf_request_new(w, tag, 0, deadline); /* it has space for the terms behind an empty body */
    if (WF_UNLIKELY(m == NULL)) return NULL;
    wf_body_keep(body);
    m->shared = body;
    m->size = body->size;
    return m;
}

weft_msg *wf_msg_share(struct wf_worker *w, uint32_t tag, struct wf_body *body)
{
    WF_ASSERT(body->size <= WEFT_MESSAGE_MAX);
    weft_msg *m = wf_msg_new(w, tag, 0);
    if (m == NULL) return NULL;
    wf_body_keep(body);
    m->shared = body;
    m->size = body->size;
    m->topic_size = body->topic_size;
    return m;
}
