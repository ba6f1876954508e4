/* actors/core/remains.c -- see remains.h. */
#include "remains.h"

#include "actor.h"

enum { PART = 16 * 1024 * 1024 }; /* bytes that are freed in a turn, or one larger message */

bool wf_remains_may_take(const struct wf_worker *w, const weft_msg *m)
{
    bool large = m->post.block_class == WF_POOL_LARGE && m->post.kind == WF_POST_MESSAGE && m->shared == NULL;
    bool plain = m->post.flags == WF_MSG_SEND || m->post.flags == WF_MSG_TIMED;
    return large && plain && !w->pool.bypass;
}

static void free_part(struct wf_worker *w, struct wf_call *c)
{
    struct wf_remains *r = WF_CONTAINER(c, struct wf_remains, again);
    WF_ASSERT(w == wf_here && r->first != NULL);
    for (size_t freed = 0; r->first != NULL && freed < PART;) {
        weft_msg *m = r->first;
        r->first = (weft_msg *)m->post.next;
        freed += m->size;
        wf_msg_free(w, m);
    }
    if (r->first != NULL) wf_worker_post(w, &r->again.post);
}

void wf_remains_take(struct wf_worker *w, weft_msg *m)
{
    struct wf_remains *r = &wf_node_of(w)->remains[w->index];
    WF_ASSERT(wf_remains_may_take(w, m));
    if (r->first == NULL) {
        r->again = (struct wf_call){.post.kind = WF_POST_CALL, .call = free_part};
        wf_worker_post(w, &r->again.post);
    }
    m->post.next = r->first == NULL ? NULL : &r->first->post;
    r->first = m;
}

void wf_remains_finish(struct wf_worker *w)
{
    struct wf_remains *r = &wf_node_of(w)->remains[w->index];
    for (weft_msg *m; (m = r->first) != NULL;) {
        r->first = (weft_msg *)m->post.next;
        wf_msg_free(w, m);
    }
}
