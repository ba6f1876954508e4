/* transport/link/peer_interest.c -- see peer_interest.h. */
#include "peer_interest.h"
#include "link_writer.h"
#include "topic_trie.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the peer may subscribe to one more pattern. If not, the link fails. */
static bool has_place(const struct wf_link_writer *writer)
{
    struct wf_link *l = writer->link;
    if (writer->interest.count < l->t->patterns_max) return true;
    char why[WF_REASON_TEXT];
    snprintf(why, sizeof why, "too many topic patterns, more than --max-patterns %u of node %s", l->t->patterns_max,
             l->t->node->name);
    wf_link_fail(l, why);
    return false;
}

/* False: the rest of the change is dropped, as the link has failed. */
static bool apply_pattern(struct wf_link_writer *writer, uint32_t op, weft_text pattern)
{
    if (op == WF_INTEREST_REMOVE) {
        wf_interest_remove(&writer->interest, pattern);
        return true;
    }
    if (wf_trie_find(&writer->interest.trie, pattern) != NULL) return true;
    if (!has_place(writer)) return false;
    if (wf_interest_add(&writer->interest, pattern) >= 0) return true;
    wf_link_fail(writer->link, "out of memory");
    return false;
}

static void apply_more(struct wf_worker *w, struct wf_timer *t);

/* Applies at most WF_PATTERNS_AT_ONCE patterns, so that a turn of the worker stays short however many the peer sends at
 * once. A frame of this version has no more than that. */
static void apply_some(struct wf_worker *w, struct wf_link_writer *writer)
{
    uint32_t left = WF_PATTERNS_AT_ONCE;
    for (struct wf_list_node *k; left > 0 && (k = wf_list_first(&writer->changes)) != NULL;) {
        struct wf_interest_change *c = WF_CONTAINER(k, struct wf_interest_change, in_list);
        WF_ASSERT(c->at <= c->size);
        weft_reader r = weft_reader_on(c->data + c->at, c->size - c->at);
        for (; left > 0 && c->count > 0; left--) {
            c->count--;
            if (!apply_pattern(writer, c->op, weft_get_str(&r))) c->count = 0;
        }
        c->at = c->size - (size_t)(r.end - r.at);
        if (c->count > 0) break;
        wf_unlink(k);
        wf_interest_change_free(c);
    }
    bool more = !wf_list_empty(&writer->changes);
    writer->more.fire = apply_more;
    if (more && wf_timer_arm(w, &writer->more, w->now) < 0) wf_link_fail(writer->link, "out of memory");
}

static void apply_more(struct wf_worker *w, struct wf_timer *t)
{
    apply_some(w, WF_CONTAINER(t, struct wf_link_writer, more));
}

/* Applies the changes that have come for this worker, in order. */
static void take_interest(struct wf_worker *w, struct wf_link *l)
{
    struct wf_link_writer *writer = wf_link_writer_of(w, l);
    struct wf_list came;
    WF_ASSERT(w == wf_here);
    wf_list_init(&came);
    pf_mutex_lock(l->lock);
    for (struct wf_list_node *k; (k = wf_list_pop(&l->calls[w->index].changes)) != NULL;) wf_list_push(&came, k);
    pf_mutex_unlock(l->lock);
    WF_SOMETIMES("topics: patterns come for a link that has ended", writer == NULL && !wf_list_empty(&came));
    bool first = writer != NULL && wf_list_empty(&writer->changes);
    for (struct wf_list_node *k; (k = wf_list_pop(&came)) != NULL;) {
        if (writer != NULL) wf_list_push(&writer->changes, k);
        else wf_interest_change_free(WF_CONTAINER(k, struct wf_interest_change, in_list)); /* it has been closed */
    }
    if (first) apply_some(w, writer);
}

static void take_posted_interest(struct wf_worker *w, struct wf_call *call)
{
    struct wf_link *l = WF_CONTAINER(call, struct wf_link_calls, interest)->link;
    pf_mutex_lock(l->lock);
    l->calls[w->index].interest_posted = false;
    pf_mutex_unlock(l->lock);
    take_interest(w, l);
    wf_link_release(l);
}

/* Gives the change to worker `i`. If the frame came on that worker, the change is applied at once, so that no message
 * behind the frame is delivered before it; otherwise it is posted. */
static void hand_over(struct wf_link *l, uint32_t i, struct wf_interest_change *c, struct wf_worker *here)
{
    struct wf_link_calls *calls = &l->calls[i];
    bool opened = here != NULL && wf_link_writer_of(here, l) != NULL;
    bool at_once = opened && here->index == i;
    pf_mutex_lock(l->lock);
    wf_list_push(&calls->changes, &c->in_list);
    bool post = !at_once && !calls->interest_posted;
    if (post) calls->interest_posted = true;
    pf_mutex_unlock(l->lock);
    if (at_once) take_interest(here, l);
    if (!post) return;
    wf_link_keep(l);
    calls->interest = (struct wf_call){.post.kind = WF_POST_CALL, .call = take_posted_interest};
    wf_worker_post(l->t->node->workers.at[i], &calls->interest.post);
}

int wf_peer_interest_receive(struct wf_link *l, struct wf_frame *f, struct wf_worker *here)
{
    WF_ASSERT(f->kind == WF_FRAME_INTEREST);
    const uint8_t *data = f->items.at;
    weft_reader r = f->items;
    for (uint32_t i = 0; i < f->count; i++) weft_skip(&r);
    size_t size = (size_t)(r.at - data);
    for (uint32_t i = 0; i < l->t->node->workers.count; i++) {
        struct wf_interest_change *c = wf_interest_change_new(l->t->node->workers.at[i], size);
        if (c == NULL) return WEFT_ENOMEM;
        c->op = (uint32_t)f->number;
        c->count = f->count;
        memcpy(c->data, data, size);
        hand_over(l, i, c, here);
    }
    return WEFT_OK;
}
