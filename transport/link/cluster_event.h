/* transport/link/cluster_event.h -- what the actor $cluster is told, by any thread. */
#ifndef WF_CLUSTER_EVENT_H
#define WF_CLUSTER_EVENT_H

#include "list.h"
#include "transport.h"

struct wf_channel;
struct wf_dialer;

enum wf_cluster_event_kind {
    WF_CLUSTER_EVENT_MESSAGE,     /* channel, data: a message during the handshake; the receiving side is paused */
    WF_CLUSTER_EVENT_FRAME,       /* channel, data: gossip, PEERS or BYE; number: which, it has been checked */
    WF_CLUSTER_EVENT_DOWN,        /* channel (may be NULL), dialer (may be NULL), text: reason */
    WF_CLUSTER_EVENT_DIAL_FAILED, /* dialer, text */
    WF_CLUSTER_EVENT_WATCH,       /* pid; number: whether it hears of all nodes, or only of whether this one drains */
    WF_CLUSTER_EVENT_DRAIN,       /* this node drains, or no longer */
    WF_CLUSTER_EVENT_LISTED,      /* number: a source's (discover.h); data: its URLs, each with its NUL */
    WF_CLUSTER_EVENT_META,        /* this node says something else of itself */
    WF_CLUSTER_EVENT_DIALLED,     /* channel: a dial has reached somebody, and HELLO has not been said yet */
};
struct wf_cluster_event {
    struct wf_list_node in_queue; /* wf_transport.news */
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
void wf_cluster_event_post_locked(struct wf_transport *t,
                                  struct wf_cluster_event *e); /* t->lock held; wf_cluster_wake when it is not */
void wf_cluster_wake(struct wf_transport *t);
/* Puts it into the queue and wakes $cluster. NULL is fine (no memory: the link is closed by its time limits). */
void wf_cluster_event_post(struct wf_transport *t, struct wf_cluster_event *e);
struct wf_cluster_event *wf_cluster_event_take(struct wf_transport *t);
bool wf_is_cluster(const struct wf_transport *t); /* the caller is $cluster: for assertions */
/* By $cluster, in the middle of long work: the worker's other actors have their turn. */
void wf_cluster_pause(void);

#endif
