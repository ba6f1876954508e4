/* transport/link/news.c -- the queue of events from which $cluster learns what happened on other threads. */
#include "news.h"
#include "actor.h"
#include "channel.h"
#include "session.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

struct wf_news *wf_news_new(enum wf_news_kind kind, struct wf_channel *ch, const void *data, size_t size)
{
    struct wf_news *n = calloc(1, sizeof *n + size + 1);
    if (n == NULL) return NULL;
    n->kind = kind;
    n->channel = ch;
    n->size = size;
    if (data != NULL && size > 0) memcpy(n->data, data, size);
    if (ch != NULL) wf_channel_keep(ch);
    return n;
}

void wf_news_free(struct wf_news *n)
{
    if (n->channel != NULL) wf_channel_release(n->channel);
    free(n);
}

void wf_news_post_locked(struct wf_transport *t, struct wf_news *n)
{
    wf_list_push(&t->news, &n->in_queue);
    if (n->channel != NULL) atomic_fetch_add_explicit(&n->channel->events, 1, memory_order_relaxed);
}

void wf_news_wake(struct wf_transport *t)
{
    pf_mutex_lock(t->lock);
    bool listening = t->listening;
    pf_mutex_unlock(t->lock);
    if (listening) weft_event_set(t->wake);
}

void wf_news_post(struct wf_transport *t, struct wf_news *n)
{
    if (n == NULL) return;
    pf_mutex_lock(t->lock);
    bool over = t->finished, listening = t->listening;
    if (!over) wf_news_post_locked(t, n);
    pf_mutex_unlock(t->lock);
    if (over) wf_news_free(n);
    else if (listening) weft_event_set(t->wake);
}

struct wf_news *wf_news_take(struct wf_transport *t)
{
    pf_mutex_lock(t->lock);
    struct wf_list_node *k = wf_list_pop(&t->news);
    pf_mutex_unlock(t->lock);
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_news, in_queue);
}

void wf_cluster_pause(void)
{
    /* Yielding may go on in the same turn, in which nobody else is heard. */
    if (wf_actor_self() != NULL) (void)weft_sleep(weft_now() + 1);
}
