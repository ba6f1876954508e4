/* runtime/os/directory.c -- lists directories: a thread that may block reads the entries in batches.
 *
 * Design notes.
 * (1) The batch and the system's listing are one block with one owner: the record, or the job that reads the next
 *     batch. At a deadline the job keeps running, or keeps waiting for a thread; the next call takes its result. */
#include <stdlib.h>
#include <string.h>

#include "offload.h"

#include <weft/dir.h>

enum { BATCH = 32 };

_Static_assert((int)WEFT_DIR_UNKNOWN == PF_ENTRY_UNKNOWN && (int)WEFT_DIR_FILE == PF_ENTRY_FILE &&
                   (int)WEFT_DIR_DIRECTORY == PF_ENTRY_DIRECTORY && (int)WEFT_DIR_LINK == PF_ENTRY_LINK &&
                   (int)WEFT_DIR_OTHER == PF_ENTRY_OTHER && WEFT_DIR_NAME == sizeof((struct pf_entry *)0)->name,
               "the platform's entries are the public ones");

struct batch {
    struct wf_work work;
    pf_listing *listing; /* NULL: not opened yet */
    int count, at;
    int end; /* what follows the entries: 1: more entries; 0: the end; or an error */
    struct pf_entry entry[BATCH];
    char path[];
};

struct directory {
    struct wf_owned_handle handle;
    struct batch *batch; /* NULL: the job has it */
    weft_job job;
};

static void free_batch(struct wf_work *work)
{
    struct batch *b = WF_CONTAINER(work, struct batch, work);
    pf_listing_close(b->listing);
    free(b);
}

static void run_batch(struct wf_work *work)
{
    struct batch *b = WF_CONTAINER(work, struct batch, work);
    b->count = b->at = 0;
    b->end = 1;
    if (b->listing == NULL) b->end = pf_listing_open(&b->listing, b->path);
    if (b->end < 0) return;
    while (b->count < BATCH && (b->end = pf_listing_next(b->listing, &b->entry[b->count])) == 1) b->count++;
}

static void close_directory(struct directory *d)
{
    wf_owned_leave(&d->handle);
    if (d->batch != NULL) free_batch(&d->batch->work);
    free(d);
}

static void close_owned(struct wf_owned *o)
{
    /* A job under way finishes and frees its own memory. */
    close_directory(WF_CONTAINER(o, struct directory, handle.owned));
}

/* Waits until the job has given the batch back; starts the job if `more` entries are needed. */
static int fetch(struct directory *d, int64_t deadline)
{
    struct wf_work *work;
    int rc = WEFT_OK;
    /* This does not wait, because entries that were read must not be lost at a deadline. */
    if (d->batch != NULL && (rc = wf_work_submit(&d->job, &d->batch->work)) < 0) return rc;
    d->batch = NULL;
    rc = wf_work_take(d->job, &work, deadline);
    if (rc == WEFT_OK) d->batch = WF_CONTAINER(work, struct batch, work);
    return rc;
}

static int make_directory(struct wf_task *t, struct directory **out, const char *path)
{
    static _Atomic uint64_t serial; /* relaxed: the numbers only have to differ */
    struct directory *d = malloc(sizeof *d);
    size_t size = strlen(path) + 1;
    struct batch *b = malloc(sizeof *b + size);
    if (d == NULL || b == NULL) {
        free(d);
        free(b);
        return WEFT_ENOMEM;
    }
    b->work = (struct wf_work){.run = run_batch, .free = free_batch};
    b->listing = NULL;
    memcpy(b->path, path, size);
    b->count = b->at = b->end = 0;
    *d = (struct directory){.handle.owned.close = close_owned, .batch = b};
    wf_list_push_front(&t->owned, &d->handle.owned.on_task);
    int rc = wf_owned_name(t, &d->handle, atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed) + 1);
    if (rc < 0) close_directory(d);
    else *out = d;
    return rc;
}

int weft_dir_open(weft_dir *out, const char *path, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || path == NULL) return WEFT_EINVAL;
    if (t->cancelled) return (int)wf_task_finish_wait(WEFT_ECANCELED);
    struct directory *d;
    int rc = make_directory(t, &d, path);
    if (rc < 0) return rc;
    rc = fetch(d, deadline);
    if (rc == WEFT_OK && d->batch->end < 0 && d->batch->count == 0) rc = d->batch->end;
    if (rc == WEFT_OK) {
        out->id = d->handle.id;
        return WEFT_OK;
    }
    if (d->batch == NULL) (void)weft_offload_drop(d->job);
    close_directory(d);
    return rc;
}

static struct directory *find(weft_dir dir)
{
    struct wf_owned_handle *h = wf_owned_find(close_owned, dir.id);
    return h == NULL ? NULL : WF_CONTAINER(h, struct directory, handle);
}

int weft_dir_next(weft_dir dir, weft_dir_entry *out, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    struct directory *d = find(dir);
    if (d == NULL) return WEFT_ECLOSED;
    while (d->batch == NULL || (d->batch->at == d->batch->count && d->batch->end == 1)) {
        int rc = fetch(d, deadline);
        if (rc == WEFT_EFULL) rc = WEFT_ETIMEDOUT; /* the job still waits for a free thread */
        if (rc < 0) return rc;
    }
    struct batch *b = d->batch;
    if (b->at == b->count) return b->end;
    const struct pf_entry *e = &b->entry[b->at++];
    out->kind = (weft_dir_kind)e->kind;
    memcpy(out->name, e->name, sizeof out->name);
    wf_task_tick(t);
    return (int)wf_task_finish_wait(1);
}

int weft_dir_close(weft_dir dir)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct directory *d = find(dir);
    if (d == NULL) return WEFT_ECLOSED;
    if (d->batch == NULL) (void)weft_offload_drop(d->job);
    close_directory(d);
    return WEFT_OK;
}
