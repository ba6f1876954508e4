/* actors/topics/subscription.h -- one actor's subscription to a pattern: its memory, its policy for a slow reader,
 * and the notifications that the reader gets.
 *
 * Design notes.
 * (1) A subscription without options is 80 bytes. Only one made with options has `more`.
 * (2) It does not contain its pattern; the trie has it.
 * (3) Messages of a subscription with a bound of its own, or that drops its oldest ones, or of an actor whose mailbox
 *     does, are counted while they are in the mailbox: their `ref` is the id of the subscription (msg.h). That costs
 *     other messages one comparison when they leave.
 * (4) If it must end while a trie is matched (WEFT_SLOW_DISCONNECT), it is put on wf_actors.cut and ends after the
 *     match.
 * (5) At most one notification waits in the system lane; later losses are added to it. The last notification of a
 *     subscription with WEFT_SLOW_DISCONNECT is allocated with the subscription, so that it cannot fail for lack of
 *     memory. */
#ifndef WF_SUBSCRIPTION_H
#define WF_SUBSCRIPTION_H

#include "actor.h"
#include "queue_groups.h"

#include <weft/topic.h>

struct wf_subscription_more {
    struct wf_queue_member member; /* in a queue group: used instead of the trie; if publishers wait: besides it */
    struct wf_list_node on_cut;    /* wf_actors.cut */
    weft_msg *news;                /* the notification, in the system lane or (disconnect) for later; NULL: none */
    uint64_t lost;                 /* losses not yet notified */
    int64_t wait;                  /* how long a publisher waits, with WEFT_SLOW_SUSPEND */
    uint32_t max, waiting;         /* messages in the mailbox: the bound, the count */
    struct wf_evict_mark oldest;   /* where its oldest message is looked for */
    uint8_t slow;                  /* weft_slow_policy */
    bool counts;                   /* note (3) */
    bool news_sent;                /* `news` is in the system lane */
};

struct wf_subscription {
    struct wf_slot slot;
    struct wf_subscriber subscriber; /* wf_actors.topics */
    struct wf_list_node on_actor;    /* wf_actor_more.subscriptions */
    struct wf_actor *actor;
    uint64_t seen;  /* it skips retained publications up to this number: wf_recall */
    uint64_t order; /* a subscription added to the trie later has a higher one */
    struct wf_subscription_more *more;
};
_Static_assert(sizeof(struct wf_subscription) <= 80, "docs/topics.md and docs/memory.md state what one costs");

static inline bool wf_is_awaited(const struct wf_subscription *s)
{
    return s->more != NULL && s->more->slow == WEFT_SLOW_SUSPEND;
}

/* Delivers a published body to a subscription with `more`. False: it is lost, which is counted and notified. */
bool wf_subscription_put(struct wf_subscription *s, struct wf_body *body);
/* A message is lost: counts it and notifies the subscriber. Always returns false. */
bool wf_subscription_refuse(struct wf_subscription *s);
/* The same, if the drop was counted already. */
void wf_subscription_lost(struct wf_subscription *s);
/* It has missed `count` messages for another reason than that it is slow, which does not end a subscription with
 * WEFT_SLOW_DISCONNECT: its last notification includes them. A subscription without options, or with a queue, is not
 * notified. */
void wf_subscription_missed(struct wf_subscription *s, uint64_t count);
/* The same for all subscriptions of that pattern. */
void wf_subscriptions_missed(struct wf_actors *wa, weft_text pattern, uint64_t count);
/* After a match: ends the subscriptions on wf_actors.cut. */
void wf_subscriptions_cut(struct wf_actors *wa);

/* The subscriptions of a worker; wf_topics_leave: those of an actor, at its end. */
int wf_subscriptions_init(struct wf_actors *wa);
void wf_subscriptions_finish(struct wf_actors *wa);
void wf_topics_leave(struct wf_actor *a);
/* A message that its subscription counts, or a retained one, leaves the mailbox: it was received, or dropped. */
void wf_subscription_uncount(struct wf_actors *wa, weft_msg *m, bool dropped);
/* A notification of a subscription leaves the system lane. */
void wf_subscription_notified(struct wf_actors *wa, const weft_msg *m);

#endif
