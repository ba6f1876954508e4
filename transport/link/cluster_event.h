/* transport/link/cluster_event.h -- events that any thread posts to the actor $cluster. */
#ifndef WF_CLUSTER_EVENT_H
#define WF_CLUSTER_EVENT_H

#include "list.h"
#include "transport.h"

struct wf_channel;
struct wf_dialer;

enum wf_cluster_event_kind {
    WF_CLUSTER_EVENT_MESSAGE,     /* channel, data: a message during the handshake; the receiving side is paused */
    WF_CLUSTER_EVENT_FRAME,       /* channel, data: gossip, PEERS or BYE, checked; number: its kind */
    WF_CLUSTER_EVENT_DOWN,        /* channel (may be NULL), dialer (may be NULL), text: reason */
    WF_CLUSTER_EVENT_DIAL_FAILED, /* dialer, text */
    WF_CLUSTER_EVENT_WATCH,       /* pid; number: 1: notify it of all nodes; 0: only of this node's draining */
    WF_CLUSTER_EVENT_DRAIN,       /* this node has begun to drain, or ended it */
    WF_CLUSTER_EVENT_LISTED,      /* number: the source (discover.h); data: its URLs, each with its NUL */
    WF_CLUSTER_EVENT_META,        /* this node's own metadata have changed */
    WF_CLUSTER_EVENT_DIALLED,     /* channel: a dial has a connection, on which HELLO has not been sent yet */
};
struct wf_cluster_event {
    struct wf_list_node in_queue; /* wf_transport.events */
    enum wf_cluster_event_kind kind;
    struct wf_channel *channel; /* a reference */
    struct wf_dialer *dialer;
    char remote[64];
    weft_pid pid;
    uint32_t number;
    size_t size;
    uint8_t data[]; /* text is NUL-terminated */
};

struct wf_cluster_event *wf_cluster_event_new(enum wf_cluster_event_kind kind, struct wf_channel *ch,
                                              const void *data, size_t size);
void wf_cluster_event_free(struct wf_cluster_event *e);
void wf_cluster_wake(struct wf_transport *t);
/* Puts the event into the queue and wakes $cluster. `e` may be NULL, for lack of memory: then time limits end the
 * link. */
void wf_cluster_event_post(struct wf_transport *t, struct wf_cluster_event *e);
struct wf_cluster_event *wf_cluster_event_take(struct wf_transport *t); /* the oldest event; NULL: there is none */
bool wf_is_cluster(const struct wf_transport *t); /* whether the caller is $cluster: for assertions */
/* $cluster calls it in the middle of long work, so that the other actors of its worker have their turn. */
void wf_cluster_pause(void);

#endif
