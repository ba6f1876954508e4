/* actors/topics/subscription.h -- one actor's subscription to a pattern: its memory, its policy for a slow reader,
 * and the notifications that the reader gets.
 *
 * Design notes.
 * (1) One without options is 80 bytes. `more` is there for those made with weft_subscribe_with.
 * (2) It knows no pattern: the trie does.
 * (3) Messages of a subscription with a bound of its own, or that drops its oldest ones, are counted while they are
 *     in the mailbox: their `ref` is its id (msg.h). Other messages pay one comparison for that when they leave.
 * (4) Ended while a trie is matched (WEFT_SLOW_DISCONNECT), it is put on wf_actors.cut and ends after the match.
 * (5) Of its news one message at most waits in the system lane; losses meanwhile are added to it. The last news of
 *     one that is to be disconnected is made when it is, so that it cannot fail for want of memory. */
#ifndef WF_SUBSCRIPTION_H
#define WF_SUBSCRIPTION_H

#include "actor.h"
#include "queue_groups.h"

#include <weft/topic.h>

struct wf_subscription_more {
    struct wf_queue_member member; /* of a queue: instead of the trie; of one that is waited for: besides it */
    struct wf_list_node on_cut;    /* wf_actors.cut */
    weft_msg *news;                /* in the system lane, or (disconnect) made for later; NULL: none */
    uint64_t lost;                 /* not told yet */
    int64_t wait;                  /* of WEFT_SLOW_SUSPEND */
    uint32_t max, waiting;         /* in the mailbox */
    uint8_t slow;                  /* weft_slow_policy */
    bool counts;                   /* note (3) */
    bool news_sent;                /* `news` is in the lane */
};

struct wf_subscription {
    struct wf_slot slot;
    struct wf_subscriber subscriber; /* wf_actors.topics */
    struct wf_list_node on_actor;    /* wf_actor_more.subscriptions */
    struct wf_actor *actor;
    uint64_t seen;  /* retained publications up to this number are not for it any more: wf_recall */
    uint64_t order; /* of those in the trie: later ones have more */
    struct wf_subscription_more *more;
};
_Static_assert(sizeof(struct wf_subscription) <= 80, "docs/topics.md and docs/memory.md state what one costs");

static inline bool wf_is_awaited(const struct wf_subscription *s)
{
    return s->more != NULL && s->more->slow == WEFT_SLOW_SUSPEND;
}

/* A published body for one whose `more` is not NULL. False: it is lost, which is counted and told. */
bool wf_subscription_put(struct wf_subscription *s, struct wf_body *body);
/* It gets a message no more: that is counted and told. Always false. */
bool wf_subscription_refuse(struct wf_subscription *s);
/* The same, counted already. */
void wf_subscription_lost(struct wf_subscription *s);
/* Of that pattern: another node has not sent so many messages for it. */
void wf_subscriptions_missed(struct wf_actors *wa, weft_text pattern, uint64_t count);
/* After a match: those that are cut off end. */
void wf_subscriptions_cut(struct wf_actors *wa);

/* Those of a worker, and of an actor at its end. */
int wf_subscriptions_init(struct wf_actors *wa);
void wf_subscriptions_finish(struct wf_actors *wa);
void wf_topics_leave(struct wf_actor *a);
/* A message that its subscription counts, or a retained one, leaves the mailbox. */
void wf_subscription_uncount(struct wf_actors *wa, weft_msg *m);
/* News of a subscription leave the system lane. */
void wf_subscription_told(struct wf_actors *wa, const weft_msg *m);

#endif
