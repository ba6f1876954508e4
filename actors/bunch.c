/* actors/bunch.c -- see bunch.h. */
#include "bunch.h"

#include "mailbox.h"

/* One cache line for the first few, then larger ones. */
static struct wf_bunch *bunch_new(struct wf_worker *w, const weft_msg *last)
{
    uint16_t class_ = last == NULL || !wf_is_bunch(last) ? 0 : last->post.block_class == 0 ? 2 : 3;
    size_t bytes = (size_t)64 << class_;
    struct wf_bunch *b = wf_pool_take(&w->pool, class_, bytes);
    if (b == NULL) return NULL;
    b->post = (struct wf_post){.kind = WF_POST_MESSAGE, .flags = WF_MSG_BUNCH, .block_class = class_};
    b->first = b->end = 0;
    b->capacity = (uint16_t)((bytes - sizeof *b) / sizeof *b->at);
    return b;
}

static size_t bytes_of(const struct wf_bunch *b)
{
    return (size_t)64 << b->post.block_class;
}

/* How many more leave room for another one. */
static size_t places(const struct wf_actor *a)
{
    if (wf_mailbox_own_full(a)) return 0;
    return a->mailbox_max - a->mail_count - 1;
}

bool wf_bunch_put(struct wf_actor *a, struct wf_body *body)
{
    struct wf_worker *w = a->task.worker;
    struct wf_bunch *b = (struct wf_bunch *)a->mail.last;
    if (b == NULL || b->post.flags != WF_MSG_BUNCH || b->end == b->capacity) {
        b = bunch_new(w, a->mail.last);
        if (b == NULL) return false;
        wf_lane_push(&a->mail, (weft_msg *)b);
        a->mail_bytes += bytes_of(b);
        wf_actors_of(w)->mail_bytes += bytes_of(b);
    }
    b->at[b->end++] = body;
    a->mail_count++;
    b->limit = (uint16_t)WF_MIN(b->capacity, b->end + places(a));
    if (WF_UNLIKELY(wf_mailbox_full(a))) wf_mailbox_filled(a);
    if (a->task.wants_mail) wf_task_wake(&a->task);
    return true;
}

struct wf_body *wf_bunch_take(struct wf_actor *a, weft_msg *previous, size_t *freed)
{
    struct wf_bunch *b = (struct wf_bunch *)(previous == NULL ? a->mail.first : (weft_msg *)previous->post.next);
    struct wf_body *body = b->at[b->first++];
    *freed = 0;
    if (b->first < b->end) return body;
    (void)wf_lane_take_after(&a->mail, previous);
    *freed = bytes_of(b);
    wf_pool_give(&a->task.worker->pool, b->post.block_class, b);
    return body;
}
