/* transport/store/server/store_holds.c -- see store_holds.h. */
#include <stdlib.h>

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/store.h>

#include "hash.h"
#include "shared_record.h"
#include "store_holds.h"

/* ---- Buckets and lines ----------------------------------------------------------------------------------------- */

static struct wf_chained **monitor_bucket(struct wf_store_queues *q, uint64_t id)
{
    return &q->by_monitor[wf_mix(id) % WF_HOLD_BUCKETS];
}

static struct wf_chained **job_bucket(struct wf_store_queues *q, uint64_t id)
{
    return &q->by_job[wf_mix(id) % WF_HOLD_BUCKETS];
}

void wf_hold_found_by_monitor(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_chained_push(monitor_bucket(q, h->monitor.id), &h->of_monitor);
}

void wf_hold_found_by_job(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_chained_push(job_bucket(q, h->id), &h->of_job);
}

/* Takers choose their tickets, so the actor is part of the hash: a taker cannot fill the buckets of other actors. */
static struct wf_chained **ticket_bucket(struct wf_store_queues *q, uint64_t ticket, weft_pid from)
{
    uint64_t key = wf_mix(ticket ^ q->file->store->secret) ^ wf_mix(from.node ^ wf_mix(from.actor));
    return &q->by_ticket[wf_mix(key) % WF_HOLD_BUCKETS];
}

/* Of the takers, and the jobs, of one actor at one queue: an actor may be a member of hundreds. Another node chooses the
 * numbers of its actors. */
struct wf_chained **wf_hold_member_bucket(struct wf_store_queues *q, const struct wf_work_queue *w, weft_pid who)
{
    uint64_t key = q->file->store->secret ^ who.node ^ wf_mix(who.actor ^ wf_mix((uint64_t)(uintptr_t)w));
    return &q->by_member[wf_mix(key) % WF_HOLD_BUCKETS];
}

static struct wf_chained **node_bucket(struct wf_store_queues *q, uint64_t node)
{
    return &q->away_of[wf_mix(q->file->store->secret ^ node) % WF_AWAY_BUCKETS];
}

bool wf_hold_is_of(const struct wf_hold *h, const struct wf_work_queue *w, weft_pid who)
{
    return h->queue == w && weft_pid_equal(h->who, who);
}

struct wf_hold *wf_hold_of_member(struct wf_chained *c)
{
    return c == NULL ? NULL : WF_CONTAINER(c, struct wf_hold, of_member);
}

struct wf_hold *wf_hold_at(struct wf_list_node *k)
{
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_hold, in_line);
}

void wf_hold_leave(struct wf_hold *h)
{
    struct wf_work_queue *w = h->queue;
    if (w->scan == &h->in_line) w->scan = h->in_line.next;
    wf_unlink(&h->in_line);
    w->taker_count--;
}

void wf_hold_release_queue(struct wf_store_queues *q, struct wf_work_queue *w)
{
    if (w->users == 1)
        q->effort->done += wf_shares_leave(&q->shares, w); /* the caller counts, and may end its turn then */
    wf_queue_release(&q->table, w);
}

/* The taker waits in line, behind the others. */
static void get_in_line(struct wf_store_queues *q, struct wf_hold *h)
{
    struct wf_work_queue *w = h->queue;
    wf_list_push(&w->takers, &h->in_line);
    w->taker_count++;
    wf_queue_look_again(&q->table, w);
    wf_share_changed(&q->shares, w->share);
}

/* A taker that was held waits in line again. */
void wf_hold_let_wait(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_unlink(&h->in_line);
    h->state = IS_WAITING;
    get_in_line(q, h);
}

/* The member has one job less. */
static void let_member_wait(struct wf_store_queues *q, const struct wf_work_queue *w, weft_pid who)
{
    for (struct wf_hold *h = wf_hold_of_member(*wf_hold_member_bucket(q, w, who)); h != NULL;
         h = wf_hold_of_member(h->of_member.next)) {
        q->effort->done++; /* the caller counts, and may end its turn then */
        if (h->state != IS_HELD || !wf_hold_is_of(h, w, who)) continue;
        wf_hold_let_wait(q, h);
        return;
    }
}

/* Frees a hold that is in no list of a queue or of a batch. This may free its queue. */
void wf_hold_free(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_unlink(&h->in_line); /* from `away` or `held`, if it is in this list */
    wf_chained_remove(&h->of_member);
    if (h->state == IS_WORKING || h->state == IS_TAKING) let_member_wait(q, h->queue, h->who);
    wf_chained_remove(&h->of_monitor);
    wf_chained_remove(&h->of_ticket);
    wf_chained_remove(&h->of_job);
    wf_chained_remove(&h->of_node);
    if (!h->gone) (void)weft_demonitor(h->monitor);
    wf_node_counts_remove(&q->of_node, h->who.node);
    wf_hold_release_queue(q, h->queue);
    weft_msg_free(h->ask);
    free(h);
    q->holds--;
}

struct wf_hold *wf_hold_of_job(struct wf_store_queues *q, uint64_t id)
{
    for (struct wf_chained *c = *job_bucket(q, id); c != NULL; c = c->next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_job);
        if (h->id == id) return h;
    }
    return NULL;
}

/* Ends the hold of the actor that had this job. */
void wf_hold_end(struct wf_store_queues *q, uint64_t id)
{
    struct wf_hold *h = wf_hold_of_job(q, id);
    if (h != NULL) wf_hold_free(q, h);
}

struct wf_hold *wf_hold_of_ticket(struct wf_store_queues *q, uint64_t ticket, weft_pid from)
{
    for (struct wf_chained *c = *ticket_bucket(q, ticket, from); c != NULL; c = c->next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_ticket);
        if (h->ticket == ticket && weft_pid_equal(h->who, from)) return h;
    }
    return NULL;
}

struct wf_hold *wf_hold_of_monitor(struct wf_store_queues *q, uint64_t id)
{
    for (struct wf_chained *c = *monitor_bucket(q, id); c != NULL; c = c->next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_monitor);
        if (h->monitor.id == id) return h;
    }
    return NULL;
}

/* Removes expired takers to make space: each call checks the next few takers. */
static void drop_expired(struct wf_store_queues *q, struct wf_work_queue *w)
{
    enum { LOOKED_AT = 32 };
    for (int i = 0; i < LOOKED_AT && !wf_list_empty(&w->takers); i++) {
        struct wf_hold *h = wf_hold_at(w->scan != &w->takers.head ? w->scan : wf_list_first(&w->takers));
        w->scan = h->in_line.next;
        if (!weft_expired(h->ask)) continue;
        wf_hold_leave(h);
        wf_hold_free(q, h);
    }
}

/* Whether a member of a shared cursor has as many requests as it may have. Each taking looks at all that it has, so that many
 * would take the square of that. */
static bool waits_enough(struct wf_store_queues *q, const struct wf_work_queue *w, weft_pid who)
{
    size_t count = 0;
    for (struct wf_hold *h = wf_hold_of_member(*wf_hold_member_bucket(q, w, who)), *next; h != NULL; h = next) {
        next = wf_hold_of_member(h->of_member.next);
        q->effort->done++; /* the caller counts, and may end its turn then */
        bool waits = wf_hold_is_of(h, w, who) && (h->state == IS_WAITING || h->state == IS_HELD);
        if (waits && weft_expired(h->ask)) {
            if (h->state == IS_WAITING) wf_hold_leave(h);
            wf_hold_free(q, h);
        } else {
            count += waits;
        }
    }
    return count >= WF_MEMBER_WAITS_MAX;
}

static int reserve_hold(struct wf_store_queues *q, const struct wf_work_queue *w, const weft_msg *ask)
{
    if (weft_size(ask) > WF_TAKE_BYTES_MAX) return WEFT_ETOOBIG;
    if (w->taker_count >= WF_TAKERS_MAX || q->holds >= WF_HOLDS_MAX) return WEFT_EFULL;
    return wf_node_counts_add(&q->of_node, weft_from(ask).node, WF_HOLDS_OF_NODE);
}

/* Adds a taker, which becomes a user of the queue. After an error the caller still owns the request. */
int wf_hold_add(struct wf_store_queues *q, struct wf_work_queue *w, uint64_t ticket, uint32_t bound, weft_msg *ask)
{
    if (bound > 0 && waits_enough(q, w, weft_from(ask))) return WEFT_EFULL;
    int rc = reserve_hold(q, w, ask);
    if (rc == WEFT_EFULL) drop_expired(q, w);
    if (rc == WEFT_EFULL) rc = reserve_hold(q, w, ask);
    if (rc < 0) return rc;
    struct wf_hold *h = calloc(1, sizeof *h);
    rc = h == NULL ? WEFT_ENOMEM : weft_monitor(weft_from(ask), &h->monitor);
    if (rc < 0) {
        wf_node_counts_remove(&q->of_node, weft_from(ask).node);
        free(h);
        return rc;
    }
    h->ask = ask;
    h->who = weft_from(ask);
    h->queue = w;
    h->ticket = ticket;
    h->bound = bound;
    w->users++;
    q->holds++;
    wf_hold_found_by_monitor(q, h);
    wf_chained_push(ticket_bucket(q, ticket, weft_from(ask)), &h->of_ticket);
    if (bound > 0) wf_chained_push(wf_hold_member_bucket(q, w, h->who), &h->of_member);
    get_in_line(q, h);
    return WEFT_OK;
}

/* Jobs whose lease has ended by time do not count; the first of the other leases ends at `*due`. */
bool wf_hold_has_all(struct wf_store_queues *q, const struct wf_hold *taker, int64_t *due)
{
    size_t count = 0;
    int64_t now = wf_queues_clock(q);
    *due = INT64_MAX;
    for (struct wf_hold *h = wf_hold_of_member(*wf_hold_member_bucket(q, taker->queue, taker->who)); h != NULL;
         h = wf_hold_of_member(h->of_member.next)) {
        q->effort->done++; /* the caller counts, and may end its turn then */
        if (!wf_hold_is_of(h, taker->queue, taker->who)) continue;
        bool works = h->state == IS_WORKING && h->due > now;
        if (works && h->due < *due) *due = h->due;
        count += works || h->state == IS_TAKING;
    }
    return count >= taker->bound;
}

/* Its member has to end one of its jobs first. */
void wf_hold_back(struct wf_store_queues *q, struct wf_hold *h, int64_t due)
{
    struct wf_work_queue *w = h->queue;
    h->state = IS_HELD;
    wf_list_push(&w->held, &h->in_line);
    wf_queue_due_by(&q->table, w, due);
}

/* Its node is not linked, perhaps not yet: waits for the node in `away`. */
void wf_hold_go_away(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_chained_remove(&h->of_monitor);
    h->gone = true;
    h->state = IS_AWAY;
    wf_list_push(&q->away, &h->in_line);
    wf_chained_push(node_bucket(q, h->who.node), &h->of_node);
}

/* Looks at the next few: each node that comes may end some of other nodes. */
static void drop_ended(struct wf_store_queues *q, int64_t now)
{
    enum { LOOKED_AT = 32 };
    for (int i = 0; i < LOOKED_AT && !wf_list_empty(&q->away); i++) {
        struct wf_hold *h = wf_hold_at(wf_list_pop(&q->away));
        wf_list_push(&q->away, &h->in_line);
        if (h->due <= now) wf_hold_free(q, h);
        wf_effort_count(q->effort, WF_EFFORT_COMPARE);
    }
}

static void monitor_again(struct wf_store_queues *q, struct wf_hold *h)
{
    if (weft_monitor(h->who, &h->monitor) < 0) return;
    wf_unlink(&h->in_line);
    wf_chained_remove(&h->of_node);
    h->state = IS_WORKING;
    h->gone = false;
    wf_hold_found_by_monitor(q, h);
}

/* The turn may end in between, and this actor receives nothing meanwhile: so the bucket stays as it is. */
void wf_hold_come_back(struct wf_store_queues *q, uint64_t node)
{
    if (wf_list_empty(&q->away)) return;
    const int64_t now = wf_queues_clock(q);
    drop_ended(q, now);
    for (struct wf_chained *c = *node_bucket(q, node), *next; c != NULL; c = next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_node);
        next = c->next;
        wf_effort_count(q->effort, h->who.node == node ? WF_EFFORT_ANSWER : WF_EFFORT_COMPARE);
        if (h->due <= now) wf_hold_free(q, h);
        else if (h->who.node == node) monitor_again(q, h);
    }
}

static int watch_worker(struct wf_store_queues *q, weft_pid worker, weft_monitor_ref *monitor)
{
    int rc = wf_node_counts_add(&q->of_node, worker.node, WF_HOLDS_OF_NODE);
    if (rc < 0) return rc;
    rc = weft_monitor(worker, monitor);
    if (rc < 0) wf_node_counts_remove(&q->of_node, worker.node);
    return rc;
}

int wf_hold_restore(struct wf_store_queues *q, const struct wf_queue_lease *l)
{
    struct wf_work_queue *w = NULL;
    if (q->holds >= WF_HOLDS_MAX) return WEFT_EFULL;
    struct wf_hold *h = calloc(1, sizeof *h);
    int rc = h == NULL ? WEFT_ENOMEM : wf_queue_use(&q->table, weft_cstr(l->queue), &w);
    if (rc == WEFT_OK) rc = watch_worker(q, l->worker, &h->monitor);
    if (rc < 0) {
        if (w != NULL) wf_hold_release_queue(q, w);
        free(h);
        return rc;
    }
    h->state = IS_WORKING;
    h->restored = true;
    h->who = l->worker;
    h->queue = w;
    h->id = l->id;
    h->lease = l->lease;
    h->due = l->due;
    h->log = l->tag;
    q->holds++;
    if (wf_shared_is(w->name)) wf_chained_push(wf_hold_member_bucket(q, w, h->who), &h->of_member);
    wf_hold_found_by_monitor(q, h);
    wf_hold_found_by_job(q, h);
    return WEFT_OK;
}
