/* transport/store/server/store_shares.h -- the shared cursors that have members: which topics may have records behind
 * them. */
#ifndef WF_STORE_SHARES_H
#define WF_STORE_SHARES_H

#include <weft/offload.h>

#include "node_counts.h"
#include "effort.h"
#include "queue_table.h"
#include "store_file.h"
#include "topic_set.h"

enum {
    WF_SHARES_MAX = 1000,             /* shared cursors that have members, of one store */
    WF_SHARES_OF_NODE = 500,          /* of these, those of which the first member is on one node */
    WF_SHARE_TOPICS_MAX = 1000,       /* topics that one remembers; the others are looked for again */
    WF_SHARES_TOPICS_MAX = 64 * 1000, /* topics that all of them remember */
    WF_SHARE_TOPICS_LEAST = 32,       /* topics that one remembers also if all together have as many as that */
    WF_SHARE_BUCKETS = 1024,
    WF_SHARE_AHEAD = 1000,      /* jobs that are not dead, of one shared cursor */
    WF_SHARE_RECORDS_MAX = 128, /* records that one change moves */
    WF_SHARE_CHANGES_MAX = 16,  /* changes at a time, of all shared cursors: each may move a megabyte */
};

struct wf_share_scan;

/* A queue has one from the first request of a member until the queue is freed. */
struct wf_share {
    char pattern[WF_STORE_TOPIC_MAX + 1];
    struct wf_work_queue *queue;
    uint64_t node;                      /* of the first member */
    bool hungry;                        /* a member waits for a record */
    bool full;                          /* no record can be moved until a job ends */
    int failed;                         /* the error of a change, which the members get */
    bool scanned;                       /* the topics that had records when it began were found, up to the last one */
    bool missed;                        /* there was no place for a topic: they have to be looked for again */
    char after[WF_STORE_TOPIC_MAX + 1]; /* the scan goes on behind this topic */
    struct wf_list topics;              /* that may have records behind the cursor, each of them once */
    struct wf_topic_set known;          /* those in `topics` */
    size_t changes;                     /* that run or wait to be run */
    struct wf_list_node in_all;         /* wf_store_shares.all */
    struct wf_list_node in_to_move;     /* wf_store_shares.to_move */
    struct wf_list_node in_to_scan;     /* wf_store_shares.to_scan */
    struct wf_list_node in_failed;      /* wf_store_shares.failed */
    struct wf_chained in_bucket;        /* wf_store_shares.by_begin */
};

struct wf_store_shares {
    struct wf_store_file *file;
    struct wf_list all;
    /* So that a batch looks only at those that it concerns. Each is put there when something has changed that may be the
     * last thing it needed, and may need it no more when its turn comes. */
    struct wf_list to_move; /* records of it may be moved */
    struct wf_list to_scan; /* its topics may have to be looked for */
    struct wf_list failed;  /* a change of it has failed */
    size_t count, changes;  /* changes: that run or wait to be run */
    size_t topics;          /* that all of them remember */
    int64_t logged_at;      /* when an error of one of them was last in the log; 0: never */
    /* By the words of the pattern in front of its first wildcard, so that a record is compared with few patterns. */
    struct wf_chained *by_begin[WF_SHARE_BUCKETS];
    struct wf_node_counts of_node;
    struct wf_share_scan *scan; /* of the running job; NULL: none runs */
    struct wf_share *scanned;   /* the one for which it runs; NULL: none, or its queue was freed */
};

void wf_shares_init(struct wf_store_shares *s, struct wf_store_file *file);
/* A member with this pattern, which is on that node, comes to the queue. Errors: WEFT_EEXIST (the others have another pattern), WEFT_EFULL,
 * WEFT_ENOMEM. */
int wf_shares_join(struct wf_store_shares *s, struct wf_work_queue *w, const char *pattern, uint64_t node);
/* The queue is freed. Returns the work, in units of effort.h. */
size_t wf_shares_leave(struct wf_store_shares *s, struct wf_work_queue *w);
/* A record was stored under the topic, or a cursor of the topic was removed. Returns the work, in units of effort.h: the
 * topic is compared with the patterns that begin with the same words, or with a wildcard. */
size_t wf_shares_appended(struct wf_store_shares *s, const char *topic);
/* Call it when a member has come to wait, or `hungry` or `full` has changed. With NULL it does nothing. */
void wf_share_changed(struct wf_store_shares *s, struct wf_share *share);
/* The next topic of which records are to be moved, and its cursor. The cursors take turns. False: there is none now. */
bool wf_shares_next(struct wf_store_shares *s, struct wf_share **out, char topic[WF_STORE_TOPIC_MAX + 1]);
/* They were moved, or an error came. */
void wf_share_moved(struct wf_store_shares *s, struct wf_share *share, const char *topic, int error,
                    const struct wf_store_change *x);
/* Puts the cursor into `failed`. */
void wf_share_failed(struct wf_store_shares *s, struct wf_share *share, int error);
/* Takes the next cursor out of `failed`. NULL: none is there. */
struct wf_share *wf_shares_next_failed(struct wf_store_shares *s);
/* Starts a job that looks for topics, if a cursor needs that. Returns 1 if it runs, or 0; or an error, and `*w` is
 * the queue whose members get it. */
int wf_shares_start_scan(struct wf_store_shares *s, weft_job *job, struct wf_work_queue **w);
/* Returns 0; or an error, and `*w` is the queue whose members get it; NULL: they have left. */
int wf_shares_finish_scan(struct wf_store_shares *s, weft_job job, struct wf_work_queue **w);
void wf_shares_free(struct wf_store_shares *s, struct wf_effort *effort); /* [A, W] */

#endif
