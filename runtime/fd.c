#include "fd.h"

#include "file.h"

void wf_waiters_wake(struct wf_list *waiters)
{
    WF_LIST_EACH(k, waiters) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

void wf_waiters_dismiss(struct wf_list *waiters)
{
    struct wf_link *k;
    while ((k = wf_list_pop(waiters)) != NULL) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

static void release_fd(struct wf_worker *w, struct wf_call *c)
{
    struct wf_fd *f = WF_CONTAINER(c, struct wf_fd, release);
    WF_ASSERT(f->worker == w);
    WF_ASSERT(wf_list_empty(&f->side[0].waiters) && wf_list_empty(&f->side[1].waiters));
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
    f->watch = NULL;
    for (int i = 0; i < 2; i++) {
        wf_list_init(&f->side[i].waiters);
        f->side[i].readiness = WF_MAYBE_READY;
    }
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
    for (int i = 0; i < 2; i++) wf_waiters_dismiss(&f->side[i].waiters);
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

int wf_fd_look(struct wf_fd *f, bool for_write)
{
    struct wf_fd_side *side = &f->side[for_write];
    if (side->readiness == WF_READY) return 1;
    if (side->readiness == WF_NOT_READY) return 0;
    int rc = pf_is_ready(f->handle, for_write);
    if (rc >= 0) side->readiness = rc > 0 ? WF_READY : WF_NOT_READY;
    return rc;
}

static void side_ready(struct wf_fd_side *side)
{
    side->readiness = WF_READY;
    wf_waiters_wake(&side->waiters);
}

static void take_entry(struct wf_worker *w, const struct pf_ready *r)
{
    if (WF_UNLIKELY(r->done)) {
        wf_file_done(w, r->tag);
        return;
    }
    struct wf_fd *f = wf_slab_find(&w->fds, r->tag);
    if (f == NULL) return; /* an entry taken before its record went */
    f->hangup |= r->hangup;
    if (f->watch != NULL) {
        f->watch(f->watch_arg, r);
        return;
    }
    if (r->readable) side_ready(&f->side[0]);
    if (r->writable) side_ready(&f->side[1]);
}

/* What entries lead to has left the cache since it was needed last: record, waiter (on its task's stack), task, and
 * the identity that the recorder notes. Each step is asked for, for all of them, before the next one follows it: with
 * 1,000 connections an echo takes 0.6 to 1.0 us of the server's own time instead of 1.6 (docs/performance.md). */
static void fetch_ahead(struct wf_worker *w, const struct pf_ready *entries, int count)
{
    const ptrdiff_t id_at = w->set->hooks->task_id_at;
    const struct wf_link *heads[WF_POLL_BATCH]; /* of the waiters; NULL: it is no record's */
    for (int i = 0; i < count; i++) {
        const struct wf_fd *f = entries[i].done ? NULL : wf_slab_at(&w->fds, wf_id_slot(entries[i].tag));
        heads[i] = f == NULL ? NULL : &f->side[!entries[i].readable].waiters.head;
        __builtin_prefetch(f);
    }
    for (int i = 0; i < count; i++)
        if (heads[i] != NULL) __builtin_prefetch(heads[i]->next);
    for (int i = 0; i < count; i++) {
        if (heads[i] == NULL || heads[i]->next == heads[i]) continue;
        const struct wf_task *t = WF_CONTAINER(heads[i]->next, const struct wf_waiter, on_source)->task;
        __builtin_prefetch(t, 1);
        __builtin_prefetch((const char *)t + id_at);
    }
}

void wf_fds_ready(struct wf_worker *w, const struct pf_ready *entries, int count)
{
    if (count > 1) fetch_ahead(w, entries, count);
    for (int i = 0; i < count; i++) take_entry(w, &entries[i]);
}
