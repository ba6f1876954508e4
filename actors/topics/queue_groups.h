/* actors/topics/queue_groups.h -- the part of a node's topics that all its workers share, under one lock: queue
 * groups, of which one member in the whole cluster gets a message; the workers with subscribers whose publishers wait
 * for space; and the retained messages. */
#ifndef WF_QUEUE_GROUPS_H
#define WF_QUEUE_GROUPS_H

#include "copies.h"
#include "node.h"
#include "topic_retained.h"
#include "topic_trie.h"

struct wf_topics;      /* one for each node */
struct wf_queue_group; /* a queue group, or one subscriber whose publishers wait */

/* The topics of a node. */
enum { WF_TOPICS_SLOT = 4 };
static inline struct wf_topics *wf_topics_of(const weft_node *node)
{
    return node->slots[WF_TOPICS_SLOT];
}

enum { WF_QUEUE_MAX = 64 }; /* bytes of a queue's name */

/* Embedded in a subscription; zero it first. Protected by the table's lock, except `group`, which only its owner
 * changes. */
struct wf_queue_member {
    struct wf_list_node in_group;
    struct wf_queue_group *group; /* NULL: it is in no group */
    uint64_t actor;
    uint64_t subscription;
};

/* `secret`: the key of its hashes. WEFT_ENOMEM. */
int wf_topics_create(struct wf_topics **out, uint64_t secret, uint32_t retained_max, size_t retained_bytes_max,
                     int64_t retained_keep);
void wf_topics_destroy(struct wf_topics *t); /* NULL is fine */
/* 0: no node has a queue group; else a number that changes whenever a group is added or removed. Any thread, one
 * load. */
uint32_t wf_queue_groups_any(const struct wf_topics *t);
/* `see` is called with retained messages for a new subscription, under the lock. */
struct wf_recall {
    bool (*see)(const struct wf_retained *r, void *arg);
    void *arg;
};
/* Joins the queue group of that pattern and name: 1 if it is the first member of this node, else 0. `queue` NULL: a
 * subscriber whose publishers wait for at most `wait`; it is in its worker's trie as well. WEFT_ENOMEM. */
int wf_queue_groups_add(struct wf_topics *t, weft_text pattern, const char *queue, int64_t wait,
                        struct wf_queue_member *m);
/* `pattern` and `queue` get the arguments it was added with. True: it was the last member of this node. */
bool wf_queue_groups_remove(struct wf_topics *t, struct wf_queue_member *m, char pattern[WF_TOPIC_MAX + 1],
                            char queue[WF_QUEUE_MAX + 1]);

/* The pattern it was added with. */
weft_text wf_queue_groups_pattern(struct wf_topics *t, const struct wf_queue_member *m, char out[WF_TOPIC_MAX + 1]);

/* Chooses, under the lock, who gets a publication in each queue group: a member of this node that has space, else
 * another node that can be reached. `has_space` returns whether that actor of this node seems to have space. `take` is
 * called with the chosen member, `pass` with the chosen node; if a group has neither, `take` is called with NULL. */
struct wf_queue_choice {
    bool (*has_space)(uint64_t actor, void *arg);
    void (*take)(const struct wf_queue_member *m, void *arg);
    /* NULL: only members of this node are chosen, and groups without one are skipped. */
    bool (*reaches)(uint64_t node, void *arg);
    void (*pass)(uint64_t node, weft_text pattern, weft_text queue, void *arg);
    void *arg;
};
/* Returns the number of groups with a matching pattern. */
size_t wf_queue_groups_choose(struct wf_topics *t, weft_text topic, const struct wf_queue_choice *ask);
/* The same for one group. */
void wf_queue_groups_choose_in(struct wf_topics *t, weft_text pattern, weft_text queue,
                               const struct wf_queue_choice *ask);

/* Copies of other nodes' tables, see tables.h. put: that node has members of the group; 1, or 0 if that was known,
 * WEFT_ENOMEM. take: it has none any longer; whether it had. clear: removes entries that are out of date, and
 * subtracts one from `*work` for each, until it is 0. */
int wf_queue_groups_put_copy(struct wf_topics *t, struct wf_copies *from, weft_text pattern, weft_text queue);
bool wf_queue_groups_take_copy(struct wf_topics *t, struct wf_copies *from, weft_text pattern, weft_text queue);
void wf_queue_groups_clear_copies(struct wf_topics *t, struct wf_copies *from, uint32_t *work);
/* Calls `see` for a part of the groups with members on this node: until it has held the lock for long enough, or,
 * after `see` has returned false, to the end of a hash bucket. `*at` is 0 at first. False: that was the last part. A
 * group that exists all the time is seen once. */
bool wf_queue_groups_some(struct wf_topics *t, uint64_t *at,
                          bool (*see)(weft_text pattern, weft_text queue, void *arg), void *arg);

/* Searches, under the lock, the subscribers of a topic whose publishers wait, for those for which `blocked` is true.
 * Returns the actor of the last one, as the ones before it probably have space first; 0: none. `*wait` becomes the
 * longest wait of all of them. */
uint64_t wf_queue_groups_blocked(struct wf_topics *t, weft_text topic, bool (*blocked)(uint64_t actor, void *arg),
                                 void *arg, int64_t *wait);

/* Retains a signed body that has not been delivered yet, and numbers it: as wf_retained_put. */
int wf_topics_retain(struct wf_topics *t, struct wf_worker *w, struct wf_body *body,
                     const struct wf_retained_now *now);
/* The same for a copy from another node: as wf_retained_put_copy; any thread. */
int wf_topics_retain_copy(struct wf_topics *t, const struct wf_retained_copy *c, const struct wf_retained_now *now);
/* A link that shares topics begins (WEFT_ENOMEM) and ends (allowed if it has not begun). `by` belongs to the link. */
int wf_topics_linked(struct wf_topics *t, uint64_t node, struct wf_retained_source *by[WF_RETAINED_KINDS]);
void wf_topics_unlinked(struct wf_topics *t, struct wf_retained_source *by[WF_RETAINED_KINDS], int64_t time);
/* After wf_topics_unlinked: forgets a part of the messages of gone nodes that are over the bound. False: none are
 * left. */
bool wf_topics_trim(struct wf_topics *t);
/* Forgets a part of the messages of gone nodes whose time is over; returns when to call it again. */
int64_t wf_topics_expire(struct wf_topics *t, int64_t time);
/* Removes the retained message of that topic, on a node without network. Returns whether there was one. */
bool wf_topics_take(struct wf_topics *t, struct wf_worker *w, weft_text topic);
/* Whether a message of that topic is retained. */
bool wf_topics_keeps(struct wf_topics *t, weft_text topic);
/* Puts a mark before all retained messages, and removes it: see topic_retained.h. */
void wf_topics_mark(struct wf_topics *t, struct wf_retained *mark);
void wf_topics_unmark(struct wf_topics *t, struct wf_retained *mark); /* does nothing if `mark` is not set */
/* Reads the messages behind the mark, in order, at most `max`; each gets a reference. Returns how many. */
struct wf_kept {
    struct wf_body *body;
    uint64_t stamp;
    int64_t gone_at; /* when its publisher's node has gone; WEFT_FOREVER: it has not */
};
size_t wf_topics_after(struct wf_topics *t, const struct wf_retained *mark, struct wf_kept *out, size_t max);
/* Moves the mark behind the publication with that number. */
void wf_topics_pass(struct wf_topics *t, struct wf_retained *mark, uint64_t number);
/* For a subscription that is in its worker's trie: calls `see` with the retained messages of matching topics and
 * returns the number of the last retained publication. Later publications reach the subscription by the trie; it must
 * skip those with this number or a lower one. */
uint64_t wf_recall(struct wf_topics *t, weft_text pattern, const struct wf_recall *recall);

#endif
