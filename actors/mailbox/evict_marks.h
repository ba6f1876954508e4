/* actors/mailbox/evict_marks.h -- where the oldest messages of subscriptions are looked for.
 *
 * Design notes. A subscription may drop its oldest message with each publication (wf_mailbox_evict), while the mailbox is
 * full of other mail. So it remembers where its last search ended (struct wf_evict_mark): all that comes later is behind
 * that place. Mail that is received in order does not change a mark, as the mark counts what is ahead of it together with
 * wf_actor.gone: if that says that no mail is ahead, the message at the mark is the first one or has left, and the mark
 * means nothing. What leaves or is taken apart elsewhere in the lane looks at the marks of the actor. */
#ifndef WF_EVICT_MARKS_H
#define WF_EVICT_MARKS_H

#include "actor.h"
#include "published_block.h"

/* How many messages stand there in the lane of mail. */
static inline uint32_t wf_mail_count_of(const weft_msg *m)
{
    return wf_is_published_block(m) ? wf_published_block_count(m) : 1;
}

static inline bool wf_has_evict_marks(const struct wf_actor *a)
{
    return a->more != NULL && a->more->backlog != NULL && !wf_list_empty(&a->more->backlog->evict_marks);
}
/* How much mail is ahead of the message at the mark; 0: the mark means nothing, or the message is the first one. */
uint32_t wf_evict_mark_ahead(const struct wf_actor *a, const struct wf_evict_mark *mark);
/* `place` messages are up to `last`, and none of them is counted by the subscription; NULL: there are none. */
void wf_evict_mark_set(struct wf_actor *a, struct wf_evict_mark *mark, weft_msg *last, uint32_t place);
/* The message after `previous`, the last of `place` messages, is about to leave. `m`: it is that one; NULL: it is in a
 * block, where others remain. If the oldest message leaves, all marks stay right. The actor has marks. */
void wf_evict_marks_left(struct wf_actor *a, const weft_msg *m, weft_msg *previous, uint32_t place);
/* The mailbox is emptied, which does not count in wf_actor.gone. */
void wf_evict_marks_forget(struct wf_actor *a);
/* `m` is the envelope of the first message of that block, and is put before it. */
void wf_evict_marks_unpacked(struct wf_actor *a, const weft_msg *block, weft_msg *m);

#endif
