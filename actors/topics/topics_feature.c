/* actors/topics/topics_feature.c -- the topics feature: what it adds to each node, worker and actor. */
#include "actor.h"
#include "deliver.h"
#include "lost_topics.h"
#include "publish_report.h"
#include "queue_groups.h"
#include "subscription.h"
#include "tables.h"
#include "topic.h"

#include <stdlib.h>

static void deliver_publication(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    uint32_t count = wf_topics_arrived(w, m->shared, m->ref != 0);
    (void)a;
    if (WF_UNLIKELY(m->reached != NULL)) wf_publish_count_end(w, m->reached, count);
    wf_msg_free(w, m);
}

static void discard_publication(weft_msg *m)
{
    if (wf_publish_count_done(m->reached, 0)) free(m->reached);
}

static void drop_lost(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    if (m->ref == 0) wf_count_drop(w, WF_DROP_SLOW_READER); /* a message of a queue group is not counted elsewhere */
    wf_msg_free(w, m);
}

static void leave_mailbox(struct wf_actor *a, weft_msg *m, bool dropped)
{
    wf_subscription_uncount(wf_actors_of(a->task.worker), m, dropped);
}

static void leave_signals(struct wf_actor *a, weft_msg *m, bool dropped)
{
    (void)dropped;
    wf_subscription_notified(wf_actors_of(a->task.worker), m);
}

static bool some(weft_node *n, uint64_t *at, bool (*see)(weft_text pattern, weft_text queue, void *arg), void *arg)
{
    return wf_queue_groups_some(wf_topics_of(n), at, see, arg);
}

static int put(weft_node *n, struct wf_copies *from, weft_text pattern, weft_text queue)
{
    return wf_queue_groups_put_copy(wf_topics_of(n), from, pattern, queue);
}

static bool take(weft_node *n, struct wf_copies *from, weft_text pattern, weft_text queue)
{
    return wf_queue_groups_take_copy(wf_topics_of(n), from, pattern, queue);
}

static void clear(weft_node *n, struct wf_copies *from, uint32_t *work)
{
    wf_queue_groups_clear_copies(wf_topics_of(n), from, work);
}

static const struct wf_queue_tables queue_tables = {.some = some, .put = put, .take = take, .clear = clear};

static int node_init(weft_node *n)
{
    n->queue_tables = &queue_tables;
    struct wf_topics *topics = NULL;
    int rc = wf_topics_create(&topics, n->secret, n->options.retained_max, n->options.retained_bytes_max,
                              n->options.retained_keep);
    n->slots[WF_TOPICS_SLOT] = topics;
    return rc;
}

static void node_finish(weft_node *n)
{
    wf_topics_destroy(wf_topics_of(n));
}

static int worker_init(struct wf_actors *wa)
{
    int rc = wf_subscriptions_init(wa);
    return rc < 0 ? rc : wf_lost_topics_init(wa);
}

static void worker_finish(struct wf_worker *w)
{
    wf_lost_topics_finish(wf_actors_of(w));
    wf_subscriptions_finish(wf_actors_of(w));
}

static const struct wf_message_row messages[] = {
    {.kind = WF_MSG_PUBLISH, .deliver = deliver_publication, .discard = discard_publication},
    {.kind = WF_MSG_RETAINED, .leave = leave_mailbox},
    {.kind = WF_MSG_COUNTED, .leave = leave_mailbox},
    {.kind = WF_MSG_LOST, .drop = drop_lost},
    {.kind = WF_MSG_SYSTEM, .leave = leave_signals}};
const struct wf_feature wf_topics_feature = {.name = "topics",
                                             .slot = WF_TOPICS_SLOT,
                                             .node_init = node_init,
                                             .node_finish = node_finish,
                                             .worker_bytes = sizeof(struct wf_lost_topics),
                                             .worker_init = worker_init,
                                             .worker_finish = worker_finish,
                                             .actor_leave = wf_topics_leave,
                                             .messages = messages,
                                             .message_count = WF_COUNT(messages)};
