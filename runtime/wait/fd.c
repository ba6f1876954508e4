#include "fd.h"

#include "file.h"

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
    f->hangup = false;
    f->error = 0;
    f->watch = NULL;
    f->waiting[0] = f->waiting[1] = NULL;
    f->readiness[0] = f->readiness[1] = WF_MAYBE_READY;
    f->release = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = release_fd};
    return f;
}

static int add_record(struct wf_worker *w, struct wf_fd *f, struct wf_fd **out)
{
    if (f == NULL) return WEFT_ENOMEM;
    struct pf_env *env = w->set->env;
    uint64_t tag = wf_id_make(&f->slot, w->index);
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
    w->set->env->poller_remove(w->poller, f->handle);
    wf_worker_send(wf_here, w->index, &f->release.post);
}

int wf_fd_arm(struct wf_fd *f, bool for_write)
{
    struct wf_worker *w = f->worker;
    return w->set->env->poller_arm(w->poller, f->handle, wf_id_make(&f->slot, w->index), for_write);
}

int wf_fd_wait(struct wf_fd *f, bool for_write, struct wf_task *t)
{
    WF_ASSERT(f->waiting[for_write] == NULL || f->waiting[for_write] == t);
    f->waiting[for_write] = t;
    int rc = wf_fd_arm(f, for_write);
    if (rc < 0) wf_fd_stop_waiting(f, for_write);
    return rc;
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

static inline void take_entry(struct wf_worker *w, const struct pf_ready *r)
{
    if (WF_UNLIKELY(r->done)) {
        wf_file_done(w, r->tag);
        return;
    }
    struct wf_fd *f = wf_slab_find(&w->fds, r->tag);
    if (f == NULL) return; /* an entry taken before its record went */
    if (WF_UNLIKELY(r->hangup)) {
        f->hangup = true;
        if (r->error != 0) f->error = r->error;
    }
    if (f->watch != NULL) {
        f->watch(f->watch_arg, r);
        return;
    }
    if (r->readable) side_ready(f, false);
    if (r->writable) side_ready(f, true);
}

/* What entries lead to has left the cache since it was needed last: record, task, and the identity that the recorder
 * notes. Each step is asked for, for all of them, before the next one follows it: docs/performance.md, "A thousand
 * connections". */
static void fetch_ahead(struct wf_worker *w, const struct pf_ready *entries, int count)
{
    const ptrdiff_t id_at = w->set->hooks->task_id_at;
    const struct wf_fd *records[WF_POLL_BATCH]; /* NULL: it is no record's */
    for (int i = 0; i < count; i++) {
        const struct wf_fd *f = entries[i].done ? NULL : wf_slab_at(&w->fds, wf_id_slot(entries[i].tag));
        records[i] = f;
        __builtin_prefetch(f);
    }
    for (int i = 0; i < count; i++) {
        const struct wf_task *t = records[i] == NULL ? NULL : records[i]->waiting[!entries[i].readable];
        if (t == NULL) continue;
        __builtin_prefetch(t, 1);
        __builtin_prefetch((const char *)t + id_at);
    }
}

void wf_fds_ready(struct wf_worker *w, const struct pf_ready *entries, int count)
{
    if (count > 1) fetch_ahead(w, entries, count);
    for (int i = 0; i < count; i++) take_entry(w, &entries[i]);
}
