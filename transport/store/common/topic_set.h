/* transport/store/common/topic_set.h -- a set of topics. To add one, or to look for one, costs the same however many
 * there are. */
#ifndef WF_STORE_TOPIC_SET_H
#define WF_STORE_TOPIC_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bucket.h"

struct wf_topic_set {
    uint64_t secret; /* key of the hash, because users choose the topics */
    struct wf_chained **bucket;
    size_t buckets, count; /* buckets: a power of two */
};

/* `s` is all zero, but for its secret. */
void wf_topic_set_free(struct wf_topic_set *s);
bool wf_topic_set_has(const struct wf_topic_set *s, const char *topic);
/* Adds a topic that the set does not have. WEFT_ENOMEM. */
int wf_topic_set_add(struct wf_topic_set *s, const char *topic);
void wf_topic_set_remove(struct wf_topic_set *s, const char *topic); /* one that it has */

#endif
