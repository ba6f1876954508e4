/* actors/mailbox/published_block.c -- see published_block.h. */
#include "published_block.h"

#include "mailbox.h"

#include <string.h>

static size_t bytes_of(uint16_t class_)
{
    return (size_t)64 << class_;
}

static size_t capacity_of(uint16_t class_)
{
    return (bytes_of(class_) - sizeof(struct wf_published_block)) / sizeof(struct wf_body *);
}

/* How many more messages fit so that there is still space for another one. */
static size_t places(const struct wf_actor *a)
{
    if (wf_mailbox_own_full(a)) return 0;
    return (size_t)a->spare_places;
}

/* The first block in a row has one cache line, the next ones are larger, but not larger than the mailbox needs. */
static uint16_t next_class(const struct wf_actor *a)
{
    const weft_msg *last = a->mail.first == NULL ? NULL : a->mail.last;
    uint16_t class_ = last == NULL || !wf_is_published_block(last) ? 0 : last->post.block_class == 0 ? 2 : 3;
    while (class_ > 0 && capacity_of((uint16_t)(class_ - 1)) > places(a)) class_--;
    return class_;
}

/* Adds a block with that body, in which no other body waits yet. */
static bool put_in_new_block(struct wf_actor *a, struct wf_body *body)
{
    struct wf_worker *w = a->task.worker;
    const uint16_t class_ = next_class(a);
    struct wf_published_block *b = wf_pool_take(&w->pool, class_, bytes_of(class_));
    if (b == NULL) return false;
    a->spare_places--;
    a->spare_bytes -= (int64_t)bytes_of(class_);
    wf_actors_of(w)->spare_bytes -= (int64_t)bytes_of(class_);
    const size_t whole = WF_MIN(capacity_of(class_), 1 + places(a));
    b->post = (struct wf_post){.kind = WF_POST_MESSAGE,
                               .flags = WF_MSG_PUBLISHED_BLOCK,
                               .block_class = (uint8_t)class_,
                               .room = (uint8_t)(whole - 1),
                               .word = (uint32_t)whole};
    b->at[whole - 1] = body;
    wf_lane_push(&a->mail, (weft_msg *)b);
    return true;
}

/* The last block has no room, but perhaps only because the mailbox had no space when it was made, as where each
 * publication replaces the oldest message. Then its bodies move to its end. */
static bool put_in_last_block(struct wf_actor *a, struct wf_body *body)
{
    if (a->mail.first == NULL || !wf_is_published_block(a->mail.last)) return false;
    struct wf_published_block *b = (struct wf_published_block *)a->mail.last;
    WF_ASSERT(b->post.room == 0);
    const size_t count = b->post.word, gap = capacity_of(b->post.block_class) - count;
    if (gap == 0) return false;
    a->spare_places--;
    const size_t room = WF_MIN(gap, 1 + places(a));
    memmove(&b->at[room], b->at, count * sizeof *b->at);
    b->at[room - 1] = body;
    b->post.room = (uint8_t)(room - 1);
    b->post.word = (uint32_t)(room + count);
    return true;
}

/* Its bodies move to its beginning. put_in_last_block finds out how many more the mailbox has space for. */
void wf_published_block_close(weft_msg *m)
{
    if (!wf_is_published_block(m) || m->post.room == 0) return;
    struct wf_published_block *b = (struct wf_published_block *)m;
    const uint32_t count = b->post.word - b->post.room;
    memmove(b->at, &b->at[b->post.room], count * sizeof *b->at);
    b->post.room = 0;
    b->post.word = count;
}

static bool put_in_block(struct wf_actor *a, struct wf_body *body)
{
    WF_ASSERT(!body->traced); /* published_block.h, note (4) */
    if (!wf_published_block_add(a, body) && !put_in_last_block(a, body) && !put_in_new_block(a, body)) return false;
    if (WF_UNLIKELY(wf_mailbox_full(a))) wf_mailbox_filled(a);
    wf_mail_came(a);
    return true;
}

struct wf_body *wf_published_block_take(struct wf_actor *a, weft_msg *previous, size_t *freed)
{
    struct wf_published_block *b = (struct wf_published_block *)(previous == NULL ? a->mail.first
                                                                                  : (weft_msg *)previous->post.next);
    WF_ASSERT(b->post.flags == WF_MSG_PUBLISHED_BLOCK && b->post.word > b->post.room);
    struct wf_body *body = b->at[--b->post.word];
    *freed = 0;
    if (b->post.word > b->post.room) return body;
    (void)wf_lane_take_after(&a->mail, previous);
    *freed = bytes_of(b->post.block_class);
    wf_pool_give(&a->task.worker->pool, b->post.block_class, b);
    return body;
}

/* False: there is no memory. */
static bool put_in_envelope(struct wf_actor *a, struct wf_body *body)
{
    weft_msg *m = wf_pool_take(&a->task.worker->pool, 0, sizeof *m);
    if (m == NULL) return false;
    wf_published_block_envelope(m, body);
    wf_mailbox_add(a, m);
    return true;
}

/* This publication may be timed: then it gets an envelope. False: it is not timed. */
static bool put_timed(struct wf_actor *a, struct wf_body *body, struct wf_mail_timer *t)
{
    if (!wf_mail_time_published(t, wf_mail_count(a))) return false;
    if (put_in_envelope(a, body)) return true;
    wf_mail_time_another(t);
    return false;
}

static bool put_one(struct wf_actor *a, struct wf_body *body)
{
    struct wf_mail_timer *t = &wf_actors_of(a->task.worker)->timer;
    if (WF_UNLIKELY(t->left == 1) && put_timed(a, body, t)) return true;
    if (WF_UNLIKELY(body->traced)) return put_in_envelope(a, body);
    if (!put_in_block(a, body)) return false;
    t->left--;
    return true;
}

bool wf_mailbox_put_shared(struct wf_actor *a, struct wf_body *body)
{
    enum wf_drop why = WF_DROP_SLOW_READER;
    if (WF_LIKELY(!wf_mailbox_full(a) || wf_actor_policy(a) == WEFT_FULL_DROP_OLDEST)) {
        if (wf_mailbox_full(a)) wf_mailbox_make_space(a);
        if (put_one(a, body)) return true;
        why = WF_DROP_MEMORY;
    }
    wf_actor_dropped(a);
    wf_note_drop(a->task.worker, why, a->id, body->from, body->tag);
    return false;
}
