/* transport/store/server/queue_table.h -- the queues for which the store's actor keeps data in memory: takers that
 * wait, workers, and changes that have not been stored yet. Each of these is a user of its queue. A queue without
 * users is freed, so the names of earlier requests take no memory. The jobs themselves are on disk.
 *
 * The table has no limit of its own: its users are bounded (store_queues.h). */
#ifndef WF_STORE_QUEUE_TABLE_H
#define WF_STORE_QUEUE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/typed.h>

#include "bucket.h"
#include "effort.h"
#include "engine.h"
#include "list.h"

enum { WF_QUEUE_BUCKETS = 4096 };

/* A rule for the queues that the store accepts. */
struct wf_queue_rule {
    char pattern[WF_STORE_TOPIC_MAX + 1];
    int64_t lease;
    uint32_t attempts;
    uint64_t jobs;
};

struct wf_share;

struct wf_work_queue {
    char name[WF_STORE_TOPIC_MAX + 1];
    const struct wf_queue_rule *rule;
    size_t users;
    struct wf_list takers; /* takers that wait, in their order of arrival */
    size_t taker_count;
    struct wf_list_node *scan; /* the taker to check next for expiry, or the list's head */
    struct wf_list held;       /* takers that have as much as they may have, until one of their leases ends */
    struct wf_share *share;    /* of a shared cursor that has members; else NULL */
    bool may_have;             /* the queue may have a job for a taker */
    int64_t due;               /* of its next job, by the store's clock; valid while in `by_due` */
    size_t place;              /* its place in `by_due`, from 1 on; 0: no job is awaited */
    struct wf_chained in_bucket;
    struct wf_list_node in_to_look; /* wf_queue_table.to_look */
};

struct wf_queue_table {
    struct wf_queue_rule *rule;
    size_t rules;
    uint64_t secret; /* key of the hash, because users choose the names */
    struct wf_chained *bucket[WF_QUEUE_BUCKETS];
    size_t count;
    struct wf_list to_look; /* queues that have takers, and perhaps a job for them; each gets its turn */
    /* Queues whose takers wait for a job that is due later: a binary heap from index 1 on. It has space for all queues,
     * so that wf_queue_set_due cannot fail. runtime/memory/heap.h, which libweft keeps for itself, gives memory back when
     * timers leave, so that the next one may find none. */
    struct wf_work_queue **by_due;
    size_t due_count, due_max;
};

/* `t` is all zero. `rule` is taken over, for free(). */
void wf_queue_table_init(struct wf_queue_table *t, struct wf_queue_rule *rule, size_t rules, uint64_t secret);
void wf_queue_table_free(struct wf_queue_table *t, struct wf_effort *effort); /* [A, W] */
/* Finds or creates the queue, which gets one more user. Errors: WEFT_EINVAL, WEFT_EACCESS (no rule accepts it),
 * WEFT_ENOMEM. */
int wf_queue_use(struct wf_queue_table *t, weft_text name, struct wf_work_queue **out);
/* The queue has one user less, and may be freed. */
void wf_queue_release(struct wf_queue_table *t, struct wf_work_queue *w);
/* The queue may have a job for its takers: puts it into the list `to_look`. */
void wf_queue_look_again(struct wf_queue_table *t, struct wf_work_queue *w);
/* Returns the first queue of `to_look` and moves it to the end. NULL: it has no takers, or no job, and was removed. `to_look` is
 * not empty. */
struct wf_work_queue *wf_queue_next_to_look(struct wf_queue_table *t);
/* The takers of the queue wait for a job that is due at `due`; INT64_MAX: no such job is known. */
void wf_queue_set_due(struct wf_queue_table *t, struct wf_work_queue *w, int64_t due);
/* A job of the queue is due at `due`, which may be sooner than what its takers wait for. */
void wf_queue_due_by(struct wf_queue_table *t, struct wf_work_queue *w, int64_t due);
/* Moves the first queue that is due by `now` to `to_look`, and returns it. NULL: none is due. */
struct wf_work_queue *wf_queue_table_tick(struct wf_queue_table *t, int64_t now);
int64_t wf_queue_table_next_due(const struct wf_queue_table *t); /* INT64_MAX: never */

#endif
