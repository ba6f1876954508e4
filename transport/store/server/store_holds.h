/* transport/store/server/store_holds.h -- the takers and the workers of queues, as the store's actor knows them.
 *
 * A hold is a taker from its request to the end of its lease: it waits at its queue, then it is in the running
 * batch, then it has a job. It has one monitor for all that time. */
#ifndef WF_STORE_HOLDS_H
#define WF_STORE_HOLDS_H

#include "store_queues.h"

enum hold_state { IS_WAITING, IS_HELD, IS_TAKING, IS_WORKING, IS_AWAY };

struct wf_hold {
    enum hold_state state;
    bool gone;     /* its monitor has fired; while it is taking: the actor has ended */
    bool gives_up; /* while it is taking: it has sent WF_STORE_UNTAKE */
    bool restored; /* it had its job when the store was opened */
    bool ends;     /* its job is done with a later one (store_change.upto), which is being stored */
    weft_msg *ask; /* NULL: it was restored */
    weft_pid who;
    struct wf_work_queue *queue; /* the hold is a user of this queue */
    weft_monitor_ref monitor;
    uint64_t ticket, id, lease;
    int64_t due;                 /* when the lease ends */
    uint32_t bound;              /* of a member of a shared cursor: the most that it may have; else 0 */
    uint32_t log;                /* of a record of a shared cursor: the number of the log */
    uint64_t given;              /* the order in which jobs were given; 0: before the store was opened */
    struct wf_list_node in_line; /* in takers or in `held` of its queue, in `taking`, or in `away` */
    struct wf_chained of_monitor, of_job, of_ticket, of_member;
    struct wf_chained of_node; /* while it is in `away` */
};

/* The taker with this node of a list; NULL of NULL. */
struct wf_hold *wf_hold_at(struct wf_list_node *k);
/* From now on it is found by its monitor, or by its job. */
void wf_hold_found_by_monitor(struct wf_store_queues *q, struct wf_hold *h);
void wf_hold_found_by_job(struct wf_store_queues *q, struct wf_hold *h);
struct wf_hold *wf_hold_of_job(struct wf_store_queues *q, uint64_t id);
struct wf_hold *wf_hold_of_ticket(struct wf_store_queues *q, uint64_t ticket, weft_pid from);
struct wf_hold *wf_hold_of_monitor(struct wf_store_queues *q, uint64_t id);
/* The first hold of this actor, and the next one, at the queue of a shared cursor: wf_hold_of_member(*wf_hold_member_bucket(q,
 * w, who)), and so on with of_member.next. Others may be in between. */
struct wf_chained **wf_hold_member_bucket(struct wf_store_queues *q, const struct wf_work_queue *w, weft_pid who);
struct wf_hold *wf_hold_of_member(struct wf_chained *c);
bool wf_hold_is_of(const struct wf_hold *h, const struct wf_work_queue *w, weft_pid who);

/* Adds a taker, which becomes a user of the queue. `bound`: of a member of a shared cursor; else 0. After an error
 * the caller still owns the request. */
int wf_hold_add(struct wf_store_queues *q, struct wf_work_queue *w, uint64_t ticket, uint32_t bound, weft_msg *ask);
void wf_hold_leave(struct wf_hold *h); /* leaves the line of its queue */
/* Frees a hold that is in no line of a queue and in no batch. This may free its queue. */
void wf_hold_free(struct wf_store_queues *q, struct wf_hold *h);
void wf_hold_end(struct wf_store_queues *q, uint64_t id); /* that of the actor that had this job */
/* The queue has one user less, and may be freed. */
void wf_hold_release_queue(struct wf_store_queues *q, struct wf_work_queue *w);

/* Whether the member has as many jobs as it may have. Jobs whose lease has ended by time do not count; the first of
 * the other leases ends at `*due`. */
bool wf_hold_has_all(struct wf_store_queues *q, const struct wf_hold *taker, int64_t *due);
/* Takes it out of the line until one of the member's jobs ends, or until `due`. */
void wf_hold_back(struct wf_store_queues *q, struct wf_hold *h, int64_t due);
void wf_hold_let_wait(struct wf_store_queues *q, struct wf_hold *h); /* it is in line again */

/* Its node is not linked, perhaps not yet: waits for the node in `away`. */
void wf_hold_go_away(struct wf_store_queues *q, struct wf_hold *h);
/* Monitors those in `away` that are of this node, which is linked now, and frees those whose lease has ended by time. [A, W] */
void wf_hold_come_back(struct wf_store_queues *q, uint64_t node);
/* Monitors a worker that had its job when the store was opened. */
int wf_hold_restore(struct wf_store_queues *q, const struct wf_queue_lease *l);

#endif
