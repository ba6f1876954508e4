/* actors/topics/queue_groups.h -- the part of a node's topics that all its workers share, under one lock: queue
 * groups, of which one member in the whole cluster gets a message; the workers with subscribers whose publishers wait
 * for space; and the retained messages. */
#ifndef WF_QUEUE_GROUPS_H
#define WF_QUEUE_GROUPS_H

#include "copies.h"
#include "node.h"
#include "topic_retained.h"
#include "topic_trie.h"

struct wf_topics;      /* of a node */
struct wf_queue_group; /* a queue group, or one such subscriber */

/* Those of a node. */
enum { WF_TOPICS_SLOT = 4 };
static inline struct wf_topics *wf_topics_of(const weft_node *node)
{
    return node->slots[WF_TOPICS_SLOT];
}

enum { WF_QUEUE_MAX = 64 }; /* bytes of a queue's name */

/* Embedded in a subscription; zero it first. Under the table's lock, but `group`, which only its owner changes. */
struct wf_queue_member {
    struct wf_list_node in_group;
    struct wf_queue_group *group; /* NULL: in none */
    uint64_t actor;
    uint64_t subscription;
};

/* `secret`: of its hashes. WEFT_ENOMEM. */
int wf_topics_create(struct wf_topics **out, uint64_t secret, uint32_t retained_max, size_t retained_bytes_max,
                     int64_t retained_keep);
void wf_topics_destroy(struct wf_topics *t); /* NULL is fine */
/* 0: there are no queue groups, here or on another node; else a number that changes whenever one comes or goes. Any
 * thread, one load. */
uint32_t wf_queue_groups_any(const struct wf_topics *t);
/* Reads what is retained, under the lock, for a new subscription. */
struct wf_recall {
    bool (*see)(const struct wf_retained *r, void *arg);
    void *arg;
};
/* Joins the queue group of that pattern and name: 1 if it is the first member of this node, else 0. NULL: a
 * subscriber whose publishers wait for at most `wait`; it is in its worker's trie as well. WEFT_ENOMEM. */
int wf_queue_groups_add(struct wf_topics *t, weft_text pattern, const char *queue, int64_t wait,
                        struct wf_queue_member *m);
/* `pattern` and `queue` get what it was added with. True: it was the last member of this node. */
bool wf_queue_groups_remove(struct wf_topics *t, struct wf_queue_member *m, char pattern[WF_TOPIC_MAX + 1],
                            char queue[WF_QUEUE_MAX + 1]);

/* The pattern it was added with. */
weft_text wf_queue_groups_pattern(struct wf_topics *t, const struct wf_queue_member *m, char out[WF_TOPIC_MAX + 1]);

/* Decides which members of queue groups get what is published under a topic, under the lock: a member of this node
 * that has room, else a node that is reached. `has_space` returns whether that actor of this node seems to have space; `take`
 * is called with each choice. A group without anybody: `take` with NULL. */
struct wf_queue_choice {
    bool (*has_space)(uint64_t actor, void *arg);
    void (*take)(const struct wf_queue_member *m, void *arg);
    /* NULL: it is for members of this node only, groups without such are left out. */
    bool (*reaches)(uint64_t node, void *arg);
    void (*pass)(uint64_t node, weft_text pattern, weft_text queue, void *arg);
    void *arg;
};
/* How many groups there were. */
size_t wf_queue_groups_choose(struct wf_topics *t, weft_text topic, const struct wf_queue_choice *ask);
/* The same for one group. */
void wf_queue_groups_choose_in(struct wf_topics *t, weft_text pattern, weft_text queue,
                               const struct wf_queue_choice *ask);

/* Copies of what other nodes tell, see tables.h: that the group has members there, 1, or 0 if that was known,
 * WEFT_ENOMEM; or that it has no more, whether it had. The third one takes out those that are over, one for each of
 * `*work`, which becomes less. */
int wf_queue_groups_put_copy(struct wf_topics *t, struct wf_copies *from, weft_text pattern, weft_text queue);
bool wf_queue_groups_take_copy(struct wf_topics *t, struct wf_copies *from, weft_text pattern, weft_text queue);
void wf_queue_groups_clear_copies(struct wf_topics *t, struct wf_copies *from, uint32_t *work);
/* Calls `see` for a part of the groups with members on this node, until the lock has been held for long enough or
 * `see` has said false; then perhaps for some more. `*at` is 0 at first. False: that was the last part. A group that
 * is there all the time is seen once. */
bool wf_queue_groups_some(struct wf_topics *t, uint64_t *at,
                          bool (*see)(weft_text pattern, weft_text queue, void *arg), void *arg);

/* Looks for those to be waited for under a topic that `blocked` is true of, under the lock. 0: none; else the actor
 * of the last one, as those before it are likely to get on first. `*wait` becomes the longest wait of all of them. */
uint64_t wf_queue_groups_blocked(struct wf_topics *t, weft_text topic, bool (*blocked)(uint64_t actor, void *arg),
                                 void *arg, int64_t *wait);

/* Retains a signed body that nobody has seen yet, and numbers it: as wf_retained_put. */
int wf_topics_retain(struct wf_topics *t, struct wf_worker *w, struct wf_body *body,
                     const struct wf_retained_now *now);
/* The same of what another node says: as wf_retained_put_copy; any thread. */
int wf_topics_retain_copy(struct wf_topics *t, const struct wf_retained_copy *c, const struct wf_retained_now *now);
/* A link that shares topics begins, WEFT_ENOMEM; and ends, fine if it has not begun. `by` is the link's. */
int wf_topics_linked(struct wf_topics *t, uint64_t node, struct wf_retained_source *by[WF_RETAINED_KINDS]);
void wf_topics_unlinked(struct wf_topics *t, struct wf_retained_source *by[WF_RETAINED_KINDS], int64_t time);
/* After that: forgets a part of what is too much now of nodes that have gone. False: nothing is too much. */
bool wf_topics_trim(struct wf_topics *t);
/* Forgets what nodes that have gone had published, if it is time, a part of it; returns when to come again. */
int64_t wf_topics_expire(struct wf_topics *t, int64_t time);
/* Whether anything was kept of that topic; it is taken out, for a node without others. */
bool wf_topics_take(struct wf_topics *t, struct wf_worker *w, weft_text topic);
/* Whether anything is kept of that topic. */
bool wf_topics_keeps(struct wf_topics *t, weft_text topic);
/* A mark before all that is retained, and its end: see topic_retained.h. */
void wf_topics_mark(struct wf_topics *t, struct wf_retained *mark);
void wf_topics_unmark(struct wf_topics *t, struct wf_retained *mark); /* does nothing if `mark` is not set */
/* What is behind the mark, in order: at most `max`, with a reference each. Returns how many. */
struct wf_kept {
    struct wf_body *body;
    uint64_t stamp;
    int64_t gone_at; /* its publisher's node; WEFT_FOREVER: it has not */
};
size_t wf_topics_after(struct wf_topics *t, const struct wf_retained *mark, struct wf_kept *out, size_t max);
/* The mark goes behind the publication of that number. */
void wf_topics_pass(struct wf_topics *t, struct wf_retained *mark, uint64_t number);
/* For a subscription that is in its worker's trie: calls `see` with what is retained under the pattern and returns
 * the number of the last retained publication. What is published later reaches the trie; copies of what has this
 * number or a lower one are to be skipped there. */
uint64_t wf_recall(struct wf_topics *t, weft_text pattern, const struct wf_recall *recall);

#endif
