/* transport/store/server/store_queues.c -- see store_queues.h.
 *
 * Design notes.
 * (1) All data that must survive a crash is in the engine: a job, the number of times it was taken, and its lease, a
 *     random number that the worker presents when the job is done. This room keeps the waiting takers and the
 *     monitors (store_holds.h).
 * (2) When a worker ends, its job is given back at once. If the worker's node is lost it may still work, so the lease
 *     ends when it expires. The worker's pid is on disk: a store that is opened again monitors it, as soon as its
 *     node is linked.
 * (3) A member of a shared cursor is a taker of its queue, and its records are jobs (store_shares.h). A taker whose
 *     member has as many jobs as it may have is held: it leaves the line until one of these leases ends.
 * (4) A taker that gives up sends its ticket (WF_STORE_UNTAKE): the job that it did not receive is given back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/log.h>
#include <weft/node.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "shared_record.h"
#include "store_batch.h"
#include "store_holds.h"
#include "store_messages.h"
#include "store_queues.h"
#include "stored_topic.h"

static_assert((int)WEFT_QUEUE_TAKERS_MAX == (int)WF_TAKERS_MAX, "takers of a queue");
static_assert((int)WEFT_QUEUE_LEASES_MAX == (int)WF_HOLDS_MAX, "takers and leases of a store");
static_assert((int)WEFT_SHARED_BOUND_MAX == (int)WF_MEMBER_BOUND_MAX, "records of a member");
static_assert((int)WEFT_SHARED_MAX == (int)WF_SHARES_MAX, "shared cursors");

/* A change that has not been stored yet. */
struct change {
    struct wf_pending_request request;
    struct wf_store_change is;
    struct wf_work_queue *queue;    /* it is a user of it */
    char key[WF_STORE_KEY_MAX + 1]; /* or the topic whose records are shared */
    struct change *last; /* several jobs are done by one request, which is with this last one; NULL: else */
    int failed;          /* the error of one of the others */
    bool has_before;     /* it is the last one of others */
    bool relies;         /* some of the others were part of an earlier request */
};

static struct change *change_of(struct wf_pending_request *r)
{
    return WF_CONTAINER(r, struct change, request);
}

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

void wf_queues_init(struct wf_store_queues *q, struct wf_store_file *file, struct wf_effort *effort,
                    struct wf_queue_rule *rule, size_t rules)
{
    q->file = file;
    q->effort = effort;
    wf_queue_table_init(&q->table, rule, rules, file->store->secret);
    wf_pending_requests_init(&q->requests, effort);
    wf_shares_init(&q->shares, file);
    wf_list_init(&q->taking);
    wf_list_init(&q->away);
}

int64_t wf_queues_deadline(const struct wf_store_queues *q)
{
    int64_t due = wf_queue_table_next_due(&q->table);
    if (due == INT64_MAX) return WEFT_FOREVER;
    int64_t left = due - wf_queues_clock(q);
    if (left <= 0) return WEFT_NOW;
    /* The wall clock may be set, so it is checked again after ten seconds. It may count milliseconds only: a shorter
     * wait would end before it shows the time that is due, again and again. */
    if (left > WEFT_SEC(10)) return weft_after(WEFT_SEC(10));
    return weft_after((left + WEFT_MS(1) - 1) / WEFT_MS(1) * WEFT_MS(1));
}

/* ---- Changes --------------------------------------------------------------------------------------------------- */

static void answer(const weft_msg *ask, int error, const struct wf_store_change *x)
{
    struct store_changed out = {.error = error};
    if (x != NULL && error == WEFT_OK) {
        out.id = x->job.id;
        out.count = x->count;
    }
    if (weft_tag(ask) == WF_STORE_SHARE)
        wf_store_answer(ask, store_shared_type(), &(struct store_shared){.error = error});
    else wf_store_answer(ask, store_changed_type(), &out);
}

/* A change by the store itself. If there is no memory, the lease ends when it expires. */
static struct change *change_by_store(struct wf_store_queues *q, enum wf_store_change_kind kind,
                                      struct wf_work_queue *w, uint64_t id, uint64_t lease)
{
    struct change *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->queue = w;
    w->users++;
    c->is = (struct wf_store_change){.kind = kind, .queue = w->name, .id = id, .lease = lease};
    c->is.attempts = w->rule->attempts;
    wf_pending_requests_add(&q->requests, &c->request);
    return c;
}

/* What the queues of shared cursors do not take: their jobs are records, and members take them. */
static bool is_of_jobs(uint64_t kind)
{
    return kind == WF_JOB_PUT || kind == WF_JOB_TAKE || kind == WF_JOB_SET || kind == WF_JOB_CANCEL;
}

static int read_change(struct wf_store_queues *q, struct change *c, const struct store_change *in)
{
    int rc = wf_queue_use(&q->table, in->queue, &c->queue);
    if (rc < 0) return rc;
    const struct wf_queue_rule *rule = c->queue->rule;
    if (in->kind > WF_JOB_DROP || in->kind == WF_JOB_SHARE || in->delay < 0 || in->tag >= WEFT_TAG_SYSTEM)
        return WEFT_EINVAL;
    if (wf_shared_is(c->queue->name) && is_of_jobs(in->kind)) return WEFT_EINVAL;
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

/* The record of a shared cursor is done: so are those of its topic that come before it and that its member was
 * given before it. One that was given later may still be in the member's mailbox. In what order records were given
 * before the store was opened is not known. */
static void add_those_before(struct wf_store_queues *q, struct change *c)
{
    const struct wf_hold *is = wf_hold_of_job(q, c->is.id);
    if (is == NULL || is->lease != c->is.lease || is->queue != c->queue || !wf_shared_is(c->queue->name)) return;
    for (struct wf_hold *h = wf_hold_of_member(*wf_hold_member_bucket(q, is->queue, is->who)); h != NULL;
         h = wf_hold_of_member(h->of_member.next)) {
        q->effort->done++; /* the caller counts, and may end its turn then */
        if (!wf_hold_is_of(h, is->queue, is->who) || h->state != IS_WORKING) continue;
        if (h->log != is->log || h->id >= is->id || h->given == 0 || h->given >= is->given) continue;
        if (h->ends) { /* by an earlier request, which is stored before this one */
            c->relies = q->relies = true;
            continue;
        }
        struct change *before = change_by_store(q, WF_JOB_DONE, h->queue, h->id, h->lease);
        if (before == NULL) {
            c->failed = WEFT_ENOMEM;
            continue;
        }
        q->effort->done += WF_EFFORT_COMPARE;
        before->last = c;
        c->has_before = true;
        h->ends = true;
    }
}

/* The queue of a shared cursor. */
static int use_shared(struct wf_store_queues *q, const struct store_share *in, uint64_t node,
                      struct wf_work_queue **out)
{
    char name[WEFT_CURSOR_NAME_MAX + 1], pattern[WF_STORE_TOPIC_MAX + 1];
    char queue[WF_SHARED_PREFIX_SIZE + sizeof name] = WF_SHARED_PREFIX;
    if (!weft_text_copy(in->name, name, sizeof name) || !wf_store_cursor_ok(name)) return WEFT_EINVAL;
    if (!weft_text_copy(in->pattern, pattern, sizeof pattern) || !wf_store_pattern_ok(pattern)) return WEFT_EINVAL;
    if (in->bound == 0 || in->bound > WF_MEMBER_BOUND_MAX) return WEFT_EINVAL;
    memcpy(queue + WF_SHARED_PREFIX_SIZE, name, sizeof name);
    int rc = wf_queue_use(&q->table, weft_cstr(queue), out);
    if (rc == WEFT_OK) rc = wf_shares_join(&q->shares, *out, pattern, node);
    if (rc == WEFT_OK || *out == NULL) return rc;
    wf_hold_release_queue(q, *out);
    *out = NULL;
    return rc;
}

void wf_queues_share(struct wf_store_queues *q, weft_msg *ask)
{
    struct store_share in;
    struct wf_work_queue *w = NULL;
    int rc = weft_typed_read(store_share_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc == WEFT_OK) rc = use_shared(q, &in, weft_from(ask).node, &w);
    const bool takes = rc == WEFT_OK && in.ticket != 0;
    if (takes) rc = wf_hold_add(q, w, in.ticket, (uint32_t)in.bound, ask);
    if (w != NULL) wf_hold_release_queue(q, w);
    if (takes && rc == WEFT_OK) return;
    answer(ask, rc, NULL);
    weft_msg_free(ask);
}

void wf_queues_change(struct wf_store_queues *q, weft_msg *ask)
{
    struct store_change in;
    struct change *c = calloc(1, sizeof *c);
    int rc = c == NULL ? WEFT_ENOMEM
                       : weft_typed_read(store_change_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc == WEFT_OK) rc = read_change(q, c, &in);
    bool takes = rc == WEFT_OK && in.kind == WF_JOB_TAKE;
    if (takes) rc = wf_hold_add(q, c->queue, in.ticket, 0, ask);
    if (rc == WEFT_OK && !takes) {
        c->request.ask = ask;
        c->request.bytes = weft_size(ask);
        c->request.data = c->is.size;
        if (in.upto && c->is.kind == WF_JOB_DONE) add_those_before(q, c);
        wf_pending_requests_add(&q->requests, &c->request);
        return;
    }
    if (c != NULL && c->queue != NULL) wf_hold_release_queue(q, c->queue);
    free(c);
    if (takes && rc == WEFT_OK) return;
    answer(ask, rc, NULL);
    weft_msg_free(ask);
}

static void give_back(struct wf_store_queues *q, struct wf_hold *h, enum wf_store_change_kind kind)
{
    change_by_store(q, kind, h->queue, h->id, h->lease);
    wf_hold_free(q, h);
}

void wf_queues_untake(struct wf_store_queues *q, weft_msg *m)
{
    struct store_change in;
    weft_pid from = weft_from(m);
    int rc = weft_typed_read(store_change_type(), weft_data(m), weft_size(m), &in, NULL);
    weft_msg_free(m);
    struct wf_hold *h = rc < 0 ? NULL : wf_hold_of_ticket(q, in.ticket, from);
    if (h == NULL) return;
    if (h->state == IS_HELD) {
        wf_hold_free(q, h);
        return;
    }
    if (h->state == IS_TAKING) {
        h->gives_up = true;
    } else if (h->state == IS_WORKING) {
        give_back(q, h, WF_JOB_UNTAKE);
    } else {
        wf_hold_leave(h);
        wf_hold_free(q, h);
    }
}

bool wf_queues_down(struct wf_store_queues *q, const struct weft_down *down)
{
    struct wf_hold *h = wf_hold_of_monitor(q, down->ref.id);
    if (h == NULL) return false;
    bool lives = down->reason == WEFT_EXIT_NODE_LOST; /* it may live */
    if (h->state == IS_TAKING) {
        h->gone = true;
    } else if (h->state == IS_WORKING && !lives) {
        h->gone = true;
        give_back(q, h, WF_JOB_RETURN);
    } else if (h->restored) {
        wf_hold_go_away(q, h);
    } else {
        if (h->state == IS_WAITING) wf_hold_leave(h);
        h->gone = true;
        wf_hold_free(q, h);
    }
    return true;
}

/* ---- Workers of before the opening ----------------------------------------------------------------------------- */

void wf_queues_restore(struct wf_store_queues *q, const struct wf_queue_lease *lease, size_t count)
{
    size_t missed = 0;
    if (count > 0 && weft_watch_nodes() < 0) missed = count;
    for (size_t i = 0; i < count && missed < count; i++) {
        missed += wf_hold_restore(q, &lease[i]) < 0;
        wf_effort_count(q->effort, WF_EFFORT_ANSWER);
    }
    if (missed > 0)
        weft_log(WEFT_WARN, "store: %zu of %zu workers are not monitored; the leases of their jobs end by time",
                 missed, count);
}

void wf_queues_node_up(struct wf_store_queues *q, uint64_t node)
{
    wf_hold_come_back(q, node);
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

/* It may be the first of the batch whose results are used: it leaves that only now, as the actor may be killed while it
 * answers. */
static void free_change(struct wf_store_queues *q, struct change *c)
{
    if (q->requests.running == &c->request) q->requests.running = c->request.next;
    wf_hold_release_queue(q, c->queue);
    wf_pending_request_free(&c->request);
}

static bool makes_ready(enum wf_store_change_kind kind)
{
    return kind == WF_JOB_PUT || kind == WF_JOB_RETURN || kind == WF_JOB_UNTAKE || kind == WF_JOB_REVIVE ||
           kind == WF_JOB_SET || kind == WF_JOB_SHARE;
}

/* Its caller has given up: those that it ends besides are ended all the same. */
static void drop_change(void *arg, struct wf_pending_request *r)
{
    struct wf_store_queues *q = arg;
    struct change *c = change_of(r);
    size_t work = WF_EFFORT_COMPARE;
    for (struct wf_pending_request *o = c->has_before ? q->requests.running : NULL; o != NULL; o = o->next, work++)
        if (change_of(o)->last == c) change_of(o)->last = NULL;
    free_change(q, c);
    q->effort->done += work; /* wf_pending_requests_choose counts, and may end its turn then */
}

/* Moves the changes that fit to `running`. Returns the bytes that the batch needs for them. */
static size_t choose_changes(struct wf_store_queues *q, size_t *count)
{
    size_t bytes = 0;
    *count = wf_pending_requests_choose(&q->requests, WF_STORE_BATCH_MAX - WF_STORE_TAKES_MAX, &bytes, drop_change,
                                        q);
    for (struct wf_pending_request *r = q->requests.running; r != NULL; r = r->next) {
        struct change *c = change_of(r);
        bytes += strlen(c->queue->name) + strlen(c->key) + 2;
        if (makes_ready(c->is.kind)) wf_queue_look_again(&q->table, c->queue);
    }
    return bytes;
}

/* Moves takers to `taking`, one of each queue in turn, so that a busy queue does not keep the others waiting. Thousands may
 * have expired, or have as much as they may have. */
static size_t choose_takers(struct wf_store_queues *q, size_t *count)
{
    size_t takes = 0, space = 0;
    int64_t due;
    while (takes < WF_STORE_TAKES_MAX && !wf_list_empty(&q->table.to_look)) {
        struct wf_work_queue *w = wf_queue_next_to_look(&q->table);
        wf_effort_count(q->effort, WF_EFFORT_ANSWER);
        if (w == NULL) continue;
        struct wf_hold *h = wf_hold_at(wf_list_first(&w->takers));
        wf_hold_leave(h);
        if (weft_expired(h->ask)) {
            wf_hold_free(q, h);
            continue;
        }
        if (h->bound > 0 && wf_hold_has_all(q, h, &due)) {
            wf_hold_back(q, h, due);
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

static void free_bodies(struct wf_store_batch *b)
{
    struct wf_store_change *item = b->item;
    for (size_t i = 0; i < b->count; i++) free(item[i].body);
}

static void add_to_batch(struct wf_store_batch *b, const struct wf_store_change *x)
{
    assert(b->count < b->count_max);
    struct wf_store_change *to = (struct wf_store_change *)b->item + b->count++;
    *to = *x;
    to->queue = wf_store_batch_copy_text(b, x->queue);
    if (x->key != NULL) to->key = wf_store_batch_copy_text(b, x->key);
    if (x->topic != NULL) to->topic = wf_store_batch_copy_text(b, x->topic);
    to->data = wf_store_batch_copy(b, x->data, x->size);
}

static struct wf_store_batch *next_batch(struct wf_store_queues *q)
{
    size_t count, bytes = choose_changes(q, &count);
    bytes += choose_takers(q, &count);
    struct wf_store_batch *b = count == 0 ? NULL
                                          : wf_store_batch_new(q->file, count, sizeof(struct wf_store_change), bytes);
    if (b == NULL) return NULL;
    b->free_items = free_bodies;
    q->requests.batch = b;
    for (struct wf_pending_request *r = q->requests.running; r != NULL; r = r->next) {
        add_to_batch(b, &change_of(r)->is);
        wf_effort_count(q->effort, WF_EFFORT_COMPARE + wf_effort_bytes(change_of(r)->is.size));
    }
    WF_LIST_EACH(k, &q->taking) {
        const struct wf_hold *h = wf_hold_at(k);
        const struct wf_queue_rule *rule = h->queue->rule;
        add_to_batch(b, &(struct wf_store_change){.kind = WF_JOB_TAKE,
                                                  .queue = h->queue->name,
                                                  .delay = rule->lease,
                                                  .attempts = rule->attempts,
                                                  .node = h->who.node,
                                                  .actor = h->who.actor});
    }
    q->requests.batch = NULL;
    return b;
}

static void run_batch(void *block)
{
    struct wf_store_batch *b = *(struct wf_store_batch **)block;
    struct wf_store_change *item = b->item;
    const struct wf_store_engine *engine = b->file->store->engine;
    int64_t now = engine->clock(b->file->store);
    for (size_t i = 0; i < b->count; i++) item[i].now = now;
    b->rc = engine->change(b->file->store, item, b->count);
}

/* Members ask again each second. */
static void say_not_shared(struct wf_store_queues *q, const struct wf_share *share, const char *topic, int error)
{
    const int64_t now = weft_now();
    if (q->shares.logged_at != 0 && now - q->shares.logged_at < WEFT_SEC(60)) return;
    q->shares.logged_at = now;
    weft_log(WEFT_ERROR, "topic %s: its records cannot be given to the members of %s: %s", topic, share->queue->name,
             error == WEFT_EFULL
                 ? "the store has as many cursors, or queues, as it may have: weft_cursor_remove makes space"
                 : weft_strerror(error));
}

static void finish_share(struct wf_store_queues *q, struct change *c, int error, const struct wf_store_change *x)
{
    wf_share_moved(&q->shares, c->queue->share, c->key, error, x);
    if (error == WEFT_OK && x->skipped > 0)
        weft_log(WEFT_ERROR,
                 "topic %s: %llu records are damaged and are not given to the members of %s; 'weft store check'"
                 " lists them",
                 c->key, (unsigned long long)x->skipped, c->queue->name);
    if (error < 0) {
        say_not_shared(q, c->queue->share, c->key, error);
        wf_share_failed(&q->shares, c->queue->share, error);
    }
    free_change(q, c);
}

/* A job that this request ends was not ended: nor is it by the requests that rely on it. */
static void fail_upto(struct wf_store_queues *q, struct change *last, int error)
{
    struct wf_pending_request *const list[] = {q->requests.running, q->requests.first};
    last->failed = error;
    for (int i = 0; i < 2 && q->relies; i++)
        for (struct wf_pending_request *r = list[i]; r != NULL; r = r->next)
            if (change_of(r)->relies) change_of(r)->failed = error;
    q->relies = false;
}

/* What the change means for the worker that has the job, if it still has it. */
static void finish_hold(struct wf_store_queues *q, const struct change *c, int error, const struct wf_store_change *x)
{
    struct wf_hold *h = wf_hold_of_job(q, c->is.id);
    if (h == NULL || h->lease != c->is.lease) return;
    if (c->is.kind == WF_JOB_DONE && error < 0) h->ends = false;
    if (c->is.kind == WF_JOB_EXTEND && error == WEFT_OK) h->due = x->job.due;
    if ((c->is.kind == WF_JOB_DONE || c->is.kind == WF_JOB_RETURN) && error == WEFT_OK) wf_hold_free(q, h);
}

/* There may be space for more records in the queue of a shared cursor. */
static void job_ended(struct wf_store_queues *q, struct wf_work_queue *w)
{
    if (w->share == NULL) return;
    w->share->full = false;
    wf_share_changed(&q->shares, w->share);
}

static void finish_change(struct wf_store_queues *q, struct change *c, int error, const struct wf_store_change *x)
{
    if (c->is.kind == WF_JOB_SHARE) {
        finish_share(q, c, error, x);
        return;
    }
    if (error == WEFT_OK) job_ended(q, c->queue);
    if (c->last != NULL && error < 0 && error != WEFT_ECLOSED) fail_upto(q, c->last, error);
    if (c->request.ask != NULL) answer(c->request.ask, c->failed < 0 ? c->failed : error, x);
    finish_hold(q, c, error, x);
    if (error == WEFT_OK && x->removed != 0) wf_hold_end(q, x->removed);
    if (error == WEFT_OK && x->next_due != 0) wf_queue_look_again(&q->table, c->queue);
    if (error == WEFT_OK && c->is.kind == WF_JOB_EXTEND) wf_queue_due_by(&q->table, c->queue, x->job.due);
    free_change(q, c);
}

/* Sends the record to the member. A job that is no record was put by something else, and is given as it is. */
static bool give_record(const struct wf_hold *h, const struct wf_store_change *x)
{
    struct wf_shared_record r;
    if (!wf_shared_read(x->body, x->job.size, &r))
        r = (struct wf_shared_record){.topic = "", .data = x->body, .size = x->job.size};
    struct store_shared out = {.id = x->job.id,
                               .lease = x->job.lease,
                               .attempts = x->job.attempts,
                               .kind = r.kind,
                               .topic = weft_str(r.topic, r.topic_size),
                               .epoch = r.epoch,
                               .offset = r.offset,
                               .missing = r.missing,
                               .time = r.time,
                               .tag = r.tag,
                               .body = weft_str(r.data, r.size)};
    weft_msg *m = wf_store_message(WF_STORE_SHARE, store_shared_type(), &out);
    return m != NULL && weft_reply_msg(h->ask, m) == WEFT_OK;
}

/* Sends the job to the taker. False: the message could not be sent. */
static bool give_job(const struct wf_hold *h, const struct wf_store_change *x)
{
    if (h->bound > 0) return give_record(h, x);
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
    wf_hold_end(q, x->job.id); /* its lease has ended by time */
    h->id = x->job.id;
    h->lease = x->job.lease;
    h->due = x->job.due;
    h->log = x->job.tag;
    h->given = ++q->given;
    h->state = IS_WORKING;
    wf_hold_found_by_job(q, h);
    if (h->gone || h->gives_up || !give_job(h, x)) give_back(q, h, WF_JOB_UNTAKE);
}

/* There was no job for the taker: it keeps waiting, before the takers that came later. */
static void wait_on(struct wf_store_queues *q, struct wf_hold *h, int64_t next_due)
{
    struct wf_work_queue *w = h->queue;
    w->may_have = false;
    if (w->share != NULL) w->share->hungry = true;
    wf_share_changed(&q->shares, w->share);
    wf_queue_set_due(&q->table, w, next_due);
    if (h->gone || h->gives_up) {
        wf_hold_free(q, h);
        return;
    }
    h->state = IS_WAITING;
    wf_list_push_front(&w->takers, &h->in_line);
    w->taker_count++;
    wf_share_changed(&q->shares, w->share);
}

static void finish_take(struct wf_store_queues *q, struct wf_hold *h, const struct wf_store_change *x)
{
    if (x->count > q->damaged)
        weft_log(WEFT_ERROR, "queue %s: %llu jobs are damaged and are not given; 'weft store check' lists them",
                 h->queue->name, (unsigned long long)x->count);
    q->damaged = x->count;
    if (x->died > 0) job_ended(q, h->queue);
    if (x->error == WEFT_OK) {
        wf_queue_look_again(&q->table, h->queue);
        start_work(q, h, x);
    } else if (x->error == WEFT_ENOTFOUND) {
        wait_on(q, h, x->next_due);
    } else {
        answer(h->ask, x->error, NULL);
        wf_hold_free(q, h);
    }
}

/* It goes from the last taker to the first, so that takers that keep waiting stay in their order of arrival. */
static void finish_takes(struct wf_store_queues *q, const struct wf_store_change *x)
{
    struct wf_hold *taker[WF_STORE_TAKES_MAX];
    size_t count = 0;
    for (struct wf_hold *h; (h = wf_hold_at(wf_list_pop(&q->taking))) != NULL;) {
        assert(count < WF_STORE_TAKES_MAX);
        taker[count++] = h;
    }
    for (size_t i = count; i > 0; i--) finish_take(q, taker[i - 1], &x[i - 1]);
}

/* The members get an error instead of a record, and ask again, or end. */
static void refuse_members(struct wf_store_queues *q, struct wf_work_queue *w, int error)
{
    w->users++; /* it stays until the end */
    for (struct wf_hold *h; (h = wf_hold_at(wf_list_first(&w->takers))) != NULL;) {
        wf_hold_leave(h);
        answer(h->ask, error, NULL);
        wf_hold_free(q, h);
        wf_effort_count(q->effort, WF_EFFORT_ANSWER);
    }
    wf_hold_release_queue(q, w);
}

/* After the takers of the same batch, which may wait again. */
static void refuse_failed(struct wf_store_queues *q)
{
    for (struct wf_share *share; (share = wf_shares_next_failed(&q->shares)) != NULL;)
        refuse_members(q, share->queue, share->failed);
}

static void refuse_batch(struct wf_store_queues *q, int error)
{
    struct wf_store_change refused[WF_STORE_TAKES_MAX];
    for (size_t i = 0; i < WF_STORE_TAKES_MAX; i++) refused[i] = (struct wf_store_change){.error = error};
    for (; q->requests.running != NULL; wf_effort_count(q->effort, WF_EFFORT_ANSWER))
        finish_change(q, change_of(q->requests.running), error, NULL);
    finish_takes(q, refused);
    refuse_failed(q);
}

/* The takers that are held are looked at again when their queue is due: a lease may have ended by time. */
static void tick(struct wf_store_queues *q)
{
    if (wf_queue_table_next_due(&q->table) == INT64_MAX) return;
    const int64_t now = wf_queues_clock(q);
    for (struct wf_work_queue *w; (w = wf_queue_table_tick(&q->table, now)) != NULL;) {
        for (struct wf_hold *h; (h = wf_hold_at(wf_list_first(&w->held))) != NULL;) {
            wf_hold_let_wait(q, h);
            wf_effort_count(q->effort, WF_EFFORT_COMPARE);
        }
        wf_effort_count(q->effort, WF_EFFORT_ANSWER);
    }
}

/* False: there is no memory. */
static bool add_share(struct wf_store_queues *q, struct wf_share *share, const char *topic)
{
    struct change *c = change_by_store(q, WF_JOB_SHARE, share->queue, 0, 0);
    if (c == NULL) {
        wf_share_moved(&q->shares, share, topic, WEFT_ENOMEM, NULL);
        return false;
    }
    memcpy(c->key, topic, strlen(topic) + 1);
    c->is.topic = c->key;
    c->is.ahead = WF_SHARE_AHEAD;
    c->is.most = WF_SHARE_RECORDS_MAX;
    c->is.jobs_max = share->queue->rule->jobs;
    return true;
}

/* Adds the changes that move records, for the members that wait. */
static void add_shares(struct wf_store_queues *q)
{
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_share *share;
    while (wf_shares_next(&q->shares, &share, topic) && add_share(q, share, topic))
        wf_effort_count(q->effort, WF_EFFORT_COMPARE);
}

static bool start_scan(struct wf_store_queues *q, weft_job *job)
{
    struct wf_work_queue *w = NULL;
    int rc = wf_shares_start_scan(&q->shares, job, &w);
    if (rc < 0) refuse_members(q, w, rc);
    return rc > 0;
}

bool wf_queues_start(struct wf_store_queues *q, weft_job *job)
{
    tick(q);
    /* Scans and changes take turns: a store of a million topics is scanned in hundreds of parts. */
    const bool has_changes = q->requests.first != NULL || !wf_list_empty(&q->table.to_look);
    q->has_scanned = !(q->has_scanned && has_changes) && start_scan(q, job);
    if (q->has_scanned) return true;
    add_shares(q);
    if (q->requests.first == NULL && wf_list_empty(&q->table.to_look)) return false;
    struct wf_store_batch *b = next_batch(q);
    if (q->requests.running == NULL && wf_list_empty(&q->taking)) return false;
    int rc = wf_store_batch_start(b, run_batch, job);
    if (rc < 0) refuse_batch(q, rc);
    return rc == WEFT_OK;
}

void wf_queues_appended(struct wf_store_queues *q, const char *topic)
{
    wf_effort_count(q->effort, wf_shares_appended(&q->shares, topic));
}

void wf_queues_finish(struct wf_store_queues *q, weft_job job)
{
    if (q->shares.scan != NULL) {
        struct wf_work_queue *w = NULL;
        int error = wf_shares_finish_scan(&q->shares, job, &w);
        if (error < 0 && w != NULL) refuse_members(q, w, error);
        return;
    }
    struct wf_store_batch *b = wf_store_batch_take(job);
    int rc = b == NULL ? WEFT_ESYSTEM : b->rc;
    q->requests.batch = b;
    if (rc < 0) {
        refuse_batch(q, rc);
    } else {
        const struct wf_store_change *x = b->item;
        for (; q->requests.running != NULL; x++, wf_effort_count(q->effort, WF_EFFORT_ANSWER))
            finish_change(q, change_of(q->requests.running), x->error, x);
        finish_takes(q, x);
        refuse_failed(q);
    }
    q->requests.batch = NULL;
    wf_store_batch_free(b);
}

/* The actor ends: its messages and monitors end with it. */
void wf_queues_free(struct wf_store_queues *q)
{
    wf_pending_requests_free(&q->requests);
    for (int i = 0; i < WF_HOLD_BUCKETS; i++)
        for (struct wf_chained *c = q->by_monitor[i], *next; c != NULL; c = next) {
            next = c->next;
            free(WF_CONTAINER(c, struct wf_hold, of_monitor));
            wf_effort_count(q->effort, WF_EFFORT_FREE);
        }
    for (struct wf_list_node *k; (k = wf_list_pop(&q->away)) != NULL;) {
        free(wf_hold_at(k));
        wf_effort_count(q->effort, WF_EFFORT_FREE);
    }
    wf_shares_free(&q->shares, q->effort);
    wf_queue_table_free(&q->table, q->effort);
    wf_node_counts_free(&q->of_node);
}
