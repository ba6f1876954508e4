/* actors/mailbox/published_block.h -- publications that wait in the mailbox of an actor, several in one block.
 *
 * Design notes.
 * (1) A publication that waits is a pointer to its body, which has the publisher and the tag. A block with a few such
 *     pointers stands in the lane of mail in the place of a message; each publication gets an envelope when it is
 *     received. So a delivery writes 8 bytes instead of a cache line, and the receiver's envelope is one it has just
 *     freed.
 * (2) A delivery to a block that is the last in its lane touches two cache lines: one of the actor and one of the
 *     block. `post.room` says in advance how many fit within the block and the bounds of the mailbox: while the block is
 *     the last one, only receiving changes how full the mailbox is. A message that is put back takes the room away, and
 *     so does what leaves from behind the block (wf_published_block_close). The body that would fill the mailbox never
 *     has room.
 *     A block is filled from its end to its beginning, so that the room is also the place of the next body; all other
 *     messages have 0 in `post.room`, so one test finds out that a body can be added. If it was the mailbox that had no
 *     more space, and it has some again, the bodies of the block move to its end.
 * (3) A block's bytes count against the byte bound of a mailbox, those of the bodies do not.
 * (4) A traced body gets an envelope at once, so that taking one out of a block need not look for a trace.
 * (5) Such a delivery need not wake the actor: an actor that waits for mail has none, or has looked at all of it, and
 *     looking at a block takes it apart. */
#ifndef WF_PUBLISHED_BLOCK_H
#define WF_PUBLISHED_BLOCK_H

#include "actor.h"

struct wf_published_block {
    /* It stands where a weft_msg would. .flags: WF_MSG_PUBLISHED_BLOCK; .room: note (2); .word: at[word - 1] is received
     * next, and those before it down to at[room] wait, too. */
    struct wf_post post;
    struct wf_body *at[];
};

static inline bool wf_is_published_block(const weft_msg *m)
{
    return m->post.flags == WF_MSG_PUBLISHED_BLOCK;
}

/* Adds a body that is not traced to the block at the end of the mailbox and takes over its reference. False: it did
 * not; call wf_mailbox_put_shared. */
static inline bool wf_published_block_add(struct wf_actor *a, struct wf_body *body)
{
    if (WF_UNLIKELY(a->mail.first == NULL)) return false;
    struct wf_published_block *b = (struct wf_published_block *)a->mail.last;
    size_t room = b->post.room;
    if (WF_UNLIKELY(room-- == 0)) return false;
    b->at[room] = body;
    b->post.room = (uint8_t)room;
    a->spare_places--;
    return true;
}
/* If `m`, the last message of a mailbox, is a block, wf_published_block_add adds no more bodies to it: the mailbox has less
 * space than its room says. */
void wf_published_block_close(weft_msg *m);
/* Takes the first body out of the block that stands after `previous` in the lane of mail; with NULL, out of the first
 * block. The caller has to subtract `*freed` bytes, and one message, from the counts of the mailbox. */
struct wf_body *wf_published_block_take(struct wf_actor *a, weft_msg *previous, size_t *freed);
static inline uint32_t wf_published_block_count(const weft_msg *m)
{
    const struct wf_published_block *b = (const struct wf_published_block *)m;
    return b->post.word - b->post.room;
}
/* Puts a published body into a subscriber's mailbox; takes over a reference. False: the mailbox was full, or there
 * was no memory; that is counted, and the caller keeps the reference. */
bool wf_mailbox_put_shared(struct wf_actor *a, struct wf_body *body);
/* Makes a pool block of class 0 an envelope on that body; takes over a reference. */
static inline void wf_published_block_envelope(weft_msg *m, struct wf_body *body)
{
    m->post.next = NULL;
    memcpy(&m->post.kind, &body->head, sizeof body->head);
    m->from = body->from;
    m->ref = 0;
    m->shared = body;
    _Static_assert(offsetof(weft_msg, topic_size) == offsetof(weft_msg, size) + sizeof m->size &&
                       offsetof(struct wf_body, topic_size) == offsetof(struct wf_body, size) + sizeof body->size,
                   "one copy takes both");
    memcpy(&m->size, &body->size, sizeof m->size + sizeof m->topic_size);
}

#endif
