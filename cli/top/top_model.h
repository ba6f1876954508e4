/* cli/top/top_model.h -- what `weft top` knows of nodes, without a terminal: read from answers to TOP
 * (docs/wire.md), compared with the answer before, sorted, filtered. */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rates are per second, since the previous snapshot; negative: there is no previous snapshot. */
struct top_actor {
    char pid[56], kind[32], name[65], state[12], waits_for[24];
    uint64_t mailbox, mailbox_max, received, dropped, stack_most;
    double rate; /* messages received */
    uint32_t node;
};

struct top_worker {
    bool answers, own; /* own: it runs weft's own actors */
    uint64_t turns, sleeps, runnable, received, mailbox_bytes, busy_ns, longest_ns;
    double rate, turn_rate, busy; /* busy: the part of the time that it has run, 0 to 1 */
    uint32_t index;
};

/* An actor that holds its worker up. */
struct top_stuck {
    uint64_t worker, ns;
    char pid[56], kind[32], name[65], where[200];
};

struct top_link {
    char peer[65], state[12];
    uint64_t rtt_ns, bytes_in, bytes_out, backlog, unacked, resumes, receivers, withheld, waiting;
    double rate_in, rate_out;
};

struct top_drop {
    char reason[32];
    uint64_t count;
    double rate;
};

/* The number of times that took less than `below_ns`, but not less than in the row before. */
struct top_times {
    struct top_times_row {
        uint64_t below_ns, count;
    } * row;
    uint32_t count;
};

/* Numbers of jobs of a queue of the node's store. */
struct top_queue {
    char queue[100]; /* the begin of a longer name */
    uint64_t ready, delayed, leased, dead;
};

struct top_kind {
    char kind[32];
    uint64_t actors, waiting, deepest;
    struct top_times mail; /* since the start of the node */
    double p50_ns, p99_ns; /* of the messages that left mailboxes since the snapshot before */
};

struct top_node {
    char name[65], incarnation[20], cluster[65], state[12];
    char error[128]; /* not "": nothing else is known of it */
    uint64_t at_ns, resident_bytes, processor_ns, actor_count, actors_matched;
    struct top_worker *workers; /* the one with the longest turn first */
    struct top_stuck *stucks;
    struct top_link *links;
    struct top_drop *drops;
    struct top_kind *kinds;
    struct top_queue *queues; /* the most ready jobs first */
    uint32_t worker_count, stuck_count, link_count, drop_count, kind_count, queue_count;
    uint32_t place;         /* in the answer */
    double seconds;         /* since the previous snapshot; 0: there is none */
    double rate, processor; /* messages received by all of its actors; processors in use: 1 is one of them */
};

struct top_snapshot {
    struct top_node *nodes;
    struct top_actor *actors;
    uint32_t node_count, actor_count;
};

/* An answer to TOP, from malloc. NULL: it is of another form, or there is no memory. */
struct top_snapshot *top_read(const void *data, size_t size);
/* Fills in the rates of `now`; `before` may be NULL. */
void top_compare(struct top_snapshot *now, const struct top_snapshot *before);
/* NULL is fine. */
void top_free(struct top_snapshot *s);
/* The kind of an actor, on its node. NULL: it is not among those that the node tells by name. */
const struct top_kind *top_kind_of(const struct top_snapshot *s, const struct top_actor *a);

/* The longest times in mailboxes first, then what waits. */
int top_compare_kinds(const struct top_kind *a, const struct top_kind *b);

enum top_by {
    TOP_MAILBOX,
    TOP_RATE,
    TOP_RECEIVED,
    TOP_DROPPED,
    TOP_STACK,
    TOP_NAME,
    TOP_KIND,
    TOP_STATE,
    TOP_PID,
    TOP_BYS
};
extern const char *const top_by_names[TOP_BYS];
/* The word of a TOP request by which a node chooses actors for that order. */
const char *top_choice(enum top_by by);

/* Sorts the actors: the most first, names from A; `reverse`: the other way round. Equally full mailboxes by messages
 * received, and then all by node and pid, so that they stay where they are. Moves those without `filter` in kind,
 * name, pid, or node to the end and returns how many are before them. */
uint32_t top_arrange(struct top_snapshot *s, enum top_by by, bool reverse, const char *filter);
/* Searches `count` actors, from `from` on and then from the beginning, for the first one that matches `text`, as a
 * filter does; UINT32_MAX: there is none. */
uint32_t top_search(const struct top_snapshot *s, uint32_t count, uint32_t from, const char *text);

#endif
