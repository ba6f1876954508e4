/* runtime/os/file.c -- open files, and reads and writes that are done at once. The rules are in file.h; operations
 * under way are in file_op.c. */
#include "file.h"

#include "file_op.h"
#include "sanitizer.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)WEFT_FILE_READ == PF_FILE_READ && (int)WEFT_FILE_WRITE == PF_FILE_WRITE &&
                   (int)WEFT_FILE_CREATE == PF_FILE_CREATE && (int)WEFT_FILE_EXCLUSIVE == PF_FILE_EXCLUSIVE &&
                   (int)WEFT_FILE_TRUNCATE == PF_FILE_TRUNCATE && (int)WEFT_FILE_APPEND == PF_FILE_APPEND &&
                   (int)WEFT_FILE_END == PF_FILE_END,
               "the platform takes the public flags");

enum { ALL_FLAGS = WEFT_FILE_APPEND * 2 - 1 };
/* The largest number of bytes of one operation, and of a read or write that is done at once before other tasks run.
 * The rest of a large read is tried again, directly into the caller's memory. */
enum { PIECE = 1024 * 1024 };

static const uint64_t USERS_MASK = 0xFFFFFFFF;

struct file_slot {
    struct wf_slot slot;    /* wf_worker.files of `home` */
    _Atomic uint64_t state; /* generation << 32 | users, see note (2) */
    struct wf_open_file *file;
    struct wf_worker *home;
    struct wf_call give; /* returns the slot to its worker */
};

/* ---- Open files ------------------------------------------------------------------------------------------------ */

static void give_slot(struct wf_worker *w, struct wf_call *c)
{
    wf_slab_give(&w->files, WF_CONTAINER(c, struct file_slot, give));
}

static int enter(struct wf_task *t, weft_file f, struct file_slot **out)
{
    struct wf_workers *set = t->worker->set;
    if (f.id == 0 || wf_id_worker(f.id) >= set->count) return WEFT_ECLOSED;
    struct file_slot *s = wf_slab_at(&set->at[wf_id_worker(f.id)]->files, wf_id_slot(f.id));
    if (s == NULL) return WEFT_ECLOSED;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed);
    do {
        if (state >> 32 == 0 || (uint32_t)(state >> 32) != wf_id_generation(f.id)) return WEFT_ECLOSED;
        /* Acquire: pairs with the release of open_slot. */
    } while (!atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    wf_tsan_acquire(&s->state);
    *out = s;
    return WEFT_OK;
}

static void leave(struct file_slot *s)
{
    /* Release and acquire: the thread that frees the slot does so after all others have left it. */
    wf_tsan_release(&s->state);
    uint64_t before = atomic_fetch_sub_explicit(&s->state, 1, memory_order_acq_rel);
    wf_tsan_acquire(&s->state);
    WF_ASSERT((before & USERS_MASK) != 0);
    if (before != 1) return;
    wf_open_file_let_go(s->file);
    s->file = NULL;
    s->give = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = give_slot};
    if (s->home == wf_here) give_slot(s->home, &s->give);
    else wf_worker_send(wf_here, s->home->index, &s->give.post);
}

static int open_slot(struct wf_worker *w, struct wf_open_file *file, weft_file *out)
{
    struct file_slot *s = wf_slab_take(&w->files);
    if (s == NULL) return WEFT_ENOMEM;
    s->file = file;
    s->home = w;
    out->id = wf_slot_id(&s->slot);
    /* Release: pairs with the acquire of enter. */
    atomic_store_explicit(&s->state, (uint64_t)wf_id_generation(out->id) << 32, memory_order_release);
    return WEFT_OK;
}

static int close_file(struct wf_task *t, weft_file f)
{
    struct file_slot *s;
    int rc = enter(t, f, &s);
    if (rc < 0) return rc;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_relaxed);
    do rc = state >> 32 == 0 ? WEFT_ECLOSED : WEFT_OK; /* two threads may close it at the same time */
    while (rc == WEFT_OK && !atomic_compare_exchange_weak_explicit(&s->state, &state, state & USERS_MASK,
                                                                   memory_order_relaxed, memory_order_relaxed));
    leave(s);
    return rc;
}

/* ---- What has to block: opening, asking, syncing --------------------------------------------------------------- */

struct request {
    struct wf_work work;
    struct wf_open_file *file; /* NULL until it is opened */
    unsigned flags, mode;
    int64_t size, result;
    char path[];
};

static void free_request(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    if (r->file != NULL) wf_open_file_let_go(r->file);
    free(r);
}

static struct request *make_request(void (*run)(struct wf_work *), const char *path)
{
    size_t bytes = path == NULL ? 0 : strlen(path) + 1;
    struct request *r = malloc(sizeof *r + bytes);
    if (r == NULL) return NULL;
    *r = (struct request){.work = {.run = run, .free = free_request}};
    if (bytes > 0) memcpy(r->path, path, bytes);
    return r;
}

static void run_open(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    struct wf_open_file *f = malloc(sizeof *f);
    r->result = f == NULL ? WEFT_ENOMEM : pf_file_open(&f->handle, r->path, r->flags, r->mode);
    if (r->result < 0) {
        free(f);
        return;
    }
    atomic_init(&f->holders, 1);
    f->appends = (r->flags & WEFT_FILE_APPEND) != 0;
    r->file = f;
}

static void run_size(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    r->result = pf_file_size(r->file->handle);
}

static void run_sync(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    r->result = pf_file_sync(r->file->handle);
}

static void run_truncate(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    r->result = pf_file_truncate(r->file->handle, r->size);
}

static bool flags_are_valid(unsigned flags)
{
    bool writes = (flags & WEFT_FILE_WRITE) != 0;
    if ((flags & ~(unsigned)ALL_FLAGS) != 0 || (flags & (WEFT_FILE_READ | WEFT_FILE_WRITE)) == 0) return false;
    if ((flags & WEFT_FILE_EXCLUSIVE) != 0 && (flags & WEFT_FILE_CREATE) == 0) return false;
    return writes || (flags & (WEFT_FILE_TRUNCATE | WEFT_FILE_APPEND)) == 0;
}

int weft_file_open(weft_file *out, const char *path, unsigned flags, unsigned mode, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || path == NULL || !flags_are_valid(flags)) return WEFT_EINVAL;
    wf_task_tick(t); /* now and not at the end, where a kill would leak the file */
    struct request *r = make_request(run_open, path);
    if (r == NULL) return WEFT_ENOMEM;
    r->flags = flags;
    r->mode = mode & 07777;
    int rc = wf_work_run(&r->work, deadline);
    if (rc < 0) return rc;
    rc = (int)r->result;
    if (rc == WEFT_OK) rc = open_slot(t->worker, r->file, out);
    if (rc == WEFT_OK) r->file = NULL; /* the slot owns it now */
    free_request(&r->work);
    return rc;
}

static int64_t ask(weft_file file, void (*run)(struct wf_work *), int64_t size, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct file_slot *s;
    int rc = enter(t, file, &s);
    if (rc < 0) return rc;
    struct request *r = make_request(run, NULL);
    if (r != NULL) {
        r->size = size;
        r->file = s->file;
        wf_open_file_hold(r->file);
    }
    leave(s);
    if (r == NULL) return WEFT_ENOMEM;
    rc = wf_work_run(&r->work, deadline);
    if (rc < 0) return rc;
    int64_t result = r->result;
    free_request(&r->work);
    return result;
}

int64_t weft_file_size(weft_file f, int64_t deadline)
{
    return ask(f, run_size, 0, deadline);
}

int weft_file_sync(weft_file f, int64_t deadline)
{
    return (int)ask(f, run_sync, 0, deadline);
}

int weft_file_truncate(weft_file f, int64_t size, int64_t deadline)
{
    return size < 0 ? WEFT_EINVAL : (int)ask(f, run_truncate, size, deadline);
}

int weft_file_close(weft_file f)
{
    struct wf_task *t = wf_task_self();
    return t == NULL ? WEFT_ENOTACTOR : close_file(t, f);
}

struct deferred {
    struct wf_owned owned;
    struct wf_task *task;
    weft_file file;
};

static void close_deferred(struct wf_owned *o)
{
    struct deferred *d = WF_CONTAINER(o, struct deferred, owned);
    (void)close_file(d->task, d->file);
    free(d);
}

int weft_file_defer_close(weft_file f)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct deferred *d = malloc(sizeof *d);
    if (d == NULL) {
        (void)close_file(t, f);
        return WEFT_ENOMEM;
    }
    *d = (struct deferred){.owned = {.close = close_deferred}, .task = t, .file = f};
    wf_list_push(&t->owned, &d->owned.on_task);
    return WEFT_OK;
}

/* ---- Reading and writing --------------------------------------------------------------------------------------- */

/* A read or write that was called for, and its progress. */
struct transfer {
    weft_file file;
    char *data;
    size_t size, have;
    int64_t offset;
    bool write;
};

static size_t bytes_up_to_the_limit(int64_t offset)
{
    return (size_t)WF_MIN((uint64_t)(INT64_MAX - offset), (uint64_t)SIZE_MAX);
}

static int check(const struct transfer *x, const struct wf_open_file *f)
{
    if (x->write && f->appends) {
        if (x->offset != WEFT_FILE_END) return WEFT_EINVAL;
        return x->size > WEFT_FILE_OP_MAX ? WEFT_ETOOBIG : WEFT_OK;
    }
    if (x->offset < 0) return WEFT_EINVAL;
    return x->size > bytes_up_to_the_limit(x->offset) ? WEFT_ETOOBIG : WEFT_OK;
}

/* No file has bytes beyond the largest offset, so a read that would go beyond it ends there, as at the end. */
static void end_at_the_limit(struct transfer *x)
{
    if (!x->write && x->offset >= 0) x->size = WF_MIN(x->size, bytes_up_to_the_limit(x->offset));
}

static int64_t offset_of(const struct transfer *x)
{
    return x->offset == WEFT_FILE_END ? WEFT_FILE_END : x->offset + (int64_t)x->have;
}

/* Does what can be done without waiting. 1: all of it, or the end of the file; PF_BLOCKING: the rest would block;
 * PF_AGAIN: there is more to do, but other tasks must run first; or an error. */
static int try_now(struct transfer *x, struct file_slot *s)
{
    size_t left = x->size - x->have;
    size_t end = x->have + (x->offset == WEFT_FILE_END ? left : WF_MIN(left, (size_t)PIECE)); /* one append */
    while (x->have < end) {
        int64_t n = wf_file_try(wf_here, s->file, x->data + x->have, end - x->have, offset_of(x), x->write);
        if (n < 0) return (int)n;
        /* A write of which the system takes nothing has failed: file_op.c tries it again, and reports that. */
        if (n == 0) return x->write ? PF_BLOCKING : 1;
        x->have += (size_t)n;
    }
    return x->have == x->size ? 1 : PF_AGAIN;
}

/* Leaves the slot before it waits, because a task that is killed in the wait does not return. */
static int64_t wait_for_piece(struct wf_task *t, struct transfer *x, struct file_slot *s, int64_t deadline)
{
    size_t left = x->size - x->have;
    size_t piece = x->offset == WEFT_FILE_END ? left : WF_MIN(left, (size_t)PIECE);
    struct wf_file_wait *wait;
    struct wf_file_operation *op = wf_file_operation_make(s->file, x->write ? x->data + x->have : NULL, piece,
                                                          offset_of(x), x->write);
    leave(s);
    if (op == NULL) return WEFT_ENOMEM;
    int rc = wf_file_begin(t, op, true, deadline, &wait);
    if (rc < 0) return rc;
    int64_t n = wf_file_await(wait, deadline);
    if (n < 0) {
        wf_file_give_up(wait);
        return n;
    }
    n = wf_file_end(wait, x->write ? NULL : x->data + x->have);
    if (n > 0) x->have += (size_t)n;
    return n;
}

static int64_t transfer(struct wf_task *t, struct transfer *x, int64_t deadline)
{
    for (;;) {
        struct file_slot *s;
        if (t->cancelled) return WEFT_ECANCELED;
        int rc = enter(t, x->file, &s);
        if (rc < 0) return rc;
        rc = check(x, s->file);
        if (rc == WEFT_OK) rc = try_now(x, s);
        if (rc == PF_AGAIN) { /* out of the slot, because a task that is killed now does not return */
            leave(s);
            wf_here->budget = 0; /* ends the turn: the inbox, timers and the poller have waited for long */
            wf_task_yield();
            continue;
        }
        if (rc != PF_BLOCKING || deadline == WEFT_NOW) {
            leave(s);
            return rc == 1 ? (int64_t)x->have : rc == PF_BLOCKING ? WEFT_ETIMEDOUT : rc;
        }
        int64_t n = wait_for_piece(t, x, s, deadline);
        if (n < 0) return n;
        if (n == 0 || x->have == x->size) return (int64_t)x->have;
    }
}

static int64_t start_transfer(struct transfer x, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (x.data == NULL && x.size > 0) return WEFT_EINVAL;
    end_at_the_limit(&x);
    int64_t n = transfer(t, &x, deadline);
    if (n >= 0) wf_task_tick(t);
    return wf_task_finish_wait(n);
}

int64_t weft_file_read(weft_file f, void *buffer, size_t size, int64_t offset, int64_t deadline)
{
    return start_transfer((struct transfer){.file = f, .data = buffer, .size = size, .offset = offset}, deadline);
}

int64_t weft_file_write(weft_file f, const void *data, size_t size, int64_t offset, int64_t deadline)
{
    return start_transfer((struct transfer){.file = f,
                                            .data = (char *)(uintptr_t)data, /* it is only read */
                                            .size = size,
                                            .offset = offset,
                                            .write = true},
                          deadline);
}

static int start_op(weft_file_op *out, struct transfer *x, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || (x->write && x->data == NULL && x->size > 0)) return WEFT_EINVAL;
    if (x->size > WEFT_FILE_OP_MAX) return WEFT_ETOOBIG;
    end_at_the_limit(x);
    struct file_slot *s;
    int rc = enter(t, x->file, &s);
    if (rc < 0) return rc;
    struct wf_file_operation *op = NULL;
    rc = check(x, s->file);
    if (rc == WEFT_OK) op = wf_file_operation_make(s->file, x->data, x->size, x->offset, x->write);
    leave(s);
    if (rc == WEFT_OK && op == NULL) rc = WEFT_ENOMEM;
    if (rc < 0) return rc;
    struct wf_file_wait *wait;
    rc = wf_file_begin(t, op, false, deadline, &wait);
    if (rc == WEFT_OK) out->done = wf_file_event(wait);
    return rc;
}

int weft_file_read_start(weft_file_op *out, weft_file f, size_t size, int64_t offset, int64_t deadline)
{
    return start_op(out, &(struct transfer){.file = f, .size = size, .offset = offset}, deadline);
}

int weft_file_write_start(weft_file_op *out, weft_file f, const void *data, size_t size, int64_t offset,
                          int64_t deadline)
{
    return start_op(out,
                    &(struct transfer){.file = f,
                                       .data = (char *)(uintptr_t)data, /* it is copied */
                                       .size = size,
                                       .offset = offset,
                                       .write = true},
                    deadline);
}

/* ---- The worker's part ----------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->files, sizeof(struct file_slot), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    WF_SLAB_EACH(struct file_slot, s, &w->files)
    {
        if (s->file != NULL) wf_open_file_let_go(s->file);
        s->file = NULL;
    }
    wf_slab_finish(&w->files);
}

const struct wf_part wf_file_part = {
    .worker_begin = part_begin, .worker_drain = wf_files_drain, .worker_end = part_end, .on_done = wf_file_done};
