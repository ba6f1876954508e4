/* transport/store/server/store_actor.c -- see store_actor.h.
 *
 * Design notes.
 * (1) Group commit: while one batch is being synced, publications gather; all of them are the next batch. So a busy
 *     store has large batches and a quiet one has no delay.
 * (2) The actor never waits for the disk. A job of weft_offload stores a batch, and the reader actors read.
 * (3) Publications, changes of queues, advances of cursors and changes of states are stored in turns, each in batches of their own.
 * (4) A stop is trapped: accepted requests are stored and acknowledged before the actor ends.
 * (5) If other nodes stand by, a store that cannot store any more ends at once, and gives up its name: then one that can
 *     takes over. What was accepted and not stored gets no answer, so its callers ask again where that is safe. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/store.h>
#include <weft/actor.h>
#include <weft/log.h>
#include <weft/monitor.h>
#include <weft/names.h>
#include <weft/node.h>
#include <weft/offload.h>
#include <weft/trace.h>

#include "effort.h"
#include "hash.h"
#include "list.h"
#include "new_topics.h"
#include "parked_reads.h"
#include "standby_marks.h"
#include "store_actor.h"
#include "store_batch.h"
#include "store_cursors.h"
#include "store_messages.h"
#include "store_metrics.h"
#include "store_queues.h"
#include "store_reader.h"
#include "store_states.h"
#include "stored_topic.h"

enum {
    READERS = 4,
    AT_ONCE = 256, /* messages taken, and readers woken, before the actor looks whether a batch has ended */
};

struct keep {
    char pattern[WF_STORE_TOPIC_MAX + 1];
    struct wf_store_limits limits;
};

/* A publication that has not been stored yet. The views in `in` point into the request. */
struct publication {
    struct wf_pending_request request;
    struct store_append in;
    char topic[WF_STORE_TOPIC_MAX + 1];
    const struct wf_store_limits *limits;
};

static struct publication *publication_of(struct wf_pending_request *r)
{
    return WF_CONTAINER(r, struct publication, request);
}

enum running { NOTHING, A_BATCH, CHANGES, ADVANCES, STATES, A_CONFIRMATION };

struct store_actor {
    struct wf_store_file *file;
    struct keep *keep;
    size_t keeps;
    struct wf_pending_requests requests; /* publications */
    struct wf_effort effort;
    weft_job job;
    enum running runs, last; /* `last`: the kind of the last batch */
    bool stops, gives_up;
    struct wf_store_queues queues;
    struct wf_store_cursors cursors;
    struct wf_store_states states;
    bool has_standbys, is_doubted;
    struct wf_standby_marks marks;
    weft_pid reader[READERS + 1]; /* the last one counts for /metrics */
    unsigned turn;
    struct wf_parked_reads parked;
    struct wf_new_topics fresh; /* for struct store_watched */
};

/* Requests to watch for new logs are parked under this text, which is not a valid topic. */
static const char any_log[] = "*";

/* ---- Opening --------------------------------------------------------------------------------------------------- */

/* Opens the store on a thread that may block, which owns this struct. */
struct opening {
    char url[1024];
    struct keep *keep;
    size_t keeps;
    struct wf_queue_rule *rule;
    size_t rules;
    struct wf_queue_lease *lease;
    size_t leases, leases_max;
    char (*state)[WF_STORE_TOPIC_MAX + 1]; /* patterns of keys */
    size_t states;
    bool has_standbys;
    uint64_t commits;
    struct wf_store_file *file;
    struct wf_store_why why;
    int rc;
};

static const struct keep *keep_of(const struct keep *keep, size_t count, const char *topic)
{
    for (size_t i = 0; i < count; i++)
        if (wf_store_topic_matches(keep[i].pattern, topic)) return &keep[i];
    return NULL;
}

static void free_opening(void *block)
{
    struct opening *o = *(struct opening **)block;
    wf_store_file_release(o->file);
    free(o->keep);
    free(o->rule);
    free(o->lease);
    free(o->state);
    free(o);
}

static bool trim_log(void *arg, const struct wf_store_log *log)
{
    struct opening *o = arg;
    const struct keep *keep = keep_of(o->keep, o->keeps, log->topic);
    const struct wf_store_engine *engine = o->file->store->engine;
    if (keep != NULL) o->rc = engine->trim(o->file->store, log->topic, &keep->limits, engine->clock(o->file->store));
    return o->rc == WEFT_OK;
}

static bool add_lease(void *arg, const struct wf_store_lease *l)
{
    struct opening *o = arg;
    if (o->leases == o->leases_max) {
        size_t max = o->leases_max == 0 ? 64 : o->leases_max * 2;
        struct wf_queue_lease *grown = realloc(o->lease, max * sizeof *grown);
        if (grown == NULL) return false; /* without memory the other leases end when they expire */
        o->lease = grown;
        o->leases_max = max;
    }
    struct wf_queue_lease *to = &o->lease[o->leases++];
    *to = (struct wf_queue_lease){
        .id = l->id, .lease = l->lease, .due = l->due, .tag = l->tag, .worker = {l->node, l->actor}};
    memcpy(to->queue, l->queue, strlen(l->queue) + 1);
    return o->leases < WF_HOLDS_MAX;
}

static void open_blocking(void *block)
{
    struct opening *o = *(struct opening **)block;
    o->rc = wf_store_file_open_as(&o->file, o->url, &(struct wf_store_opening){.commits = o->commits}, &o->why);
    if (o->rc < 0) return;
    snprintf(o->why.text, sizeof o->why.text,
             "its tables are damaged, or cannot be read: 'weft store check' says more");
    int rc = o->file->store->engine->list(o->file->store, NULL, trim_log, o);
    if (o->rc == WEFT_OK) o->rc = rc;
    const struct wf_store_engine *engine = o->file->store->engine;
    if (o->rc == WEFT_OK) o->rc = engine->leases(o->file->store, engine->clock(o->file->store), add_lease, o);
}

static int read_config(struct opening *o, const void *config, size_t size)
{
    struct store_config in;
    int rc = weft_typed_read(store_config_type(), config, size, &in, NULL);
    if (rc < 0) return rc;
    if (!weft_text_copy(in.url, o->url, sizeof o->url)) return WEFT_EINVAL;
    o->has_standbys = in.standby;
    o->commits = in.commits;
    o->keep = calloc(in.keep.count + 1, sizeof *o->keep);
    o->rule = calloc(in.queues.count + 1, sizeof *o->rule);
    o->state = calloc(in.states.count + 1, sizeof *o->state);
    if (o->keep == NULL || o->rule == NULL || o->state == NULL) return WEFT_ENOMEM;
    for (struct store_keep k; store_keep_next(&in.keep, &k); o->keeps++) {
        struct keep *to = &o->keep[o->keeps];
        if (!weft_text_copy(k.pattern, to->pattern, sizeof to->pattern)) return WEFT_EINVAL;
        to->limits = (struct wf_store_limits){k.count, k.bytes, k.age};
    }
    for (struct store_rule r; store_rule_next(&in.queues, &r); o->rules++) {
        struct wf_queue_rule *to = &o->rule[o->rules];
        if (!weft_text_copy(r.pattern, to->pattern, sizeof to->pattern)) return WEFT_EINVAL;
        to->lease = r.lease;
        to->attempts = (uint32_t)r.attempts;
        to->jobs = r.jobs;
    }
    for (weft_text pattern; weft_str_next(&in.states, &pattern); o->states++)
        if (!weft_text_copy(pattern, o->state[o->states], sizeof *o->state)) return WEFT_EINVAL;
    return WEFT_OK;
}

static int open_store(struct store_actor *s, const void *config, size_t size)
{
    weft_job job = {.done = {.id = 0}};
    struct opening *o = calloc(1, sizeof *o);
    int rc = o == NULL ? WEFT_ENOMEM : read_config(o, config, size);
    if (rc == WEFT_OK) rc = weft_offload_start(&job, open_blocking, free_opening, &o, sizeof(void *), WEFT_FOREVER);
    if (rc < 0) {
        if (o != NULL) free_opening(&o);
        return rc;
    }
    rc = weft_offload_take(job, &o, sizeof(void *), WEFT_FOREVER);
    if (rc < 0) {
        (void)weft_offload_drop(job);
        return rc;
    }
    char shown[256];
    rc = o->rc;
    wf_store_url_show(o->url, shown, sizeof shown);
    bool waits = rc == WEFT_EINUSE && o->has_standbys;
    if (rc < 0 && !waits) weft_log(WEFT_ERROR, "store %s: %s: %s", shown, weft_strerror(rc), o->why.text);
    else if (rc == WEFT_OK) weft_log(WEFT_INFO, "store %s is open", shown);
    s->has_standbys = o->has_standbys;
    if (rc == WEFT_OK) {
        wf_standby_marks_take(&s->marks, o->file);
        s->file = wf_store_file_share(o->file);
        s->keep = o->keep;
        s->keeps = o->keeps;
        o->keep = NULL;
        wf_queues_init(&s->queues, s->file, &s->effort, o->rule, o->rules);
        o->rule = NULL;
        wf_queues_restore(&s->queues, o->lease, o->leases);
        wf_cursors_init(&s->cursors, s->file, &s->queues.shares, &s->effort);
        wf_states_init(&s->states, s->file, &s->effort, o->state, o->states);
        o->state = NULL;
    }
    free_opening(&o);
    return rc;
}

static int start_readers(struct store_actor *s)
{
    int rc = WEFT_OK;
    for (int i = 0; i <= READERS && rc == WEFT_OK; i++) {
        bool counts = i == READERS;
        rc = weft_spawn(&s->reader[i], counts ? wf_store_metrics : wf_store_reader, &s->file->number,
                        sizeof s->file->number,
                        &(weft_spawn_options){
                            .kind = counts ? "store metrics" : "store reader", .link = true, .worker = WEFT_SPREAD});
    }
    return rc;
}

/* Ends the readers, so that the file is closed when this actor has ended, and another actor can open it. */
static void end_readers(struct store_actor *s)
{
    for (int i = 0; i <= READERS; i++) weft_ignore(weft_send(s->reader[i], WF_STORE_QUIT, NULL, 0));
    for (int i = 0; i <= READERS; i++) {
        weft_wait on = weft_on_end(s->reader[i]);
        weft_ignore(weft_wait_any(&on, 1, weft_after(WEFT_SEC(10))));
    }
}

/* ---- Publications ---------------------------------------------------------------------------------------------- */

static void answer(const weft_msg *ask, int error, uint64_t epoch, uint64_t offset)
{
    struct store_appended out = {error, epoch, offset};
    wf_store_answer(ask, store_appended_type(), &out);
}

static int check_append(const struct store_actor *s, struct publication *w)
{
    if (weft_typed_read(store_append_type(), weft_data(w->request.ask), weft_size(w->request.ask), &w->in, NULL) < 0)
        return WEFT_EFORMAT;
    if (!weft_text_copy(w->in.topic, w->topic, sizeof w->topic) || !wf_store_topic_ok(w->topic)) return WEFT_EINVAL;
    if (w->in.tag >= WEFT_TAG_SYSTEM) return WEFT_EINVAL;
    if (w->in.body.size > WF_STORE_RECORD_MAX) return WEFT_ETOOBIG;
    const struct keep *keep = keep_of(s->keep, s->keeps, w->topic);
    if (keep == NULL) return WEFT_EACCESS;
    w->limits = &keep->limits;
    return WEFT_OK;
}

static void take_append(struct store_actor *s, weft_msg *ask)
{
    struct publication *w = calloc(1, sizeof *w);
    int rc = WEFT_ENOMEM;
    if (w != NULL) {
        w->request.ask = ask;
        rc = check_append(s, w);
    }
    if (rc < 0) {
        answer(ask, rc, 0, 0);
        weft_msg_free(ask);
        free(w);
        return;
    }
    w->request.bytes = weft_size(ask);
    w->request.data = w->in.body.size;
    wf_pending_requests_add(&s->requests, &w->request);
}

/* The limits of each item are behind the items. */
static struct wf_store_batch *new_batch(struct store_actor *s, size_t count, size_t bytes)
{
    for (struct wf_pending_request *r = s->requests.running; r != NULL; r = r->next)
        bytes += strlen(publication_of(r)->topic) + 1;
    struct wf_store_batch *b = wf_store_batch_new(
        s->file, count, sizeof(struct wf_store_append) + sizeof(struct wf_store_limits), bytes);
    if (b == NULL) return NULL;
    s->requests.batch = b;
    struct wf_store_append *to = b->item;
    struct wf_store_limits *limits = (struct wf_store_limits *)(to + count);
    for (struct wf_pending_request *r = s->requests.running; r != NULL; r = r->next, to++, limits++, b->count++) {
        const struct publication *w = publication_of(r);
        *limits = *w->limits;
        *to = (struct wf_store_append){.tag = (uint32_t)w->in.tag, .size = w->in.body.size, .limits = limits};
        to->topic = wf_store_batch_copy_text(b, w->topic);
        to->data = wf_store_batch_copy(b, w->in.body.data, w->in.body.size);
        wf_effort_count(&s->effort, WF_EFFORT_COMPARE + wf_effort_bytes(w->in.body.size));
    }
    s->requests.batch = NULL;
    return b;
}

static void run_batch(void *block)
{
    struct wf_store_batch *b = *(struct wf_store_batch **)block;
    struct wf_store_append *item = b->item;
    const struct wf_store_engine *engine = b->file->store->engine;
    int64_t now = engine->clock(b->file->store);
    for (size_t i = 0; i < b->count; i++) item[i].time = now;
    (void)engine->append(b->file->store, item, b->count); /* each item has its error */
}

/* The first publication of the batch whose results are used has been answered. It was in `running` until now, as the actor
 * may be killed while it answers. */
static void end_stored(struct store_actor *s)
{
    struct wf_pending_request *r = s->requests.running;
    s->requests.running = r->next;
    wf_pending_request_free(r);
    wf_effort_count(&s->effort, WF_EFFORT_ANSWER);
}

static void refuse_batch(struct store_actor *s, int error)
{
    for (; s->requests.running != NULL; end_stored(s)) answer(s->requests.running->ask, error, 0, 0);
}

static void start_batch(struct store_actor *s)
{
    size_t data, count = wf_pending_requests_choose(&s->requests, WF_STORE_BATCH_MAX, &data, NULL, NULL);
    if (count == 0) return;
    int rc = wf_store_batch_start(new_batch(s, count, data), run_batch, &s->job);
    if (rc == WEFT_OK) s->runs = A_BATCH;
    else refuse_batch(s, rc);
}

static void confirm_blocking(void *block)
{
    struct wf_store_file *f = *(struct wf_store_file **)block;
    atomic_store(&f->store->is_doubted, false);
    (void)f->store->engine->confirm(f->store); /* is_lost says what it has found */
}

static void release_blocking(void *block)
{
    wf_store_file_release(*(struct wf_store_file **)block);
}

static void start_confirmation(struct store_actor *s)
{
    struct wf_store_file *f = wf_store_file_share(s->file);
    s->is_doubted = false;
    int rc = weft_offload_start(&s->job, confirm_blocking, release_blocking, &f, sizeof(void *), WEFT_FOREVER);
    if (rc == WEFT_OK) s->runs = A_CONFIRMATION;
    else wf_store_file_release(f);
}

static void finish_confirmation(struct store_actor *s)
{
    struct wf_store_file *f = NULL;
    if (weft_offload_take(s->job, &f, sizeof(void *), WEFT_FOREVER) == WEFT_OK) wf_store_file_release(f);
}

/* Chooses what runs next: the kinds of batches, and a confirmation, take turns. */
static void start_next(struct store_actor *s)
{
    for (int i = 0; i < 5 && s->runs == NOTHING; i++) {
        s->last = s->last == A_CONFIRMATION ? A_BATCH : s->last + 1;
        if (s->last == A_CONFIRMATION && s->is_doubted) start_confirmation(s);
        if (s->last == A_BATCH) start_batch(s);
        if (s->last == CHANGES && wf_queues_start(&s->queues, &s->job)) s->runs = CHANGES;
        if (s->last == ADVANCES && wf_cursors_start(&s->cursors, &s->job)) s->runs = ADVANCES;
        if (s->last == STATES && wf_states_start(&s->states, &s->job)) s->runs = STATES;
    }
}

/* Requests that are dropped may give states to their next owners, which adds changes. */
static void start_storing(struct store_actor *s)
{
    for (bool again = true; again && s->runs == NOTHING; again = wf_states_give_on(&s->states)) start_next(s);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static void forward(struct store_actor *s, weft_msg *ask)
{
    weft_ignore(weft_send_msg(s->reader[s->turn++ % READERS], ask)); /* the caller gets the error */
}

/* All requests of a subscription go to the same reader, which may have read the next page already. */
static void forward_read(struct store_actor *s, weft_msg *ask)
{
    weft_pid from = weft_from(ask);
    weft_ignore(
        weft_send_msg(s->reader[wf_mix(from.node ^ from.actor) % READERS], ask)); /* the caller gets the error */
}

static void answer_find(const weft_msg *ask, int error, const struct wf_store_log *log)
{
    struct store_page out = {.error = error};
    if (error == WEFT_OK) out = (struct store_page){.epoch = log->epoch, .first = log->first, .last = log->last};
    wf_store_answer(ask, store_page_type(), &out);
}

static int look_up(const struct store_actor *s, const struct store_read *in, char topic[WF_STORE_TOPIC_MAX + 1],
                   struct wf_store_log *log)
{
    if (!weft_text_copy(in->topic, topic, WF_STORE_TOPIC_MAX + 1) || !wf_store_topic_ok(topic)) return WEFT_EINVAL;
    int rc = s->file->store->engine->find(s->file->store, topic, log);
    return rc == WEFT_ENOTFOUND && keep_of(s->keep, s->keeps, topic) == NULL ? WEFT_EACCESS : rc;
}

/* Whether the reader means that log, and not an earlier log of the topic. */
static bool is_same(const struct store_read *in, const struct wf_store_log *log)
{
    return in->epoch == 0 || in->epoch == log->epoch;
}

static void take_read(struct store_actor *s, weft_msg *ask)
{
    struct store_read in;
    struct wf_store_log log = {0};
    char topic[WF_STORE_TOPIC_MAX + 1];
    int rc = weft_typed_read(store_read_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc == WEFT_OK) rc = look_up(s, &in, topic, &log);
    bool waits = weft_tag(ask) == WF_STORE_READ && in.wait;
    if (weft_tag(ask) == WF_STORE_READ && rc == WEFT_OK && is_same(&in, &log) && in.from > log.last + 1)
        rc = WEFT_ENOTFOUND, waits = false; /* an older copy of the file was restored */
    bool at_end = rc == WEFT_ENOTFOUND || (rc == WEFT_OK && is_same(&in, &log) && in.from == log.last + 1);
    if (waits && at_end) {
        rc = wf_parked_reads_add(&s->parked, topic, ask);
        if (rc == WEFT_OK) return;
    } else if (rc == WEFT_OK && weft_tag(ask) == WF_STORE_READ) {
        forward_read(s, ask);
        return;
    }
    answer_find(ask, rc, &log);
    weft_msg_free(ask);
}

/* Thousands may read one topic. So they are woken between the other work, some at a time, as readers turn to the store again. */
static void forward_woken(struct store_actor *s)
{
    weft_msg *ask;
    for (int i = 0; i < AT_ONCE && (ask = wf_parked_reads_next(&s->parked)) != NULL; i++) {
        forward(s, ask);
        wf_effort_count(&s->effort, WF_EFFORT_ANSWER);
    }
}

/* `seen`: the number that the watcher has seen. */
static void answer_watch(const struct store_actor *s, const weft_msg *ask, int error, uint64_t seen)
{
    weft_text topic[WF_STORE_PAGE_LOGS];
    struct store_watched out = {.error = error, .number = s->fresh.number};
    if (error == WEFT_OK && wf_new_topics_knows(&s->fresh, seen)) {
        size_t count = wf_new_topics_after(&s->fresh, seen, topic, WF_STORE_PAGE_LOGS);
        out.since = seen;
        out.number = seen + count;
        out.topics = weft_str_list(topic, count);
    }
    wf_store_answer(ask, store_watched_type(), &out);
}

static void take_watch(struct store_actor *s, weft_msg *ask)
{
    struct store_watch in;
    int rc = weft_typed_read(store_watch_type(), weft_data(ask), weft_size(ask), &in, NULL);
    bool waits = rc == WEFT_OK && in.seen == s->fresh.number;
    if (waits) rc = wf_parked_reads_add(&s->parked, any_log, ask);
    if (waits && rc == WEFT_OK) return;
    answer_watch(s, ask, rc, rc < 0 ? 0 : in.seen);
    weft_msg_free(ask);
}

/* All that wait have seen the number before. */
static void tell_watchers(struct store_actor *s, const char *topic)
{
    const uint64_t seen = s->fresh.number;
    wf_new_topics_add(&s->fresh, topic);
    for (weft_msg *ask; (ask = wf_parked_reads_take(&s->parked, any_log)) != NULL;) {
        answer_watch(s, ask, WEFT_OK, seen);
        weft_msg_free(ask);
        wf_effort_count(&s->effort, WF_EFFORT_ANSWER);
    }
}

/* Called when the batch is on disk, or has failed. */
static void finish_batch(struct store_actor *s)
{
    struct wf_store_batch *b = wf_store_batch_take(s->job);
    if (b == NULL) {
        refuse_batch(s, WEFT_ESYSTEM);
        return;
    }
    s->requests.batch = b;
    for (const struct wf_store_append *x = b->item; s->requests.running != NULL; x++, end_stored(s)) {
        const struct publication *w = publication_of(s->requests.running);
        answer(w->request.ask, x->error, x->epoch, x->offset);
        if (x->error == WEFT_OK) wf_parked_reads_wake(&s->parked, w->topic);
        if (x->error == WEFT_OK) wf_queues_appended(&s->queues, w->topic);
        if (x->offset == 1) tell_watchers(s, w->topic);
    }
    s->requests.batch = NULL;
    wf_store_batch_free(b);
}

/* ---- The actor ------------------------------------------------------------------------------------------------- */

static void take_message(struct store_actor *s, weft_msg *m)
{
    struct weft_down down;
    struct weft_name_lost lost;
    struct weft_node_news news;
    if (weft_tag(m) == WEFT_TAG_NODE_UP && weft_node_news_read(m, &news) == WEFT_OK) {
        weft_msg_free(m); /* this actor may be killed while it works for the node */
        wf_queues_node_up(&s->queues, news.incarnation);
        return;
    }
    if (weft_down_read(m, &down) == WEFT_OK && weft_tag(m) == WEFT_TAG_DOWN) {
        if (!wf_queues_down(&s->queues, &down) && !wf_states_down(&s->states, &down))
            wf_parked_reads_forget(&s->parked, down.ref);
    } else if (weft_tag(m) == WEFT_TAG_STOP) {
        s->stops = true;
    } else if (weft_name_lost_read(m, &lost) == WEFT_OK) {
        weft_log(WEFT_ERROR, "the cluster has another store, which had the name %s first: this one ends", lost.name);
        s->stops = true;
    } else if (weft_tag(m) == WF_STORE_CONFIRM) {
        bool is_reader = weft_from(m).node == weft_self().node;
        s->is_doubted |= is_reader && s->has_standbys && s->file->store->engine->confirm != NULL;
    } else if (weft_tag(m) == WF_STORE_UNTAKE) {
        wf_queues_untake(&s->queues, m);
        return;
    } else if (weft_tag(m) == WF_STORE_STATE_CLOSE) {
        wf_states_close(&s->states, m);
        return;
    } else if (weft_wants_reply(m) && weft_tag(m) == WF_STORE_MARK) {
        wf_standby_marks_ask(&s->marks, m);
    } else if (weft_wants_reply(m)) {
        switch (weft_tag(m)) {
        case WF_STORE_APPEND: take_append(s, m); return;
        case WF_STORE_READ:
        case WF_STORE_FIND: take_read(s, m); return;
        case WF_STORE_QUEUES:
        case WF_STORE_REMINDERS:
        case WF_STORE_CURSOR:
        case WF_STORE_CURSORS:
        case WF_STORE_STATE_READ:
        case WF_STORE_STATES:
        case WF_STORE_LIST: forward(s, m); return;
        case WF_STORE_STATE: wf_states_ask(&s->states, m); return;
        case WF_STORE_SHARE: wf_queues_share(&s->queues, m); return;
        case WF_STORE_DROP:
        case WF_STORE_REMIND:
        case WF_STORE_CHANGE: wf_queues_change(&s->queues, m); return;
        case WF_STORE_ADVANCE: wf_cursors_advance(&s->cursors, m); return;
        case WF_STORE_WATCH: take_watch(s, m); return;
        case WF_STORE_STATUS: answer(m, WEFT_OK, 0, 0); break;
        default: answer(m, WEFT_ENOTSUP, 0, 0); break;
        }
    }
    weft_msg_free(m);
}

/* While a batch runs, the actor takes no more messages than the next batch can hold; the rest waits in the mailbox,
 * and then the senders wait. */
static bool has_space(const struct store_actor *s)
{
    return wf_pending_requests_has_space(&s->requests) && wf_pending_requests_has_space(&s->queues.requests) &&
           wf_pending_requests_has_space(&s->cursors.requests) && wf_pending_requests_has_space(&s->states.requests);
}

static void finish_storing(struct store_actor *s)
{
    enum running what = s->runs;
    s->runs = NOTHING;
    if (what == A_BATCH) finish_batch(s);
    if (what == CHANGES) wf_queues_finish(&s->queues, s->job);
    if (what == ADVANCES) wf_cursors_finish(&s->cursors, s->job);
    if (what == STATES) wf_states_finish(&s->states, s->job);
    wf_states_give_on(&s->states);
    if (what == A_CONFIRMATION) finish_confirmation(s);
    s->is_doubted |= s->has_standbys && atomic_load(&s->file->store->is_doubted);
    wf_standby_marks_take(&s->marks, s->file);
}

/* Its name goes first, as its readers may take long to end. */
static void give_up(struct store_actor *s)
{
    weft_log(WEFT_WARN, "this store can store nothing at present: it ends, and stands by again");
    weft_ignore(weft_unregister(WEFT_STORE_NAME));
    s->stops = s->gives_up = true;
}

/* A stop does not wait for a database that cannot be reached. */
static void drop_the_rest(struct store_actor *s)
{
    weft_log(WEFT_WARN, "this store can store nothing at present: it ends without what was not stored yet");
    s->gives_up = true;
}

static bool has_work(const struct store_actor *s)
{
    return s->runs != NOTHING || s->requests.first != NULL || s->queues.requests.first != NULL ||
           s->cursors.requests.first != NULL || s->states.requests.first != NULL;
}

static int64_t deadline_of(const struct store_actor *s)
{
    if (!wf_list_empty(&s->parked.woken)) return WEFT_NOW;
    int64_t queues = s->runs != NOTHING ? WEFT_FOREVER : wf_queues_deadline(&s->queues);
    int64_t marks = wf_standby_marks_deadline(&s->marks);
    return queues < marks ? queues : marks;
}

static void serve(struct store_actor *s)
{
    while (!s->stops || (has_work(s) && !s->gives_up)) {
        weft_wait on[2];
        size_t count = 0;
        start_storing(s);
        bool runs = s->runs != NOTHING;
        if (runs) on[count++] = weft_on_offload(s->job);
        if (!s->stops && (has_space(s) || !runs)) on[count++] = weft_on_mailbox();
        if (count == 0) continue;
        int which = weft_wait_any(on, count, deadline_of(s));
        if (which < 0 && which != WEFT_ETIMEDOUT) return;
        if (which == 0 && runs) finish_storing(s);
        wf_standby_marks_tell(&s->marks);
        bool is_lost = which == 0 && runs && s->file->store->engine->is_lost(s->file->store);
        if (is_lost && s->stops && !s->gives_up) drop_the_rest(s);
        else if (is_lost && s->has_standbys && !s->gives_up) give_up(s);
        weft_msg *m;
        /* If nothing runs, all that came is for the next batch. */
        const int most = s->runs == NOTHING ? INT_MAX : AT_ONCE;
        for (int i = 0; i < most && !s->stops && has_space(s) && weft_recv(&m, WEFT_NOW) == WEFT_OK; i++) {
            take_message(s, m);
            wf_states_give_on(&s->states);
            wf_effort_count(&s->effort, WF_EFFORT_ANSWER);
        }
        forward_woken(s);
    }
}

/* The remaining requests are freed with the actor: their callers get WEFT_ENOREPLY. A hundred thousand of each kind may be
 * left, so this takes several turns. */
static void free_actor(void *arg)
{
    struct store_actor *s = arg;
    if (s->runs != NOTHING) (void)weft_offload_drop(s->job);
    wf_pending_requests_free(&s->requests);
    for (int i = 0; i <= READERS; i++) (void)weft_stop(s->reader[i]);
    wf_parked_reads_free(&s->parked, &s->effort);
    wf_queues_free(&s->queues);
    wf_pending_requests_free(&s->cursors.requests);
    wf_states_free(&s->states);
    wf_new_topics_free(&s->fresh);
    wf_store_file_leave(s->file);
    free(s->keep);
    free(s);
}

int wf_store_start(weft_pid *out, weft_actor *body, const void *config, size_t size,
                   const weft_spawn_options *options, int64_t deadline)
{
    weft_msg *m = NULL;
    struct store_appended status = {0};
    int rc = weft_spawn(out, body, config, size, options);
    if (rc < 0) return rc;
    rc = weft_call(*out, WF_STORE_STATUS, NULL, 0, &m, deadline);
    if (rc == WEFT_OK) rc = weft_typed_read(store_appended_type(), weft_data(m), weft_size(m), &status, NULL);
    if (rc == WEFT_OK) rc = wf_store_error(status.error);
    weft_msg_free(m);
    if (rc < 0) (void)weft_stop(*out);
    return rc;
}

/* The actor that opens the store waits for this answer. */
void wf_store_report(int rc)
{
    weft_msg *m;
    if (rc < 0 && weft_recv_tag(&m, WF_STORE_STATUS, weft_after(WEFT_SEC(10))) == WEFT_OK) {
        answer(m, rc, 0, 0);
        weft_msg_free(m);
    }
}

const weft_spawn_options wf_store_actor_options = {.kind = "store", .stack_bytes = 128 * 1024};

void wf_store_actor(const void *config, size_t size)
{
    struct store_actor *s = calloc(1, sizeof *s);
    if (s == NULL) {
        wf_store_report(WEFT_ENOMEM);
        return;
    }
    wf_pending_requests_init(&s->requests, &s->effort);
    wf_new_topics_init(&s->fresh, weft_trace_new().low >> 1);
    wf_parked_reads_init(&s->parked, weft_trace_new().low);
    if (weft_defer(free_actor, s) < 0) return;
    int rc = open_store(s, config, size);
    if (rc == WEFT_OK) rc = weft_register_global(WEFT_STORE_NAME);
    if (rc == WEFT_OK) rc = start_readers(s);
    if (rc < 0) {
        wf_store_report(rc);
        return;
    }
    (void)weft_trap_stop(true);
    serve(s);
    wf_standby_marks_end(&s->marks);
    if (!s->stops) weft_fail(WEFT_ESYSTEM, "the store cannot wait any more");
    end_readers(s);
}
