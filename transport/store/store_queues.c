/* transport/store/store_queues.c -- see store_queues.h.
 *
 * Design notes.
 * (1) All that has to outlive a crash is in the engine: a job, how often it was taken, and its lease, a random number
 *     that the worker shows when it is done. This file keeps the takers that wait, and the monitors.
 * (2) A hold is a taker from its request to the end of its lease: it waits at its queue, then it is in the running
 *     batch, then it has a job. It has one monitor for all that time.
 * (3) The worker's end gives its job back at once. If its node is lost it may still work, so the lease ends by time.
 *     After the store was opened again every lease ends by time, as nobody is watched any more.
 * (4) A taker that gives up says so with its ticket (WF_STORE_UNTAKE): the job that it has not got is given back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/log.h>
#include <weft/queue.h>

#include "change_batch.h"
#include "hash.h"
#include "store_messages.h"
#include "store_queues.h"
#include "stored_topic.h"

enum hold_state { IS_WAITING, IS_TAKING, IS_WORKING };

struct wf_hold {
    enum hold_state state;
    bool gone;     /* while it is taking: the actor has ended */
    bool gives_up; /* while it is taking: it has said so */
    weft_msg *ask;
    struct wf_work_queue *queue;
    weft_monitor_ref monitor;
    uint64_t ticket, id, lease;
    struct wf_hold *next; /* at its queue, or in the running batch */
    struct wf_hold *next_of_monitor, *next_of_job, *next_of_ticket;
};

struct wf_work_queue {
    char name[WF_STORE_TOPIC_MAX + 1];
    const struct wf_queue_rule *rule;
    struct wf_hold *first, **end; /* takers */
    size_t takers;
    int64_t due;    /* the next job's, if takers wait for it; by the store's clock */
    bool may_have;  /* a job for a taker */
    bool is_listed; /* in to_look */
    struct wf_work_queue *next, *next_to_look;
};

/* A change that has not been stored yet. */
struct wf_change_wait {
    weft_msg *ask; /* NULL: the store's own */
    struct wf_store_change is;
    struct wf_work_queue *queue;
    char key[WF_STORE_KEY_MAX + 1];
    struct wf_change_wait *next;
};

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

void wf_queues_init(struct wf_store_queues *q, struct wf_store_file *file, struct wf_queue_rule *rule, size_t rules)
{
    *q = (struct wf_store_queues){.file = file, .rule = rule, .rules = rules, .next_look = INT64_MAX};
    q->end = &q->first;
    q->taking_end = &q->taking;
}

static const struct wf_queue_rule *rule_of(const struct wf_store_queues *q, const char *name)
{
    for (size_t i = 0; i < q->rules; i++)
        if (wf_store_topic_matches(q->rule[i].pattern, name)) return &q->rule[i];
    return NULL;
}

static int find_queue(struct wf_store_queues *q, weft_text name, struct wf_work_queue **out)
{
    char text[WF_STORE_TOPIC_MAX + 1];
    if (!weft_text_copy(name, text, sizeof text) || !wf_store_topic_ok(text)) return WEFT_EINVAL;
    struct wf_work_queue **at = &q->queue[wf_hash(text, strlen(text), q->file->store->secret) % WF_QUEUE_BUCKETS];
    for (*out = *at; *out != NULL; *out = (*out)->next)
        if (strcmp((*out)->name, text) == 0) return WEFT_OK;
    const struct wf_queue_rule *rule = rule_of(q, text);
    if (rule == NULL) return WEFT_EACCESS;
    if (q->queues >= WF_STORE_QUEUES_MAX) return WEFT_EFULL;
    struct wf_work_queue *w = calloc(1, sizeof *w);
    if (w == NULL) return WEFT_ENOMEM;
    memcpy(w->name, text, sizeof text);
    w->rule = rule;
    w->end = &w->first;
    w->due = INT64_MAX;
    w->next = *at;
    *at = *out = w;
    q->queues++;
    return WEFT_OK;
}

/* There may be a job for the takers of that queue. */
static void look_again(struct wf_store_queues *q, struct wf_work_queue *w)
{
    w->may_have = true;
    if (w->is_listed || w->takers == 0) return;
    w->is_listed = true;
    w->next_to_look = q->to_look;
    q->to_look = w;
}

static void set_due(struct wf_store_queues *q, struct wf_work_queue *w, int64_t due)
{
    w->due = due;
    if (due < q->next_look) q->next_look = due;
}

static int64_t clock_of(const struct wf_store_queues *q)
{
    return q->file->store->engine->clock(q->file->store);
}

/* The time has come for which some takers wait. */
static void look_at_due(struct wf_store_queues *q)
{
    int64_t now = clock_of(q);
    if (now < q->next_look) return;
    q->next_look = INT64_MAX;
    for (int i = 0; i < WF_QUEUE_BUCKETS; i++)
        for (struct wf_work_queue *w = q->queue[i]; w != NULL; w = w->next) {
            if (w->takers == 0) continue;
            if (w->due <= now) look_again(q, w);
            else set_due(q, w, w->due);
        }
}

int64_t wf_queues_deadline(const struct wf_store_queues *q)
{
    if (q->next_look == INT64_MAX) return WEFT_FOREVER;
    int64_t left = q->next_look - clock_of(q);
    return weft_after(left < 0 ? 0 : left < WEFT_SEC(10) ? left : WEFT_SEC(10)); /* that clock may be set */
}

/* ---- Holds ----------------------------------------------------------------------------------------------------- */

static struct wf_hold **monitor_bucket(struct wf_store_queues *q, uint64_t id)
{
    return &q->by_monitor[wf_mix(id) % WF_HOLD_BUCKETS];
}

static struct wf_hold **job_bucket(struct wf_store_queues *q, uint64_t id)
{
    return &q->by_job[wf_mix(id) % WF_HOLD_BUCKETS];
}

static struct wf_hold **ticket_bucket(struct wf_store_queues *q, uint64_t ticket)
{
    return &q->by_ticket[wf_mix(ticket ^ q->file->store->secret) % WF_HOLD_BUCKETS];
}

static void add_to_queue(struct wf_work_queue *w, struct wf_hold *h)
{
    h->next = NULL;
    h->state = IS_WAITING;
    *w->end = h;
    w->end = &h->next;
    w->takers++;
}

static void leave_queue(struct wf_hold *h)
{
    struct wf_work_queue *w = h->queue;
    struct wf_hold **at = &w->first;
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    if (w->end == &h->next) w->end = at;
    w->takers--;
}

static struct wf_hold *pop_taker(struct wf_work_queue *w)
{
    struct wf_hold *h = w->first;
    if (h != NULL) leave_queue(h);
    return h;
}

/* It is in no list of a queue or of a batch. */
static void free_hold(struct wf_store_queues *q, struct wf_hold *h)
{
    struct wf_hold **at = monitor_bucket(q, h->monitor.id);
    while (*at != h) at = &(*at)->next_of_monitor;
    *at = h->next_of_monitor;
    for (at = ticket_bucket(q, h->ticket); *at != h;) at = &(*at)->next_of_ticket;
    *at = h->next_of_ticket;
    at = job_bucket(q, h->id);
    while (h->id != 0 && *at != h) at = &(*at)->next_of_job;
    if (h->id != 0) *at = h->next_of_job;
    if (!h->gone) (void)weft_demonitor(h->monitor);
    weft_msg_free(h->ask);
    free(h);
    q->holds--;
}

static struct wf_hold *hold_of_job(struct wf_store_queues *q, uint64_t id)
{
    struct wf_hold *h = *job_bucket(q, id);
    while (h != NULL && h->id != id) h = h->next_of_job;
    return h;
}

/* Ends the hold of the actor that had this job. */
static void end_hold(struct wf_store_queues *q, uint64_t id)
{
    struct wf_hold *h = hold_of_job(q, id);
    if (h != NULL) free_hold(q, h);
}

static void drop_expired(struct wf_store_queues *q, struct wf_work_queue *w)
{
    for (struct wf_hold *h = w->first, *next; h != NULL; h = next) {
        next = h->next;
        if (!weft_expired(h->ask)) continue;
        leave_queue(h);
        free_hold(q, h);
    }
}

/* Adds a taker. The request is still the caller's after an error. */
static int add_taker(struct wf_store_queues *q, struct wf_work_queue *w, uint64_t ticket, weft_msg *ask)
{
    if (w->takers >= WF_TAKERS_MAX || q->holds >= WF_HOLDS_MAX) drop_expired(q, w);
    if (w->takers >= WF_TAKERS_MAX || q->holds >= WF_HOLDS_MAX) return WEFT_EFULL;
    struct wf_hold *h = calloc(1, sizeof *h);
    int rc = h == NULL ? WEFT_ENOMEM : weft_monitor(weft_from(ask), &h->monitor);
    if (rc < 0) {
        free(h);
        return rc;
    }
    h->ask = ask;
    h->queue = w;
    h->ticket = ticket;
    struct wf_hold **at = monitor_bucket(q, h->monitor.id), **other = ticket_bucket(q, ticket);
    h->next_of_monitor = *at;
    *at = h;
    h->next_of_ticket = *other;
    *other = h;
    q->holds++;
    add_to_queue(w, h);
    look_again(q, w);
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
    q->waiting_bytes += c->is.size;
}

/* A change of the store itself. Without memory the lease ends by time. */
static void change_by_store(struct wf_store_queues *q, enum wf_store_change_kind kind, struct wf_work_queue *w,
                            uint64_t id, uint64_t lease)
{
    struct wf_change_wait *c = calloc(1, sizeof *c);
    if (c == NULL) return;
    c->queue = w;
    c->is = (struct wf_store_change){.kind = kind, .queue = w->name, .id = id, .lease = lease};
    c->is.attempts = w->rule->attempts;
    add_change(q, c);
}

static int read_change(struct wf_store_queues *q, struct wf_change_wait *c, const struct store_change *in)
{
    int rc = find_queue(q, in->queue, &c->queue);
    if (rc < 0) return rc;
    const struct wf_queue_rule *rule = c->queue->rule;
    if (in->kind > WF_JOB_REVIVE || in->delay < 0 || in->tag >= WEFT_TAG_SYSTEM) return WEFT_EINVAL;
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
        add_change(q, c);
        return;
    }
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

void wf_queues_untake(struct wf_store_queues *q, weft_msg *m)
{
    struct store_change in;
    weft_pid from = weft_from(m);
    int rc = weft_typed_read(store_change_type(), weft_data(m), weft_size(m), &in, NULL);
    weft_msg_free(m);
    struct wf_hold *h = rc < 0 ? NULL : *ticket_bucket(q, in.ticket);
    while (h != NULL && (h->ticket != in.ticket || !weft_pid_equal(weft_from(h->ask), from))) h = h->next_of_ticket;
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

bool wf_queues_down(struct wf_store_queues *q, const struct weft_down *down)
{
    struct wf_hold *h = *monitor_bucket(q, down->ref.id);
    while (h != NULL && h->monitor.id != down->ref.id) h = h->next_of_monitor;
    if (h == NULL) return false;
    bool lives = down->reason == WEFT_EXIT_NODE_LOST; /* perhaps */
    if (h->state == IS_TAKING) {
        h->gone = true;
    } else if (h->state == IS_WORKING && !lives) {
        h->gone = true;
        give_back(q, h, WF_JOB_RETURN);
    } else {
        if (h->state == IS_WAITING) leave_queue(h);
        h->gone = true;
        free_hold(q, h);
    }
    return true;
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

static struct wf_change_wait *pop_change(struct wf_store_queues *q)
{
    struct wf_change_wait *c = q->first;
    q->first = c->next;
    if (q->first == NULL) q->end = &q->first;
    q->waiting--;
    q->waiting_bytes -= c->is.size;
    c->next = NULL;
    return c;
}

static void free_change(struct wf_change_wait *c)
{
    weft_msg_free(c->ask);
    free(c);
}

static bool makes_ready(enum wf_store_change_kind kind)
{
    return kind == WF_JOB_PUT || kind == WF_JOB_RETURN || kind == WF_JOB_UNTAKE || kind == WF_JOB_REVIVE;
}

/* Moves what fits to `running`. Returns the bytes that the batch needs for it. */
static size_t choose_changes(struct wf_store_queues *q, size_t *count)
{
    struct wf_change_wait **end = &q->running;
    size_t bytes = 0, room = 0;
    while (q->first != NULL && *count < WF_STORE_BATCH_MAX - WF_STORE_TAKES_MAX &&
           bytes + q->first->is.size <= WF_STORE_BATCH_BYTES_MAX) {
        struct wf_change_wait *c = pop_change(q);
        if (c->ask != NULL && weft_expired(c->ask)) {
            free_change(c);
            continue;
        }
        ++*count;
        bytes += c->is.size;
        room += strlen(c->queue->name) + strlen(c->key) + 2;
        *end = c;
        end = &c->next;
        if (makes_ready(c->is.kind)) look_again(q, c->queue);
    }
    return bytes + room;
}

/* Moves takers to `taking`, those of one queue after the other. */
static size_t choose_takers(struct wf_store_queues *q, size_t *count)
{
    size_t takes = 0, room = 0;
    while (q->to_look != NULL && takes < WF_STORE_TAKES_MAX) {
        struct wf_work_queue *w = q->to_look;
        struct wf_hold *h = w->may_have ? pop_taker(w) : NULL;
        if (h == NULL) {
            q->to_look = w->next_to_look;
            w->is_listed = false;
        } else if (weft_expired(h->ask)) {
            free_hold(q, h);
        } else {
            h->state = IS_TAKING;
            *q->taking_end = h;
            q->taking_end = &h->next;
            takes++;
            room += strlen(w->name) + 1;
        }
    }
    *count += takes;
    return room;
}

static struct wf_change_batch *next_batch(struct wf_store_queues *q)
{
    size_t count = 0, bytes = choose_changes(q, &count);
    bytes += choose_takers(q, &count);
    struct wf_change_batch *b = count == 0 ? NULL : wf_change_batch_new(q->file, count, bytes);
    for (struct wf_change_wait *c = q->running; c != NULL && b != NULL; c = c->next) wf_change_batch_add(b, &c->is);
    for (struct wf_hold *h = q->taking; h != NULL && b != NULL; h = h->next) {
        const struct wf_queue_rule *rule = h->queue->rule;
        wf_change_batch_add(
            b, &(struct wf_store_change){
                   .kind = WF_JOB_TAKE, .queue = h->queue->name, .delay = rule->lease, .attempts = rule->attempts});
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
    free_change(c);
}

/* The taker gets its job. False: it cannot be told. */
static bool give_job(const struct wf_hold *h, const struct wf_store_change *x)
{
    struct store_changed out = {.id = x->job.id,
                                .lease = x->job.lease,
                                .time = x->job.time,
                                .attempts = x->job.attempts,
                                .tag = x->job.tag,
                                .body = weft_str(x->body, x->job.size)};
    weft_msg *m = wf_store_message(WF_STORE_CHANGE, store_changed_type(), &out);
    return m != NULL && weft_reply_msg(h->ask, m) == WEFT_OK;
}

static void start_work(struct wf_store_queues *q, struct wf_hold *h, const struct wf_store_change *x)
{
    end_hold(q, x->job.id); /* its lease has ended by time */
    h->id = x->job.id;
    h->lease = x->job.lease;
    h->state = IS_WORKING;
    struct wf_hold **at = job_bucket(q, h->id);
    h->next_of_job = *at;
    *at = h;
    if (h->gone || h->gives_up || !give_job(h, x)) give_back(q, h, WF_JOB_UNTAKE);
}

/* There was no job for it: it waits on, in front of those that came later. */
static void wait_on(struct wf_store_queues *q, struct wf_hold *h, int64_t next_due)
{
    struct wf_work_queue *w = h->queue;
    w->may_have = false;
    set_due(q, w, next_due);
    if (h->gone || h->gives_up) {
        free_hold(q, h);
        return;
    }
    h->state = IS_WAITING;
    h->next = w->first;
    if (w->first == NULL) w->end = &h->next;
    w->first = h;
    w->takers++;
}

static void finish_take(struct wf_store_queues *q, struct wf_hold *h, const struct wf_store_change *x)
{
    h->next = NULL;
    if (x->count > q->damaged)
        weft_log(WEFT_ERROR, "queue %s: %llu jobs are damaged and are not given; 'weft store check' lists them",
                 h->queue->name, (unsigned long long)x->count);
    q->damaged = x->count;
    if (x->error == WEFT_OK) {
        look_again(q, h->queue);
        start_work(q, h, x);
    } else if (x->error == WEFT_ENOTFOUND) {
        wait_on(q, h, x->next_due);
    } else {
        answer(h->ask, x->error, NULL);
        free_hold(q, h);
    }
}

/* From the last taker to the first, so that those who wait on have the order in which they came. */
static void finish_takes(struct wf_store_queues *q, const struct wf_store_change *x)
{
    struct wf_hold *taker[WF_STORE_TAKES_MAX], *h = q->taking;
    size_t count = 0;
    for (; h != NULL; h = h->next) {
        assert(count < WF_STORE_TAKES_MAX);
        taker[count++] = h;
    }
    q->taking = NULL;
    q->taking_end = &q->taking;
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
    look_at_due(q);
    if (q->first == NULL && q->to_look == NULL) return false;
    struct wf_change_batch *b = next_batch(q);
    if (q->running == NULL && q->taking == NULL) return false;
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

bool wf_queues_has_room(const struct wf_store_queues *q)
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
        for (struct wf_hold *h = q->by_monitor[i], *next; h != NULL; h = next) {
            next = h->next_of_monitor;
            free(h);
        }
    for (int i = 0; i < WF_QUEUE_BUCKETS; i++)
        for (struct wf_work_queue *w = q->queue[i], *next; w != NULL; w = next) {
            next = w->next;
            free(w);
        }
    free(q->rule);
}
