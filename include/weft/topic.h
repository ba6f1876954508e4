/* weft/topic.h -- publish and subscribe, on this node and on every node it is connected to.
 *
 * A topic is words of letters, digits, '_', '-' and '$' joined by dots: "room.lobby"; at most 255 bytes and 16 words.
 * A pattern may use '*' for one word and, at the end, '>' for one or more words. */
#ifndef WEFT_TOPIC_H
#define WEFT_TOPIC_H

#include <weft/api.h>
#include <weft/message.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_subscription;

/* [A] The calling actor gets every message published under the pattern, until it unsubscribes or ends; first what is
 * retained under it (weft_publish_retained). A message that finds the mailbox full is dropped for this subscriber and
 * counted. `out` may be NULL. WEFT_EINVAL (malformed pattern), WEFT_ENOMEM; WEFT_EFULL: the actor has as many
 * subscriptions as it may (weft_node_options.subscriptions_max), or the node as many patterns (.patterns_max). */
WEFT_API WEFT_CHECKED int weft_subscribe(const char *pattern, weft_subscription *out);

/* What happens to a message that finds the mailbox of its subscriber full, or `max` messages of its subscription in
 * it. */
typedef enum {
    WEFT_SLOW_DROP,        /* it is dropped; or if the mailbox's own policy is to drop the oldest, that is done */
    WEFT_SLOW_SUSPEND,     /* its publisher waits for room; see `wait` */
    WEFT_SLOW_DROP_NEWEST, /* it is dropped, whatever the mailbox's own policy */
    WEFT_SLOW_DROP_OLDEST, /* the oldest message of this subscription in the mailbox makes room; without one it is
                              dropped. Finding that passes over what else waits in the mailbox */
    WEFT_SLOW_DISCONNECT,  /* it is dropped and the subscription ends */
} weft_slow_policy;

/* Zero means the default for every field. */
typedef struct {
    /* A name of 1 to 64 letters, digits, '_', '-' and '.': of all subscriptions with the same pattern and queue, on
     * this node and those it is linked with, exactly one gets each message. Those of the publisher's node come first
     * and take turns; those whose mailbox seems full are passed over. If none of them has room one of another node
     * gets it, nodes taking turns. If there is nobody the message is dropped for the group and counted. A member that
     * subscribes is not given what is retained; a message that is published retained later goes to one of them, as
     * any other. NULL: every message. */
    const char *queue;
    weft_slow_policy slow; /* not with a queue */
    uint32_t max; /* messages of this subscription that may wait in the mailbox; 0: the mailbox's own bounds are the
                     only ones. Not with a queue, nor with WEFT_SLOW_SUSPEND */
    int64_t wait; /* of WEFT_SLOW_SUSPEND: nanoseconds; 0: the node's send timeout. Then it is dropped, counted. A
                     message from another node does not wait */
} weft_subscribe_options;

/* [A] As weft_subscribe. The subscriber is told of what it loses by WEFT_TAG_SUBSCRIPTION messages in its system lane
 * (see below), unless it has a queue. WEFT_EINVAL also for a malformed queue name or options that contradict each
 * other; nothing has happened then. WEFT_EFULL, with a queue: over a million global names, members of groups and
 * queue groups on this node. `options` NULL: as weft_subscribe, without news. */
WEFT_API WEFT_CHECKED int weft_subscribe_with(const char *pattern, const weft_subscribe_options *options,
                                              weft_subscription *out);
/* [A] No news of it come after this. Messages that wait in the mailbox stay. WEFT_ECLOSED: it has ended. */
WEFT_API int weft_unsubscribe(weft_subscription s);

typedef enum {
    WEFT_SUBSCRIPTION_LOST,  /* messages were dropped; it goes on */
    WEFT_SUBSCRIPTION_ENDED, /* it was cut off: WEFT_SLOW_DISCONNECT */
} weft_subscription_kind;

/* What a WEFT_TAG_SUBSCRIPTION message says. At most one for each subscription waits to be received: what is lost
 * meanwhile is added to it. All of them together tell of every message that was dropped for this subscription on its
 * worker, by its publishers after they waited, for want of memory, or by another node because the link was full
 * (WEFT_SLOW_DISCONNECT: with the last news; that node does not know who had subscribed when, so what it has lost
 * just before counts for a new subscription of the same pattern, too); not of what a full lane between two workers or
 * the mailbox's own policy has dropped. */
struct weft_subscription_news {
    weft_subscription subscription;
    weft_subscription_kind kind;
    uint64_t lost; /* messages, since the last news */
    char pattern[256];
};
/* [T] 0, or WEFT_EFORMAT if `m` is no such message. */
WEFT_API int weft_subscription_news_read(const weft_msg *m, struct weft_subscription_news *out);

/* [A, W] Hands a copy of `size` bytes to every subscriber here, to one member of each queue group, and one wire
 * copy to each connected node with a matching subscription or a member of a queue group that is to get it; order
 * per publisher is kept. Returns how many it was handed to: subscribers on this worker, other workers and nodes it
 * went to (each as one), and queue groups. Suspends only for WEFT_SLOW_SUSPEND: before it publishes, for such
 * subscribers on other workers that are full; afterwards for those on this worker; both no longer than their longest
 * `wait`. If the actor is asked to stop meanwhile the rest are tried without waiting. Else a mailbox or link that is
 * full drops the copy, counted: 16 MiB wait for another node, also while its connection is broken and to be resumed.
 * Its subscribers with options are then told (weft_subscription_news). WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_publish(const char *topic, uint32_t tag, const void *data, size_t size);
/* [A] The same for a message that was made or received; consumes `m`. */
WEFT_API WEFT_CHECKED int weft_publish_msg(const char *topic, weft_msg *m);

/* What has become of a publication. */
struct weft_reach {
    uint32_t nodes;       /* with somebody who got it, this one included */
    uint32_t silent;      /* nodes that it went to, and that have not said what became of it */
    uint64_t subscribers; /* on all those nodes: who got it, one member of each queue group included */
};
/* [A, W] As weft_publish, and waits until every node that it went to has said to how many it was handed. Returns 0
 * when all have, or the deadline has passed, or they are lost: see `silent`. WEFT_ECANCELED: the actor was asked to
 * stop; `*out` has what is known so far. Otherwise the errors of weft_publish. */
WEFT_API WEFT_CHECKED int weft_publish_reach(const char *topic, uint32_t tag, const void *data, size_t size,
                                             struct weft_reach *out, int64_t deadline);

/* [A, W] As weft_publish, and the message is kept as the last one of its topic, by this node and all it is linked
 * with: who subscribes later, on any of them, gets it, flagged (weft_is_retained); subscribers of now get it once, as
 * an ordinary message. It replaces the one kept before; an empty one (size 0) only clears that. It outlives its
 * publisher, and its node for weft_node_options.retained_keep. Nodes that were not linked meanwhile get it when they
 * are; of two messages the one that was published later holds (docs/topics.md), and who is subscribed there gets it
 * then, if it is the one that holds.
 * WEFT_EFULL: this node has published as much as is kept of one node (weft_node_options.retained_max,
 * .retained_bytes_max); nothing was published. Otherwise as weft_publish. */
WEFT_API WEFT_CHECKED int weft_publish_retained(const char *topic, uint32_t tag, const void *data, size_t size);
/* [A] Forgets what is kept of that topic, here and on all nodes that are linked, and publishes nothing. 1, or 0 if
 * there was nothing. WEFT_EINVAL, WEFT_ENOMEM. */
WEFT_API int weft_retained_clear(const char *topic);
/* [T] Whether the message was kept by this node when its receiver subscribed. */
WEFT_API bool weft_is_retained(const weft_msg *m);

WEFT_END
#endif
