/* transport/store/server/new_topics.h -- the topics that have got a log last, each with a number: 1 more than the one
 * before. A watcher of a pattern says which number it has seen, and gets those after it. So the work for a new
 * topic does not grow with the number of topics. */
#ifndef WF_STORE_NEW_TOPICS_H
#define WF_STORE_NEW_TOPICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/typed.h>

enum { WF_NEW_TOPICS_MAX = 1024 };

struct wf_new_topics {
    uint64_t number; /* of the last one */
    uint64_t from;   /* those after this number are known */
    char *name[WF_NEW_TOPICS_MAX];
};

/* `t` is all zero. `number` differs from all numbers of other stores, and of this one when it was open before. */
void wf_new_topics_init(struct wf_new_topics *t, uint64_t number);
void wf_new_topics_free(struct wf_new_topics *t);
/* Without memory those before the next one are not known. */
void wf_new_topics_add(struct wf_new_topics *t, const char *topic);
/* Whether all topics after this number are known. */
bool wf_new_topics_knows(const struct wf_new_topics *t, uint64_t seen);
/* Writes the topics after a number that it knows to `out`, `max` of them at most. Returns how many. */
size_t wf_new_topics_after(const struct wf_new_topics *t, uint64_t seen, weft_text *out, size_t max);

#endif
