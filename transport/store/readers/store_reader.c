/* transport/store/readers/store_reader.c -- see store_reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/offload.h>
#include <weft/store.h>

#include "effort.h"
#include "reminder_pages.h"
#include "shared_record.h"
#include "state_pages.h"
#include "store_file.h"
#include "store_listing.h"
#include "store_messages.h"
#include "store_reader.h"

/* A page that is being read; it owns all memory that its job uses. Its rows are packed as they are read, so that the
 * answer is made by copying them. */
struct page {
    struct wf_store_file *file;
    char topic[WF_STORE_TOPIC_MAX + 1];
    uint64_t epoch, from;
    size_t count, bytes;
    struct wf_store_log log;
    int rc;
    size_t rows;
    uint8_t *packed;
    size_t size, capacity;
};

enum { ROW_HEAD_MAX = 1 + 4 * 9 }; /* bytes of a packed row without its body */

static void free_page(void *block)
{
    struct page *p = *(struct page **)block;
    wf_store_file_release(p->file);
    free(p->packed);
    free(p);
}

static bool has_space(struct page *p, size_t size)
{
    if (p->size + size <= p->capacity) return true;
    size_t capacity = (p->size + size) * 2;
    uint8_t *packed = realloc(p->packed, capacity);
    if (packed == NULL) return false;
    p->packed = packed;
    p->capacity = capacity;
    return true;
}

static bool add_row(void *arg, const struct wf_store_record *r)
{
    struct page *p = arg;
    if (p->rows == WF_STORE_PAGE_RECORDS) return false;
    if (!has_space(p, ROW_HEAD_MAX + r->size)) {
        p->rc = WEFT_ENOMEM;
        return false;
    }
    struct store_row row = {.offset = r->offset, .time = r->time, .tag = r->tag, .body = weft_str(r->data, r->size)};
    weft_writer w = weft_writer_on(p->packed + p->size, p->capacity - p->size);
    store_row_put(&w, &row);
    p->size += w.size;
    p->rows++;
    return true;
}

static void read_page(void *block)
{
    struct page *p = *(struct page **)block;
    const struct wf_store_engine *engine = p->file->store->engine;
    int rc = engine->find(p->file->store, p->topic, &p->log);
    bool other_log = p->epoch != 0 && p->epoch != p->log.epoch;
    if (rc == WEFT_OK && !other_log)
        rc = engine->read(p->file->store, p->topic, p->from, p->count, p->bytes, add_row, p, &p->log);
    if (p->rc == WEFT_OK || p->rows > 0) p->rc = rc < 0 ? rc : WEFT_OK;
}

static struct page *new_page(struct wf_store_file *file, const struct store_read *in)
{
    struct page *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->file = wf_store_file_share(file);
    if (!weft_text_copy(in->topic, p->topic, sizeof p->topic)) p->topic[0] = '\0'; /* no log has the name "" */
    p->epoch = in->epoch;
    p->from = in->from;
    p->count = in->count < WF_STORE_PAGE_RECORDS ? (size_t)in->count : WF_STORE_PAGE_RECORDS;
    p->bytes = in->bytes < WF_STORE_PAGE_BYTES ? (size_t)in->bytes : WF_STORE_PAGE_BYTES;
    return p;
}

static void answer_page(const weft_msg *ask, struct page *p, int rc)
{
    struct store_page out = {.error = rc};
    if (rc == WEFT_OK) {
        out = (struct store_page){.error = p->rc, .epoch = p->log.epoch, .first = p->log.first, .last = p->log.last};
        if (p->rows > 0)
            out.rows = (weft_list_store_row){.count = p->rows, .packed = p->packed, .end = p->packed + p->size};
    }
    wf_store_answer(ask, store_page_type(), &out);
}

int wf_reader_run(const weft_msg *ask, weft_blocking *run, weft_blocking *drop, void *p)
{
    weft_job job;
    int rc = weft_offload_start(&job, run, drop, p, sizeof(void *), weft_deadline(ask));
    if (rc < 0) {
        drop(p);
        return rc;
    }
    rc = weft_offload_take(job, p, sizeof(void *), weft_deadline(ask));
    if (rc < 0) (void)weft_offload_drop(job); /* dropping the job frees what the block points to */
    return rc;
}

/* ---- Reading ahead --------------------------------------------------------------------------------------------- */

/* The page behind the one that was answered last. If the request before was for the page before, it is read while its
 * reader handles that one; readers that take turns would only undo each other's work. A page says what the log was
 * when it was read. */
struct ahead {
    bool runs;
    weft_job job;
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct store_read of; /* without its topic; from 0: none */
};

static bool is_ahead(const struct ahead *a, const struct store_read *in)
{
    return weft_text_equal(in->topic, a->topic) && in->epoch == a->of.epoch && in->from == a->of.from &&
           in->count == a->of.count && in->bytes == a->of.bytes;
}

static void drop_ahead(struct ahead *a)
{
    if (a->runs) (void)weft_offload_drop(a->job);
    a->runs = false;
}

static void start_ahead(struct ahead *a, struct wf_store_file *file)
{
    a->of.topic = weft_cstr(a->topic);
    struct page *p = new_page(file, &a->of);
    if (p == NULL) return;
    a->runs = weft_offload_start(&a->job, read_page, free_page, &p, sizeof p, WEFT_NOW) == WEFT_OK;
    if (!a->runs) free_page(&p);
}

/* At the end of a log there is nothing to be read yet. */
static void read_ahead(struct ahead *a, const struct store_read *in, const struct page *last)
{
    uint64_t next = (last->log.first > in->from ? last->log.first : in->from) + last->rows;
    bool goes_on = is_ahead(a, in);
    drop_ahead(a);
    a->of.from = 0;
    if (last->rc != WEFT_OK || last->rows == 0 || next > last->log.last) return;
    a->of = (struct store_read){.epoch = last->log.epoch, .from = next, .count = in->count, .bytes = in->bytes};
    memcpy(a->topic, last->topic, sizeof a->topic);
    if (goes_on) start_ahead(a, last->file);
}

/* NULL: that page has to be read. */
static struct page *take_ahead(struct ahead *a, const weft_msg *ask, const struct store_read *in)
{
    struct page *p;
    if (!a->runs || !is_ahead(a, in) || weft_offload_take(a->job, &p, sizeof p, weft_deadline(ask)) < 0) return NULL;
    a->runs = false;
    if (p->rc == WEFT_OK && p->rows > 0) return p;
    free_page(&p);
    return NULL;
}

/* ---- Pages that many ask for ----------------------------------------------------------------------------------- */

/* When a topic with thousands of readers has a record, each of them asks for the same page: the one at the end of the log. It is
 * read once, and kept until another one is read; it counts as long as the log stays as it was. */
struct reading {
    struct ahead ahead;
    struct page *last; /* NULL: none */
    struct wf_effort effort;
};

static bool is_last(const struct wf_store_file *file, const struct page *p, const struct store_read *in)
{
    struct wf_store_log log;
    if (p == NULL || !weft_text_equal(in->topic, p->topic) || in->epoch != p->epoch || in->from != p->from ||
        in->count != p->count || in->bytes != p->bytes)
        return false;
    return file->store->engine->find(file->store, p->topic, &log) == WEFT_OK && log.epoch == p->log.epoch &&
           log.first == p->log.first && log.last == p->log.last;
}

static bool is_at_end(const struct page *p)
{
    return p->rc == WEFT_OK && p->rows > 0 && p->from >= p->log.first && p->from + p->rows > p->log.last;
}

static void drop_last(struct reading *a)
{
    if (a->last != NULL) free_page(&a->last);
    a->last = NULL;
}

static void keep_last(struct reading *a, struct page *p)
{
    drop_last(a);
    a->last = is_at_end(p) ? p : NULL;
    if (a->last == NULL) free_page(&p);
}

/* Returns the page, which belongs to the caller, or NULL: `*rc` says why. */
static struct page *page_for(struct wf_store_file *file, struct reading *a, const weft_msg *ask,
                             const struct store_read *in, int *rc)
{
    struct page *p = take_ahead(&a->ahead, ask, in);
    *rc = WEFT_OK;
    if (p == NULL) {
        p = new_page(file, in);
        *rc = p == NULL ? WEFT_ENOMEM : wf_reader_run(ask, read_page, free_page, &p);
    }
    if (*rc < 0) return NULL;
    read_ahead(&a->ahead, in, p);
    return p;
}

static void read_for(struct wf_store_file *file, struct reading *a, const weft_msg *ask)
{
    struct store_read in;
    int rc = weft_typed_read(store_read_type(), weft_data(ask), weft_size(ask), &in, NULL);
    const bool is_kept = rc == WEFT_OK && is_last(file, a->last, &in);
    struct page *p = is_kept ? a->last : rc == WEFT_OK ? page_for(file, a, ask, &in, &rc) : NULL;
    answer_page(ask, p, rc);
    const size_t size = p == NULL ? 0 : p->size;
    if (p != NULL && !is_kept) keep_last(a, p);
    wf_effort_count(&a->effort, WF_EFFORT_ANSWER + wf_effort_bytes(size));
}

/* ---- Lists of logs --------------------------------------------------------------------------------------------- */

struct logs {
    struct wf_listing is;
    struct wf_store_log log[WF_STORE_PAGE_LOGS];
    struct store_log row[WF_STORE_PAGE_LOGS];
};

static bool add_log(void *arg, const struct wf_store_log *log)
{
    struct logs *l = arg;
    if (l->is.count == l->is.max) return false;
    struct wf_store_log *at = &l->log[l->is.count];
    *at = *log;
    l->row[l->is.count++] = (struct store_log){weft_cstr(at->topic), at->epoch, at->first, at->last, at->bytes};
    return true;
}

static int list_logs(struct wf_listing *l)
{
    return l->file->store->engine->list(l->file->store, l->after, add_log, l);
}

static void answer_logs(const weft_msg *ask, const struct wf_listing *l, int error)
{
    struct store_logs out = {.error = error};
    if (l != NULL) out.logs = store_log_list(((const struct logs *)l)->row, l->count);
    wf_store_answer(ask, store_logs_type(), &out);
}

static const struct wf_listing_kind logs_kind = {sizeof(struct logs), wf_listing_ask, list_logs, answer_logs};

/* ---- Counts of queues ------------------------------------------------------------------------------------------ */

struct queues {
    struct wf_listing is;
    struct wf_store_queue queue[WF_STORE_PAGE_LOGS];
    struct store_queue row[WF_STORE_PAGE_LOGS];
};

static bool add_queue(void *arg, const struct wf_store_queue *q)
{
    struct queues *l = arg;
    if (l->is.count == l->is.max) return false;
    struct wf_store_queue *at = &l->queue[l->is.count];
    *at = *q;
    l->row[l->is.count++] = (struct store_queue){weft_cstr(at->name), at->ready, at->delayed, at->leased, at->dead};
    return true;
}

static int count_queues(struct wf_listing *l)
{
    const struct wf_store_engine *engine = l->file->store->engine;
    return engine->queues(l->file->store, l->after, engine->clock(l->file->store), add_queue, l);
}

static void answer_queues(const weft_msg *ask, const struct wf_listing *l, int error)
{
    struct store_queues out = {.error = error};
    if (l != NULL) out.queues = store_queue_list(((const struct queues *)l)->row, l->count);
    wf_store_answer(ask, store_queues_type(), &out);
}

static const struct wf_listing_kind queues_kind = {sizeof(struct queues), wf_listing_ask, count_queues,
                                                   answer_queues};

/* ---- Cursors --------------------------------------------------------------------------------------------------- */

enum { CURSOR_TEXT = WF_SHARED_PREFIX_SIZE + WEFT_CURSOR_NAME_MAX + 1 };

/* A request for one cursor, or for the cursors after it: `key` is the name, `after` the topic. */
struct cursors {
    struct wf_listing is;
    struct wf_store_cursor at;
    struct {
        char name[CURSOR_TEXT], topic[WF_STORE_TOPIC_MAX + 1];
    } found[WF_STORE_PAGE_LOGS];
    struct store_cursor row[WF_STORE_PAGE_LOGS];
};

static int read_cursors_from(struct wf_listing *l, const weft_msg *ask)
{
    struct store_cursors_from in;
    int rc = weft_typed_read(store_cursors_from_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    l->max = wf_listing_max(in.count);
    bool fine = weft_text_copy(in.name, l->key, CURSOR_TEXT) && weft_text_copy(in.topic, l->after, sizeof l->after);
    return fine ? WEFT_OK : WEFT_EINVAL;
}

static bool add_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    struct cursors *l = arg;
    struct wf_store_log log;
    if (l->is.count == l->is.max) return false;
    char *to_name = l->found[l->is.count].name, *to_topic = l->found[l->is.count].topic;
    if (!weft_text_copy(weft_cstr(name), to_name, CURSOR_TEXT) ||
        !weft_text_copy(weft_cstr(topic), to_topic, WF_STORE_TOPIC_MAX + 1))
        return true; /* it cannot be the name of a cursor */
    bool has_log = l->is.file->store->engine->find(l->is.file->store, topic, &log) == WEFT_OK;
    l->row[l->is.count++] = (struct store_cursor){weft_cstr(to_name), weft_cstr(to_topic), at.epoch, at.offset,
                                                  has_log ? wf_store_behind(&log, at) : 0};
    return true;
}

static int list_cursors(struct wf_listing *l)
{
    return l->file->store->engine->cursors(l->file->store, l->key, l->after, add_cursor, l);
}

static void answer_cursors(const weft_msg *ask, const struct wf_listing *l, int error)
{
    struct store_cursors out = {.error = error};
    if (l != NULL) out.cursors = store_cursor_list(((const struct cursors *)l)->row, l->count);
    wf_store_answer(ask, store_cursors_type(), &out);
}

static const struct wf_listing_kind cursors_kind = {sizeof(struct cursors), read_cursors_from, list_cursors,
                                                    answer_cursors};

static int find_cursor(struct wf_listing *l)
{
    const struct wf_store_engine *engine = l->file->store->engine;
    struct cursors *c = (struct cursors *)l;
    struct wf_store_cursor shared = {0};
    char name[sizeof l->key + WF_SHARED_PREFIX_SIZE];
    int rc = engine->cursor(l->file->store, l->key, l->after, &c->at);
    if (rc < 0 || c->at.epoch != 0) return rc;
    snprintf(name, sizeof name, WF_SHARED_PREFIX "%s", l->key);
    rc = engine->cursor(l->file->store, name, l->after, &shared);
    return rc == WEFT_EFORMAT || shared.epoch != 0 ? WEFT_EEXIST : rc;
}

static void answer_cursor(const weft_msg *ask, const struct wf_listing *l, int error)
{
    struct store_appended out = {.error = error};
    const struct cursors *c = (const struct cursors *)l;
    if (error == WEFT_OK) out = (struct store_appended){0, c->at.epoch, c->at.offset};
    wf_store_answer(ask, store_appended_type(), &out);
}

static const struct wf_listing_kind cursor_kind = {sizeof(struct cursors), read_cursors_from, find_cursor,
                                                   answer_cursor};

/* ---- The actor ------------------------------------------------------------------------------------------------- */

static void release(void *file)
{
    wf_store_file_leave(file);
}

/* Before this actor ends, so that the file is closed then. */
static void await_ahead(struct ahead *a)
{
    struct page *p;
    if (!a->runs || weft_offload_take(a->job, &p, sizeof p, WEFT_FOREVER) < 0) return;
    a->runs = false;
    free_page(&p);
}

static void release_reading(void *reading)
{
    struct reading *a = reading;
    drop_ahead(&a->ahead);
    drop_last(a);
    free(a);
}

static void answer(struct wf_store_file *file, struct reading *reading, const weft_msg *ask)
{
    switch (weft_tag(ask)) {
    case WF_STORE_READ: read_for(file, reading, ask); break;
    case WF_STORE_LIST: wf_listing_for(file, ask, &logs_kind); break;
    case WF_STORE_QUEUES: wf_listing_for(file, ask, &queues_kind); break;
    case WF_STORE_CURSOR: wf_listing_for(file, ask, &cursor_kind); break;
    case WF_STORE_CURSORS: wf_listing_for(file, ask, &cursors_kind); break;
    case WF_STORE_REMINDERS: wf_reminders_for(file, ask); break;
    case WF_STORE_STATE_READ:
    case WF_STORE_STATES: wf_state_page_for(file, ask); break;
    default: break;
    }
}

/* So a store that nobody writes to is noticed, too, when it cannot reach its server. */
static void tell_doubt(const struct wf_store_file *file)
{
    weft_pid store;
    if (atomic_load(&file->store->is_doubted) && weft_whereis(WEFT_STORE_NAME, &store) == WEFT_OK)
        weft_ignore(weft_try_send(store, WF_STORE_CONFIRM, NULL, 0)); /* the next reader tells it again */
}

void wf_store_reader(const void *arg, size_t size)
{
    uint64_t number;
    (void)size;
    memcpy(&number, arg, sizeof number);
    struct wf_store_file *file = wf_store_file_find(number);
    if (file == NULL) return;
    if (weft_defer(release, file) < 0) {
        wf_store_file_leave(file);
        return;
    }
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) return;
    if (weft_defer(release_reading, reading) < 0) {
        free(reading);
        return;
    }
    weft_msg *m;
    for (bool quits = false; !quits && weft_recv(&m, WEFT_FOREVER) == WEFT_OK;) {
        quits = weft_tag(m) == WF_STORE_QUIT;
        if (!weft_expired(m)) answer(file, reading, m);
        tell_doubt(file);
        weft_msg_free(m);
    }
    await_ahead(&reading->ahead);
    drop_last(reading);
}
