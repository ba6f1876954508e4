/* runtime/wait/offload.c -- blocking functions on threads of their own. The rules are in offload.h. */
#include "offload.h"

#include <stdlib.h>
#include <string.h>

#include <weft/log.h>
#include <weft/wait.h>

enum { WHO = 96 }; /* bytes of an actor's description */

enum state { WAITING, QUEUED, RUNNING, DONE }; /* WAITING: it waits for a place in the queue */

/* Look-ups of names have a line of their own: a name server that does not answer holds up no other job. */
enum which_line { ORDINARY, LOOK_UPS, LINES };

struct line {
    struct wf_list queue, overflow;
    uint32_t queued, waiting;
    uint32_t running, running_max; /* threads that run its jobs */
};

struct job {
    struct wf_owned_handle handle; /* of the task that started it */
    weft_event done;
    weft_blocking *run, *drop;
    size_t size;
    struct wf_offload *set;
    struct line *line;
    /* Under set->lock: */
    struct wf_list_node in_line; /* line->queue or ->overflow */
    uint64_t number;             /* of all jobs that got into a queue */
    enum state state;
    bool abandoned;                 /* the task has abandoned it while it ran: the thread frees it */
    struct blocking_thread *thread; /* that runs it */
    alignas(16) uint8_t block[];
};

struct blocking_thread {
    struct wf_offload *set;
    pf_thread *thread; /* NULL: not started */
    pf_cond *wake;
    struct wf_list_node idle; /* wf_offload.idle */
    struct job *job;          /* NULL: none runs */
    bool dropping;            /* the job is abandoned: only the thread may touch it */
    bool left_behind;         /* the node is gone */
    char who[WHO];            /* the actor that has abandoned the job; "": none has */
};

struct wf_offload {
    pf_mutex *lock; /* of everything below */
    pf_cond *quiet; /* `running` has become 0 */
    struct line lines[LINES];
    struct wf_list idle;
    uint64_t numbers;
    uint32_t queue_max; /* of each line */
    uint32_t running;   /* of all lines */
    uint32_t started, threads_max;
    uint32_t holders; /* the node and each thread left behind: the last frees it */
    bool closed;
    struct blocking_thread threads[];
};

/* ---- Birth and death ------------------------------------------------------------------------------------------- */

static void free_set(struct wf_offload *o)
{
    for (uint32_t i = 0; i < o->started; i++) pf_cond_destroy(o->threads[i].wake);
    pf_cond_destroy(o->quiet);
    pf_mutex_destroy(o->lock);
    free(o);
}

int wf_offload_drain(struct wf_offload *o, int64_t deadline)
{
    int rc = WEFT_OK;
    pf_mutex_lock(o->lock);
    while (o->running > 0 && rc == WEFT_OK) rc = pf_cond_wait(o->quiet, o->lock, deadline);
    rc = o->running > 0 ? WEFT_ETIMEDOUT : WEFT_OK;
    for (uint32_t i = 0; i < o->started; i++) {
        const char *who = o->threads[i].who;
        if (o->threads[i].job == NULL) continue;
        weft_log(WEFT_WARN, "a blocking function of %s has not returned in time", who[0] == '\0' ? "an actor" : who);
    }
    pf_mutex_unlock(o->lock);
    return rc;
}

static void let_go(struct wf_offload *o)
{
    pf_mutex_lock(o->lock);
    WF_ASSERT(o->holders > 0);
    bool last = --o->holders == 0;
    pf_mutex_unlock(o->lock);
    if (last) free_set(o);
}

struct wf_offload_counts wf_offload_count(struct wf_offload *o)
{
    pf_mutex_lock(o->lock);
    struct wf_offload_counts counts = {.running = o->running, .threads = o->started};
    for (size_t i = 0; i < LINES; i++) {
        counts.queued += o->lines[i].queued;
        counts.waiting += o->lines[i].waiting;
    }
    pf_mutex_unlock(o->lock);
    return counts;
}

bool wf_offload_is_awaited(struct wf_offload *o)
{
    pf_mutex_lock(o->lock);
    bool awaited = false;
    for (size_t i = 0; i < LINES; i++) awaited |= o->lines[i].queued > 0;
    for (uint32_t i = 0; i < o->started && !awaited; i++) {
        const struct blocking_thread *t = &o->threads[i];
        awaited = t->job != NULL && !t->dropping && !t->job->abandoned && t->job->state == RUNNING;
    }
    pf_mutex_unlock(o->lock);
    return awaited;
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static void push_job(struct wf_offload *o, struct job *j)
{
    WF_ASSERT(j->state == WAITING && j->line->queued < o->queue_max);
    j->state = QUEUED;
    j->number = o->numbers++;
    j->line->queued++;
    wf_list_push(&j->line->queue, &j->in_line);
}

/* A place in the queue has become free. */
static void admit(struct wf_offload *o, struct line *line)
{
    struct wf_list_node *k = wf_list_pop(&line->overflow);
    if (k == NULL) return;
    struct job *j = WF_CONTAINER(k, struct job, in_line);
    WF_ASSERT(line->waiting > 0 && j->state == WAITING);
    line->waiting--;
    push_job(o, j);
    (void)weft_event_set(j->done);
}

static bool may_run(const struct line *line)
{
    return line->running < line->running_max;
}

/* The job that has been in a queue for longest, of the lines that may run one more; NULL: there is none. */
static struct job *first_job(struct wf_offload *o)
{
    struct job *first = NULL;
    for (size_t i = 0; i < LINES; i++) {
        struct wf_list_node *k = wf_list_first(&o->lines[i].queue);
        if (k == NULL || !may_run(&o->lines[i])) continue;
        struct job *j = WF_CONTAINER(k, struct job, in_line);
        if (first == NULL || j->number < first->number) first = j;
    }
    return first;
}

/* The next job for a thread, with the lock held; NULL: the node ends. A thread that has run a look-up comes here, so no
 * thread has to be woken for the next look-up. */
static struct job *next_job(struct wf_offload *o, struct blocking_thread *t)
{
    for (;;) {
        struct job *j = first_job(o);
        if (j != NULL) {
            WF_ASSERT(j->line->queued > 0);
            wf_unlink(&j->in_line);
            j->line->queued--;
            admit(o, j->line);
            return j;
        }
        if (o->closed) return NULL;
        wf_list_push_front(&o->idle, &t->idle);
        while (wf_linked(&t->idle) && !o->closed) (void)pf_cond_wait(t->wake, o->lock, WEFT_FOREVER);
        wf_unlink(&t->idle);
    }
}

static void free_job(struct job *j)
{
    if (j->drop != NULL) j->drop(j->block);
    free(j);
}

/* The caller has the lock; it is released while the function runs. */
static void run_job(struct wf_offload *o, struct blocking_thread *t, struct job *j)
{
    struct line *line = j->line; /* the task may have freed the job by the end */
    WF_ASSERT(j->state == RUNNING && t->job == j && o->running > 0 && line->running > 0);
    pf_mutex_unlock(o->lock);
    j->run(j->block);
    pf_mutex_lock(o->lock);
    if (j->abandoned) {
        /* t->job stays set until the thread is free: a node that ends before that leaves the thread behind */
        t->dropping = true;
        pf_mutex_unlock(o->lock);
        free_job(j);
        pf_mutex_lock(o->lock);
        t->dropping = false;
    } else {
        j->state = DONE; /* the task owns the job from here on */
        (void)weft_event_set(j->done);
    }
    t->job = NULL;
    line->running--;
    if (--o->running == 0) pf_cond_broadcast(o->quiet);
}

static void thread_main(void *arg)
{
    struct blocking_thread *t = arg;
    struct wf_offload *o = t->set;
    pf_mutex_lock(o->lock);
    for (struct job *j; !t->left_behind && (j = next_job(o, t)) != NULL;) {
        j->state = RUNNING;
        t->job = j;
        j->thread = t;
        t->who[0] = '\0';
        o->running++;
        j->line->running++;
        run_job(o, t, j);
    }
    bool left_behind = t->left_behind;
    pf_mutex_unlock(o->lock);
    if (left_behind) let_go(o);
}

static int start_thread(struct wf_offload *o)
{
    WF_ASSERT(o->started < o->threads_max);
    struct blocking_thread *t = &o->threads[o->started];
    *t = (struct blocking_thread){.set = o};
    int rc = pf_cond_create(&t->wake);
    if (rc == WEFT_OK) rc = pf_thread_start(&t->thread, "weft-blocking", thread_main, t);
    if (rc == WEFT_OK) o->started++;
    else pf_cond_destroy(t->wake);
    return rc;
}

/* ---- Jobs ------------------------------------------------------------------------------------------------------ */

static enum state state_of(struct job *j)
{
    pf_mutex_lock(j->set->lock);
    enum state state = j->state;
    pf_mutex_unlock(j->set->lock);
    return state;
}

/* The task no longer needs the job. */
static void abandon(struct job *j)
{
    struct wf_offload *o = j->set;
    struct wf_task *t = wf_task_self();
    char who[WHO] = "";
    wf_owned_leave(&j->handle);
    if (state_of(j) != DONE) t->worker->set->hooks->task_describe(t, who, sizeof who); /* for the log */
    pf_mutex_lock(o->lock);
    enum state state = j->state;
    if (state == RUNNING) {
        j->abandoned = true;
        memcpy(j->thread->who, who, sizeof who);
    }
    wf_unlink(&j->in_line);
    if (state == WAITING) j->line->waiting--;
    if (state == QUEUED) {
        j->line->queued--;
        admit(o, j->line);
    }
    pf_mutex_unlock(o->lock);
    if (state != RUNNING) free_job(j);
}

static void close_owned(struct wf_owned *owned)
{
    abandon(WF_CONTAINER(owned, struct job, handle.owned));
}

static int check(weft_blocking *run, const void *block, size_t size)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    if (run == NULL || (block == NULL && size > 0)) return WEFT_EINVAL;
    return size > WEFT_OFFLOAD_MAX ? WEFT_ETOOBIG : WEFT_OK;
}

static int make_job(struct job **out, enum which_line line, weft_blocking *run, const void *block, size_t size)
{
    struct wf_task *t = wf_task_self();
    struct job *j = malloc(sizeof *j + size);
    if (j == NULL) return WEFT_ENOMEM;
    struct wf_offload *o = t->worker->set->offload;
    *j = (struct job){.handle.owned.close = close_owned, .run = run, .size = size, .set = o, .line = &o->lines[line]};
    int rc = weft_event_open(&j->done);
    if (rc == WEFT_OK) {
        rc = wf_owned_name(t, &j->handle, j->done.id);
        if (rc < 0) (void)weft_event_close(j->done);
    }
    if (rc < 0) {
        free(j);
        return rc;
    }
    if (size > 0) memcpy(j->block, block, size);
    wf_list_push_front(&t->owned, &j->handle.owned.on_task);
    *out = j;
    return WEFT_OK;
}

static void end_job(struct job *j)
{
    (void)weft_event_close(j->done);
    abandon(j);
}

/* Puts the job into the queue or, if that is full, behind the jobs that wait for a place. Returns 0 or
 * WEFT_ENOMEM. */
static int submit(struct job *j)
{
    struct wf_offload *o = j->set;
    int rc = WEFT_OK;
    pf_mutex_lock(o->lock);
    if (j->line->queued < o->queue_max) {
        push_job(o, j);
        struct wf_list_node *idle = may_run(j->line) ? wf_list_pop(&o->idle) : NULL;
        if (idle != NULL) pf_cond_broadcast(WF_CONTAINER(idle, struct blocking_thread, idle)->wake);
        else if (may_run(j->line) && o->started < o->threads_max && start_thread(o) < 0 && o->started == 0)
            rc = WEFT_ENOMEM;
    } else {
        j->line->waiting++;
        wf_list_push(&j->line->overflow, &j->in_line);
    }
    pf_mutex_unlock(o->lock);
    return rc;
}

/* Waits until the job has reached that state. The task may be killed here: then its list of resources frees the
 * job. */
static int await(struct job *j, enum state wanted, int64_t deadline)
{
    enum state state;
    int rc = WEFT_OK;
    while ((state = state_of(j)) < wanted && rc == WEFT_OK) rc = weft_event_await(j->done, deadline);
    if (state >= wanted) return WEFT_OK;
    return rc == WEFT_ETIMEDOUT && state == WAITING ? WEFT_EFULL : rc;
}

static int run_in(enum which_line line, weft_blocking *run, void *block, size_t size, int64_t deadline)
{
    struct job *j;
    int rc = check(run, block, size);
    if (rc < 0) return rc;
    if (wf_task_self()->cancelled) return (int)wf_task_finish_wait(WEFT_ECANCELED);
    if (deadline == WEFT_NOW) return (int)wf_task_finish_wait(WEFT_ETIMEDOUT);
    rc = make_job(&j, line, run, block, size);
    if (rc < 0) return rc;
    rc = submit(j);
    if (rc == WEFT_OK) rc = await(j, DONE, deadline);
    if (rc == WEFT_OK && size > 0) memcpy(block, j->block, size);
    end_job(j);
    return rc;
}

int weft_offload(weft_blocking *run, void *block, size_t size, int64_t deadline)
{
    return run_in(ORDINARY, run, block, size, deadline);
}

int wf_offload_look_up(weft_blocking *run, void *block, size_t size, int64_t deadline)
{
    return run_in(LOOK_UPS, run, block, size, deadline);
}

/* `own`: the job owns the block from here on; otherwise only if this succeeds. */
static int start_job(weft_job *out, weft_blocking *run, weft_blocking *drop, bool own, const void *block, size_t size,
                     int64_t deadline)
{
    struct job *j;
    int rc = make_job(&j, ORDINARY, run, block, size);
    if (rc < 0) {
        if (own) drop((void *)(uintptr_t)block);
        return rc;
    }
    if (own) j->drop = drop;
    rc = submit(j);
    if (rc == WEFT_OK) rc = await(j, QUEUED, deadline);
    if (rc < 0) {
        end_job(j);
        return rc;
    }
    (void)weft_event_take(j->done); /* it may have been set when the job got its place in the queue */
    pf_mutex_lock(j->set->lock);
    j->drop = drop;
    if (j->state == DONE) (void)weft_event_set(j->done);
    pf_mutex_unlock(j->set->lock);
    *out = (weft_job){j->done};
    return WEFT_OK;
}

int weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop, const void *block, size_t size,
                       int64_t deadline)
{
    int rc = check(run, block, size);
    if (rc == WEFT_OK && out == NULL) rc = WEFT_EINVAL;
    return rc < 0 ? rc : start_job(out, run, drop, false, block, size, deadline);
}

weft_wait weft_on_offload(weft_job job)
{
    return weft_on_event(job.done);
}

/* NULL: it is a job of another task, or it has ended. */
static struct job *find_job(weft_job job)
{
    struct wf_owned_handle *h = wf_owned_find(close_owned, job.done.id);
    return h == NULL ? NULL : WF_CONTAINER(h, struct job, handle);
}

int weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct job *j = find_job(job);
    if (j == NULL) return WEFT_ECLOSED;
    if (size != j->size || (block == NULL && size > 0)) return WEFT_EINVAL;
    int rc = await(j, DONE, deadline);
    if (rc < 0) return rc;
    if (size > 0) memcpy(block, j->block, size);
    j->drop = NULL; /* the caller owns now what the block points to */
    end_job(j);
    return WEFT_OK;
}

int weft_offload_drop(weft_job job)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct job *j = find_job(job);
    if (j == NULL) return WEFT_ECLOSED;
    end_job(j);
    return WEFT_OK;
}

/* ---- Jobs of the runtime ----------------------------------------------------------------------------------------- */

static void run_work(void *block)
{
    struct wf_work *work = *(struct wf_work **)block;
    work->run(work);
}

static void drop_work(void *block)
{
    struct wf_work *work = *(struct wf_work **)block;
    work->free(work);
}

int wf_work_start(weft_job *out, struct wf_work *work, int64_t deadline)
{
    return start_job(out, run_work, drop_work, true, &work, sizeof work, deadline);
}

int wf_work_submit(weft_job *out, struct wf_work *work)
{
    struct job *j;
    int rc = make_job(&j, ORDINARY, run_work, &work, sizeof work);
    if (rc < 0) return rc;
    j->drop = drop_work;
    rc = submit(j);
    if (rc == WEFT_OK) {
        *out = (weft_job){j->done};
        return rc;
    }
    j->drop = NULL; /* no thread can have it, as none could be started */
    end_job(j);
    return rc;
}

int wf_work_take(weft_job job, struct wf_work **out, int64_t deadline)
{
    return weft_offload_take(job, out, sizeof *out, deadline);
}

int wf_work_run(struct wf_work *work, int64_t deadline)
{
    weft_job job;
    WF_ASSERT(work->run != NULL && work->free != NULL);
    if (wf_task_self()->cancelled || deadline == WEFT_NOW) {
        work->free(work);
        return (int)wf_task_finish_wait(wf_task_self()->cancelled ? WEFT_ECANCELED : WEFT_ETIMEDOUT);
    }
    int rc = wf_work_start(&job, work, deadline);
    if (rc < 0) return rc;
    rc = wf_work_take(job, &work, deadline);
    if (rc < 0) (void)weft_offload_drop(job);
    return rc;
}

/* ---- The part of the node ---------------------------------------------------------------------------------------- */

/* No thread is started yet. */
static int part_begin(struct wf_workers *set)
{
    const uint32_t threads_max = set->blocking_threads == 0 ? WF_OFFLOAD_THREADS : set->blocking_threads;
    struct wf_offload *o = calloc(1, sizeof *o + threads_max * sizeof o->threads[0]);
    if (o == NULL) return WEFT_ENOMEM;
    o->holders = 1;
    o->threads_max = threads_max;
    o->queue_max = set->blocking_queue == 0 ? WF_OFFLOAD_QUEUE : set->blocking_queue;
    for (size_t i = 0; i < LINES; i++) {
        wf_list_init(&o->lines[i].queue);
        wf_list_init(&o->lines[i].overflow);
    }
    o->lines[ORDINARY].running_max = threads_max;
    o->lines[LOOK_UPS].running_max = WF_MAX(threads_max - 1, 1u);
    wf_list_init(&o->idle);
    int rc = pf_mutex_create(&o->lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&o->quiet);
    if (rc == WEFT_OK) set->offload = o;
    else free_set(o);
    return rc;
}

/* All tasks have ended. Ends the threads; a thread whose function still runs ends when the function returns. */
static void part_end(struct wf_workers *set)
{
    struct wf_offload *o = set->offload;
    set->offload = NULL;
    if (o == NULL) return;
    pf_mutex_lock(o->lock);
    for (size_t i = 0; i < LINES; i++) /* tasks owned these jobs */
        WF_ASSERT(wf_list_empty(&o->lines[i].queue) && wf_list_empty(&o->lines[i].overflow));
    o->closed = true;
    for (uint32_t i = 0; i < o->started; i++) {
        struct blocking_thread *t = &o->threads[i];
        t->left_behind = t->job != NULL;
        if (t->left_behind) {
            o->holders++;
            pf_thread_detach(t->thread);
        } else {
            pf_cond_broadcast(t->wake);
        }
    }
    pf_mutex_unlock(o->lock);
    for (uint32_t i = 0; i < o->started; i++) {
        if (!o->threads[i].left_behind) pf_thread_join(o->threads[i].thread);
    }
    let_go(o);
}

const struct wf_part wf_offload_part = {.set_begin = part_begin, .set_end = part_end};
