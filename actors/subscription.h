/* actors/subscription.h -- one actor's subscription to a pattern: what it costs, how a slow reader is dealt with, and
 * what the reader is told of it.
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

#include <weft/topic.h>

struct wf_subscription_more {
    struct wf_wide_member wide; /* of a queue or one that is waited for: instead of the trie */
    struct wf_link on_cut;      /* wf_actors.cut */
    weft_msg *news;             /* in the system lane, or (disconnect) made for later; NULL: none */
    uint64_t lost;              /* not told yet */
    uint32_t max, waiting;      /* in the mailbox */
    uint8_t slow;               /* weft_slow_policy */
    bool counts;                /* note (3) */
    bool news_sent;             /* `news` is in the lane */
};

struct wf_subscription {
    struct wf_slot slot;
    struct wf_subscriber subscriber; /* wf_actors.topics */
    struct wf_link on_actor;         /* wf_actor_more.subscriptions */
    struct wf_actor *actor;
    uint64_t seen; /* retained publications up to this number are not for it any more: wf_recall */
    struct wf_subscription_more *more;
};
_Static_assert(sizeof(struct wf_subscription) <= 80, "docs/topics.md and docs/memory.md state what one costs");

/* A published body for one whose `more` is not NULL. False: it is lost, which is counted and told. */
bool wf_subscription_put(struct wf_subscription *s, uint32_t tag, weft_pid from, struct wf_body *body);
/* After a match: those that are cut off end. */
void wf_subscriptions_cut(struct wf_actors *wa);

#endif
