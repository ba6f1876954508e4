/* transport/store/reminder_pages.c -- see reminder_pages.h. */
#include <stdlib.h>

#include <weft.h>

#include "reminder_pages.h"
#include "store_messages.h"
#include "store_reader.h"

struct listing {
    struct wf_store_file *file;
    char queue[WF_STORE_TOPIC_MAX + 1], key[WF_STORE_KEY_MAX + 1];
    struct wf_store_reminder found[WF_STORE_PAGE_LOGS];
    struct store_reminder row[WF_STORE_PAGE_LOGS];
    size_t count, max;
    int rc;
};

static void free_listing(void *block)
{
    struct listing *l = *(struct listing **)block;
    wf_store_file_release(l->file);
    free(l);
}

static bool add_reminder(void *arg, const struct wf_store_reminder *r)
{
    struct listing *l = arg;
    if (l->count == l->max) return false;
    struct wf_store_reminder *at = &l->found[l->count];
    *at = *r;
    l->row[l->count++] = (struct store_reminder){.queue = weft_cstr(at->queue),
                                                 .key = weft_cstr(at->key),
                                                 .at = at->at,
                                                 .period = at->period,
                                                 .attempts = at->job.attempts,
                                                 .dead = at->job.dead};
    return true;
}

static void list_reminders(void *block)
{
    struct listing *l = *(struct listing **)block;
    l->rc = l->file->store->engine->reminders(l->file->store, l->queue, l->key, add_reminder, l);
}

static void answer_reminders(const weft_msg *ask, const struct listing *l, int rc)
{
    struct store_reminders out = {.error = rc};
    if (rc == WEFT_OK) out.error = l->rc;
    if (rc == WEFT_OK) out.reminders = store_reminder_list(l->row, l->count);
    wf_store_answer(ask, store_reminders_type(), &out);
}

static int read_from(struct listing *l, const weft_msg *ask)
{
    struct store_reminders_from in;
    int rc = weft_typed_read(store_reminders_from_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    l->max = in.count < WF_STORE_PAGE_LOGS ? (size_t)in.count : WF_STORE_PAGE_LOGS;
    bool fine = weft_text_copy(in.queue, l->queue, sizeof l->queue) && weft_text_copy(in.key, l->key, sizeof l->key);
    return fine ? WEFT_OK : WEFT_EINVAL;
}

void wf_reminders_for(struct wf_store_file *file, const weft_msg *ask)
{
    struct listing *l = calloc(1, sizeof *l);
    int rc = l == NULL ? WEFT_ENOMEM : read_from(l, ask);
    if (rc < 0) {
        answer_reminders(ask, NULL, rc);
        free(l);
        return;
    }
    l->file = wf_store_file_share(file);
    rc = wf_reader_run(ask, list_reminders, free_listing, &l);
    answer_reminders(ask, l, rc);
    if (rc == WEFT_OK) free_listing(&l);
}
