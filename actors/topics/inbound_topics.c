/* actors/topics/inbound_topics.c -- publications that have come from other nodes. */
#include "inbound_topics.h"

#include "actor.h"
#include "lost_topics.h"
#include "publish_report.h"
#include "subscription.h"
#include "topic.h"

#include <stdlib.h>
#include <string.h>

void wf_inbound_publish(weft_node *node, struct wf_inbound *in, struct wf_body *body, bool queues,
                        struct wf_publish_count *reached)
{
    for (uint32_t i = 0; i < node->workers.count; i++) {
        if (atomic_load_explicit(&wf_actors_of(node->workers.at[i])->subscriptions, memory_order_relaxed) == 0)
            continue;
        if (WF_LIKELY(in->here == node->workers.at[i] && reached == NULL)) { /* needs no envelope */
            (void)wf_topics_arrived(in->here, body, false);
            continue;
        }
        weft_msg *m = wf_msg_share(in->here, body->tag, body);
        if (m == NULL) {
            weft_log(WEFT_ERROR, "no memory for a message published under %s: dropped", wf_body_topic(body));
            wf_lost_topics_note(node->workers.at[i], wf_body_topic_text(body));
            continue;
        }
        m->post.flags = WF_MSG_PUBLISH;
        m->from = body->from;
        m->reached = reached;
        if (reached != NULL) wf_publish_count_keep(reached);
        wf_inbound_put(node, in, i, m);
    }
    if (queues) wf_topics_choose_inbound(node, in, body);
}

struct missed {
    struct wf_call call;
    uint64_t count;
    size_t size;
    char pattern[];
};

static void missed_here(struct wf_worker *w, struct wf_call *c)
{
    struct missed *m = WF_CONTAINER(c, struct missed, call);
    wf_subscriptions_missed(wf_actors_of(w), weft_str(m->pattern, m->size), m->count);
    free(m);
}

void wf_inbound_missed(weft_node *node, struct wf_inbound *in, weft_text pattern, uint64_t count)
{
    wf_inbound_post(node, in);
    for (uint32_t i = 0; i < node->workers.count; i++) {
        struct wf_worker *w = node->workers.at[i];
        if (atomic_load_explicit(&wf_actors_of(w)->subscriptions, memory_order_relaxed) == 0) continue;
        struct missed *m = malloc(sizeof *m + pattern.size);
        if (m == NULL) {
            weft_log(WEFT_ERROR, "no memory to notify subscribers of %.*s that they have missed %llu messages",
                     WEFT_STR(pattern), (unsigned long long)count);
            return;
        }
        *m = (struct missed){.call = {.post.kind = WF_POST_CALL, .call = missed_here}, .count = count};
        m->size = pattern.size;
        memcpy(m->pattern, pattern.data, pattern.size);
        wf_worker_post(w, &m->call.post);
    }
}
