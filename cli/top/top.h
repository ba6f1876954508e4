/* cli/top.h -- what `weft top` knows of nodes, without a terminal: read from answers to TOP (docs/wire.md), compared
 * with the answer before, sorted, filtered, written as lines. top_screen.c shows the lines. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- top_model.c: nodes as they were at one moment ------------------------------------------------------------- */

/* Rates are a second's, of what has happened since the snapshot before; negative: there is none to compare with. */
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

/* How often something took less than so long, and not less than in the row before. */
struct top_times {
    struct top_times_row {
        uint64_t below_ns, count;
    } * row;
    uint32_t count;
};

struct top_kind {
    char kind[32];
    uint64_t actors, waiting, deepest;
    struct top_times mail; /* since the start of the node */
    double p50_ns, p99_ns; /* of what left mailboxes since the snapshot before */
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
    uint32_t worker_count, stuck_count, link_count, drop_count, kind_count;
    uint32_t place;         /* in the answer */
    double seconds;         /* since the snapshot before; 0: there is none */
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
/* What a node is to choose by, for that order: a word of TOP. */
const char *top_choice(enum top_by by);

/* Sorts the actors: the most first, names from A; `reverse`: the other way round. Equally full mailboxes by messages
 * received, and then all by node and pid, so that they stay where they are. Moves those without `filter` in kind,
 * name, pid, or node to the end and returns how many are before them. */
uint32_t top_arrange(struct top_snapshot *s, enum top_by by, bool reverse, const char *filter);
/* The first of `count` actors from `from` on, and then from the first on, with `text` in it, as a filter; UINT32_MAX:
 * none. */
uint32_t top_search(const struct top_snapshot *s, uint32_t count, uint32_t from, const char *text);

/* ---- top_text.c: the same as lines ----------------------------------------------------------------------------- */

enum { TOP_LINE = 512 };
/* How lines are to look. */
enum top_look { TOP_PLAIN, TOP_HEAD, TOP_WARN, TOP_ALARM, TOP_FAINT };

struct top_lines {
    struct top_text_line {
        char text[TOP_LINE];
        enum top_look look;
    } * line;
    uint32_t count, room;
    bool failed; /* for want of memory some are missing */
    int width;   /* columns there are for a line; it may be longer */
};
void top_lines_clear(struct top_lines *l); /* none, and no memory */

/* Nodes; workers, if there is one node; kinds of actors, links; what was dropped. At most `most` lines of each; the
 * rest is counted. */
void top_put_nodes(struct top_lines *l, const struct top_snapshot *s, uint32_t most);
/* A head, then `count` actors from `first` on. `nodes`: also on which one each is. `by` is marked in the head. */
void top_put_actors(struct top_lines *l, const struct top_snapshot *s, uint32_t first, uint32_t count,
                    enum top_by by);
/* What INSPECT says of an actor. False: it is of another form. */
bool top_put_detail(struct top_lines *l, const void *data, size_t size);

/* "1234", "12.3k", "4.56M"; for bytes "12 KiB". At most 9 bytes and a NUL. */
const char *top_number(double value, char out[16]);
const char *top_bytes(double value, char out[16]);
/* "850 ns", "12.3 us", "4.00 ms", "2.5 s" */
const char *top_span(double ns, char out[16]);

/* ---- top_screen.c: the terminal -------------------------------------------------------------------------------- */

struct top_feed;

struct top_wish {
    bool everywhere;
    enum top_by by;
    bool reverse;
    char filter[64];
    char inspect[64]; /* a pid; "": none */
};

/* Shows what comes until somebody has had enough, or no more comes. 0; the signal that ended it; -1: it cannot be
 * shown on this terminal. The terminal is as it was. */
int top_screen(struct top_feed *feed, const struct top_wish *wish);
/* Before any other thread is started: signals come to the screen alone. */
void top_screen_prepare(void);

/* ---- top.c: asking, on a thread of its own --------------------------------------------------------------------- */

struct top_news {
    struct top_snapshot *fresh; /* the taker's; NULL: there is none */
    void *detail;               /* the same: what INSPECT said of the wish's actor, `why` if it said no */
    size_t detail_size;
    char why[512];
    int64_t late; /* ns since a question that has no answer yet was asked; 0: there is none */
};

/* [the screen's thread] What is wanted from now on; it is asked for at once. */
void top_feed_wish(struct top_feed *f, const struct top_wish *wish);
/* What has come since the last call. False: no more will come. */
bool top_feed_take(struct top_feed *f, struct top_news *out);
/* Can be read from when something has come. */
int top_feed_descriptor(const struct top_feed *f);

#endif
