/* actors/mailbox/evict_marks.c -- see evict_marks.h. */
#include "evict_marks.h"

static struct wf_evict_mark *mark_of(struct wf_list_node *k)
{
    return WF_CONTAINER(k, struct wf_evict_mark, on_marks);
}

uint32_t wf_evict_mark_ahead(const struct wf_actor *a, const struct wf_evict_mark *mark)
{
    const int64_t ahead = wf_linked(&mark->on_marks) ? (int64_t)(mark->ahead - a->gone) : 0;
    return ahead > 0 ? (uint32_t)ahead : 0;
}

void wf_evict_mark_set(struct wf_actor *a, struct wf_evict_mark *mark, weft_msg *last, uint32_t place)
{
    struct wf_backlog *b = last == NULL ? NULL : wf_backlog_from(a, a->task.worker);
    if (b == NULL) { /* or there is no memory: the next search begins with the oldest mail */
        wf_unlink(&mark->on_marks);
        return;
    }
    mark->at = last;
    mark->ahead = a->gone + place - wf_mail_count_of(last);
    if (!wf_linked(&mark->on_marks)) wf_list_push(&b->evict_marks, &mark->on_marks);
}

void wf_evict_marks_left(struct wf_actor *a, const weft_msg *m, weft_msg *previous, uint32_t place)
{
    uint32_t marks = 0;
    WF_ASSERT(previous != NULL);
    WF_LIST_EACH(k, &a->more->backlog->evict_marks) {
        marks++;
        struct wf_evict_mark *mark = mark_of(k);
        const uint32_t ahead = wf_evict_mark_ahead(a, mark);
        if (ahead == 0) {
            wf_unlink(k);
        } else if (mark->at == m) {
            mark->at = previous;
            mark->ahead = a->gone + 1 + place - wf_mail_count_of(previous);
        } else if (ahead <= place) {
            mark->ahead++;
        }
    }
    wf_worker_charge(a->task.worker, marks);
}

void wf_evict_marks_forget(struct wf_actor *a)
{
    while (wf_has_evict_marks(a)) (void)wf_list_pop(&a->more->backlog->evict_marks);
}

void wf_evict_marks_unpacked(struct wf_actor *a, const weft_msg *block, weft_msg *m)
{
    if (!wf_has_evict_marks(a)) return;
    WF_LIST_EACH(k, &a->more->backlog->evict_marks)
        if (mark_of(k)->at == block) mark_of(k)->at = m;
}
