/* transport/store/store_reader.c -- see store_reader.h. */
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/offload.h>
#include <weft/store.h>

#include "reminder_pages.h"
#include "state_pages.h"
#include "store_file.h"
#include "store_messages.h"
#include "store_reader.h"
#include "stored_topic.h"

/* A page that is being read; it owns all memory that its job uses. */
struct page {
    struct wf_store_file *file;
    char topic[WF_STORE_TOPIC_MAX + 1];
    uint64_t epoch, from;
    size_t count, bytes;
    struct wf_store_log log;
    int rc;
    struct store_row row[WF_STORE_PAGE_RECORDS];
    size_t at[WF_STORE_PAGE_RECORDS]; /* where the body of each row is in `body` */
    size_t rows;
    char *body;
    size_t size, capacity;
};

static void free_page(void *block)
{
    struct page *p = *(struct page **)block;
    wf_store_file_release(p->file);
    free(p->body);
    free(p);
}

static bool add_row(void *arg, const struct wf_store_record *r)
{
    struct page *p = arg;
    if (p->rows == WF_STORE_PAGE_RECORDS) return false;
    if (p->size + r->size > p->capacity) {
        size_t capacity = (p->size + r->size) * 2;
        char *body = realloc(p->body, capacity);
        if (body == NULL) p->rc = WEFT_ENOMEM;
        if (body == NULL) return false;
        p->body = body;
        p->capacity = capacity;
    }
    if (r->size > 0) memcpy(p->body + p->size, r->data, r->size);
    p->at[p->rows] = p->size;
    p->row[p->rows++] = (struct store_row){
        .offset = r->offset, .time = r->time, .tag = r->tag, .body = {.size = r->size}};
    p->size += r->size;
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
        for (size_t i = 0; i < p->rows; i++) p->row[i].body.data = p->body == NULL ? "" : p->body + p->at[i];
        out = (struct store_page){.error = p->rc, .epoch = p->log.epoch, .first = p->log.first, .last = p->log.last};
        out.rows = store_row_list(p->row, p->rows);
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

static void read_for(struct wf_store_file *file, const weft_msg *ask)
{
    struct store_read in;
    int rc = weft_typed_read(store_read_type(), weft_data(ask), weft_size(ask), &in, NULL);
    struct page *p = rc < 0 ? NULL : new_page(file, &in);
    if (p == NULL) {
        answer_page(ask, NULL, rc < 0 ? rc : WEFT_ENOMEM);
        return;
    }
    rc = wf_reader_run(ask, read_page, free_page, &p);
    answer_page(ask, p, rc);
    if (rc == WEFT_OK) free_page(&p);
}

/* ---- Lists of logs --------------------------------------------------------------------------------------------- */

struct listing {
    struct wf_store_file *file;
    char after[WF_STORE_TOPIC_MAX + 1];
    struct wf_store_log log[WF_STORE_PAGE_LOGS];
    struct store_log row[WF_STORE_PAGE_LOGS];
    size_t count, max;
    int rc;
};

static void free_listing(void *block)
{
    struct listing *l = *(struct listing **)block;
    wf_store_file_release(l->file);
    free(l);
}

static bool add_log(void *arg, const struct wf_store_log *log)
{
    struct listing *l = arg;
    if (l->count == l->max) return false;
    l->log[l->count] = *log;
    const struct wf_store_log *at = &l->log[l->count];
    l->row[l->count++] = (struct store_log){weft_cstr(at->topic), at->epoch, at->first, at->last, at->bytes};
    return true;
}

static void list_logs(void *block)
{
    struct listing *l = *(struct listing **)block;
    l->rc = l->file->store->engine->list(l->file->store, l->after, add_log, l);
}

static void answer_logs(const weft_msg *ask, struct listing *l, int rc)
{
    struct store_logs out = {.error = rc};
    if (rc == WEFT_OK) out.error = l->rc;
    if (rc == WEFT_OK) out.logs = store_log_list(l->row, l->count);
    wf_store_answer(ask, store_logs_type(), &out);
}

static void list_for(struct wf_store_file *file, const weft_msg *ask)
{
    struct store_list in;
    int rc = weft_typed_read(store_list_type(), weft_data(ask), weft_size(ask), &in, NULL);
    struct listing *l = rc < 0 ? NULL : calloc(1, sizeof *l);
    if (rc == WEFT_OK && l == NULL) rc = WEFT_ENOMEM;
    if (rc == WEFT_OK && !weft_text_copy(in.after, l->after, sizeof l->after)) rc = WEFT_EINVAL;
    if (rc < 0) {
        answer_logs(ask, NULL, rc);
        free(l);
        return;
    }
    l->file = wf_store_file_share(file);
    l->max = in.count < WF_STORE_PAGE_LOGS ? (size_t)in.count : WF_STORE_PAGE_LOGS;
    rc = wf_reader_run(ask, list_logs, free_listing, &l);
    answer_logs(ask, l, rc);
    if (rc == WEFT_OK) free_listing(&l);
}

/* ---- Counts of queues ------------------------------------------------------------------------------------------ */

struct counting {
    struct wf_store_file *file;
    char after[WF_STORE_TOPIC_MAX + 1];
    struct wf_store_queue queue[WF_STORE_PAGE_LOGS];
    struct store_queue row[WF_STORE_PAGE_LOGS];
    size_t count, max;
    int rc;
};

static void free_counting(void *block)
{
    struct counting *c = *(struct counting **)block;
    wf_store_file_release(c->file);
    free(c);
}

static bool add_queue(void *arg, const struct wf_store_queue *q)
{
    struct counting *c = arg;
    if (strcmp(q->name, c->after) <= 0) return true;
    if (c->count == c->max) return false;
    struct wf_store_queue *at = &c->queue[c->count];
    *at = *q;
    c->row[c->count++] = (struct store_queue){weft_cstr(at->name), at->ready, at->delayed, at->leased, at->dead};
    return true;
}

static void count_queues(void *block)
{
    struct counting *c = *(struct counting **)block;
    const struct wf_store_engine *engine = c->file->store->engine;
    c->rc = engine->queues(c->file->store, engine->clock(c->file->store), add_queue, c);
}

static void answer_queues(const weft_msg *ask, struct counting *c, int rc)
{
    struct store_queues out = {.error = rc};
    if (rc == WEFT_OK) out.error = c->rc;
    if (rc == WEFT_OK) out.queues = store_queue_list(c->row, c->count);
    wf_store_answer(ask, store_queues_type(), &out);
}

static void count_for(struct wf_store_file *file, const weft_msg *ask)
{
    struct store_list in;
    int rc = weft_typed_read(store_list_type(), weft_data(ask), weft_size(ask), &in, NULL);
    struct counting *c = rc < 0 ? NULL : calloc(1, sizeof *c);
    if (rc == WEFT_OK && c == NULL) rc = WEFT_ENOMEM;
    if (rc == WEFT_OK && !weft_text_copy(in.after, c->after, sizeof c->after)) rc = WEFT_EINVAL;
    if (rc < 0) {
        answer_queues(ask, NULL, rc);
        free(c);
        return;
    }
    c->file = wf_store_file_share(file);
    c->max = in.count < WF_STORE_PAGE_LOGS ? (size_t)in.count : WF_STORE_PAGE_LOGS;
    rc = wf_reader_run(ask, count_queues, free_counting, &c);
    answer_queues(ask, c, rc);
    if (rc == WEFT_OK) free_counting(&c);
}

/* ---- Cursors --------------------------------------------------------------------------------------------------- */

/* A request for one cursor, or for the cursors after it. */
struct cursors {
    struct wf_store_file *file;
    char name[WEFT_CURSOR_NAME_MAX + 1], topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_store_cursor at;
    struct weft_cursor found[WF_STORE_PAGE_LOGS];
    struct store_cursor row[WF_STORE_PAGE_LOGS];
    size_t count, max;
    int rc;
};

static void free_cursors(void *block)
{
    struct cursors *c = *(struct cursors **)block;
    wf_store_file_release(c->file);
    free(c);
}

static void find_cursor(void *block)
{
    struct cursors *c = *(struct cursors **)block;
    c->rc = c->file->store->engine->cursor(c->file->store, c->name, c->topic, &c->at);
}

static bool add_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    struct cursors *c = arg;
    struct wf_store_log log;
    if (c->count == c->max) return false;
    struct weft_cursor *to = &c->found[c->count];
    if (!weft_text_copy(weft_cstr(name), to->name, sizeof to->name) ||
        !weft_text_copy(weft_cstr(topic), to->topic, sizeof to->topic))
        return true; /* it cannot be the name of a cursor */
    bool has_log = c->file->store->engine->find(c->file->store, topic, &log) == WEFT_OK;
    c->row[c->count++] = (struct store_cursor){weft_cstr(to->name), weft_cstr(to->topic), at.epoch, at.offset,
                                               has_log ? wf_store_behind(&log, at) : 0};
    return true;
}

static void list_cursors(void *block)
{
    struct cursors *c = *(struct cursors **)block;
    c->rc = c->file->store->engine->cursors(c->file->store, c->name, c->topic, add_cursor, c);
}

static void answer_cursors(const weft_msg *ask, const struct cursors *c, int rc)
{
    if (rc == WEFT_OK) rc = c->rc;
    if (weft_tag(ask) == WF_STORE_CURSOR) {
        struct store_appended out = {.error = rc};
        if (rc == WEFT_OK) out = (struct store_appended){0, c->at.epoch, c->at.offset};
        wf_store_answer(ask, store_appended_type(), &out);
    } else {
        struct store_cursors out = {.error = rc};
        if (rc == WEFT_OK) out.cursors = store_cursor_list(c->row, c->count);
        wf_store_answer(ask, store_cursors_type(), &out);
    }
}

static int read_cursors_from(struct cursors *c, const weft_msg *ask)
{
    struct store_cursors_from in;
    int rc = weft_typed_read(store_cursors_from_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    if (!weft_text_copy(in.name, c->name, sizeof c->name) || !weft_text_copy(in.topic, c->topic, sizeof c->topic))
        return WEFT_EINVAL;
    c->max = in.count < WF_STORE_PAGE_LOGS ? (size_t)in.count : WF_STORE_PAGE_LOGS;
    return WEFT_OK;
}

static void cursors_for(struct wf_store_file *file, const weft_msg *ask)
{
    struct cursors *c = calloc(1, sizeof *c);
    int rc = c == NULL ? WEFT_ENOMEM : read_cursors_from(c, ask);
    if (rc < 0) {
        answer_cursors(ask, NULL, rc);
        free(c);
        return;
    }
    c->file = wf_store_file_share(file);
    rc = wf_reader_run(ask, weft_tag(ask) == WF_STORE_CURSOR ? find_cursor : list_cursors, free_cursors, &c);
    answer_cursors(ask, c, rc);
    if (rc == WEFT_OK) free_cursors(&c);
}

/* ---- The actor ------------------------------------------------------------------------------------------------- */

static void release(void *file)
{
    wf_store_file_leave(file);
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
    weft_msg *m;
    for (bool quits = false; !quits && weft_recv(&m, WEFT_FOREVER) == WEFT_OK;) {
        quits = weft_tag(m) == WF_STORE_QUIT;
        if (weft_tag(m) == WF_STORE_READ && !weft_expired(m)) read_for(file, m);
        if (weft_tag(m) == WF_STORE_LIST && !weft_expired(m)) list_for(file, m);
        if (weft_tag(m) == WF_STORE_QUEUES && !weft_expired(m)) count_for(file, m);
        if ((weft_tag(m) == WF_STORE_CURSOR || weft_tag(m) == WF_STORE_CURSORS) && !weft_expired(m))
            cursors_for(file, m);
        if (weft_tag(m) == WF_STORE_REMINDERS && !weft_expired(m)) wf_reminders_for(file, m);
        if ((weft_tag(m) == WF_STORE_STATE_READ || weft_tag(m) == WF_STORE_STATES) && !weft_expired(m))
            wf_state_page_for(file, m);
        weft_msg_free(m);
    }
}
