/* runtime/sched/workers.c -- see workers.h. */
#include "workers.h"

#include "fault.h"
#include "here.h"
#include "stuck.h"
#include "system_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parts: part.h --------------------------------------------------------------------------------------------- */

static const struct wf_part *const none[] = {NULL};

static int count_parts(const struct wf_workers *set)
{
    int count = 0;
    while (set->parts[count] != NULL) count++;
    return count;
}

static int begin_parts_of_set(struct wf_workers *set)
{
    int rc = WEFT_OK;
    if (set->parts == NULL) set->parts = none;
    set->on_ready = NULL;
    set->on_done = NULL;
    for (const struct wf_part *const *p = set->parts; *p != NULL && rc == WEFT_OK; p++) {
        WF_ASSERT((*p)->on_ready == NULL || set->on_ready == NULL);
        WF_ASSERT((*p)->on_done == NULL || set->on_done == NULL);
        if ((*p)->on_ready != NULL) set->on_ready = (*p)->on_ready;
        if ((*p)->on_done != NULL) set->on_done = (*p)->on_done;
        if ((*p)->set_begin != NULL) rc = (*p)->set_begin(set);
    }
    return rc;
}

static void end_parts_of_set(struct wf_workers *set)
{
    for (int i = set->parts == NULL ? 0 : count_parts(set); i > 0; i--)
        if (set->parts[i - 1]->set_end != NULL) set->parts[i - 1]->set_end(set);
}

static int begin_parts(struct wf_worker *w)
{
    int rc = WEFT_OK;
    for (const struct wf_part *const *p = w->set->parts; *p != NULL && rc == WEFT_OK; p++)
        if ((*p)->worker_begin != NULL) rc = (*p)->worker_begin(w);
    return rc;
}

static void drain_parts(struct wf_worker *w)
{
    for (int i = count_parts(w->set); i > 0; i--)
        if (w->set->parts[i - 1]->worker_drain != NULL) w->set->parts[i - 1]->worker_drain(w);
}

static void end_parts(struct wf_worker *w)
{
    for (int i = count_parts(w->set); i > 0; i--)
        if (w->set->parts[i - 1]->worker_end != NULL) w->set->parts[i - 1]->worker_end(w);
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static void worker_thread(void *arg)
{
    struct wf_worker *w = arg;
    wf_here_set(w);
    wf_coro_adopt_thread(&w->loop);
    pf_glimpse_allow();
    while (!w->stop) wf_worker_turn(w, WEFT_FOREVER);
    wf_worker_rest(w);
    drain_parts(w);
    wf_coro_release_thread(&w->loop);
    wf_here_set(NULL);
}

static void worker_destroy(struct wf_worker *w)
{
    if (w == NULL) return;
    WF_ASSERT(w->thread == NULL);
    for (uint32_t i = 0; i < WF_WORKERS_MAX; i++) free(w->space_call[i]);
    free(w->batches);
    end_parts(w);
    w->set->env->poller_destroy(w->poller);
    wf_stack_arena_destroy(w->stacks);
    wf_pool_finish(&w->pool);
    wf_heap_finish(&w->timers);
    wf_hash_table_finish(&w->handles);
    wf_recorder_finish(&w->recorder);
    pf_aligned_free(w);
}

static int worker_create(struct wf_workers *set, uint32_t index)
{
    WF_ASSERT(index < set->count && set->at[index] == NULL);
    const size_t bytes = sizeof(struct wf_worker) + set->hooks->worker_bytes;
    WF_ASSERT(bytes % WF_CACHE_LINE == 0);
    struct wf_worker *w = pf_aligned_alloc(WF_CACHE_LINE, bytes);
    if (w == NULL) return WEFT_ENOMEM;
    memset(w, 0, bytes);
    set->at[index] = w;
    w->set = set;
    w->index = index;
    w->is_own = index >= set->users;
    w->identity = set->identity;
    w->unrecorded = set->record_sends ? set->nowhere : set->identity;
    w->idle_gap = 100 * WF_LOOK;
    for (uint32_t i = 0; i < WF_WORKERS_MAX; i++) wf_list_init(&w->space[i]);
    wf_heap_init(&w->timers);
    wf_pool_init(&w->pool, set->depot);
    w->trim_at = WEFT_FOREVER;
    w->batches = calloc(set->count, sizeof *w->batches);
    int rc = w->batches == NULL ? WEFT_ENOMEM : wf_stack_arena_create(&w->stacks);
    if (rc == WEFT_OK) rc = set->env->poller_create(set->env, &w->poller);
    if (rc == WEFT_OK) rc = begin_parts(w);
    /* The alarm's descriptor is made at the beginning. A poller that has no alarms is woken instead: stuck.c. */
    if (rc == WEFT_OK && w->is_own && set->env->poller_alarm(w->poller, WEFT_FOREVER - 1) == WEFT_OK)
        rc = set->env->poller_alarm(w->poller, WEFT_FOREVER);
    if (rc == WEFT_OK) rc = wf_recorder_init(&w->recorder, set->record_events);
    return rc;
}

int wf_workers_init(struct wf_workers *set)
{
    WF_ASSERT(set->env != NULL && set->hooks != NULL);
    if (set->users == 0) set->users = set->count;
    WF_ASSERT(set->users >= 1 && set->users <= set->count && set->count <= WF_WORKERS_MAX);
    set->may_look = set->users > 1 && (int)set->users <= pf_cpu_count();
    if (set->turn_budget == 0) set->turn_budget = WF_TURN_BUDGET;
    wf_fault_report_begin();
    wf_system_errors_tell();
    int rc = wf_depot_create(&set->depot);
    if (rc == WEFT_OK) rc = begin_parts_of_set(set);
    if (rc == WEFT_OK) rc = wf_stuck_init(set);
    for (uint32_t i = 0; rc == WEFT_OK && i < set->count; i++) rc = worker_create(set, i);
    if (rc < 0) wf_workers_finish(set);
    return rc;
}

int wf_workers_start(struct wf_workers *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char name[16];
        WF_ASSERT(set->at[i] != NULL && set->at[i]->thread == NULL);
        if (i < set->users) snprintf(name, sizeof name, "weft-%u", i);
        else snprintf(name, sizeof name, "weft-own");
        int rc = pf_thread_start(&set->at[i]->thread, name, worker_thread, set->at[i]);
        if (rc < 0) {
            wf_workers_stop(set);
            return rc;
        }
    }
    return WEFT_OK;
}

static void stop_here(struct wf_worker *w, struct wf_call *c)
{
    (void)c;
    w->stop = true;
}

static void stop_from(struct wf_workers *set, uint32_t first, uint32_t end)
{
    struct wf_call stops[WF_WORKERS_MAX];
    for (uint32_t i = first; i < end; i++) {
        if (set->at[i]->thread == NULL) continue;
        stops[i] = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = stop_here};
        wf_worker_post(set->at[i], &stops[i].post);
    }
    for (uint32_t i = first; i < end; i++) {
        if (set->at[i]->thread == NULL) continue;
        pf_thread_join(set->at[i]->thread);
        set->at[i]->thread = NULL;
    }
}

void wf_workers_stop(struct wf_workers *set)
{
    WF_ASSERT(wf_here == NULL || wf_here->set != set);
    stop_from(set, set->users, set->count); /* this worker may be glimpsing at threads of the others */
    stop_from(set, 0, set->users);
}

void wf_workers_finish(struct wf_workers *set)
{
    /* A worker without a thread of its own has not drained its parts; the others have done it on their threads. */
    if (set->count == 1 && set->at[0] != NULL) drain_parts(set->at[0]);
    end_parts_of_set(set);
    /* All posts are dropped first: a post in the inbox of one worker may lie in a slot of another. */
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->at[i] != NULL) wf_worker_drop_posts(set->at[i]);
    }
    for (uint32_t i = 0; i < set->count; i++) {
        worker_destroy(set->at[i]);
        set->at[i] = NULL;
    }
    wf_depot_destroy(set->depot);
    set->depot = NULL;
    wf_stuck_finish(set);
    pf_standard_drain();
}
