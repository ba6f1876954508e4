/* runtime/os/process.c -- child processes. The rules are in process.h. */
#include "process.h"

#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "offload.h"
#include "stream.h"

#include <weft/process.h>

struct child {
    struct wf_owned_handle handle; /* in the list of its actor; in no list: the actor has ended */
    struct wf_list_node on_worker; /* wf_worker.children, until the child has ended */
    struct pf_process process;
    struct wf_fd *watch; /* NULL: the child has ended */
    weft_event ended;
    weft_stream stream[3];
    bool abandoned;
    bool lives_on; /* it is not killed, or may not be, so no thread of the node waits for its end */
    int result;    /* result of reaping */
    struct pf_exit exit;
};

/* ---- Those that are not waited for ----------------------------------------------------------------------------- */

struct reaper {
    struct pf_process process;
    pf_mutex *lock;
    pf_cond *changed;
    bool runs; /* under lock; the thread does not use this struct after setting it */
};

static void reap(struct pf_process *p)
{
    struct pf_exit unused;
    (void)pf_process_wait(p, &unused);
    pf_process_free(p);
}

static void reaper_main(void *arg)
{
    struct reaper *r = arg;
    struct pf_process process = r->process;
    pf_mutex_lock(r->lock);
    r->runs = true;
    pf_cond_broadcast(r->changed);
    pf_mutex_unlock(r->lock);
    reap(&process);
}

/* A thread that outlives the node reaps the child. If it cannot be started, init inherits the child when this process
 * ends. */
static void reap_later(struct pf_process *p)
{
    struct reaper r = {.process = *p};
    pf_thread *thread;
    if (pf_mutex_create(&r.lock) < 0 || pf_cond_create(&r.changed) < 0 ||
        pf_thread_start(&thread, "weft-reaper", reaper_main, &r) < 0) {
        pf_process_free(p);
    } else {
        pf_mutex_lock(r.lock);
        while (!r.runs) (void)pf_cond_wait(r.changed, r.lock, WEFT_FOREVER);
        pf_mutex_unlock(r.lock);
        pf_thread_detach(thread);
    }
    pf_cond_destroy(r.changed);
    pf_mutex_destroy(r.lock);
}

/* ---- Starting: what a thread does ------------------------------------------------------------------------------ */

struct request {
    struct wf_work work;
    struct pf_process_options options;
    pf_handle ours[3]; /* our ends of the pipes */
    struct pf_process process;
    int result; /* WEFT_OK: the child runs */
    char *texts;
};

static void close_handles(pf_handle handles[3])
{
    for (int i = 0; i < 3; i++) {
        pf_close(handles[i]);
        handles[i] = PF_NO_HANDLE;
    }
}

static void free_request(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    if (r->result == WEFT_OK) { /* no actor has taken it */
        if (pf_process_signal(&r->process, PF_SIGKILL) == WEFT_OK) reap(&r->process);
        else reap_later(&r->process); /* it runs with the rights of another user, so it ends when it likes */
    }
    close_handles(r->options.handle);
    close_handles(r->ours);
    free(r->texts);
    free(r);
}

static void run_start(struct wf_work *work)
{
    struct request *r = WF_CONTAINER(work, struct request, work);
    r->result = pf_process_start(&r->process, &r->options);
    close_handles(r->options.handle);
}

/* The size of a list and its texts, with the NULL at the end. */
static size_t list_bytes(const char *const *list, size_t *count)
{
    size_t bytes = 0;
    *count = 0;
    if (list == NULL) return 0;
    for (; list[*count] != NULL; ++*count) bytes += strlen(list[*count]) + 1;
    ++*count;
    return bytes;
}

static const char *copy_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static const char *const *copy_list(const char ***slots, char **at, const char *const *list, size_t count)
{
    const char **copy = *slots;
    if (list == NULL) return NULL;
    for (size_t i = 0; i + 1 < count; i++) copy[i] = copy_text(at, list[i]);
    copy[count - 1] = NULL;
    *slots += count;
    return copy;
}

/* Copies the texts, because the caller may end before the thread has read them. */
static int copy_texts(struct request *r, const weft_process_options *o)
{
    size_t args, vars, bytes = list_bytes(o->argv, &args) + list_bytes(o->env, &vars);
    if (o->directory != NULL) bytes += strlen(o->directory) + 1;
    bytes += (args + vars) * sizeof(char *);
    if (bytes > WEFT_PROCESS_TEXT_MAX) return WEFT_ETOOBIG;
    r->texts = malloc(bytes);
    if (r->texts == NULL) return WEFT_ENOMEM;
    const char **slots = (const char **)(void *)r->texts;
    char *at = r->texts + (args + vars) * sizeof(char *);
    r->options.argv = copy_list(&slots, &at, o->argv, args);
    r->options.env = copy_list(&slots, &at, o->env, vars);
    r->options.directory = o->directory == NULL ? NULL : copy_text(&at, o->directory);
    r->options.detached = o->detached;
    return WEFT_OK;
}

static int prepare_stream(struct request *r, int which, weft_process_stdio stdio)
{
    enum pf_stdio kind = stdio.kind == WEFT_STDIO_INHERIT ? PF_STDIO_INHERIT
                         : stdio.kind == WEFT_STDIO_NULL  ? PF_STDIO_NULL
                                                          : PF_STDIO_HANDLE;
    pf_handle *child = &r->options.handle[which], *ours = &r->ours[which];
    r->options.stdio[which] = kind;
    if (stdio.kind == WEFT_STDIO_FD) return pf_duplicate(stdio.fd, child);
    if (stdio.kind != WEFT_STDIO_PIPE) return WEFT_OK;
    return which == 0 ? pf_pipe(child, ours, false, true) : pf_pipe(ours, child, true, false);
}

static bool is_kind(weft_process_stdio stdio)
{
    return stdio.kind >= WEFT_STDIO_INHERIT && stdio.kind <= WEFT_STDIO_FD;
}

static int make_request(struct request **out, const weft_process_options *o)
{
    struct request *r = malloc(sizeof *r);
    if (r == NULL) return WEFT_ENOMEM;
    *r = (struct request){.work = {.run = run_start, .free = free_request}, .result = WEFT_EINVAL};
    for (int i = 0; i < 3; i++) r->options.handle[i] = r->ours[i] = PF_NO_HANDLE;
    int rc = copy_texts(r, o);
    if (rc == WEFT_OK) rc = prepare_stream(r, 0, o->in);
    if (rc == WEFT_OK) rc = prepare_stream(r, 1, o->out);
    if (rc == WEFT_OK) rc = prepare_stream(r, 2, o->err);
    if (rc < 0) free_request(&r->work);
    else *out = r;
    return rc;
}

/* ---- The child ------------------------------------------------------------------------------------------------- */

static void free_child(struct child *c)
{
    pf_process_free(&c->process);
    free(c);
}

/* The poller reports that the child has ended. */
static void on_end(void *arg, const struct pf_ready *ready)
{
    struct child *c = arg;
    (void)ready;
    int rc = pf_process_reap(&c->process, &c->exit);
    if (rc == PF_AGAIN) return;
    c->result = rc;
    wf_fd_remove(c->watch);
    c->watch = NULL;
    wf_unlink(&c->on_worker);
    if (c->abandoned) free_child(c);
    else (void)weft_event_set(c->ended);
}

/* The actor no longer owns the child. */
static void abandon(struct child *c)
{
    wf_owned_leave(&c->handle);
    for (int i = 0; i < 3; i++) (void)wf_socket_close(wf_here, WF_STREAM, c->stream[i].id);
    if (c->watch == NULL) {
        free_child(c);
        return;
    }
    c->abandoned = true;
    if (!c->lives_on) c->lives_on = pf_process_signal(&c->process, PF_SIGKILL) < 0;
}

static void close_owned(struct wf_owned *o)
{
    abandon(WF_CONTAINER(o, struct child, handle.owned)); /* the task owns the event as well, and closes it */
}

static int open_streams(struct wf_worker *w, struct child *c, struct request *r)
{
    for (int i = 0; i < 3; i++) {
        struct wf_stream *s;
        if (r->ours[i] == PF_NO_HANDLE) continue;
        int rc = wf_stream_open(w, r->ours[i], &s);
        r->ours[i] = PF_NO_HANDLE; /* the stream owns it, or it is closed */
        if (rc < 0) return rc;
        c->stream[i].id = wf_socket_id(&s->socket);
    }
    return WEFT_OK;
}

/* Takes the child over from the request. */
static int adopt(struct wf_task *t, struct request *r, struct child **out)
{
    struct wf_worker *w = t->worker;
    struct child *c = malloc(sizeof *c);
    if (c == NULL) return WEFT_ENOMEM;
    *c = (struct child){.handle.owned.close = close_owned, .process = r->process, .lives_on = r->options.detached};
    int rc = weft_event_open(&c->ended);
    if (rc == WEFT_OK) rc = wf_owned_name(t, &c->handle, c->ended.id);
    if (rc == WEFT_OK) rc = open_streams(w, c, r);
    if (rc == WEFT_OK) rc = wf_fd_add_process(w, &c->process, &c->watch);
    if (rc < 0) {
        for (int i = 0; i < 3; i++) (void)wf_socket_close(w, WF_STREAM, c->stream[i].id);
        (void)weft_event_close(c->ended);
        wf_owned_leave(&c->handle);
        free(c);
        return rc;
    }
    c->watch->watch = on_end;
    c->watch->watch_arg = c;
    r->result = WEFT_ECLOSED; /* the request does not own the child any more */
    wf_list_push(&w->children, &c->on_worker);
    wf_list_push_front(&t->owned, &c->handle.owned.on_task);
    *out = c;
    return WEFT_OK;
}

int weft_process_start(weft_process *out, const weft_process_options *o, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || o == NULL || o->argv == NULL || o->argv[0] == NULL) return WEFT_EINVAL;
    if (!is_kind(o->in) || !is_kind(o->out) || !is_kind(o->err)) return WEFT_EINVAL;
    wf_task_tick(t); /* now and not at the end, where a kill would be too late */
    struct request *r;
    int rc = make_request(&r, o);
    if (rc == WEFT_OK) rc = wf_work_run(&r->work, deadline);
    else return rc;
    if (rc < 0) return rc;
    struct child *c;
    rc = r->result;
    if (rc == WEFT_OK) rc = adopt(t, r, &c);
    free_request(&r->work);
    if (rc == WEFT_OK) out->ended = c->ended;
    return rc;
}

static struct child *find(weft_process p)
{
    struct wf_owned_handle *h = wf_owned_find(close_owned, p.ended.id);
    return h == NULL ? NULL : WF_CONTAINER(h, struct child, handle);
}

static weft_stream stream_of(weft_process p, int which)
{
    const struct child *c = find(p);
    return c == NULL ? (weft_stream){0} : c->stream[which];
}

weft_stream weft_process_in(weft_process p)
{
    return stream_of(p, 0);
}

weft_stream weft_process_out(weft_process p)
{
    return stream_of(p, 1);
}

weft_stream weft_process_err(weft_process p)
{
    return stream_of(p, 2);
}

static int not_found(void)
{
    return wf_task_self() == NULL ? WEFT_ENOTACTOR : WEFT_ECLOSED;
}

int64_t weft_process_id(weft_process p)
{
    const struct child *c = find(p);
    if (c == NULL) return not_found();
    return c->watch == NULL ? 0 : c->process.id;
}

weft_wait weft_on_process(weft_process p)
{
    return weft_on_event(p.ended);
}

int weft_process_wait(weft_process p, weft_process_status *status, int64_t deadline)
{
    const struct child *c = find(p);
    if (c == NULL) return not_found();
    const weft_wait end = weft_on_process(p);
    int rc = weft_wait_any(&end, 1, deadline);
    if (rc < 0) return rc;
    if (status != NULL) *status = (weft_process_status){.code = c->exit.code, .signal = c->exit.signal};
    return c->result;
}

int weft_process_signal(weft_process p, int number)
{
    struct child *c = find(p);
    if (c == NULL) return not_found();
    return c->watch == NULL ? WEFT_ECLOSED : pf_process_signal(&c->process, number);
}

int weft_process_close(weft_process p)
{
    struct child *c = find(p);
    if (c == NULL) return not_found();
    (void)weft_event_close(c->ended);
    abandon(c);
    return WEFT_OK;
}

/* ---- The node's end -------------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_list_init(&w->children);
    return WEFT_OK;
}

/* Reaps killed children; for each child that lives on it starts a thread that reaps it when it ends. */
static void part_end(struct wf_worker *w)
{
    struct wf_list_node *k;
    while ((k = wf_list_pop(&w->children)) != NULL) {
        struct child *c = WF_CONTAINER(k, struct child, on_worker);
        wf_fd_remove(c->watch);
        if (c->lives_on) reap_later(&c->process);
        else reap(&c->process);
        free(c);
    }
}

const struct wf_part wf_process_part = {.worker_begin = part_begin, .worker_end = part_end};
