/* transport/store/server/store_cursors.c -- see store_cursors.h. */
#include <stdlib.h>
#include <string.h>

#include <weft/store.h>

#include "store_cursors.h"
#include "store_messages.h"
#include "stored_topic.h"

struct cursor_text {
    char name[WEFT_CURSOR_NAME_MAX + 1];
    char topic[WF_STORE_TOPIC_MAX + 1];
};

struct wf_advance_wait {
    weft_msg *ask;
    struct cursor_text text;
    struct wf_store_cursor to;
    struct wf_advance_wait *next;
};

/* A batch owns copies of all its data, because another thread stores it, perhaps after its actor has ended. */
struct batch {
    struct wf_store_file *file;
    struct wf_store_advance *item;
    struct cursor_text *text; /* the texts of each item */
    size_t count;
};

static void free_batch(struct batch *b)
{
    if (b == NULL) return;
    wf_store_file_release(b->file);
    free(b->item);
    free(b->text);
    free(b);
}

static struct batch *new_batch(struct wf_store_file *file, size_t count)
{
    struct batch *b = calloc(1, sizeof *b);
    if (b == NULL) return NULL;
    b->item = calloc(count, sizeof *b->item);
    b->text = calloc(count, sizeof *b->text);
    b->file = wf_store_file_share(file);
    if (b->item != NULL && b->text != NULL) return b;
    free_batch(b);
    return NULL;
}

static void add(struct batch *b, const struct wf_advance_wait *w)
{
    struct cursor_text *text = &b->text[b->count];
    *text = w->text;
    b->item[b->count++] = (struct wf_store_advance){.name = text->name, .topic = text->topic, .to = w->to};
}

static void run_batch(void *block)
{
    struct batch *b = *(struct batch **)block;
    (void)b->file->store->engine->advance(b->file->store, b->item, b->count); /* each item has its error */
}

static void drop_batch(void *block)
{
    free_batch(*(struct batch **)block);
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static void answer(const weft_msg *ask, int error, struct wf_store_cursor at)
{
    struct store_appended out = {error, at.epoch, at.offset};
    wf_store_answer(ask, store_appended_type(), &out);
}

static void end_wait(struct wf_advance_wait *w, int error)
{
    answer(w->ask, error, w->to);
    weft_msg_free(w->ask);
    free(w);
}

/* A position that the log does not have belongs to another file: then the cursor is not moved. */
static int check_position(const struct wf_store_cursors *c, const struct wf_advance_wait *w)
{
    struct wf_store_log log;
    if (w->to.epoch == 0 && w->to.offset == 0) return WEFT_OK; /* the cursor is removed */
    int rc = c->file->store->engine->find(c->file->store, w->text.topic, &log);
    if (rc < 0) return rc;
    return w->to.epoch == log.epoch && w->to.offset <= log.last ? WEFT_OK : WEFT_ENOTFOUND;
}

static int read_advance(const struct wf_store_cursors *c, struct wf_advance_wait *w)
{
    struct store_advance in;
    if (weft_typed_read(store_advance_type(), weft_data(w->ask), weft_size(w->ask), &in, NULL) < 0)
        return WEFT_EFORMAT;
    if (!weft_text_copy(in.name, w->text.name, sizeof w->text.name) || !wf_store_cursor_ok(w->text.name))
        return WEFT_EINVAL;
    if (!weft_text_copy(in.topic, w->text.topic, sizeof w->text.topic) || !wf_store_topic_ok(w->text.topic))
        return WEFT_EINVAL;
    w->to = (struct wf_store_cursor){in.epoch, in.offset};
    return check_position(c, w);
}

void wf_cursors_init(struct wf_store_cursors *c, struct wf_store_file *file)
{
    c->file = file;
    c->end = &c->first;
}

void wf_cursors_advance(struct wf_store_cursors *c, weft_msg *ask)
{
    struct wf_advance_wait *w = calloc(1, sizeof *w);
    if (w == NULL) {
        answer(ask, WEFT_ENOMEM, (struct wf_store_cursor){0});
        weft_msg_free(ask);
        return;
    }
    w->ask = ask;
    int rc = read_advance(c, w);
    if (rc < 0) {
        end_wait(w, rc);
        return;
    }
    *c->end = w;
    c->end = &w->next;
    c->waiting++;
}

/* ---- Batches --------------------------------------------------------------------------------------------------- */

static struct wf_advance_wait *pop(struct wf_store_cursors *c)
{
    struct wf_advance_wait *w = c->first;
    c->first = w->next;
    if (c->first == NULL) c->end = &c->first;
    c->waiting--;
    w->next = NULL;
    return w;
}

/* Chooses the requests of the next batch; requests whose callers have given up are not stored. Returns their
 * number. */
static size_t choose(struct wf_store_cursors *c)
{
    struct wf_advance_wait **end = &c->running;
    size_t count = 0;
    while (c->first != NULL && count < WF_STORE_BATCH_MAX) {
        struct wf_advance_wait *w = pop(c);
        if (weft_expired(w->ask)) {
            weft_msg_free(w->ask);
            free(w);
            continue;
        }
        *end = w;
        end = &w->next;
        count++;
    }
    return count;
}

static void answer_all(struct wf_store_cursors *c, const struct batch *b, int error)
{
    size_t i = 0;
    for (struct wf_advance_wait *w = c->running, *next; w != NULL; w = next, i++) {
        next = w->next;
        end_wait(w, b == NULL ? error : b->item[i].error);
    }
    c->running = NULL;
}

bool wf_cursors_start(struct wf_store_cursors *c, weft_job *job)
{
    size_t count = choose(c);
    if (count == 0) return false;
    struct batch *b = new_batch(c->file, count);
    for (struct wf_advance_wait *w = c->running; w != NULL && b != NULL; w = w->next) add(b, w);
    int rc = b == NULL ? WEFT_ENOMEM
                       : weft_offload_start(job, run_batch, drop_batch, &b, sizeof(void *), WEFT_FOREVER);
    if (rc == WEFT_OK) return true;
    free_batch(b);
    answer_all(c, NULL, rc);
    return false;
}

void wf_cursors_finish(struct wf_store_cursors *c, weft_job job)
{
    struct batch *b = NULL;
    int rc = weft_offload_take(job, &b, sizeof(void *), WEFT_FOREVER);
    answer_all(c, rc < 0 ? NULL : b, WEFT_ESYSTEM);
    if (rc == WEFT_OK) free_batch(b);
}

bool wf_cursors_is_idle(const struct wf_store_cursors *c)
{
    return c->first == NULL;
}

bool wf_cursors_has_space(const struct wf_store_cursors *c)
{
    return c->waiting < WF_STORE_BATCH_MAX;
}

/* The actor ends: its messages end with it. */
void wf_cursors_free(struct wf_store_cursors *c)
{
    while (c->first != NULL) free(pop(c));
    for (struct wf_advance_wait *w = c->running, *next; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
}
