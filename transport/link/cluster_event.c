/* transport/link/cluster_event.c -- the queue of events from which $cluster learns what happened on other threads. */
#include "cluster_event.h"
#include "actor.h"
#include "channel.h"
#include "peer_link.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

struct wf_cluster_event *wf_cluster_event_new(enum wf_cluster_event_kind kind, struct wf_channel *ch,
                                              const void *data, size_t size)
{
    struct wf_cluster_event *e = calloc(1, sizeof *e + size + 1);
    if (e == NULL) return NULL;
    e->kind = kind;
    e->channel = ch;
    e->size = size;
    if (data != NULL && size > 0) memcpy(e->data, data, size);
    if (ch != NULL) wf_channel_keep(ch);
    return e;
}

void wf_cluster_event_free(struct wf_cluster_event *e)
{
    WF_ASSERT(!wf_linked(&e->in_queue));
    if (e->channel != NULL) wf_channel_release(e->channel);
    free(e);
}

void wf_cluster_wake(struct wf_transport *t)
{
    pf_mutex_lock(t->lock);
    bool listening = t->listening;
    pf_mutex_unlock(t->lock);
    if (listening) weft_event_set(t->wake);
}

void wf_cluster_event_post(struct wf_transport *t, struct wf_cluster_event *e)
{
    if (e == NULL) return;
    pf_mutex_lock(t->lock);
    bool over = t->finished, listening = t->listening;
    if (!over) wf_list_push(&t->events, &e->in_queue);
    if (!over && e->channel != NULL) atomic_fetch_add_explicit(&e->channel->events, 1, memory_order_relaxed);
    pf_mutex_unlock(t->lock);
    if (over) wf_cluster_event_free(e);
    else if (listening) weft_event_set(t->wake);
}

struct wf_cluster_event *wf_cluster_event_take(struct wf_transport *t)
{
    pf_mutex_lock(t->lock);
    struct wf_list_node *k = wf_list_pop(&t->events);
    pf_mutex_unlock(t->lock);
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_cluster_event, in_queue);
}

bool wf_is_cluster(const struct wf_transport *t)
{
    const struct wf_actor *self = wf_actor_self();
    return self != NULL && self->id == t->service.actor;
}

void wf_cluster_pause(void)
{
    /* A yield may return in the same turn, in which the other actors do not run. */
    if (wf_actor_self() != NULL) (void)weft_sleep(weft_now() + 1);
}
