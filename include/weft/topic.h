/* weft/topic.h -- publish and subscribe, on this node and on every node that it is linked with.
 *
 * A topic consists of words joined by dots: "room.lobby". A word has letters, digits, '_', '-' and '$'; a topic has
 * at most 255 bytes and 16 words. In a pattern, '*' stands for one word, and '>' at the end for one or more words. */
#ifndef WEFT_TOPIC_H
#define WEFT_TOPIC_H

#include <weft/api.h>
#include <weft/message.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_subscription;

/* [A] Subscribes the calling actor: it gets every message that is published to a topic that matches the pattern,
 * until it unsubscribes or ends. First it gets the retained messages that match (weft_publish_retained). A message
 * that finds the mailbox full is dropped for this subscriber and counted. `out` may be NULL. Other nodes receive the
 * subscription before anything that the actor sends afterwards. So if the actor asks an actor on a linked node, and
 * that actor publishes its answer, the answer arrives.
 * Errors: WEFT_EINVAL (malformed pattern), WEFT_ENOMEM, WEFT_EFULL (the actor has reached
 * weft_node_options.subscriptions_max subscriptions, or the node .patterns_max patterns). */
WEFT_API WEFT_CHECKED int weft_subscribe(const char *pattern, weft_subscription *out);

/* What happens to a message when the subscriber's mailbox is full, or already holds `max` messages of the
 * subscription. */
typedef enum {
    /* the message is dropped; if the mailbox's own policy is WEFT_FULL_DROP_OLDEST, the oldest message is */
    WEFT_SLOW_DROP,
    WEFT_SLOW_SUSPEND,     /* the publisher waits for free space; see `wait` */
    WEFT_SLOW_DROP_NEWEST, /* the message is dropped, whatever the mailbox's own policy is */
    /* the oldest message of this subscription in the mailbox is dropped; if the mailbox holds none, the new message
     * is. Other messages in the mailbox stay */
    WEFT_SLOW_DROP_OLDEST,
    WEFT_SLOW_DISCONNECT, /* the message is dropped and the subscription ends */
} weft_slow_policy;

/* Zero means the default for every field. */
typedef struct {
    /* A queue group: a name of 1 to 64 letters, digits, '_', '-' and '.'. The subscriptions with the same pattern and
     * queue, on this node and on the nodes it is linked with, form a group; exactly one of them gets each message.
     * The members on the publisher's node take turns; a member whose mailbox seems full is skipped. If all members on
     * that node are full, or it has none, a member on another node gets the message; these nodes take turns. If no
     * member can get it, the message is dropped for the group and counted. A new member does not get the messages
     * that were retained before. A message that is published retained later goes to one member, like any other
     * message. NULL: no group, so the subscriber gets every message. */
    const char *queue;
    weft_slow_policy slow; /* not allowed with a queue */
    /* messages of this subscription that may wait in the mailbox; 0: only the mailbox's own limits hold. Not allowed
     * with a queue or with WEFT_SLOW_SUSPEND */
    uint32_t max;
    /* for WEFT_SLOW_SUSPEND: how long the publisher waits, in nanoseconds; 0: the node's send timeout. After that the
     * message is dropped and counted. A message from another node does not wait */
    int64_t wait;
} weft_subscribe_options;

/* [A] As weft_subscribe. WEFT_TAG_SUBSCRIPTION messages in the subscriber's system queue report what it loses (see
 * below), unless it has a queue. `options` NULL: as weft_subscribe, without these reports.
 * Errors: those of weft_subscribe; WEFT_EINVAL also for a malformed queue name or options that contradict each other;
 * WEFT_EFULL also, with a queue, if this node has over a million global names, members of groups and queue groups.
 * After an error nothing has changed. */
WEFT_API WEFT_CHECKED int weft_subscribe_with(const char *pattern, const weft_subscribe_options *options,
                                              weft_subscription *out);
/* [A] Ends a subscription. No report about it is received after this call. Messages that are in the mailbox already
 * stay there. WEFT_ECLOSED: the subscription has ended before. */
WEFT_API int weft_unsubscribe(weft_subscription s);

typedef enum {
    WEFT_SUBSCRIPTION_LOST,  /* messages were dropped; the subscription continues */
    WEFT_SUBSCRIPTION_ENDED, /* the subscription has ended: WEFT_SLOW_DISCONNECT */
} weft_subscription_kind;

/* The content of a WEFT_TAG_SUBSCRIPTION message. At most one such message for each subscription waits to be
 * received; further losses are added to it. Together the messages count every message that was dropped for this
 * subscription: because the mailbox or `max` was full; by the mailbox's own policy; by its publishers, after they had
 * waited; because the queue between two workers, or the link with another node, was full; or for lack of memory. What
 * was lost shortly before an actor subscribed may also count for its new subscription; and after more than a
 * thousand topics were lost between two workers, what was lost of the others counts for each subscription. So the
 * number may be too high, but it is not too low.
 * With WEFT_SLOW_DISCONNECT there is only one report, the last one, which includes all losses. */
struct weft_subscription_news {
    weft_subscription subscription;
    weft_subscription_kind kind;
    uint64_t lost; /* messages, since the last report */
    char pattern[256];
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API int weft_subscription_news_read(const weft_msg *m, struct weft_subscription_news *out);

/* [A, W] Publishes a copy of `size` bytes. Every subscriber on this node gets it, and one member of each queue group.
 * One copy goes over the wire to each linked node that has a matching subscription, or that has the member of a queue
 * group that is to get it. Messages of one publisher keep their order. Returns the number of receivers: subscribers
 * on this worker, the other workers and the nodes to which it went (each counts as one), and queue groups.
 *
 * Suspends only for subscribers with WEFT_SLOW_SUSPEND: before it publishes, for full subscribers on other workers;
 * afterwards, for full subscribers on this worker. Each of these two waits takes no longer than the longest `wait` of
 * the subscribers for which it waits. If the actor is asked to stop during the second wait, the remaining subscribers
 * are tried without waiting. Every other subscriber whose mailbox is full loses its copy, and the drop is counted. So
 * does a node whose link is full: up to 16 MiB wait for another node, also while its connection is broken and is to
 * be resumed. Subscribers with options then get a report (weft_subscription_news).
 * Errors: WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_publish(const char *topic, uint32_t tag, const void *data, size_t size);
/* [A, W] As weft_publish, for a message that was made by weft_msg_new or received; consumes `m`, also on an error. */
WEFT_API WEFT_CHECKED int weft_publish_msg(const char *topic, weft_msg *m);

/* Which actors got a publication. */
struct weft_reach {
    uint32_t nodes;       /* nodes with at least one receiver, this node included */
    uint32_t silent;      /* nodes to which it went and that have not reported the result */
    uint64_t subscribers; /* receivers on all those nodes; a queue group counts as one */
};
/* [A, W] As weft_publish, and waits until every node to which the message went has reported how many receivers got
 * it. Returns 0 when all have reported, when the deadline has passed, or when the missing nodes are lost: see
 * `silent`.
 * Errors: those of weft_publish; WEFT_ECANCELED: the actor was asked to stop; `*out` holds what is known so far. */
WEFT_API WEFT_CHECKED int weft_publish_reach(const char *topic, uint32_t tag, const void *data, size_t size,
                                             struct weft_reach *out, int64_t deadline);

/* [A, W] As weft_publish, and the message is also kept (retained) as the last one of its topic, by this node and all
 * nodes it is linked with. An actor that subscribes later, on any of these nodes, gets it, marked as retained
 * (weft_is_retained). Present subscribers get it once, as an ordinary message. It replaces the message retained
 * before; an empty message (size 0) only deletes that one. A retained message outlives its publisher, and the
 * publisher's node for weft_node_options.retained_keep. A node that was not linked gets it when it is linked. Of two
 * messages of one topic the one that was published later wins (docs/topics.md); subscribers on a newly linked node
 * get it then, if it is the one that wins.
 * Errors: those of weft_publish; WEFT_EFULL: this node has reached the limit of what is retained for one node
 * (weft_node_options.retained_max, .retained_bytes_max); nothing was published. */
WEFT_API WEFT_CHECKED int weft_publish_retained(const char *topic, uint32_t tag, const void *data, size_t size);
/* [A] Deletes the retained message of that topic, on this node and on all linked nodes, and publishes nothing.
 * Returns 1, or 0 if there was none. Errors: WEFT_EINVAL, WEFT_ENOMEM. */
WEFT_API int weft_retained_clear(const char *topic);
/* [T] Returns true if the message was retained by this node at the time its receiver subscribed. */
WEFT_API bool weft_is_retained(const weft_msg *m);

WEFT_END
#endif
