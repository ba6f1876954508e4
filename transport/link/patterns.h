/* transport/link/patterns.h -- the topic patterns that actors of this node subscribe to, and which of them each peer
 * has been sent.
 *
 * Design notes.
 * (1) All patterns are on one list, in the order in which they came. Each link has a mark on that list: the patterns
 *     before the mark have been sent. So a million patterns can be sent in parts, as the send queue has space, while
 *     patterns come and go, and the work for a part does not depend on how many patterns there are.
 * (2) When the last subscriber of a pattern leaves and any peer may have been sent it, the pattern moves to the end of
 *     the list, so that each link sends its removal. It is freed when all marks have passed it. If an actor subscribes
 *     to it again meanwhile, that is a new pattern, behind the old one.
 * (3) A peer that accepts a limited number of patterns (a tool, a node of an older version) is sent ">", which includes
 *     all topics, in place of the last one that fits; then it is sent nothing more.
 * (4) Nothing here takes a lock: one thread at a time may call it. */
#ifndef WF_PATTERNS_H
#define WF_PATTERNS_H

#include "base.h"
#include "hash_table.h"
#include "list.h"

#include <weft/pack.h>

struct wf_pattern;

struct wf_patterns {
    struct wf_list places; /* wf_pattern_place.on_list, in the order of their numbers, and the marks between them */
    struct wf_list gone;   /* wf_pattern.on_gone: without subscribers, removal not sent to all peers; oldest first */
    struct wf_list marks;  /* wf_pattern_mark.on_table */
    struct wf_hash_table table; /* of patterns with subscribers */
    uint64_t secret;            /* of its hashes */
    uint64_t last;              /* the number of the last place */
    uint64_t most_sent_to;      /* the highest `sent_to` that any mark ever had */
};

struct wf_pattern_place {
    struct wf_list_node on_list; /* wf_patterns.places */
    uint64_t number;             /* 0: this is a mark */
};

/* The mark of one link; zero it first. */
struct wf_pattern_mark {
    struct wf_pattern_place place;
    struct wf_list_node on_table; /* wf_patterns.marks; unlinked: nothing (more) is sent */
    uint64_t sent_to;             /* the number of the last place before it */
    uint64_t begun;               /* wf_patterns.last when it began */
    uint32_t sent, most;          /* patterns that the peer has; how many it accepts */
};

/* The next part to be sent: `count` patterns that were all added, or all removed. */
struct wf_pattern_part {
    bool add;
    uint32_t count; /* 0: nothing */
    size_t bytes;   /* at most, with a head for each text */
    bool all;       /* the pattern is ">" */
};

void wf_patterns_init(struct wf_patterns *p, uint64_t secret);
void wf_patterns_finish(struct wf_patterns *p); /* all marks must have ended */
/* Adds a subscriber. 1: the pattern is new; 0: it has other subscribers; WEFT_ENOMEM. The caller has checked it. */
int wf_patterns_add(struct wf_patterns *p, weft_text pattern);
/* Removes a subscriber. True: it was the last one. False also if there was none. Needs no memory. */
bool wf_patterns_remove(struct wf_patterns *p, weft_text pattern);

/* Begins to send all patterns, at most `most`, for the link of `m`. */
void wf_patterns_begin(struct wf_patterns *p, struct wf_pattern_mark *m, uint32_t most);
/* Ends that; may be called if it never began. */
void wf_patterns_end(struct wf_patterns *p, struct wf_pattern_mark *m);
/* Whether there is anything to send. */
bool wf_patterns_behind(const struct wf_patterns *p, const struct wf_pattern_mark *m);
/* The next part, at most `count` patterns and about `bytes` bytes. Moves the mark over removals that the peer does not
 * need. */
struct wf_pattern_part wf_patterns_next(struct wf_patterns *p, struct wf_pattern_mark *m, uint32_t count,
                                        size_t bytes);
/* Writes the part's texts and moves the mark behind them. Nothing may have changed since wf_patterns_next. */
void wf_patterns_put(struct wf_patterns *p, struct wf_pattern_mark *m, const struct wf_pattern_part *part,
                     weft_writer *w);

#endif
