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
/* [A] WEFT_ECLOSED. */
WEFT_API int weft_unsubscribe(weft_subscription s);

/* [A] Hands a copy of `size` bytes to every subscriber here and one wire copy to each connected node with a matching
 * subscription; order per publisher is kept. Returns how many it was handed to (subscribers on this worker, plus
 * other workers and nodes it went to, each as one). WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM. Never suspends: a link
 * that is full drops the copy, counted. */
WEFT_API int weft_publish(const char *topic, uint32_t tag, const void *data, size_t size);
/* [A] The same for a message that was made or received; consumes `m`. */
WEFT_API int weft_publish_msg(const char *topic, weft_msg *m);

WEFT_END
#endif
