/* transport/link/patterns.h -- the topic patterns that actors of this node subscribe to, and how many of them each
 * link has been told.
 *
 * Design notes.
 * (1) All patterns are on one list, in the order in which they came. A link that is told of them has a mark on that
 *     list: what is before it has been told. So a link is told of a million patterns in parts, as there is room for
 *     them, while patterns come and go, and no part needs more work because many others are there.
 * (2) A pattern that is given up goes to the end of the list, if any link may have been told of it, so that each link
 *     comes by and says so. It is freed when all have. A pattern that is subscribed to again meanwhile is a new one,
 *     behind it.
 * (3) A link that takes a limited number of patterns (a tool, a node of an older version) is told ">" instead of the
 *     one too many, which includes all of them; then it is told nothing more.
 * (4) Nothing here takes a lock: one thread at a time. */
#ifndef WF_PATTERNS_H
#define WF_PATTERNS_H

#include "base.h"
#include "hash_table.h"
#include "list.h"

#include <weft/pack.h>

struct wf_pattern;

struct wf_patterns {
    struct wf_list places; /* wf_pattern_place.on_list, in the order of their numbers, and the marks between them */
    struct wf_list gone;   /* wf_pattern.on_gone: given up, and not told to all yet; the oldest first */
    struct wf_list marks;  /* wf_pattern_mark.on_table */
    struct wf_hash_table table; /* of patterns that are subscribed to */
    uint64_t secret;            /* of its hashes */
    uint64_t last;              /* number of the last place */
    uint64_t most_sent_to;      /* the highest `sent_to` of any mark there has been */
};

struct wf_pattern_place {
    struct wf_list_node on_list; /* wf_patterns.places */
    uint64_t number;             /* 0: this is a mark */
};

/* One link's; zero it first. */
struct wf_pattern_mark {
    struct wf_pattern_place place;
    struct wf_list_node on_table; /* wf_patterns.marks; unlinked: it is told nothing (more) */
    uint64_t sent_to;             /* number of the last place before it */
    uint64_t begun;               /* wf_patterns.last when it began */
    uint32_t sent, most;          /* patterns that the other side has; how many it takes */
};

/* What is to be said next: `count` patterns which came, or went. */
struct wf_pattern_part {
    bool add;
    uint32_t count; /* 0: nothing */
    size_t bytes;   /* at most, with a head for each text */
    bool all;       /* ">" */
};

void wf_patterns_init(struct wf_patterns *p, uint64_t secret);
void wf_patterns_finish(struct wf_patterns *p); /* without marks */
/* 1: it is new; 0: one more subscribes to it; WEFT_ENOMEM. The pattern has been checked. */
int wf_patterns_add(struct wf_patterns *p, weft_text pattern);
/* True: nobody subscribes to it any more. False also when nobody did. Needs no memory. */
bool wf_patterns_remove(struct wf_patterns *p, weft_text pattern);

/* `m` is to be told of all patterns, at most `most`; it has been told of none. */
void wf_patterns_begin(struct wf_patterns *p, struct wf_pattern_mark *m, uint32_t most);
/* It is told no more; fine if it never was. */
void wf_patterns_end(struct wf_patterns *p, struct wf_pattern_mark *m);
/* Whether there is anything to tell. */
bool wf_patterns_behind(const struct wf_patterns *p, const struct wf_pattern_mark *m);
/* The next part, at most `count` patterns and about `bytes` bytes. Passes what needs no telling. */
struct wf_pattern_part wf_patterns_next(struct wf_patterns *p, struct wf_pattern_mark *m, uint32_t count,
                                        size_t bytes);
/* Writes its texts; they are told then. Nothing may have changed since wf_patterns_next. */
void wf_patterns_put(struct wf_patterns *p, struct wf_pattern_mark *m, const struct wf_pattern_part *part,
                     weft_writer *w);

#endif
