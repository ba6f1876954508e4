/* transport/store/server/store_cursors.c -- see store_cursors.h. */
#include <assert.h>
#include <stdlib.h>

#include <weft/store.h>

#include "list.h"
#include "store_batch.h"
#include "store_cursors.h"
#include "store_messages.h"
#include "stored_topic.h"

static_assert((int)WEFT_CURSORS_MAX == (int)WF_STORE_CURSORS_MAX, "cursors of a store");

struct advance {
    struct wf_pending_request request;
    char name[WEFT_CURSOR_NAME_MAX + 1];
    char topic[WF_STORE_TOPIC_MAX + 1];
    struct wf_store_cursor to;
};

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static void answer(const weft_msg *ask, int error, struct wf_store_cursor at)
{
    struct store_appended out = {error, at.epoch, at.offset};
    wf_store_answer(ask, store_appended_type(), &out);
}

static struct advance *advance_of(struct wf_pending_request *r)
{
    return WF_CONTAINER(r, struct advance, request);
}

/* The request is the first one of `running`, or in no list. It leaves `running` here, as the turn may end behind each, and the
 * actor may be killed then. */
static void end_wait(struct wf_store_cursors *c, struct advance *w, int error)
{
    weft_msg *ask = w->request.ask;
    const struct wf_store_cursor to = w->to;
    if (c->requests.running == &w->request) c->requests.running = w->request.next;
    free(w);
    answer(ask, error, to);
    weft_msg_free(ask);
}

static bool removes(const struct advance *w)
{
    return w->to.epoch == 0 && w->to.offset == 0;
}

/* A position that the log does not have belongs to another file: then the cursor is not moved. */
static int check_position(const struct wf_store_cursors *c, const struct advance *w)
{
    struct wf_store_log log;
    if (removes(w)) return WEFT_OK;
    int rc = c->file->store->engine->find(c->file->store, w->topic, &log);
    if (rc < 0) return rc;
    return w->to.epoch == log.epoch && w->to.offset <= log.last ? WEFT_OK : WEFT_ENOTFOUND;
}

static int read_advance(const struct wf_store_cursors *c, struct advance *w)
{
    struct store_advance in;
    if (weft_typed_read(store_advance_type(), weft_data(w->request.ask), weft_size(w->request.ask), &in, NULL) < 0)
        return WEFT_EFORMAT;
    if (!weft_text_copy(in.name, w->name, sizeof w->name) || !wf_store_cursor_ok(w->name)) return WEFT_EINVAL;
    if (!weft_text_copy(in.topic, w->topic, sizeof w->topic) || !wf_store_topic_ok(w->topic)) return WEFT_EINVAL;
    w->to = (struct wf_store_cursor){in.epoch, in.offset};
    return check_position(c, w);
}

void wf_cursors_init(struct wf_store_cursors *c, struct wf_store_file *file, struct wf_store_shares *shares,
                     struct wf_effort *effort)
{
    c->file = file;
    c->shares = shares;
    wf_pending_requests_init(&c->requests, effort);
}

void wf_cursors_advance(struct wf_store_cursors *c, weft_msg *ask)
{
    struct advance *w = calloc(1, sizeof *w);
    if (w == NULL) {
        answer(ask, WEFT_ENOMEM, (struct wf_store_cursor){0});
        weft_msg_free(ask);
        return;
    }
    w->request.ask = ask;
    int rc = read_advance(c, w);
    if (rc < 0) end_wait(c, w, rc);
    else wf_pending_requests_add(&c->requests, &w->request);
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

static struct wf_store_batch *new_batch(struct wf_store_cursors *c, size_t count)
{
    const size_t bytes = count * (WEFT_CURSOR_NAME_MAX + 1 + WF_STORE_TOPIC_MAX + 1);
    struct wf_store_batch *b = wf_store_batch_new(c->file, count, sizeof(struct wf_store_advance), bytes);
    c->requests.batch = b;
    for (struct wf_pending_request *r = c->requests.running; r != NULL && b != NULL; r = r->next) {
        const struct advance *w = advance_of(r);
        struct wf_store_advance *to = (struct wf_store_advance *)b->item + b->count++;
        to->name = wf_store_batch_copy_text(b, w->name);
        to->topic = wf_store_batch_copy_text(b, w->topic);
        to->to = w->to;
        wf_effort_count(c->requests.effort, WF_EFFORT_COMPARE);
    }
    c->requests.batch = NULL;
    return b;
}

static void run_batch(void *block)
{
    struct wf_store_batch *b = *(struct wf_store_batch **)block;
    (void)b->file->store->engine->advance(b->file->store, b->item, b->count); /* each item has its error */
}

/* Consumes `b`. NULL: all have failed with `error`. */
static void answer_all(struct wf_store_cursors *c, struct wf_store_batch *b, int error)
{
    const struct wf_store_advance *item = b == NULL ? NULL : b->item;
    c->requests.batch = b;
    for (; c->requests.running != NULL; wf_effort_count(c->requests.effort, WF_EFFORT_ANSWER)) {
        struct advance *w = advance_of(c->requests.running);
        const int rc = item == NULL ? error : item++->error;
        /* Members that wait get all records of the topic again. */
        if (rc == WEFT_OK && removes(w)) c->requests.effort->done += wf_shares_appended(c->shares, w->topic);
        end_wait(c, w, rc);
    }
    c->requests.batch = NULL;
    wf_store_batch_free(b);
}

bool wf_cursors_start(struct wf_store_cursors *c, weft_job *job)
{
    size_t data, count = wf_pending_requests_choose(&c->requests, WF_STORE_BATCH_MAX, &data, NULL, NULL);
    if (count == 0) return false;
    int rc = wf_store_batch_start(new_batch(c, count), run_batch, job);
    if (rc < 0) answer_all(c, NULL, rc);
    return rc == WEFT_OK;
}

void wf_cursors_finish(struct wf_store_cursors *c, weft_job job)
{
    struct wf_store_batch *b = wf_store_batch_take(job);
    answer_all(c, b, WEFT_ESYSTEM);
}
