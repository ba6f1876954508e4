/* transport/store/readers/reminder_pages.c -- see reminder_pages.h. */
#include <weft.h>

#include "reminder_pages.h"
#include "store_listing.h"
#include "store_messages.h"

struct reminders {
    struct wf_listing is;
    struct wf_store_reminder found[WF_STORE_PAGE_LOGS];
    struct store_reminder row[WF_STORE_PAGE_LOGS];
};

static int read_from(struct wf_listing *l, const weft_msg *ask)
{
    struct store_reminders_from in;
    int rc = weft_typed_read(store_reminders_from_type(), weft_data(ask), weft_size(ask), &in, NULL);
    if (rc < 0) return rc;
    l->max = wf_listing_max(in.count);
    bool fine = weft_text_copy(in.queue, l->after, sizeof l->after) && weft_text_copy(in.key, l->key, sizeof l->key);
    return fine ? WEFT_OK : WEFT_EINVAL;
}

static bool add_reminder(void *arg, const struct wf_store_reminder *r)
{
    struct reminders *l = arg;
    if (l->is.count == l->is.max) return false;
    struct wf_store_reminder *at = &l->found[l->is.count];
    *at = *r;
    l->row[l->is.count++] = (struct store_reminder){.queue = weft_cstr(at->queue),
                                                    .key = weft_cstr(at->key),
                                                    .at = at->at,
                                                    .period = at->period,
                                                    .attempts = at->job.attempts,
                                                    .dead = at->job.dead};
    return true;
}

static int list_reminders(struct wf_listing *l)
{
    return l->file->store->engine->reminders(l->file->store, l->after, l->key, add_reminder, l);
}

static void answer_reminders(const weft_msg *ask, const struct wf_listing *l, int error)
{
    struct store_reminders out = {.error = error};
    if (l != NULL) out.reminders = store_reminder_list(((const struct reminders *)l)->row, l->count);
    wf_store_answer(ask, store_reminders_type(), &out);
}

void wf_reminders_for(struct wf_store_file *file, const weft_msg *ask)
{
    static const struct wf_listing_kind kind = {sizeof(struct reminders), read_from, list_reminders,
                                                answer_reminders};
    wf_listing_for(file, ask, &kind);
}
