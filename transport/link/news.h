/* transport/link/news.h -- what the actor $cluster is told, by any thread. */
#ifndef WF_NEWS_H
#define WF_NEWS_H

#include "list.h"
#include "transport.h"

struct wf_channel;
struct wf_dialer;

enum wf_news_kind {
    WF_NEWS_MESSAGE,     /* channel, data: a message during the handshake; the receiving side is paused */
    WF_NEWS_FRAME,       /* channel, data: gossip, PEERS or BYE; number: which, it has been checked */
    WF_NEWS_DOWN,        /* channel (may be NULL), dialer (may be NULL), text: reason */
    WF_NEWS_DIAL_FAILED, /* dialer, text */
    WF_NEWS_WATCH,       /* pid; number: whether it hears of all nodes, or only of whether this one drains */
    WF_NEWS_DRAIN,       /* this node drains, or no longer */
    WF_NEWS_LISTED,      /* number: a source's (discover.h); data: its URLs, each with its NUL */
    WF_NEWS_META,        /* this node says something else of itself */
    WF_NEWS_DIALLED,     /* channel: a dial has reached somebody, and HELLO has not been said yet */
};
struct wf_news {
    struct wf_list_node in_queue; /* wf_transport.news */
    enum wf_news_kind kind;
    struct wf_channel *channel; /* a reference */
    struct wf_dialer *dialer;
    char remote[64];
    weft_pid pid;
    uint32_t number;
    size_t size;
    uint8_t data[]; /* text is NUL-terminated */
};

struct wf_news *wf_news_new(enum wf_news_kind kind, struct wf_channel *ch, const void *data, size_t size);
void wf_news_free(struct wf_news *n);
void wf_news_post_locked(struct wf_transport *t, struct wf_news *n); /* t->lock held; wf_news_wake when it is not */
void wf_news_wake(struct wf_transport *t);
/* Puts it into the queue and wakes $cluster. NULL is fine (no memory: the session is closed by its time limits). */
void wf_news_post(struct wf_transport *t, struct wf_news *n);
struct wf_news *wf_news_take(struct wf_transport *t);
/* By $cluster, in the middle of long work: the worker's other actors have their turn. */
void wf_cluster_pause(void);

#endif
