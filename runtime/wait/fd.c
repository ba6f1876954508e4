/* runtime/wait/fd.c -- see fd.h. */
#include "fd.h"

#include "wait.h"

static void release_fd(struct wf_worker *w, struct wf_call *c)
{
    struct wf_fd *f = WF_CONTAINER(c, struct wf_fd, release);
    WF_ASSERT(f->worker == w);
    WF_ASSERT(f->waiting[0] == NULL && f->waiting[1] == NULL);
    wf_slab_give(&w->fds, f);
}

static struct wf_fd *take_record(struct wf_worker *w, pf_handle h, struct pf_process *process)
{
    struct wf_fd *f = wf_slab_take(&w->fds);
    if (f == NULL) return NULL;
    f->worker = w;
    f->handle = h;
    f->process = process;
    f->arms = w->set->env->poller_arms(w->poller);
    f->hangup = false;
    f->error = 0;
    f->watch = NULL;
    f->ahead = NULL;
    f->waiting[0] = f->waiting[1] = NULL;
    f->readiness[0] = f->readiness[1] = WF_MAYBE_READY;
    f->release = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = release_fd};
    return f;
}

static int add_record(struct wf_worker *w, struct wf_fd *f, struct wf_fd **out)
{
    if (f == NULL) return WEFT_ENOMEM;
    struct pf_env *env = w->set->env;
    uint64_t tag = wf_slot_id(&f->slot);
    WF_ASSERT(f->worker == w && (f->process != NULL) == (f->handle == PF_NO_HANDLE));
    int rc = f->process != NULL ? env->process_watch(w->poller, f->process, tag)
                                : env->poller_add(w->poller, f->handle, tag);
    if (rc < 0) wf_slab_give(&w->fds, f);
    else *out = f;
    return rc;
}

int wf_fd_add(struct wf_worker *w, pf_handle h, struct wf_fd **out)
{
    return add_record(w, take_record(w, h, NULL), out);
}

int wf_fd_add_process(struct wf_worker *w, struct pf_process *process, struct wf_fd **out)
{
    return add_record(w, take_record(w, PF_NO_HANDLE, process), out);
}

void wf_fd_remove(struct wf_fd *f)
{
    struct wf_worker *w = f->worker;
    if (f->process != NULL) w->set->env->process_unwatch(w->poller, f->process);
    else w->set->env->poller_remove(w->poller, f->handle);
    wf_fd_wake(f);
    wf_slab_give(&w->fds, f);
}

void wf_fd_abandon(struct wf_fd *f)
{
    struct wf_worker *w = f->worker;
    WF_ASSERT(wf_here != NULL && wf_here != w && f->process == NULL);
    WF_ASSERT(f->waiting[0] == NULL && f->waiting[1] == NULL);
    w->set->env->poller_remove(w->poller, f->handle);
    wf_worker_send(wf_here, w->index, &f->release.post);
}

int wf_fd_ask(struct wf_fd *f, bool for_write)
{
    struct wf_worker *w = f->worker;
    return w->set->env->poller_arm(w->poller, f->handle, wf_slot_id(&f->slot), for_write);
}

void wf_fd_wake(struct wf_fd *f)
{
    for (int i = 0; i < 2; i++)
        if (f->waiting[i] != NULL) wf_task_wake(f->waiting[i]);
}

int wf_fd_look(struct wf_fd *f, bool for_write)
{
    uint8_t *readiness = &f->readiness[for_write];
    if (*readiness == WF_READY) return 1;
    if (*readiness == WF_NOT_READY) return 0;
    int rc = pf_is_ready(f->handle, for_write);
    if (rc >= 0) *readiness = rc > 0 ? WF_READY : WF_NOT_READY;
    return rc;
}

static inline void side_ready(struct wf_fd *f, bool for_write)
{
    f->readiness[for_write] = WF_READY;
    if (f->waiting[for_write] != NULL) wf_task_wake(f->waiting[for_write]);
}

/* `f`: the record to which the entry leads; NULL: none. */
static inline void take_entry(struct wf_worker *w, const struct pf_ready *r, struct wf_fd *f)
{
    if (WF_UNLIKELY(r->done)) {
        w->set->on_done(w, r->tag);
        return;
    }
    /* If not, the poller has returned the entry before its record was removed. */
    if (WF_UNLIKELY(f == NULL || !wf_slot_is(&f->slot, r->tag))) return;
    if (WF_UNLIKELY(r->hangup)) {
        f->hangup = true;
        if (r->error != 0) f->error = r->error;
    }
    if (WF_UNLIKELY(f->watch != NULL)) {
        f->watch(f->watch_arg, r);
        return;
    }
    if (r->readable) side_ready(f, false);
    if (r->writable) side_ready(f, true);
}

/* The objects to which entries lead have left the cache since they were used last: the record, the task, and the
 * identity that the recorder notes. The records of all entries are prefetched before the first task is:
 * docs/performance.md, "A thousand connections". */
static void on_ready(struct wf_worker *w, const struct pf_ready *entries, int count)
{
    const ptrdiff_t id_at = w->set->hooks->task_id_at;
    struct wf_fd *records[WF_POLL_BATCH]; /* NULL: none; of an entry that is `done`: any */
    WF_ASSERT(w == wf_here && count <= WF_POLL_BATCH);
    for (int i = 0; i < count; i++) {
        struct wf_fd *f = wf_slab_at(&w->fds, wf_id_slot(entries[i].tag));
        records[i] = f;
        __builtin_prefetch(f);
    }
    for (int i = 0; i < count; i++) {
        const struct wf_task *t = WF_UNLIKELY(records[i] == NULL) ? NULL : records[i]->waiting[!entries[i].readable];
        if (t == NULL) continue;
        __builtin_prefetch(t, 1);
        __builtin_prefetch((const char *)t + id_at);
        __builtin_prefetch(records[i]->ahead, 1);
    }
    for (int i = 0; i < count; i++) take_entry(w, &entries[i], records[i]);
}

/* ---- A descriptor of the program --------------------------------------------------------------------------------- */

struct wait_state {
    int fd;
    struct wf_fd *record; /* NULL: there is none (yet) */
    bool borrowed;        /* the record belongs to an earlier source of this wait */
    bool always;          /* it cannot be polled, so it is always ready */
};

weft_wait weft_on_fd(int fd, bool for_write)
{
    return (weft_wait){.kind = for_write ? WF_ON_FD_WRITABLE : WF_ON_FD_READABLE, .fd = fd};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    *WF_WAIT_STATE_OF(struct wait_state, s) = (struct wait_state){.fd = from->fd};
    return from->fd < 0 ? WEFT_EINVAL : 0;
}

static int wait_look(struct wf_wait *s)
{
    const struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    if (k->always) return 1;
    return k->record != NULL ? wf_fd_look(k->record, s->kind->for_write) : pf_is_ready(k->fd, s->kind->for_write);
}

/* A second source on the same descriptor borrows the record of the first one. */
static void borrow(struct wait_state *k, const struct wf_wait *s, struct wf_wait *first)
{
    for (struct wf_wait *other = first; other != s; other++) {
        if (other->kind->open != wait_open || !other->attached) continue;
        const struct wait_state *its = WF_WAIT_STATE_OF(struct wait_state, other);
        if (its->fd != k->fd) continue;
        k->always = its->always;
        k->record = its->record;
        k->borrowed = true;
        return;
    }
}

/* Makes a record, which exists as long as this wait. */
static int wait_attach(struct wf_wait *s, struct wf_wait *first)
{
    struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    borrow(k, s, first);
    if (k->record == NULL && !k->always) {
        int rc = wf_fd_add(s->task->worker, k->fd, &k->record);
        k->always = rc == WEFT_EINVAL;
        if (rc == WEFT_EEXIST) return WEFT_EBUSY;
        if (rc < 0 && !k->always) return rc;
    }
    int rc = k->always ? 0 : wf_fd_wait(k->record, s->kind->for_write, s->task);
    return rc < 0 ? rc : 1;
}

static void wait_close(struct wf_wait *s)
{
    const struct wait_state *k = WF_WAIT_STATE_OF(struct wait_state, s);
    if (k->record != NULL && !k->borrowed) wf_fd_remove(k->record);
}

static const struct wf_wait_kind readable = {.number = WF_ON_FD_READABLE,
                                             .name = "descriptor",
                                             .open = wait_open,
                                             .look = wait_look,
                                             .attach = wait_attach,
                                             .close = wait_close};
static const struct wf_wait_kind writable = {.number = WF_ON_FD_WRITABLE,
                                             .for_write = true,
                                             .name = "descriptor",
                                             .open = wait_open,
                                             .look = wait_look,
                                             .attach = wait_attach,
                                             .close = wait_close};

/* ---- The part of each worker ------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->fds, sizeof(struct wf_fd), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    wf_slab_finish(&w->fds);
}

static const struct wf_wait_kind *const wait_kinds[] = {&readable, &writable, NULL};
const struct wf_part wf_fd_part = {
    .worker_begin = part_begin, .worker_end = part_end, .on_ready = on_ready, .wait_kinds = wait_kinds};
