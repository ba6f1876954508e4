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
    struct wf_wide_member wide; /* of a queue: instead of the trie; of one that is waited for: besides it */
    struct wf_list_node on_cut; /* wf_actors.cut */
    weft_msg *news;             /* in the system lane, or (disconnect) made for later; NULL: none */
    uint64_t lost;              /* not told yet */
    int64_t wait;               /* of WEFT_SLOW_SUSPEND */
    uint32_t max, waiting;      /* in the mailbox */
    uint8_t slow;               /* weft_slow_policy */
    bool counts;                /* note (3) */
    bool news_sent;             /* `news` is in the lane */
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

/* ---- topic_await.c: subscribers whose publishers wait for room ------------------------------------------------- */

/* Before publishing: the running actor waits for those on other workers, if somebody is full there. False: in
 * vain. */
bool wf_await_others(struct wf_actor *self, const char *topic);
/* Those of this worker that a publication has found full. */
struct wf_awaiting {
    weft_msg *list; /* of their ids, as its body; NULL: none */
    uint32_t count;
    int64_t wait; /* the longest */
};
/* `most`: so many more may follow. False: no memory. */
bool wf_awaiting_add(struct wf_awaiting *x, const struct wf_subscription *s, uint32_t most);
/* After publishing: the running actor waits for them in turn. Takes over its reference. Returns how many got it. */
uint32_t wf_awaiting_give(struct wf_actor *self, struct wf_awaiting *x, struct wf_body *body);

#endif
