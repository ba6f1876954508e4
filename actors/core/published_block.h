/* actors/core/published_block.h -- what is published to an actor and waits in its mailbox: several messages in one
 * block.
 *
 * Design notes.
 * (1) A published message that waits is a pointer to its body, which knows publisher and tag. They stand in the lane
 *     of mail in a block as long as a few of them, in the place of a message; each gets an envelope when it is
 *     received. So a delivery writes 8 bytes instead of a cache line, and the receiver's envelope is one it has just
 *     freed.
 * (2) A delivery to a bunch that stands last in its lane touches two cache lines: the actor's and the bunch's. That
 *     holds because `limit` says in advance how many fit within the bounds of the mailbox: nothing but receiving has
 *     changed these while it stands last. The place that fills the mailbox is never below `limit`.
 * (3) The bytes a mailbox is bounded by are those of the blocks.
 * (4) Nor does such a delivery wake anybody: whoever waits for mail has none, or has looked at all of it, and looking
 *     at a bunch takes it apart. */
#ifndef WF_PUBLISHED_BLOCK_H
#define WF_PUBLISHED_BLOCK_H

#include "actor.h"

struct wf_published_block {
    struct wf_post post; /* .flags: WF_MSG_PUBLISHED_BLOCK; stands where a weft_msg would */
    uint16_t first, end; /* at[first..end - 1] wait */
    uint16_t limit;      /* note (2) */
    uint16_t capacity;
    struct wf_body *at[];
};

static inline bool wf_is_published_block(const weft_msg *m)
{
    return m->post.flags == WF_MSG_PUBLISHED_BLOCK;
}

/* Puts a body, whose reference it takes over, at the end of the mailbox. False: only wf_mailbox_put_shared can tell
 * whether there is room. */
static inline bool wf_published_block_add(struct wf_actor *a, struct wf_body *body)
{
    struct wf_published_block *b = (struct wf_published_block *)a->mail.last;
    if (WF_UNLIKELY(b == NULL || b->post.flags != WF_MSG_PUBLISHED_BLOCK || b->end >= b->limit)) return false;
    b->at[b->end++] = body;
    a->mail_count++;
    return true;
}
/* Takes the first one out of the bunch that stands after `previous` (NULL: first) in the lane of mail; what counts
 * the mail is the caller's to change, by `*freed` bytes. */
struct wf_body *wf_published_block_take(struct wf_actor *a, weft_msg *previous, size_t *freed);
static inline uint32_t wf_published_block_count(const weft_msg *bunch)
{
    const struct wf_published_block *b = (const struct wf_published_block *)bunch;
    return (uint32_t)b->end - b->first;
}
/* A published body for a subscriber; takes over a reference. False: the mailbox was full, or
 * there was no memory; it is counted, and the reference still the caller's. */
bool wf_mailbox_put_shared(struct wf_actor *a, struct wf_body *body);
/* A block of class 0 becomes an envelope on that body, and takes over a reference. */
static inline void wf_published_block_envelope(weft_msg *m, struct wf_body *body)
{
    m->post.next = NULL;
    memcpy(&m->post.kind, &body->head, sizeof body->head);
    m->from = body->from;
    m->ref = 0;
    m->shared = body;
    m->size = (uint32_t)body->size;
    m->topic_size = body->topic_size;
}

#endif
