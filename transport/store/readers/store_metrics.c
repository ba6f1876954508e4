/* transport/store/readers/store_metrics.c -- see store_metrics.h.
 *
 * Another thread counts the store when metrics are requested, at most once a second. Users of the store choose the
 * names, so no more than WF_STORE_METRICS_LABELS of each kind become labels; names have no character that ends a
 * label. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/call.h>
#include <weft/log.h>
#include <weft/offload.h>
#include <weft/pack.h>
#include <weft/store.h>

#include "metrics_rows.h"
#include "shared_record.h"
#include "store_file.h"
#include "store_messages.h"
#include "store_metrics.h"

#define OTHERS "(others)" /* not a valid name of a queue, a topic or a cursor */

struct cursor_count {
    char name[WF_SHARED_PREFIX_SIZE + WEFT_CURSOR_NAME_MAX + 1], topic[WF_STORE_TOPIC_MAX + 1];
    uint64_t behind;
};

/* The last element of each array is the sum of those without a label. */
struct counts {
    struct wf_store_queue queue[WF_STORE_METRICS_LABELS + 1];
    struct wf_store_log log[WF_STORE_METRICS_LABELS + 1]; /* `last` is the number of records */
    struct cursor_count cursor[WF_STORE_METRICS_LABELS + 1];
    size_t queues, logs, cursors; /* the numbers of all of them */
};

struct text {
    char *data; /* malloc'ed */
    size_t size, capacity;
    bool failed; /* there was no memory for a part of it */
};

/* The result of counting. The counting thread owns this struct. */
struct scrape {
    struct wf_store_file *file;
    struct counts counts;
    struct text text;
    int rc;
};

static void free_scrape(void *block)
{
    struct scrape *s = *(struct scrape **)block;
    wf_store_file_release(s->file);
    free(s->text.data);
    free(s);
}

static size_t place_of(size_t number)
{
    return number < WF_STORE_METRICS_LABELS ? number : WF_STORE_METRICS_LABELS;
}

static size_t rows_of(size_t number)
{
    return number < WF_STORE_METRICS_LABELS ? number : WF_STORE_METRICS_LABELS + (number > WF_STORE_METRICS_LABELS);
}

static bool add_queue(void *arg, const struct wf_store_queue *q)
{
    struct counts *c = arg;
    size_t place = place_of(c->queues++);
    struct wf_store_queue *to = &c->queue[place];
    snprintf(to->name, sizeof to->name, "%s", place == WF_STORE_METRICS_LABELS ? OTHERS : q->name);
    to->ready += q->ready;
    to->delayed += q->delayed;
    to->leased += q->leased;
    to->dead += q->dead;
    return true;
}

static bool add_log(void *arg, const struct wf_store_log *log)
{
    struct counts *c = arg;
    size_t place = place_of(c->logs++);
    struct wf_store_log *to = &c->log[place];
    snprintf(to->topic, sizeof to->topic, "%s", place == WF_STORE_METRICS_LABELS ? OTHERS : log->topic);
    to->last += log->last + 1 - log->first;
    to->bytes += log->bytes;
    return true;
}

static bool add_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    struct scrape *s = arg;
    struct counts *c = &s->counts;
    struct wf_store_log log;
    size_t place = place_of(c->cursors++);
    bool is_other = place == WF_STORE_METRICS_LABELS;
    struct cursor_count *to = &c->cursor[place];
    snprintf(to->name, sizeof to->name, "%s", is_other ? OTHERS : name);
    snprintf(to->topic, sizeof to->topic, "%s", is_other ? OTHERS : topic);
    if (s->file->store->engine->find(s->file->store, topic, &log) == WEFT_OK) to->behind += wf_store_behind(&log, at);
    return true;
}

/* ---- Text ------------------------------------------------------------------------------------------------------ */

/* Returns where `size` more bytes fit, or NULL. */
static char *reserve(struct text *t, size_t size)
{
    if (t->capacity - t->size < size) {
        const size_t capacity = 2 * t->capacity + size;
        char *data = realloc(t->data, capacity);
        if (data == NULL) return NULL;
        t->data = data;
        t->capacity = capacity;
    }
    return t->data + t->size;
}

WEFT_PRINTF(2, 3) static void put(struct text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, args);
    char *at = reserve(t, size + 1);
    if (at == NULL) {
        t->failed = true;
    } else {
        vsnprintf(at, size + 1, format, again);
        t->size += size;
    }
    va_end(again);
    va_end(args);
}

static void head(struct text *t, const char *name, const char *help)
{
    put(t, "# HELP weft_store_%s %s\n# TYPE weft_store_%s gauge\n", name, help, name);
}

static void single(struct text *t, const char *name, const char *help, uint64_t value)
{
    head(t, name, help);
    put(t, "weft_store_%s %" PRIu64 "\n", name, value);
}

static void put_queues(struct text *t, const struct counts *c)
{
    single(t, "queues", "Queues that have jobs.", c->queues);
    head(t, "jobs", "Jobs of a queue by state.");
    for (size_t i = 0; i < rows_of(c->queues); i++) {
        const struct wf_store_queue *q = &c->queue[i];
        put(t, "weft_store_jobs{queue=\"%s\",state=\"ready\"} %" PRIu64 "\n", q->name, q->ready);
        put(t, "weft_store_jobs{queue=\"%s\",state=\"delayed\"} %" PRIu64 "\n", q->name, q->delayed);
        put(t, "weft_store_jobs{queue=\"%s\",state=\"leased\"} %" PRIu64 "\n", q->name, q->leased);
        put(t, "weft_store_jobs{queue=\"%s\",state=\"dead\"} %" PRIu64 "\n", q->name, q->dead);
    }
}

static void put_topics(struct text *t, const struct counts *c)
{
    single(t, "topics", "Topics that have a log.", c->logs);
    head(t, "topic_records", "Messages that are stored under a topic.");
    for (size_t i = 0; i < rows_of(c->logs); i++)
        put(t, "weft_store_topic_records{topic=\"%s\"} %" PRIu64 "\n", c->log[i].topic, c->log[i].last);
    head(t, "topic_bytes", "Bytes of the messages that are stored under a topic.");
    for (size_t i = 0; i < rows_of(c->logs); i++)
        put(t, "weft_store_topic_bytes{topic=\"%s\"} %" PRIu64 "\n", c->log[i].topic, c->log[i].bytes);
}

static void put_cursors(struct text *t, const struct counts *c)
{
    single(t, "cursors", "Cursors, one for each name and topic.", c->cursors);
    head(t, "cursor_behind", "Messages that are stored behind a cursor.");
    for (size_t i = 0; i < rows_of(c->cursors); i++)
        put(t, "weft_store_cursor_behind{cursor=\"%s\",topic=\"%s\"} %" PRIu64 "\n", c->cursor[i].name,
            c->cursor[i].topic, c->cursor[i].behind);
}

static int write_text(struct scrape *s)
{
    put_queues(&s->text, &s->counts);
    put_topics(&s->text, &s->counts);
    put_cursors(&s->text, &s->counts);
    return s->text.failed ? WEFT_ENOMEM : WEFT_OK;
}

static void count(void *block)
{
    struct scrape *s = *(struct scrape **)block;
    struct wf_store *store = s->file->store;
    const struct wf_store_engine *engine = store->engine;
    s->rc = engine->queues(store, "", engine->clock(store), add_queue, &s->counts);
    if (s->rc == WEFT_OK) s->rc = engine->list(store, NULL, add_log, &s->counts);
    if (s->rc == WEFT_OK) s->rc = engine->cursors(store, "", "", add_cursor, s);
    if (s->rc == WEFT_OK) s->rc = write_text(s);
}

/* ---- The actor ------------------------------------------------------------------------------------------------- */

struct store_metrics {
    struct wf_store_file *file;
    struct scrape *last; /* NULL: none */
    int64_t taken_at;
};

static void free_metrics(void *arg)
{
    struct store_metrics *m = arg;
    if (m->last != NULL) free_scrape(&m->last);
    wf_store_file_leave(m->file);
    free(m);
}

static void scrape(struct store_metrics *m)
{
    struct scrape *s = calloc(1, sizeof *s);
    weft_job job;
    if (s == NULL) return;
    s->file = wf_store_file_share(m->file);
    if (weft_offload_start(&job, count, free_scrape, &s, sizeof(void *), WEFT_FOREVER) < 0) {
        free_scrape(&s);
        return;
    }
    if (weft_offload_take(job, &s, sizeof(void *), WEFT_FOREVER) < 0) {
        (void)weft_offload_drop(job);
        return;
    }
    if (s->rc < 0) weft_log(WEFT_WARN, "store: cannot count for /metrics: %s", weft_strerror(s->rc));
    if (m->last != NULL) free_scrape(&m->last);
    m->last = s;
    m->taken_at = weft_now();
}

static void pack_queues(weft_writer *w, const struct counts *c)
{
    size_t rows = rows_of(c->queues);
    weft_put_array(w, (uint32_t)rows);
    for (size_t i = 0; i < rows; i++) {
        const struct wf_store_queue *q = &c->queue[i];
        const struct {
            const char *state;
            uint64_t jobs;
        } of[] = {{"ready", q->ready}, {"delayed", q->delayed}, {"leased", q->leased}, {"dead", q->dead}};
        weft_put_map(w, 5);
        weft_put_str(w, weft_cstr("queue"));
        weft_put_str(w, weft_cstr(q->name));
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            weft_put_str(w, weft_cstr(of[k].state));
            weft_put_uint(w, of[k].jobs);
        }
    }
}

static void answer_queues(const weft_msg *ask, const struct counts *c)
{
    weft_writer w = weft_writer_on(NULL, 0);
    pack_queues(&w, c);
    weft_msg *m = weft_msg_new(WF_METRICS_QUEUES, w.size);
    if (m == NULL) return;
    w = weft_writer_on(weft_msg_body(m), w.size);
    pack_queues(&w, c);
    weft_ignore(weft_reply_msg(ask, m));
}

static void answer(struct store_metrics *m, const weft_msg *ask)
{
    bool fresh = m->last != NULL && weft_now() - m->taken_at < WEFT_SEC(1);
    if (!fresh) scrape(m);
    if (m->last == NULL || m->last->rc < 0) return;
    if (weft_tag(ask) == WF_METRICS_QUEUES) answer_queues(ask, &m->last->counts);
    else weft_ignore(weft_reply(ask, WF_METRICS_ASK, m->last->text.data, m->last->text.size));
}

void wf_store_metrics(const void *arg, size_t size)
{
    uint64_t number;
    (void)size;
    memcpy(&number, arg, sizeof number);
    struct wf_store_file *file = wf_store_file_find(number);
    if (file == NULL) return;
    struct store_metrics *m = calloc(1, sizeof *m);
    if (m == NULL) {
        wf_store_file_leave(file);
        return;
    }
    m->file = file;
    if (weft_defer(free_metrics, m) < 0) {
        free_metrics(m);
        return;
    }
    int rc = wf_metrics_row_add();
    if (rc < 0) weft_log(WEFT_WARN, "store: not in /metrics: %s", weft_strerror(rc));
    weft_msg *ask;
    for (bool quits = false; !quits && weft_recv(&ask, WEFT_FOREVER) == WEFT_OK;) {
        quits = weft_tag(ask) == WF_STORE_QUIT;
        bool asks = weft_tag(ask) == WF_METRICS_ASK || weft_tag(ask) == WF_METRICS_QUEUES;
        if (asks && weft_wants_reply(ask) && !weft_expired(ask)) answer(m, ask);
        weft_msg_free(ask);
    }
}
