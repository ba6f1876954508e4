/* transport/cluster/cluster.c -- the actor $cluster: one loop that handles events, checks timers, and sleeps. A node
 * without peers and seeds has no timers. */
#include "actor.h"
#include "channel.h"
#include "fatal.h"
#include "gossip.h"
#include "handshake.h"
#include "links.h"
#include "cluster_event.h"
#include "partition.h"
#include "dialers.h"
#include "peers.h"
#include "reachable.h"
#include "peer_link.h"
#include "topics.h"
#include "transport.h"
#include "trim.h"
#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void handle(struct wf_cluster *c, struct wf_cluster_event *e)
{
    struct wf_channel *ch = e->channel;
    switch (e->kind) {
    case WF_CLUSTER_EVENT_MESSAGE: wf_handshakes_message(c, ch, e->data, e->size); break;
    case WF_CLUSTER_EVENT_FRAME: wf_links_frame(c, ch, e); break;
    case WF_CLUSTER_EVENT_DOWN: wf_handshakes_down(c, e); break;
    case WF_CLUSTER_EVENT_DIAL_FAILED: wf_dialers_failed(c, e->dialer, (const char *)e->data); break;
    case WF_CLUSTER_EVENT_WATCH: wf_links_watch(c, e->pid, e->number != 0); break;
    case WF_CLUSTER_EVENT_DRAIN: wf_links_drain(c); break;
    case WF_CLUSTER_EVENT_LISTED: wf_dialers_listed(c, e->number, (const char *)e->data, e->size); break;
    case WF_CLUSTER_EVENT_META: wf_gossip_describe(c); break;
    case WF_CLUSTER_EVENT_DIALLED: wf_reachable_dialled(c, ch); break;
    }
    if (ch == NULL) return;
    pf_mutex_lock(c->t->lock);
    uint32_t left = atomic_fetch_sub_explicit(&ch->events, 1, memory_order_relaxed) - 1;
    bool resume = left <= WF_EVENTS_PER_CHANNEL / 2 && ch->events_pause;
    if (resume) ch->events_pause = false;
    pf_mutex_unlock(c->t->lock);
    if (resume) wf_conn_resume(ch->conn);
}

static void handle_all(struct wf_cluster *c)
{
    struct wf_cluster_event *e;
    for (uint32_t i = 1; (e = wf_cluster_event_take(c->t)) != NULL; i++) {
        handle(c, e);
        wf_cluster_event_free(e);
        if (i % WF_LIMIT("cluster: events in a turn", 8, 1) == 0) wf_cluster_pause();
    }
    for (weft_msg *m; weft_recv(&m, WEFT_NOW) == WEFT_OK;) weft_msg_free(m); /* $cluster takes no messages */
}

/* Whether weft_node_stop has been called; `*by` gets its deadline. */
static bool is_stopping(struct wf_transport *t, int64_t *by)
{
    pf_mutex_lock(t->lock);
    bool stopping = t->stopping;
    *by = t->stop_by;
    pf_mutex_unlock(t->lock);
    return stopping;
}

static void leave(struct wf_cluster *c)
{
    c->leaving = true;
    c->t->carrier->ops->unlisten(c->t->carrier);
    wf_handshakes_end(c);
    wf_peers_hurry(c);
    wf_gossip_leave(c);
    WF_LIST_EACH(k, &c->live_links) wf_links_send_bye(WF_CONTAINER(k, struct wf_link, in_all));
}

static void end_all(struct wf_cluster *c)
{
    wf_handshakes_end(c);
    for (struct wf_list_node *k; (k = wf_list_first(&c->live_links)) != NULL;)
        wf_links_end(c, WF_CONTAINER(k, struct wf_link, in_all), "this node stops");
    for (struct wf_list_node *k; (k = wf_list_pop(&c->channels)) != NULL;)
        wf_channel_release(WF_CONTAINER(k, struct wf_channel, in_all));
    wf_peers_finish(c);
    (void)wf_bursts_tick(&c->t->bursts, WEFT_FOREVER);
    free(c->watchers);
    c->watchers = NULL;
    c->watcher_count = c->watcher_capacity = 0;
}

static void run(struct wf_cluster *c)
{
    struct wf_transport *t = c->t;
    for (;;) {
        handle_all(c);
        bool more = wf_topics_send_patterns(wf_here);
        int64_t stop_by, now = wf_transport_now(t);
        bool stopping = is_stopping(t, &stop_by);
        if (stopping && !c->leaving) leave(c);
        if (stopping && (wf_list_empty(&c->live_links) || now >= stop_by)) return;
        int64_t at = wf_handshakes_tick(c, now), links = wf_links_tick(c, now), gossip = wf_gossip_tick(c, now),
                dials = wf_peers_tick(c, now);
        at = WF_MIN(WF_MIN(WF_MIN(at, links), gossip), WF_MIN(dials, wf_partition_tick(c, now)));
        at = WF_MIN(WF_MIN(at, wf_bursts_tick(&c->t->bursts, now)), wf_trim_tick(c, now));
        if (stopping) at = WF_MIN(at, stop_by);
        int rc = more || at <= now ? weft_yield() : weft_event_await(t->wake, at);
        if (rc == WEFT_ECANCELED || rc == WEFT_ECLOSED) return;
    }
}

void wf_cluster_main(const void *arg, size_t size)
{
    (void)size;
    struct wf_transport *t = *(struct wf_transport *const *)arg;
    struct wf_cluster *c = t->cluster;
    weft_event wake;
    int rc = weft_event_open(&wake);
    if (rc == WEFT_OK) rc = weft_register("$cluster");
    if (rc < 0) {
        wf_cluster_fail(t, "cannot link to others", weft_strerror(rc));
        return;
    }
    pf_mutex_lock(t->lock);
    t->wake = wake;
    t->listening = true;
    pf_mutex_unlock(t->lock);
    t->carrier->ops->accept(t->carrier);
    run(c);
    end_all(c);
}
