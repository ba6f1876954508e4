/* transport/store/server/new_topics.c -- see new_topics.h. The topic with a number is at its place modulo
 * WF_NEW_TOPICS_MAX. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "new_topics.h"

void wf_new_topics_init(struct wf_new_topics *t, uint64_t number)
{
    t->number = t->from = number;
}

void wf_new_topics_free(struct wf_new_topics *t)
{
    for (size_t i = 0; i < WF_NEW_TOPICS_MAX; i++) free(t->name[i]);
}

void wf_new_topics_add(struct wf_new_topics *t, const char *topic)
{
    char **at = &t->name[++t->number % WF_NEW_TOPICS_MAX];
    free(*at);
    *at = strdup(topic);
    if (*at == NULL) t->from = t->number;
    if (t->number - t->from > WF_NEW_TOPICS_MAX) t->from = t->number - WF_NEW_TOPICS_MAX;
}

bool wf_new_topics_knows(const struct wf_new_topics *t, uint64_t seen)
{
    return seen >= t->from && seen <= t->number;
}

size_t wf_new_topics_after(const struct wf_new_topics *t, uint64_t seen, weft_text *out, size_t max)
{
    size_t count = 0;
    assert(wf_new_topics_knows(t, seen));
    for (; count < max && seen + count < t->number; count++)
        out[count] = weft_cstr(t->name[(seen + count + 1) % WF_NEW_TOPICS_MAX]);
    return count;
}
