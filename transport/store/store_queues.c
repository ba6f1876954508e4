/* transport/store/store_queues.c -- see store_queues.h.
 *
 * Design notes.
 * (1) All data that must survive a crash is in the engine: a job, the number of times it was taken, and its lease, a
 *     random number that the worker presents when the job is done. This file keeps the waiting takers and the
 *     monitors.
 * (2) A hold is a taker from its request to the end of its lease: it waits at its queue, then it is in the running
 *     batch, then it has a job. It has one monitor for all that time.
 * (3) When a worker ends, its job is given back at once. If the worker's node is lost it may still work, so the lease
 *     ends when it expires. The worker's pid is on disk: a store that is opened again monitors it, as soon as its
 *     node is linked.
 * (4) A taker that gives up sends its ticket (WF_STORE_UNTAKE): the job that it did not receive is given back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/log.h>
#include <weft/node.h>
#include <weft/queue.h>

#include "change_batch.h"
#include "hash.h"
#include "store_messages.h"
#include "store_queues.h"

enum hold_state { IS_WAITING, IS_TAKING, IS_WORKING, IS_AWAY };

struct wf_hold {
    enum hold_state state;
    bool gone;     /* its monitor has fired; while it is taking: the actor has ended */
    bool gives_up; /* while it is taking: it has sent WF_STORE_UNTAKE */
    bool restored; /* it had its job when the store was opened */
    weft_msg *ask; /* NULL: it was restored */
    weft_pid who;
    struct wf_work_queue *queue; /* the hold is a user of this queue */
    weft_monitor_ref monitor;
    uint64_t ticket, id, lease;
    int64_t due;                 /* when the lease ends, if it was restored */
    struct wf_list_node in_line; /* in takers of its queue, in `taking`, or in `away` */
    struct wf_chained of_monitor, of_job, of_ticket;
};

/* A change that has not been stored yet. */
struct wf_change_wait {
    weft_msg *ask; /* NULL: a change by the store itself */
    size_t bytes;  /* of the request, with what this version does not know */
    struct wf_store_change is;
    struct wf_work_queue *queue; /* it is a user of it */
    char key[WF_STORE_KEY_MAX + 1];
    struct wf_change_wait *next;
};

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

void wf_queues_init(struct wf_store_queues *q, struct wf_store_file *file, struct wf_queue_rule *rule, size_t rules)
{
    q->file = file;
    wf_queue_table_init(&q->table, rule, rules, file->store->secret);
    q->end = &q->first;
    wf_list_init(&q->taking);
    wf_list_init(&q->away);
}

static int64_t clock_of(const struct wf_store_queues *q)
{
    return q->file->store->engine->clock(q->file->store);
}

int64_t wf_queues_deadline(const struct wf_store_queues *q)
{
    int64_t due = wf_queue_table_next_due(&q->table);
    if (due == INT64_MAX) return WEFT_FOREVER;
    int64_t left = due - clock_of(q);
    /* The wall clock may be set, so it is checked again after ten seconds. */
    return weft_after(left < 0 ? 0 : left < WEFT_SEC(10) ? left : WEFT_SEC(10));
}

/* ---- Holds ----------------------------------------------------------------------------------------------------- */

static struct wf_chained **monitor_bucket(struct wf_store_queues *q, uint64_t id)
{
    return &q->by_monitor[wf_mix(id) % WF_HOLD_BUCKETS];
}

static struct wf_chained **job_bucket(struct wf_store_queues *q, uint64_t id)
{
    return &q->by_job[wf_mix(id) % WF_HOLD_BUCKETS];
}

/* Takers choose their tickets, so the actor is part of the hash: a taker cannot fill the buckets of other actors. */
static struct wf_chained **ticket_bucket(struct wf_store_queues *q, uint64_t ticket, weft_pid from)
{
    uint64_t key = wf_mix(ticket ^ q->file->store->secret) ^ wf_mix(from.node ^ wf_mix(from.actor));
    return &q->by_ticket[wf_mix(key) % WF_HOLD_BUCKETS];
}

static struct wf_hold *in_line(struct wf_list_node *k)
{
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_hold, in_line);
}

static void leave_queue(struct wf_hold *h)
{
    struct wf_work_queue *w = h->queue;
    if (w->scan == &h->in_line) w->scan = h->in_line.next;
    wf_unlink(&h->in_line);
    w->taker_count--;
}

/* Frees a hold that is in no list of a queue or of a batch. This may free its queue. */
static void free_hold(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_unlink(&h->in_line); /* from `away`, if it is in this list */
    wf_chained_remove(&h->of_monitor);
    wf_chained_remove(&h->of_ticket);
    wf_chained_remove(&h->of_job);
    if (!h->gone) (void)weft_demonitor(h->monitor);
    wf_node_counts_remove(&q->of_node, h->who.node);
    wf_queue_release(&q->table, h->queue);
    weft_msg_free(h->ask);
    free(h);
    q->holds--;
}

static struct wf_hold *hold_of_job(struct wf_store_queues *q, uint64_t id)
{
    for (struct wf_chained *c = *job_bucket(q, id); c != NULL; c = c->next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_job);
        if (h->id == id) return h;
    }
    return NULL;
}

/* Ends the hold of the actor that had this job. */
static void end_hold(struct wf_store_queues *q, uint64_t id)
{
    struct wf_hold *h = hold_of_job(q, id);
    if (h != NULL) free_hold(q, h);
}

/* Removes expired takers to make space: each call checks the next few takers. */
static void drop_expired(struct wf_store_queues *q, struct wf_work_queue *w)
{
    enum { LOOKED_AT = 32 };
    for (int i = 0; i < LOOKED_AT && !wf_list_empty(&w->takers); i++) {
        struct wf_hold *h = in_line(w->scan != &w->takers.head ? w->scan : wf_list_first(&w->takers));
        w->scan = h->in_line.next;
        if (!weft_expired(h->ask)) continue;
        leave_queue(h);
        free_hold(q, h);
    }
}

static int reserve_hold(struct wf_store_queues *q, const struct wf_work_queue *w, const weft_msg *ask)
{
    if (weft_size(ask) > WF_TAKE_BYTES_MAX) return WEFT_ETOOBIG;
    if (w->taker_count >= WF_TAKERS_MAX || q->holds >= WF_HOLDS_MAX) return WEFT_EFULL;
    return wf_node_counts_add(&q->of_node, weft_from(ask).node, WF_HOLDS_OF_NODE);
}

/* Adds a taker, which becomes a user of the queue. After an error the caller still owns the request. */
static int add_taker(struct wf_store_queues *q, struct wf_work_queue *w, uint64_t ticket, weft_msg *ask)
{
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
    w->users++;
    q->holds++;
    wf_chained_push(monitor_bucket(q, h->monitor.id), &h->of_monitor);
    wf_chained_push(ticket_bucket(q, ticket, weft_from(ask)), &h->of_ticket);
    wf_list_push(&w->takers, &h->in_line);
    w->taker_count++;
    wf_queue_look_again(&q->table, w);
    return WEFT_OK;
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

static void answer(const weft_msg *ask, int error, const struct wf_store_change *x)
{
    struct store_changed out = {.error = error};
    if (x != NULL && error == WEFT_OK) {
        out.id = x->job.id;
        out.count = x->count;
    }
    wf_store_answer(ask, store_changed_type(), &out);
}

static void add_change(struct wf_store_queues *q, struct wf_change_wait *c)
{
    *q->end = c;
    q->end = &c->next;
    q->waiting++;
    q->waiting_bytes += c->bytes;
}

/* A change by the store itself. If there is no memory, the lease ends when it expires. */
static void change_by_store(struct wf_store_queues *q, enum wf_store_change_kind kind, struct wf_work_queue *w,
                            uint64_t id, uint64_t lease)
{
    struct wf_change_wait *c = calloc(1, sizeof *c);
    if (c == NULL) return;
    c->queue = w;
    w->users++;
    c->is = (struct wf_store_change){.kind = kind, .queue = w->name, .id = id, .lease = lease};
    c->is.attempts = w->rule->attempts;
    add_change(q, c);
}

static int read_change(struct wf_store_queues *q, struct wf_change_wait *c, const struct store_change *in)
{
    int rc = wf_queue_use(&q->table, in->queue, &c->queue);
    if (rc < 0) return rc;
    const struct wf_queue_rule *rule = c->queue->rule;
    if (in->kind > WF_JOB_CANCEL || in->delay < 0 || in->tag >= WEFT_TAG_SYSTEM) return WEFT_EINVAL;
    if (in->body.size > WF_STORE_RECORD_MAX) return WEFT_ETOOBIG;
    if (!weft_text_copy(in->key, c->key, sizeof c->key)) return WEFT_EINVAL;
    c->is = (struct wf_store_change){.kind = (enum wf_store_change_kind)in->kind,
                                     .queue = c->queue->name,
                                     .delay = in->delay,
                                     .id = in->id,
                                     .lease = in->lease,
                                     .attempts = rule->attempts,
                                     .tag = (uint32_t)in->tag,
                                     .data = in->body.data,
                                     .size = in->body.size,
                                     .key = c->key[0] == '\0' ? NULL : c->key,
                                     .key_age = WEFT_QUEUE_KEY_AGE,
                                     .at = in->at,
                                     .period = in->period,
                                     .jobs_max = rule->jobs};
    if (in->kind == WF_JOB_EXTEND && in->delay == 0) c->is.delay = rule->lease;
    return WEFT_OK;
}

void wf_queues_change(struct wf_store_queues *q, weft_msg *ask)
{
    struct store_change in;
    struct wf_change_wait *c = calloc(1, sizeof *c);
    int rc = c == NULL ? WEFT_ENOMEM
                       : weft_typed_read(store_change_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc == WEFT_OK) rc = read_change(q, c, &in);
    bool takes = rc == WEFT_OK && in.kind == WF_JOB_TAKE;
    if (takes) rc = add_taker(q, c->queue, in.ticket, ask);
    if (rc == WEFT_OK && !takes) {
        c->ask = ask;
        c->bytes = weft_size(ask);
        add_change(q, c);
        return;
    }
    if (c != NULL && c->queue != NULL) wf_queue_release(&q->table, c->queue);
    free(c);
    if (takes && rc == WEFT_OK) return;
    answer(ask, rc, NULL);
    weft_msg_free(ask);
}

static void give_back(struct wf_store_queues *q, struct wf_hold *h, enum wf_store_change_kind kind)
{
    change_by_store(q, kind, h->queue, h->id, h->lease);
    free_hold(q, h);
}

static struct wf_hold *hold_of_ticket(struct wf_store_queues *q, uint64_t ticket, weft_pid from)
{
    for (struct wf_chained *c = *ticket_bucket(q, ticket, from); c != NULL; c = c->next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_ticket);
        if (h->ticket == ticket && weft_pid_equal(h->who, from)) return h;
    }
    return NULL;
}

void wf_queues_untake(struct wf_store_queues *q, weft_msg *m)
{
    struct store_change in;
    weft_pid from = weft_from(m);
    int rc = weft_typed_read(store_change_type(), weft_data(m), weft_size(m), &in, NULL);
    weft_msg_free(m);
    struct wf_hold *h = rc < 0 ? NULL : hold_of_ticket(q, in.ticket, from);
    if (h == NULL) return;
    if (h->state == IS_TAKING) {
        h->gives_up = true;
    } else if (h->state == IS_WORKING) {
        give_back(q, h, WF_JOB_UNTAKE);
    } else {
        leave_queue(h);
        free_hold(q, h);
    }
}

static struct wf_hold *hold_of_monitor(struct wf_store_queues *q, uint64_t id)
{
    for (struct wf_chained *c = *monitor_bucket(q, id); c != NULL; c = c->next) {
        struct wf_hold *h = WF_CONTAINER(c, struct wf_hold, of_monitor);
        if (h->monitor.id == id) return h;
    }
    return NULL;
}

/* Its node is not linked, perhaps not yet: waits for the node in `away`. */
static void go_away(struct wf_store_queues *q, struct wf_hold *h)
{
    wf_chained_remove(&h->of_monitor);
    h->gone = true;
    h->state = IS_AWAY;
    wf_list_push(&q->away, &h->in_line);
}

bool wf_queues_down(struct wf_store_queues *q, const struct weft_down *down)
{
    struct wf_hold *h = hold_of_monitor(q, down->ref.id);
    if (h == NULL) return false;
    bool lives = down->reason == WEFT_EXIT_NODE_LOST; /* it may live */
    if (h->state == IS_TAKING) {
        h->gone = true;
    } else if (h->state == IS_WORKING && !lives) {
        h->gone = true;
        give_back(q, h, WF_JOB_RETURN);
    } else if (h->restored) {
        go_away(q, h);
    } else {
        if (h->state == IS_WAITING) leave_queue(h);
        h->gone = true;
        free_hold(q, h);
    }
    return true;
}

/* ---- Workers of before the opening ----------------------------------------------------------------------------- */

static int watch_worker(struct wf_store_queues *q, weft_pid worker, weft_monitor_ref *monitor)
{
    int rc = wf_node_counts_add(&q->of_node, worker.node, WF_HOLDS_OF_NODE);
    if (rc < 0) return rc;
    rc = weft_monitor(worker, monitor);
    if (rc < 0) wf_node_counts_remove(&q->of_node, worker.node);
    return rc;
}

static int restore(struct wf_store_queues *q, const struct wf_queue_lease *l)
{
    struct wf_work_queue *w = NULL;
    if (q->holds >= WF_HOLDS_MAX) return WEFT_EFULL;
    struct wf_hold *h = calloc(1, sizeof *h);
    int rc = h == NULL ? WEFT_ENOMEM : wf_queue_use(&q->table, weft_cstr(l->queue), &w);
    if (rc == WEFT_OK) rc = watch_worker(q, l->worker, &h->monitor);
    if (rc < 0) {
        if (w != NULL) wf_queue_release(&q->table, w);
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
    q->holds++;
    wf_chained_push(monitor_bucket(q, h->monitor.id), &h->of_monitor);
    wf_chained_push(job_bucket(q, h->id), &h->of_job);
    return WEFT_OK;
}

void wf_queues_restore(struct wf_store_queues *q, const struct wf_queue_lease *lease, size_t count)
{
    size_t missed = 0;
    if (count > 0 && weft_watch_nodes() < 0) missed = count;
    for (size_t i = 0; i < count && missed < count; i++) missed += restore(q, &lease[i]) < 0;
    if (missed > 0)
        weft_log(WEFT_WARN, "store: %zu of %zu workers are not monitored; the leases of their jobs end by time",
                 missed, count);
}

void wf_queues_node_up(struct wf_store_queues *q, uint64_t node)
{
    int64_t now = wf_list_empty(&q->away) ? 0 : clock_of(q);
    WF_LIST_EACH(k, &q->away) {
        struct wf_hold *h = in_line(k);
        if (h->due <= now) {
            free_hold(q, h); /* the lease has ended by time */
        } else if (h->who.node == node && weft_monitor(h->who, &h->monitor) == WEFT_OK) {
            wf_unlink(k);
            h->state = IS_WORKING;
            h->gone = false;
            wf_chained_push(monitor_bucket(q, h->monitor.id), &h->of_monitor);
        }
    }
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

static struct wf_change_wait *pop_change(struct wf_store_queues *q)
{
    struct wf_change_wait *c = q->first;
    q->first = c->next;
    if (q->first == NULL) q->end = &q->first;
    q->waiting--;
    q->waiting_bytes -= c->bytes;
    c->next = NULL;
    return c;
}

static void free_change(struct wf_store_queues *q, struct wf_change_wait *c)
{
    wf_queue_release(&q->table, c->queue);
    weft_msg_free(c->ask);
    free(c);
}

static bool makes_ready(enum wf_store_change_kind kind)
{
    return kind == WF_JOB_PUT || kind == WF_JOB_RETURN || kind == WF_JOB_UNTAKE || kind == WF_JOB_REVIVE ||
           kind == WF_JOB_SET;
}

/* Moves what fits to `running`. Returns the bytes that the batch needs for it. */
static size_t choose_changes(struct wf_store_queues *q, size_t *count)
{
    struct wf_change_wait **end = &q->running;
    size_t bytes = 0, space = 0;
    while (q->first != NULL && *count < WF_STORE_BATCH_MAX - WF_STORE_TAKES_MAX &&
           bytes + q->first->is.size <= WF_STORE_BATCH_BYTES_MAX) {
        struct wf_change_wait *c = pop_change(q);
        if (c->ask != NULL && weft_expired(c->ask)) {
            free_change(q, c);
            continue;
        }
        ++*count;
        bytes += c->is.size;
        space += strlen(c->queue->name) + strlen(c->key) + 2;
        *end = c;
        end = &c->next;
        if (makes_ready(c->is.kind)) wf_queue_look_again(&q->table, c->queue);
    }
    return bytes + space;
}

/* Moves takers to `taking`, one of each queue in turn, so that a busy queue does not keep the others waiting. */
static size_t choose_takers(struct wf_store_queues *q, size_t *count)
{
    size_t takes = 0, space = 0;
    for (struct wf_work_queue *w; takes < WF_STORE_TAKES_MAX && (w = wf_queue_next_to_look(&q->table)) != NULL;) {
        struct wf_hold *h = in_line(wf_list_first(&w->takers));
        leave_queue(h);
        if (weft_expired(h->ask)) {
            free_hold(q, h);
            continue;
        }
        h->state = IS_TAKING;
        wf_list_push(&q->taking, &h->in_line);
        takes++;
        space += strlen(w->name) + 1;
    }
    *count += takes;
    return space;
}

static struct wf_change_batch *next_batch(struct wf_store_queues *q)
{
    size_t count = 0, bytes = choose_changes(q, &count);
    bytes += choose_takers(q, &count);
    struct wf_change_batch *b = count == 0 ? NULL : wf_change_batch_new(q->file, count, bytes);
    for (struct wf_change_wait *c = q->running; c != NULL && b != NULL; c = c->next) wf_change_batch_add(b, &c->is);
    WF_LIST_EACH(k, &q->taking) {
        const struct wf_hold *h = in_line(k);
        if (b == NULL) break;
        const struct wf_queue_rule *rule = h->queue->rule;
        wf_change_batch_add(b, &(struct wf_store_change){.kind = WF_JOB_TAKE,
                                                         .queue = h->queue->name,
                                                         .delay = rule->lease,
                                                         .attempts = rule->attempts,
                                                         .node = h->who.node,
                                                         .actor = h->who.actor});
    }
    return b;
}

static void finish_change(struct wf_store_queues *q, struct wf_change_wait *c, int error,
                          const struct wf_store_change *x)
{
    if (c->ask != NULL) answer(c->ask, error, x);
    bool ends = c->is.kind == WF_JOB_DONE || c->is.kind == WF_JOB_RETURN;
    struct wf_hold *h = ends && error == WEFT_OK ? hold_of_job(q, c->is.id) : NULL;
    if (h != NULL && h->lease == c->is.lease) free_hold(q, h);
    if (error == WEFT_OK && x->removed != 0) end_hold(q, x->removed);
    if (error == WEFT_OK && x->next_due != 0) wf_queue_look_again(&q->table, c->queue);
    free_change(q, c);
}

/* Sends the job to the taker. False: the message could not be sent. */
static bool give_job(const struct wf_hold *h, const struct wf_store_change *x)
{
    struct store_changed out = {.id = x->job.id,
                                .lease = x->job.lease,
                                .time = x->job.time,
                                .attempts = x->job.attempts,
                                .tag = x->job.tag,
                                .body = weft_str(x->body, x->job.size),
                                .key = weft_cstr(x->reminder),
                                .at = x->reminder == NULL ? 0 : x->at,
                                .period = x->reminder == NULL ? 0 : x->period};
    weft_msg *m = wf_store_message(WF_STORE_CHANGE, store_changed_type(), &out);
    return m != NULL && weft_reply_msg(h->ask, m) == WEFT_OK;
}

static void start_work(struct wf_store_queues *q, struct wf_hold *h, const struct wf_store_change *x)
{
    end_hold(q, x->job.id); /* its lease has ended by time */
    h->id = x->job.id;
    h->lease = x->job.lease;
    h->state = IS_WORKING;
    wf_chained_push(job_bucket(q, h->id), &h->of_job);
    if (h->gone || h->gives_up || !give_job(h, x)) give_back(q, h, WF_JOB_UNTAKE);
}

/* There was no job for the taker: it keeps waiting, before the takers that came later. */
static void wait_on(struct wf_store_queues *q, struct wf_hold *h, int64_t next_due)
{
    struct wf_work_queue *w = h->queue;
    w->may_have = false;
    wf_queue_set_due(&q->table, w, next_due);
    if (h->gone || h->gives_up) {
        free_hold(q, h);
        return;
    }
    h->state = IS_WAITING;
    wf_list_push_front(&w->takers, &h->in_line);
    w->taker_count++;
}

static void finish_take(struct wf_store_queues *q, struct wf_hold *h, const struct wf_store_change *x)
{
    if (x->count > q->damaged)
        weft_log(WEFT_ERROR, "queue %s: %llu jobs are damaged and are not given; 'weft store check' lists them",
                 h->queue->name, (unsigned long long)x->count);
    q->damaged = x->count;
    if (x->error == WEFT_OK) {
        wf_queue_look_again(&q->table, h->queue);
        start_work(q, h, x);
    } else if (x->error == WEFT_ENOTFOUND) {
        wait_on(q, h, x->next_due);
    } else {
        answer(h->ask, x->error, NULL);
        free_hold(q, h);
    }
}

/* It goes from the last taker to the first, so that takers that keep waiting stay in their order of arrival. */
static void finish_takes(struct wf_store_queues *q, const struct wf_store_change *x)
{
    struct wf_hold *taker[WF_STORE_TAKES_MAX];
    size_t count = 0;
    for (struct wf_hold *h; (h = in_line(wf_list_pop(&q->taking))) != NULL;) {
        assert(count < WF_STORE_TAKES_MAX);
        taker[count++] = h;
    }
    for (size_t i = count; i > 0; i--) finish_take(q, taker[i - 1], &x[i - 1]);
}

static void refuse_batch(struct wf_store_queues *q, int error)
{
    struct wf_store_change refused[WF_STORE_TAKES_MAX];
    for (size_t i = 0; i < WF_STORE_TAKES_MAX; i++) refused[i] = (struct wf_store_change){.error = error};
    for (struct wf_change_wait *c = q->running, *next; c != NULL; c = next) {
        next = c->next;
        finish_change(q, c, error, NULL);
    }
    q->running = NULL;
    finish_takes(q, refused);
}

bool wf_queues_start(struct wf_store_queues *q, weft_job *job)
{
    if (wf_queue_table_next_due(&q->table) < INT64_MAX) wf_queue_table_tick(&q->table, clock_of(q));
    if (q->first == NULL && wf_list_empty(&q->table.to_look)) return false;
    struct wf_change_batch *b = next_batch(q);
    if (q->running == NULL && wf_list_empty(&q->taking)) return false;
    int rc = b == NULL ? WEFT_ENOMEM
                       : weft_offload_start(job, wf_change_batch_run, wf_change_batch_drop, &b, sizeof(void *),
                                            WEFT_FOREVER);
    if (rc == WEFT_OK) return true;
    wf_change_batch_free(b);
    refuse_batch(q, rc);
    return false;
}

void wf_queues_finish(struct wf_store_queues *q, weft_job job)
{
    struct wf_change_batch *b = NULL;
    int rc = weft_offload_take(job, &b, sizeof(void *), WEFT_FOREVER);
    if (rc == WEFT_OK) rc = b->rc;
    if (rc < 0) {
        refuse_batch(q, b == NULL ? WEFT_ESYSTEM : rc);
    } else {
        size_t i = 0;
        for (struct wf_change_wait *c = q->running, *next; c != NULL; c = next, i++) {
            next = c->next;
            finish_change(q, c, b->item[i].error, &b->item[i]);
        }
        q->running = NULL;
        finish_takes(q, &b->item[i]);
    }
    wf_change_batch_free(b);
}

bool wf_queues_is_idle(const struct wf_store_queues *q)
{
    return q->first == NULL;
}

bool wf_queues_has_space(const struct wf_store_queues *q)
{
    return q->waiting < WF_STORE_BATCH_MAX && q->waiting_bytes < WF_STORE_BATCH_BYTES_MAX;
}

/* The actor ends: its messages and monitors end with it. */
void wf_queues_free(struct wf_store_queues *q)
{
    for (struct wf_change_wait *c = q->running, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    while (q->first != NULL) free(pop_change(q));
    for (int i = 0; i < WF_HOLD_BUCKETS; i++)
        for (struct wf_chained *c = q->by_monitor[i], *next; c != NULL; c = next) {
            next = c->next;
            free(WF_CONTAINER(c, struct wf_hold, of_monitor));
        }
    for (struct wf_list_node *k; (k = wf_list_pop(&q->away)) != NULL;) free(in_line(k));
    wf_queue_table_free(&q->table);
    wf_node_counts_free(&q->of_node);
}
