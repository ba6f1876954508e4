/* actors/mailbox/message.c -- the functions of weft/message.h. */
#include "deliver.h"
#include "held.h"

#include <string.h>

weft_msg *weft_msg_new(uint32_t tag, size_t size)
{
    if (WF_UNLIKELY(wf_is_wrong_message(tag, "", size))) {
        (void)wf_wrong_message("weft_msg_new", tag, "", size);
        return NULL;
    }
    weft_msg *m = wf_msg_new(wf_here, tag, size);
    struct wf_actor *self = wf_actor_self();
    if (m != NULL && self != NULL) wf_hold(self, m);
    return m;
}

void *weft_msg_body(weft_msg *m)
{
    return wf_msg_bytes(m);
}

/* A publication that is the only message that `self` holds. It is too small to be charged. */
static inline bool is_only_publication(const struct wf_actor *self, const weft_msg *m)
{
    return m->shared != NULL && m->shared->owed != 0 && self->held == m && m->post.next == NULL &&
           m->post.kind == WF_POST_MESSAGE && m->post.flags != WF_MSG_CALL;
}

static __attribute__((noinline)) void free_slowly(weft_msg *m)
{
    struct wf_worker *w = wf_here;
    struct wf_actor *self = wf_actor_self();
    if (self != NULL && is_only_publication(self, m)) {
        self->held = NULL;
    } else if (self != NULL) {
        wf_task_charge(&self->task, m->size);
        wf_release(self, m);
        if (WF_UNLIKELY(m->post.flags == WF_MSG_CALL)) {
            wf_refuse(w, m, WEFT_ENOREPLY);
            return;
        }
    }
    if (w != NULL && w->pool.bypass && m->shared == NULL) memset(wf_msg_bytes(m), WF_FREED, m->size);
    wf_msg_free(w, m);
}

/* Whether `m` is a SEND in a block of class 0, as publications are, which a pool has not passed on. */
static inline bool is_plain_envelope(const weft_msg *m)
{
    return m->post.head == wf_msg_head(WF_MSG_SEND, 0);
}

/* Frees a message with a shared body. As weft_msg_free. wf_owe fails if the pool is bypassed. */
static inline __attribute__((always_inline)) void free_shared(weft_msg *m)
{
    struct wf_worker *w = wf_here_or_nobody;
    struct wf_actor *self = wf_actor_self();
    if (WF_LIKELY(self != NULL && self->held == m && m->post.next == NULL && is_plain_envelope(m) &&
                  wf_pool_may_keep(&w->pool) && wf_owe(&wf_actors_of(w)->owing, m->shared))) {
        self->held = NULL;
        wf_pool_keep(&w->pool, m);
        return;
    }
    free_slowly(m);
}

/* The common case. It calls nothing before its end, so the compiler needs no stack frame. */
void weft_msg_free(weft_msg *m)
{
    if (WF_UNLIKELY(m == NULL)) return;
    if (m->shared != NULL) {
        free_shared(m);
        return;
    }
    struct wf_worker *w = wf_here_or_nobody;
    struct wf_actor *self = wf_actor_self();
    if (WF_LIKELY(self != NULL && self->held == m && m->post.next == NULL && m->post.kind == WF_POST_MESSAGE &&
                  m->post.flags == WF_MSG_SEND && wf_pool_has_space(&w->pool, m->post.block_class))) {
        self->held = NULL;
        wf_pool_give(&w->pool, m->post.block_class, m);
        return;
    }
    free_slowly(m);
}

uint32_t weft_tag(const weft_msg *m)
{
    return m->post.word;
}

weft_pid weft_from(const weft_msg *m)
{
    return m->from;
}

const void *weft_data(const weft_msg *m)
{
    return m->shared != NULL ? m->shared->data + m->topic_size : (const uint8_t *)(m + 1);
}

size_t weft_size(const weft_msg *m)
{
    return m->size;
}

const char *weft_topic(const weft_msg *m)
{
    return m->shared == NULL ? "" : wf_body_topic(m->shared);
}

bool weft_wants_reply(const weft_msg *m)
{
    return m->post.flags == WF_MSG_CALL;
}
