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

/* [A] The calling actor gets every message published under the pattern, until it unsubscribes or ends. A message that
 * finds the mailbox full is dropped for this subscriber and counted. `out` may be NULL. WEFT_EINVAL (malformed
 * pattern), WEFT_ENOMEM. */
WEFT_API int weft_subscribe(const char *pattern, weft_subscription *out);
/* What happens to a message that finds the mailbox of its subscriber full. */
typedef enum {
    WEFT_SLOW_DROP,    /* what the mailbox's policy says: the new message is dropped and counted, or the oldest one */
    WEFT_SLOW_SUSPEND, /* its publisher waits for room; see `wait` */
} weft_slow_policy;

typedef struct {
    /* A name of 1 to 64 letters, digits, '_', '-' and '.': of all subscriptions of this node with the same pattern
     * and queue, exactly one gets each message. They take turns; those whose mailbox seems full are passed over. If
     * all are full the message is dropped for the group and counted. NULL: every message. */
    const char *queue;
    weft_slow_policy slow; /* not with a queue */
    int64_t wait;          /* of WEFT_SLOW_SUSPEND: nanoseconds; 0: the node's send timeout. Then it is dropped,
                              counted. A message from another node does not wait */
} weft_subscribe_options;

/* [A] As weft_subscribe. WEFT_EINVAL also for a malformed queue name or options that contradict each other; nothing
 * has happened then. `options` may be NULL. */
WEFT_API int weft_subscribe_with(const char *pattern, const weft_subscribe_options *options, weft_subscription *out);
/* [A] WEFT_ECLOSED. */
WEFT_API int weft_unsubscribe(weft_subscription s);

/* [A, W] Hands a copy of `size` bytes to every subscriber here, to one member of each queue group here, and one wire
 * copy to each connected node with a matching subscription (where one member of each of its groups gets it); order
 * per publisher is kept. Returns how many it was handed to: subscribers on this worker, other workers and nodes it
 * went to (each as one), queue groups, and subscribers it had to wait for. Suspends only for WEFT_SLOW_SUSPEND: for
 * each such subscriber in turn, all together no longer than the longest `wait`. If the actor is asked to stop
 * meanwhile the rest are tried without waiting. Else a mailbox or link that is full drops the copy, counted.
 * WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API int weft_publish(const char *topic, uint32_t tag, const void *data, size_t size);
/* [A] The same for a message that was made or received; consumes `m`. */
WEFT_API int weft_publish_msg(const char *topic, weft_msg *m);

WEFT_END
#endif
