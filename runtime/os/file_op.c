/* runtime/os/file_op.c -- reads and writes under way: on a thread that may block, or overlapped. The rules are in
 * file.h. */
#include "file_op.h"

#include "sanitizer.h"

#include <stdlib.h>
#include <string.h>

#include <weft/log.h>
#include <weft/wait.h>

enum state { UNDER_WAY, DONE, GIVEN_UP };

struct wf_file_operation {
    struct wf_work work;
    struct wf_open_file *file;
    struct pf_file_op op; /* the part that comes next */
    size_t size, have;
    int64_t result;
    /* Used by overlapped operations: */
    _Atomic int state; /* enum state, see note (4) */
    weft_event done;
    struct wf_workers *set;
    alignas(16) char data[];
};

enum how { AT_ONCE, ON_THREAD, OVERLAPPED };

struct wf_file_wait {
    struct wf_owned_handle handle;
    enum how how;
    weft_event done;              /* ON_THREAD: the event of the job */
    struct wf_file_operation *op; /* ON_THREAD: the job owns it until the result is taken */
    size_t size;
    bool write;
};

void wf_open_file_hold(struct wf_open_file *f)
{
    atomic_fetch_add_explicit(&f->holders, 1, memory_order_relaxed);
}

void wf_open_file_let_go(struct wf_open_file *f)
{
    /* Release publishes what this holder did; acquire: the last holder closes after all others are done. */
    if (!WF_LAST_HOLDER(&f->holders, 1)) return;
    pf_file_close(f->handle);
    free(f);
}

int64_t wf_file_try(struct wf_worker *w, struct wf_open_file *f, void *data, size_t size, int64_t offset, bool write)
{
    struct pf_file_op op = {
        .file = f->handle, .data = data, .size = size, .offset = offset, .write = write, .at_once = true};
    int rc = w->set->env->file_submit(w->poller, &op);
    WF_ASSERT(rc != PF_AGAIN);
    return rc == WEFT_OK ? op.result : rc;
}

/* ---- The operation --------------------------------------------------------------------------------------------- */

static void free_operation(struct wf_file_operation *o)
{
    wf_open_file_let_go(o->file);
    free(o);
}

static void free_work(struct wf_work *work)
{
    free_operation(WF_CONTAINER(work, struct wf_file_operation, work));
}

static void next_part(struct wf_file_operation *o)
{
    o->op.data = o->data + o->have;
    o->op.size = o->size - o->have;
}

/* A part is done with this result. Returns whether there is more to do. */
static bool advance(struct wf_file_operation *o, int64_t n)
{
    if (n == 0 && o->op.write && o->op.size > 0) {
        weft_log(WEFT_WARN, "a write to a file failed: the system took none of %zu bytes, and gave no error",
                 o->op.size);
        n = WEFT_ESYSTEM;
    }
    if (n > 0) {
        o->have += (size_t)n;
        if (o->op.offset != PF_FILE_END) o->op.offset += n;
        if (o->have < o->size) return true;
    }
    o->result = n < 0 ? n : (int64_t)o->have;
    return false;
}

static void run_work(struct wf_work *work)
{
    struct wf_file_operation *o = WF_CONTAINER(work, struct wf_file_operation, work);
    int64_t n;
    do {
        next_part(o);
        n = o->op.write ? pf_file_write(o->op.file, o->op.data, o->op.size, o->op.offset)
                        : pf_file_read(o->op.file, o->op.data, o->op.size, o->op.offset);
    } while (advance(o, n));
}

struct wf_file_operation *wf_file_operation_make(struct wf_open_file *f, const void *data, size_t size,
                                                 int64_t offset, bool write)
{
    struct wf_file_operation *o = malloc(sizeof *o + size);
    if (o == NULL) return NULL;
    memset(o, 0, sizeof *o);
    o->work = (struct wf_work){.run = run_work, .free = free_work};
    o->file = f;
    o->size = size;
    o->op = (struct pf_file_op){.file = f->handle, .offset = offset, .write = write, .tag = (uintptr_t)o};
    atomic_init(&o->state, UNDER_WAY);
    if (write && size > 0) memcpy(o->data, data, size);
    wf_open_file_hold(f);
    return o;
}

/* WEFT_OK: all parts are done; PF_AGAIN; PF_BLOCKING. */
static int submit(struct wf_worker *w, struct wf_file_operation *o, bool at_once)
{
    for (;;) {
        next_part(o);
        o->op.at_once = at_once;
        int rc = w->set->env->file_submit(w->poller, &o->op);
        if (rc == PF_AGAIN || rc == PF_BLOCKING) return rc;
        if (!advance(o, rc < 0 ? rc : o->op.result)) return WEFT_OK;
    }
}

/* ---- Overlapped ------------------------------------------------------------------------------------------------ */

static void wake_all(struct wf_workers *set)
{
    for (uint32_t i = 0; i < set->count; i++) set->env->poller_wake(set->at[i]->poller);
}

static void one_less(struct wf_workers *set)
{
    /* Sequentially consistent, as is the check in drain: either this thread sees that a worker drains, or that worker
     * sees 0. */
    if (atomic_fetch_sub(&set->files_under_way, 1) == 1 && atomic_load(&set->files_draining)) wake_all(set);
}

static void end_overlapped(struct wf_file_operation *o)
{
    struct wf_workers *set = o->set;
    weft_event done = o->done;
    /* Release publishes the result; acquire: the task that gave up no longer uses the block. */
    if (atomic_exchange_explicit(&o->state, DONE, memory_order_acq_rel) == GIVEN_UP) free_operation(o);
    else (void)weft_event_set(done);
    one_less(set);
}

void wf_file_done(struct wf_worker *w, uint64_t tag)
{
    struct wf_file_operation *o = (struct wf_file_operation *)(uintptr_t)tag;
    if (advance(o, o->op.result)) {
        int rc = submit(w, o, false);
        WF_ASSERT(rc != PF_BLOCKING); /* the poller has accepted the first part */
        if (rc == PF_AGAIN) return;
    }
    end_overlapped(o);
}

void wf_files_drain(struct wf_worker *w)
{
    struct wf_workers *set = w->set;
    struct pf_ready ready[WF_POLL_BATCH];
    atomic_store(&set->files_draining, true);
    while (atomic_load(&set->files_under_way) > 0) {
        int n = set->env->poller_wait(w->poller, ready, WF_POLL_BATCH, WEFT_FOREVER);
        for (int i = 0; i < n; i++) {
            if (ready[i].done) wf_file_done(w, ready[i].tag);
        }
    }
}

static void give_up_overlapped(struct wf_worker *w, struct wf_file_operation *o)
{
    if (atomic_load_explicit(&o->state, memory_order_relaxed) == UNDER_WAY)
        w->set->env->file_cancel(w->poller, &o->op);
    /* Acquire: the operation has really ended; release: this thread no longer uses it. */
    if (atomic_exchange_explicit(&o->state, GIVEN_UP, memory_order_acq_rel) == DONE) free_operation(o);
}

/* ---- The task's end -------------------------------------------------------------------------------------------- */

/* Removes the record from its task, and frees what it still owns. */
static void close_wait(struct wf_file_wait *wait)
{
    wf_owned_leave(&wait->handle);
    if (wait->how == OVERLAPPED) give_up_overlapped(wf_here, wait->op);
    else if (wait->how == AT_ONCE) free_operation(wait->op);
    free(wait);
}

static void close_owned(struct wf_owned *owned)
{
    /* The task owns the job and the event as well. */
    close_wait(WF_CONTAINER(owned, struct wf_file_wait, handle.owned));
}

void wf_file_give_up(struct wf_file_wait *wait)
{
    if (wait->how == ON_THREAD) (void)weft_offload_drop((weft_job){wait->done});
    else (void)weft_event_close(wait->done);
    close_wait(wait);
}

static int set_event(struct wf_task *t, struct wf_file_wait *wait, weft_event done)
{
    wait->done = done;
    return wf_owned_name(t, &wait->handle, done.id);
}

static int begin_on_thread(struct wf_task *t, struct wf_file_wait *wait, int64_t deadline)
{
    weft_job job;
    int rc = wf_work_start(&job, &wait->op->work, deadline);
    if (rc < 0) return rc;
    rc = set_event(t, wait, job.done);
    WF_ASSERT(rc == WEFT_OK); /* begin_here has given it an id before */
    return rc;
}

/* Starts an overlapped operation, with an event of its own. WEFT_OK: done or under way; PF_BLOCKING. */
static int begin_here(struct wf_task *t, struct wf_file_wait *wait, bool tried)
{
    struct wf_file_operation *o = wait->op;
    struct wf_workers *set = t->worker->set;
    int rc = weft_event_open(&o->done);
    if (rc < 0) return rc;
    rc = set_event(t, wait, o->done);
    if (rc < 0) {
        (void)weft_event_close(o->done);
        return rc;
    }
    o->set = set;
    rc = tried ? PF_BLOCKING : submit(t->worker, o, true);
    if (rc == PF_BLOCKING) {
        atomic_fetch_add(&set->files_under_way, 1);
        rc = submit(t->worker, o, false);
        if (rc != PF_AGAIN) one_less(set);
    }
    if (rc == PF_AGAIN) wait->how = OVERLAPPED;
    if (rc == WEFT_OK) (void)weft_event_set(wait->done);
    if (rc == PF_BLOCKING) (void)weft_event_close(wait->done);
    return rc == PF_AGAIN ? WEFT_OK : rc;
}

int wf_file_begin(struct wf_task *t, struct wf_file_operation *op, bool tried, int64_t deadline,
                  struct wf_file_wait **out)
{
    struct wf_file_wait *wait = t->cancelled ? NULL : malloc(sizeof *wait);
    if (wait == NULL) {
        free_operation(op);
        return (int)wf_task_finish_wait(t->cancelled ? WEFT_ECANCELED : WEFT_ENOMEM);
    }
    *wait = (struct wf_file_wait){
        .handle.owned.close = close_owned, .how = AT_ONCE, .op = op, .size = op->size, .write = op->op.write};
    wf_list_push_front(&t->owned, &wait->handle.owned.on_task);
    int rc = begin_here(t, wait, tried);
    if (rc == PF_BLOCKING) {
        wait->how = ON_THREAD;
        rc = begin_on_thread(t, wait, deadline);
    }
    if (rc < 0) close_wait(wait);
    else *out = wait;
    return rc;
}

weft_event wf_file_event(const struct wf_file_wait *wait)
{
    return wait->done;
}

int wf_file_await(struct wf_file_wait *wait, int64_t deadline)
{
    if (wait->how == AT_ONCE) return WEFT_OK;
    if (wait->how == ON_THREAD) {
        struct wf_work *work;
        int rc = wf_work_take((weft_job){wait->done}, &work, deadline);
        if (rc == WEFT_OK) wait->how = AT_ONCE;
        return rc;
    }
    int rc = WEFT_OK;
    /* Acquire: pairs with end_overlapped. */
    while (atomic_load_explicit(&wait->op->state, memory_order_acquire) != DONE && rc == WEFT_OK)
        rc = weft_event_await(wait->done, deadline);
    return atomic_load_explicit(&wait->op->state, memory_order_acquire) == DONE ? WEFT_OK : rc;
}

int64_t wf_file_end(struct wf_file_wait *wait, void *buffer)
{
    int64_t n = wait->op->result;
    if (n > 0 && !wait->write) {
        WF_ASSERT(buffer != NULL);
        memcpy(buffer, wait->op->data, (size_t)n);
    }
    (void)weft_event_close(wait->done); /* the id is stale if the event was the job's */
    close_wait(wait);
    return n;
}

/* ---- Public ---------------------------------------------------------------------------------------------------- */

weft_wait weft_on_file(weft_file_op op)
{
    return weft_on_event(op.done);
}

static struct wf_file_wait *find(weft_file_op op)
{
    struct wf_owned_handle *h = wf_owned_find(close_owned, op.done.id);
    return h == NULL ? NULL : WF_CONTAINER(h, struct wf_file_wait, handle);
}

int64_t weft_file_take(weft_file_op op, void *buffer, size_t size, int64_t deadline)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct wf_file_wait *wait = find(op);
    if (wait == NULL) return WEFT_ECLOSED;
    if (!wait->write && (size < wait->size || (buffer == NULL && wait->size > 0))) return WEFT_EINVAL;
    int rc = wf_file_await(wait, deadline);
    return rc < 0 ? rc : wf_file_end(wait, buffer);
}

int weft_file_drop(weft_file_op op)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct wf_file_wait *wait = find(op);
    if (wait == NULL) return WEFT_ECLOSED;
    wf_file_give_up(wait);
    return WEFT_OK;
}
